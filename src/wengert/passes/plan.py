"""Plan: where every value lives, and what must be done to get it there, before anything runs.

A :class:`Plan` is data: steps in order, each with the *places* of its operands and results. A place is some bytes of a
buffer under strides; a view is another place in the same buffer, and no step. Buffers are the arguments, the captured
arrays, literals, the results, and pieces of one arena, which share bytes when they do not live at the same time.

* Results are written where they are wanted: in the caller's array, or in their part of a concatenation.
* A map overwrites an operand of its own shape that dies with it; so do writes into a part of an array, so that a chain
  of them works in one buffer. Arguments, captured arrays and results are never overwritten.
* Peak memory is known here: ``plan.arena_bytes``.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from wengert.collector import undisturbed
from wengert.errors import InternalError
from wengert.ops.kernels import (
    NATIVE_DTYPES,
    Accumulate,
    Branch,
    Call,
    Check,
    Contract,
    Embed,
    Fused,
    Gather,
    Interleave,
    Iota,
    Join,
    Kernel,
    Loop,
    Map,
    MapTape,
    Reduce,
    Region,
    Repeat,
    RepeatBack,
    Scatter,
    Sort,
    View,
    Write,
    of_nothing,
)
from wengert.tape import Atom, Aval, Instr, Lit, Tape, Var, key_of

PIECE = 65536  # elements that a long reduction folds to one number; fixed, so that its bits do not depend on threads
MIN_PIECES = 4
ALIGNMENT = 64  # bytes: a cache line, and the widest vector
IN_CODE = frozenset([0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0])
"""Numbers that kernels have in their code, where they may matter to how a function is computed. Others are read from
memory, so that steps that differ in a coefficient share a kernel."""


@dataclass(eq=False)
class Buffer:
    """Memory that is given out as a whole."""

    kind: str
    """ "input", "capture", "literal", "output" or "arena"."""
    number: int = -1
    """Which argument, captured array, literal or result."""
    nbytes: int = 0
    first: int = -1
    last: int = -1
    """The instructions from which and up to which it is in use."""
    offset: int = 0
    """Of arena buffers: where in the arena."""


class Place(NamedTuple):
    """An array in memory: strides in bytes, one an axis."""

    buffer: Buffer
    offset: int
    strides: tuple[int, ...]
    aval: Aval

    def region(self, region: Region, dtype: np.dtype[Any]) -> Place:
        return Place(self.buffer, self.offset + region.offset, region.strides, Aval(region.shape, dtype))


class PlanStep(NamedTuple):
    """One thing to do. ``instr`` is None for "copy" and "add", which the plan itself asks for."""

    what: str
    """ "run" the instruction, "copy" ins[0], broadcast, over outs[0], or "add" it there."""
    instr: Instr | None
    ins: tuple[Place, ...]
    outs: tuple[Place, ...]
    number: int
    """Of the instruction in the tape."""
    work: Place | None = None
    """Bytes of the arena that it may use while it runs."""
    any_length: bool = False
    """As the tape says it."""


@dataclass(eq=False)
class Plan:
    """What a program does, and with which memory."""

    tape: Tape
    steps: list[PlanStep] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    literals: list[Lit] = field(default_factory=list)
    arena_bytes: int = 0
    places: dict[Any, Place] = field(default_factory=dict)


@cache  # types are few, and live for ever
def c_strides(aval: Aval) -> tuple[int, ...]:
    strides: list[int] = []
    step = aval.dtype.itemsize
    for n in reversed(aval.shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


WRITES_ANYWHERE = (Map, MapTape, Fused, Reduce, Iota, Join)
USES_INDICES = (Gather, Scatter)
POINTWISE = (Map, MapTape, Accumulate)


@undisturbed
def plan(tape: Tape, in_strides: Sequence[tuple[int, ...] | None] = ()) -> Plan:
    """The plan of ``tape``; ``in_strides`` are those of arguments that are not in C order. n log n in the tape."""
    return _Planner(tape, in_strides).run()


class _Planner:
    def __init__(self, tape: Tape, in_strides: Sequence[tuple[int, ...] | None]) -> None:
        self.tape = tape
        self.out = Plan(tape)
        self.place = self.out.places
        self.end = len(tape.instrs)
        self.last_read: dict[Atom, int] = {a: k for k, instr in enumerate(tape.instrs) for a in instr.ins}
        self.last_read.update(dict.fromkeys(tape.outputs, self.end))
        # A view reads its operand's memory for as long as it is read itself.
        self.last_of_memory = dict(self.last_read)
        for k in range(self.end - 1, -1, -1):
            op, ins, outs, _, _ = tape.instrs[k]
            if isinstance(op.kernel, View):
                last = self.last_of_memory.get(outs[0], k)
                self.last_of_memory[ins[0]] = max(self.last_of_memory[ins[0]], last)
        self.wanted: dict[Atom, Place] = {}  # where a value is best written
        self.overwritten: dict[Atom, int] = {}  # and when something else is written there
        self.now = 0
        for k, v in enumerate(tape.inputs):
            strides = in_strides[k] if k < len(in_strides) else None
            self.place[v] = Place(self._fixed("input", k), 0, strides or c_strides(v.aval), v.aval)
        for k, c in enumerate(tape.captures):
            self.place[c.var] = Place(self._fixed("capture", k), 0, c.array.strides, c.var.aval)

    def run(self) -> Plan:
        self._choose_destinations()
        for k, instr in enumerate(self.tape.instrs):
            self.now = k
            self._instr(instr)
        self.now = self.end
        for k, a in enumerate(self.tape.outputs):
            place = self._of(a)
            if place.buffer.kind != "output" or place.buffer.number != k:
                buffer = self._fixed("output", k)
                self._step("copy", None, [place], [Place(buffer, 0, c_strides(a.aval), a.aval)])
        self._assign_offsets()
        return self.out

    # ------------------------------------------------------------------------------------------- destinations

    def _choose_destinations(self) -> None:
        """From the results backwards: who writes straight into a result, or into a part of a concatenation."""
        tape = self.tape
        made_by: dict[Atom, Instr] = {v: instr for instr in tape.instrs for v in instr.outs}
        for k, a in enumerate(tape.outputs):
            if a in made_by and a not in self.wanted:
                self.wanted[a] = Place(self._fixed("output", k), 0, c_strides(a.aval), a.aval)
        for k in range(len(tape.instrs) - 1, -1, -1):
            op, ins, outs, params, _ = tape.instrs[k]
            kernel = op.kernel
            if is_joining(tape.instrs[k]):
                v = outs[0]
                if v not in self.wanted:
                    self.wanted[v] = Place(self._new(v.aval), 0, c_strides(v.aval), v.aval)
                count = Counter(ins)
                for a, part in zip(ins, parts_of(self.wanted[v], tape.instrs[k]), strict=True):
                    maker = made_by.get(a)
                    if maker is not None and isinstance(maker.op.kernel, (*WRITES_ANYWHERE, View)) and count[a] == 1:
                        until = self.overwritten.get(v, self.end + 1)
                        is_alike = a.aval.dtype == part.aval.dtype
                        if a not in self.wanted and is_alike and self.last_of_memory[a] < until:
                            self.wanted[a] = part
                            self.overwritten[a] = until
            elif outs and outs[0] in self.wanted and ins and ins[0] in made_by and ins[0] not in self.wanted:
                goal = self.wanted[outs[0]]
                a = ins[0]
                if isinstance(kernel, View):
                    region = kernel.layout(a.aval.shape, c_strides(a.aval), **params)
                    is_whole = a.aval.size == outs[0].aval.size and is_in_c_order(region, outs[0].aval)
                    strides = same_elements(goal, a.aval) if is_whole else None
                    if (
                        strides is not None
                        and not isinstance(made_by[a].op.kernel, View)
                        and (strides == c_strides(a.aval) or isinstance(made_by[a].op.kernel, WRITES_ANYWHERE))
                        and self.last_of_memory[a] <= self.overwritten.get(outs[0], self.end + 1)
                    ):
                        self.wanted[a] = Place(goal.buffer, goal.offset, strides, a.aval)
                        self.overwritten[a] = self.overwritten.get(outs[0], self.end + 1)
                elif isinstance(kernel, Write | Scatter) and self.last_of_memory[a] == k:
                    if not isinstance(made_by[a].op.kernel, View):
                        self.wanted[a] = goal
                        self.overwritten[a] = k

    # --------------------------------------------------------------------------------------------- instructions

    def _instr(self, instr: Instr) -> None:
        op, ins, outs, params, _ = instr
        kernel: Kernel = op.kernel
        if isinstance(kernel, View):
            self._view(kernel, ins[0], outs[0], params)
        elif isinstance(kernel, Check):
            self._step("run", instr, [self._contiguous(self._of(ins[0]))], [])
        elif isinstance(kernel, USES_INDICES) and outs[0].aval.size == 0 and all(a.aval.size for a in ins[1:]):
            self._run(instr)  # an index may be out of bounds although nothing is moved
        elif outs and all(v.aval.size == 0 for v in outs):
            for v in outs:
                self._destination(v)
        elif is_joining(instr):
            goal = self._destination(outs[0])
            for a, part in zip(ins, parts_of(goal, instr), strict=True):
                if a.aval.size and not is_there(self._of(a), part):
                    self._step("copy", None, [self._of(a)], [part])
        elif isinstance(kernel, Call) and kernel.is_of_complex:
            self._call_whole(instr)
        elif not has_native_dtypes(instr):
            self._run(instr)
        elif isinstance(kernel, Write):
            goal = self._overwritten(instr)
            part = goal.region(_region(kernel.layout, goal, params), goal.aval.dtype)
            if part.aval.size:
                given = self._apart(self._of(ins[1]), part)
                self._step("add" if kernel.combine == "add" else "copy", None, [given], [part])
        elif isinstance(kernel, Embed):
            goal = self._destination(outs[0])
            part = goal.region(_region(kernel.layout, goal, params), goal.aval.dtype)
            if part.aval.size < goal.aval.size:
                self._step("copy", None, [self._of(Lit(0, goal.aval.dtype))], [goal])
            if part.aval.size:
                self._step("copy", None, [self._of(ins[0])], [part])
        elif isinstance(kernel, Scatter):
            goal = self._overwritten(instr)
            self._step("run", instr, [goal, *[self._apart(self._of(a), goal) for a in ins[1:]]], [goal])
        elif isinstance(kernel, Reduce) and ins[0].aval.size == 0:
            nothing = Lit(of_nothing(kernel.combine, outs[0].aval.dtype), outs[0].aval.dtype)
            self._step("copy", None, [self._of(nothing)], [self._destination(outs[0])])
        elif isinstance(kernel, Contract) and any(a.aval.size == 0 for a in ins):
            self._step("copy", None, [self._of(Lit(0, outs[0].aval.dtype))], [self._destination(outs[0])])
        elif isinstance(kernel, Call):
            self._call(kernel, instr)
        elif isinstance(kernel, Sort):
            self._sort(kernel, instr)
        elif isinstance(kernel, Loop | Repeat | RepeatBack | Branch):  # results are written before all is read
            given = [self._contiguous(self._of(a)) for a in instr.ins]
            work = None
            if isinstance(kernel, Repeat):  # whether it goes on
                aval = Aval((1,), np.dtype(bool))
                work = Place(self._new(aval), 0, (1,), aval)
            made = [self._carried(instr, k, given) for k in range(len(instr.outs))]
            self._step("run", instr, given, made, work)
        else:
            self._run(instr)

    def _carried(self, instr: Instr, k: int, given: Sequence[Place]) -> Place:
        """Where result number ``k`` of a loop is: where what it begins with is, if that is a carry that dies here."""
        v, operand = instr.outs[k], first_carry(instr, k)
        if operand is not None and v not in self.wanted:
            place = given[operand]
            is_alone = all(p.buffer is not place.buffer for j, p in enumerate(given) if j != operand)
            if place.buffer.kind == "arena" and place.buffer.last <= self.now and is_alone:
                self.place[v] = place
                self._use(place.buffer, self.last_read.get(v, self.now))
                return place
        return self._destination(v)

    def _run(self, instr: Instr) -> None:
        given = [self._of(a) for a in operands(instr)]
        made = [self._result(instr, v, given) for v in instr.outs]
        self._step("run", instr, given, made, self._room_for_pieces(instr))

    def _room_for_pieces(self, instr: Instr) -> Place | None:
        """Where a long reduction that keeps nothing puts what its pieces come to: 8 bytes for each, fold after fold."""
        body = instr.params["body"].instrs if isinstance(instr.op.kernel, Fused) else [instr]
        folds = [i for i in body if isinstance(i.op.kernel, Reduce)]
        if not folds or folds[0].outs[0].aval.size != 1 or folds[0].ins[0].aval.size < MIN_PIECES * PIECE:
            return None
        aval = Aval((8 * len(folds) * -(-folds[0].ins[0].aval.size // PIECE),), np.dtype(np.uint8))
        return Place(self._new(aval), 0, (1,), aval)

    def _contiguous(self, place: Place) -> Place:
        """``place``, or a copy of it in C order."""
        if place.strides == c_strides(place.aval) or place.aval.size <= 1:
            return place
        return self._copied(place)

    def _apart(self, place: Place, goal: Place) -> Place:
        """``place``, or a copy of it if writing ``goal`` would change what is still to be read."""
        return self._copied(place) if overlap(place, goal) else place

    def _copied(self, place: Place) -> Place:
        copy = Place(self._new(place.aval), 0, c_strides(place.aval), place.aval)
        self._step("copy", None, [place], [copy])
        return copy

    def _call(self, kernel: Call, instr: Instr) -> None:
        """A routine: it takes matrices in C order, and room to work in."""
        given = [self._contiguous(self._of(a)) for a in instr.ins]
        made = [self._destination(v) for v in instr.outs]
        work = None
        if kernel.needs_room:
            first = instr.ins[0].aval
            matrices = [a.aval.shape[-2:] for a in (*instr.ins, *instr.outs) if a.aval.ndim >= first.ndim]
            elements = sum([n * m for n, m in matrices]) + kernel.further_rows * (first.shape[-1] + 1)
            nbytes = elements * first.dtype.itemsize + 4 * first.shape[-1]
            aval = Aval((nbytes,), np.dtype(np.uint8))
            work = Place(self._new(aval), 0, (1,), aval)
        self._step("run", instr, given, made, work)

    def _call_whole(self, instr: Instr) -> None:
        """A routine on complex arrays in C order: its work area is that of one row."""
        x = instr.ins[0].aval
        aval = Aval((2 * x.shape[-1] * instr.outs[0].aval.dtype.itemsize,), np.dtype(np.uint8))
        work = Place(self._new(aval), 0, (1,), aval)
        self._step("run", instr, [self._contiguous(self._of(instr.ins[0]))], [self._destination(instr.outs[0])], work)

    def _sort(self, kernel: Sort, instr: Instr) -> None:
        """Along an axis, in C order; the work area of places is that of one row: twice its keys and their places."""
        x, work = instr.ins[0].aval, None
        if kernel.what != "values":
            aval = Aval((4 * x.dtype.itemsize * x.shape[instr.params["axis"]],), np.dtype(np.uint8))
            work = Place(self._new(aval), 0, (1,), aval)
        self._step("run", instr, [self._contiguous(self._of(instr.ins[0]))], [self._destination(instr.outs[0])], work)

    def _view(self, kernel: View, a: Atom, v: Var, params: Any) -> None:
        place = self._of(a)
        region = kernel.layout(place.aval.shape, place.strides, **params)
        if region is None:  # a reshape that no strides can say
            place = self._contiguous(place)
            region = kernel.layout(place.aval.shape, place.strides, **params)
            assert region is not None
        self.place[v] = place.region(region, v.aval.dtype)
        self._use(place.buffer, self.last_read.get(v, self.now))

    def _overwritten(self, instr: Instr) -> Place:
        """Where the result of a write is: operand 0 itself if it dies here, else a copy of it."""
        base, v = self._of(instr.ins[0]), instr.outs[0]
        goal = self.wanted.get(v)
        if goal is not None and goal[:3] == base[:3]:
            # Operand 0 was put there for this. Its buffer may live on: it has further parts, of other values.
            if self.last_of_memory[instr.ins[0]] > self.now:
                raise InternalError("plan: a value that is still read has the memory of what is written over it")
            is_free = True
        else:
            is_dying = base.buffer.last <= self.now and self.last_read.get(instr.ins[0], 0) <= self.now
            is_free = goal is None and base.buffer.kind == "arena" and is_dying and is_dense(base)
        if is_free:
            self.place[v] = base
            self._use(base.buffer, self.last_read.get(v, self.now))
            return base
        if goal is not None and overlap(base, goal):
            raise InternalError("plan: a value is copied over its own memory")
        place = self._destination(v)
        self._step("copy", None, [base], [place])
        return place

    def _result(self, instr: Instr, v: Var, given: Sequence[Place]) -> Place:
        """Where a result is written: where it is wanted, over an operand that dies, or in a buffer of its own."""
        if v not in self.wanted:
            for place, a in zip(given, instr.ins, strict=False):  # behind them come literals, which are not overwritten
                if self._may_overwrite(instr, a, place, v, given):
                    self.place[v] = place._replace(aval=v.aval)
                    self._use(place.buffer, self.last_read.get(v, self.now))
                    return self.place[v]
        return self._destination(v)

    def _may_overwrite(self, instr: Instr, a: Atom, place: Place, v: Var, given: Sequence[Place]) -> bool:
        return (
            place.buffer.kind == "arena"
            and place.buffer.last <= self.now
            and a.aval.shape == v.aval.shape
            and a.aval.dtype.itemsize == v.aval.dtype.itemsize
            and place.strides == c_strides(a.aval)
            and all(
                p.buffer is not place.buffer or (p[:3] == place[:3] and p.aval.shape == a.aval.shape) for p in given
            )
            and is_pointwise(instr, a, v)
        )

    # ---------------------------------------------------------------------------------------------------- places

    def _of(self, a: Atom) -> Place:
        key = key_of(a)
        place = self.place.get(key)
        if place is None:
            assert type(a) is Lit
            number = len(self.out.literals)
            self.out.literals.append(a)
            place = self.place[key] = Place(self._fixed("literal", number), 0, (), a.aval)
        return place

    def _destination(self, v: Var) -> Place:
        place = self.wanted.get(v)
        if place is None:
            place = Place(self._new(v.aval), 0, c_strides(v.aval), v.aval)
        self.place[v] = place
        self._use(place.buffer, self.last_read.get(v, self.now))
        return place

    def _fixed(self, kind: str, number: int) -> Buffer:
        buffer = Buffer(kind, number)
        self.out.buffers.append(buffer)
        return buffer

    def _new(self, aval: Aval) -> Buffer:
        buffer = Buffer("arena", nbytes=aval.nbytes)
        self.out.buffers.append(buffer)
        return buffer

    def _use(self, buffer: Buffer, until: int) -> None:
        if buffer.first < 0:
            buffer.first = self.now
        if buffer.last < until:
            buffer.last = until

    def _step(
        self,
        what: str,
        instr: Instr | None,
        ins: Sequence[Place],
        outs: Sequence[Place],
        work: Place | None = None,
    ) -> None:
        now = self.now
        for place in (*ins, *outs) if work is None else (*ins, *outs, work):
            self._use(place.buffer, now)
        self.out.steps.append(PlanStep(what, instr, tuple(ins), tuple(outs), self.now, work, self.tape.any_length))

    def _assign_offsets(self) -> None:
        """First fit, best size: buffers in the order of their births, bytes of the dead handed out again."""
        arena = sorted([b for b in self.out.buffers if b.kind == "arena" and b.first >= 0], key=lambda b: b.first)
        deaths: list[tuple[int, int, Buffer]] = []
        free = _FreeList()
        for k, buffer in enumerate(arena):
            while deaths and deaths[0][0] < buffer.first:
                _, _, dead = deaths.pop(0)
                free.give(dead.offset, aligned(dead.nbytes))
            buffer.offset = free.take(aligned(buffer.nbytes))
            bisect.insort(deaths, (buffer.last, k, buffer))
        self.out.arena_bytes = free.top


class _FreeList:
    """Free stretches of the arena, by where they begin."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.sizes: dict[int, int] = {}
        self.by_size: list[tuple[int, int]] = []
        self.top = 0

    def take(self, size: int) -> int:
        k = bisect.bisect_left(self.by_size, (size, -1))
        if k == len(self.by_size):
            start = self.top
            if self.starts and self.starts[-1] + self.sizes[self.starts[-1]] == self.top:  # the last one, and some more
                start = self.starts[-1]
                self._remove(start)
            self.top = start + size
            return start
        found, start = self.by_size.pop(k)
        self._drop(start)
        if found > size:
            self._add(start + size, found - size)
        return start

    def give(self, start: int, size: int) -> None:
        k = bisect.bisect_left(self.starts, start)
        if k < len(self.starts) and self.starts[k] == start + size:
            size += self._remove(self.starts[k])
        if k > 0 and self.starts[k - 1] + self.sizes[self.starts[k - 1]] == start:
            start = self.starts[k - 1]
            size += self._remove(start)
        self._add(start, size)

    def _add(self, start: int, size: int) -> None:
        bisect.insort(self.starts, start)
        self.sizes[start] = size
        bisect.insort(self.by_size, (size, start))

    def _remove(self, start: int) -> int:
        """Take a stretch off the list, and say its size."""
        size = self.sizes[start]
        self.by_size.pop(bisect.bisect_left(self.by_size, (size, start)))
        self._drop(start)
        return size

    def _drop(self, start: int) -> None:
        self.starts.pop(bisect.bisect_left(self.starts, start))
        del self.sizes[start]


