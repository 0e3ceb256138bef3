"""Ops that read and write parts of arrays.

A *static index* has one entry an axis: an ``int`` (that element; the axis goes) or ``(start, length, step)`` with
``start >= 0`` and ``step != 0`` (that many elements; the axis stays). It is hashable, and two equal regions are
equal tuples. Index *arrays* are operands of dtype intp; they index the leading axes of operand 0, and negative
entries count from the end, as in NumPy.

The cotangent of what reads ``x[i]`` is :class:`~wengert.ops.structured.ScatteredSum`: n reads cost n parts and one
buffer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from wengert.ops.elementwise import absolute, convert, equal, less, less_equal, maximum, minimum, select
from wengert.ops.kernels import (
    ArgReduce,
    Embed,
    Gather,
    Nonzero,
    Region,
    Scatter,
    Search,
    Sort,
    View,
    Write,
)
from wengert.ops.op import NONE, Op, broadcast_shapes, front, linear, op
from wengert.ops.shape import broadcast_to, concatenate, iota, reshape, unbroadcast, zeros
from wengert.ops.structured import Fill, Hole, Masked, ScatteredSum, ScatteredTerm, Structured
from wengert.tape import Atom, Aval, Lit, Var

INTP = np.dtype(np.intp)
StaticIndex = tuple[Any, ...]


def to_numpy(index: StaticIndex) -> tuple[Any, ...]:
    """The index that NumPy takes."""
    out: list[Any] = []
    for entry in index:
        if type(entry) is int:
            out.append(entry)
        else:
            start, length, step = entry
            stop = start + length * step
            out.append(slice(start, stop if stop >= 0 else None, step) if length else slice(0, 0))
    return tuple(out)


def region_shape(index: StaticIndex) -> tuple[int, ...]:
    return tuple([entry[1] for entry in index if type(entry) is not int])


def slice_layout(shape: tuple[int, ...], strides: tuple[int, ...], /, *, index: StaticIndex, **params: Any) -> Region:
    offset, kept = 0, []
    for entry, stride in zip(index, strides, strict=True):
        if type(entry) is int:
            offset += entry * stride
        else:
            start, _, step = entry
            offset += start * stride
            kept.append(step * stride)
    return Region(offset, region_shape(index), tuple(kept))


def everything(shape: Sequence[int]) -> StaticIndex:
    return tuple((0, n, 1) for n in shape)


def is_everything(index: StaticIndex, shape: tuple[int, ...]) -> bool:
    return index == everything(shape)


def full_index(size: int, index: StaticIndex) -> StaticIndex:
    """``index`` behind a leading axis of length ``size``, all of which is taken."""
    return ((0, size, 1), *index)


# ------------------------------------------------------------------------------------------------ static index


def _slice_structured(ct: Structured, k: int, x: Atom, y: Atom, *, index: StaticIndex) -> Any:
    return ScatteredSum(None, (ScatteredTerm(ct.value, index),), x.aval) if isinstance(ct, Fill) else None


slice_ = linear(
    lambda x, *, index: x[to_numpy(index)],
    name="slice",
    type=lambda x, *, index: Aval(region_shape(index), x.dtype),
    kernel=View(slice_layout),
    transpose=lambda ct, x, *, index: ScatteredSum(None, (ScatteredTerm(ct, index),), x.aval),
    structured=_slice_structured,
    bind=lambda avals, *, index: itemgetter(to_numpy(index)),
    batch=lambda xs, batched, size, *, index: slice_(xs[0], index=full_index(size, index)),
    shortcut=lambda x, *, index: x if is_everything(index, x.aval.shape) else None,
)


def slice_axis(x: Atom, axis: int, start: int, length: int, step: int = 1) -> Any:
    """``length`` elements of ``x`` along one axis."""
    index = [(0, n, 1) for n in x.aval.shape]
    index[axis] = (start, length, step)
    return slice_(x, index=tuple(index))


def element(x: Atom, axis: int, k: int) -> Any:
    """``x`` at position ``k`` of one axis, without that axis."""
    index: list[Any] = [(0, n, 1) for n in x.aval.shape]
    index[axis] = k
    return slice_(x, index=tuple(index))


def reverse(x: Atom, axis: int) -> Any:
    n = x.aval.shape[axis]
    return slice_axis(x, axis, max(n - 1, 0), n, -1)


def _set_in_place(x: np.ndarray[Any, Any], v: np.ndarray[Any, Any], *, index: StaticIndex) -> Any:
    x[to_numpy(index)] = v
    return x


def _add_in_place(x: np.ndarray[Any, Any], v: np.ndarray[Any, Any], *, index: StaticIndex) -> Any:
    x[to_numpy(index)] += v
    return x


def _writes(in_place: Callable[..., Any]) -> Any:
    """The reference of an op that has an in-place one: the same on a copy."""

    def reference(x: np.ndarray[Any, Any], *rest: Any, **params: Any) -> Any:
        return in_place(np.array(x), *rest, **params)

    return reference


def _region_value(v: Atom, index: StaticIndex) -> Any:
    return broadcast_to(v, shape=region_shape(index))


def _set_structured(ct: Structured, k: int, x: Atom, v: Atom, y: Atom, *, index: StaticIndex) -> Any:
    """Split parts between the operands of a write: those at the written region belong to v, those off it to x.

    None where a part overlaps the region without being equal to it."""
    if isinstance(ct, Fill) and k == 1:
        return Fill(ct.value * float(Aval(region_shape(index), v.aval.dtype).size / max(v.aval.size, 1)), v.aval)
    if not isinstance(ct, ScatteredSum) or ct.base is not None:
        return None
    parts = ct.few_parts(MANY_PARTS)
    if parts is None:
        return None  # they become one buffer: n writes would look at n parts each
    if not all(p.index is not None and (p.index == index or are_disjoint(p.index, index)) for p in parts):
        return None
    if k == 0:
        return ScatteredSum(None, tuple(p for p in parts if p.index != index), x.aval)
    mine = [p.value for p in parts if p.index == index]
    if not mine:
        return ScatteredSum(None, (), v.aval)
    total = mine[0]
    for value in mine[1:]:
        total = total + value
    return unbroadcast(_region_value(total, index), v.aval.shape)


MANY_PARTS = 16


def are_disjoint(a: StaticIndex, b: StaticIndex) -> bool:
    """Whether two regions certainly share no element: on some axis one ends before the other begins, or their indices
    interleave without meeting."""
    return any(i != j and (type(i) is type(j) is int or _never_meet(i, j)) for i, j in zip(a, b, strict=True))


def _never_meet(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    start_a, length_a, step_a = (a, 1, 0) if type(a) is int else a
    start_b, length_b, step_b = (b, 1, 0) if type(b) is int else b
    if not length_a or not length_b:
        return True
    low_a, high_a = sorted((start_a, start_a + (length_a - 1) * step_a))
    low_b, high_b = sorted((start_b, start_b + (length_b - 1) * step_b))
    return high_a < low_b or high_b < low_a or (start_a - start_b) % (math.gcd(step_a, step_b) or 1) != 0


def _set_transpose_x(ct: Atom, x: Atom, v: Atom, *, index: StaticIndex) -> Any:
    return set_slice(ct, Lit(0, ct.aval.dtype), index=index)


def _slice_of_ct(ct: Atom, x: Atom, v: Atom, *, index: StaticIndex) -> Any:
    return unbroadcast(slice_(ct, index=index), v.aval.shape)


def _write_batch(write: Callable[..., Any]) -> Any:
    def batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, index: StaticIndex) -> Any:
        x = front(xs[0], batched[0], size)
        v = xs[1]
        if batched[1]:
            gap = len(region_shape(index)) - (v.aval.ndim - 1)
            v = reshape(v, shape=(size, *[1] * gap, *v.aval.shape[1:]))
        return write(x, v, index=full_index(size, index))

    return batch


def _set_shortcut(x: Atom, v: Atom, *, index: StaticIndex) -> Atom | None:
    return v if v.aval is x.aval and is_everything(index, x.aval.shape) else None


set_slice = linear(  # x with v, broadcast, written at a static index
    _writes(_set_in_place),
    name="set_slice",
    type=lambda x, v, *, index: x,
    kernel=Write("set", slice_layout),
    transpose=[_set_transpose_x, _slice_of_ct],
    structured=_set_structured,
    overwrites=lambda x, v, *, index: Hole(index),
    in_place=_set_in_place,
    batch=lambda xs, batched, size, *, index: _write_batch(set_slice)(xs, batched, size, index=index),
    shortcut=_set_shortcut,
)


def _embed_bind(avals: Sequence[Aval], *, shape: tuple[int, ...], index: StaticIndex) -> Any:
    key, dtype = to_numpy(index), avals[0].dtype

    def embedded(v: np.ndarray[Any, Any]) -> Any:
        out = np.zeros(shape, dtype)
        out[key] = v
        return out

    return embedded


def _embed_type(v: Aval, *, shape: tuple[int, ...], index: StaticIndex) -> Aval:
    return Aval(shape, v.dtype)


def _embed_batch(
    xs: Sequence[Atom], batched: Sequence[bool], size: int, *, shape: tuple[int, ...], index: StaticIndex
) -> Any:
    (v,) = xs
    gap = len(region_shape(index)) - (v.aval.ndim - 1)
    v = reshape(v, shape=(size, *[1] * gap, *v.aval.shape[1:]))
    return embed(v, shape=(size, *shape), index=full_index(size, index))


embed = linear(  # zeros with v, broadcast, at a static index: the cotangent of a single read
    lambda v, *, shape, index: _embed_bind((Aval(np.shape(v), v.dtype),), shape=shape, index=index)(v),
    name="embed",
    type=_embed_type,
    kernel=Embed(slice_layout),
    transpose=lambda ct, v, *, shape, index: unbroadcast(slice_(ct, index=index), v.aval.shape),
    bind=_embed_bind,
    batch=_embed_batch,
)

add_slice = linear(  # x with v, broadcast, added at a static index
    _writes(_add_in_place),
    name="add_slice",
    type=lambda x, v, *, index: x,
    kernel=Write("add", slice_layout),
    transpose=[lambda ct, x, v, *, index: ct, _slice_of_ct],
    in_place=_add_in_place,
    batch=lambda xs, batched, size, *, index: _write_batch(add_slice)(xs, batched, size, index=index),
)


# ------------------------------------------------------------------------------------------------ index arrays


def _gather_reference(x: np.ndarray[Any, Any], first: np.ndarray[Any, Any], *indices: Any) -> Any:
    return x[(np.asarray(first), *indices)]  # a copy also where all are scalars, which would give a view


def _gather_type(x: Aval, *indices: Aval) -> Aval:
    return Aval((*broadcast_shapes("index", *indices), *x.shape[len(indices) :]), x.dtype)


def _gather_structured(ct: Structured, k: int, x: Atom, *indices_y: Atom) -> Any:
    return (
        ScatteredSum(None, (ScatteredTerm(ct.value, None, indices_y[:-1]),), x.aval) if isinstance(ct, Fill) else None
    )


def batch_index(size: int, ndim: int) -> Any:
    """0 .. size-1 along a leading axis, shaped to broadcast with index arrays of ``ndim`` more axes."""
    return reshape(iota(size=size, dtype=INTP), shape=(size, *[1] * ndim))


def _batched_indices(indices: Sequence[Atom], batched: Sequence[bool]) -> tuple[list[Any], int]:
    """Index arrays with batch axes lined up in front, and how many axes they have behind it."""
    ndim = max(i.aval.ndim - b for i, b in zip(indices, batched, strict=True))
    out = []
    for i, b in zip(indices, batched, strict=True):
        own = i.aval.shape[1:] if b else i.aval.shape
        lead = (i.aval.shape[0],) if b else (1,)
        out.append(reshape(i, shape=(*lead, *[1] * (ndim - len(own)), *own)))
    return out, ndim


def _gather_batch(xs: Sequence[Atom], batched: Sequence[bool], size: int) -> Any:
    x, *indices = xs
    if not batched[0] and any(batched[1:]):
        lined_up, _ = _batched_indices(indices, batched[1:])
        return gather(x, *lined_up)
    lined_up, ndim = _batched_indices(indices, batched[1:])
    return gather(x, batch_index(size, ndim), *lined_up)


gather = linear(  # x[i0, i1, ...] on the leading axes
    _gather_reference,
    name="gather",
    type=_gather_type,
    kernel=Gather(),
    transpose=[lambda ct, x, *indices, operand: ScatteredSum(None, (ScatteredTerm(ct, None, indices),), x.aval), NONE],
    structured=_gather_structured,
    batch=_gather_batch,
    is_variadic=True,
)


def _gather_moving_structured(ct: Structured, k: int, x: Atom, *indices_y: Atom) -> Any:
    """Take what does not count as zeros: a mask of all of ``x`` in each iteration would make a loop quadratic."""
    if isinstance(ct, Masked) and isinstance(ct.mask, Var | Lit):
        zero = Lit(0, ct.value.aval.dtype)
        value = ct.value
        if not ct.is_clean:
            value = select(ct.mask, ct.value, zero) if ct.holds else select(ct.mask, zero, ct.value)
        return ScatteredSum(None, (ScatteredTerm(value, None, indices_y[:-1]),), x.aval)
    return _gather_structured(ct, k, x, *indices_y)


gather_moving = linear(  # as gather, of what one iteration of a loop reads
    _gather_reference,
    name="gather_moving",
    type=_gather_type,
    kernel=Gather(),
    transpose=[lambda ct, x, *indices, operand: ScatteredSum(None, (ScatteredTerm(ct, None, indices),), x.aval), NONE],
    structured=_gather_moving_structured,
    batch=_gather_batch,
    is_variadic=True,
)


def _scatter_set_in_place(x: np.ndarray[Any, Any], v: np.ndarray[Any, Any], *indices: Any) -> Any:
    x[indices] = v
    return x


def _scatter_add_in_place(x: np.ndarray[Any, Any], v: np.ndarray[Any, Any], *indices: Any) -> Any:
    np.add.at(x, indices, v)
    return x


def _scatter_set_x(ct: Atom, x: Atom, v: Atom, *indices: Atom, operand: int) -> Any:
    return scatter_set(ct, Lit(0, ct.aval.dtype), *indices)


def _scatter_set_v(ct: Atom, x: Atom, v: Atom, *indices: Atom, operand: int) -> Any:
    """The cotangent of the written values. If an index occurs twice, the last write wins, and only that has one."""
    shape = broadcast_shapes("index", *[i.aval for i in indices])
    if math.prod(shape) == 1:  # one place alone
        return unbroadcast(gather(ct, *indices), v.aval.shape)
    order = reshape(iota(size=Aval(shape, INTP).size, dtype=INTP), shape=shape)
    rows = Aval(x.aval.shape[: len(indices)], INTP)
    last = gather(scatter_set(zeros(rows), order, *indices), *indices)
    wins = equal(last, order)
    taken = gather(ct, *indices)
    wins = reshape(wins, shape=(*shape, *[1] * (taken.aval.ndim - len(shape))))
    return Masked(wins, taken)


def _scatter_add_v(ct: Atom, x: Atom, v: Atom, *indices: Atom, operand: int) -> Any:
    return unbroadcast(gather(ct, *indices), v.aval.shape)


def _scatter_once_x(ct: Atom, x: Atom, v: Atom, *indices: Atom, operand: int) -> Any:
    return scatter_once(ct, Lit(0, ct.aval.dtype), *indices)


def _scatter_batch(write: Callable[..., Any]) -> Any:
    def batch(xs: Sequence[Atom], batched: Sequence[bool], size: int) -> Any:
        x, v, *indices = xs
        x = front(x, batched[0], size)
        lined_up, ndim = _batched_indices(indices, batched[2:])
        if batched[1]:
            gap = ndim + (x.aval.ndim - 1 - len(indices)) - (v.aval.ndim - 1)
            v = reshape(v, shape=(size, *[1] * gap, *v.aval.shape[1:]))
        return write(x, v, batch_index(size, ndim), *lined_up)

    return batch


scatter_set = linear(  # x with v, broadcast, written at index arrays
    _writes(_scatter_set_in_place),
    name="scatter_set",
    type=lambda x, v, *indices: x,
    kernel=Scatter("set"),
    transpose=[_scatter_set_x, _scatter_set_v, NONE],
    overwrites=lambda x, v, *indices: Hole(None, indices),
    in_place=_scatter_set_in_place,
    batch=lambda xs, batched, size: _scatter_batch(scatter_set)(xs, batched, size),
    is_variadic=True,
)

scatter_once = linear(  # as scatter_set, of what one iteration of a loop writes, of which no place occurs twice
    _writes(_scatter_set_in_place),
    name="scatter_once",
    type=lambda x, v, *indices: x,
    kernel=Scatter("set"),
    transpose=[_scatter_once_x, _scatter_add_v, NONE],
    in_place=_scatter_set_in_place,
    batch=lambda xs, batched, size: _scatter_batch(scatter_once)(xs, batched, size),
    is_variadic=True,
)

scatter_add = linear(  # x with v, broadcast, added at index arrays; repeated indices add up
    _writes(_scatter_add_in_place),
    name="scatter_add",
    type=lambda x, v, *indices: x,
    kernel=Scatter("add"),
    transpose=[lambda ct, x, v, *indices, operand: ct, _scatter_add_v, NONE],
    in_place=_scatter_add_in_place,
    batch=lambda xs, batched, size: _scatter_batch(scatter_add)(xs, batched, size),
    is_variadic=True,
)


def take_along(x: Atom, indices: Atom, axis: int) -> Any:
    """``np.take_along_axis``."""
    return gather(x, *along(indices, x.aval.shape, axis))


def along(indices: Atom, shape: tuple[int, ...], axis: int) -> tuple[Atom, ...]:
    """``indices`` on ``axis``, and index arrays that are their own position on every other one."""
    ndim = len(shape)
    return tuple(
        [
            indices
            if k == axis
            else reshape(iota(size=n, dtype=INTP), shape=tuple(n if j == k else 1 for j in range(ndim)))
            for k, n in enumerate(shape)
        ]
    )


# ------------------------------------------------------------------------------------- where things are (integers)


class CountMiss(ValueError):
    """A mask has another number of true elements than when the tape was made."""


def _nonzero_reference(mask: np.ndarray[Any, Any], *, size: int) -> Any:
    found = np.nonzero(mask)
    if found[0].size != size:
        raise CountMiss(f"nonzero: {found[0].size} elements are true; the tape was made for {size}")
    return found if len(found) > 1 else found[0]


def _nonzero_batch(
    xs: Sequence[Atom], batched: Sequence[bool], size: int, /, **params: Any
) -> Any:  # it has a parameter `size`
    return NotImplemented  # each example may have another number: refused by the batching transform


nonzero = op(
    _nonzero_reference,
    name="nonzero",
    type=lambda mask, *, size: tuple([Aval((size,), INTP)] * mask.ndim),
    kernel=Nonzero(),
    batch=_nonzero_batch,
)


def _shift_axis(make: Op) -> Any:
    def batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, axis: int, **params: Any) -> Any:
        return make(*xs, axis=axis + 1, **params)

    return batch


def _without(aval: Aval, axis: int) -> tuple[int, ...]:
    return aval.shape[:axis] + aval.shape[axis + 1 :]


def gaps(x: Atom, axis: int, ranks: Sequence[int] | None = None) -> list[Any]:
    """The margins of an order: differences between neighbours among the sorted elements, or beside those ``ranks``."""
    n = x.aval.shape[axis]
    if n < 2 or x.aval.dtype.kind != "f":
        return [None]
    ordered = sort(x, axis=axis)
    if ranks is None:
        return [slice_axis(ordered, axis, 1, n - 1) - slice_axis(ordered, axis, 0, n - 1)]
    lower = sorted({k for r in ranks for k in (r % n - 1, r % n) if 0 <= k < n - 1})
    return [slice_axis(ordered, axis, k + 1, 1) - slice_axis(ordered, axis, k, 1) for k in lower]


def _neighbours_in_table(table: Atom, v: Atom, y: Atom, *, side: str) -> list[Any]:
    """The signed distance of each v to the nearest entry of the table."""
    n = table.aval.shape[0]
    if n == 0 or v.aval.dtype.kind != "f":
        return [None]
    last = Lit(n - 1, INTP)
    below = v - gather(table, minimum(maximum(y - 1, Lit(0, INTP)), last))
    above = v - gather(table, minimum(y, last))
    return [select(less(absolute(below), absolute(above)), below, above)]


argmax = op(
    lambda x, *, axis: np.argmax(x, axis),
    name="argmax",
    type=lambda x, *, axis: Aval(_without(x, axis), INTP),
    kernel=ArgReduce("maximum"),
    switches=lambda x, y, *, axis: gaps(x, axis, [-1]),
    batch=lambda xs, batched, size, **params: _shift_axis(argmax)(xs, batched, size, **params),
)
argmin = op(
    lambda x, *, axis: np.argmin(x, axis),
    name="argmin",
    type=lambda x, *, axis: Aval(_without(x, axis), INTP),
    kernel=ArgReduce("minimum"),
    switches=lambda x, y, *, axis: gaps(x, axis, [0]),
    batch=lambda xs, batched, size, **params: _shift_axis(argmin)(xs, batched, size, **params),
)
argsort = op(  # always stable, so that ties have one documented order
    lambda x, *, axis: np.argsort(x, axis, kind="stable"),
    name="argsort",
    type=lambda x, *, axis: Aval(x.shape, INTP),
    kernel=Sort("permutation"),
    switches=lambda x, y, *, axis: gaps(x, axis),
    batch=lambda xs, batched, size, **params: _shift_axis(argsort)(xs, batched, size, **params),
)


def _selected(x: np.ndarray[Any, Any], *, axis: int, ranks: tuple[int, ...]) -> Any:
    order = np.argsort(x, axis, kind="stable")
    places = np.take(order, ranks, axis)
    if x.dtype.kind not in "fc":
        return places
    last = np.take(order, [-1], axis)
    return np.where(np.isnan(np.take_along_axis(x, last, axis)), last, places)


argselect = op(  # of the permutation these alone, ascending; with a NaN among the elements the last one's, for all
    _selected,
    name="argselect",
    type=lambda x, *, axis, ranks: Aval((*x.shape[:axis], len(ranks), *x.shape[axis + 1 :]), INTP),
    kernel=Sort("places"),
    switches=lambda x, y, *, axis, ranks: gaps(x, axis, ranks),
    batch=lambda xs, batched, size, **params: _shift_axis(argselect)(xs, batched, size, **params),
)


def sort_pullback(ct: Atom, x: Atom, y: Atom, *, axis: int) -> Any:
    at = along(argsort(x, axis=axis), x.aval.shape, axis)
    return ScatteredSum(None, (ScatteredTerm(ct, None, at),), x.aval)


sort = op(  # many times faster than the permutation, which the derivative alone needs
    lambda x, *, axis: np.sort(x, axis),
    name="sort",
    type=lambda x, *, axis: x,
    kernel=Sort("values"),
    switches=lambda x, y, *, axis: gaps(x, axis),
    pushforward=lambda xs, dxs, y, *, axis: take_along(dxs[0], argsort(xs[0], axis=axis), axis),
    pullback=[sort_pullback],
    batch=lambda xs, batched, size, **params: _shift_axis(sort)(xs, batched, size, **params),
)


def _searchsorted_batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, side: str) -> Any:
    """Count the entries below: the definition, for tables that differ from example to example."""
    from wengert.ops.reduce import sum_  # the circle that shape.py tells of: reduce.py stands on this file

    table, v = front(xs[0], batched[0], size), front(xs[1], batched[1], size)
    gap = v.aval.ndim - 1
    table = reshape(table, shape=(size, *[1] * gap, table.aval.shape[1]))
    v = reshape(v, shape=(*v.aval.shape, 1))
    below = less(table, v) if side == "left" else less_equal(table, v)
    return sum_(convert(below, dtype=INTP), axis=(gap + 1,))


searchsorted = op(
    lambda table, v, *, side: np.asarray(np.searchsorted(table, v, side=side)),
    name="searchsorted",
    type=lambda table, v, *, side: Aval(v.shape, INTP),
    kernel=Search(),
    switches=_neighbours_in_table,
    batch=_searchsorted_batch,
)


def join(xs: Sequence[Atom], axis: int) -> Any:
    """``np.stack``: operands along a new axis."""
    shape = list(xs[0].aval.shape)
    shape.insert(axis, 1)
    return concatenate(*[reshape(x, shape=tuple(shape)) for x in xs], axis=axis)
