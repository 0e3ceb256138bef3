"""Integrals of samples: ``simpson``, ``cumulative_trapezoid``, ``cumulative_simpson``, ``romb``.

They are sums of weighted samples, traced in NumPy as SciPy writes them, along the last axis. ``trapezoid`` is NumPy's:
:mod:`wengert.tracing.functions.calculus`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.of_scipy.optimize.calls import answers
from wengert.tracing.arguments import Traced, array, axis_of, inexact, unsupported
from wengert.tracing.interception.asking import AT_ARGUMENTS
from wengert.tracing.interception.intercept import intercepts


def _last(y: ArrayLike, x: ArrayLike | None, axis: int, near: Any = ()) -> tuple[Any, Any, int]:
    """Samples with their axis last; places of the same, or of one axis; and the axis."""
    values: Any = inexact(array(y, (x, near)))
    k = axis_of(axis, values.ndim)
    moved = np.moveaxis(values, k, -1)
    if x is None:
        return moved, None, k
    places: Any = inexact(array(x, (y,)))
    if places.ndim != 1:
        if places.ndim != values.ndim:
            raise ValueError("If given, shape of x must be 1-D or the same as y.")
        places = np.moveaxis(places, k, -1)
    if places.shape[-1] != moved.shape[-1]:
        raise ValueError("If given, length of x along axis must be the same as y.")
    return moved, places, k


def _quotient(a: Any, b: Any) -> Any:
    """a / b, and 0 where b is."""
    is_there = b != 0
    return np.where(is_there, a / np.where(is_there, b, 1.0), 0.0)


def _basic_simpson(y: Traced, stop: int, x: Any, dx: Any) -> Any:
    """Simpson's rule on pairs of intervals from the first on."""
    y0, y1, y2 = y[..., 0:stop:2], y[..., 1 : stop + 1 : 2], y[..., 2 : stop + 2 : 2]
    if x is None:
        return np.sum(y0 + 4.0 * y1 + y2, axis=-1) * (dx / 3.0)
    h = np.diff(x, axis=-1)
    h0, h1 = h[..., 0:stop:2], h[..., 1 : stop + 1 : 2]
    total, product, ratio = h0 + h1, h0 * h1, _quotient(h0, h1)
    terms = y0 * (2.0 - _quotient(1.0, ratio)) + y1 * (total * _quotient(total, product)) + y2 * (2.0 - ratio)
    return np.sum(total / 6.0 * terms, axis=-1)


@answers("integrate.simpson", AT_ARGUMENTS)
def simpson(y: ArrayLike, x: ArrayLike | None = None, *, dx: ArrayLike = 1.0, axis: int = -1) -> Any:
    """The last interval of an even number of samples is Cartwright's, as SciPy's."""
    values, places, _ = _last(y, x, axis, dx)
    n = values.shape[-1]
    if n % 2:
        return _basic_simpson(values, n - 2, places, dx)
    if n == 2:
        h: Any = dx if places is None else places[..., -1] - places[..., -2]
        return 0.5 * h * (values[..., -1] + values[..., -2])
    if n == 0:
        raise unsupported("scipy.integrate.simpson: there are no samples", "an axis of one sample at least")
    rest = _basic_simpson(values, n - 3, places, dx)
    if places is None:
        h0 = h1 = array(dx, (values,)) * 1.0
    else:
        h0, h1 = places[..., -2] - places[..., -3], places[..., -1] - places[..., -2]
    alpha = _quotient(2 * h1**2 + 3 * h0 * h1, 6 * (h1 + h0))
    beta = _quotient(h1**2 + 3.0 * h0 * h1, 6 * h0)
    eta = _quotient(h1**3, 6 * h0 * (h0 + h1))
    return rest + (alpha * values[..., -1] + beta * values[..., -2] - eta * values[..., -3])


@answers("integrate.cumulative_trapezoid", AT_ARGUMENTS)
def cumulative_trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1, initial: float | None = None
) -> Any:
    values, places, k = _last(y, x, axis, dx)
    if values.shape[-1] == 0:
        raise ValueError("At least one point is required along `axis`.")
    if initial is not None and not (np.ndim(initial) == 0 and initial == 0):
        raise ValueError("`initial` must be `None` or `0`.")
    d: Any = dx if places is None else np.diff(places, axis=-1)
    sums = np.cumsum(d * (values[..., 1:] + values[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        sums = np.concatenate([np.zeros((*sums.shape[:-1], 1), sums.dtype), sums], axis=-1)
    return np.moveaxis(sums, -1, k)


@intercepts("scipy.integrate._quadrature:_cumulatively_sum_simpson_integrals")
def sums_of_parabolas(y: Traced, dx: Traced, rule: Callable[[Any, Any], Any], xp: Any = np) -> Any:
    """The rest of ``cumulative_simpson`` is SciPy's own. Each pair of intervals has the parabola through its three
    points, and the last interval that of the pair before."""
    forward, backward = rule(y, dx), np.flip(rule(np.flip(y, -1), np.flip(dx, -1)), -1)
    is_first = np.arange(forward.shape[-1] + 1) % 2 == 0  # of a pair of intervals
    is_first[-1] = False
    wide = lambda part, at: np.concatenate([part, part[..., -1:]] if at else [part[..., :1], part], axis=-1)
    return np.cumsum(np.where(is_first, wide(forward, True), wide(backward, False)), axis=-1)


@answers("integrate.romb", AT_ARGUMENTS)
def romb(y: ArrayLike, dx: ArrayLike = 1.0, axis: int = -1, show: bool = False) -> Any:
    """Romberg's table of 2ᵏ + 1 samples."""
    values, _, _ = _last(y, None, axis, dx)
    intervals = values.shape[-1] - 1
    k = max(intervals, 1).bit_length() - 1
    if intervals != 1 << k:
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    if show:
        raise unsupported("scipy.integrate.romb: the table of traced values is not printed", "show=False")
    h = intervals * array(dx, (values,)) * 1.0
    row = [(values[..., 0] + values[..., -1]) / 2.0 * h]
    step = intervals
    for i in range(1, k + 1):
        step >>= 1
        inner = values[..., step : -1 : 2 * step]
        new = [0.5 * (row[0] + h * np.sum(inner, axis=-1))]
        for j in range(1, i + 1):
            new.append(new[j - 1] + (new[j - 1] - row[j - 1]) / ((1 << (2 * j)) - 1))
        row, h = new, h / 2.0
    return row[k]
