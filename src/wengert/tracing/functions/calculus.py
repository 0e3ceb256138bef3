"""Differences, gradients, integrals, interpolation, rounding: functions of calculus, as compositions."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike

from wengert.ops.op import OPS, Op
from wengert.tape import Atom
from wengert.tracing.arguments import (
    MISSING,
    Axis,
    Out,
    Traced,
    along,
    array,
    arrays,
    as_dtype,
    axis_of,
    holds,
    holds_only_numbers,
    implements,
    inexact,
    into,
    not_scalar,
    refuse,
    scalar,
)
from wengert.tracing.emit import record
from wengert.tracing.functions.shaping import broadcast_to, ravel
from wengert.tracing.functions.sorting import searchsorted
from wengert.tracing.inplace import op_view
from wengert.tracing.operators import is_within
from wengert.tracing.tracer import Tracer

# -------------------------------------------------------------------------------------------------- differences


@implements(np.diff)
def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike = MISSING, append: ArrayLike = MISSING) -> Any:
    near = (a, prepend if prepend is not MISSING else None, append if append is not MISSING else None)
    x = array(a, near)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if n == 0:
        return x
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = axis_of(axis, x.ndim)
    parts = [_end(e, x, axis) for e in (prepend,) if e is not MISSING] + [x]
    parts += [_end(e, x, axis) for e in (append,) if e is not MISSING]
    if len(parts) > 1:
        x = np.concatenate(parts, axis)
    for _ in range(n):
        later, earlier = x[along(axis, slice(1, None))], x[along(axis, slice(None, -1))]
        x = later != earlier if x.dtype.kind == "b" else later - earlier
    return x


def _end(value: ArrayLike, x: Tracer, axis: int) -> Any:
    end = array(value, (x,))
    return broadcast_to(end, (*x.shape[:axis], 1, *x.shape[axis + 1 :])) if end.ndim == 0 else end


@implements(np.ediff1d)
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Any:
    x = ravel(array(ary, (to_end, to_begin)))
    d = x[1:] - x[:-1]
    parts = [d]
    for end, place in ((to_begin, 0), (to_end, 2)):
        if end is None:
            continue
        e = array(end, (x,))
        if not np.can_cast(e.dtype, x.dtype, "same_kind"):
            raise TypeError("dtype of `to_begin` and `to_end` must be compatible with input `ary`")
        parts.insert(place, as_dtype(ravel(e), x.dtype))
    return np.concatenate(parts) if len(parts) > 1 else d


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    """Second-order central differences inside, one-sided ones of order ``edge_order`` at both ends."""
    y = array(f, varargs)
    axes = tuple(range(y.ndim)) if axis is None else normalize_axis_tuple(axis, y.ndim)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    spacings = varargs or (1.0,)
    if len(spacings) == 1:
        if np.ndim(spacings[0]) and len(axes) > 1:
            raise TypeError("invalid number of arguments")
        spacings = spacings * len(axes)
    y = inexact(y)
    out = []
    for k, h in zip(axes, spacings, strict=True):
        if y.shape[k] < edge_order + 1:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
                "required."
            )
        if np.ndim(h) == 0:
            slope = _even_gradient(y, h, k, edge_order)
        else:
            slope = _uneven_gradient(y, array(h, (y,)), k, edge_order)
        out.append(as_dtype(slope, y.dtype))
    return out[0] if len(out) == 1 else tuple(out)


def _part(y: Traced, axis: int, start: int | None, stop: int | None) -> Any:
    return y[along(axis, slice(start, stop))]


def _even_gradient(y: Traced, h: float | Traced, axis: int, edge_order: int) -> Any:
    inside = (_part(y, axis, 2, None) - _part(y, axis, None, -2)) / (2.0 * h)
    if edge_order == 1:
        first = (_part(y, axis, 1, 2) - _part(y, axis, 0, 1)) / h
        last = (_part(y, axis, -1, None) - _part(y, axis, -2, -1)) / h
    else:
        a, b, c = -1.5 / h, 2.0 / h, -0.5 / h
        first = a * _part(y, axis, 0, 1) + b * _part(y, axis, 1, 2) + c * _part(y, axis, 2, 3)
        last = -c * _part(y, axis, -3, -2) - b * _part(y, axis, -2, -1) - a * _part(y, axis, -1, None)
    return np.concatenate([first, inside, last], axis)


def _uneven_gradient(y: Traced, x: Tracer, axis: int, edge_order: int) -> Any:
    """Exact for parabolas: with steps h₋ and h₊, weights -h₊/(h₋(h₋+h₊)), (h₊-h₋)/(h₋h₊), h₋/(h₊(h₋+h₊))."""
    if x.ndim != 1 or x.shape[0] != y.shape[axis]:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    steps = np.reshape(np.diff(inexact(x)), tuple([-1 if k == axis else 1 for k in range(y.ndim)]))
    h1, h2 = _part(steps, axis, None, -1), _part(steps, axis, 1, None)
    a, b, c = -h2 / (h1 * (h1 + h2)), (h2 - h1) / (h1 * h2), h1 / (h2 * (h1 + h2))
    inside = a * _part(y, axis, None, -2) + b * _part(y, axis, 1, -1) + c * _part(y, axis, 2, None)
    if edge_order == 1:
        first = (_part(y, axis, 1, 2) - _part(y, axis, 0, 1)) / _part(steps, axis, 0, 1)
        last = (_part(y, axis, -1, None) - _part(y, axis, -2, -1)) / _part(steps, axis, -1, None)
        return np.concatenate([first, inside, last], axis)
    h1, h2 = _part(steps, axis, 0, 1), _part(steps, axis, 1, 2)
    a, b, c = -(2.0 * h1 + h2) / (h1 * (h1 + h2)), (h1 + h2) / (h1 * h2), -h1 / (h2 * (h1 + h2))
    first = a * _part(y, axis, 0, 1) + b * _part(y, axis, 1, 2) + c * _part(y, axis, 2, 3)
    h1, h2 = _part(steps, axis, -2, -1), _part(steps, axis, -1, None)
    a, b, c = h2 / (h1 * (h1 + h2)), -(h2 + h1) / (h1 * h2), (2.0 * h2 + h1) / (h2 * (h1 + h2))
    last = a * _part(y, axis, -3, -2) + b * _part(y, axis, -2, -1) + c * _part(y, axis, -1, None)
    return np.concatenate([first, inside, last], axis)


@implements(np.trapezoid)
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Any:
    near = (y, x, dx)
    values = array(y, near)
    axis = axis_of(axis, values.ndim)
    if x is None:
        widths: Any = dx
    else:
        at = array(x, near)
        widths = diff(at, axis=axis if at.ndim > 1 else 0)
        if at.ndim == 1:
            widths = np.reshape(widths, tuple([-1 if k == axis else 1 for k in range(values.ndim)]))
    pairs = _part(values, axis, 1, None) + _part(values, axis, None, -1)
    return np.sum(widths * pairs / 2.0, axis)


@implements(np.unwrap)
def unwrap(
    p: ArrayLike, discont: float | Traced | None = None, axis: int = -1, *, period: float | Traced = 2 * np.pi
) -> Any:
    """Jumps are taken back by whole periods, which do not move with ``p``."""
    x = array(p, (period,))
    axis = axis_of(axis, x.ndim)
    d = np.diff(x, axis=axis)
    if discont is None:
        discont = period / 2
    if np.result_type(d.dtype, array(period, (x,)).dtype if not holds_only_numbers(period) else period).kind in "iu":
        high, rest = divmod(period, 2)
        is_ambiguous = rest == 0
    else:
        high, is_ambiguous = period / 2, True
    low = -high
    wrapped = np.mod(d - low, period) + low
    if is_ambiguous:  # a jump of half a period keeps its sign
        wrapped = np.where((wrapped == low) & (d > 0), high, wrapped)
    correction = np.where(np.abs(d) < discont, 0, wrapped - d)
    rest = _part(x, axis, 1, None) + np.cumsum(correction, axis)
    return np.concatenate([as_dtype(_part(x, axis, 0, 1), rest.dtype), rest], axis)


# ------------------------------------------------------------------------------------------------ interpolation


@implements(np.interp)
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | None = None,
    right: ArrayLike | None = None,
    period: Traced | None = None,
) -> Any:
    """Piecewise linear through (xp, fp), constant beyond; differentiated in x, xp and fp.

    At a knot the slope is that of the piece to its right, at the last one that of the last piece.
    """
    at, knots, values = arrays(x, xp, fp)
    if values.dtype.kind == "c":
        raise refuse("interp", "fp", "complex", "np.interp of the real and of the imaginary part")
    at, knots, values = [as_dtype(z, np.float64) for z in (at, knots, values)]
    if knots.ndim != 1 or values.shape != knots.shape:
        raise ValueError("fp and xp are not of the same length.")
    if not knots.size:
        raise ValueError("array of sample points is empty")
    if period is not None:
        if holds(period == 0):
            raise ValueError("period must be a non-zero value")
        period = abs(period)
        left = right = None
        at, knots = at % period, knots % period
        order = np.argsort(knots)
        knots, values = knots[order], values[order]
        knots = np.concatenate([knots[-1:] - period, knots, knots[:1] + period])
        values = np.concatenate([values[-1:], values, values[:1]])
    n = knots.size
    left = values[0] if left is None else left
    above: Any = values[-1] if right is None else right
    place = np.clip(searchsorted(knots, at, "right") - 1, 0, n - 1)
    if n > 1:
        piece = np.minimum(place, n - 2)
        width = np.diff(knots)
        width = np.where(width == 0, 1, width)  # an empty piece is never taken, nor is its derivative
        slope = (np.diff(values) / width)[piece]
        y = slope * (at - knots[place]) + values[place]
        y = np.where(at == knots[place], values[place] + slope * (at - knots[place]), y)
    else:
        y = np.where(np.isnan(at), at, values[0])
    return scalar(np.where(at > knots[-1], above, np.where(at < knots[0], left, y)))


# ------------------------------------------------------------------------------------------- rounding, repairing


@implements(np.round, np.around)
def round_(a: ArrayLike, decimals: int = 0, out: Out = None) -> Any:
    x = array(a)
    decimals = int(decimals)
    if x.dtype.kind in "iu":
        if decimals < 0:
            raise refuse("round", "decimals", decimals, "decimals >= 0 for integers")
        return into(out, x.copy())
    if x.dtype.kind == "b":
        x = as_dtype(x, np.float16)
    if decimals == 0:
        return into(out, np.rint(x))
    if x.dtype.kind == "c":  # part by part: a complex product would carry NaN and infinity over to the other one
        return into(out, scalar(record(OPS["compose"], [round_(p, decimals) for p in (np.real(x), np.imag(x))], {})))
    scale = 10.0 ** abs(decimals) if abs(decimals) <= sys.float_info.max_10_exp else math.inf
    return into(out, np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale)


@implements(np.fix)
def fix(x: ArrayLike, out: Out = None) -> Any:
    return into(out, np.trunc(x))


@implements(np.clip)
def clip(
    a: ArrayLike,
    a_min: ArrayLike = MISSING,
    a_max: ArrayLike = MISSING,
    out: Out = None,
    *,
    min: ArrayLike = MISSING,
    max: ArrayLike = MISSING,
    **options: Any,
) -> Any:
    """At a bound, as at every corner, the derivative is the mean of both sides."""
    for name in ("dtype", "where", "casting", "order", "subok", "signature"):
        if name in options and not (name == "where" and options[name] is True):
            raise refuse("clip", name, options[name])
    low: Any = min if a_min is MISSING else a_min
    high: Any = max if a_max is MISSING else a_max
    y: Any = array(a, (low, high))
    is_bounded = False
    if not is_within(low, y.dtype) and bool(low < 0):
        low = None  # no element is that small
    if not is_within(high, y.dtype) and bool(high > 0):
        high = None
    if low is not None and low is not MISSING:
        y, is_bounded = np.maximum(y, low), True
    if high is not None and high is not MISSING:
        y, is_bounded = np.minimum(y, high), True
    return into(out, y if is_bounded else scalar(y.copy()))


@implements(np.nan_to_num)
def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Any:
    z = array(x)
    if z.dtype.kind == "c":
        parts = [nan_to_num(part, True, nan, posinf, neginf) for part in (np.real(z), np.imag(z))]
        y = record(OPS["compose"], parts, {})
        return scalar(y if copy or type(x) is not Tracer or x.is_scalar else into(x, y))
    if z.dtype.kind != "f":
        return z.copy() if copy else z
    limits = np.finfo(z.dtype)
    y = np.where(np.isnan(z), nan, z)
    y = np.where(z == np.inf, limits.max if posinf is None else posinf, y)
    y = np.where(z == -np.inf, limits.min if neginf is None else neginf, y)
    y = as_dtype(y, z.dtype)
    return scalar(y if copy or type(x) is not Tracer or x.is_scalar else into(x, y))


# ----------------------------------------------------------------------------------------- real and complex parts


@implements(np.real)
def real(val: ArrayLike) -> Any:
    x = array(val)
    return _plane(x, OPS["real"], np.real, lambda z, v: OPS["compose"](v, OPS["imag"](z)))


@implements(np.imag)
def imag(val: ArrayLike) -> Any:
    x = array(val)
    if x.dtype.kind == "c":
        return _plane(x, OPS["imag"], np.imag, lambda z, v: OPS["compose"](OPS["real"](z), v))
    zeros: Any = np.zeros_like(x, order="A")
    if x.is_scalar:
        return zeros[()]
    zeros._why_readonly = "the imaginary part of real numbers cannot be written"
    return zeros


def _plane(x: Tracer, op: Op, numpy: Callable[..., Any], write: Callable[[Atom, Atom], Atom]) -> Any:
    """The real or the imaginary part: of an array a view, which can be written."""
    if x.dtype.kind != "c":
        return x
    return record(op, (x,), {}) if x.is_scalar else op_view(x, op, {}, write, numpy)


@implements(np.angle)
def angle(z: ArrayLike, deg: bool = False) -> Any:
    x = array(z)
    y = np.arctan2(imag(x), real(x)) if x.dtype.kind == "c" else np.arctan2(0, x)
    return y * (180 / np.pi) if deg else y


@implements(np.real_if_close)
def real_if_close(a: ArrayLike, tol: float = 100) -> Any:
    x = array(a)
    if x.dtype.kind == "c":  # which of the two it is depends on values
        close = tol * np.finfo(x.dtype).eps if tol > 1 else tol
        x = np.real(x) if bool(np.all(np.abs(np.imag(x)) < close)) else x
    return not_scalar(x.copy()) if x.is_scalar else x


# ------------------------------------------------------------------------------------------------------- special


@implements(np.sinc)
def sinc(x: ArrayLike) -> Any:
    """sin πx / πx; near zero its power series, so that derivatives of every order are right there."""
    y = np.pi * inexact(array(x))
    is_small = np.abs(y) < 1
    square = np.square(np.where(is_small, y, 0))
    series: Any = 0.0
    for k in range(10, -1, -1):
        series = series * square + (-1) ** k / math.factorial(2 * k + 1)
    away = np.where(is_small, 1, y)
    return scalar(np.where(is_small, series, np.sin(away) / away))


@implements(np.i0)
def i0(x: Traced) -> Any:
    from scipy import special  # takes longer to import than most functions to trace

    x = inexact(array(x))
    return not_scalar(as_dtype(special.i0(x), x.dtype))
