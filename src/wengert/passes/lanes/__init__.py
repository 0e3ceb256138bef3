"""Lanes: steps on a batch become one step that goes through the batch block by block, all of them for each block.

A batch of examples (of ``vmap``, or arrays of one length in plain code) is computed step by step: each step, and each
iteration of a loop, reads and writes arrays of the whole batch. Where no lane depends on another, all steps can be done
for a few lanes before the next lanes begin. Then what is handed from step to step stays in registers and in the
nearest cache, a loop goes on only until the lanes of its block are done, and residuals are kept for one block.

* :mod:`~wengert.passes.lanes.elements`: values as arrays of elements, one number in every lane each.
* :mod:`~wengert.passes.lanes.steps`, :mod:`~wengert.passes.lanes.loops`: a rule for each kind of kernel.

A region is a set of steps that are put in lanes together. No step outside of it both depends on it and is needed by it:
steps have a *level*, the number of regions that must be done before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from wengert.edit import merge_common
from wengert.ops.index import embed, everything
from wengert.ops.kernels import NATIVE_DTYPES
from wengert.ops.lanes import in_lanes
from wengert.ops.reduce import sum_
from wengert.passes.lanes import loops
from wengert.passes.lanes.absorb import absorb
from wengert.passes.lanes.elements import (
    MOST_ELEMENTS,
    ArrayElement,
    Frame,
    LaneValue,
    Outside,
    array_of,
    lane_axis,
    without,
)
from wengert.passes.lanes.steps import put_in_lanes
from wengert.passes.simplify import drop_dead
from wengert.tape import Atom, Aval, Builder, Instr, Lit, Tape, Var, building, has_effects

FEWEST = 256  # lanes, below which a batch stays as it is
BLOCK = 16  # lanes of a block: some vectors, so that one of them does not wait for itself
SHORT = 64  # steps of the body of a loop that repeats, in which each waits for the one before: it takes a wide block
WIDE_BLOCK = 64
MOST_STEPS = 2500  # steps of a block, of which each is compiled, and parts of its joins
LARGE = 1 << 20  # bytes that the steps of a region hand on, from which on it is worth a block without a loop
HANDED_ON = 2  # such a region hands on so many times the bytes that it reads and writes


def lanes(tape: Tape) -> Tape:
    """Return the tape with regions of independent lanes as single steps. Linear."""
    count = _batch_of(tape)
    if not count:
        return tape
    found = _Regions(tape, count)
    return found.tape()


def _batch_of(tape: Tape) -> int:
    """The length of the axis that most bytes have, of a tape with a loop or many steps over it; or 0."""
    weights: Counter[int] = Counter()
    for i in tape.instrs:
        weight = 1000 if i.op.kernel.has_bodies else 0 if i.op.kernel.is_view else 1
        for aval in {a.aval for a in (*i.ins, *i.outs)}:
            for n in set(aval.shape):
                if n >= FEWEST and aval.dtype in NATIVE_DTYPES:
                    weights[n] += weight * aval.nbytes
    if not weights:
        return 0
    count, weight = max(weights.items(), key=lambda item: item[1])
    return count if weight >= LARGE else 0


def _size_of_block(tape: Tape) -> int:
    """How many lanes are done together. A lane that is done waits for the others, but a short step waits for itself."""
    repeated = [i.params["loop"].body for i in tape.instrs if i.op.kernel.runs_unknown_times and "loop" in i.params]
    steps = [sum([not i.op.kernel.is_view for i in loops.prepared(body).instrs]) for body in repeated]
    return WIDE_BLOCK if steps and max(steps) <= SHORT else BLOCK


class _Region:
    """Steps that are put in lanes together."""

    def __init__(self, count: int, size: int) -> None:
        self.frame = Frame(count, size)
        self.values: dict[Atom, LaneValue] = {}
        self.operands: dict[Var, Var] = {}
        """The inputs of the block, by the values that they are blocks of."""
        self.instrs: list[Instr] = []
        self.has_loop = False


class _Regions:
    def __init__(self, tape: Tape, count: int) -> None:
        self.whole, self.count, self.size = tape, count, _size_of_block(tape)
        self.regions: dict[int, _Region] = {}
        self.level: dict[Atom, int] = {}
        """The number of regions that must be done before a value can be made outside of all, or in which region it is
        made."""
        self.home: dict[Atom, int] = {}
        """The region that makes a value."""
        self.outside: dict[int, list[Instr]] = {}
        self.spread: dict[Atom, Instr] = {}
        """Steps outside that repeat or move uniform values: each region does them again."""
        floor = 0
        for instr in tape.instrs:
            floor = self._take(instr, floor)

    def _take(self, instr: Instr, floor: int) -> int:
        inner = max([floor, *[self.level.get(a, 0) for a in instr.ins]])
        outer = max([floor, *[self.level.get(a, 0) + (a in self.home) for a in instr.ins]])
        is_spread = instr.op.kernel.is_view and all(self._is_uniform(a) for a in instr.ins)
        if not is_spread and self._is_of_lanes(instr, inner):
            region = self.regions.setdefault(inner, _Region(self.count, self.size))
            try:
                made = put_in_lanes(region.frame, instr, [self._value(region, a) for a in instr.ins])
            except Outside:
                pass
            else:
                region.values.update(zip(instr.outs, made, strict=True))
                region.instrs.append(instr)
                region.has_loop |= instr.op.kernel.has_bodies
                for v in instr.outs:
                    self.level[v] = self.home[v] = inner
                return floor
        for v in instr.outs:
            self.level[v] = outer
            if is_spread:
                self.spread[v] = instr
        self.outside.setdefault(outer, []).append(instr)
        return outer if has_effects(instr) else floor

    def _is_of_lanes(self, instr: Instr, level: int) -> bool:
        if any(self.count in a.aval.shape for a in (*instr.ins, *instr.outs)):
            return True
        region = self.regions.get(level)
        return region is not None and any(a in region.values and region.values[a].is_sum for a in instr.ins)

    def _is_uniform(self, a: Atom) -> bool:
        return a in self.spread or self.count not in a.aval.shape

    def _value(self, region: _Region, a: Atom) -> LaneValue:
        if isinstance(a, Lit):
            return LaneValue(a.aval, None, array_of([a], ()))
        if a in region.values:
            return region.values[a]
        if a in self.spread:
            instr = self.spread[a]
            made = put_in_lanes(region.frame, instr, [self._value(region, x) for x in instr.ins])
            region.values.update(zip(instr.outs, made, strict=True))
            return region.values[a]
        axis = lane_axis(a.aval, self.count)
        shape = without(a.aval.shape, axis)
        if Aval(shape, a.aval.dtype).size > MOST_ELEMENTS or a.aval.dtype not in NATIVE_DTYPES:
            raise Outside("an operand has too many elements")
        block = region.operands[a] = self._block_of(a)
        cells = [ArrayElement(block, axis, index) for index in loops.indices(shape)]
        region.values[a] = LaneValue(a.aval, axis, array_of(cells, shape))
        return region.values[a]

    # ------------------------------------------------------------------------------------------------------ the tape

    def tape(self) -> Tape:
        """The whole tape, with the regions that are worth it as single steps."""
        read: set[Atom] = set(self.whole.outputs)
        for instrs in self.outside.values():
            read.update([a for i in instrs for a in i.ins])
        for level, region in self.regions.items():
            read.update([a for i in region.instrs for a in i.ins if self.home.get(a, level) != level])
        made = {level: self._made(region, read) for level, region in self.regions.items()}
        if not any(made.values()):
            return self.whole
        order = list[Instr]()
        position = {id(i): k for k, i in enumerate(self.whole.instrs)}
        for level in range(max([*self.regions, *self.outside]) + 1):
            step, instrs = made.get(level), self.outside.get(level, [])
            if step is None and level in self.regions:
                instrs = sorted([*instrs, *self.regions[level].instrs], key=lambda i: position[id(i)])
            order += [*instrs, *(step or [])]
        return drop_dead(self.whole.replace(instrs=tuple(order)))

    def _made(self, region: _Region, read: set[Atom]) -> list[Instr] | None:
        """The step that does a region, and sums over the lanes behind it; or None if the region is not worth it."""
        outs = [v for i in region.instrs for v in i.outs if v in read]
        if not outs or not (region.has_loop or self._is_worth_it(region, outs)):
            return None
        frame, values = region.frame, [region.values[v] for v in outs]
        if any(x.lane_axis is None and not x.is_sum for x in values):
            return None
        outputs = [frame.block(self._terms(x) if x.is_sum else x) for x in values]
        block = absorb(drop_dead(merge_common(frame.tape(list(region.operands.values()), outputs, "lanes"))))
        if sum([len(i.ins) if i.op.kernel.joins else not i.op.kernel.is_view for i in block.instrs]) > MOST_STEPS:
            return None
        return self._steps(region, outs, block)

    def _terms(self, value: LaneValue) -> LaneValue:
        """The terms of a sum over the lanes, as a value of which they are the lanes."""
        aval = Aval((self.count, *value.aval.shape), value.aval.dtype)
        return LaneValue(aval, 0, value.elements)

    def _steps(self, region: _Region, outs: Sequence[Var], block: Tape) -> list[Instr]:
        with building(Builder(start=self._again(region))) as builder:
            given, made, after = list[Atom](), list[Var](), Builder()
            for v in outs:
                if region.values[v].is_sum:  # all of it is the term of the first lane
                    shape = (self.count, *v.aval.shape)
                    given.append(embed(v, shape=shape, index=(0, *everything(v.aval.shape))))
                    terms = Var(Aval(shape, v.aval.dtype))
                    made.append(terms)
                    after.append(Instr(sum_, (terms,), (v,), {"axis": (0,)}, region.instrs[0].source))
                else:
                    given.append(v)
                    made.append(v)
        done = {v for i in builder.instrs for v in i.outs}
        operands = list(dict.fromkeys(a for i in builder.instrs for a in i.ins if type(a) is Var and a not in done))
        whole = Tape(tuple(operands), (), builder.instrs, tuple(given), name="lanes")
        fresh = [region.operands.get(a) or self._block_of(a) for a in operands]
        params = {"whole": whole, "block": block.replace(inputs=tuple(fresh)), "count": self.count}
        return [Instr(in_lanes, tuple(operands), tuple(made), params, region.instrs[0].source), *after.instrs]

    def _again(self, region: _Region) -> list[Instr]:
        """The steps of a region, with those outside that each region does again."""
        found = dict[int, Instr]()

        def need(a: Atom) -> None:
            if a in self.spread and id(self.spread[a]) not in found:
                for x in self.spread[a].ins:
                    need(x)
                found[id(self.spread[a])] = self.spread[a]

        for i in region.instrs:
            for a in i.ins:
                need(a)
        return [*found.values(), *region.instrs]

    def _block_of(self, a: Atom) -> Var:
        return Var(Aval(tuple([self.size if n == self.count else n for n in a.aval.shape]), a.aval.dtype))

    def _is_worth_it(self, region: _Region, outs: Sequence[Var]) -> bool:
        """Whether a region without a loop hands on so much from step to step that blocks are worth it.

        Steps that are all elementwise, with sums of them, are one kernel without lanes."""
        steps = [i for i in region.instrs if not i.op.kernel.is_view]
        if all(i.op.kernel.is_pointwise or (i.op.kernel.is_fold and self._is_over_lanes(i)) for i in steps):
            return False
        moved = sum([a.aval.nbytes for a in {*region.operands, *outs}])
        handed_on = sum([v.aval.nbytes for i in steps for v in i.outs]) - sum([v.aval.nbytes for v in outs])
        return handed_on >= max(LARGE, HANDED_ON * moved)

    def _is_over_lanes(self, fold: Instr) -> bool:
        return lane_axis(fold.ins[0].aval, self.count) in fold.params["axis"]
