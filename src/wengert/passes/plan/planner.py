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

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.collector import undisturbed
from wengert.errors import InternalError
from wengert.passes.plan.arena import assign_offsets
from wengert.passes.plan.instructions import (
    MIN_PIECES,
    PIECE,
    can_be_written_in_part,
    has_native_dtypes,
    is_joining,
    may_share_memory,
    operands,
    parts_of,
)
from wengert.passes.plan.kinds import PLANNING
from wengert.passes.plan.places import (
    Buffer,
    Place,
    Plan,
    PlanStep,
    c_strides,
    is_dense,
    is_in_c_order,
    overlap,
    same_elements,
)
from wengert.tape import Atom, Aval, Instr, Lit, Tape, Var, key_of


@undisturbed
def plan(
    tape: Tape,
    in_strides: Sequence[tuple[int, ...] | None] = (),
    out_strides: Sequence[tuple[int, ...] | None] = (),
) -> Plan:
    """The plan of ``tape``; ``in_strides`` are those of arguments that are not in C order, and ``out_strides`` those of
    results. n log n in the tape."""
    return Planner(tape, in_strides, out_strides).run()


class Planner:
    """Makes the plan of one tape. How each kind of kernel is planned stands in :mod:`~wengert.passes.plan.kinds`."""

    def __init__(
        self,
        tape: Tape,
        in_strides: Sequence[tuple[int, ...] | None],
        out_strides: Sequence[tuple[int, ...] | None] = (),
    ) -> None:
        self.tape = tape
        self.out_strides = out_strides
        self.out = Plan(tape)
        self.place = self.out.places
        self.end = len(tape.instrs)
        self.last_read: dict[Atom, int] = {a: k for k, instr in enumerate(tape.instrs) for a in instr.ins}
        self.last_read.update(dict.fromkeys(tape.outputs, self.end))
        # A view reads its operand's memory for as long as it is read itself.
        self.last_of_memory = dict(self.last_read)
        for k in range(self.end - 1, -1, -1):
            op, ins, outs, _, _ = tape.instrs[k]
            if op.kernel.is_view:
                last = self.last_of_memory.get(outs[0], k)
                self.last_of_memory[ins[0]] = max(self.last_of_memory[ins[0]], last)
        self.wanted: dict[Atom, Place] = {}  # where a value is best written
        self.overwritten: dict[Atom, int] = {}  # when something else is written where a value is best written
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
            place = self.of(a)
            if place.buffer.kind != "output" or place.buffer.number != k:
                self.step("copy", None, [place], [self._output(k, a)])
        self.out.arena_bytes = assign_offsets(self.out.buffers)
        return self.out

    # ------------------------------------------------------------------------------------------- destinations

    def _choose_destinations(self) -> None:
        """Go backwards from the results, and decide who writes straight into a result or into a part of a
        concatenation."""
        tape = self.tape
        made_by: dict[Atom, Instr] = {v: instr for instr in tape.instrs for v in instr.outs}
        for k, a in enumerate(tape.outputs):
            is_c_order = k >= len(self.out_strides) or self.out_strides[k] in (None, c_strides(a.aval))
            if a in made_by and a not in self.wanted and (is_c_order or can_be_written_in_part(made_by[a])):
                self.wanted[a] = self._output(k, a)
        for k in range(len(tape.instrs) - 1, -1, -1):
            op, ins, outs, params, _ = tape.instrs[k]
            kernel: Any = op.kernel
            if is_joining(tape.instrs[k]):
                v = outs[0]
                if v not in self.wanted:
                    self.wanted[v] = Place(self._new(v.aval), 0, c_strides(v.aval), v.aval)
                count = Counter(ins)
                for a, part in zip(ins, parts_of(self.wanted[v], tape.instrs[k]), strict=True):
                    maker = made_by.get(a)
                    if maker is not None and count[a] == 1 and can_be_written_in_part(maker):
                        until = self.overwritten.get(v, self.end + 1)
                        is_alike = a.aval.dtype == part.aval.dtype
                        if a not in self.wanted and is_alike and self.last_of_memory[a] < until:
                            self.wanted[a] = part
                            self.overwritten[a] = until
            elif outs and outs[0] in self.wanted and ins and ins[0] in made_by and ins[0] not in self.wanted:
                goal = self.wanted[outs[0]]
                a = ins[0]
                if kernel.is_view:
                    region = kernel.layout(a.aval.shape, c_strides(a.aval), **params)
                    is_whole = a.aval.size == outs[0].aval.size and is_in_c_order(region, outs[0].aval)
                    strides = same_elements(goal, a.aval) if is_whole else None
                    if (
                        strides is not None
                        and not made_by[a].op.kernel.is_view
                        and (strides == c_strides(a.aval) or made_by[a].op.kernel.writes_anywhere)
                        and self.last_of_memory[a] <= self.overwritten.get(outs[0], self.end + 1)
                    ):
                        self.wanted[a] = Place(goal.buffer, goal.offset, strides, a.aval)
                        self.overwritten[a] = self.overwritten.get(outs[0], self.end + 1)
                elif kernel.is_update and self.last_of_memory[a] == k:
                    if not made_by[a].op.kernel.is_view:
                        self.wanted[a] = goal
                        self.overwritten[a] = k

    # --------------------------------------------------------------------------------------------- instructions

    def _instr(self, instr: Instr) -> None:
        kernel, outs = instr.op.kernel, instr.outs
        may_fail = kernel.moves_by_index and all(a.aval.size for a in instr.ins[1:])  # although nothing is moved
        if outs and not kernel.is_view and not may_fail and all(v.aval.size == 0 for v in outs):
            for v in outs:
                self.destination(v)
        elif type(kernel) in PLANNING and (kernel.takes_any_dtype or has_native_dtypes(instr)):
            PLANNING[type(kernel)](self, instr, kernel)
        else:
            self.run_step(instr)

    def run_step(self, instr: Instr) -> None:
        """Plan an instruction that reads and writes places of any strides."""
        given = [self.of(a) for a in operands(instr)]
        made = [self._result(instr, v, given) for v in instr.outs]
        self.step("run", instr, given, made, self._room_for_pieces(instr))

    def _room_for_pieces(self, instr: Instr) -> Place | None:
        """Return the place for the partial results of a long reduction that keeps no axis: 8 bytes a piece, fold after
        fold."""
        body = instr.params["body"].instrs if instr.op.kernel.is_fused else [instr]
        folds = [i for i in body if i.op.kernel.is_fold]
        if not folds or folds[0].outs[0].aval.size != 1 or folds[0].ins[0].aval.size < MIN_PIECES * PIECE:
            return None
        return self.room(8 * len(folds) * -(-folds[0].ins[0].aval.size // PIECE))

    def contiguous(self, place: Place) -> Place:
        """Return ``place``, or a copy of it in C order."""
        if place.strides == c_strides(place.aval) or place.aval.size <= 1:
            return place
        return self._copied(place)

    def apart(self, place: Place, goal: Place) -> Place:
        """Return ``place``, or a copy of it if writing ``goal`` would change what is still to be read."""
        return self._copied(place) if overlap(place, goal) else place

    def room(self, nbytes: int, dtype: type = np.uint8) -> Place:
        """Bytes of the arena in which a step works."""
        aval = Aval((nbytes,), np.dtype(dtype))
        return Place(self._new(aval), 0, (1,), aval)

    def _copied(self, place: Place) -> Place:
        copy = Place(self._new(place.aval), 0, c_strides(place.aval), place.aval)
        self.step("copy", None, [place], [copy])
        return copy

    def write_over(self, instr: Instr) -> Place:
        """Return the place of the result of a write: that of operand 0 if it dies here, else of a copy of it."""
        base, v = self.of(instr.ins[0]), instr.outs[0]
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
            return self.put(v, base)
        if goal is not None and overlap(base, goal):
            raise InternalError("plan: a value is copied over its own memory")
        place = self.destination(v)
        self.step("copy", None, [base], [place])
        return place

    def _result(self, instr: Instr, v: Var, given: Sequence[Place]) -> Place:
        """Return the place to write a result to: where it is wanted, over an operand that dies, or in a buffer of its
        own."""
        if v not in self.wanted:
            for place, a in zip(given, instr.ins, strict=False):  # behind them come literals, which are not overwritten
                if self._may_overwrite(instr, a, place, v, given):
                    return self.put(v, place._replace(aval=v.aval))
        return self.destination(v)

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
            and may_share_memory(instr, a, v)
        )

    # ---------------------------------------------------------------------------------------------------- places

    def of(self, a: Atom) -> Place:
        """Return the place of an operand."""
        key = key_of(a)
        place = self.place.get(key)
        if place is None:
            assert type(a) is Lit
            number = len(self.out.literals)
            self.out.literals.append(a)
            place = self.place[key] = Place(self._fixed("literal", number), 0, (), a.aval)
        return place

    def destination(self, v: Var) -> Place:
        """Return the place to write a result to that overwrites nothing: where it is wanted, or in a buffer of its
        own."""
        place = self.wanted.get(v)
        if place is None:
            place = Place(self._new(v.aval), 0, c_strides(v.aval), v.aval)
        return self.put(v, place)

    def put(self, v: Var, place: Place) -> Place:
        """Say where a result lies, and keep the memory for as long as it is read."""
        self.place[v] = place
        self._use(place.buffer, self.last_read.get(v, self.now))
        return place

    def _output(self, k: int, a: Atom) -> Place:
        strides = self.out_strides[k] if k < len(self.out_strides) else None
        return Place(self._fixed("output", k), 0, strides or c_strides(a.aval), a.aval)

    def _fixed(self, kind: str, number: int) -> Buffer:
        buffer = Buffer(kind, number)
        self.out.buffers.append(buffer)
        return buffer

    def _new(self, aval: Aval) -> Buffer:
        buffer = Buffer("arena", nbytes=aval.nbytes)
        self.out.buffers.append(buffer)
        return buffer

    def _use(self, buffer: Buffer, until: int) -> None:
        """Keep a buffer up to the instruction ``until``."""
        if buffer.first < 0:
            buffer.first = self.now
        if buffer.last < until:
            buffer.last = until

    def step(
        self,
        what: str,
        instr: Instr | None,
        ins: Sequence[Place],
        outs: Sequence[Place],
        work: Place | None = None,
    ) -> None:
        """Append a step: see :class:`~wengert.passes.plan.places.PlanStep`."""
        now = self.now
        for place in (*ins, *outs) if work is None else (*ins, *outs, work):
            self._use(place.buffer, now)
        self.out.steps.append(PlanStep(what, instr, tuple(ins), tuple(outs), self.now, work, self.tape.any_length))
