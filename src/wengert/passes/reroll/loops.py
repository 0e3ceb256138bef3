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
from wengert.passes.reroll.pieces import Piece, Ref, Step, as_piece, pieces_of
from wengert.passes.reroll.repeats import FEWEST, Run
from wengert.source import Source
from wengert.tape import Atom, Aval, Builder, Lit, Tape, Var, building, current_builder, splice

LEAST_SCANNED = 1_500
"""Steps that a scan must save. A short loop runs faster as straight code, and is soon compiled."""


MOST_JOINED = 64
"""Elements of arrays that are worth copying to stand side by side."""


MAY_RAISE = (kernels.Call, kernels.Callback, kernels.Gather, kernels.Scatter, kernels.Nonzero)
MAY_RAISE += (kernels.Loop, kernels.Repeat, kernels.RepeatBack, kernels.Branch)


class Irregular(Exception):
    """The first iteration is not as the others: it stays outside."""


class NotRolled(Exception):
    """The run is better left as it is."""


class Slot(NamedTuple):
    """The value of one step of an iteration: the output number ``output`` of the step number ``step``."""

    step: int
    output: int


Hit = tuple[Slot, int]
"""A slot, and the iteration of which it is read."""


class Operand(NamedTuple):
    """What one operand of a step is, iteration after iteration."""

    refs: list[Ref]
    hits: list[Hit | None]


# ------------------------------------------------------------------------------------------------- of an iteration


@dataclass
class Iteration:
    """The steps of a run as one iteration, with what they read of each other."""

    steps: Sequence[Step]
    """Of the whole tape."""
    run: Run
    number: dict[Atom, Hit] = field(default_factory=dict)
    operands: list[list[Operand]] = field(default_factory=list)

    def __post_init__(self) -> None:
        start, period, count = self.run
        for k in range(count):
            for j in range(period):
                for m, v in enumerate(self.steps[start + k * period + j].outs):
                    self.number[v] = Slot(j, m), k
        for j in range(period):
            of_all = [self.steps[start + k * period + j].refs for k in range(count)]
            columns = [list(refs) for refs in zip(*of_all, strict=True)]
            hits = [[self.number.get(a) for a in pieces_of(refs)] for refs in columns]
            self.operands.append([Operand(*both) for both in zip(columns, hits, strict=True)])

    def step(self, j: int, k: int = 0) -> Step:
        return self.steps[self.run.start + k * self.run.period + j]

    def source(self, j: int) -> Source | None:
        source = self.step(j).source
        return None if source is None else source._replace(role=f"{self.run.count} iterations")

    def read_by(self, j: int) -> set[int]:
        """The steps of this or of earlier iterations that step ``j`` reads."""
        return {hit[0].step for operand in self.operands[j] for hit in operand.hits if hit is not None}

    def parts(self) -> list[list[int]]:
        """The steps in groups, each of one step or a cycle, in an order in which they can be done."""
        from scipy.sparse import coo_array  # not before a loop is found: a first call need not wait for it
        from scipy.sparse.csgraph import connected_components

        period = self.run.period
        reads = [self.read_by(j) for j in range(period)]
        edges = [(i, j) for j in range(period) for i in reads[j]]
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
        return len(group) > 1 or group[0] in self.read_by(group[0])


class Needs(NamedTuple):
    """Of which iterations a value is read outside of its group."""

    all: bool
    last: bool


# ------------------------------------------------------------------------------------------------------------ sums


class Sum(NamedTuple):
    """A cycle of additions and subtractions."""

    terms: list[tuple[Operand, bool]]
    """What is added, and whether it is subtracted instead."""
    init: Ref
    last: Slot
    is_running: bool
    """All partial sums are read."""


def as_sum(it: Iteration, group: Sequence[int], needs: dict[Slot, Needs]) -> Sum | None:
    """The group as a sum, if it is one."""
    terms, init = [], None
    for at, j in enumerate(group):
        step = it.step(j)
        if step.op is not add and step.op is not subtract:
            return None
        aval = step.outs[0].aval
        if aval.dtype.kind not in "fc" and aval.dtype != np.int64:  # sums of others have another dtype
            return None
        before = Slot(group[at - 1], 0)
        inner = [k for k, o in enumerate(it.operands[j]) if any(h is not None and h[0].step in group for h in o.hits)]
        if len(inner) != 1 or (step.op is subtract and inner != [0]):
            return None
        mine, other = it.operands[j][inner[0]], it.operands[j][1 - inner[0]]
        lag = 1 if at == 0 else 0
        known = [(before, k - lag) for k in range(lag, it.run.count)]
        if mine.hits[lag:] != known or any(type(r) is Piece for r in mine.refs[lag:]):
            return None
        if lag:
            init = mine.refs[0]
            if mine.hits[0] is not None or as_piece(init).aval is not aval:
                return None
        if any(as_piece(r).aval is not aval for r in other.refs):
            return None
        terms.append((other, step.op is subtract))
    last = Slot(group[-1], 0)
    if any(needs[Slot(j, 0)] != (False, False) for j in group[:-1]):
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
    members: dict[Slot, int] = field(default_factory=dict)

    def place(self, slot: Slot, k: Any, count: int) -> Any:
        return len(self.outside) + self.members[slot] * count + k


