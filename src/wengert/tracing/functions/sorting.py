"""Order: sorting, searching, what is unique, medians and quantiles, counts in bins.

The derivative of a sorted array moves with the elements, by way of ``argsort``. Where many are equal, which of
them is meant is decided by their order in memory: ``argsort`` is always stable.
"""

from __future__ import annotations

import math
import operator
from builtins import range as range_  # histograms have a range of their own
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.ops import index as ops
from wengert.tape import Aval
from wengert.tracing.arguments import (
    INTP,
    Axis,
    Out,
    Traced,
    array,
    arrays,
    as_dtype,
    axes_of,
    axis_of,
    common_dtype,
    concrete,
    constant,
    holds,
    implements,
    inexact,
    into,
    promote,
    refuse,
    scalar,
    strong_arrays,
)
from wengert.tracing.arguments import kind as kind_of  # sorts have a ``kind`` of their own
from wengert.tracing.emit import record
from wengert.tracing.functions.reductions import kept_shape
from wengert.tracing.functions.selecting import nonzero, taken_along
from wengert.tracing.functions.shaping import on_axis, ravel
from wengert.tracing.layouts import UNKNOWN_ORDER, laid_out
from wengert.tracing.tracer import Tracer

# ------------------------------------------------------------------------------------------------------ sorting


def _on_axis(a: ArrayLike, axis: int | None, order: str | None, function: str) -> tuple[Tracer, int]:
    if order is not None:
        raise refuse(function, "order", order)
    x = array(a)
    if x.ndim == 0 and axis is not None and function in ("sort", "partition"):  # the others take it as one element
        axis_of(axis, 0)
    return on_axis(x, axis)


@implements(np.argsort)
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: str | None = None,
    *,
    stable: bool | None = None,
) -> Any:
    x, axis = _on_axis(a, axis, order, "argsort")
    return record(ops.argsort, (x,), {"axis": axis})


def sorted_along(x: ArrayLike, axis: int) -> Any:
    return record(ops.sort, (x,), {"axis": axis}).reorder_like(x, "K")


@implements(np.sort)
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: str | None = None,
    *,
    stable: bool | None = None,
) -> Any:
    return sorted_along(*_on_axis(a, axis, order, "sort"))


@implements(np.partition)
def partition(
    a: ArrayLike, kth: ArrayLike, axis: int | None = -1, kind: str | None = None, order: str | None = None
) -> Any:
    """Sorted throughout, which is one of the partitions."""
    x, axis = _on_axis(a, axis, order, "partition")
    _check_kth(kth, x.shape[axis])
    return sorted_along(x, axis)


@implements(np.argpartition)
def argpartition(
    a: ArrayLike, kth: ArrayLike, axis: int | None = -1, kind: str | None = None, order: str | None = None
) -> Any:
    x, axis = _on_axis(a, axis, order, "argpartition")
    _check_kth(kth, x.shape[axis])
    return record(ops.argsort, (x,), {"axis": axis})


def _check_kth(kth: ArrayLike, n: int) -> None:
    at = concrete(kth, "kth")
    if at.size and n and not (-n <= at.min() and at.max() < n):
        raise ValueError(f"kth(={kth}) out of bounds ({n})")


@implements(np.lexsort)
def lexsort(keys: Sequence[ArrayLike], axis: int = -1) -> Any:
    """The order is that of the last key, ties by the one before it: stable sorts from the first key to the last."""
    xs = arrays(*keys)
    if xs[0].ndim == 0:
        return np.zeros_like(xs[0], dtype=INTP)
    axis = axis_of(axis, xs[0].ndim)
    order = argsort(xs[0], axis)
    for key in xs[1:]:
        order = taken_along(order, argsort(taken_along(key, order, axis), axis), axis)
    return order


def _order_of_rows(rows: Traced) -> Any:
    """Rows are ordered by the first column, ties by the next."""
    if not rows.shape[1]:
        return np.cumsum(np.ones_like(rows, shape=rows.shape[:1], dtype=INTP)) - 1
    return lexsort([rows[:, k] for k in range_(rows.shape[1] - 1, -1, -1)])


