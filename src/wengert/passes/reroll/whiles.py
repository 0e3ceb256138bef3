"""A ``while`` of Python's, traced for some number of turns, as a loop of any number of them.

Its condition was looked at once a turn: a guard. Where all turns took the same steps, carried traced values alone
(which :mod:`wengert.tracing.turns` has noted at each guard), and read nothing that differs from turn to turn, the loop
is known but for its count, and the tape with a ``while`` in its place holds for each count but zero. That the rest of
the tape does not depend on the count either is seen when several counts have come to one tape: see :class:`Counts`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from wengert.errors import ConcretizationError, WengertError
from wengert.higher.bodies import alive
from wengert.higher.loops import While, while_
from wengert.ops.control import MOST_ITERATIONS, Expected, guard
from wengert.ops.elementwise import absolute, add, convert, logical_not, multiply, negative, square, subtract
from wengert.ops.shape import zeros
from wengert.passes.reroll.columns import Places, Rolled
from wengert.passes.reroll.loops import Irregular, Iteration, OperandReads, ScanMaker, StepOutput, plan_scan
from wengert.passes.reroll.pieces import IterationStep, Move, Piece, Ref, as_piece
from wengert.passes.reroll.repeats import Run
from wengert.tape import Atom, Lit, Tape, building, current_builder, definitions, structure

ENOUGH = 3
"""Numbers of turns that must have come to one tape."""
FEWEST = 3
"""Turns that show what is carried."""

SEVERAL = 2
"""Counts of one ``for`` after which it is traced with a counter."""
BOUNDS = (1 << 53, 1 << 30, MOST_ITERATIONS)
"""Of the counter of a loop of any count, the largest for which what is computed of it, as Python's integers are, must
fit into int64."""
MOST_TRIES = 6
"""Traces with a counter that have come to no loop."""

BOOL = np.dtype(bool)


class Counts:
    """Of a compiled function: with which numbers of turns its tapes were the same but for these."""

    def __init__(self) -> None:
        self._seen: dict[Any, list[set[int]]] = {}
        self._ranges: dict[Any, set[int]] = {}
        self._tries: dict[Any, int] = {}
        self._tried: set[Any] = set()
        self._rolled: set[int] = set()
        self._is_by_value = False
        self._refused: WengertError | None = None
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
        if is_known:
            for place in self._tried:
                self._tries.pop(place, None)
        return is_known

    # Of ``for`` loops whose count is a traced integer (tracing/functions/counting.py), each by its place:

    def note(self, place: Any, count: int) -> None:
        """A loop was traced with this count."""
        self._ranges.setdefault(place, set()).add(count)

    def may_count(self) -> bool:
        return any(self._is_open(place) for place in self._ranges)

    def _is_open(self, place: Any) -> bool:
        is_worth_it = len(self._ranges.get(place, ())) >= SEVERAL and self._tries.get(place, 0) < MOST_TRIES
        return is_worth_it and not self._is_by_value

    def counted(self, place: Any) -> int | None:
        """A number for a loop that is to be traced as a ``while`` on a traced counter: not before several counts, and
        not if that has been of no use often."""
        if not self._is_open(place):
            return None
        self._tried.add(place)
        return next(_numbers)

    def begin(self, is_by_value: bool = False) -> None:
        """The function is traced once more; ``is_by_value``: with every ``for`` by its count."""
        self._tried.clear()
        self._rolled.clear()
        self._is_by_value = is_by_value
        self._refused = None

    def rolled(self, number: int) -> None:
        """The loop of this number was one of any count."""
        self._rolled.add(number)

    def refuse(self, error: WengertError) -> None:
        """What is being traced is not to be kept, even if the function catches the error itself."""
        self._refused = error

    def check_not_refused(self) -> None:
        if self._refused is not None:
            raise self._refused

    def check(self, tape: Tape) -> None:
        """Raise NotCounted where a counter would make a difference: it is an int64, and Python's integers are not; or
        where it is of no use, in a loop that is none of any count, though it has turned often enough to tell."""
        turned = [i.params["expected"].turn for i in tape.instrs if i.op is guard and i.params["kind"] == "turn"]
        if turned and not are_small(tape):
            self._tries.update(dict.fromkeys(self._tried, MOST_TRIES))
            raise NotCounted("an integer may leave int64")
        looks = Counter(None if turn is None else turn[0] for turn in turned)
        if any(number is None or (number not in self._rolled and n > FEWEST + 1) for number, n in looks.items()):
            raise NotCounted("a loop is none of any count")

    def failed(self) -> bool:
        """Note that what was traced since :meth:`begin` will not do; whether a loop in it had a counter."""
        for place in self._tried:
            self._tries[place] = self._tries.get(place, 0) + 1
        return bool(self._tried)


_numbers = itertools.count()


class NotCounted(ConcretizationError):
    """A ``for`` that was traced with a counter is to be traced by its count after all."""


def turns(steps: Sequence[IterationStep], kinds: Any) -> Run | None:
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


def _noted(step: IterationStep) -> Any:
    return step.params["expected"].turn


def _value(step: IterationStep) -> bool:
    return bool(step.params["expected"].value)


def _goes_on(steps: Sequence[IterationStep], kinds: Any, chain: list[int], k: int) -> bool:
    """Whether the steps up to the guard ``k`` are one more turn."""
    if len(chain) == 1:
        return _same_place(steps[chain[0]], steps[k], is_first=True)
    period = chain[1] - chain[0]
    if k - chain[-1] != period or not _same_place(steps[chain[-1]], steps[k]):
        return False
    return bool((kinds[k - period + 1 : k + 1] == kinds[k - 2 * period + 1 : k - period + 1]).all())


def _same_place(a: IterationStep, b: IterationStep, is_first: bool = False) -> bool:
    """Whether two looks are one condition's, with the same beside it; ``is_first``: ``a`` was before the first turn,
    when other values stood there."""
    if a.source is None or b.source is None or a.source[:2] != b.source[:2]:
        return False
    (number, before), (other, after) = [_noted(s) for s in (a, b)]
    if number != other or before.beside != after.beside:
        return False
    return is_first or all(x.is_as(y) for x, y in zip(before.which, after.which, strict=True))


def are_moved_alike(moves: Sequence[Move], steps: Sequence[IterationStep], run: Run) -> bool:
    """Whether each turn reads and writes pieces as the one before it, from the second on: what no step shows, for it is
    followed through. Pieces from before the loop that change their places would be where the count says."""
    start, period, count = run
    made = {
        v: (j, m, k)
        for k in range(count)
        for j in range(period)
        for m, v in enumerate(steps[start + k * period + j].outs)
    }
    turns: list[list[Any]] = [[] for _ in range(count)]
    for before, content in moves:
        k, j = divmod(before - start, period)
        if 0 <= k < count:
            turns[k].append((j, [(place, *_which(ref, made, k)) for place, ref in content]))
    return all(turn == turns[1] for turn in turns[2:])


def _which(ref: Ref, made: dict[Any, tuple[int, int, int]], turn: int) -> tuple[Any, ...]:
    base, *piece = as_piece(ref)
    known = made.get(base)
    return (base, *piece) if known is None else (*known[:2], turn - known[2], *piece)


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

    def _after(self) -> list[StepOutput]:
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
        if self._is_counted():
            self.bound, of_counter = check_numbers(self.it, self._counter())
            if any(slot in of_counter for slot in self.wanted):
                raise Irregular

    def _is_counted(self) -> bool:
        """Whether this is a ``for`` whose counter is traced."""
        return self.it.step(self.it.run.period - 1).params["kind"] == "turn"

    def _counter(self) -> StepOutput:
        """The step that gives the next turn's number, which the condition compares."""
        counter = self.it.hit(self._compared()[0], -1)
        if counter is None or self.it.step(counter[0].step).op is not add:
            raise Irregular
        return counter[0]

    def _compared(self) -> list[OperandReads]:
        """What the condition compares: the counter, and where it stops."""
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


