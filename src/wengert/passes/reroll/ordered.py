"""Loops that read and write arrays in place are rolled up as they stand: their steps stay in order, in a scan.

What :mod:`wengert.passes.reroll.pieces` follows are elements and rows. Here a read ``A[i, :j]`` or a write stays a
step, at a place that is a number of each iteration, and an array that is written is carried, in place. Loops that
repeat the same steps (the inner loops that one loop ran, one an iteration) are *siblings*. They get one body, so that
the loop around them is seen to repeat in turn.

    number      what a place, or the length of a slice, is in an iteration: the same in all, a constant of each loop,
                counted up by one step for all, or a table
    length      of a value, along an axis, where it is not the same in all iterations: ``A[i, :j]``. Such a value is
                *padded* to the longest. Padding never counts: it is masked by selection where a sum would read it, and
                where it would be written.

Padding holds zeros. Where a step could make infinities of them, whose derivative would leak, it holds copies of the
last element instead (``repeats_last``), so that whatever is done to it is done to an element.

Source: Allen and Kennedy (2001), Optimizing Compilers for Modern Architectures, chapter 8, for what is in place.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import ShapeError
from wengert.higher.bodies import alive
from wengert.higher.loops import TapeLoop, scan
from wengert.ops.contract import contract
from wengert.ops.elementwise import (
    add,
    convert,
    divide,
    greater_equal,
    less,
    logical_and,
    maximum,
    minimum,
    multiply,
    negative,
    select,
    subtract,
)
from wengert.ops.index import (
    INTP,
    StaticIndex,
    gather,
    gather_moving,
    region_shape,
    scatter_once,
    set_slice,
    slice_,
    to_numpy,
)
from wengert.ops.op import Op
from wengert.ops.reduce import sum_
from wengert.ops.shape import broadcast_to, reshape, transpose, zeros
from wengert.passes.reroll.columns import Places, Rolled
from wengert.passes.reroll.emitter import PEELED, Emitter
from wengert.passes.reroll.iteration import Iteration, Needs, StepOutput
from wengert.passes.reroll.marking import MOST_LOOKED_AT, marked
from wengert.passes.reroll.pieces import IterationStep, as_piece
from wengert.passes.reroll.reads import Column
from wengert.passes.reroll.repeats import FEWEST, Run, repeats
from wengert.passes.reroll.roller import LEAST_SCANNED
from wengert.passes.reroll.scans import Held, Irregular
from wengert.passes.simplify import drop_dead
from wengert.tape import Atom, Aval, Builder, Lit, Tape, Var, affects, building, current_builder

LEAST_RAGGED = 100
"""Loops whose arrays have a length of its own in each iteration must save so many steps: as straight code, each of
these steps would be a kernel to be compiled."""

INNER_SHARE = 0.4
"""A loop in a loop is rolled up first, if that saves this share of what the loop around it would save."""

MOST_STACKED = 1 << 28
"""Bytes that the values of one step may take that are read behind the loop."""

Columns = list[np.ndarray[Any, Any]]
"""A number of each iteration, for each sibling."""

MOVING: tuple[Op, ...] = (slice_, set_slice, broadcast_to, reshape, transpose, contract, sum_, gather)
"""Steps whose places and lengths may differ between iterations; elementwise ones may as well."""

POLYNOMIAL = frozenset([add, subtract, multiply, negative, convert, select])
"""Steps that make no infinity of padding that is finite, and whose derivatives make none."""


def in_order(tape: Tape) -> Tape:
    """Return ``tape`` with scans in place of steps that repeat, but for their places and lengths. Log-linear."""
    if len(tape.instrs) < LEAST_RAGGED or not any(i.op in (slice_, set_slice, gather) for i in tape.instrs):
        return tape
    alive = drop_dead(tape)
    steps, kinds, runs = _repeating(alive)
    if not runs:
        return tape
    with_marks = marked(alive)
    if with_marks is not alive:
        steps, kinds, runs = _repeating(with_marks)
    rolled = _Ordered(with_marks, steps, kinds).run_in_order(runs) if runs else with_marks
    return tape if rolled is with_marks else rolled


def _repeating(tape: Tape) -> tuple[list[IterationStep], Any, Sequence[Run]]:
    """Return the steps, their kinds, and the runs of them that repeat; none if these are too few."""
    steps = [IterationStep(i.op, i.ins, i.outs, i.params, i.source) for i in tape.instrs]
    kinds = _kinds_of(steps)
    runs = repeats(kinds, INNER_SHARE)
    return steps, kinds, runs if sum([r.saved for r in runs]) >= LEAST_RAGGED else ()


def _kinds_of(steps: Sequence[IterationStep]) -> Any:
    """Return a number for each step: equal for those that may be one step in several iterations."""
    known: dict[Any, int] = {}
    kinds = np.empty(len(steps), np.int64)
    for k, step in enumerate(steps):
        op, refs, outs, params, source, _ = step
        assert op is not None
        if affects(op, params) or not op.is_stable:
            kinds[k] = -1 - k
            continue
        line = None if source is None else source[:2]
        if op.is_elementwise or op in MOVING:
            avals = tuple([(a.aval.ndim, a.aval.dtype) for a in (*refs, *outs)])
            said = tuple([(name, _form(name, value)) for name, value in params.items()])
        else:
            avals, said = tuple([a.aval for a in (*refs, *outs)]), tuple(params.items())
        kinds[k] = known.setdefault((op, said, line, avals), len(known))
    return kinds


def _form(name: str, value: Any) -> Any:
    """Return what a parameter has in common in all iterations."""
    if name == "index":
        return tuple([None if type(entry) is int else entry[2] for entry in value])
    return len(value) if name == "shape" else value


class _Ordered(Emitter):
    """Writes a tape anew, with scans in the place of the runs of siblings."""

    def __init__(self, tape: Tape, steps: list[IterationStep], kinds: Any) -> None:
        super().__init__(tape, steps, list(tape.outputs))
        self.kinds = kinds

    def run_in_order(self, runs: Sequence[Run]) -> Tape:
        siblings: dict[Any, list[Run]] = {}
        runs = [self._turned(r) for r in runs]
        self.saved = sum([r.saved for r in runs])
        for r in runs:
            siblings.setdefault(self._key(r), []).append(r)
        planned: dict[Any, _Siblings | None] = {}
        done = 0
        with building(self.builder):
            for r in runs:
                key = self._key(r)
                if key not in planned:
                    planned[key] = self._planned(siblings[key])
                made = planned[key]
                if made is None:
                    continue
                begin = r.start + made.peeled * r.period
                self.emit_all(done, begin)
                made.emit(siblings[key].index(r))
                self.has_rolled = True
                done = r.stop
            self.emit_all(done, len(self.steps))
        return self.made() if self.has_rolled else self.tape

    def _key(self, r: Run) -> Any:
        return r.count, self.kinds[r.start : r.start + r.period].tobytes()

    def _turned(self, r: Run) -> Run:
        """Return the run from where the fewest values are carried: it may have been found from the middle of an
        iteration on."""
        reads, period = self.reads, r.period
        crossing = np.zeros(2 * period + 1, np.int64)
        first = r.start + period
        for j in range(period):
            step = first + j
            uses = reads.last_use[int(reads.first_out[step]) : int(reads.first_out[step + 1])]
            for last in uses.tolist():
                if last > step:
                    crossing[j + 1] += 1
                    crossing[min(last - first, j + period) + 1] -= 1
        crossing = np.cumsum(crossing)
        at = int(np.argmin(crossing[:period] + crossing[period : 2 * period]))
        return r if at == 0 else Run(r.start + at, period, r.count - 1)

    def _is_even(self, runs: Sequence[Run]) -> bool:
        """Whether the first iteration and the last have arrays of one length."""
        period, last = runs[0].period, runs[-1].stop
        ends = self.steps[runs[0].start : runs[0].start + period], self.steps[last - period : last]
        return all(a.aval is b.aval for x, y in zip(*ends, strict=True) for a, b in zip(x.outs, y.outs, strict=True))

    def _planned(self, runs: Sequence[Run]) -> _Siblings | None:
        """Return the loops, with some of their first iterations left outside; None if they stay as they are."""
        if sum([r.saved for r in runs]) < LEAST_RAGGED or (self.saved < LEAST_SCANNED and self._is_even(runs)):
            return None
        for peeled in range(PEELED + 1):
            if runs[0].count - peeled < FEWEST:
                return None
            its = [Iteration(self.reads, Run(r.start + peeled * r.period, r.period, r.count - peeled)) for r in runs]
            for way in _Way:
                try:
                    made = _Siblings(its, self.places, peeled, way)
                    return made if self.saved >= LEAST_SCANNED or made.is_ragged else None
                except (Irregular, ShapeError):
                    continue
        return None


class _Way(enum.Enum):
    """Where the elements of a padded value stand, and what its padding is. Each is tried in turn."""

    AT_PLACES = "each at its place in the array that it was read from, with zeros around them"
    IN_FRONT = "from the first on, with zeros behind them"
    REPEATING = "from the first on, with copies of the last one behind them"


class _Length(NamedTuple):
    """A length that is not the same in all iterations."""

    atom: Atom
    key: Any
    """Equal for lengths that are equal in all iterations, of elements that stand at the same places."""
    of_length: bytes
    """Equal for lengths that are equal in all iterations."""
    origin: Any = None
    """The place of the first element; None: the first."""


class _Value(NamedTuple):
    """A value of the body, padded along the axes that have a length."""

    atom: Atom
    lengths: tuple[_Length | None, ...]
    is_zero: bool = False
    """Whether the padding is known to be zeros."""

    @property
    def is_padded(self) -> bool:
        return any(self.lengths)


class _Axis(NamedTuple):
    """One axis of a read or write: places ``start + k * step``, as many as ``length`` says, of at most ``extent``."""

    is_range: bool
    start: Any
    extent: int
    step: int
    length: _Length | None
    lowest: int
    """The lowest place within the padding, and the highest."""
    highest: int
    is_covered: bool = False
    """Whether each element in between is in the range of some iteration."""

    def is_all(self, size: int) -> bool:
        return self.is_range and self.is_at(0) and self.step == 1 and self.extent == size and self.length is None

    def is_at(self, place: int) -> bool:
        return type(self.start) is int and self.start == place

    def is_within(self, size: int) -> bool:
        return self.lowest >= 0 and self.highest < size


class _Siblings:
    """Loops that have one body."""

    def __init__(self, its: list[Iteration], places: Places, peeled: int, way: _Way) -> None:
        self.its, self.places, self.peeled, self.way = its, places, peeled, way
        self.repeats_last = way is _Way.REPEATING
        self.is_ragged = False
        self.it = its[0]
        self.count = self.it.run.count
        group = list(range(self.it.run.period))
        self.sources = [_sources(it) for it in its]
        if any(not _alike(of_one, self.sources[0]) for of_one in self.sources):
            raise Irregular
        self.needs = {slot: self._need(slot) for slot in self.it.slots}
        self.constants: dict[Any, tuple[Var, Callable[[int], Atom]]] = {}
        self.stacks: dict[Any, tuple[Var, Callable[[int], Atom]]] = {}
        self.carries: dict[Any, tuple[Var, Callable[[int], Atom], StepOutput]] = {}
        self.now: dict[StepOutput, _Value] = {}
        self.known: dict[Any, Any] = {}
        self.by_rows = self._read_by_rows()
        body = Builder()
        with building(body):
            for j in group:
                body.source = self.it.step(j).source
                self._step(j)
        self._finish(body)

    def _need(self, slot: StepOutput) -> Needs:
        found = [it.needs(slot) for it in self.its]
        return Needs(any(n.all for n in found), any(n.last for n in found))

    def _read_by_rows(self) -> set[int]:
        """Return the steps that read an array from outside of which each iteration reads the next row, and no other.

        Such an array is sliced by the loop: its rows are read where they lie, and so their cotangents are written."""
        found: dict[Any, dict[int, Any]] = {}
        for (j, o), source in self.sources[0].items():
            if source is None:
                step = self.it.step(j)
                is_row = step.op is slice_ and o == 0 and step.params["index"] and type(step.params["index"][0]) is int
                found.setdefault(self._outside_key(j, o), {})[j] = self._rows(j) if is_row else None
        return {
            j for rows in found.values() if len(set(rows.values())) == 1 and None not in rows.values() for j in rows
        }

    def _rows(self, j: int) -> Any:
        """Return the first row that each sibling reads, if each iteration reads the next."""
        rows = [np.array([it.step(j, k).params["index"][0] for k in range(self.count)]) for it in self.its]
        is_of_one = all(it.operands[j][0].read.is_one() for it in self.its)
        return tuple([int(r[0]) for r in rows]) if is_of_one and all((np.diff(r) == 1).all() for r in rows) else None

    def _outside_key(self, j: int, o: int) -> Any:
        return "outside", *[it.operands[j][o].read.value.tobytes() for it in self.its]

    # ------------------------------------------------------------------------------------- what an iteration is given

    def _constant(self, key: Any, aval: Aval, atom: Callable[[int], Atom]) -> Var:
        return self.constants.setdefault(key, (Var(aval), atom))[0]

    def _stack(self, key: Any, aval: Aval, atom: Callable[[int], Atom]) -> Var:
        return self.stacks.setdefault(key, (Var(aval), atom))[0]

    def _table(self, array: np.ndarray[Any, Any]) -> Atom:
        """Return a constant of all siblings."""
        array = np.ascontiguousarray(array)
        key = "table", array.dtype.str, array.shape, array.tobytes()
        return self._constant(key, Aval(array.shape, array.dtype), lambda s: self.places.constant(array))

    def _number(self, columns: Columns) -> Any:
        """Return a number of each iteration: an int, or an atom of the body."""
        first = int(columns[0][0])
        if all((c == first).all() for c in columns):
            return first
        key = _key_of(columns)
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = self._new_number(columns, key)
        return known

    def _new_number(self, columns: Columns, key: bytes) -> Atom:
        if all((c == c[0]).all() for c in columns):
            return self._constant(("number", key), Aval((), INTP), lambda s: Lit(columns[s][0], INTP))
        step = int(columns[0][1] - columns[0][0])
        if all((np.diff(c) == step).all() for c in columns):
            counter = self._stack("counter", Aval((), INTP), lambda s: self.places.counter(self.count))
            start = self._number([np.repeat(c[:1], len(c)) for c in columns])
            scaled = counter if step == 1 else multiply(counter, Lit(step, INTP))
            return scaled if type(start) is int and start == 0 else add(scaled, _as_atom(start))
        tables = [c.astype(INTP) for c in columns]
        return self._stack(("numbers", key), Aval((), INTP), lambda s: self.places.constant(tables[s]))

    def _length(self, columns: Columns) -> tuple[int, _Length | None]:
        """Return the longest of some lengths, and the length of each iteration if they differ."""
        longest, least = max([int(c.max()) for c in columns]), min([int(c.min()) for c in columns])
        if longest == least:
            return longest, None
        if self.repeats_last and least == 0:
            raise Irregular  # there is no element to be repeated
        key = _key_of(columns)
        self.is_ragged = True
        return longest, _Length(_as_atom(self._number(columns)), key, key)

    def _shapes(self, j: int, m: int = 0) -> list[tuple[int, _Length | None]]:
        """Return the lengths of a step's result, axis by axis."""
        found = [np.array([it.step(j, k).outs[m].aval.shape for k in range(self.count)], np.int64) for it in self.its]
        return [self._length([f[:, axis] for f in found]) for axis in range(found[0].shape[1])]

    def _operand(self, j: int, o: int) -> _Value:
        source = self.sources[0][j, o]
        if j in self.by_rows:
            first = self._rows(j)
            refs: list[Any] = [it.operands[j][0].read.refs[0] for it in self.its]
            aval = refs[0].aval
            rest = [(0, n, 1) for n in aval.shape[1:]]
            rows = lambda s: slice_(self.places.atom(refs[s]), index=((first[s], self.count, 1), *rest))
            return _plain(self._stack(("rows", *refs), Aval(aval.shape[1:], aval.dtype), rows))
        if source is None:
            return self._outside([it.operands[j][o].read for it in self.its])
        if source.init is None:
            return self.now[source.slot]
        inits: list[Any] = [of_one[j, o].init for of_one in self.sources]  # type: ignore[union-attr]  # they are alike
        key = source.slot, *inits
        if key not in self.carries:
            self.carries[key] = Var(self.it.aval(source.slot)), lambda s: self.places.atom(inits[s]), source.slot
        return _plain(self.carries[key][0])

    def _outside(self, reads: list[Column]) -> _Value:
        """Return what comes from outside of the loops."""
        first = reads[0].refs[0]
        refs = [r for read in reads for r in read.refs]
        if all(type(r) is Lit for r in refs):
            keys = {r.key for r in refs}  # type: ignore[union-attr]  # all of them are literals
            if len(keys) == 1:
                return _plain(first)  # type: ignore[arg-type]  # a literal
        avals = {as_piece(r).aval for r in refs}
        key = "outside", *[read.value.tobytes() for read in reads]
        aval = as_piece(first).aval
        if len(avals) > 1:
            known = self.known.get(key)
            if known is None:
                known = self.known[key] = self._ragged(key, reads)
            return known
        if all(_is_one_literal(read) or read.is_one() for read in reads):
            return _plain(self._constant(key, aval, lambda s: self.places.atom(reads[s].refs[0])))
        for read in reads:
            found = {self.places.place(r) for r in dict.fromkeys(read.refs)}
            bases = {p.base for p in found if not isinstance(p, Lit) and not self.places.is_constant(p.base)}
            if len(bases) > FEWEST // 2:
                raise Irregular  # many values that lie apart would be copied together
        return _plain(self._stack(key, aval, lambda s: self.places.stacked(reads[s])))

    def _ragged(self, key: Any, reads: list[Column]) -> _Value:
        """Return values from outside that have several lengths: slices, which each iteration takes anew, or
        constants."""
        makers = [self._maker(read.refs[0]) if read.is_one() else None for read in reads]
        if all(maker is not None and maker.op is slice_ for maker in makers):
            slices: list[IterationStep] = makers  # type: ignore[assignment]  # none is None
            whole = self.places.reads
            x = self._outside([whole.column([maker.refs[0]] * self.count) for maker in slices])
            indices = [[maker.params["index"]] * self.count for maker in slices]
            if len({_form("index", of_one[0]) for of_one in indices}) == 1:
                return self._slice_at(self._axes_of(indices, x.atom.aval.shape), x)
        return self._ragged_constants(key, reads)

    def _maker(self, ref: Any) -> IterationStep | None:
        """Return the step that made a value of the old tape."""
        reads = self.places.reads
        number = reads.number.get(ref, reads.made)
        if number >= reads.made:
            return None
        return reads.steps[int(np.searchsorted(reads.first_out, number, side="right")) - 1]

    def _ragged_constants(self, key: Any, reads: list[Column]) -> _Value:
        """Return constants of several lengths, padded to the longest."""
        refs = [r for read in reads for r in read.refs]
        if not all(self.places.is_constant(r) for r in refs):  # type: ignore[arg-type]  # there are no pieces
            raise Irregular
        shapes = [np.array([as_piece(r).aval.shape for r in read.refs]) for read in reads]
        lengths = [self._length([s[:, axis] for s in shapes]) for axis in range(shapes[0].shape[1])]
        extents = tuple([n for n, _ in lengths])
        aval = Aval(extents, as_piece(refs[0]).aval.dtype)
        if aval.nbytes * len(refs) > max(MOST_STACKED >> 4, 4 * sum([as_piece(r).aval.nbytes for r in refs])):
            raise Irregular
        tables = [np.array([_padded(self.places._value(r), extents) for r in read.refs]) for read in reads]
        value = self._stack(key, aval, lambda s: self.places.constant(tables[s]))
        return _Value(value, tuple([length for _, length in lengths]))

    # -------------------------------------------------------------------------------------------------- one step

    def _step(self, j: int) -> None:
        step = self.it.step(j)
        op = step.op
        assert op is not None
        operands = [self._operand(j, o) for o in range(len(step.refs))]
        rule = RULES.get(op)
        if rule is not None:
            results = (rule(self, j, *operands),)
        elif op.is_elementwise:
            results = (self._elementwise(op, operands, step.params),)
        else:
            if any(v.is_padded for v in operands):
                raise Irregular
            outs = current_builder().emit(op, tuple([v.atom for v in operands]), step.params)
            results = tuple(map(_plain, outs))
        for m, value in enumerate(results):
            shapes = self._shapes(j, m)
            found = [*zip(value.atom.aval.shape, value.lengths, strict=True)]
            if [_in_short(*one) for one in found] != [_in_short(*one) for one in shapes]:
                raise Irregular
            self.now[StepOutput(j, m)] = value

    def _elementwise(self, op: Op, operands: Sequence[_Value], params: Any) -> _Value:
        lengths = _broadcast(operands)
        if any(lengths) and not self.repeats_last:
            is_safe = op in POLYNOMIAL or (op is divide and not operands[1].is_padded)
            if not is_safe:
                raise Irregular
        (out,) = current_builder().emit(op, tuple([v.atom for v in operands]), params)
        return _Value(out, lengths)

    def _axes(self, j: int, shape: tuple[int, ...]) -> list[_Axis]:
        """Return the places that step ``j`` reads or writes, of an array of this shape."""
        return self._axes_of([[it.step(j, k).params["index"] for k in range(self.count)] for it in self.its], shape)

    def _axes_of(self, indices: list[list[Any]], shape: tuple[int, ...]) -> list[_Axis]:
        axes = []
        for axis, entry in enumerate(indices[0][0]):
            if type(entry) is int:
                starts = [np.array([index[axis] for index in of_one]) for of_one in indices]
                low, high = _bounds(starts, 0)
                axes.append(_Axis(False, self._number(starts), 1, 1, None, low, high))
                continue
            starts = [np.array([index[axis][0] for index in of_one]) for of_one in indices]
            extent, length = self._length([np.array([index[axis][1] for index in of_one]) for of_one in indices])
            low, high = _bounds(starts, (extent - 1) * entry[2])
            start = self._number(starts)
            if self.way is _Way.AT_PLACES and length is not None and type(start) is not int and entry[2] == 1:
                reach = [np.array([index[axis][1] for index in of_one]) - 1 for of_one in indices]
                first, last = _bounds(starts, 0)[0], _bounds([s + r for s, r in zip(starts, reach, strict=True)], 0)[1]
                length = length._replace(
                    key=(length.key, _key_of(starts), first, last), origin=self._number([s - first for s in starts])
                )
                covers = np.zeros(last - first + 2, np.int64)
                for s, r in zip(starts, reach, strict=True):
                    np.add.at(covers, s[r >= 0] - first, 1)
                    np.add.at(covers, (s + r)[r >= 0] - first + 1, -1)
                is_covered = bool((np.cumsum(covers[:-1]) > 0).all())
                axes.append(_Axis(True, first, last - first + 1, 1, length, first, last, is_covered))
            else:
                axes.append(_Axis(True, start, extent, entry[2], length, low, high, type(start) is int))
        return axes

    def _slice(self, j: int, x: _Value) -> _Value:
        axes = self._axes(j, x.atom.aval.shape)
        return self._slice_at(axes[1:] if j in self.by_rows else axes, x)

    def _slice_at(self, axes: list[_Axis], x: _Value) -> _Value:
        shape = x.atom.aval.shape
        for axis, (one, n) in enumerate(zip(axes, shape, strict=True)):
            length = x.lengths[axis]
            if length is None:
                continue
            if _key(one.length) == length.key and one.is_at(0) and one.step == 1:
                axes[axis] = one._replace(length=None, extent=n)  # all of it
            elif length.origin is not None:
                raise Irregular
        lengths = tuple([a.length or (x.lengths[k] if a.is_range else None) for k, a in enumerate(axes) if a.is_range])
        is_new = any(a.length for a in axes)
        if _stands(axes, shape) and not (is_new and self.repeats_last):
            found = slice_(x.atom, index=_index(axes))
        else:
            found = gather_moving(x.atom, *self._places(axes, shape, self.repeats_last))
        out = _Value(found, lengths)
        return self._masked(out) if is_new and not self.repeats_last and not self._is_read(axes, x) else out

    def _is_read(self, axes: Sequence[_Axis], x: _Value) -> bool:
        """Whether padding is elements that another iteration reads.

        If these are finite, the padding is; and if they are not, no more becomes NaN than is anyway."""
        is_constant = any(x.atom is v for v, _ in self.constants.values())
        ragged = [a for a in axes if a.length is not None]
        return is_constant and len(ragged) == 1 and ragged[0].is_covered and all(type(a.start) is int for a in axes)

    def _places(self, axes: Sequence[_Axis], shape: tuple[int, ...], repeats_last: bool = False) -> list[Atom]:
        """Return index arrays of the leading axes, up to the last of which not all is taken. None is out of bounds."""
        last = max([k + 1 for k, (a, n) in enumerate(zip(axes, shape, strict=True)) if not a.is_all(n)], default=1)
        ranges = [k for k, a in enumerate(axes[:last]) if a.is_range]
        return [
            self._place(a, n, ranges.index(k) if a.is_range else 0, len(ranges), repeats_last)
            for k, (a, n) in enumerate(zip(axes[:last], shape, strict=False))
        ]

    def _written(self, x: Atom, v: Atom, axes: Sequence[_Axis]) -> _Value:
        """Return ``x`` with ``v`` at places that may move, each of which is another."""
        shape = x.aval.shape
        if _stands(axes, shape):
            return _plain(set_slice(x, v, index=_index(axes)))
        return _plain(scatter_once(x, v, *self._places(axes, shape)))

    def _place(self, a: _Axis, size: int, axis: int, ndim: int, repeats_last: bool) -> Atom:
        if not a.is_range:
            return _as_atom(a.start)
        lined_up = tuple([a.extent if k == axis else 1 for k in range(ndim)])
        if a.length is not None and repeats_last:
            local = minimum(self._table(np.arange(a.extent, dtype=INTP).reshape(lined_up)), a.length.atom - 1)
            return add(local if a.step == 1 else multiply(local, Lit(a.step, INTP)), _as_atom(a.start))
        first = a.start if type(a.start) is int else 0
        places = self._table((np.arange(a.extent, dtype=INTP) * a.step + first).reshape(lined_up))
        if type(a.start) is not int:
            places = add(places, a.start)
        if a.highest >= size:
            places = minimum(places, Lit(size - 1, INTP))
        return maximum(places, Lit(0, INTP)) if a.lowest < 0 else places

    def _mask(self, lengths: Sequence[_Length | None], extents: Sequence[int]) -> Atom:
        """Return where a value is no padding; it broadcasts with the value."""
        mask: Any = None
        for axis, (length, n) in enumerate(zip(lengths, extents, strict=True)):
            if length is None:
                continue
            lined_up = tuple([n if k == axis else 1 for k in range(len(extents))])
            key = "mask", length.key, lined_up
            one = self.known.get(key)
            if one is None:
                local = self._table(np.arange(n, dtype=INTP).reshape(lined_up))
                if length.origin is None:
                    one = less(local, length.atom)
                else:
                    end = add(_as_atom(length.origin), length.atom)
                    one = logical_and(greater_equal(local, _as_atom(length.origin)), less(local, end))
                self.known[key] = one
            mask = one if mask is None else logical_and(mask, one)
        return mask

    def _masked(self, v: _Value) -> _Value:
        """Return the value with zeros as padding."""
        if not v.is_padded or v.is_zero:
            return v
        mask = self._mask(v.lengths, v.atom.aval.shape)
        return v._replace(atom=select(mask, v.atom, Lit(0, v.atom.aval.dtype)), is_zero=True)

    def _set(self, j: int, x: _Value, v: _Value) -> _Value:
        if x.is_padded:
            raise Irregular
        axes, shape = self._axes(j, x.atom.aval.shape), x.atom.aval.shape
        if all(type(a.start) is int and a.length is None for a in axes):
            return _plain(set_slice(x.atom, v.atom, index=self.it.step(j).params["index"]))
        ranges = [a for a in axes if a.is_range]
        extents, lengths = tuple([a.extent for a in ranges]), tuple([a.length for a in ranges])
        for axis in range(1, len(v.lengths) + 1):
            mine, other = v.lengths[-axis], lengths[-axis]
            if _key(mine) != _key(other) and (mine is not None or v.atom.aval.shape[-axis] != 1):
                raise Irregular
        if not any(lengths):
            return self._written(x.atom, v.atom, axes)
        is_outside = [a.is_range and not a.is_within(n) for a, n in zip(axes, shape, strict=True)]
        v = _Value(self._spread(v, extents), lengths)
        mask, value = self._mask(lengths, extents), v.atom
        if any(is_outside):  # the padding would be written where there is no place, or another one: take whole lines
            if any(a.is_range and a.step != 1 for a in axes):
                raise Irregular
            known = [*zip(axes, shape, is_outside, strict=True)]
            full = tuple([n if out else a.extent for a, n, out in known if a.is_range])
            mask, value = self._on_lines(axes, is_outside, full, value)
            axes = [_Axis(True, 0, n, 1, a.length, 0, n - 1) if out else a for a, n, out in known]
        if _stands(axes, shape):
            old = slice_(x.atom, index=_index(axes))
        else:
            old = gather_moving(x.atom, *self._places(axes, shape))
        return self._written(x.atom, select(mask, value, old), axes)

    def _spread(self, v: _Value, extents: tuple[int, ...]) -> Atom:
        return v.atom if v.atom.aval.shape == extents else broadcast_to(v.atom, shape=extents)

    def _on_lines(
        self, axes: Sequence[_Axis], is_outside: Sequence[bool], full: tuple[int, ...], value: Atom
    ) -> tuple[Atom, Atom]:
        """Return the mask and the value of a write, over all of the axes that ``is_outside`` marks."""
        mask: Any = None
        at: list[Atom] = []
        ranges = [(a, out) for a, out in zip(axes, is_outside, strict=True) if a.is_range]
        for k, (a, out) in enumerate(ranges):
            lined_up = tuple([full[k] if m == k else 1 for m in range(len(full))])
            local: Any = self._table(np.arange(full[k], dtype=INTP).reshape(lined_up))
            if out:
                local = subtract(local, _as_atom(a.start))
            of_axis: list[Any] = []
            if a.length is not None:
                of_axis.append(less(local, a.length.atom))
            elif out:
                of_axis.append(less(local, Lit(a.extent, INTP)))
            if out:
                of_axis.append(greater_equal(local, Lit(0, INTP)))
                local = maximum(minimum(local, Lit(a.extent - 1, INTP)), Lit(0, INTP))
            for one in of_axis:
                mask = one if mask is None else logical_and(mask, one)
            at.append(local)
        return mask, gather_moving(value, *at)

    def _contract(self, j: int, x: _Value, y: _Value) -> _Value:
        params = self.it.step(j).params
        a, b, out = params["a"], params["b"], params["out"]
        of_label: dict[int, _Length | None] = {}
        for label, length in (*zip(a, x.lengths, strict=True), *zip(b, y.lengths, strict=True)):
            if of_label.setdefault(label, length) is not length and _key(of_label[label]) != _key(length):
                raise Irregular
        if any(length is not None and label not in out for label, length in of_label.items()):
            x, y = self._masked(x), self._masked(y)
        return _Value(contract(x.atom, y.atom, **params), tuple([of_label[label] for label in out]))

    def _sum(self, j: int, x: _Value) -> _Value:
        axis = self.it.step(j).params["axis"]
        if any(x.lengths[k] for k in axis):
            x = self._masked(x)
        lengths = [length for k, length in enumerate(x.lengths) if k not in axis]
        return _Value(sum_(x.atom, axis=axis), tuple(lengths))

    def _broadcast_to(self, j: int, x: _Value) -> _Value:
        shapes = self._shapes(j)
        for axis in range(1, len(x.lengths) + 1):
            mine = x.lengths[-axis]
            if mine is not None:
                if _in_short(0, shapes[-axis][1]) != mine.of_length:
                    raise Irregular
                shapes[-axis] = x.atom.aval.shape[-axis], mine
        return self._shaped(broadcast_to, x, shapes)

    def _shaped(self, op: Op, x: _Value, shapes: Sequence[tuple[int, _Length | None]]) -> _Value:
        return _Value(op(x.atom, shape=tuple([n for n, _ in shapes])), tuple([length for _, length in shapes]))

    def _reshape(self, j: int, x: _Value) -> _Value:
        shapes = self._shapes(j)
        if x.is_padded:  # then axes of one element alone may come and go
            mine = [one for one in zip(x.atom.aval.shape, x.lengths, strict=True) if one != (1, None)]
            places = [k for k, one in enumerate(shapes) if one != (1, None)]
            if [_in_short(*one) for one in mine] != [_in_short(*shapes[k]) for k in places]:
                raise Irregular
            for k, one in zip(places, mine, strict=True):
                shapes[k] = one
        return self._shaped(reshape, x, shapes)

    def _transpose(self, j: int, x: _Value) -> _Value:
        axes = self.it.step(j).params["axes"]
        return x._replace(atom=transpose(x.atom, axes=axes), lengths=tuple([x.lengths[k] for k in axes]))

    def _gather(self, j: int, x: _Value, *indices: _Value) -> _Value:
        if x.is_padded:
            raise Irregular
        lengths = _broadcast(indices)
        found = gather_moving(x.atom, *[v.atom for v in indices])
        out = _Value(found, (*lengths, *[None] * (x.atom.aval.ndim - len(indices))))
        return out if self.repeats_last else self._masked(out)

    # ------------------------------------------------------------------------------------------------- all together

    def _finish(self, body: Builder) -> None:
        self.held = [slot for _, _, slot in self.carries.values()]
        for slot, need in self.needs.items():
            if need == (False, False):
                continue
            if self.now[slot].is_padded:
                raise Irregular
            aval = self.it.aval(slot)
            if need.all and aval.nbytes * self.count > MOST_STACKED:
                raise Irregular
            if not need.all and slot not in self.held:  # carried alone for the last value
                self.carries["last", slot] = Var(aval), lambda s, aval=aval: zeros(aval), slot
                self.held.append(slot)
        self.stacked = [slot for slot, need in self.needs.items() if need.all]
        outputs = tuple([self.now[slot].atom for slot in (*self.held, *self.stacked)])
        given = (self.constants, self.carries, self.stacks)
        inputs = tuple([v for of_kind in given for v, *_ in of_kind.values()])
        tape = Tape(inputs=inputs, captures=(), instrs=body.instrs, outputs=outputs, name="scan")
        settled = tuple([k for k, (var, _, slot) in enumerate(self.carries.values()) if self._is_settled(var, slot)])
        self.loop = TapeLoop(alive(tape), len(self.constants), len(self.carries), self.count, False, settled)

    def _is_settled(self, var: Var, slot: StepOutput) -> bool:
        """Whether no iteration reads an element of a carry that is written then or later. ``slot`` is what the next
        iteration has of it. Elements that are padding are masked as soon as they are read."""
        sources = self.sources[0]
        readers = [key for key, source in sources.items() if source is not None and source.init is not None]
        readers = [(j, o) for j, o in readers if sources[j, o].slot == slot]  # type: ignore[union-attr]  # none is None
        writes, reads = [], []
        while True:  # from the last write to the first
            if self.it.step(slot.step).op is not set_slice:
                return False
            writes.append(slot.step)
            source = sources[slot.step, 0]
            if source is None:
                return False
            slot = source.slot
            if source.init is not None:
                break
        for j, o in readers:
            if (
                o
                or self.it.step(j).op not in (slice_, set_slice)
                or (self.it.step(j).op is set_slice and j != writes[-1])
            ):
                return False
            if j != writes[-1]:
                reads.append(j)
        size = sum([math.prod(region_shape(index)) for j in (*writes, *reads) for index in self._indices_of(j)])
        if size > MOST_LOOKED_AT or not reads:
            return False
        for it in self.its:
            last = np.full(var.aval.shape, -1, np.int64)
            for k in range(self.count):
                for j in writes:
                    last[to_numpy(it.step(j, k).params["index"])] = k
            for k in range(self.count):
                if any((last[to_numpy(it.step(j, k).params["index"])] >= k).any() for j in reads):
                    return False
        return True

    def _indices_of(self, j: int) -> list[StaticIndex]:
        return [it.step(j, k).params["index"] for it in self.its for k in range(self.count)]

    def emit(self, s: int) -> None:
        """Emit the scan of one sibling on the current builder, and say where its values stand."""
        it, builder = self.its[s], current_builder()
        builder.source = it.source(0)
        given = (self.constants, self.carries, self.stacks)
        operands = tuple([atom(s) for of_kind in given for _, atom, *_ in of_kind.values()])
        results = builder.emit(scan, operands, {"loop": self.loop, "pull": None})
        for slot, r in zip(self.held, results, strict=False):
            self.places.settle(it.values(slot), Rolled(r, self.count - 1))
        for slot, r in zip(self.stacked, results[len(self.carries) :], strict=True):
            self.places.settle(it.values(slot), Rolled(r, 0))