class Held(NamedTuple):
    """An operand that the iteration before gave, or this one (``init`` is None)."""

    slot: Slot
    init: Ref | None
    cut: Piece | None
    """Of which it reads this piece."""


class Recalled(NamedTuple):
    """An operand that some iteration gave."""

    history: History
    table: list[int | Hit]
    cut: Piece | None


@dataclass
class ScanPlan:
    group: list[int]
    sources: dict[tuple[int, int], Held | Recalled | None]
    """Of each operand of each step; None: it comes from outside."""
    histories: dict[Aval, History]


def _cut(ref: Ref) -> Piece | None:
    """Which piece it is of its base, whatever that is."""
    return ref._replace(base=Lit(0)) if type(ref) is Piece else None


def _same_cut(refs: Sequence[Ref]) -> Piece | None:
    """The piece that all are of their bases."""
    first = refs[0]
    for r in refs:
        if type(r) is not type(first) or (type(r) is Piece and r[1:] != first[1:]):  # type: ignore[index]
            raise Irregular
    return _cut(first)


def plan_scan(it: Iteration, group: list[int]) -> ScanPlan:
    """Where the steps of a cycle find their operands. Raises Irregular."""
    mine = set(group)
    plan = ScanPlan(group, {}, {})
    for j in group:
        for o, operand in enumerate(it.operands[j]):
            inner = [h is not None and h[0].step in mine for h in operand.hits]
            plan.sources[j, o] = _source(it, plan, operand, inner) if any(inner) else None
    return plan


def _source(it: Iteration, plan: ScanPlan, operand: Operand, inner: list[bool]) -> Held | Recalled:
    refs, hits = operand
    cut = _same_cut([r for r, is_inner in zip(refs, inner, strict=True) if is_inner])
    if any(cut is not None and not is_readable(cut, _aval(it, h)) for h in hits if h is not None):
        raise Irregular
    first = hits[-1]
    assert first is not None or not inner[-1]
    if inner[-1] and first is not None:
        slot, count = first[0], len(refs)
        if hits == [(slot, k) for k in range(count)]:
            return Held(slot, None, cut)
        if not inner[0] and hits[1:] == [(slot, k) for k in range(count - 1)]:
            init = _like(refs[0], cut, it.step(slot.step).outs[slot.output].aval)
            return Held(slot, init, cut)
    return _recalled(it, plan, operand, inner, cut)


def _aval(it: Iteration, hit: Hit) -> Aval:
    return it.step(hit[0].step).outs[hit[0].output].aval


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


def _recalled(it: Iteration, plan: ScanPlan, operand: Operand, inner: list[bool], cut: Piece | None) -> Recalled:
    avals = {_aval(it, h) for h, i in zip(operand.hits, inner, strict=True) if i and h}
    if len(avals) != 1:
        raise Irregular
    aval = avals.pop()
    history = plan.histories.setdefault(aval, History(aval))
    table: list[Any] = []
    for ref, hit, is_inner in zip(*operand, inner, strict=True):
        if is_inner and hit is not None:
            history.members.setdefault(hit[0], len(history.members))
            table.append(hit)
        else:
            outer = _like(ref, cut, aval)
            table.append(history.outside.setdefault(outer, len(history.outside)))
    return Recalled(history, table, cut)


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

    def __init__(self, it: Iteration, plan: ScanPlan, places: Places, needs: dict[Slot, Needs]) -> None:
        self.it, self.plan, self.places, self.needs = it, plan, places, needs
        self.count = it.run.count
        self.constants, self.stacks = _Inputs(), _Inputs()
        self.carries: list[tuple[Var, Atom]] = []
        self.held: dict[tuple[Slot, Ref], Var] = {}
        self.now: dict[Slot, Atom] = {}
        self.past: dict[Aval, Atom] = {}

    def _of_outside(self, refs: Sequence[Ref]) -> Atom:
        atom, is_stacked = self.places.column(refs)
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
                given[key] = self._of_outside(self.it.operands[key[0]][key[1]].refs)
            elif type(source) is Held:
                if source.init is not None:
                    known = source.slot, source.init
                    if known not in self.held:
                        self.held[known] = self._carry(self.places.atom(source.init))
                    given[key] = self.held[known]
            elif type(source) is Recalled:
                of = source.history
                table = [t if isinstance(t, int) else of.place(t[0], t[1], self.count) for t in source.table]
                given[key] = self._table(table)
        return given

    def _table(self, numbers: Sequence[int]) -> Atom:
        return self._of_outside_array(np.array(numbers, INTP))

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
            slot: self._table([h.place(slot, k, self.count) for k in range(self.count)])
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
        of_history: Mapping[Slot, History] = MappingProxyType({}),
        written: Mapping[Slot, Atom] = MappingProxyType({}),
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
                    slot = Slot(j, m)
                    self.now[slot] = a
                    if slot in of_history:
                        aval = of_history[slot].aval
                        self.past[aval] = scatter_set(self.past[aval], a, written[slot])
        return body

    def _is_stacked(self, slot: Slot, held: Sequence[Slot]) -> bool:
        need = self.needs[slot]
        return need.all or (need.last and slot not in held)

    def _place(self, results: Sequence[Atom], held: Sequence[Slot], stacked: Sequence[Slot]) -> None:
        it, count = self.it, self.count
        found: dict[Slot, Rolled] = {}
        for slot, r in zip(held, results, strict=False):
            found[slot] = Rolled(r, count - 1)
        for (aval, history), r in zip(self.plan.histories.items(), results[len(held) :], strict=False):
            for slot in history.members:
                index = ((history.place(slot, 0, count), count, 1), *everything(aval.shape))
                if self.needs[slot] != (False, False):
                    found[slot] = Rolled(slice_(r, index=index), 0)
        for slot, r in zip(stacked, results[len(self.carries) :], strict=True):
            found[slot] = Rolled(r, 0)
        for slot, rolled in found.items():
            settle(it, slot, rolled, self.places)

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
    return Places(()).atom(cut._replace(base=value))


