"""Memory: the values that a plan stores, from when to when, and why each is not kept in registers or computed again.

:func:`memory` reads a finished plan: nothing here runs when a program is made. Every value that has memory of the
program's own, a result or bytes of the arena, is a :class:`Stored` with its readers. A view is not a value of its own:
reading it is reading the value under it. The reason given is the first that holds of those for which
:mod:`~wengert.passes.rematerialise` does not compute a value again.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from wengert.passes.plan.places import Place, Plan
from wengert.passes.rematerialise import CHEAP_FLOPS, MIN_BYTES, body_of, flops_an_element, is_expression, space_of
from wengert.source import Source
from wengert.tape import Instr, Var


class Why(Enum):
    """Why a step reads a value from memory."""

    RESULT = "a result that has another place"
    IN_PLACE = "its reader works in its memory"
    READER = "its reader is not a plain elementwise loop"
    LAYOUT = "read through a view"
    SMALL = "small: reading it back costs next to nothing"
    MAKER = "its maker is not a plain elementwise loop"
    REDUCED = "a reduction's result, or computed after one"
    SHAPE = "read in a loop over another shape"
    DEAR = "expensive to compute again"
    CUT = "computing it again would move as much memory"


class Read(NamedTuple):
    """A step that reads a stored value."""

    step: int
    """The number of the step in the plan."""
    op: str
    """The name of the op, within that step, of which the value is an operand."""
    source: Source | None
    why: Why
    is_backward: bool
    """Whether the value is read for the backward part of a gradient; that may compute forward steps again."""


class Stored(NamedTuple):
    """A value in memory."""

    op: str
    """The name of the op that made the value; "copy" for a copy that the plan adds for a step that needs another
    layout; "room" for the workspace of a step."""
    source: Source | None
    place: Place
    first: int
    last: int
    """The numbers of the first and the last step of the plan between which the value must be kept."""
    flops: float = 0.0
    """The flops of computing one element again from the operands of ``op``, as the minimum cut counts; 0.0 if ``op`` is
    not a map."""
    reads: tuple[Read, ...] = ()
    value: Var | None = None
    """The value on the plan's tape; None for a copy or a workspace."""

    @property
    def is_result(self) -> bool:
        """Whether the value lies in an array that the caller gets."""
        return self.place.buffer.kind == "output"

    @property
    def is_residual(self) -> bool:
        """Whether the value is made by the forward part of a gradient and read by the backward part."""
        return not _is_backward(self.source) and any(r.is_backward for r in self.reads)

    @property
    def why(self) -> str:
        """The reasons for storing the value, in words."""
        if self.is_result:
            return "a result"
        if self.op in ("copy", "room"):
            return f"step {self.last} needs it"
        return "; ".join([self._words(why) for why in dict.fromkeys([r.why for r in self.reads])]) or "nobody reads it"

    def _words(self, why: Why) -> str:
        return f"{why.value}: {self.flops:g} flops an element" if why is Why.DEAR else why.value


class Memory(NamedTuple):
    """The values that a program stores, in the order of the steps that make them. ``print`` shows them as a table."""

    stored: tuple[Stored, ...]
    arena_bytes: int

    def __str__(self) -> str:
        rows = [("steps", "bytes", "where", "value", "read by", "why"), *map(_row, self.stored)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join([f"{x:<{n}}" for x, n in zip(row, widths, strict=True)]).rstrip() for row in rows]
        return "\n".join([*lines, f"arena: {self.arena_bytes} bytes"])