@implements(np.unique)
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Sorted, and the first of equals kept: how many there are is looked at, and guarded."""
    x: Any = array(ar)
    axis = None if axis is None else axis_of(axis, x.ndim)
    if axis is None or x.ndim == 1:
        rows = ravel(x)
        order = argsort(rows)
        values = rows[order]
        is_new = values[1:] != values[:-1]
        if equal_nan and x.dtype.kind in "fc":
            is_new = is_new & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    else:
        rows = np.moveaxis(x, axis, 0)
        columns: Any = np.reshape(rows, (rows.shape[0], math.prod(rows.shape[1:])))
        order = _order_of_rows(columns)
        values = rows[order]
        is_new = np.any(columns[order[1:]] != columns[order[:-1]], axis=1)
    is_first = np.concatenate([np.ones_like(order[:1], dtype=bool), is_new])
    (first,) = nonzero(is_first)
    out = [values[first] if axis is None or x.ndim == 1 else np.moveaxis(values[first], 0, axis)]
    if return_index:
        out.append(order[first])
    if return_inverse:
        inverse = np.zeros_like(order)
        inverse[order] = np.cumsum(is_first) - 1
        out.append(inverse if axis is not None else np.reshape(inverse, x.shape))
    if return_counts:
        out.append(np.diff(np.append(first, constant(x._trace, [order.size], INTP))))
    return out[0] if len(out) == 1 else tuple(out)


@implements(np.unique_values)
def unique_values(x: ArrayLike, /) -> Any:
    return unique(x, equal_nan=False)


# ---------------------------------------------------------------------------------------------------- searching


@implements(np.searchsorted)
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None) -> Any:
    table, x = promote(*strong_arrays(a, v))
    if table.ndim != 1:
        raise ValueError("object too deep for desired array")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    if sorter is not None:
        order = array(sorter, (table,))
        if order.dtype.kind not in "iub":
            raise TypeError("sorter must only contain integers")
        if order.shape != table.shape:
            raise ValueError("sorter.size must equal a.size")
        if holds(np.any((order < 0) | (order >= table.size))):
            raise ValueError("Sorter index out of range.")
        table = table[order]
    return record(ops.searchsorted, (table, array(x, (table,))), {"side": side})


@implements(np.digitize)
def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> Any:
    """Bins may run down as well as up. With a NaN among them they do neither."""
    table = array(bins, (x,))
    x = array(x, (table,))
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    side = "left" if right else "right"
    if table.size < 2:
        return searchsorted(table, x, side)
    if holds(~(np.all(table[:-1] <= table[1:]) | np.all(table[:-1] >= table[1:]))):
        raise ValueError("bins must be monotonically increasing or decreasing")
    runs_down = table[0] > table[-1]
    is_down = holds(runs_down)
    if is_down is None:  # nothing can be looked at: search both ways
        return np.where(runs_down, _digitize_down(table, x, side), searchsorted(table, x, side))
    return _digitize_down(table, x, side) if is_down else searchsorted(table, x, side)


def _digitize_down(table: Traced, x: ArrayLike, side: str) -> Any:
    return table.size - searchsorted(table[::-1], x, side)


@implements(np.isin)
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Any:
    x, y = arrays(element, test_elements)
    found = np.any(np.reshape(x, (*x.shape, 1)) == ravel(y), axis=-1)
    return ~found if invert else found


# ------------------------------------------------------------------------------------------- medians, quantiles


def _columns(a: ArrayLike, axis: Axis) -> tuple[Tracer, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """``a`` with one first axis, into which the reduced ones went; its shape, they, and what stays."""
    x = array(a)
    axes = axes_of(axis, x.ndim)
    rest = [k for k in range(x.ndim) if k not in axes]
    size = 1
    for k in axes:
        size *= x.shape[k]
    shape = tuple([x.shape[k] for k in rest])
    columns: Any = np.reshape(np.transpose(x, (*axes, *rest)), (size, *shape))
    return columns, x.shape, axes, shape


MOST_RANKS = 8
"""The most elements of which each is sought; for more, all are sorted."""


def _ranked(columns: Any, ranks: ArrayLike) -> Any:
    """The elements of each column that have these ranks, an array of any shape; NaN if any of the column is NaN."""
    each, index = np.unique(ranks, return_inverse=True)
    if each.size > MOST_RANKS or columns.dtype.char not in "fdilq":  # of others values are found sooner than places
        rows = sorted_along(columns, 0)
        return _nan_where_last_is(rows, rows[ranks])
    last = columns.ndim - 1  # where columns lie in one piece
    places = record(ops.argselect, (np.moveaxis(columns, 0, last),), {"axis": last, "ranks": tuple(each.tolist())})
    return taken_along(columns, np.moveaxis(places, last, 0), 0)[np.reshape(index, np.shape(ranks))]


def _present_counts(rows: Traced) -> Any:
    """How many elements of each column are not NaN; NaNs stand last."""
    if rows.dtype.kind not in "fc":
        return np.full_like(rows, rows.shape[0], shape=rows.shape[1:], dtype=INTP)
    return np.sum(~np.isnan(rows), axis=0)


def _at(rows: Traced, index: Traced) -> Any:
    """rows[index[..., c], c] for each column c."""
    n_extra = index.ndim - (rows.ndim - 1)
    flat = np.reshape(index, (math.prod(index.shape[:n_extra]), *rows.shape[1:]))
    taken = taken_along(rows, np.maximum(flat, 0), 0)
    return np.reshape(taken, index.shape) if n_extra != 1 else taken


def _nan_where_last_is(rows: Traced, y: ArrayLike) -> Any:
    return y if rows.dtype.kind not in "fc" else scalar(np.where(np.isnan(rows[-1]), rows[-1], y))


@implements(np.median)
def median(
    a: ArrayLike, axis: Axis = None, out: Out = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    columns, shape, axes, rest = _columns(a, axis)
    n = columns.shape[0]
    if n == 0:
        y = np.full_like(inexact(columns), np.nan, shape=rest)
    elif n % 2:
        y = inexact(_ranked(columns, n // 2))
    else:
        low, high = _ranked(columns, [n // 2 - 1, n // 2])
        y = (inexact(low) + inexact(high)) / 2
    return into(out, np.reshape(y, kept_shape(shape, axes)) if keepdims else y)


@implements(np.nanmedian)
def nanmedian(
    a: ArrayLike, axis: Axis = None, out: Out = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    columns, shape, axes, _ = _columns(a, axis)
    if columns.shape[0] == 0:
        return median(a, axis, out, overwrite_input, keepdims)
    rows = sorted_along(columns, 0)
    count = _present_counts(rows)
    y = (inexact(_at(rows, (count - 1) // 2)) + inexact(_at(rows, count // 2))) / 2
    return into(out, np.reshape(y, kept_shape(shape, axes)) if keepdims and keepdims is not np._NoValue else y)


# The plotting positions of Hyndman & Fan (1996), Sample quantiles in statistical packages: the virtual index of
# the quantile q among n sorted values is n q + α + q (1 - α - β) - 1.
_POSITIONS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_LINEAR = ("linear", "lower", "higher", "nearest", "midpoint")
_STEPS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")


def _virtual_index(q: Traced, n: int | Traced, method: str) -> Any:
    if method in _STEPS:
        return np.clip(_step_index(q, n, method), 0, n - 1)
    if method in _LINEAR:
        v = q * (n - 1)
        if method == "linear":
            return v
        if method == "midpoint":
            return (np.floor(v) + np.ceil(v)) / 2
        return {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}[method](v)
    alpha, beta = _POSITIONS[method]
    return np.clip(n * q + (alpha + q * (1 - alpha - beta)) - 1, 0, n - 1)


def _step_index(q: Traced, n: int | Traced, method: str) -> Any:
    """Return the index that is an element's own, or half way between two: the first three methods of Hyndman & Fan."""
    if method == "closest_observation":
        v = n * q - 1.5
        return np.where((v == np.floor(v)) & (np.floor(v) % 2 == 1), np.floor(v), np.floor(v) + 1)
    v = n * q - 1
    if method == "inverted_cdf":
        return np.ceil(v)
    return np.where(v < 0, 0, np.where(v == np.floor(v), v + 0.5, np.ceil(v)))


