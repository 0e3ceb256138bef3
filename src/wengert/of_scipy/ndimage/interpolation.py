"""Splines through the elements of an array, and what they are between them.

A value is a sum over the ``order + 1`` nearest coefficients along each axis, with weights that are polynomials of the
place; so there are derivatives in the array, in the places, and in whatever these are made of.

Source: SciPy's ``ni_interpolation.c``, whose ways to continue an array are followed here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

import wengert as wg
from wengert.errors import ConcretizationError
from wengert.of_scipy.ndimage.borders import PADDING, Target, axis_of, doubled, dtype_of, each, finish, table
from wengert.of_scipy.ndimage.filters import is_list_traced
from wengert.ops.splines import spline_filter as spline_op
from wengert.tracing.arguments import Traced, array, as_dtype, constant, trace_near
from wengert.tracing.emit import record
from wengert.tracing.interception.asking import AT_FUNCTIONS
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer

PLACE = "scipy.ndimage"
Number = float | Traced
Numbers = Number | Sequence[Number]

# ----------------------------------------------------------------------------------------------------- coefficients


def filtered(x: Traced, order: int, axis: int, mode: str) -> Any:
    """The coefficients along one axis; real and imaginary parts apart."""
    if order < 2 or x.size == 0:
        return x
    if x.dtype.kind == "c":
        return filtered(np.real(x), order, axis, mode) + 1j * filtered(np.imag(x), order, axis, mode)
    return record(spline_op, (x,), {"order": int(order), "axis": axis, "mode": mode, "is_transposed": False})


def check_mode(mode: str) -> None:
    if mode not in PADDING:
        raise RuntimeError("boundary mode not supported")


@intercepts(f"{PLACE}:spline_filter1d")
def spline_filter1d(
    input: ArrayLike, order: int = 3, axis: int = -1, output: Target = np.float64, mode: str = "mirror"
) -> Any:
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    check_mode(mode)
    x = array(input)
    return finish(filtered(doubled(x), order, axis_of(axis, x.ndim), mode), np.float64, output)


@intercepts(f"{PLACE}:spline_filter")
def spline_filter(input: ArrayLike, order: int = 3, output: Target = np.float64, mode: str = "mirror") -> Any:
    if not 2 <= order <= 5:
        raise RuntimeError("spline order not supported")
    check_mode(mode)
    x = array(input)
    found = doubled(x)
    for axis in range(x.ndim):
        found = filtered(found, order, axis, mode)
    return finish(found, np.float64, output)


def _coefficients(
    x: Traced, order: int, mode: str, cval: complex, prefilter: bool, axes: Sequence[int]
) -> tuple[Any, int]:
    """The coefficients, and by how much they reach out of the array. A spline cannot be continued by a constant: the
    array is, by 12 elements."""
    found = doubled(x)
    if not prefilter or order < 2:
        return found, 0
    margin = 12 if mode in ("nearest", "grid-constant") else 0
    if margin:
        widths = [(margin, margin) if k in axes else (0, 0) for k in range(x.ndim)]
        constants: dict[str, Any] = {"constant_values": cval} if mode == "grid-constant" else {}
        found = np.pad(found, widths, mode=PADDING[mode], **constants)
    for axis in axes:
        found = filtered(found, order, axis, mode)
    return found, margin


# ------------------------------------------------------------------------------------------------------------- places


def _inside(x: Traced, n: int, mode: str) -> Any:
    """Places along an axis of length n, continued into it as the mode says."""
    if mode in ("constant", "grid-constant"):
        return x
    if mode == "nearest":
        return np.clip(x, 0, n - 1)
    if n <= 1:
        return 0 * x
    if mode == "mirror":
        period = 2 * n - 2
        below = period * np.trunc(-x / period) + x
        below = np.where(below <= 1 - n, below + period, -below)
        above = x - period * np.trunc(x / period)
        above = np.where(above >= n, period - above, above)
    elif mode in ("reflect", "grid-mirror"):
        period = 2 * n
        below = np.where(x < -period, period * np.trunc(-x / period) + x, x)
        below = np.where(below < -n, below + period, np.where(below > -1e-15, 1e-15, -below) - 1)
        above = x - period * np.trunc(x / period)
        above = np.where(above >= n, period - above - 1, above)
    elif mode == "wrap":
        period = n - 1
        below = x + period * (np.trunc(-x / period) + 1)
        above = x - period * np.trunc(x / period)
    else:  # grid-wrap
        below = x + n * (np.trunc((-1 - x) / n) + 1)
        above = x - n * np.trunc(x / n)
    return np.where(x < 0, below, np.where(x > n - 1, above, x))


def _index(k: Traced, n: int, mode: str) -> Any:
    """Indices along an axis of length n, continued into it."""
    if mode in ("nearest", "grid-constant"):
        return np.clip(k, 0, n - 1)
    if n <= 1:
        return 0 * k
    if mode in ("reflect", "grid-mirror"):
        m = k % (2 * n)
        return np.where(m >= n, 2 * n - 1 - m, m)
    if mode == "grid-wrap":
        return k % n
    m = k % (2 * n - 2)  # mirror, and constant and wrap, for which there are no splines
    return np.where(m >= n, 2 * n - 2 - m, m)


def _weights(t: Traced, order: int) -> list[Any]:
    """The B-splines at t, 0 to 1 between two knots: those of an order from those of the order below.

    bₖ(j) = ((t + k − j) bₖ₋₁(j − 1) + (1 + j − t) bₖ₋₁(j)) / k.  Source: de Boor (1972), J. Approximation Theory 6:1.
    """
    found: list[Any] = [np.ones_like(t)]
    for k in range(1, order + 1):
        before = [0.0, *found, 0.0]
        found = [((t + (k - j)) * before[j] + ((1 + j) - t) * before[j + 1]) / k for j in range(k + 1)]
    return found


def _neighbours(x: Traced, n: int, order: int, mode: str) -> tuple[Any, Any, Any]:
    """Return indices of the coefficients near places along an axis, their weights, each along a last axis, and
    which places are within the array (None: all)."""
    is_within = (x >= 0) & (x <= n - 1) if mode == "constant" else None
    at = _inside(x, n, mode)
    if is_within is not None:
        at = np.where(is_within, at, 0.0)
    shift = 0.0 if order % 2 else 0.5
    knot = np.floor(at + shift)
    weights = np.stack(_weights(at - knot + shift, order), axis=-1)
    k = as_dtype(knot, np.intp)[..., None] + table(np.arange(order + 1) - order // 2, x)
    if mode == "grid-constant":
        weights = np.where((k >= 0) & (k < n), weights, 0.0)
    return _index(k, n, mode), weights, is_within


def _check(x: Traced, order: int, mode: str) -> None:
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if x.ndim < 1:
        raise RuntimeError("input and output rank must be > 0")
    check_mode(mode)


def at_places(
    x: Traced, places: Sequence[Any], order: int, mode: str, cval: complex, prefilter: bool, axes: Sequence[int]
) -> Any:
    """The spline at any places: an array for each of the ``axes``, which are the last ones."""
    c, margin = _coefficients(x, order, mode, cval, prefilter, axes)
    if mode == "grid-constant":  # the weights of a spline add up to 1
        c = c - cval
    d = len(axes)
    indices, factors, masks = [], [], []
    for j, (axis, place) in enumerate(zip(axes, places, strict=True)):
        k, w, is_within = _neighbours(as_dtype(place, np.float64) + margin, c.shape[axis], order, mode)
        new = tuple([-d + i for i in range(d) if i != j])
        indices.append(np.expand_dims(k, new) if new else k)
        factors.append(w)
        masks += [] if is_within is None else [is_within]
    found: Any = c[(..., *indices)]
    for w in reversed(factors):
        inner = found.ndim - (c.ndim - d) - w.ndim  # the axes of coefficients that are still to be summed
        spread = np.expand_dims(w, tuple(range(w.ndim - 1, w.ndim - 1 + inner))) if inner > 0 else w
        found = np.sum(found * spread, axis=-1)
    return _masked(found, masks, mode, cval)


def _masked(found: Any, masks: list[Any], mode: str, cval: complex) -> Any:
    for mask in masks:
        found = np.where(mask, found, cval)
    return found + cval if mode == "grid-constant" else found


def on_grid(x: Traced, places: Sequence[Any], order: int, mode: str, cval: complex, prefilter: bool) -> Any:
    """The spline on a grid: places along each axis, of one axis each."""
    c, margin = _coefficients(x, order, mode, cval, prefilter, range(x.ndim))
    if mode == "grid-constant":
        c = c - cval
    masks = []
    for axis, place in enumerate(places):
        k, w, is_within = _neighbours(as_dtype(place, np.float64) + margin, c.shape[axis], order, mode)
        c = np.moveaxis(np.sum(np.moveaxis(c, axis, -1)[..., k] * w, axis=-1), -1, axis)
        if is_within is not None:
            masks.append(np.expand_dims(is_within, tuple([d for d in range(x.ndim) if d != axis])))
    return _masked(c, masks, mode, cval)


def _numbers(values: Any, near: Traced) -> Any:
    """Numbers as an array: a list of plain ones is a constant."""
    if not isinstance(values, list | tuple):
        return array(values)
    return array(values) if is_list_traced(values) else constant(trace_near((near,)), values)


@intercepts(f"{PLACE}:map_coordinates")
def map_coordinates(
    input: ArrayLike,
    coordinates: ArrayLike,
    output: Target = None,
    order: int = 3,
    mode: str = "constant",
    cval: complex = 0.0,
    prefilter: bool = True,
) -> Any:
    x = array(input)
    at = _numbers(coordinates, x)
    if at.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    _check(x, order, mode)
    if at.ndim < 2:
        raise RuntimeError("input and output rank must be > 0")
    if at.shape[0] != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    found = at_places(x, [at[k] for k in range(x.ndim)], order, mode, cval, prefilter, range(x.ndim))
    return finish(found, dtype_of(x), output, is_rounded=True)


@intercepts(f"{PLACE}:shift")
def shift(
    input: ArrayLike,
    shift: Numbers,
    output: Target = None,
    order: int = 3,
    mode: str = "constant",
    cval: complex = 0.0,
    prefilter: bool = True,
) -> Any:
    x = array(input)
    _check(x, order, mode)
    shifts = each(shift, x.ndim)
    places = [table(np.arange(n), x) - by for n, by in zip(x.shape, shifts, strict=True)]
    return finish(on_grid(x, places, order, mode, cval, prefilter), dtype_of(x), output, is_rounded=True)


@intercepts(f"{PLACE}:zoom")
def zoom(
    input: ArrayLike,
    zoom: Numbers,
    output: Target = None,
    order: int = 3,
    mode: str = "constant",
    cval: complex = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    """The factors decide how many elements there are, and are looked at; nothing else depends on them."""
    x = array(input)
    _check(x, order, mode)
    factors = each(zoom, x.ndim)
    shape = [int(np.round(n * factor)) for n, factor in zip(x.shape, factors, strict=True)]
    if all(bool(factor == 1) for factor in factors) and prefilter:
        return finish(x, dtype_of(x), output)
    if grid_mode and mode in ("constant", "wrap"):
        warnings.warn(
            f"It is recommended to use mode = grid-{mode} instead of {mode} when grid_mode is True.", stacklevel=3
        )
    places = []
    for n, m in zip(x.shape, shape, strict=True):
        above, below = (n, m) if grid_mode else (n - 1, m - 1)
        step = above / below if below else 1.0
        k = np.arange(m)
        places.append(table((k + 0.5) * step - 0.5 if grid_mode else k * step, x))
    return finish(on_grid(x, places, order, mode, cval, prefilter), dtype_of(x), output, is_rounded=True)


@intercepts(f"{PLACE}:affine_transform")
def affine_transform(
    input: ArrayLike,
    matrix: ArrayLike,
    offset: Numbers = 0.0,
    output_shape: Sequence[int] | None = None,
    output: Target = None,
    order: int = 3,
    mode: str = "constant",
    cval: complex = 0.0,
    prefilter: bool = True,
) -> Any:
    """The element at o is the spline's value at M o + offset."""
    x = array(input)
    _check(x, order, mode)
    target = output if isinstance(output, np.ndarray | Tracer) else x  # and not a dtype, which has a shape, too
    shape = tuple(target.shape if output_shape is None else output_shape)
    m = as_dtype(_numbers(matrix, x), np.float64)
    if m.ndim not in (1, 2) or m.shape[0] < 1:
        raise RuntimeError("no proper affine matrix provided")
    n = x.ndim
    is_for_all = not (isinstance(offset, list | tuple) or getattr(offset, "ndim", 0))
    away: Any = as_dtype(_numbers(each(offset, n) if is_for_all else offset, x), np.float64)
    if m.ndim == 2 and m.shape[1] == n + 1 and m.shape[0] in (n, n + 1):
        if m.shape[0] == n + 1 and not np.all(m[n] == table([0.0] * n + [1.0], x)):
            raise ValueError(
                f"Expected homogeneous transformation matrix with shape {m.shape} for image shape {x.shape}, "
                f"but bottom row was not equal to {[0] * n + [1]}"
            )
        away, m = m[:n, n], m[:n, :n]
    if m.shape[0] != n:
        raise RuntimeError("affine matrix has wrong number of rows")
    if m.ndim == 2 and m.shape[1] != len(shape):
        raise RuntimeError("affine matrix has wrong number of columns")
    if away.ndim != 1 or away.shape[0] < 1:
        raise RuntimeError("no proper offset provided")
    if m.ndim == 1:
        places = [m[k] * table(np.arange(shape[k]), x) + away[k] for k in range(n)]
        found = on_grid(x, places, order, mode, cval, prefilter)
    else:
        found = _through(x, m, away, shape, order, mode, cval, prefilter, range(n))
    return finish(found, dtype_of(x), output, is_rounded=True)