RULES: dict[Op, Callable[..., _Value]] = {
    slice_: _Siblings._slice,
    set_slice: _Siblings._set,
    contract: _Siblings._contract,
    sum_: _Siblings._sum,
    broadcast_to: _Siblings._broadcast_to,
    reshape: _Siblings._reshape,
    transpose: _Siblings._transpose,
    gather: _Siblings._gather,
}


Sources = dict[tuple[int, int], Held | None]
"""Where the operands of one iteration come from, by their steps and numbers; None: from outside."""


def _sources(it: Iteration) -> Sources:
    found: Sources = {}
    for j, operands in enumerate(it.operands):
        for o, operand in enumerate(operands):
            number = int(operand.slot[-1])
            if (operand.slot < 0).all():
                found[j, o] = None
            elif number >= 0 and operand.is_of(number, 0):
                found[j, o] = Held(it.slots[number], None, None)
            elif number >= 0 and operand.slot[0] < 0 and operand.is_of(number, 1):
                init = operand.read.refs[0]
                if as_piece(init).aval is not it.aval(it.slots[number]):
                    raise Irregular
                found[j, o] = Held(it.slots[number], init, None)
            else:
                raise Irregular
    return found


def _alike(a: Sources, b: Sources) -> bool:
    """Whether operands come from the same steps in both loops."""
    return all(_where(a[key]) == _where(b[key]) for key in a)