def _probabilities(q: ArrayLike, x: Tracer, scale: int) -> Tracer:
    """``q`` as a fraction, in the dtype in which NumPy computes with it."""
    is_weak = x.dtype.kind == "f" and not isinstance(kind_of(q), np.dtype)
    p = array(q, (x,))
    p = as_dtype(p, x.dtype) if is_weak else inexact(p)
    if scale != 1:
        p = p / scale
    if holds(~np.all((p >= 0) & (p <= 1))):
        what = "Quantiles must be in the range [0, 1]" if scale == 1 else "Percentiles must be in the range [0, 100]"
        raise ValueError(what)
    return p


def _interpolated(low: Traced, high: Traced, t: Traced) -> Any:
    """From ``low`` to ``high``, exact at both ends."""
    step = high - low
    return scalar(np.where(t >= 0.5, high - step * (1 - t), low + step * t))


def _weights_of(x: Tracer, weights: ArrayLike | None, axis: Axis) -> Any:
    """A weight for each element, of as many as ``x`` has, or as its reduced axes have."""
    w = array(weights, (x,))
    if w.shape != x.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        given = [axis_of(k, x.ndim) for k in (axis if isinstance(axis, tuple) else (axis,))]
        if w.shape != tuple([x.shape[k] for k in given]):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        w = np.transpose(w, np.argsort(given))
        w = np.broadcast_to(np.reshape(w, [n if k in given else 1 for k, n in enumerate(x.shape)]), x.shape)
    if holds(np.any(w < 0)):
        raise ValueError("Weights must be non-negative.")
    return as_dtype(w, np.float64)


