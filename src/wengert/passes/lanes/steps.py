"""How a step is put in lanes, by the kind of its kernel: one rule a kind, in the table :data:`RULES`.

A rule takes the frame, the instruction and the values of its operands, and returns the elements of each result. It
raises Outside where lanes depend on each other, or where the elements would be too many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.ops.elementwise import add, convert, divide, multiply, negative, subtract
from wengert.ops.kernels import (
    NATIVE_DTYPES,
    Accumulate,
    Contract,
    Embed,
    Join,
    Kernel,
    Layout,
    Loop,
    Map,
    MapTape,
    Reduce,
    View,
    Write,
)
from wengert.ops.op import OPS
from wengert.passes.lanes.elements import (
    MOST_ELEMENTS,
    ArrayElement,
    Element,
    Elements,
    Frame,
    LaneValue,
    Outside,
    array_of,
    lane_axis,
    without,
)
from wengert.tape import Atom, Aval, Instr, Lit, building, has_effects

MOST_TERMS = 300  # products of a contraction in one lane
MOST_AT_ONCE = 64  # elements of an elementwise step in one lane, of which each is a step of its own
FEWEST_AT_ONCE = 16  # elements along the first axis from which on they are one step

Rule = Callable[[Frame, Instr, Sequence[LaneValue]], Sequence[Elements | LaneValue]]
"""A result that is a sum over the lanes is given as a :class:`LaneValue`."""


def put_in_lanes(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> list[LaneValue]:
    """Emit a step on the elements of its operands, and return its results. Raises Outside."""
    if any(a.aval.dtype not in NATIVE_DTYPES for a in (*instr.ins, *instr.outs)):
        raise Outside("a dtype without native code")
    if has_effects(instr):
        raise Outside(f"{instr.op.name} has effects")
    rule = RULES.get(type(instr.op.kernel))
    if rule is None:
        raise Outside(f"{instr.op.name}: no rule for lanes")
    axes = [lane_axis(v.aval, frame.count) for v in instr.outs]
    for v, axis in zip(instr.outs, axes, strict=True):
        if np.prod(without(v.aval.shape, axis), dtype=int) > MOST_ELEMENTS:
            raise Outside("a value has too many elements")
    if any(x.is_sum for x in values):
        results: Sequence[Elements | LaneValue] = _of_sums(frame, instr, values)
    else:
        results = rule(frame, instr, values)
    made = [
        x if isinstance(x, LaneValue) else LaneValue(v.aval, axis, x)
        for v, axis, x in zip(instr.outs, axes, results, strict=True)
    ]
    for value in made:
        assert value.elements.shape == without(value.aval.shape, value.lane_axis)
        if value.lane_axis is None and not value.is_sum and any(frame.is_lane(x) for x in value.elements.flat):
            raise Outside("a result has another number in each lane, and no axis for them")
    return made


def _of_sums(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> Sequence[Elements | LaneValue]:
    """The results of a step that is linear in operands that are sums over the lanes: it is done to the terms."""
    kernel = type(instr.op.kernel)
    if kernel in LOOPS:
        return RULES[kernel](frame, instr, values)
    are_terms = [x.is_sum or x.is_zero() for x in values]
    others = [x for x, is_term in zip(values, are_terms, strict=True) if not is_term]
    is_linear = instr.op in (add, subtract, negative) or (instr.op.is_linear and not instr.op.is_multilinear)
    if is_linear:
        is_fine = not others
    else:
        is_factor = instr.op is multiply or (instr.op is divide and values[0].is_sum)
        is_fine = is_factor and len(others) == 1 and not any(frame.is_lane(x) for x in others[0].elements.flat)
    if not is_fine or any(lane_axis(v.aval, frame.count) is not None for v in instr.outs):
        raise Outside("a step that is not linear in a sum over the lanes, or gives it to all lanes")
    results = RULES[kernel](frame, instr, values)
    made = [
        x if isinstance(x, LaneValue) else LaneValue(v.aval, None, x) for v, x in zip(instr.outs, results, strict=True)
    ]
    return [x._replace(is_sum=True) for x in made]


# ------------------------------------------------------------------------------------------------------ arithmetic


def aligned(value: LaneValue, aval: Aval, axis: int | None) -> Elements:
    """Return the elements of an operand that is broadcast to ``aval``, in the shape of that without its lane axis.
    Raises Outside if the lane axes do not meet."""
    shape, gap = value.aval.shape, aval.ndim - value.aval.ndim
    if value.lane_axis is not None and (axis is None or value.lane_axis + gap != axis):
        raise Outside("lanes meet other lanes")
    elements = value.elements
    if value.lane_axis is None and axis is not None and axis - gap >= 0:
        if shape[axis - gap] != 1:
            raise Outside("an axis of the length of the batch is no lane axis")
        elements = elements.reshape(without(shape, axis - gap))
    return np.broadcast_to(elements, without(aval.shape, axis))


def _map(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> Sequence[Elements | LaneValue]:
    (v,) = instr.outs
    axis = lane_axis(v.aval, frame.count)
    operands = [aligned(x, v.aval, axis) for x in values]
    shape = without(v.aval.shape, axis)
    if np.prod(shape, dtype=int) > MOST_AT_ONCE:
        return [_by_columns(frame, operands, shape, partial(instr.op, **instr.params))]
    known: dict[Any, Atom] = {}
    found = list[Element]()
    for k in np.ndindex(*shape):
        atoms = [frame.atom(x.item(*k)) for x in operands]
        key = tuple(map(id, atoms))
        if key not in known:
            with building(frame.builder):
                known[key] = instr.op(*atoms, **instr.params)
        found.append(known[key])
    return [array_of(found, shape)]


def _by_columns(
    frame: Frame, operands: Sequence[Elements], shape: tuple[int, ...], step: Callable[..., Any]
) -> Elements:
    """An elementwise step on so many elements that all along the first axis are done at once."""
    if shape[0] < FEWEST_AT_ONCE or np.prod(shape[1:], dtype=int) > MOST_AT_ONCE:
        raise Outside("too many elements at once")
    out = np.empty(shape, object)
    for k in np.ndindex(*shape[1:]):
        column = (slice(None), *k)
        out[column] = array_of(frame.at_once([list(x[column]) for x in operands], step), shape[:1])
    return out


def _reduce(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> Sequence[Elements | LaneValue]:
    (x,), (v,) = values, instr.outs
    axes = tuple(instr.params["axis"])
    is_sum = x.lane_axis is not None and x.lane_axis in axes
    if is_sum and (instr.op.kernel.combine != "add" or v.aval.dtype.kind != "f"):
        raise Outside("a reduction over the lanes")
    axes = tuple([d for d in axes if d != x.lane_axis])
    rest = [d - (x.lane_axis is not None and d > x.lane_axis) for d in axes]
    kept = [d for d in range(x.elements.ndim) if d not in rest]
    rows = x.elements.transpose((*kept, *rest)).reshape((*[x.elements.shape[d] for d in kept], -1))
    if x.elements.size == 0:
        raise Outside("a reduction of nothing")
    if not rest and x.aval.dtype == v.aval.dtype:
        return [LaneValue(v.aval, None, x.elements, True) if is_sum else x.elements]
    if rest == [0] and x.elements.shape[0] >= FEWEST_AT_ONCE and x.elements.size <= MOST_AT_ONCE * x.elements.shape[0]:
        results = np.empty(x.elements.shape[1:], object)
        for k in np.ndindex(*results.shape):
            stack = frame.stack(list(x.elements[(slice(None), *k)]), x.aval.dtype)
            with building(frame.builder):
                results[k] = instr.op(stack, **{**instr.params, "axis": (0,)})
        return [LaneValue(v.aval, None, results, True) if is_sum else results]
    if rows.size > 4 * MOST_AT_ONCE:
        raise Outside("too many elements at once")
    combine, found = OPS[instr.op.kernel.combine], list[Element]()
    for k in np.ndindex(*rows.shape[:-1]):
        with building(frame.builder):
            terms = [_as(frame.atom(e), v.aval.dtype) for e in rows[k]]
            total = terms[0]
            for term in terms[1:]:
                total = _as(combine(total, term), v.aval.dtype)
        found.append(total)
    results = array_of(found, rows.shape[:-1])
    return [LaneValue(v.aval, None, results, True) if is_sum else results]


def _as(a: Atom, dtype: np.dtype[Any]) -> Any:
    return a if a.aval.dtype == dtype else convert(a, dtype=dtype)


def _accumulate(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> Sequence[Elements | LaneValue]:
    (v,), axis, combine = instr.outs, instr.params["axis"], instr.op.kernel.combine
    if len(values) != 1 or combine not in OPS or values[0].lane_axis == axis:
        raise Outside("a running combination over the lanes, or one without a rule")
    (x,) = values
    at = axis - (x.lane_axis is not None and axis > x.lane_axis)
    out = np.empty(x.elements.shape, object)
    if at == 0 and x.elements.shape[0] >= FEWEST_AT_ONCE and x.elements.size <= MOST_AT_ONCE * x.elements.shape[0]:
        for k in np.ndindex(*out.shape[1:]):
            column = (slice(None), *k)
            stack = frame.stack(list(x.elements[column]), x.aval.dtype)
            with building(frame.builder):
                y = instr.op(stack, **{**instr.params, "axis": 0})
            cells = [ArrayElement(y, 1 if y.aval.ndim == 2 else None, (j,)) for j in range(out.shape[0])]
            out[column] = array_of(cells, out.shape[:1])
        return [out]
    if x.elements.size > MOST_AT_ONCE:
        raise Outside("too many elements at once")
    moved, goal = np.moveaxis(x.elements, at, -1), np.moveaxis(out, at, -1)
    for k in np.ndindex(*moved.shape[:-1]):
        total: Any = None
        for j, e in enumerate(moved[k]):
            with building(frame.builder):
                term = _as(frame.atom(e), v.aval.dtype)
                total = term if total is None else OPS[combine](total, term)
            goal[(*k, j)] = total
    return [out]


def _contract(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> Sequence[Elements | LaneValue]:
    (x, y), (v,), params = values, instr.outs, instr.params
    a, b, out = tuple(params["a"]), tuple(params["b"]), tuple(params["out"])
    lanes = {labels[z.lane_axis] for z, labels in ((x, a), (y, b)) if z.lane_axis is not None}
    if len(lanes) > 1:
        raise Outside("lanes meet other lanes")
    lane = next(iter(lanes), None)
    is_sum = lane is not None and lane not in out
    if is_sum and v.aval.dtype.kind != "f":
        raise Outside("a sum over the lanes")
    lengths = {**dict(zip(a, x.aval.shape, strict=True)), **dict(zip(b, y.aval.shape, strict=True))}
    for z, labels in ((x, a), (y, b)):
        if lane in labels and z.lane_axis is None:
            raise Outside("an axis of the length of the batch is no lane axis")
    summed = [k for k in lengths if k not in out and k != lane]
    rest = [k for k in out if k != lane]
    if np.prod([n for k, n in lengths.items() if k != lane], dtype=int) > MOST_TERMS:
        raise Outside("too many products")
    if any(lengths[k] == 0 for k in summed):
        raise Outside("a sum of nothing")
    shape = tuple([lengths[k] for k in rest])
    found = list[Element]()
    for k in np.ndindex(*shape):
        at, total = dict(zip(rest, k, strict=True)), None
        for j in np.ndindex(*[lengths[s] for s in summed]):
            at.update(zip(summed, j, strict=True))
            left = frame.atom(x.elements.item(*[at[s] for s in a if s != lane]))
            right = frame.atom(y.elements.item(*[at[s] for s in b if s != lane]))
            with building(frame.builder):
                term = _as(left, v.aval.dtype) * _as(right, v.aval.dtype)
                total = term if total is None else total + term
        assert total is not None
        found.append(total)
    results = array_of(found, shape)
    return [LaneValue(v.aval, None, results, True) if is_sum else results]


# ------------------------------------------------------------------------------------------------ elements that move


def _region(x: LaneValue, layout: Layout, params: Any, aval: Aval, count: int) -> tuple[int | None, Any]:
    """Return the lane axis of a region of ``x``, and which of the elements of ``x`` it has: numbers in C order.

    The layout is asked about an array whose lane axis is the outermost in memory. Raises Outside if it mixes lanes."""
    shape = x.elements.shape
    size = int(np.prod(shape, dtype=int))
    strides = [int(np.prod(shape[d + 1 :], dtype=int)) for d in range(len(shape))]
    if x.lane_axis is not None:
        strides.insert(x.lane_axis, size)
    region = layout(x.aval.shape, tuple(strides), **params)
    if region is None:
        raise Outside("a reshape that mixes lanes")
    axis = lane_axis(Aval(region.shape, aval.dtype), count)
    if axis is not None and region.strides[axis] != (size if x.lane_axis is not None else 0):
        raise Outside("lanes in another order")
    rest = without(region.shape, axis)
    steps = [s for d, s in enumerate(region.strides) if d != axis]
    if axis is None and x.lane_axis is not None:
        raise Outside("some of the lanes")
    places = np.full(rest, region.offset)
    for d, (n, s) in enumerate(zip(rest, steps, strict=True)):
        if n > 1:
            places = places + (np.arange(n) * s).reshape([-1 if k == d else 1 for k in range(len(rest))])
    if places.size and (places.min() < 0 or places.max() >= size):
        raise Outside("a region that mixes lanes")
    return axis, places


def _view(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> Sequence[Elements | LaneValue]:
    (x,), (v,) = values, instr.outs
    if v.aval.dtype != x.aval.dtype:
        raise Outside("a view of another dtype")
    _, places = _region(x, instr.op.kernel.layout, instr.params, v.aval, frame.count)  # type: ignore[attr-defined]  # a view
    return [x.elements.reshape(-1)[places] if places.ndim else array_of([x.elements.flat[int(places)]], ())]


def _join(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> Sequence[Elements | LaneValue]:
    (v,), axis = instr.outs, instr.params["axis"]
    lanes = lane_axis(v.aval, frame.count)
    if axis == lanes:
        raise Outside("lanes are joined")
    parts = [aligned(x, Aval(x.aval.shape, x.aval.dtype), lanes) for x in values]
    if any(x.aval.dtype != v.aval.dtype for x in values):
        raise Outside("parts of several dtypes")
    return [np.concatenate(parts, axis - (lanes is not None and axis > lanes))]


def _write(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> Sequence[Elements | LaneValue]:
    x, given = values
    return [_written(frame, instr, x, given, instr.op.kernel.combine)]


def _embed(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> Sequence[Elements | LaneValue]:
    (v,), (given,) = instr.outs, values
    axis = lane_axis(v.aval, frame.count)
    shape = without(v.aval.shape, axis)
    zero = Lit(0, v.aval.dtype)
    nothing = LaneValue(v.aval, axis, array_of([zero] * int(np.prod(shape, dtype=int)), shape))
    return [_written(frame, instr, nothing, given, "set")]


def _written(frame: Frame, instr: Instr, x: LaneValue, given: LaneValue, combine: str) -> Elements:
    if given.aval.dtype != x.aval.dtype:
        raise Outside("parts of several dtypes")
    layout = instr.op.kernel.layout  # type: ignore[attr-defined]  # the table of kinds calls this for such a kernel
    axis, places = _region(x, layout, instr.params, x.aval, frame.count)
    shape = list(places.shape)
    if axis is not None:
        shape.insert(axis, frame.count)
    part = aligned(given, Aval(tuple(shape), x.aval.dtype), axis)
    out = x.elements.reshape(-1).copy()
    for k in np.ndindex(*places.shape):
        new: Element = part.item(*k)
        if combine == "add":
            with building(frame.builder):
                new = frame.atom(out.item(int(places[k]))) + frame.atom(new)
        out[places[k]] = new
    return out.reshape(x.elements.shape)


RULES: dict[type[Kernel], Rule] = {
    Map: _map,
    MapTape: _map,
    Reduce: _reduce,
    Accumulate: _accumulate,
    Contract: _contract,
    View: _view,
    Join: _join,
    Write: _write,
    Embed: _embed,
}
"""The rule of each kind of kernel; :mod:`wengert.passes.lanes.loops` has those of loops."""
LOOPS = frozenset([Loop])
"""The kinds whose rules take sums over the lanes."""
