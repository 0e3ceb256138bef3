"""A loop of Python's, traced for some number of iterations, becomes a loop of any number of them.

The condition of a ``while``, or of a ``for`` with a traced counter, was looked at once an iteration: a guard. Where all
iterations took the same steps, carried traced values alone (as :mod:`wengert.tracing.counted` has noted at each look),
and read nothing that differs between iterations, the loop is known but for its count, and the tape with a ``while`` in
its place holds for each count but zero. That the rest of the tape does not depend on the count either is seen when
several counts have come to one tape: see :class:`~wengert.tracing.counted.Counts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from wengert.higher.bodies import alive
from wengert.higher.loops import TapeWhile, while_
from wengert.ops.control import Expected, guard
from wengert.ops.elementwise import add, logical_not
from wengert.ops.shape import zeros
from wengert.passes.integer_bounds import are_small, check_numbers
from wengert.passes.reroll.columns import Places, Rolled
from wengert.passes.reroll.emitter import Emitter
from wengert.passes.reroll.iteration import Iteration, OperandReads, StepOutput
from wengert.passes.reroll.pieces import IterationStep, Move, Piece, Ref, as_piece, kinds_of, read_with_moves
from wengert.passes.reroll.repeats import Run
from wengert.passes.reroll.scans import Irregular, ScanMaker, plan_scan
from wengert.passes.simplify import drop_dead
from wengert.tape import Atom, Instr, Lit, Tape, affects, building, current_builder
from wengert.tracing.counted import IterationNote, NotCounted, RunCounts

FEWEST = 3
"""This many iterations show what is carried."""

BOOL = np.dtype(bool)


def with_loops_of_any_count(tape: Tape, counts: RunCounts) -> Tape:
    """Return ``tape`` with a ``while`` in place of each loop of Python's, if all are known to be one of any count."""
    new, found, _ = _with_whiles(tape, counts)
    return new if found and counts.learn(new, found) else tape


def check_counted(tape: Tape, counts: RunCounts) -> None:
    """Check the loops of ``tape`` that were traced with a counter, and that none was given up.

    Raise NotCounted where a counter would make a difference: it is an int64, and Python's integers are not; or where it
    is of no use, in a loop that is none of any count, though it has run often enough to tell. Raise
    TooManyIterationsError where a loop was given up.
    """
    counts.check_not_refused()
    looks = [i.params["expected"] for i in tape.instrs if i.op is guard and i.params["kind"] == "iteration"]
    if not looks:
        return
    _, _, rolled = _with_whiles(tape, counts)
    if not are_small(tape):
        counts.give_up()
        raise NotCounted("an integer may leave int64")
    notes = [counts.note_of(expected) for expected in looks]
    lengths = Counter(None if note is None else note.loop for note in notes)
    if any(number is None or (number not in rolled and n > FEWEST + 1) for number, n in lengths.items()):
        raise NotCounted("a loop is none of any count")


def _with_whiles(tape: Tape, counts: RunCounts) -> tuple[Tape, list[int], set[int]]:
    """Return the tape with a ``while`` in place of each loop that may be one of any count, their counts, and the
    numbers of those that are a ``for`` with a traced counter."""
    found, rolled = list[int](), set[int]()
    while (one := _with_a_while(tape, counts)) is not None:
        tape, count, number = one
        found.append(count)
        if number is not None:
            rolled.add(number)
    return tape, found, rolled


def _with_a_while(tape: Tape, counts: RunCounts) -> tuple[Tape, int, int | None] | None:
    """Return the tape with one loop rolled up, its count, and its number if it is a ``for`` with a traced counter."""
    if not _may_have_one(tape, counts):
        return None
    steps, outputs, moves = read_with_moves(drop_dead(tape))
    notes = {k: note for k, s in enumerate(steps) if s.op is guard and (note := counts.note_of(s.params["expected"]))}
    run = iterations(steps, kinds_of(steps), notes)
    if run is None or not are_moved_alike(moves, steps, run):
        return None
    emitter = Emitter(tape, steps, outputs)
    try:
        maker = WhileMaker(Iteration(emitter.reads, run), emitter.places)
        maker.check()
    except Irregular:
        return None
    with building(emitter.builder):
        emitter.emit_all(0, run.start)
        try:
            maker.emit()
        except Irregular:
            return None
        emitter.emit_all(run.stop, len(steps))
    return emitter.made(), run.count, notes[run.stop - 1].loop