@cache
def _passes_over_no_weight() -> bool:
    """Whether NumPy's quantile at 0 is the first element that has a weight, and not the first of all, as up to 2.3."""
    return np.quantile([0.0, 1.0], 0.0, weights=[0.0, 1.0], method="inverted_cdf") == 1


@cache
def _refuses_no_weight() -> bool:
    """Whether NumPy refuses weights that are all zero, as it did not up to 2.3."""
    with np.errstate(all="ignore"):
        try:
            np.quantile([0.0, 1.0], 0.5, weights=[0.0, 0.0], method="inverted_cdf")
        except ValueError:
            return True
    return False


def _weighted_quantile(
    x: Tracer, p: Traced, axis: Axis, keepdims: bool, weights: ArrayLike | None, skip_nan: bool
) -> Any:
    """The first element up to which the weights are that part of all."""
    w = _weights_of(x, weights, axis)
    axes = axes_of(axis, x.ndim)
    if skip_nan and x.dtype.kind == "f":
        is_nan = np.isnan(x)
        w = np.where(is_nan & ~np.all(is_nan, axis=axes, keepdims=True), 0.0, w)
    rest = [k for k in range_(x.ndim) if k not in axes]
    shape = tuple([x.shape[k] for k in rest])
    size = math.prod([x.shape[k] for k in axes])
    rows, w = [np.reshape(np.transpose(z, (*axes, *rest)), (size, *shape)) for z in (x, w)]
    order = argsort(rows, 0)
    rows, w = taken_along(rows, order, 0), taken_along(w, order, 0)
    part: Any = np.cumsum(w, axis=0)
    part = part / part[-1]
    if _refuses_no_weight() and holds(np.any(np.isnan(part[-1]))):
        raise ValueError("Weights included NaN, inf or were all zero.")
    part = as_dtype(part, p.dtype)
    if _passes_over_no_weight():
        part = np.where(part == 0, -1, part)
    below = part < np.reshape(p, (*p.shape, *[1] * part.ndim))
    y: Any = _at(rows, np.minimum(np.sum(below, axis=p.ndim), size - 1))
    y = y if skip_nan else _nan_where_last_is(rows, y)
    if keepdims and keepdims is not np._NoValue:
        y = np.reshape(y, (*p.shape, *kept_shape(x.shape, axes)))
    if skip_nan and p.ndim:
        y.reorder(UNKNOWN_ORDER)
    return y


