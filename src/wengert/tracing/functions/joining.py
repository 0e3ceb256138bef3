"""Joining arrays, splitting them, repeating, inserting and deleting parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from wengert.errors import ShapeError
from wengert.ops import shape as ops
from wengert.tracing.arguments import (
    INTP,
    Axis,
    Casting,
    Out,
    ShapeLike,
    Traced,
    along,
    array,
    arrays,
    as_dtype,
    axis_of,
    concrete,
    constant,
    detached,
    implements,
    into,
    not_scalar,
    trace_near,
)
from wengert.tracing.emit import record
from wengert.tracing.functions.shaping import atleast_1d, atleast_2d, atleast_3d, broadcast_to, on_axis, ravel, reshaped
from wengert.tracing.layouts import UNKNOWN_ORDER
from wengert.tracing.tracer import Tracer

# -------------------------------------------------------------------------------------------------------- join


def joined(xs: Sequence[Any], axis: int) -> Tracer:
    """Arrays of one dtype and at least one axis, end to end."""
    return record(ops.concatenate, xs, {"axis": axis})


def _one_dtype(xs: Sequence[Any], dtype: DTypeLike | None, casting: Casting) -> list[Any]:
    target = np.result_type(*[x.dtype for x in xs]) if dtype is None else np.dtype(dtype)
    for x in xs:
        if not np.can_cast(x.dtype, target, casting):
            raise TypeError(f"Cannot cast array data from {x.dtype!r} to {target!r} according to the rule {casting!r}")
    return [as_dtype(x, target, xs) for x in xs]


@implements(np.concatenate, takes_arrays=True)
def concatenate(
    parts: Sequence[ArrayLike],
    /,
    axis: Axis = 0,
    out: Out = None,
    *,
    dtype: DTypeLike | None = None,
    casting: Casting = "same_kind",
) -> Any:
    xs = arrays(*parts)
    if not xs:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        xs, axis = [ravel(x) for x in xs], 0
    if any(x.ndim == 0 for x in xs):
        raise ShapeError("zero-dimensional arrays cannot be concatenated")
    if any(x.ndim != xs[0].ndim for x in xs):
        raise ShapeError(
            "all the input array dimensions except for the concatenation axis must match exactly: "
            + ", ".join(str(x.aval) for x in xs)
        )
    return into(out, joined(_one_dtype(xs, dtype, casting), axis_of(axis, xs[0].ndim)), casting)


@implements(np.stack, takes_arrays=True)
def stack(
    parts: Sequence[ArrayLike],
    axis: int = 0,
    out: Out = None,
    *,
    dtype: DTypeLike | None = None,
    casting: Casting = "same_kind",
) -> Any:
    xs = arrays(*parts)
    if not xs:
        raise ValueError("need at least one array to stack")
    if any(x.shape != xs[0].shape for x in xs):
        raise ShapeError(f"all input arrays must have the same shape: {', '.join(str(x.aval) for x in xs)}")
    axis = axis_of(axis, xs[0].ndim + 1)
    shape = (*xs[0].shape[:axis], 1, *xs[0].shape[axis:])
    rows = [record(ops.reshape, (x,), {"shape": shape}) for x in _one_dtype(xs, dtype, casting)]
    return into(out, joined(rows, axis), casting)


def _all(parts: Sequence[ArrayLike], at_least: Callable[..., Any]) -> list[Tracer]:
    return [at_least(x) for x in arrays(*parts)]


@implements(np.vstack, takes_arrays=True)
def vstack(tup: Sequence[ArrayLike], *, dtype: DTypeLike | None = None, casting: Casting = "same_kind") -> Any:
    return concatenate(_all(tup, atleast_2d), 0, dtype=dtype, casting=casting)


@implements(np.hstack, takes_arrays=True)
def hstack(tup: Sequence[ArrayLike], *, dtype: DTypeLike | None = None, casting: Casting = "same_kind") -> Any:
    xs = _all(tup, atleast_1d)
    return concatenate(xs, 0 if xs and xs[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: Sequence[ArrayLike]) -> Any:
    return concatenate(_all(tup, atleast_3d), 2)


@implements(np.column_stack)
def column_stack(tup: Sequence[ArrayLike]) -> Any:
    return concatenate([reshaped(x, (x.size, 1)) if x.ndim < 2 else x for x in arrays(*tup)], 1)


@implements(np.append)
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Any:
    return concatenate(arrays(arr, values), axis)


@implements(np.block)
def block(blocks: Sequence[Any]) -> Any:
    """Nested lists: the innermost are joined along the last axis, their lists along the one before, and so on."""
    depth = _depth(blocks)
    ndim = max(depth, max([x.ndim for x in arrays(*_leaves(blocks))]))

    def build(part: object, level: int) -> Tracer:
        if not isinstance(part, list):
            x = array(part, _leaves(blocks))
            return reshaped(x, (*[1] * (ndim - x.ndim), *x.shape))
        if not part:
            raise ValueError("List at block position cannot be empty")
        return concatenate([build(p, level + 1) for p in part], ndim - depth + level)

    out = build(blocks, 0)
    return out if isinstance(blocks, list) else not_scalar(out.copy())


def _depth(blocks: object) -> int:
    if not isinstance(blocks, list):
        return 0
    depths = {_depth(b) for b in blocks}
    if len(depths) > 1:
        raise ValueError("List depths are mismatched")
    return 1 + (depths.pop() if depths else 0)


def _leaves(blocks: object) -> list[Any]:
    return [leaf for b in blocks for leaf in _leaves(b)] if isinstance(blocks, list) else [blocks]


# ------------------------------------------------------------------------------------------------------- split


@implements(np.array_split)
def array_split(ary: ArrayLike, indices_or_sections: int | Sequence[int] | Traced, axis: int = 0) -> list[Any]:
    x = array(ary)
    axis = axis_of(axis, x.ndim)
    n = x.shape[axis]
    at = concrete(indices_or_sections, "split positions")
    if at.ndim == 0:
        sections = int(at)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(n, sections)
        stops = [0]
        for k in range(sections):
            stops.append(stops[-1] + each + (k < extra))
    else:
        stops = [0, *at.tolist(), n]
    return [x[along(axis, slice(start, stop))] for start, stop in pairwise(stops)]


@implements(np.split)
def split(ary: ArrayLike, indices_or_sections: int | Sequence[int] | Traced, axis: int = 0) -> list[Any]:
    x = array(ary)
    at = concrete(indices_or_sections, "split positions")
    if at.ndim == 0 and x.shape[axis] % int(at):
        raise ValueError("array split does not result in an equal division")
    return array_split(x, at, axis)


@implements(np.hsplit)
def hsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | Traced) -> list[Any]:
    x = array(ary)
    if x.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


@implements(np.vsplit)
def vsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | Traced) -> list[Any]:
    x = array(ary)
    if x.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(x, indices_or_sections, 0)


@implements(np.dsplit)
def dsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | Traced) -> list[Any]:
    x = array(ary)
    if x.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(x, indices_or_sections, 2)


@implements(np.unstack)
def unstack(x: Traced, /, *, axis: int = 0) -> tuple[Any, ...]:
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    axis = axis_of(axis, x.ndim)
    return tuple([x[along(axis, k)] for k in range(x.shape[axis])])


# ------------------------------------------------------------------------------------------------------ repeat


@implements(np.repeat)
def repeat(a: ArrayLike, repeats: int | Sequence[int] | Traced, axis: Axis = None) -> Any:
    x = array(a, (repeats,))
    x, axis = on_axis(x, axis)
    counts = concrete(repeats, "repeats")
    if not counts.size:
        counts = counts.astype(INTP)
    if counts.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast repeats from {counts.dtype!r} to dtype('int64')")
    n = x.shape[axis]
    if counts.size == 1:  # a broadcast: each element gets an axis of its own
        each = int(counts.reshape(()))
        column = record(ops.reshape, (x,), {"shape": (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :])})
        wide = (*x.shape[: axis + 1], each, *x.shape[axis + 1 :])
        filled = record(ops.broadcast_to, (column,), {"shape": wide})
        return record(ops.reshape, (filled,), {"shape": (*x.shape[:axis], n * each, *x.shape[axis + 1 :])})
    if counts.shape != (n,):
        raise ValueError(f"operands could not be broadcast together with shape {(n,)} {counts.shape}")
    return x[along(axis, constant(x._trace, np.repeat(np.arange(n), counts)))]


@implements(np.tile)
def tile(A: ArrayLike, reps: ShapeLike) -> Any:
    x = array(A, (reps,))
    counts = [int(r) for r in np.atleast_1d(concrete(reps, "reps"))]
    ndim = max(x.ndim, len(counts))
    counts = [1] * (ndim - len(counts)) + counts
    lengths = (*[1] * (ndim - x.ndim), *x.shape)
    rows = record(ops.reshape, (x,), {"shape": tuple([m for n in lengths for m in (1, n)])})
    wide = tuple([m for r, n in zip(counts, lengths, strict=True) for m in (r, n)])
    filled = record(ops.broadcast_to, (rows,), {"shape": wide})
    shape = tuple([r * n for r, n in zip(counts, lengths, strict=True)])
    return not_scalar(record(ops.reshape, (filled,), {"shape": shape}))


@implements(np.resize)
def resize(a: ArrayLike, new_shape: ShapeLike) -> Any:
    """Fill the shape with the elements of the array, over and over."""
    x = ravel(array(a))
    shape = tuple(new_shape) if isinstance(new_shape, tuple | list) else (new_shape,)
    size = int(np.prod(shape))
    if x.size == 0:
        return np.zeros_like(x, shape=shape)
    return reshaped(detached(tile(x, -(-size // x.size))[:size]), shape)


# ----------------------------------------------------------------------------------------------- insert, delete


def _positions(obj: int | slice | Sequence[int] | Traced, n: int, axis: int) -> np.ndarray[Any, Any]:
    """The positions that ``obj`` (a slice, an integer, integers or a mask) names on an axis of length ``n``."""
    if isinstance(obj, slice):
        return np.arange(n)[obj]
    at = concrete(obj, "positions")
    if at.dtype.kind == "b":
        if at.shape != (n,):
            raise ValueError(f"boolean array argument obj must be one dimensional and match the axis length {n}")
        return np.flatnonzero(at)
    at = at.astype(np.intp)
    if at.size and not (-n <= at.min() and at.max() < n):
        raise IndexError(f"index {at} is out of bounds for axis {axis} with size {n}")
    return np.where(at < 0, at + n, at)


@implements(np.delete)
def delete(arr: ArrayLike, obj: int | slice | Sequence[int] | Traced, axis: Axis = None) -> Any:
    x = array(arr, (obj,))
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    n = x.shape[axis]
    positions = _positions(obj, n, axis)
    out = take_runs(x, np.delete(np.arange(n), positions), axis)
    is_mask = not isinstance(obj, slice) and concrete(obj, "positions").dtype.kind == "b"
    if axis and (is_mask or not (isinstance(obj, slice) or np.size(positions) == 1)):  # NumPy reads it by a mask
        out.reorder(UNKNOWN_ORDER)
    return out


@implements(np.insert)
def insert(arr: ArrayLike, obj: int | slice | Sequence[int] | Traced, values: ArrayLike, axis: Axis = None) -> Any:
    x, v = arrays(arr, values)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    n = x.shape[axis]
    v = as_dtype(v, x.dtype)
    if isinstance(obj, slice):
        at = np.arange(n)[obj]
    else:
        at = concrete(obj, "positions")
        at = np.flatnonzero(at) if at.dtype.kind == "b" else at.astype(np.intp)
    if at.size and not (-n <= at.min() and at.max() <= n):
        raise IndexError(f"index {at} is out of bounds for axis {axis} with size {n}")
    at = np.where(at < 0, at + n, at)
    if at.size == 1:  # any number of rows at one place
        v = reshaped(v, (*[1] * (x.ndim - v.ndim), *v.shape))
        if at.ndim == 0:
            v = np.moveaxis(v, 0, axis)
        rows = broadcast_to(v, (*x.shape[:axis], v.shape[axis], *x.shape[axis + 1 :]))
        place = int(at.reshape(()))
        return joined([x[along(axis, slice(0, place))], rows, x[along(axis, slice(place, None))]], axis)
    count = at.size
    order = np.argsort(at, kind="stable")
    to = np.empty(count, np.intp)
    to[order] = at[order] + np.arange(count)
    rows = broadcast_to(v, (*x.shape[:axis], count, *x.shape[axis + 1 :]))
    old = np.delete(np.arange(n + count), to)  # where the old elements go; gather from both, joined
    source = np.empty(n + count, np.intp)
    source[old], source[to] = np.arange(n), n + np.arange(count)
    return take_runs(joined([x, rows], axis), source, axis)


def take_runs(x: Tracer, index: np.ndarray[Any, Any], axis: int) -> Any:
    """``x`` at known positions along an axis: a join of slices where they run in few steady strides, else a gather.

    Slices are strides and their transposes write in place, so few of them beat any table of indices.
    """
    runs: list[tuple[int, int, int]] = []  # start, length, step
    positions = index.tolist()
    k = 0
    while k < len(positions):
        step = positions[k + 1] - positions[k] if k + 1 < len(positions) else 1
        step = step if step in (-1, 0, 1) else 1
        length = 1
        while k + length < len(positions) and positions[k + length] == positions[k] + step * length:
            length += 1
        runs.append((positions[k], length, step))
        k += length
        if len(runs) > 16:
            return x[along(axis, constant(trace_near((x,)), index.astype(np.intp)))]
    parts = [_run(x, axis, *run) for run in runs]
    if not parts:
        return x[along(axis, slice(0, 0))].copy()
    return parts[0].copy() if len(parts) == 1 else joined(parts, axis)


def _run(x: Tracer, axis: int, start: int, length: int, step: int) -> Any:
    if step == 0:
        one = x[along(axis, slice(start, start + 1))]
        return broadcast_to(one, (*x.shape[:axis], length, *x.shape[axis + 1 :]))
    stop = start + length * step
    return x[along(axis, slice(start, stop if stop >= 0 else None, step))]
