"""Loops in lanes: the block runs the loop, with its state in elements.

A scan becomes a scan. A batched ``while`` goes on until the last lane of the *batch* is done, and keeps the state of
lanes that are done by selection; so a block may stop when its own last lane is done. That the body does so is proved
from its steps (:func:`keeps_what_is_done`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from wengert.edit import merge_common
from wengert.higher.bodies import interned
from wengert.higher.loops import TapeLoop, TapeWhile, one_iteration_back, scan, while_, while_back
from wengert.ops.elementwise import add, select
from wengert.ops.kernels import Loop, RepeatWhile, RepeatWhileBack
from wengert.ops.reduce import any_
from wengert.passes.expand import expand
from wengert.passes.lanes.elements import (
    ArrayElement,
    BodyFrame,
    Element,
    Elements,
    Frame,
    LaneValue,
    Outer,
    Outside,
    Sliced,
    array_of,
    lane_axis,
    without,
)
from wengert.passes.lanes.steps import RULES, put_in_lanes
from wengert.passes.simplify import drop_dead, use_identities
from wengert.tape import Atom, Aval, Instr, Lit, Tape, Var, building, key_of

MOST_PASSES = 20  # over a body, until it is known which carries differ from lane to lane


@lru_cache(maxsize=4096)
def prepared(body: Tape) -> Tape:
    """The body as steps that have kernels."""
    return drop_dead(merge_common(use_identities(expand(body))))


def run_in_lanes(frame: Frame, tape: Tape, inputs: Sequence[LaneValue]) -> list[LaneValue]:
    """Emit all steps of a tape, and return its outputs. Raises Outside.

    Steps on constants of a ``while`` are done before it: those of its branches too, since all lanes do all steps."""
    values: dict[Any, LaneValue] = dict(zip(tape.inputs, inputs, strict=True))
    for instr in tape.instrs:
        operands = [_of(values, a) for a in instr.ins]
        made = _before_the_loop(frame, instr, operands) if isinstance(frame, BodyFrame) else None
        values.update(zip(instr.outs, made or put_in_lanes(frame, instr, operands), strict=True))
    return [_of(values, a) for a in tape.outputs]


def _before_the_loop(frame: BodyFrame, instr: Instr, operands: Sequence[LaneValue]) -> list[LaneValue] | None:
    """The results of a step on constants of the loop, computed before it; or None."""
    constants = [x for x in map(_constant, operands) if x is not None]
    if frame.stacks or instr.op.kernel.may_raise or len(constants) < len(operands):
        return None
    return list(map(_from_outside, put_in_lanes(frame.around, instr, constants)))


def _constant(x: LaneValue) -> LaneValue | None:
    """A value of the body of a loop that is one of the tape around it, as such."""
    found = [e.element if isinstance(e, Outer) else e for e in x.elements.flat if isinstance(e, Outer | Lit)]
    if x.is_sum or len(found) < x.elements.size:
        return None
    return x._replace(elements=array_of(found, x.elements.shape))


def _of(values: dict[Any, LaneValue], a: Atom) -> LaneValue:
    return LaneValue(a.aval, None, array_of([a], ())) if isinstance(a, Lit) else values[a]


def _several(results: Any) -> Sequence[Atom]:
    return results if isinstance(results, tuple) else (results,)


def _with_sums(elements: Sequence[Elements], instr: Instr, outputs: Sequence[LaneValue]) -> list[Elements | LaneValue]:
    """Results of a loop, of which those are sums over the lanes that its body makes so."""
    return [
        LaneValue(v.aval, None, x, True) if made.is_sum else x
        for x, v, made in zip(elements, instr.outs, outputs, strict=True)
    ]


def _from_outside(x: LaneValue) -> LaneValue:
    elements = [e if isinstance(e, Lit) else Outer(e) for e in x.elements.flat]
    return x._replace(elements=array_of(elements, x.elements.shape))


def _flat(values: Sequence[LaneValue]) -> list[tuple[Element, Any]]:
    """All elements of values in order, with their dtypes."""
    return [(e, x.aval.dtype) for x in values for e in x.elements.flat]


def _fresh(
    avals: Sequence[Aval], count: int, size: int, are_lanes: Sequence[bool]
) -> tuple[list[LaneValue], list[Var]]:
    """Values of these types whose elements are new variables."""
    values, all_of_them = list[LaneValue](), list[Var]()
    for aval in avals:
        axis = lane_axis(aval, count)
        shape = without(aval.shape, axis)
        number = len(all_of_them)
        made = [
            Var(Aval((size,) if are_lanes[number + k] else (), aval.dtype))
            for k in range(aval.size // (count if axis is not None else 1))
        ]
        all_of_them += made
        values.append(LaneValue(aval, axis, array_of(made, shape)))
    return values, all_of_them


def _carried(frame: BodyFrame, x: Element, is_lane: bool, dtype: Any) -> Atom:
    a = frame.wide(x) if is_lane else frame.atom(x)
    if a.aval.dtype != dtype:
        raise Outside("a carry of another dtype")
    return a


class _Body(NamedTuple):
    """A body in lanes: its tape takes what is constant, then carries, then slices."""

    frame: BodyFrame
    carries: list[Var]
    outputs: list[LaneValue]
    are_lanes: list[bool]


def _body(
    frame: Frame,
    body: Tape,
    constants: Sequence[LaneValue],
    first: Sequence[LaneValue],
    lanes: Sequence[bool],
    stacks: Sequence[LaneValue] = (),
) -> _Body:
    """Emit a body again and again, until all carries that differ between lanes are known to."""
    may_be_sums = [x.is_sum or _may_become_sum(x) for x in first]
    try:
        return _settled(frame, body, constants, first, lanes, stacks, may_be_sums)
    except Outside:
        if may_be_sums == [x.is_sum for x in first]:
            raise
        return _settled(frame, body, constants, first, lanes, stacks, [x.is_sum for x in first])


def _may_become_sum(x: LaneValue) -> bool:
    """Whether sums over the lanes may be added to a carry that begins so."""
    return x.lane_axis is None and x.aval.dtype.kind == "f" and x.is_zero()


def _settled(
    frame: Frame,
    body: Tape,
    constants: Sequence[LaneValue],
    first: Sequence[LaneValue],
    lanes: Sequence[bool],
    stacks: Sequence[LaneValue],
    are_sums: list[bool],
) -> _Body:
    are_lanes = [known or frame.is_lane(e) for known, (e, _) in zip(lanes, _flat(first), strict=True)]
    for _ in range(MOST_PASSES):
        inner = BodyFrame(frame, stacks)
        carries, variables = _fresh([x.aval for x in first], frame.count, frame.size, are_lanes)
        carries = [x._replace(is_sum=is_sum) for x, is_sum in zip(carries, are_sums, strict=True)]
        slices = list[LaneValue]()
        for k, x in enumerate(stacks):
            if x.lane_axis == 0:
                raise Outside("a loop over the lanes")
            aval = Aval(x.aval.shape[1:], x.aval.dtype)
            shape = x.elements.shape[1:]
            elements = [Sliced(k, index) for index in indices(shape)]
            axis = None if x.lane_axis is None else x.lane_axis - 1
            slices.append(LaneValue(aval, axis, array_of(elements, shape)))
        outputs = run_in_lanes(inner, prepared(body), [*map(_from_outside, constants), *carries, *slices])
        made = _flat(outputs[: len(first)])
        now = [known or inner.is_lane(e) for known, (e, _) in zip(are_lanes, made, strict=True)]
        sums = [x.is_sum or (x.is_zero() and was) for x, was in zip(outputs, are_sums, strict=False)]
        if any(x.is_sum and not is_sum for x, is_sum in zip(first, sums, strict=True)):
            raise Outside("a carry that is no sum over the lanes any more")
        if any(is_sum and not (x.is_sum or x.is_zero()) for x, is_sum in zip(first, sums, strict=True)):
            raise Outside("a sum over the lanes is added to something")
        if now == are_lanes and sums == are_sums:
            outputs = [x._replace(is_sum=True) if is_sum else x for x, is_sum in zip(outputs, sums, strict=False)] + (
                outputs[len(sums) :]
            )
            return _Body(inner, variables, outputs, are_lanes)
        are_lanes, are_sums = now, sums
    raise Outside("carries that do not settle")


def indices(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for n in shape:
        found = [(*index, k) for index in found for k in range(n)]
    return found


def _begin(frame: Frame, first: Sequence[LaneValue], are_lanes: Sequence[bool]) -> list[Atom]:
    """The carries with which a loop begins."""
    return [
        frame.wide(e) if is_lane else frame.atom(e) for (e, _), is_lane in zip(_flat(first), are_lanes, strict=True)
    ]


def _shaped(results: Sequence[Atom], values: Sequence[LaneValue]) -> list[Elements]:
    """Results of a loop, in the shapes of the carries."""
    found, at = list[Elements](), 0
    for x in values:
        found.append(array_of(results[at : at + x.elements.size], x.elements.shape))
        at += x.elements.size
    return found


# --------------------------------------------------------------------------------------------------------------- scan


def _scan(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> Sequence[Elements | LaneValue]:
    loop: TapeLoop = instr.params["loop"]
    n, m = loop.constants, loop.constants + loop.carries
    if not loop.length:
        raise Outside("a loop of no iterations")
    if any(lane_axis(v.aval, frame.count) == 0 for v in instr.outs[loop.carries :]):
        raise Outside("a loop over the lanes")
    constants, first, stacks = values[:n], values[n:m], values[m:]
    if any(x.is_sum for x in (*constants, *stacks)):
        raise Outside("a loop over a sum over the lanes")
    made = _body(frame, loop.body, constants, first, [False] * len(_flat(first)), stacks)
    inner, given = made.frame, made.outputs[: loop.carries]
    outputs = [
        _carried(inner, e, is_lane, dtype) for (e, dtype), is_lane in zip(_flat(given), made.are_lanes, strict=True)
    ]
    stacked = made.outputs[loop.carries :]
    outputs += [_carried(inner, e, inner.is_lane(e), dtype) for e, dtype in _flat(stacked)]
    rows = [
        frame.stack(list(stacks[k].elements[(slice(None), *index)]), stacks[k].aval.dtype) for k, index in inner.slices
    ]
    if any(a.aval.shape[1:] != v.aval.shape for a, v in zip(rows, inner.slices.values(), strict=True)):
        raise Outside("a stack of other lanes")
    inputs = [*inner.outer.values(), *made.carries, *inner.slices.values()]
    operands = [*inner.outer, *_begin(frame, first, made.are_lanes), *rows]
    body = interned(drop_dead(inner.tape(inputs, outputs, loop.body.name)))
    lanes = TapeLoop(body, len(inner.outer), len(made.carries), loop.length, loop.is_reversed)
    with building(frame.builder):
        results = _several(scan(*operands, loop=lanes, pull=None))
    found, at = _shaped(results[: len(made.carries)], first), len(made.carries)
    for x in stacked:
        shape = x.elements.shape
        columns = results[at : at + x.elements.size]
        at += x.elements.size
        made_of = [y for y in columns if type(y) is Var]
        cells = [ArrayElement(y, 1 if y.aval.ndim == 2 else None, (k,)) for k in range(loop.length) for y in made_of]
        found.append(array_of(cells, (loop.length, *shape)))
    return _with_sums(found, instr, made.outputs)


# -------------------------------------------------------------------------------------------------------------- while


class _Repeat(NamedTuple):
    """A ``while`` in lanes, with its operands, and the numbers of carries that differ between lanes."""

    loop: TapeWhile
    operands: list[Atom]
    body: _Body
    constants: list[Atom]


def _while(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> Sequence[Elements | LaneValue]:
    loop: TapeWhile = instr.params["loop"]
    made = _repeated(frame, instr, values)
    if any(x.is_sum for x in made.body.outputs):
        raise Outside("a sum over the lanes in a loop of unknown length")
    with building(frame.builder):
        results = _several(while_(*made.operands, loop=made.loop))
    return _shaped(results, values[loop.first :])


def _while_back(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> Sequence[Elements | LaneValue]:
    """The way back over a loop: over an iteration goes the pullback of the whole batch, put in lanes. The body in lanes
    has no derivative of its own: its steps are those of kernels, where nothing says what is a constant."""
    loop: TapeWhile = instr.params["loop"]
    wrt: tuple[int, ...] = instr.params["wrt"]
    count, of_constants = loop.first + loop.carries, [k for k in wrt if k < loop.constants]
    if any(
        k >= loop.constants and lane_axis(v.aval, frame.count) is None for k, v in zip(wrt, instr.outs, strict=True)
    ):
        raise Outside("a carry without lanes that moves")
    made = _repeated(frame, instr, values[:count])
    inner = BodyFrame(frame)
    fresh = partial(_fresh, count=frame.count, size=frame.size)
    carries, trail = fresh([x.aval for x in values[loop.first : count]], are_lanes=made.body.are_lanes)
    cts, of_cts = _wide(inner, [v.aval for v in instr.outs[len(of_constants) :]])
    sums, of_sums = _wide(inner, [v.aval for v in instr.outs[: len(of_constants)]])
    sums = [x._replace(is_sum=x.lane_axis is None) for x in sums]
    constants = list(map(_from_outside, values[loop.of_condition : loop.first]))
    tape = prepared(one_iteration_back(loop, wrt))
    outputs = run_in_lanes(inner, tape, [*constants, *carries, *cts, *sums])
    if any(x.is_sum and not (y.is_sum or y.is_zero()) for x, y in zip(sums, outputs, strict=False)):
        raise Outside("a sum over the lanes is added to something")
    if any(y.is_sum and not x.is_sum for x, y in zip((*sums, *cts), outputs, strict=True)):
        raise Outside("a cotangent that is a sum over the lanes")
    atoms = [_carried(inner, e, True, dtype) for e, dtype in _flat(outputs)]
    seeds = [frame.wide(e) for e, _ in _flat(values[count:])]
    more = [a for a in inner.outer if a not in made.body.frame.outer]
    all_constants = [*made.constants, *more]
    inputs = [inner.outer.get(a) or Var(a.aval) for a in all_constants]
    back = interned(drop_dead(inner.tape([*inputs, *trail, *of_cts, *of_sums], atoms, tape.name)))
    body, n = made.loop.body, made.loop.constants
    body = interned(body.replace(inputs=(*body.inputs[:n], *[Var(a.aval) for a in more], *body.inputs[n:])))
    lanes = made.loop._replace(body=body, constants=len(all_constants))
    at = made.loop.of_condition
    operands = [*made.operands[:at], *all_constants, *made.operands[made.loop.first :], *seeds]
    with building(frame.builder):
        results = _several(while_back(*operands, loop=lanes, back=back, sums=len(of_sums)))
    given = [*sums, *cts]
    found = zip(_shaped(results, given), instr.outs, given, strict=True)
    return [LaneValue(v.aval, x.lane_axis, elements, x.is_sum) for elements, v, x in found]


def _wide(frame: Frame, avals: Sequence[Aval]) -> tuple[list[LaneValue], list[Var]]:
    """Values of which each element is a number of its own in each lane."""
    sizes = [a.size // (frame.count if lane_axis(a, frame.count) is not None else 1) for a in avals]
    return _fresh(avals, frame.count, frame.size, [True] * sum(sizes))


def _repeated(frame: Frame, instr: Instr, values: Sequence[LaneValue]) -> _Repeat:
    loop: TapeWhile = instr.params["loop"]
    at, first = loop.of_condition, values[loop.first : loop.first + loop.carries]
    body = _body(frame, loop.body, values[at : loop.first], first, [False] * len(_flat(first)))
    outputs = [
        _carried(body.frame, e, is_lane, dtype)
        for (e, dtype), is_lane in zip(_flat(body.outputs), body.are_lanes, strict=True)
    ]
    condition, each = prepared(loop.condition), None
    last = condition.instrs[-1] if condition.instrs else None
    if last is not None and condition.outputs[0] in last.outs and last.op is any_:
        if lane_axis(last.ins[0].aval, frame.count) == 0 and last.params["axis"] == (0,):
            each = last.ins[0]
            condition = condition.replace(instrs=condition.instrs[:-1], outputs=(each,))
    inner = BodyFrame(frame)
    carries, variables = _fresh([x.aval for x in first], frame.count, frame.size, body.are_lanes)
    (goes_on,) = run_in_lanes(inner, condition, [*map(_from_outside, values[:at]), *carries])
    if goes_on.elements.size != 1:
        raise Outside("a condition of several numbers in each lane")
    flag = inner.atom(goes_on.elements.flat[0])
    if flag.aval.ndim:
        if each is None or not keeps_what_is_done(instr, condition, each, prepared(loop.body)):
            raise Outside("a lane that is done may change while others go on")
        with building(inner.builder):
            flag = any_(flag, axis=(0,))
    inputs = [*inner.outer.values(), *variables]
    tested = interned(drop_dead(inner.tape(inputs, [flag], loop.condition.name)))
    inputs = [*body.frame.outer.values(), *body.carries]
    run = interned(drop_dead(body.frame.tape(inputs, outputs, loop.body.name)))
    constants = list(body.frame.outer)
    new = TapeWhile(tested, run, len(inner.outer), len(constants))
    return _Repeat(new, [*inner.outer, *constants, *_begin(frame, first, body.are_lanes)], body, constants)


def keeps_what_is_done(instr: Instr, condition: Tape, each: Atom, body: Tape) -> bool:
    """Whether an iteration leaves all carries as they are in lanes where the condition does not hold.

    ``each`` is the condition of each lane, a value of ``condition``. The body must select by the same value, which is
    told by the steps that lead to it."""
    loop: TapeWhile = instr.params["loop"]
    numbers: dict[Any, int] = {}

    def numbered(tape: Tape, first: int, constants: int) -> dict[Any, int]:
        """A number for each value, the same for values that are made by equal steps of equal values."""
        known: dict[Any, int] = {}
        for k, v in enumerate(tape.inputs):
            key = ("operand", key_of(instr.ins[first + k])) if k < constants else ("carry", k - constants)
            known[v] = numbers.setdefault(key, len(numbers))
        for i in tape.instrs:
            ins = tuple([known[a] if type(a) is Var else a.key for a in i.ins])
            for j, v in enumerate(i.outs):
                known[v] = numbers.setdefault((i.op, ins, tuple(i.params.items()), j), len(numbers))
        return known

    tested = numbered(condition, 0, loop.of_condition)
    if type(each) is not Var:
        return False
    mask, known = tested[each], numbered(body, loop.of_condition, loop.constants)
    maker = {v: i for i in body.instrs for v in i.outs}

    def is_mask(a: Atom) -> bool:
        while a in maker and maker[a].op.kernel.is_view:
            a = maker[a].ins[0]
        return type(a) is Var and known[a] == mask

    def is_zero(a: Atom) -> bool:
        """Whether a value is zero in lanes that are done."""
        while a in maker:
            i = maker[a]
            if i.op is select and is_mask(i.ins[0]):
                a = i.ins[2]
            elif i.op.kernel.is_view:
                a = i.ins[0]
            else:
                return False
        return type(a) is Lit and not a.value

    def is_kept(a: Atom, carry: Var) -> bool:
        while a is not carry:
            if a not in maker:
                return False
            i = maker[a]
            if i.op is select and is_mask(i.ins[0]):
                a = i.ins[2]
            elif i.op is add and is_zero(i.ins[0]):
                a = i.ins[1]
            elif i.op is add and is_zero(i.ins[1]):
                a = i.ins[0]
            else:
                return False
        return True

    return all(map(is_kept, body.outputs, body.inputs[loop.constants :]))


RULES.update({Loop: _scan, RepeatWhile: _while, RepeatWhileBack: _while_back})