def _quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis,
    out: Any,
    method: str,
    keepdims: bool,
    weights: ArrayLike | None,
    scale: int,
    skip_nan: bool,
) -> Any:
    if method not in (*_LINEAR, *_STEPS, *_POSITIONS):
        raise ValueError(f"{method!r} is not a valid method. Use one of: {[*_STEPS, *_POSITIONS, *_LINEAR]}")
    x = array(a, (q, weights))
    if x.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    p = _probabilities(q, x, scale)
    if weights is not None:
        if method != "inverted_cdf":
            raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
        return into(out, _weighted_quantile(x, p, axis, keepdims, weights, skip_nan))
    if skip_nan and x.size == 0:  # as NumPy: whatever is asked for, the means
        return np.nanmean(x, axis, out=out, keepdims=keepdims)
    columns, shape, axes, rest = _columns(x, axis)
    n = columns.shape[0]
    ones = (1,) * len(rest)
    y: Any
    if n == 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    if skip_nan and x.dtype.kind == "f":
        rows = sorted_along(columns, 0)
        count = _present_counts(rows)
        v = _virtual_index(np.reshape(p, (*p.shape, *ones)), as_dtype(count, p.dtype), method)
        v = np.broadcast_to(v, (*p.shape, *rest))
        floor = np.floor(v)
        low = as_dtype(floor, INTP)
        high = np.minimum(low + 1, count - 1)
        y = _interpolated(_at(rows, low), _at(rows, high), v - floor)
    else:
        v = _virtual_index(p, n, method)
        floor = np.floor(v)
        low = as_dtype(floor, INTP)
        t = v - floor
        known, ranks = t.constant(), low.constant()
        if known is not None and not known.any():
            y = _ranked(columns, ranks)
        elif ranks is not None:
            y = _ranked(columns, np.stack([ranks, np.minimum(ranks + 1, n - 1)]))
            y = _interpolated(y[0], y[1], np.reshape(t, (*t.shape, *ones)))
        else:
            rows = sorted_along(columns, 0)
            y = _interpolated(rows[low], rows[np.minimum(low + 1, n - 1)], np.reshape(t, (*t.shape, *ones)))
            y = _nan_where_last_is(rows, y)
    if n:
        is_at_elements = method == "linear" and scale == 1 and array(q, (x,)).dtype.kind in "iub"  # 0 or 1
        is_between = method in ("linear", "midpoint", "averaged_inverted_cdf", *_POSITIONS) and not is_at_elements
        y = as_dtype(y, np.result_type(x.dtype, p.dtype) if is_between else x.dtype)
    if keepdims and keepdims is not np._NoValue:
        y = np.reshape(y, (*p.shape, *kept_shape(shape, axes)))
    if skip_nan and p.ndim:
        y.reorder(UNKNOWN_ORDER)  # of NumPy's several ways here, some have the probabilities last
    return into(out, y)


@implements(np.quantile)
def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Out = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Any:
    return _quantile(a, q, axis, out, method, keepdims, weights, 1, False)


@implements(np.percentile)
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Out = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Any:
    return _quantile(a, q, axis, out, method, keepdims, weights, 100, False)


@implements(np.nanquantile)
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Out = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Any:
    return _quantile(a, q, axis, out, method, keepdims, weights, 1, True)


@implements(np.nanpercentile)
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Out = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Any:
    return _quantile(a, q, axis, out, method, keepdims, weights, 100, True)


# ------------------------------------------------------------------------------------------------ counts in bins


@implements(np.bincount)
def bincount(x: ArrayLike, /, weights: ArrayLike | None = None, minlength: int = 0) -> Any:
    """How many bins there are is looked at, and guarded; the weights are differentiated."""
    index = array(x, (weights,))
    if index.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {index.dtype!r} to dtype('int64') according to the rule 'safe'")
    if index.ndim > 1:
        raise ValueError("object too deep for desired array")
    minlength = int(minlength)
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if holds(np.any(index < 0)):
        raise ValueError("'list' argument must have no negative elements")
    size = max(minlength, int(np.max(index)) + 1 if index.size else 0)
    return _counted(as_dtype(index, INTP), size, weights)


def _counted(index: Traced, size: int, weights: ArrayLike | None) -> Any:
    if weights is None:
        ones = np.ones_like(index)
    else:
        ones = as_dtype(array(weights, (index,)), np.float64)
        if ones.shape != index.shape:
            raise ValueError("The weights and list don't have the same length.")
    return record(ops.scatter_add, (np.zeros_like(ones, shape=(size,)), ones, index), {})