def operands(instr: Instr) -> list[Atom]:
    """What an instruction reads from memory: its operands, and behind them the literals of a fused one's body."""
    if not isinstance(instr.op.kernel, Fused):
        return list(instr.ins)
    found = {a.key: a for i in instr.params["body"].instrs for a in i.ins if type(a) is Lit and not is_in_code(a)}
    return [*instr.ins, *found.values()]


def is_in_code(a: Lit) -> bool:
    return a.aval.dtype.kind != "f" or bool(np.isnan(a.value)) or float(a.value) in IN_CODE


def aligned(nbytes: int) -> int:
    return max(1, -(-nbytes // ALIGNMENT)) * ALIGNMENT


def is_c_order(place: Place) -> bool:
    return all(n == 1 or s == t for n, s, t in zip(place.aval.shape, place.strides, c_strides(place.aval), strict=True))


def reach(place: Place) -> tuple[int, int]:
    """The bytes of its buffer between the first and the last that a place may touch."""
    low = high = place.offset
    for n, s in zip(place.aval.shape, place.strides, strict=True):
        if s < 0:
            low += (n - 1) * s
        else:
            high += (n - 1) * s
    return low, high + place.aval.dtype.itemsize


def overlap(a: Place, b: Place) -> bool:
    """Whether two places may have a byte in common, as far as their first and their last ones tell."""
    if a.buffer is not b.buffer:
        return False
    (low, high), (first, end) = reach(a), reach(b)
    return low < end and first < high


def is_dense(place: Place) -> bool:
    """Whether different indices are different bytes, as far as strides tell: nothing is broadcast."""
    return all(s != 0 or n <= 1 for n, s in zip(place.aval.shape, place.strides, strict=True))


def _region(layout: Any, place: Place, params: Any) -> Region:
    region = layout(place.aval.shape, place.strides, **params)
    assert region is not None
    return region


def first_carry(instr: Instr, k: int) -> int | None:
    """Which operand of a loop its result number ``k`` begins with."""
    kernel, loop = instr.op.kernel, instr.params.get("loop")
    if not isinstance(kernel, Loop | Repeat) or loop is None or k >= loop.carries:
        return None
    return k + (loop.constants if isinstance(kernel, Loop) else loop.first)


def is_joining(instr: Instr) -> bool:
    """Whether the operands are the parts of the result, each to be written into its place."""
    return isinstance(instr.op.kernel, Interleave) or (isinstance(instr.op.kernel, Join) and has_native_dtypes(instr))


def parts_of(goal: Place, instr: Instr) -> list[Place]:
    """Where in the result of a joining instruction each operand goes."""
    ins = instr.ins
    if isinstance(instr.op.kernel, Interleave):
        return list(planes_of(goal))
    axis, parts, offset = instr.params["axis"], [], goal.offset
    for a in ins:
        parts.append(Place(goal.buffer, offset, goal.strides, Aval(a.aval.shape, goal.aval.dtype)))
        offset += a.aval.shape[axis] * goal.strides[axis]
    return parts


def planes_of(place: Place) -> tuple[Place, Place]:
    """Where the real and the imaginary parts of complex numbers are."""
    half = place.aval.dtype.itemsize // 2
    aval = Aval(place.aval.shape, np.dtype(f"f{half}"))
    return place._replace(aval=aval), place._replace(offset=place.offset + half, aval=aval)


def is_there(place: Place, goal: Place) -> bool:
    """Whether both are the same elements in the same order."""
    strides = zip(goal.aval.shape, place.strides, goal.strides, strict=True)
    same = all(n == 1 or a == b for n, a, b in strides)
    return same and place.buffer is goal.buffer and place.offset == goal.offset


def is_in_c_order(region: Region | None, aval: Aval) -> bool:
    """Whether a region of an array in C order is all of it, in its order, with this shape."""
    if region is None or region.offset or region.shape != aval.shape:
        return False
    strides = zip(aval.shape, region.strides, c_strides(aval), strict=True)
    return all(n == 1 or own == expected for n, own, expected in strides)


def same_elements(place: Place, aval: Aval) -> tuple[int, ...] | None:
    """Strides by which an array of another shape has the elements of a place in their order: in C order, or where the
    shapes differ by axes of length 1 alone; else None."""
    if place.strides == c_strides(place.aval):
        return c_strides(aval)
    axes = [(n, s) for n, s in zip(place.aval.shape, place.strides, strict=True) if n != 1]
    if [n for n, _ in axes] != [n for n in aval.shape if n != 1]:
        return None
    strides = iter([s for _, s in axes])
    return tuple([next(strides) if n != 1 else aval.dtype.itemsize for n in aval.shape])


def is_pointwise(instr: Instr, a: Atom, v: Var) -> bool:
    """Whether the result ``v`` at an index is written after everything that reads ``a`` there has read it, and reads
    ``a`` at no other index: then both may share memory. They have one shape."""
    kernel = instr.op.kernel
    if isinstance(kernel, POINTWISE):
        return True
    if not isinstance(kernel, Fused):
        return False
    body = instr.params["body"]
    has_contraction = any(isinstance(i.op.kernel, Contract) for i in body.instrs)
    late: set[Any] = set()  # values that are made after the reduction: of a contraction, all
    for i in body.instrs:
        if has_contraction or isinstance(i.op.kernel, Reduce) or not late.isdisjoint(i.ins):
            late.update(i.outs)
    if v in late:  # written once all has been folded: fine if `a` too is read only then
        return all(
            a not in i.ins or (i.outs[0] in late and isinstance(i.op.kernel, Map | MapTape)) for i in body.instrs
        )
    return True


def has_native_dtypes(instr: Instr) -> bool:
    """Whether all operands and results have dtypes that generated code knows."""
    return NATIVE_DTYPES.issuperset([a.aval.dtype for a in (*instr.ins, *instr.outs)])