# ------------------------------------------------------------------------------------------------ where a loop is


def iterations(steps: Sequence[IterationStep], kinds: Any, notes: dict[int, IterationNote]) -> Run | None:
    """Return the iterations of the first loop that may be one of any count: each begins behind a guard and ends with
    the next. ``notes`` are those on guards, by the places of these among the steps."""
    guards = list(notes)
    for n, first in enumerate(guards):
        chain = [first]
        for k in guards[n + 1 :]:
            if not _goes_on(steps, kinds, notes, chain, k):
                break
            chain.append(k)
            if _value(steps[k]) != _value(steps[first]):
                break
        ends = _value(steps[chain[-1]]) != _value(steps[first])
        if ends and len(chain) > FEWEST:
            return Run(first + 1, chain[1] - first, len(chain) - 1)
    return None


def _may_have_one(tape: Tape, counts: RunCounts) -> bool:
    """Whether so many looks one behind another have the same beside them that a loop may be found: all looks of a loop
    that has a counter of Python's differ, and its steps need not be read."""
    noted = [(i, note) for i in tape.instrs if i.op is guard and (note := counts.note_of(i.params["expected"]))]
    alike = 0
    for (i, a), (k, b) in pairwise(noted):
        alike = alike + 1 if _same_line(i, k) and a.loop == b.loop and a.beside == b.beside else 0
        if alike >= FEWEST:
            return True
    return False


def _value(step: IterationStep) -> bool:
    return bool(step.params["expected"].value)


def _goes_on(
    steps: Sequence[IterationStep], kinds: Any, notes: dict[int, IterationNote], chain: list[int], k: int
) -> bool:
    """Whether the steps up to the guard ``k`` are one more iteration."""
    last = chain[-1]
    is_first = len(chain) == 1
    if not _same_line(steps[last], steps[k]) or not _same_place(notes[last], notes[k], is_first):
        return False
    if is_first:
        return True
    period = chain[1] - chain[0]
    return k - last == period and bool(
        (kinds[k - period + 1 : k + 1] == kinds[k - 2 * period + 1 : k - period + 1]).all()
    )


def _same_line(a: IterationStep | Instr, b: IterationStep | Instr) -> bool:
    return a.source is not None and b.source is not None and a.source[:2] == b.source[:2]


def _same_place(a: IterationNote, b: IterationNote, is_first: bool = False) -> bool:
    """Whether two looks are one condition's, with the same beside it; ``is_first``: ``a`` was before the first
    iteration, when other values stood there."""
    if a.loop != b.loop or a.beside != b.beside:
        return False
    return is_first or all(x.is_as(y) for x, y in zip(a.values, b.values, strict=True))


def are_moved_alike(moves: Sequence[Move], steps: Sequence[IterationStep], run: Run) -> bool:
    """Whether each iteration reads and writes pieces as the one before it, from the second on: what no step shows, for
    it is followed through. Pieces from before the loop that change their places would be where the count says."""
    start, period, count = run
    made = {
        v: (j, m, k)
        for k in range(count)
        for j in range(period)
        for m, v in enumerate(steps[start + k * period + j].outs)
    }
    contents: list[list[Any]] = [[] for _ in range(count)]
    for before, content in moves:
        k, j = divmod(before - start, period)
        if 0 <= k < count:
            contents[k].append((j, [(place, *_value_of(ref, made, k)) for place, ref in content]))
    return all(content == contents[1] for content in contents[2:])