@implements(np.histogram)
def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Sequence[ArrayLike] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> Any:
    """Counts do not move with the values, but weights and edges do."""
    x = array(a, (weights,))
    _check_estimated(bins, weights)
    w = None if weights is None else array(weights, (x,))
    if w is not None and w.shape != x.shape:
        raise ValueError("weights should have the same shape as a.")
    x = ravel(x)
    edges = _edges(x, bins, range)
    n = edges.size - 1
    place = searchsorted(edges, x, "right") - 1
    place = np.where(x == edges[-1], n - 1, place)
    inside = (x >= edges[0]) & (x <= edges[-1])
    w = np.ones_like(place) if w is None else ravel(w)
    counted = record(
        ops.scatter_add, (np.zeros_like(w, shape=(n,)), np.where(inside, w, 0), np.clip(place, 0, n - 1)), {}
    )
    if density:
        return counted / np.diff(edges) / np.sum(counted), edges
    return counted, edges


@implements(np.histogram_bin_edges)
def histogram_bin_edges(
    a: ArrayLike, bins: ArrayLike = 10, range: Sequence[ArrayLike] | None = None, weights: ArrayLike | None = None
) -> Any:
    _check_estimated(bins, weights)
    return _edges(ravel(array(a, (weights,))), bins, range)


def _check_estimated(bins: ArrayLike, weights: ArrayLike | None) -> None:
    if isinstance(bins, str) and weights is not None:
        raise TypeError("Automated estimation of the number of bins is not supported for weighted data")


@cache
def _auto_has_a_limit() -> bool:
    """Whether NumPy bounds the number of bins where half of the values are equal, as it did not up to 2.1."""
    return len(np.histogram_bin_edges([1.0, 1.0, 1.0, 1.0, 9.0], "auto")) == 6


def _width(x: Traced, name: str) -> Any:
    """How wide bins should be, by the estimator of that name."""
    n = x.size
    if name == "auto":
        own, least = _width(x, "fd"), _width(x, "sturges")
        if not _auto_has_a_limit():
            return np.minimum(own, least) if own else least
        return np.minimum(np.maximum(own, _width(x, "sqrt") / 2), least)
    if name == "fd":
        return 2.0 * (np.percentile(x, 75) - np.percentile(x, 25)) * n ** (-1.0 / 3.0)
    if name == "scott":
        return (24.0 * np.pi**0.5 / n) ** (1.0 / 3.0) * np.std(x)
    if name == "doane":
        spread = np.std(x)
        if n <= 2 or not spread > 0:
            return 0.0 * spread
        skew = np.mean(((x - np.mean(x)) / spread) ** 3)
        error = math.sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)))
        return np.ptp(x) / (1.0 + math.log2(n) + np.log2(1.0 + np.abs(skew) / error))
    shares = {"sqrt": math.sqrt(n), "sturges": math.log2(n) + 1.0, "rice": 2.0 * n ** (1.0 / 3)}
    if name in shares:
        return np.ptp(x) / shares[name]
    if name == "stone":
        raise refuse("histogram", "bins", name, *[f"bins={other!r}" for other in ("auto", "fd", "scott")])
    raise ValueError(f"{name!r} is not a valid estimator for `bins`")


def _estimated(x: Traced, name: str, low: Traced, high: Traced, range: Sequence[ArrayLike] | None) -> int:
    """How many bins an estimator asks for: looked at, and guarded."""
    if range is not None:
        x = x[(x >= low) & (x <= high)]
    if not x.size:
        return 1
    width = _width(x, name)
    if not width:
        return 1
    if x.dtype.kind in "iu" and width < 1:
        width = 1
    return int(np.ceil((high - low) / width))


def _length(bins: Any, none: int = 1) -> int:
    """How many; ``none`` of what has no length, a number."""
    try:
        return len(bins)
    except TypeError:
        return none


