"""The loops around an instruction, and how an instruction asks for the truth of a value."""

from __future__ import annotations

from enum import Enum
from types import CodeType, FrameType
from typing import NamedTuple

from wengert.tracing.python.bytecode import CodePlace, instruction, instructions, instructions_after, once_a_code
from wengert.tracing.python.calls import called_variable
from wengert.tracing.python.frames import place_of


class CodeLoop(NamedTuple):
    """A ``for`` or a ``while`` of a code."""

    code: CodeType
    start: int
    """The offset where it jumps back to."""
    end: int
    """The offset from where it jumps back."""
    kind: str
    """ "for" or "while"."""


def loops_around(place: CodePlace) -> tuple[CodeLoop, ...]:
    """Return the loops around an instruction, the innermost first. A ``while`` may look at its condition once before
    its first iteration, by instructions that are written in the same place as those at its end."""
    return _loops_around(*place)


@once_a_code()
def _loops_around(code: CodeType, offset: int) -> tuple[CodeLoop, ...]:
    here = instruction(CodePlace(code, offset)).positions
    around = []
    for loop in _loops(code):
        again = (i.positions for i in instructions(code) if loop.start <= i.offset <= loop.end)
        if loop.start <= offset <= loop.end or (offset < loop.start and loop.kind == "while" and here in again):
            around.append(loop)
    return tuple(sorted(around, key=lambda x: x.end - x.start))


@once_a_code()
def _loops(code: CodeType) -> list[CodeLoop]:
    """One for every place that is jumped back to, up to the last jump: ``continue`` is another."""
    ends = {int(i.argval): i.offset for i in instructions(code) if "JUMP_BACKWARD" in i.opname}
    return [CodeLoop(code, start, end, _kind(code, start)) for start, end in ends.items()]


def _kind(code: CodeType, start: int) -> str:
    first = next(i for i in instructions(code) if i.offset >= start)
    return "for" if first.opname == "FOR_ITER" else "while"


def is_before_for(place: CodePlace) -> bool:
    """Whether a ``for`` statement goes over what the call at ``place`` gives."""
    return _is_before_for(*place)


@once_a_code()
def _is_before_for(code: CodeType, offset: int) -> bool:
    return [i.opname for i in instructions_after(CodePlace(code, offset))[:2]] == ["GET_ITER", "FOR_ITER"]


def is_counting(frame: FrameType, loop: CodeLoop) -> bool:
    """Whether a loop is ``for i in range(...)``, and nobody else assigns ``i``: a name that tells its iterations
    apart."""
    found = _makes_iterable(*loop) if loop.kind == "for" else None
    return found is not None and called_variable(frame, found) is range


@once_a_code()
def _makes_iterable(code: CodeType, start: int, end: int, kind: str) -> CodePlace | None:
    """The call that gives what a ``for`` goes over; None if it is of another kind."""
    instrs = instructions(code)
    k = next(k for k, i in enumerate(instrs) if i.offset >= start)
    call, get_iter, _, store = instrs[k - 2 : k + 2]
    if (call.opname, get_iter.opname) != ("CALL", "GET_ITER") or not store.opname.startswith("STORE_FAST"):
        return None
    others = (i for i in instrs[k + 2 :] if i.offset <= end and i.opname.startswith(("STORE", "DELETE")))
    is_alone = all(i.argval != store.argval for i in others)
    return CodePlace(code, call.offset) if is_alone else None


# ----------------------------------------------------------------------------------------------- truth of a value


class Truth(Enum):
    """How an instruction asks for the truth of a value."""

    BRANCH = "it branches on the value, or calls bool"
    COMPARISON = "it compares, and asks for the truth of what came of that, as of Python 3.13"
    ITEMS = "it compares, and can only ask in the name of items of a container"
    NOT = "it does not ask: code that it has called does"


def asks_truth(frame: FrameType) -> Truth:
    """Return how the instruction that a frame is at asks for the truth of a value."""
    found = instruction(place_of(frame))
    if found.opname == "COMPARE_OP":
        return Truth.COMPARISON if found.argrepr.startswith("bool(") else Truth.ITEMS
    is_branch = "JUMP" in found.opname or found.opname in ("TO_BOOL", "UNARY_NOT")
    return Truth.BRANCH if is_branch or called_variable(frame) is bool else Truth.NOT
