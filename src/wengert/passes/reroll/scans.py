"""A cycle of steps becomes a scan. It carries what the iteration before gave and, where a step looks back otherwise, a
history of all values of its steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from wengert.higher.bodies import alive
from wengert.higher.loops import TapeLoop, scan
from wengert.ops.index import INTP, everything, gather, scatter_set, slice_
from wengert.ops.shape import concatenate, reshape, zeros
from wengert.passes.reroll.assembling import assembled
from wengert.passes.reroll.columns import Places, Rolled, is_readable
from wengert.passes.reroll.iteration import Iteration, Needs, OperandReads, StepOutput
from wengert.passes.reroll.pieces import Piece, Ref, as_piece
from wengert.passes.reroll.reads import Column, Reads, is_one
from wengert.tape import Atom, Aval, Builder, Lit, Tape, Var, building, current_builder


class Irregular(Exception):
    """The first iteration is not as the others, and may stay outside of the loop."""


@dataclass
class History:
    """An array of all values of some slots of one type, behind those that stand in for iterations before the first."""

    aval: Aval
    outside: dict[Ref, int] = field(default_factory=dict)
    members: dict[StepOutput, int] = field(default_factory=dict)

    def place(self, slot: StepOutput, count: int) -> int:
        """Return where the first value of ``slot`` stands; the others follow."""
        return len(self.outside) + self.members[slot] * count


class Held(NamedTuple):
    """An operand that the iteration before gave; or this one, if ``init`` is None."""

    slot: StepOutput
    init: Ref | None
    cut: Piece | None
    """The piece of that value that is read; None: all of it."""


class Recalled(NamedTuple):
    """An operand that is found in a history."""

    history: History
    operand: OperandReads
    outside: dict[int, int]
    """The number, in the history, of the value that each iteration reads from outside."""
    cut: Piece | None


@dataclass
class ScanPlan:
    """Where the steps of a cycle find their operands."""

    group: list[int]
    sources: dict[tuple[int, int], Held | Recalled | None]
    """The place of each operand, by its step and its number; None: it comes from outside."""
    histories: dict[Aval, History]


def plan_scan(it: Iteration, group: list[int]) -> ScanPlan:
    """Plan a scan of the cycle ``group``. Raises Irregular."""
    plan = ScanPlan(group, {}, {})
    for j in group:
        for o, operand in enumerate(it.operands[j]):
            inner = it.is_inner(operand, group)
            plan.sources[j, o] = _source(it, plan, operand, inner) if inner.any() else None
    return plan


def _source(it: Iteration, plan: ScanPlan, operand: OperandReads, inner: Any) -> Held | Recalled:
    cut = _same_cut(operand.read.where(inner))
    if cut is not None and not all(is_readable(cut, it.aval(it.slots[s])) for s in it.seen(operand)):
        raise Irregular
    if inner[-1]:
        number = int(operand.slot[-1])
        slot = it.slots[number]
        if operand.is_of(number, 0):
            return Held(slot, None, cut)
        if not inner[0] and operand.is_of(number, 1):
            return Held(slot, _like(operand.read.refs[0], cut, it.aval(slot)), cut)
    return _recalled(it, plan, operand, inner, cut)


def _like(ref: Ref, cut: Piece | None, aval: Aval) -> Ref:
    """Return the value of which ``ref`` is the piece ``cut``."""
    if cut is None:
        found = ref
    elif type(ref) is Piece and ref[1:] == cut[1:]:
        found = ref.base
    else:
        raise Irregular
    if as_piece(found).aval is not aval:
        raise Irregular
    return found


def _recalled(it: Iteration, plan: ScanPlan, operand: OperandReads, inner: Any, cut: Piece | None) -> Recalled:
    slots = [it.slots[s] for s in dict.fromkeys(operand.slot[inner].tolist())]
    avals = {it.aval(slot) for slot in slots}
    if len(avals) != 1:
        raise Irregular
    aval = avals.pop()
    history = plan.histories.setdefault(aval, History(aval))
    for slot in slots:
        history.members.setdefault(slot, len(history.members))
    outside: dict[int, int] = {}
    for k in np.flatnonzero(~inner).tolist():
        outer = _like(operand.read.refs[k], cut, aval)
        outside[k] = history.outside.setdefault(outer, len(history.outside))
    return Recalled(history, operand, outside, cut)


def _same_cut(read: Column) -> Piece | None:
    """Return the piece that each entry is of its base, if it is the same for all; else raise Irregular."""
    if not (is_one(read.is_piece) and is_one(read.start) and is_one(read.form)):
        raise Irregular
    first = read.refs[0]
    return first._replace(base=Lit(0)) if type(first) is Piece else None


class _Inputs:
    """Inputs of a body, one for each operand that is found to be needed."""

    def __init__(self) -> None:
        self.variables: list[Var] = []
        self.operands: list[Atom] = []
        self._known: dict[Any, Var] = {}

    def add(self, operand: Atom, aval: Aval) -> Var:
        known = self._known.get(operand)
        if known is None:
            known = self._known[operand] = Var(aval)
            self.variables.append(known)
            self.operands.append(operand)
        return known


class ScanMaker:
    """Emits one scan."""

    def __init__(self, it: Iteration, plan: ScanPlan, places: Places, needs: dict[StepOutput, Needs]) -> None:
        self.it, self.plan, self.places, self.needs = it, plan, places, needs
        self.count = it.run.count
        self.constants, self.stacks = _Inputs(), _Inputs()
        self.carries: list[tuple[Var, Atom]] = []
        self.held: dict[tuple[StepOutput, Ref], Var] = {}
        self.now: dict[StepOutput, Atom] = {}
        self.past: dict[Aval, Atom] = {}

    def _of_outside(self, read: Column) -> Atom:
        atom, is_stacked = self.places.column(read)
        if type(atom) is Lit:
            return atom
        if not is_stacked:
            return self.constants.add(atom, atom.aval)
        return self.stacks.add(atom, Aval(atom.aval.shape[1:], atom.aval.dtype))

    def _carry(self, init: Atom) -> Var:
        v = Var(init.aval)
        self.carries.append((v, init))
        return v

    def _given(self) -> dict[tuple[int, int], Any]:
        """Return the variable of every operand that the body does not compute itself, and emit what comes from
        outside."""
        given: dict[tuple[int, int], Any] = {}
        for key, source in self.plan.sources.items():
            if source is None:
                given[key] = self._of_outside(self.it.operands[key[0]][key[1]].read)
            elif type(source) is Held:
                if source.init is not None:
                    known = source.slot, source.init
                    if known not in self.held:
                        self.held[known] = self._carry(self.places.atom(source.init))
                    given[key] = self.held[known]
            elif type(source) is Recalled:
                given[key] = self._of_outside_array(self._table(source))
        return given

    def _table(self, source: Recalled) -> Any:
        """Return the place in its history where each iteration finds what it recalls."""
        history, operand, outside, _ = source
        first = np.zeros(len(self.it.slots), INTP)
        for slot in history.members:
            first[self.it.number[slot]] = history.place(slot, self.count)
        table = first[operand.slot] + operand.iteration
        table[list(outside)] = list(outside.values())
        return table.astype(INTP)

    def _of_outside_array(self, array: Any) -> Atom:
        if (array == array[0]).all():
            return Lit(array[0], INTP)
        if (array == np.arange(len(array))).all():
            return self.stacks.add(self.places.counter(self.count), Aval((), INTP))
        return self.stacks.add(self.places.constant(array), Aval((), INTP))

    def emit(self) -> None:
        plan, it = self.plan, self.it
        given = self._given()
        for aval, history in plan.histories.items():
            room = zeros(Aval((len(history.members) * self.count, *aval.shape), aval.dtype))
            rows = [self.places.atom(r) for r in history.outside]
            rows = [reshape(r, shape=(1, *aval.shape)) for r in rows]
            self.past[aval] = self._carry(concatenate(*rows, room, axis=0) if rows else room)
        of_history = {slot: h for h in plan.histories.values() for slot in h.members}
        written = {
            slot: self._of_outside_array(h.place(slot, self.count) + np.arange(self.count, dtype=INTP))
            for slot, h in of_history.items()
        }
        moving = {j: self._moving_places(j) for j in plan.group if it.step(j).op is None}
        source = it.source(plan.group[0])
        body = self._body(given, moving, of_history, written)
        held = [slot for slot, _ in self.held]
        carried = [*[self.now[slot] for slot in held], *self.past.values()]
        stacked = [s for s in self.now if s not in of_history and self._is_stacked(s, held)]
        inputs = (*self.constants.variables, *[v for v, _ in self.carries], *self.stacks.variables)
        outputs = (*carried, *[self.now[s] for s in stacked])
        tape = Tape(inputs=inputs, captures=(), instrs=body.instrs, outputs=outputs, name="scan")
        loop = TapeLoop(alive(tape), len(self.constants.variables), len(self.carries), self.count, False)
        operands = (*self.constants.operands, *[a for _, a in self.carries], *self.stacks.operands)
        builder = current_builder()
        builder.source = source
        results = builder.emit(scan, operands, {"loop": loop, "pull": None})
        self._place(results, held, stacked)

    def _body(
        self,
        given: dict[tuple[int, int], Any],
        moving: dict[int, list[Any]],
        of_history: Mapping[StepOutput, History] = MappingProxyType({}),
        written: Mapping[StepOutput, Atom] = MappingProxyType({}),
    ) -> Builder:
        """Return the steps of one iteration. Their values are then in ``now`` and ``past``."""
        it, body = self.it, Builder()
        with building(body):
            for j in self.plan.group:
                step = it.step(j)
                body.source = step.source
                atoms = [self._operand(j, o, given) for o in range(len(it.operands[j]))]
                if step.op is None:
                    outs: tuple[Atom, ...] = (assembled(step, atoms, moving[j]),)
                else:
                    outs = body.emit(step.op, tuple(atoms), step.params)
                for m, a in enumerate(outs):
                    slot = StepOutput(j, m)
                    self.now[slot] = a
                    if slot in of_history:
                        aval = of_history[slot].aval
                        self.past[aval] = scatter_set(self.past[aval], a, written[slot])
        return body

    def _is_stacked(self, slot: StepOutput, held: Sequence[StepOutput]) -> bool:
        need = self.needs[slot]
        return need.all or (need.last and slot not in held)

    def _place(self, results: Sequence[Atom], held: Sequence[StepOutput], stacked: Sequence[StepOutput]) -> None:
        it, count = self.it, self.count
        found: dict[StepOutput, Rolled] = {}
        for slot, r in zip(held, results, strict=False):
            found[slot] = Rolled(r, count - 1)
        for (aval, history), r in zip(self.plan.histories.items(), results[len(held) :], strict=False):
            for slot in history.members:
                index = ((history.place(slot, count), count, 1), *everything(aval.shape))
                if self.needs[slot] != (False, False):
                    found[slot] = Rolled(slice_(r, index=index), 0)
        for slot, r in zip(stacked, results[len(self.carries) :], strict=True):
            found[slot] = Rolled(r, 0)
        for slot, rolled in found.items():
            self.places.settle(it.values(slot), rolled)

    def _moving_places(self, j: int) -> list[Any]:
        """Return where the pieces that step ``j`` assembles come to lie, counted in pieces: numbers or variables."""
        of_all = [self.it.step(j, k).places for k in range(self.count)]
        size = as_piece(self.it.step(j).refs[-1]).aval.size
        tables = [np.array(t, INTP) // size for t in zip(*of_all, strict=True)]
        return [int(t[0]) if (t == t[0]).all() else self._of_outside_array(t) for t in tables]

    def _operand(self, j: int, o: int, given: dict[tuple[int, int], Any]) -> Atom:
        source = self.plan.sources[j, o]
        if source is None:
            return given[j, o]
        if type(source) is Recalled:
            value = gather(self.past[source.history.aval], given[j, o])
        else:
            assert type(source) is Held
            value = self.now[source.slot] if source.init is None else given[j, o]
        return value if source.cut is None else cut_from(value, source.cut)


def cut_from(value: Atom, cut: Piece) -> Atom:
    return Places((), Reads((), ())).atom(cut._replace(base=value))