def assembled(step: Step, atoms: Sequence[Atom], places: Sequence[Any]) -> Atom:
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


def settle(it: Iteration, slot: Slot, rolled: Rolled, places: Places) -> None:
    """Say where the values of ``slot`` stand now."""
    number = len(places.rolled)
    places.rolled.append(rolled)
    for k in range(it.run.count):
        places.where[it.step(slot.step, k).outs[slot.output]] = number, k


# --------------------------------------------------------------------------------------------------------- a run


class Roller:
    """Emits a run on the current builder."""

    def __init__(self, it: Iteration, places: Places, last_use: dict[Atom, int], emit: Any) -> None:
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
        self.needs = self._needs(last_use, group_of)
        self.made: list[Sum | ScanPlan | None] = []
        for group in self.groups:
            if not it.is_cycle(group):
                self.made.append(None)
                continue
            as_a_sum = as_sum(it, group, self.needs)
            self.made.append(as_a_sum if as_a_sum is not None else plan_scan(it, group))

    def _is_heavy(self, operand: Operand) -> bool:
        """Whether arrays that lie apart would have to be copied together."""
        if as_piece(operand.refs[0]).aval.size <= MOST_JOINED:
            return False
        outside = [r for r, hit in zip(operand.refs, operand.hits, strict=True) if hit is None]
        return len({p.base for p in map(self.places.place, outside) if isinstance(p, Piece)}) > FEWEST // 2

    def _needs(self, last_use: dict[Atom, int], group_of: dict[int, int]) -> dict[Slot, Needs]:
        it, run = self.it, self.it.run
        elsewhere: set[Slot] = set()
        for j in range(run.period):
            for operand in it.operands[j]:
                seen = {h[0] for h in operand.hits if h is not None}
                elsewhere.update([s for s in seen if group_of[s.step] != group_of[j]])
        found = {}
        for j in range(run.period):
            for m in range(len(it.step(j).outs)):
                after = [last_use.get(it.step(j, k).outs[m], -1) >= run.stop for k in range(run.count)]
                found[Slot(j, m)] = Needs(Slot(j, m) in elsewhere or any(after[:-1]), after[-1])
        return found

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
        columns = [self.places.column(o.refs) for o in it.operands[j]]
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
            settle(it, Slot(j, m), Rolled(r, 0 if any(flags) else None), self.places)

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
        conditions = [self.places.stacked(it.operands[j][0].refs) for j in self.guards]
        dtype = conditions[0].aval.dtype
        columns = [reshape(c, shape=(count, 1)) for c in conditions]
        seen = [[it.step(j, k).params["expected"].value for j in self.guards] for k in range(count)]
        current_builder().source = it.source(self.guards[0])
        params = {"expected": Expected(np.array(seen, dtype)), "position": -1, "kind": EACH}
        current_builder().emit(guard, (concatenate(*columns, axis=1),), params)

    def _sum(self, made: Sum) -> None:
        total: Any = None
        for operand, is_subtracted in made.terms:
            term = self.places.stacked(operand.refs)
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
        settle(self.it, made.last, rolled, self.places)
