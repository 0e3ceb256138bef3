"""A ``while`` of Python's, traced for some number of turns, as a loop of any number of them.

Its condition was looked at once a turn: a guard. Where all turns took the same steps, carried traced values alone
(which :mod:`wengert.tracing.turns` has noted at each guard), and read nothing that differs from turn to turn, the loop
is known but for its count, and the tape with a ``while`` in its place holds for each count but zero. That the rest of
the tape does not depend on the count either is seen when several counts have come to one tape: see :class:`Counts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.higher.bodies import alive
from wengert.higher.loops import While, while_
from wengert.ops.control import guard
from wengert.ops.elementwise import logical_not
from wengert.ops.shape import zeros
from wengert.passes.reroll.columns import Places, Rolled
from wengert.passes.reroll.loops import Irregular, Iteration, ScanMaker, Slot, plan_scan
from wengert.passes.reroll.pieces import Piece, Step
from wengert.passes.reroll.repeats import Run
from wengert.tape import Atom, Lit, Tape, building, current_builder, structure

ENOUGH = 3
"""Numbers of turns that must have come to one tape."""
FEWEST = 3
"""Turns that show what is carried."""

BOOL = np.dtype(bool)


class Counts:
    """Of a compiled function: with which numbers of turns its tapes were the same but for these."""

    def __init__(self) -> None:
        self._seen: dict[Any, list[set[int]]] = {}
        self.knows_any = False
        self.has_learnt = False
        """Whether loops have become known since this was last set back."""

    def knows(self, tape: Tape, turned: Sequence[int]) -> bool:
        """Whether each loop of ``tape`` has been seen with enough numbers of turns, ``turned`` among them."""
        seen = self._seen.setdefault(structure(tape), [set() for _ in turned])
        was_known = all(len(counts) >= ENOUGH for counts in seen)
        for counts, count in zip(seen, turned, strict=True):
            counts.add(count)
        is_known = all(len(counts) >= ENOUGH for counts in seen)
        self.has_learnt = self.has_learnt or (is_known and not was_known)
        self.knows_any = self.knows_any or is_known
        return is_known


def turns(steps: Sequence[Step], kinds: Any) -> Run | None:
    """The turns of the first loop that may be one of any count: each begins behind a guard and ends with the next."""
    guards = [k for k, s in enumerate(steps) if s.op is guard and _noted(s) is not None]
    for n, first in enumerate(guards):
        chain = [first]
        for k in guards[n + 1 :]:
            if not _goes_on(steps, kinds, chain, k):
                break
            chain.append(k)
            if _value(steps[k]) != _value(steps[first]):
                break
        ends = _value(steps[chain[-1]]) != _value(steps[first])
        if ends and len(chain) > FEWEST:
            return Run(first + 1, chain[1] - first, len(chain) - 1)
    return None


def _noted(step: Step) -> Any:
    return step.params["expected"].turn


def _value(step: Step) -> bool:
    return bool(step.params["expected"].value)


def _goes_on(steps: Sequence[Step], kinds: Any, chain: list[int], k: int) -> bool:
    """Whether the steps up to the guard ``k`` are one more turn."""
    if len(chain) == 1:
        return _same_place(steps[chain[0]], steps[k])
    period = chain[1] - chain[0]
    if k - chain[-1] != period or not _same_place(steps[chain[-1]], steps[k]):
        return False
    return bool((kinds[k - period + 1 : k + 1] == kinds[k - 2 * period + 1 : k - period + 1]).all())


def _same_place(a: Step, b: Step) -> bool:
    is_line = a.source is not None and b.source is not None and a.source[:2] == b.source[:2]
    return is_line and _noted(a) == _noted(b)


class WhileMaker(ScanMaker):
    """Emits one while loop in place of a run whose last step is a guard."""

    def __init__(self, it: Iteration, places: Places) -> None:
        group = list(range(it.run.period - 1))
        ops = [it.step(j).op for j in group]
        if any(op is not None and op.effects for op in ops):
            raise Irregular
        super().__init__(it, plan_scan(it, group), places, {})
        if self.plan.histories:
            raise Irregular
        self.wanted = self._after()

    def _after(self) -> list[Slot]:
        """What is read when the loop has ended: of the last turn alone."""
        needs = {slot: self.it.needs(slot) for slot in self.it.slots if slot.step in self.plan.group}
        if any(need.all for need in needs.values()):
            raise Irregular
        return [slot for slot, need in needs.items() if need.last]

    def _of_outside(self, read: Any) -> Atom:
        atom, is_stacked = self.places.column(read)
        if is_stacked:
            raise Irregular
        return atom if type(atom) is Lit else self.constants.add(atom, atom.aval)

    def _of_outside_array(self, array: Any) -> Atom:
        if (array != array[0]).any():
            raise Irregular
        return Lit(array[0], array.dtype)

    def check(self) -> None:
        """Raise Irregular where a turn reads what others do not."""
        for j in self.plan.group:
            for o, operand in enumerate(self.it.operands[j]):
                places = {self.places.place(r) for r in operand.read.refs} if self.plan.sources[j, o] is None else set()
                if len({p if isinstance(p, Piece) else p.key for p in places}) > 1:
                    raise Irregular
            if any(self.it.step(j, k).places != self.it.step(j).places for k in range(self.count)):
                raise Irregular
        (condition,) = self.it.operands[self.it.run.period - 1]
        if (condition.slot < 0).any() or (condition.iteration != np.arange(self.count)).any():
            raise Irregular

    def emit(self) -> None:
        it, last = self.it, self.it.run.period - 1
        given = self._given()
        moving = {j: self._moving_places(j) for j in self.plan.group if it.step(j).op is None}
        held = [slot for slot, _ in self.held]
        extra = [slot for slot in self.wanted if slot not in held]
        for slot in extra:  # of the turn before, which nobody reads
            self._carry(zeros(it.step(slot.step).outs[slot.output].aval))
        flag = self._carry(Lit(True, BOOL))
        goes_on = bool(it.step(last).params["expected"].value)
        body = self._body(given, moving)
        with building(body):
            condition = self.now[it.slots[it.operands[last][0].slot[0]]]
            if not goes_on:
                condition = logical_not(condition)
        outputs = (*[self.now[s] for s in (*held, *extra)], condition)
        variables = [v for v, _ in self.carries]
        inputs = (*self.constants.variables, *variables)
        tape = Tape(inputs=inputs, captures=(), instrs=body.instrs, outputs=outputs, name="while")
        test = alive(Tape(inputs=tuple(variables), captures=(), instrs=(), outputs=(flag,), name="while"))
        loop = While(test, alive(tape), 0, len(self.constants.variables))
        builder = current_builder()
        source = it.step(last).source
        builder.source = None if source is None else source._replace(role="any number of turns")
        results = builder.emit(while_, (*self.constants.operands, *[a for _, a in self.carries]), {"loop": loop})
        for slot, r in zip((*held, *extra), results, strict=False):
            self.places.settle(it.values(slot), Rolled(r, self.count - 1))