def _value_of(ref: Ref, made: dict[Any, tuple[int, int, int]], iteration: int) -> tuple[Any, ...]:
    base, *piece = as_piece(ref)
    known = made.get(base)
    return (base, *piece) if known is None else (*known[:2], iteration - known[2], *piece)


class WhileMaker(ScanMaker):
    """Emits one while loop in place of a run whose last step is a guard."""

    def __init__(self, it: Iteration, places: Places) -> None:
        group = list(range(it.run.period - 1))
        ops = [it.step(j).op for j in group]
        if any(op is not None and affects(op, it.step(j).params) for op, j in zip(ops, group, strict=True)):
            raise Irregular
        super().__init__(it, plan_scan(it, group), places, {})
        if self.plan.histories:
            raise Irregular
        self.wanted = self._after()

    def _after(self) -> list[StepOutput]:
        """Return what is read when the loop has ended: values of the last iteration alone."""
        needs = {slot: self.it.needs(slot) for slot in self.it.slots if slot.step in self.plan.group}
        if any(need.all for need in needs.values()):
            raise Irregular
        return [slot for slot, need in needs.items() if need.last]

    def _of_outside(self, read: Any) -> Atom:
        atom, is_stacked = self.places.column(read)
        if is_stacked:
            raise Irregular
        return atom if type(atom) is Lit else self.constants.add(atom, atom.aval)

    def _of_outside_array(self, array: np.ndarray[Any, Any]) -> Atom:
        if (array != array[0]).any():
            raise Irregular
        return Lit(array[0], array.dtype)

    def check(self) -> None:
        """Raise Irregular where an iteration reads what others do not."""
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
        if self._is_counted():
            self.bound, of_counter = check_numbers(self.it, self._counter())
            if any(slot in of_counter for slot in self.wanted):
                raise Irregular

    def _is_counted(self) -> bool:
        """Whether this is a ``for`` whose counter is traced."""
        return self.it.step(self.it.run.period - 1).params["kind"] == "iteration"

    def _counter(self) -> StepOutput:
        """Return the step that gives the number of the next iteration, which the condition compares."""
        counter = self.it.hit(self._compared()[0], -1)
        if counter is None or self.it.step(counter[0].step).op is not add:
            raise Irregular
        return counter[0]

    def _compared(self) -> list[OperandReads]:
        """Return what the condition compares: the counter, and where it stops."""
        condition = self.it.hit(self.it.operands[self.it.run.period - 1][0], 0)
        assert condition is not None
        return self.it.operands[condition[0].step]

    def _guard_numbers(self) -> None:
        """See before the loop that its counter stays within the bounds for which it was checked."""
        stop = self.places.atom(self._compared()[1].read.refs[0])
        first = self.places.atom(self.it.operands[self._counter().step][0].read.refs[0])
        for holds in (stop < self.bound, first > -self.bound):
            if type(holds) is not Lit:
                current_builder().emit(guard, (holds,), {"expected": Expected(True), "position": -1, "kind": "bool"})

    def emit(self) -> None:
        it, last = self.it, self.it.run.period - 1
        if self._is_counted():
            current_builder().source = it.step(last).source
            self._guard_numbers()
        given = self._given()
        moving = {j: self._moving_places(j) for j in self.plan.group if it.step(j).op is None}
        held = [slot for slot, _ in self.held]
        extra = [slot for slot in self.wanted if slot not in held]
        for slot in extra:  # carried alone for their last values: nobody reads those of the iteration before
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
        loop = TapeWhile(test, alive(tape), 0, len(self.constants.variables))
        builder = current_builder()
        source = it.step(last).source
        builder.source = None if source is None else source._replace(stands_for="any number of iterations")
        results = builder.emit(while_, (*self.constants.operands, *[a for _, a in self.carries]), {"loop": loop})
        for slot, r in zip((*held, *extra), results, strict=False):
            self.places.settle(it.values(slot), Rolled(r, self.count - 1))