def memory(plan: Plan) -> Memory:
    """List the values that ``plan`` stores. Linear in its tape, but for sorting."""
    instrs = plan.tape.instrs
    place_of = {
        a: p for a, p in plan.places.items() if type(a) is Var and p.buffer.kind in ("arena", "output") and p.aval.size
    }
    under: dict[Var, Var] = {}  # the value that a view is of
    maker: dict[Var, int] = {}
    readers: dict[Var, list[tuple[int, Var]]] = defaultdict(list)  # the readers of each value: number, what it reads
    for k, instr in enumerate(instrs):
        ins = [a for a in dict.fromkeys(instr.ins) if type(a) is Var and a in place_of]
        if ins and instr.op.kernel.is_view and instr.outs[0] in place_of:
            if place_of[instr.outs[0]].buffer is place_of[ins[0]].buffer:
                under[instr.outs[0]] = under.get(ins[0], ins[0])
                continue
        for a in ins:
            readers[under.get(a, a)].append((k, a))
        maker.update({v: k for v in instr.outs if v in place_of})
    copied = {under.get(a, a) for a in plan.tape.outputs if type(a) is Var}
    numbers = [step.number for step in plan.steps]  # the numbers of the steps' instructions, ascending
    end = len(plan.steps) - 1

    def stored(v: Var, k: int) -> Stored:
        reads: list[Read] = []
        for number, a in readers[v]:
            step = max(bisect.bisect_right(numbers, number) - 1, 0)  # a join of operands that lie in place has no step
            reads.append(_read(step, v, a, instrs[k], instrs[number], place_of))
        if v in copied and place_of[v].buffer.kind == "arena":
            reads.append(Read(end, "copy", None, Why.RESULT, False))
        made = _maker(v, instrs[k])
        first = bisect.bisect_left(numbers, k)
        last = end if v in copied else max([first, *[r.step for r in reads]])
        flops = flops_an_element(made) if made.op.kernel.function else 0.0
        return Stored(made.op.name, made.source, place_of[v], first, last, flops, tuple(reads), v)

    of_values = [stored(v, k) for v, k in maker.items()]
    return Memory(
        tuple(sorted([*of_values, *_of_the_plan(plan, place_of)], key=lambda s: s.first)),
        plan.arena_bytes,
    )


def _maker(v: Var, instr: Instr) -> Instr:
    """The step of a fused instruction that makes ``v``; any other instruction itself."""
    return next((i for i in body_of(instr).instrs if v in i.outs), instr)


def _read(step: int, v: Var, a: Var, maker: Instr, reader: Instr, place_of: Mapping[Var, Place]) -> Read:
    """The record that ``reader`` reads ``a``, which is ``v`` or a view of it."""
    steps = body_of(reader).instrs
    reading = [i for i in steps if a in i.ins] or [reader]
    giving = [i for i in steps if not set(reader.outs).isdisjoint(i.outs)] or [reader]
    is_backward = any(_is_backward(i.source) for i in reading) or all(_is_backward(i.source) for i in giving)
    return Read(step, reading[0].op.name, reading[0].source, _why(v, a, maker, reader, place_of), is_backward)


def _why(v: Var, a: Var, maker: Instr, reader: Instr, place_of: Mapping[Var, Place]) -> Why:
    """Why ``reader`` reads ``a``, which is ``v`` or a view of it, from memory and not from a register."""
    if reader.op.kernel.is_update or reader.op.kernel.joins:
        goal = place_of.get(reader.outs[0])
        if goal is not None and goal.buffer is place_of[v].buffer:
            return Why.IN_PLACE
    if not reader.op.kernel.function and not is_expression(reader):
        return Why.READER
    if a is not v:
        return Why.LAYOUT
    if v.aval.nbytes < MIN_BYTES:
        return Why.SMALL
    if not is_expression(maker):
        return Why.MAKER
    made = _maker(v, maker)
    if not made.op.kernel.function or v.aval.shape != space_of(maker):
        return Why.REDUCED
    if v.aval.shape != space_of(reader):
        return Why.SHAPE
    return Why.DEAR if flops_an_element(made) > CHEAP_FLOPS else Why.CUT


def _of_the_plan(plan: Plan, place_of: Mapping[Var, Place]) -> list[Stored]:
    """The copies that the plan itself adds, and the workspaces of routines."""
    of_values = {id(p.buffer) for p in place_of.values()}
    found: dict[int, Stored] = {}
    for k, step in enumerate(plan.steps):
        for place in (*step.ins, *step.outs, *([step.work] if step.work else [])):
            key = id(place.buffer)
            if place.buffer.kind == "arena" and key not in of_values:
                source = None if step.instr is None else step.instr.source
                known = found.get(key)
                found[key] = Stored("room" if place is step.work else "copy", source, place, k, k)
                if known is not None:
                    found[key] = known._replace(last=k, source=source)
    return list(found.values())


def _is_backward(source: Source | None) -> bool:
    return source is not None and source.role == "cotangent"


def _row(s: Stored) -> tuple[str, ...]:
    buffer = s.place.buffer
    offset = buffer.offset + s.place.offset
    readers = dict.fromkeys([f"{r.step} {_named(r.op, r.source)}" for r in s.reads])
    return (
        f"{s.first}-{s.last}",
        f"{s.place.aval.nbytes}",
        f"result {buffer.number}" if s.is_result else f"arena + {offset}",
        _named(s.op, s.source),
        ", ".join(readers),
        f"residual: {s.why}" if s.is_residual else s.why,
    )


def _named(op: str, source: Source | None) -> str:
    return op if source is None else f"{op} {source.where}"