# ---------------------------------------------------------------------------------------------- numbers of Python's


def check_numbers(it: Iteration, counter: StepOutput) -> tuple[int, set[StepOutput]]:
    """How large the counter may get, and the integers that are computed of it, which then stay in int64, as Python's
    need not. Raise Irregular where one may leave it, or is carried on."""
    for bound in BOUNDS[:-1]:
        with suppress(Irregular):
            return bound, _numbers_within(it, counter, bound)
    return BOUNDS[-1], _numbers_within(it, counter, BOUNDS[-1])


def _numbers_within(it: Iteration, counter: StepOutput, most: int) -> set[StepOutput]:
    bounds = {counter: most}
    for j in range(it.run.period - 1):
        step, known = it.step(j), [_bound(it, o, bounds, counter) for o in it.operands[j]]
        is_free = step.op is not None and step.op.kernel.moves_by_index
        if j == counter.step or is_free or not any(it.slots[k] in bounds for o in it.operands[j] for k in it.seen(o)):
            continue
        for m, v in enumerate(step.outs):
            if v.aval.dtype.kind in "iu":
                bound = _bound_of_step(step.op, known)
                if bound is None or bound >= 2**62 or v.aval.dtype != np.int64:
                    raise Irregular
                bounds[StepOutput(j, m)] = bound
    return set(bounds)


def are_small(tape: Tape) -> bool:
    """Whether each integer that is computed of a traced counter stays in int64."""
    made = definitions(tape)
    turns = [made.get(i.ins[0]) for i in tape.instrs if i.op is guard and i.params["kind"] == "turn"]  # type: ignore[arg-type]  # no literal
    bounds: dict[Atom, int] = {i.ins[0]: MOST_ITERATIONS for i in turns if i is not None}
    read = {a for i in tape.instrs for a in i.ins} | {*tape.outputs}
    for i in tape.instrs:
        if bounds.keys().isdisjoint(i.ins) or i.op.kernel.moves_by_index:
            continue
        for v in i.outs:
            if v.aval.dtype.kind in "iu" and v not in bounds and v in read:
                bound = _bound_of_step(i.op, [bounds.get(a, _size(a)) for a in i.ins])
                if bound is None or bound >= 2**62 or v.aval.dtype != np.int64:
                    return False
                bounds[v] = bound
    return True


def _size(a: Any) -> int | None:
    """Of a literal, how large it is."""
    return abs(int(a.value)) if type(a) is Lit and a.aval.dtype.kind in "iu" else None


def _bound(it: Iteration, operand: OperandReads, bounds: dict[StepOutput, int], counter: StepOutput) -> int | None:
    """How large it can be, as far as that is known."""
    hit = it.hit(operand, -1)
    if hit is None:
        return _size(operand.read.refs[-1])
    is_of_this_turn = hit[1] == it.run.count - 1
    return bounds.get(hit[0]) if is_of_this_turn or hit[0] == counter else None


def _bound_of_step(op: Any, known: list[int | None]) -> int | None:
    bounds = [b for b in known if b is not None]
    if len(bounds) < len(known):
        return None
    if op in (add, subtract):
        return sum(bounds)
    if op is multiply:
        return bounds[0] * bounds[1]
    if op is square:
        return bounds[0] ** 2
    return bounds[0] if op in (negative, absolute, convert) else None
