"""Joining the paths through a body into one tape: the steps they share, then one ``cond`` over the rest of each, up to
the steps where they meet again.

A path is a straight tape, recorded with one choice of outcomes (see :mod:`wengert.tracing.decisions`). Before the
decision at which two paths part, they must have taken the same steps, which is checked: a body that does something
else the next time it is run is not a function of the values that it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert import tree
from wengert.errors import CaptureError, DTypeError, ShapeError, StructureError, WengertError, message
from wengert.higher.bodies import alive, needed_steps
from wengert.higher.branches import cond
from wengert.ops.elementwise import convert, select
from wengert.ops.shape import reshape
from wengert.source import Source
from wengert.tape import Atom, Aval, Builder, Instr, Lit, Tape, Var, building, has_effects, key_of
from wengert.tracing.decisions import Decision

ALIKE = ["branches that return the same structure, shapes and dtypes"]


class Path(NamedTuple):
    """The steps and results of one run of a body, with the outcomes of its decisions."""

    instrs: tuple[Instr, ...]
    outputs: tuple[Atom, ...]
    weak: tuple[type | None, ...]
    """The class of each output that is a Python number (a weak type); None for other outputs."""
    decisions: tuple[Decision, ...]
    treedef: Any
    """The structure of the value that the body returned."""


class JoinedTape(NamedTuple):
    """The steps and results of the joined tape."""

    instrs: tuple[Instr, ...]
    outputs: tuple[Atom, ...]


class _Walk(NamedTuple):
    """A path, and for each of its values the one that stands for it on the joined tape."""

    path: Path
    env: dict[Atom, Atom]

    def moved(self, instr: Instr) -> Instr:
        return instr._replace(ins=tuple([self.env.get(a, a) for a in instr.ins]))


class _Side(NamedTuple):
    """The steps and results that follow one outcome of a decision."""

    instrs: list[Instr]
    outputs: list[Atom]
    weak: list[type | None]


def join(name: str, paths: Sequence[Path]) -> JoinedTape:
    """Join ``paths``, one for each choice of outcomes, into one tape. They read the same variables from outside.

    Raises StructureError, ShapeError or DTypeError, with the line of the decision and both types, if the results of
    two sides differ in these; CaptureError if two runs with the same outcomes took different steps.
    """
    for path in paths[1:]:
        _check_structure(name, paths[0], path)
    side = _Joiner(name, paths[0].treedef).side([_Walk(p, {}) for p in paths], 0)
    return JoinedTape(tuple(side.instrs), tuple(side.outputs))


def _check_structure(name: str, first: Path, other: Path) -> None:
    if first.treedef != other.treedef:
        source = _parting(first, other).source
        sides = [tree.describe(tree.unflatten(p.treedef, [x.aval for x in p.outputs])) for p in (first, other)]
        notes = [("one", sides[0]), ("other", sides[1])]
        what = f"{name}: what the body returns has another structure if this is true than if it is false"
        raise StructureError(message(what, source, notes=notes, tries=ALIKE))


def _parting(first: Path, other: Path) -> Decision:
    return next(a for a, b in zip(first.decisions, other.decisions, strict=False) if a.outcome != b.outcome)


class _Joiner:
    def __init__(self, name: str, treedef: Any) -> None:
        self.name, self.treedef = name, treedef

    def side(self, walks: list[_Walk], depth: int) -> _Side:
        """Join ``walks``, which agree in their first ``depth`` decisions: return the steps after those, and results."""
        first, *others = walks
        decisions = first.path.decisions
        start = decisions[depth - 1].position if depth else 0
        if len(decisions) == depth:
            self._check(not others, first)
            outputs = [first.env.get(a, a) for a in first.path.outputs]
            return _Side([first.moved(i) for i in first.path.instrs[start:]], outputs, list(first.path.weak))
        decision = decisions[depth]
        common = [first.moved(i) for i in first.path.instrs[start : decision.position]]
        for other in others:
            self._follow(first, other, depth, start)
        condition = first.env.get(decision.condition, decision.condition)
        sides = []
        for outcome in (False, True):
            part = [w for w in walks if w.path.decisions[depth].outcome is outcome]
            self._check(bool(part), first)
            sides.append(self.side(part, depth + 1))
        no, yes = sides
        weak = [self._alike(decision.source, no, yes, k) for k in range(len(no.outputs))]
        instrs, outputs = joined_sides(self.name, condition, decision.source, no, yes)
        return _Side([*common, *instrs], outputs, weak)

    def _follow(self, first: _Walk, other: _Walk, depth: int, start: int) -> None:
        """Check that ``other`` takes the steps of ``first`` up to decision number ``depth``, and map its values to
        those of ``first``."""
        self._check(len(other.path.decisions) > depth, first)
        here, there = first.path.decisions[depth], other.path.decisions[depth]
        self._check(here.position == there.position, first)
        for mine, its in zip(first.path.instrs[start : here.position], other.path.instrs[start:], strict=False):
            a, b = first.moved(mine), other.moved(its)
            self._check(_is_same(a, b), first, its.source)
            other.env.update(zip(its.outs, mine.outs, strict=True))
        conditions = [key_of(w.env.get(d.condition, d.condition)) for w, d in ((first, here), (other, there))]
        self._check(conditions[0] == conditions[1], first)

    def _check(self, is_so: bool, walk: _Walk, source: Source | None = None) -> None:
        if not is_so:
            what = f"{self.name}: the body is run for each outcome of an if, and does other steps when it is run again"
            source = source or next((d.source for d in walk.path.decisions), None)
            tries = ["wg.cond instead of if", "a body that changes nothing outside: no counter, no list that grows"]
            raise CaptureError(message(what, source, tries=tries))

    def _alike(self, source: Source | None, no: _Side, yes: _Side, k: int) -> type | None:
        """Give output number ``k`` of both sides one type: a Python number takes the type of the other side.

        Returns the class of the output if it is a Python number on both sides, else None."""
        a, b = no.outputs[k].aval, yes.outputs[k].aval
        both_weak = no.weak[k] is not None and yes.weak[k] is not None
        if a is not b:
            dtype = _common(a, no.weak[k], b, yes.weak[k])
            if a.shape != b.shape or dtype is None:
                error: type[WengertError] = ShapeError if a.shape != b.shape else DTypeError
                where = tree.path(self.treedef, k)
                what = f"{self.name}: the body returns {b} if this is true, and {a} if it is false, at result{where}"
                raise error(message(what, source, tries=ALIKE))
            for side in (no, yes):
                side.outputs[k] = _as(side, side.outputs[k], dtype)
        return type(np.zeros((), no.outputs[k].aval.dtype).item()) if both_weak else None


def _common(a: Aval, weak_a: type | None, b: Aval, weak_b: type | None) -> np.dtype[Any] | None:
    """The common dtype of both; None if a value that is not a Python number would have to change its dtype."""
    if weak_a is None and weak_b is None:
        return None
    if weak_a is not None and weak_b is not None:
        return np.result_type(a.dtype, b.dtype)
    dtype, weak = (b.dtype, weak_a) if weak_a is not None else (a.dtype, weak_b)
    return dtype if np.result_type(dtype, weak(0)) == dtype else None  # type: ignore[misc]  # one is not None


def _as(side: _Side, a: Atom, dtype: np.dtype[Any]) -> Atom:
    if a.aval.dtype == dtype:
        return a
    if type(a) is Lit:
        return Lit(a.value, dtype)
    builder = Builder()
    with building(builder):
        converted = convert(a, dtype=dtype)
    side.instrs.extend(builder.instrs)
    return converted


def _is_same(a: Instr, b: Instr) -> bool:
    """Whether two steps have the same op, parameters and operands, and results of the same types."""
    same_outs = [v.aval for v in a.outs] == [v.aval for v in b.outs]
    return a.op is b.op and a.params == b.params and same_outs and [*map(key_of, a.ins)] == [*map(key_of, b.ins)]


# ------------------------------------------------------------------------------------------------------ two sides


def joined_sides(
    name: str, condition: Atom, source: Source | None, no: _Side, yes: _Side
) -> tuple[list[Instr], list[Atom]]:
    """Return one ``cond`` over both sides; equal steps at the end of both stand once, behind it."""
    mine, its = needed_steps(no.instrs, no.outputs), needed_steps(yes.instrs, yes.outputs)
    tail = _Tail(mine, its, no.outputs, yes.outputs)
    heads = [mine[: len(mine) - tail.length], its[: len(its) - tail.length]]
    builder = Builder()
    builder.source = source
    with building(builder):
        scalar = reshape(condition, shape=()) if condition.aval.shape else condition
        chosen = _chosen(name, scalar, heads, list(tail.pairs.values()))
    values: dict[Any, Atom] = dict(zip(tail.pairs, chosen, strict=True))
    instrs = [
        mine._replace(ins=tuple([tail.value(a, b, values) for a, b in zip(mine.ins, its.ins, strict=True)]))
        for mine, its in tail.steps
    ]
    outputs = [tail.value(a, b, values) for a, b in zip(no.outputs, yes.outputs, strict=True)]
    return [*builder.instrs, *instrs], outputs


def _chosen(name: str, condition: Atom, heads: list[list[Instr]], pairs: list[tuple[Atom, Atom]]) -> Sequence[Atom]:
    """Choose one value of each pair by ``condition``: by ``select`` if no side has steps to run, else by ``cond``."""
    if not pairs and not any(has_effects(i) for head in heads for i in head):
        return ()
    tapes = []
    for k, head in enumerate(heads):
        outputs = [p[k] for p in pairs]
        tapes.append(Tape((), (), tuple(needed_steps(head, outputs)), tuple(outputs), name))
    if not any(tape.instrs for tape in tapes) and all(a.aval.shape == () for a, _ in pairs):
        return [select(condition, b, a) for a, b in pairs]
    operands = list(dict.fromkeys([v for tape in tapes for v in _free(tape)]))
    branches = tuple([alive(tape.replace(inputs=tuple(operands))) for tape in tapes])
    found = cond(convert(condition, dtype=np.dtype(np.int64)), *operands, branches=branches, wrt=None)
    return found if isinstance(found, tuple) else (found,)


class _Tail:
    """The longest sequence of steps with which two sides end alike. ``pairs`` are the values from before it that it
    reads, one from each side, where they differ."""

    def __init__(self, mine: list[Instr], its: list[Instr], outputs: list[Atom], other_outputs: list[Atom]) -> None:
        self.length = 0
        for a, b in zip(reversed(mine), reversed(its), strict=False):
            if not _does_the_same(a, b):
                break
            self.length += 1
        both = list(zip(outputs, other_outputs, strict=True))
        while True:
            ends = mine[len(mine) - self.length :], its[len(its) - self.length :]
            self.steps = list(zip(*ends, strict=True))
            self._at = [_places(end) for end in ends]
            self.pairs: dict[Any, tuple[Atom, Atom]] = {}
            crossing = self._first_crossing(both)
            if crossing is None:
                return
            self.length -= crossing + 1

    def _first_crossing(self, outputs: list[tuple[Atom, Atom]]) -> int | None:
        """The number of the last step that cannot belong to the tail; None if all can.

        A step cannot if its operands cannot be paired, or if an output that reads it cannot be paired."""
        for k, (a, b) in reversed(list(enumerate(self.steps))):
            if not all(self._goes(x, y) for x, y in zip(a.ins, b.ins, strict=True)):
                return k
        crossed = [x for pair in outputs if not self._goes(*pair) for x in pair]
        return max([self._at[n][x][0] for x in crossed for n in (0, 1) if x in self._at[n]], default=None)

    def _goes(self, x: Atom, y: Atom) -> bool:
        """Whether ``x`` and ``y`` can be paired: both are the same result within the tail, or both come from before it
        and have one type. In that case they are noted in ``pairs`` if they differ."""
        here, there = self._at[0].get(x), self._at[1].get(y)
        if here is not None or there is not None:
            return here == there
        if key_of(x) != key_of(y):
            self.pairs[key_of(x), key_of(y)] = x, y
        return x.aval is y.aval

    def value(self, x: Atom, y: Atom, chosen: dict[Any, Atom]) -> Atom:
        """The value that stands for the pair ``x``, ``y`` in the tail: the chosen one, or ``x`` if they are equal."""
        return chosen.get((key_of(x), key_of(y)), x)


def _places(instrs: list[Instr]) -> dict[Atom, tuple[int, int]]:
    """Map each value to the number of the step that computes it, and its number among the outputs of that step."""
    return {v: (k, m) for k, i in enumerate(instrs) for m, v in enumerate(i.outs)}


def _does_the_same(a: Instr, b: Instr) -> bool:
    """Whether two steps have one source line, op and parameters, and operands of the same types."""
    lines = [None if i.source is None else i.source[:2] for i in (a, b)]
    same_ins = [x.aval for x in a.ins] == [x.aval for x in b.ins]
    return a.op is b.op and a.params == b.params and same_ins and lines[0] == lines[1]


def _free(tape: Tape) -> list[Var]:
    """The variables that the tape reads and does not assign, in the order in which it first reads them."""
    assigned = {v for i in tape.instrs for v in i.outs}
    read = [a for i in tape.instrs for a in i.ins] + list(tape.outputs)
    return [a for a in dict.fromkeys(read) if type(a) is Var and a not in assigned]