def _where(source: Held | None) -> Any:
    return None if source is None else (source.slot, source.init is None)


def _is_one_literal(read: Column) -> bool:
    return all(type(r) is Lit for r in read.refs) and len({r.key for r in read.refs}) == 1  # type: ignore[union-attr]


def _stands(axes: Sequence[_Axis], shape: tuple[int, ...]) -> bool:
    """Whether all places are the same in all iterations, padding included, and within the array."""
    return all(type(a.start) is int and a.is_within(n) for a, n in zip(axes, shape, strict=True))


def _index(axes: Sequence[_Axis]) -> StaticIndex:
    return tuple([(a.start, a.extent, a.step) if a.is_range else a.start for a in axes])


def _in_short(extent: int, length: _Length | None) -> Any:
    return extent if length is None else length.of_length


def _plain(a: Atom) -> _Value:
    return _Value(a, (None,) * a.aval.ndim)


def _as_atom(number: Any) -> Atom:
    return Lit(number, INTP) if type(number) is int else number


def _key(length: _Length | None) -> bytes | None:
    return None if length is None else length.key


def _key_of(columns: Columns) -> bytes:
    return b"".join([np.asarray(c, np.int64).tobytes() for c in columns])


def _bounds(starts: Columns, reach: int) -> tuple[int, int]:
    """Return the lowest and the highest place from ``starts`` on, over a distance."""
    low, high = min([int(c.min()) for c in starts]), max([int(c.max()) for c in starts])
    return low + min(reach, 0), high + max(reach, 0)


def _broadcast(values: Sequence[_Value]) -> tuple[_Length | None, ...]:
    """Return the lengths of what is computed of ``values``, which broadcast. Raise Irregular if they differ."""
    ndim = max(len(v.lengths) for v in values)
    lengths: list[_Length | None] = [None] * ndim
    for axis in range(1, ndim + 1):
        found = [(v.lengths[-axis], v.atom.aval.shape[-axis]) for v in values if len(v.lengths) >= axis]
        if len({_key(length) for length, n in found if length is not None or n != 1}) > 1:
            raise Irregular
        lengths[-axis] = next((length for length, _ in found if length is not None), None)
    return tuple(lengths)


def _padded(array: np.ndarray[Any, Any], extents: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return the array with copies of its last elements behind it, or zeros if it has none."""
    widths = [(0, n - m) for n, m in zip(extents, array.shape, strict=True)]
    return np.pad(array, widths, mode="edge") if array.size else np.zeros(extents, array.dtype)
