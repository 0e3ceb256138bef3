"""Numerical differences (``approx_fprime``, ``check_grad``), and derivatives of Rosenbrock's function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.api.solving import Recorded, record_function
from wengert.of_scipy.optimize.calls import answers, need_traced, row, vector
from wengert.tracing.arguments import array, unsupported
from wengert.tracing.interception.asking import AT_ARGUMENTS

STEP = float(np.sqrt(np.finfo(float).eps))


def _differences(f: Recorded, x: Any, epsilon: Any) -> Any:
    """Forward differences of f, [*shape of f, n], as SciPy takes them."""
    steps = np.broadcast_to(epsilon, x.shape)
    at = f(x)
    columns = []
    for k in range(x.size):
        moved = x + steps[k] * (np.arange(x.size) == k)
        columns.append((f(moved) - at) / (moved[k] - x[k]))
    return np.stack(columns, axis=-1)


@answers("optimize.approx_fprime")
def approx_fprime(xk: ArrayLike, f: Callable[..., Any], epsilon: ArrayLike = STEP, *args: Any) -> Any:
    """The differences are traced as they are: their derivative is the difference of derivatives."""
    x = row(xk)
    values = record_function("scipy.optimize.approx_fprime", lambda x: f(x, *args), x.aval)
    need_traced(values, xk, epsilon)
    return _differences(values, x, epsilon)


@answers("optimize.check_grad")
def check_grad(
    func: Callable[..., Any],
    grad: Callable[..., Any],
    x0: ArrayLike,
    *args: Any,
    epsilon: ArrayLike = STEP,
    direction: str = "all",
    **random: Any,
) -> Any:
    x = row(x0)
    values = record_function("scipy.optimize.check_grad", lambda x: func(x, *args), x.aval)
    slopes = record_function("scipy.optimize.check_grad", lambda x: grad(x, *args), x.aval)
    need_traced(values, slopes, x0, epsilon)
    if direction != "all" or random:
        raise unsupported("scipy.optimize.check_grad: a random direction is not traced", "direction='all'")
    return np.sqrt(np.sum((slopes(x) - _differences(values, x, epsilon)) ** 2))


def _curvatures(x: Any) -> Any:
    """The diagonal of the Hessian."""
    first = 1200 * x[:1] ** 2 - 400 * x[1:2] + 2
    middle = 202 + 1200 * x[1:-1] ** 2 - 400 * x[2:]
    return np.concatenate([first, middle, np.full(1, 200.0)])


@answers("optimize.rosen_hess", AT_ARGUMENTS)
def rosen_hess(x: ArrayLike) -> Any:
    at: Any = vector(x)
    beside = np.diag(-400 * at[:-1], 1)
    return beside + beside.T + np.diag(_curvatures(at))


@answers("optimize.rosen_hess_prod", AT_ARGUMENTS)
def rosen_hess_prod(x: ArrayLike, p: ArrayLike) -> Any:
    at: Any = vector(array(x, (p,)))
    along: Any = vector(array(p, (at,)))
    beside, none = -400 * at[:-1], np.zeros(1)
    after = np.concatenate([beside * along[1:], none])
    return after + _curvatures(at) * along + np.concatenate([none, beside * along[:-1]])
