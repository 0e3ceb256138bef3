"""A run of iterations is emitted as array steps, sums and scans.

The steps of one iteration are a graph: an edge where a step reads what another gave, in this iteration or in one
before. What lies on no cycle is one step over all iterations at once, by the rule that ``vmap`` knows it by; a cycle of
additions is a sum, or several; any other is a ``scan``, which carries what the iteration before gave, and a history of
all of them where a step looks back otherwise.

Source: Allen and Kennedy (2001), Optimizing Compilers for Modern Architectures, chapter 2 (loop distribution).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.ops.control import EACH, Expected, guard
from wengert.ops.shape import concatenate, reshape
from wengert.passes.reroll.assembling import assembled_at_once
from wengert.passes.reroll.columns import Places, Rolled
from wengert.passes.reroll.iteration import Iteration, Needs, OperandReads, StepOutput
from wengert.passes.reroll.pieces import Piece, as_piece
from wengert.passes.reroll.repeats import FEWEST
from wengert.passes.reroll.scans import ScanMaker, ScanPlan, plan_scan
from wengert.passes.reroll.sums import Sum, Sums, as_sum, as_sums, emit_sum, emit_sums
from wengert.tape import current_builder

LEAST_SCANNED = 1_500
"""A scan must save so many steps. A short loop runs faster as straight code, and is soon compiled."""

LEAST_OF_LANES = 256
"""A scan must save so many steps on vectors of many lanes, whose values are then kept for a few lanes at once."""
MANY_LANES = 1 << 12

MOST_JOINED = 64
"""Constants of at most so many elements each are copied, so that they lie side by side."""


class NotRolled(Exception):
    """A run is better left as it is; the text says why."""


class Roller:
    """Emits one run on the current builder."""

    def __init__(self, it: Iteration, places: Places, emit: Any) -> None:
        self.it, self.places, self.emit = it, places, emit
        self.guards = [j for j in range(it.run.period) if it.step(j).op is guard]
        conditions = {as_piece(it.step(j).refs[0]).aval for j in self.guards}
        if len(conditions) > 1 or any(a.shape or a.dtype != bool for a in conditions):
            raise NotRolled("its branches look at something else than one boolean each")
        ops = [it.step(j).op for j in range(it.run.period)]
        if self.guards and any(op is not None and op.kernel.may_raise for op in ops):
            raise NotRolled(
                "it has branches and steps that may raise an error"
            )  # guards move behind such a step, which a failed guard may have kept from running
        if any(self._is_heavy(o) for operands in it.operands for o in operands):
            raise NotRolled("each iteration reads an array of its own, and all of these would be copied together")
        self.groups = it.parts()
        group_of = {j: n for n, group in enumerate(self.groups) for j in group}
        self.needs = self._needs(group_of)
        self.made: list[Sum | Sums | ScanPlan | None] = []
        for group in self.groups:
            if not it.is_cycle(group):
                self.made.append(None)
                continue
            self.made.append(as_sum(it, group, self.needs) or as_sums(it, group) or plan_scan(it, group))

    def _is_heavy(self, operand: OperandReads) -> bool:
        """Whether many values that lie apart would have to be copied together, each by a kernel of its own. An
        iteration that stays as it is takes hardly more than one kernel. Small constants are joined here, and cost
        nothing."""
        outside = dict.fromkeys(operand.read.value[operand.slot < 0].tolist())
        places = [self.places.place(self.it.reads.values[number]) for number in outside]
        if as_piece(operand.read.refs[0]).aval.size <= MOST_JOINED:
            places = [p for p in places if isinstance(p, Piece) and not self.places.is_constant(p.base)]
        return len({p.base for p in places if isinstance(p, Piece)}) > FEWEST // 2

    def _needs(self, group_of: dict[int, int]) -> dict[StepOutput, Needs]:
        it = self.it
        elsewhere: set[StepOutput] = set()
        for j, operands in enumerate(it.operands):
            seen = [it.slots[s] for operand in operands for s in it.seen(operand)]
            elsewhere.update([slot for slot in seen if group_of[slot.step] != group_of[j]])
        return {slot: it.needs(slot, slot in elsewhere) for slot in it.slots}

    def is_worth_it(self) -> bool:
        scans = any(type(made) is ScanPlan for made in self.made)
        return not scans or self.it.run.saved >= (LEAST_OF_LANES if self._is_of_lanes() else LEAST_SCANNED)

    def _is_of_lanes(self) -> bool:
        """Whether all values of an iteration are numbers or long vectors of one length, which may be lanes."""
        shapes = {v.aval.shape for j in range(self.it.run.period) for v in self.it.step(j).outs}
        long = {shape for shape in shapes if shape}
        return len(long) == 1 and all(len(shape) == 1 and shape[0] >= MANY_LANES for shape in long)

    def roll(self) -> None:
        it = self.it
        for group, made in zip(self.groups, self.made, strict=True):
            if group[0] in self.guards:
                continue
            current_builder().source = it.source(group[0])
            if made is None:
                self._at_once(group[0])
            elif type(made) is Sum:
                emit_sum(it, made, self.places)
            elif type(made) is Sums:
                emit_sums(it, made, self.places)
            else:
                assert type(made) is ScanPlan
                ScanMaker(it, made, self.places, self.needs).emit()
        if self.guards:
            self._guard()

    def _at_once(self, j: int) -> None:
        it, count = self.it, self.it.run.count
        step = it.step(j)
        columns = [self.places.column(o.read) for o in it.operands[j]]
        atoms, flags = [a for a, _ in columns], [f for _, f in columns]
        if step.op is None:
            results = assembled_at_once(it, j, atoms, flags)
        elif not any(flags):
            results = current_builder().emit(step.op, tuple(atoms), step.params)
        else:
            assert step.op.batch is not None
            results = step.op.batch(atoms, flags, count, **step.params)
            if results is NotImplemented:
                results = None
            elif not isinstance(results, tuple):
                results = (results,)
        if results is None:
            for k in range(count):
                self.emit(it.step(j, k))
            return
        for m, r in enumerate(results):
            self.places.settle(it.values(StepOutput(j, m)), Rolled(r, 0 if any(flags) else None))

    def _guard(self) -> None:
        """Emit one guard in place of those of all iterations, in their order."""
        it, count = self.it, self.it.run.count
        conditions = [self.places.stacked(it.operands[j][0].read) for j in self.guards]
        dtype = conditions[0].aval.dtype
        columns = [reshape(c, shape=(count, 1)) for c in conditions]
        seen = [[it.step(j, k).params["expected"].value for j in self.guards] for k in range(count)]
        current_builder().source = it.source(self.guards[0])
        params = {"expected": Expected(np.array(seen, dtype)), "position": -1, "kind": EACH}
        current_builder().emit(guard, (concatenate(*columns, axis=1),), params)