def _through(
    x: Traced,
    m: Traced,
    away: Traced,
    shape: Sequence[int],
    order: int,
    mode: str,
    cval: complex,
    prefilter: bool,
    axes: Sequence[int],
) -> Any:
    grid = [table(o, x) for o in np.indices(shape, dtype=float, sparse=True)]
    places = []
    for i in range(len(axes)):
        place = away[i] + sum([m[i, j] * o for j, o in enumerate(grid)])
        places.append(np.broadcast_to(place, tuple(shape)))
    return at_places(x, places, order, mode, cval, prefilter, axes)


@intercepts(f"{PLACE}:rotate")
def rotate(
    input: ArrayLike,
    angle: Number,
    axes: tuple[int, int] = (1, 0),
    reshape: bool = True,
    output: Target = None,
    order: int = 3,
    mode: str = "constant",
    cval: complex = 0.0,
    prefilter: bool = True,
) -> Any:
    """A traced angle is looked at for the shape of the result, if ``reshape``; nothing else of it is cut off."""
    x = array(input)
    if x.ndim < 2:
        raise ValueError("input array should be at least 2D")
    plane = list(axes)
    if len(plane) != 2:
        raise ValueError("axes should contain exactly two values")
    if not all(float(k).is_integer() for k in plane):
        raise ValueError("axes should contain only integer values")
    plane = sorted([k + x.ndim if k < 0 else k for k in plane])
    if plane[0] < 0 or plane[1] >= x.ndim:
        raise ValueError("invalid rotation plane specified")
    _check(x, order, mode)
    c, s = special.cosdg(angle), special.sindg(angle)
    rows, columns = [x.shape[k] for k in plane]
    if reshape:
        corners = [(0, 0), (0, columns), (rows, 0), (rows, columns)]
        first = [c * i + s * j for i, j in corners]
        second = [c * j - s * i for i, j in corners]
        shape = [int(_spread(first) + 0.5), int(_spread(second) + 0.5)]
    else:
        shape = [rows, columns]
    m = array([[c, s], [-s, c]], (x,))
    center = table((np.array(shape) - 1) / 2, x)
    away = table((np.array([rows, columns]) - 1) / 2, x) - m @ center
    image: Any = x
    turned = np.moveaxis(image, plane, (-2, -1))
    found = _through(turned, m, away, shape, order, mode, cval, prefilter, (x.ndim - 2, x.ndim - 1))
    return finish(np.moveaxis(found, (-2, -1), plane), dtype_of(x), output, is_rounded=True)


