"""Whether a ``while`` of Python's carries nothing from turn to turn but traced values.

What a loop does may depend on how often it has run: on a counter, a list that grows, the iterator of a ``for``. None of
that is on the tape. So at each condition that is looked at, what stands beside traced values in the frames of the
user's functions is noted; a loop between two looks that note the same is a function of traced values alone. What cannot
be compared makes no note. Of a traced value it is noted which it is: the one that a step of this turn has made, or one
from before the loop, of which names may have been exchanged.
"""

from __future__ import annotations

import dis
import sys
from functools import lru_cache
from hashlib import blake2b
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from wengert.tracing import hooks
from wengert.tracing.callers import RUN_CODE, is_internal

MOST_BYTES = 1 << 18
MOST_ELEMENTS = 200
AS_THEY_ARE = (bool, int, float, complex, str, bytes, type(None))
BY_IDENTITY = (type, ModuleType, BuiltinFunctionType, np.ufunc, np.dtype)


class _Unknown(Exception):
    """Something whose state is nobody's to compare."""


class Turn(NamedTuple):
    """What is noted at a look, hashable."""

    beside: Any
    """What stands beside traced values."""
    which: tuple[Which, ...]
    """Which traced values stand there."""


class Which(NamedTuple):
    """A traced value: it stays what it is if it was made before a loop; or is, in each turn, what the same step of that
    turn, or of one before it, has made."""

    value: Any
    view: str
    """How it is seen, if it is a view of that."""
    made: tuple[int, int, int]
    """How many looks ago, by which step after that look, and which of its outputs it is."""

    def is_as(self, other: Which) -> bool:
        return self.view == other.view and (self.value is other.value or self.made == other.made)


def turn(is_counted: bool = False) -> Turn | None:
    """What stands there now; None where it cannot be said, or where no ``while`` can be the reason. ``is_counted``: the
    reason is a ``for`` of the innermost frame's, whose counter is traced."""
    frames: list[FrameType] = []
    outermost = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is RUN_CODE:
            outermost = len(frames)
        elif not is_internal(frame):
            frames.append(frame)
        frame = frame.f_back
    frames = frames[:outermost]
    if not is_counted and not any(_has_a_while(f.f_code) for f in frames):
        return None
    if any(_innermost_loop(f.f_code, f.f_lasti) == "for" for f in frames[is_counted:]):
        return None
    which: list[Any] = []
    try:
        beside = tuple([(id(f.f_code), _note(f.f_locals, [0], 0, which)) for f in frames])
    except _Unknown:
        return None
    return Turn(beside, tuple(which))


def _digest(x: np.ndarray[Any, Any]) -> bytes:
    if x.dtype.kind not in "fiubc" or x.nbytes > MOST_BYTES:
        raise _Unknown
    return blake2b(x.tobytes(), digest_size=16).digest()


@lru_cache(maxsize=4096)
def _innermost_loop(code: CodeType, at: int) -> str:
    """ "for", "while" or "": of the jumps back over this instruction, the shortest."""
    around = [(end - start, kind) for start, end, kind in _loops(code) if start <= at <= end]
    return min(around)[1] if around else ""


@lru_cache(maxsize=1024)
def _has_a_while(code: CodeType) -> bool:
    return any(kind == "while" for _, _, kind in _loops(code))


@lru_cache(maxsize=1024)
def _loops(code: CodeType) -> list[tuple[int, int, str]]:
    """Every jump back: to where, from where, and whether it is of a ``for`` or a ``while``."""
    instructions = {i.offset: i for i in dis.get_instructions(code)}
    back = [
        (int(i.argval), offset)
        for offset, i in instructions.items()
        if i.opcode in dis.hasjrel and isinstance(i.argval, int) and i.argval <= offset
    ]
    return [(start, end, "for" if instructions[start].opname == "FOR_ITER" else "while") for start, end in back]


def _note(x: Any, count: list[int], depth: int, which: list[Any]) -> Any:
    count[0] += 1
    if count[0] > MOST_ELEMENTS or depth > 6:
        raise _Unknown
    kind = type(x)
    if kind is hooks.Tracer:
        value = x.constant() if x._atom is None else None
        if value is None:
            which.append(x._trace.which(x))
        return ("traced", x.aval) if value is None else ("constant", _digest(value))
    if kind in AS_THEY_ARE:
        return kind, repr(x)
    if isinstance(x, np.generic):
        return kind, x.tobytes()
    if kind is np.ndarray:
        return id(x), _digest(x)
    if kind in (list, tuple):
        return kind, tuple([_note(one, count, depth + 1, which) for one in x])
    if kind is dict:
        return kind, tuple(
            [(k, _note(v, count, depth + 1, which)) for k, v in sorted(x.items(), key=lambda kv: repr(kv[0]))]
        )
    if kind is FunctionType:
        cells = x.__closure__ or ()
        return id(x.__code__), tuple([_note(c.cell_contents, count, depth + 1, which) for c in cells])
    if isinstance(x, BY_IDENTITY) or kind.__module__.startswith("wengert"):
        return id(x)
    raise _Unknown
