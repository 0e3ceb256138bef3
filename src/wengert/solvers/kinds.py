"""The kinds of derivatives that solvers take: what each is made of, and what stands in where it is not finite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize

import wengert as wg
from wengert.solvers.slots import number, values

F = Callable[..., Any]
STEP = float(np.sqrt(np.finfo(float).eps))


@dataclass(frozen=True)
class DerivativeKind:
    """A kind of derivative, of functions ``f(x, *args)`` of an array.

    ``of(f)`` returns the function of the same arguments that gives value and derivative, in terms of wengert;
    ``value(f)`` that of the value alone; ``evaluations(*args)`` how many evaluations finite differences take for one
    derivative, beside that of the value; ``differences(f, *args)`` is what they give. ``vector`` is the number of the
    argument that is x; None: it is several.
    """

    of: Callable[[F], F]
    value: Callable[[F], F]
    evaluations: Callable[..., int]
    differences: Callable[..., Any]
    vector: int | None = 0


def flat(f: F) -> F:
    """A function with its value as an array of one axis."""
    return lambda *args, **kwargs: np.ravel(values(f(*args, **kwargs)))


def one(f: F) -> F:
    """An objective with its value as a number."""
    return lambda *args, **kwargs: number(f(*args, **kwargs))


def value_and_jacobian(f: F, x: Any) -> Any:
    """Value and Jacobian of a function of an array, recorded once where forward mode is the shorter way."""
    y, pushforward = wg.linearize(f, x)
    if y.size >= x.size:
        return y, wg.vmap(pushforward, out_axes=-1)(np.eye(x.size))
    return y, wg.jacobian(f)(x)


def _jacobian_of(f: F, k: int = 0) -> F:
    return lambda *args, **kwargs: value_and_jacobian(_moved(flat(f), args, kwargs, k), args[k])


def _moved(f: F, args: Any, kwargs: Any, k: int) -> F:
    """A function of argument ``k`` alone."""
    return lambda x: f(*args[:k], x, *args[k + 1 :], **kwargs)


def _size(k: int) -> Callable[..., int]:
    return lambda *args: int(np.size(args[k]))


def _differences(wrapped: Callable[[F], F], k: int = 0) -> F:
    def differences(f: F, *args: Any, **kwargs: Any) -> Any:
        return scipy.optimize.approx_fprime(args[k], _moved(wrapped(f), args, kwargs, k), STEP)

    return differences


GRADIENT = DerivativeKind(lambda f: wg.value_and_grad(one(f)), one, _size(0), _differences(one))
JACOBIAN = DerivativeKind(_jacobian_of, flat, _size(0), _differences(flat))
JACOBIAN_OF_SECOND = DerivativeKind(lambda f: _jacobian_of(f, 1), flat, _size(1), _differences(flat, 1), 1)


def _slope_of(f: F) -> F:
    """Value and slope of a function of one number, or of each number of an array by itself."""
    return lambda x, *args: wg.jvp(lambda x: values(f(x, *args)), (x,), (np.ones_like(x),))


def _slope_by_differences(f: F, x: Any, *args: Any) -> Any:
    return (np.asarray(f(x + STEP, *args)) - f(x, *args)) / STEP


def _plain(f: F) -> F:
    return lambda *args: values(f(*args))


SLOPE = DerivativeKind(_slope_of, _plain, lambda *args: 1, _slope_by_differences)


def _curvature_of(f: F) -> F:
    slope = lambda x, *args: _slope_of(f)(x, *args)[1]
    return lambda x, *args: (values(f(x, *args)), _slope_of(slope)(x, *args)[1])


def _curvature_by_differences(f: F, x: Any, *args: Any) -> Any:
    step = STEP**0.5
    return (f(x + step, *args) - 2 * np.asarray(f(x, *args)) + f(x - step, *args)) / step**2


CURVATURE = DerivativeKind(_curvature_of, _plain, lambda *args: 2, _curvature_by_differences)


def _hessian_of(f: F) -> F:
    return lambda x, *args: (one(f)(x, *args), wg.hessian(one(f))(x, *args))


def _hessian_by_differences(f: F, x: Any, *args: Any) -> Any:
    gradient: F = lambda x: scipy.optimize.approx_fprime(x, lambda x: one(f)(x, *args), STEP)
    found: Any = scipy.optimize.approx_fprime(x, gradient, STEP**0.5)
    return (found + found.T) / 2


HESSIAN = DerivativeKind(_hessian_of, one, lambda x, *args: x.size * (x.size + 1), _hessian_by_differences)


def _product_of(f: F) -> F:
    def both(x: Any, p: Any, *args: Any) -> Any:
        return one(f)(x, *args), wg.hvp(lambda x: one(f)(x, *args), (x,), (p,))

    return both


def _product_by_differences(f: F, x: Any, p: Any, *args: Any) -> Any:
    gradient: F = lambda x: scipy.optimize.approx_fprime(x, lambda x: one(f)(x, *args), STEP)
    step = STEP**0.5 / max(float(np.linalg.norm(p)), STEP)
    return (gradient(x + step * p) - gradient(x)) / step


HESSIAN_PRODUCT = DerivativeKind(
    _product_of, lambda f: lambda x, p, *args: one(f)(x, *args), lambda x, *args: x.size + 1, _product_by_differences
)


def _along_of(gradient: F) -> F:
    """A gradient that the user gives, and its derivative along a vector."""
    return lambda x, p, *args: wg.jvp(lambda x: flat(gradient)(x, *args), (x,), (p,))


def _along_by_differences(gradient: F, x: Any, p: Any, *args: Any) -> Any:
    step = STEP / max(float(np.linalg.norm(p)), STEP)
    return (flat(gradient)(x + step * p, *args) - flat(gradient)(x, *args)) / step


GRADIENT_ALONG = DerivativeKind(
    _along_of, lambda g: lambda x, p, *args: flat(g)(x, *args), lambda *args: 1, _along_by_differences
)


def _columns_of(f: F) -> F:
    """Value and Jacobian in the parameters ``p`` of a model ``f(x, *p)``."""

    def both(x: Any, *parameters: Any) -> Any:
        p = np.stack(parameters)
        of_vector = lambda p: np.ravel(values(f(x, *[p[k] for k in range(len(parameters))])))
        return value_and_jacobian(of_vector, p)

    return both


def _columns_by_differences(f: F, x: Any, *parameters: Any) -> Any:
    return scipy.optimize.approx_fprime(np.array(parameters, float), lambda p: flat(f)(x, *p), STEP)


COLUMNS = DerivativeKind(_columns_of, flat, lambda x, *parameters: len(parameters), _columns_by_differences, None)
