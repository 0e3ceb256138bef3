"""A run of iterations as array steps and scans.

The steps of one iteration are a graph: an edge where a step reads what another gave, in this iteration or in one
before. What lies on no cycle is one step over all iterations at once, by the rule that ``vmap`` knows it by; a cycle of
additions is a sum; any other is a ``scan``, which carries what the iteration before gave, and a history of all of them
where a step looks back otherwise.

Source: Allen and Kennedy (2001), Optimizing Compilers for Modern Architectures, chapter 2 (loop distribution).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from wengert.batching import batch
from wengert.higher.bodies import alive
from wengert.higher.loops import Loop, scan
from wengert.ops import kernels
from wengert.ops.control import EACH, Expected, guard
from wengert.ops.elementwise import add, subtract
from wengert.ops.index import INTP, everything, gather, scatter_set, set_slice, slice_
from wengert.ops.reduce import cumsum, sum_
from wengert.ops.shape import broadcast_to, concatenate, iota, reshape, zeros
from wengert.passes.reroll.columns import Places, Rolled, is_readable
from wengert.passes.reroll.pieces import IterationStep, Piece, Ref, as_piece
from wengert.passes.reroll.reads import Column, Numbers, Reads, is_one
from wengert.passes.reroll.repeats import FEWEST, Run
from wengert.source import Source
from wengert.tape import Atom, Aval, Builder, Lit, Tape, Var, building, current_builder, splice

LEAST_SCANNED = 1_500
"""Steps that a scan must save. A short loop runs faster as straight code, and is soon compiled."""


MOST_JOINED = 64
"""Elements of constants that are worth another copy, to stand side by side."""


MAY_RAISE = (kernels.Call, kernels.Callback, kernels.Gather, kernels.Scatter, kernels.Nonzero)
MAY_RAISE += (kernels.Loop, kernels.Repeat, kernels.RepeatBack, kernels.Branch)


class Irregular(Exception):
    """The first iteration is not as the others: it stays outside."""


class NotRolled(Exception):
    """The run is better left as it is."""


class StepOutput(NamedTuple):
    """A slot: the value of one step of an iteration, the output number ``output`` of the step number ``step``."""

    step: int
    output: int


class OperandReads(NamedTuple):
    """What one operand of a step is, iteration after iteration."""

    read: Column
    slot: Numbers
    """Of which slot of the run, by its number; below zero: of none."""
    iteration: Numbers
    """And of which iteration."""

    def is_of(self, slot: int, lag: int) -> bool:
        """Whether each iteration reads ``slot`` of the one ``lag`` before it; what the first ones read is not asked."""
        count = len(self.slot)
        is_slot = (self.slot[lag:] == slot).all()
        return bool(is_slot and (self.iteration[lag:] == np.arange(count - lag)).all())


class Needs(NamedTuple):
    """Of which iterations a value is read outside of its group."""

    all: bool
    last: bool


# ------------------------------------------------------------------------------------------------- of an iteration


class Iteration:
    """The steps of a run as one iteration, with what they read of each other."""

    def __init__(self, reads: Reads, run: Run) -> None:
        self.reads, self.run = reads, run
        start, period, count = run
        self.slots = [StepOutput(j, m) for j in range(period) for m in range(len(reads.steps[start + j].outs))]
        self.number = {slot: s for s, slot in enumerate(self.slots)}
        self.operands = [
            [self._operand(reads.operand(start + j, o, period, count)) for o in range(len(reads.steps[start + j].refs))]
            for j in range(period)
        ]
        self.read_by = [self._steps_of(operands) for operands in self.operands]
        """Of each step, which steps of this or of earlier iterations it reads."""

    def _operand(self, read: Column) -> OperandReads:
        first, n = int(self.reads.first_out[self.run.start]), len(self.slots)
        behind = read.value - first
        is_inside = (behind >= 0) & (behind < n * self.run.count)
        iteration, slot = np.divmod(behind, max(n, 1))
        return OperandReads(read, np.where(is_inside, slot, -1), iteration)

    def hit(self, operand: OperandReads, k: int) -> tuple[StepOutput, int] | None:
        """The slot that iteration ``k`` reads, and of which iteration; None: what stands outside."""
        slot = int(operand.slot[k])
        return None if slot < 0 else (self.slots[slot], int(operand.iteration[k]))

    def seen(self, operand: OperandReads) -> list[int]:
        """The slots that it reads, by their numbers."""
        is_seen = np.zeros(len(self.slots) + 1, bool)
        is_seen[operand.slot] = True  # the last one, where it is none
        return np.flatnonzero(is_seen[:-1]).tolist()

    def _steps_of(self, operands: Sequence[OperandReads]) -> set[int]:
        return {self.slots[s].step for operand in operands for s in self.seen(operand)}

    def is_inner(self, operand: OperandReads, group: Sequence[int]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """In which iterations it reads what a step of ``group`` gave."""
        is_of_group = np.array([*[slot.step in group for slot in self.slots], False])
        return is_of_group[operand.slot]

    def step(self, j: int, k: int = 0) -> IterationStep:
        return self.reads.steps[self.run.start + k * self.run.period + j]

    def values(self, slot: StepOutput) -> range:
        """The numbers of its values, iteration after iteration."""
        n = len(self.slots)
        first = int(self.reads.first_out[self.run.start]) + self.number[slot]
        return range(first, first + n * self.run.count, n)

    def needs(self, slot: StepOutput, is_read_elsewhere: bool = False) -> Needs:
        """What is read of it when the run has ended, or besides, if it is read elsewhere in it."""
        numbers = self.values(slot)
        is_after = self.reads.last_use[numbers.start : numbers.stop : numbers.step] >= self.run.stop
        return Needs(is_read_elsewhere or bool(is_after[:-1].any()), bool(is_after[-1]))

    def aval(self, slot: StepOutput) -> Aval:
        return self.step(slot.step).outs[slot.output].aval

    def source(self, j: int) -> Source | None:
        source = self.step(j).source
        return None if source is None else source._replace(role=f"{self.run.count} iterations")

    def parts(self) -> list[list[int]]:
        """The steps in groups, each of one step or a cycle, in an order in which they can be done."""
        from scipy.sparse import coo_array  # not before a loop is found: a first call need not wait for it
        from scipy.sparse.csgraph import connected_components

        period = self.run.period
        edges = [(i, j) for j in range(period) for i in self.read_by[j]]
        rows, columns = zip(*edges, strict=True) if edges else ((), ())
        graph = coo_array((np.ones(len(edges)), (rows, columns)), (period, period))
        label = connected_components(graph, connection="strong")[1].tolist()
        groups: dict[int, list[int]] = {}
        for j in range(period):
            groups.setdefault(label[j], []).append(j)
        order = TopologicalSorter({label[j]: () for j in range(period)})
        for i, j in edges:
            if label[i] != label[j]:
                order.add(label[j], label[i])
        return [groups[g] for g in order.static_order()]

    def is_cycle(self, group: Sequence[int]) -> bool:
        return len(group) > 1 or group[0] in self.read_by[group[0]]


# ------------------------------------------------------------------------------------------------------------ sums


class Sum(NamedTuple):
    """A cycle of additions and subtractions."""

    terms: list[tuple[OperandReads, bool]]
    """What is added, and whether it is subtracted instead."""
    init: Ref
    last: StepOutput
    is_running: bool
    """All partial sums are read."""


def as_sum(it: Iteration, group: Sequence[int], needs: dict[StepOutput, Needs]) -> Sum | None:
    """The group as a sum, if it is one."""
    terms, init = [], None
    for at, j in enumerate(group):
        step = it.step(j)
        if step.op is not add and step.op is not subtract:
            return None
        aval = step.outs[0].aval
        if aval.dtype.kind not in "fc" and aval.dtype != np.int64:  # sums of others have another dtype
            return None
        before = it.number[StepOutput(group[at - 1], 0)]
        inner = [k for k, o in enumerate(it.operands[j]) if it.is_inner(o, group).any()]
        if len(inner) != 1 or (step.op is subtract and inner != [0]):
            return None
        mine, other = it.operands[j][inner[0]], it.operands[j][1 - inner[0]]
        lag = 1 if at == 0 else 0
        if not mine.is_of(before, lag) or mine.read.is_piece[lag:].any():
            return None
        if lag:
            init = mine.read.refs[0]
            if mine.slot[0] >= 0 or as_piece(init).aval is not aval:
                return None
        if as_piece(other.read.refs[0]).aval is not aval:  # and so for all, since they are steps of one kind
            return None
        terms.append((other, step.op is subtract))
    last = StepOutput(group[-1], 0)
    if any(needs[StepOutput(j, 0)] != (False, False) for j in group[:-1]):
        return None
    if needs[last].all and len(group) > 1:
        return None
    assert init is not None
    return Sum(terms, init, last, needs[last].all)


# ----------------------------------------------------------------------------------------------------------- scans


@dataclass
class History:
    """All values of some slots of one type, and others that stand where there is none yet."""

    aval: Aval
    outside: dict[Ref, int] = field(default_factory=dict)
    members: dict[StepOutput, int] = field(default_factory=dict)

    def place(self, slot: StepOutput, count: int) -> int:
        """Of its first value; the others follow."""
        return len(self.outside) + self.members[slot] * count


class Held(NamedTuple):
    """An operand that the iteration before gave, or this one (``init`` is None)."""

    slot: StepOutput
    init: Ref | None
    cut: Piece | None
    """Of which it reads this piece."""


class Recalled(NamedTuple):
    """An operand that some iteration gave."""

    history: History
    operand: OperandReads
    outside: dict[int, int]
    """What no iteration gave, by the iteration that reads it: its number in the history."""
    cut: Piece | None


@dataclass
class ScanPlan:
    group: list[int]
    sources: dict[tuple[int, int], Held | Recalled | None]
    """Of each operand of each step; None: it comes from outside."""
    histories: dict[Aval, History]


def _same_cut(read: Column) -> Piece | None:
    """The piece that all are of their bases, whatever those are."""
    if not (is_one(read.is_piece) and is_one(read.start) and is_one(read.form)):
        raise Irregular
    first = read.refs[0]
    return first._replace(base=Lit(0)) if type(first) is Piece else None


def plan_scan(it: Iteration, group: list[int]) -> ScanPlan:
    """Where the steps of a cycle find their operands. Raises Irregular."""
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
    """The value of which ``ref`` is the piece ``cut``."""
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


class _Inputs:
    """Variables of a body that grow with what is found to be needed."""

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
        """The variable of every operand that the body does not compute itself; all that stands outside is emitted."""
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
        """Where in its history each iteration finds what it recalls."""
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
            return self.stacks.add(self._counter(), Aval((), INTP))
        return self.stacks.add(self.places.constant(array), Aval((), INTP))

    def _counter(self) -> Atom:
        key = "counter", self.count
        known = self.places.known.get(key)
        if known is None:
            known = self.places.known[key] = iota(size=self.count, dtype=INTP)
        return known

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
        loop = Loop(alive(tape), len(self.constants.variables), len(self.carries), self.count, False)
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
        """The steps of one iteration; their values are found in ``now`` and ``past``."""
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
        """Where the pieces that step ``j`` assembles come to lie, counted in pieces: numbers or variables."""
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


def assembled(step: IterationStep, atoms: Sequence[Atom], places: Sequence[Any]) -> Atom:
    """The array that ``step`` assembles of ``atoms``; ``places`` are counted in pieces, some perhaps while it runs."""
    aval = step.outs[0].aval
    n = len(places)
    unit = atoms[-1].aval.shape
    rows_shape = (aval.size // Aval(unit, aval.dtype).size, *unit)
    if step.is_covered:
        rows = [reshape(a, shape=(1, *unit)) for a in atoms]
        return reshape(concatenate(*rows, axis=0), shape=aval.shape)
    made = reshape(atoms[0], shape=rows_shape)
    for value, at in zip(atoms[-n:], places, strict=True):
        if type(at) is int:
            made = set_slice(made, value, index=(at, *everything(unit)))
        else:
            made = scatter_set(made, value, at)
    return reshape(made, shape=aval.shape)


# --------------------------------------------------------------------------------------------------------- a run


class Roller:
    """Emits a run on the current builder."""

    def __init__(self, it: Iteration, places: Places, emit: Any) -> None:
        self.it, self.places, self.emit = it, places, emit
        self.guards = [j for j in range(it.run.period) if it.step(j).op is guard]
        conditions = {as_piece(it.step(j).refs[0]).aval for j in self.guards}
        if len(conditions) > 1 or any(a.shape or a.dtype != bool for a in conditions):
            raise NotRolled
        ops = [it.step(j).op for j in range(it.run.period)]
        if self.guards and any(op is not None and isinstance(op.kernel, MAY_RAISE) for op in ops):
            raise NotRolled  # a guard may stand before it, so that it is not reached
        if any(self._is_heavy(o) for operands in it.operands for o in operands):
            raise NotRolled
        self.groups = it.parts()
        group_of = {j: n for n, group in enumerate(self.groups) for j in group}
        self.needs = self._needs(group_of)
        self.made: list[Sum | ScanPlan | None] = []
        for group in self.groups:
            if not it.is_cycle(group):
                self.made.append(None)
                continue
            as_a_sum = as_sum(it, group, self.needs)
            self.made.append(as_a_sum if as_a_sum is not None else plan_scan(it, group))

    def _is_heavy(self, operand: OperandReads) -> bool:
        """Whether values that lie apart would have to be copied together: by a kernel for each, where an iteration that
        stays as it is takes hardly more than one, and often none of its own. Small constants are joined now."""
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
        return not scans or self.it.run.saved >= LEAST_SCANNED

    def roll(self) -> None:
        for group, made in zip(self.groups, self.made, strict=True):
            if group[0] in self.guards:
                continue
            current_builder().source = self.it.source(group[0])
            if made is None:
                self._at_once(group[0])
            elif type(made) is Sum:
                self._sum(made)
            else:
                assert type(made) is ScanPlan
                ScanMaker(self.it, made, self.places, self.needs).emit()
        if self.guards:
            self._guard()

    def _at_once(self, j: int) -> None:
        it, count = self.it, self.it.run.count
        step = it.step(j)
        columns = [self.places.column(o.read) for o in it.operands[j]]
        atoms, flags = [a for a, _ in columns], [f for _, f in columns]
        if step.op is None:
            results = self._assembled_at_once(j, atoms, flags)
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

    def _assembled_at_once(self, j: int, atoms: Sequence[Atom], flags: Sequence[bool]) -> Any:
        it, count = self.it, self.it.run.count
        step = it.step(j)
        if any(it.step(j, k).places != step.places for k in range(count)):
            return None
        if not any(flags):
            flags = [True] * len(flags)
            atoms = [broadcast_to(a, shape=(count, *a.aval.shape)) for a in atoms]
        inputs = [Var(as_piece(r).aval) for r in step.refs]
        size = inputs[-1].aval.size
        builder = Builder()
        with building(builder):
            out = assembled(step, inputs, [p // size for p in step.places])
        one = Tape(inputs=tuple(inputs), captures=(), instrs=builder.instrs, outputs=(out,))
        return tuple(splice(current_builder(), batch(one, flags, count), atoms, ()))

    def _guard(self) -> None:
        """One guard in place of those of all iterations, in their order."""
        it, count = self.it, self.it.run.count
        conditions = [self.places.stacked(it.operands[j][0].read) for j in self.guards]
        dtype = conditions[0].aval.dtype
        columns = [reshape(c, shape=(count, 1)) for c in conditions]
        seen = [[it.step(j, k).params["expected"].value for j in self.guards] for k in range(count)]
        current_builder().source = it.source(self.guards[0])
        params = {"expected": Expected(np.array(seen, dtype)), "position": -1, "kind": EACH}
        current_builder().emit(guard, (concatenate(*columns, axis=1),), params)

    def _sum(self, made: Sum) -> None:
        total: Any = None
        for operand, is_subtracted in made.terms:
            term = self.places.stacked(operand.read)
            if total is None:
                total = -term if is_subtracted else term
            else:
                total = total - term if is_subtracted else total + term
        init = self.places.atom(made.init)
        if made.is_running:
            first = reshape(init, shape=(1, *init.aval.shape))
            running = cumsum(concatenate(first, total, axis=0), axis=0)
            index = ((1, self.it.run.count, 1), *everything(init.aval.shape))
            rolled = Rolled(slice_(running, index=index), 0)
        else:
            rolled = Rolled(init + sum_(total, axis=(0,)), self.it.run.count - 1)
        self.places.settle(self.it.values(made.last), rolled)