@implements(np.histogramdd)
def histogramdd(
    sample: Traced | Sequence[ArrayLike],
    bins: Any = 10,
    range: Sequence[Sequence[ArrayLike] | None] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> Any:
    """The points are [point, coordinate], or a sequence of coordinates; weights and edges move, counts do not."""
    points: Any = array(sample) if type(sample) is Tracer else np.stack(arrays(*sample), axis=-1)
    points = points[:, None] if points.ndim == 1 else points
    d = points.shape[1]
    each = list(bins) if _length(bins, none=0) else [bins] * d
    ranges = [None] * d if range is None else list(range)
    if len(each) != d:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if len(ranges) != d:
        raise ValueError("range argument must have one entry per dimension")
    double = as_dtype(points, np.dtype(float))  # in which NumPy has the edges of a range that is given
    edges = [_edges((points if ranges[k] is None else double)[:, k], each[k], ranges[k]) for k in range_(d)]
    place, inside = np.zeros_like(points[:, 0], dtype=INTP), np.ones_like(points[:, 0], dtype=bool)
    for k, own in enumerate(edges):
        x, n = points[:, k], own.size - 1
        at = np.where(x == own[-1], n - 1, searchsorted(own, x, "right") - 1)
        inside = inside & (x >= own[0]) & (x <= own[-1])
        place = place * n + np.clip(at, 0, n - 1)
    w = np.ones_like(points[:, 0]) if weights is None else array(weights, (points,))
    w = as_dtype(w, np.dtype(float))  # what NumPy counts in
    shape = tuple([own.size - 1 for own in edges])
    nothing = np.zeros_like(w, shape=(math.prod(shape),))
    counted: Any = np.reshape(record(ops.scatter_add, (nothing, np.where(inside, w, 0), place), {}), shape)
    padded = Aval(tuple([n + 2 for n in shape]), counted.dtype)  # NumPy counts outliers too, and cuts them off
    counted.reorder(laid_out(padded, range_(d))[(slice(1, -1),) * d])
    if density:
        total = np.sum(counted)
        for k, own in enumerate(edges):
            widths = np.diff(own)
            counted = counted / np.reshape(widths, (1,) * k + widths.shape + (1,) * (d - 1 - k))
        counted = counted / total
    return counted, edges


@implements(np.histogram2d)
def histogram2d(
    x: Sequence[Any] | Traced,
    y: Sequence[Any] | Traced,
    bins: Any = 10,
    range: Sequence[Sequence[ArrayLike] | None] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> Any:
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if _length(bins) not in (1, 2):  # one array of edges, for both
        bins = [bins, bins]
    counted, edges = histogramdd([x, y], bins, range, density, weights)
    return counted, edges[0], edges[1]


def _edges(x: Tracer, bins: Any, range: Sequence[ArrayLike] | None) -> Any:
    given = None if isinstance(bins, str) else array(bins, (x,))
    if given is not None and given.ndim:
        if holds(~np.all(given[:-1] <= given[1:])):
            raise ValueError("`bins` must increase monotonically, when an array")
        return given
    n = 1 if given is None else operator.index(given)
    if n < 1:
        raise ValueError("`bins` must be positive, when an integer")
    low, high = range if range is not None else (np.min(x), np.max(x)) if x.size else (0, 1)
    dtype = common_dtype(low, high, x)
    dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
    first, last = low, high = [as_dtype(array(end, (x,)), dtype) for end in (low, high)]
    is_point = low == high  # a width of one, if all values are equal
    low, high = np.where(is_point, low - 0.5, low), np.where(is_point, high + 0.5, high)
    if given is None:
        n = _estimated(x, bins, low, high, range)
    steps = low + constant(x._trace, np.arange(n, dtype=dtype)) * ((high - low) / n)
    edges = np.concatenate([steps, np.reshape(high, (1,))])
    if holds(~np.all(edges[:-1] < edges[1:])):  # one guard for all that can be wrong; what it is, is looked at after it
        if holds(first > last):
            raise ValueError("max must be larger than min in range parameter.")
        if holds(~(np.isfinite(first) & np.isfinite(last))):
            raise ValueError(f"{'autodetected' if range is None else 'supplied'} range is not finite")
        raise ValueError(f"Too many bins for data range. Cannot create {n} finite-sized bins.")
    return edges


@implements(np.sort_complex)
def sort_complex(a: ArrayLike) -> Any:
    """Sorted by the real parts, of equal ones by the imaginary parts; complex."""
    x = np.sort(array(a))
    return x if x.dtype.kind == "c" else as_dtype(x, np.complex64 if x.dtype.char in "bhBH" else np.complex128)