def _spread(values: list[Any]) -> Any:
    every = np.stack([array(v, values) for v in values])
    return np.max(every) - np.min(every)


@intercepts(f"{PLACE}:geometric_transform", AT_FUNCTIONS)
def geometric_transform(
    input: ArrayLike,
    mapping: Callable[..., Any],
    output_shape: Sequence[int] | None = None,
    output: Target = None,
    order: int = 3,
    mode: str = "constant",
    cval: complex = 0.0,
    prefilter: bool = True,
    extra_arguments: tuple[Any, ...] = (),
    extra_keywords: Mapping[str, Any] | None = None,
) -> Any:
    """``mapping`` is called with all indices at once, or, where it looks at them, with those of each element."""
    x = array(input)
    _check(x, order, mode)
    shape = tuple(x.shape if output_shape is None else output_shape)
    if len(shape) < 1:
        raise RuntimeError("input and output rank must be > 0")
    every = np.indices(shape).reshape(len(shape), -1).T
    call = lambda *index: np.stack(
        [as_dtype(array(v, (x,)), np.float64) for v in mapping(index, *extra_arguments, **(extra_keywords or {}))]
    )
    if len(every) == 0:
        return finish(table(np.zeros(shape), x), dtype_of(x), output)
    try:
        places = wg.vmap(call)(*[table(column, x) for column in every.T])
    except ConcretizationError:
        places = np.stack([call(*[int(k) for k in index]) for index in every])
    if places.shape[1] != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    at = [np.reshape(places[:, k], shape) for k in range(x.ndim)]
    found = at_places(x, at, order, mode, cval, prefilter, range(x.ndim))
    return finish(found, dtype_of(x), output, is_rounded=True)
