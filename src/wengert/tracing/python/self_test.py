"""A test of this folder that runs when wengert is imported: what is read of tiny functions is what stands in them.

Bytecode is an implementation detail of CPython, and a version that changes it might be read wrongly. Such a version is
refused here, rather than let compute something else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from wengert.errors import InterpreterError
from wengert.tracing.python.bytecode import is_indexing, is_operator, span
from wengert.tracing.python.calls import Callee, call_around, called_object, called_variable, callee, place_of_call
from wengert.tracing.python.frames import place_of
from wengert.tracing.python.lines import first_line, line_of
from wengert.tracing.python.loops import Truth, asks_truth, is_before_for, is_counting, loops_around
from wengert.tracing.python.names import uses

SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
"""The versions of CPython that wengert supports."""


def check_interpreter() -> None:
    """Raise InterpreterError if this Python is read wrongly."""
    wrong = sorted({probe.what for probe in _PROBES if not probe.is_right()})
    if wrong:
        here, supported = sys.version.split()[0], f"{', '.join(SUPPORTED[:-1])} or {SUPPORTED[-1]}"
        raise InterpreterError(
            f"wengert reads bytecode, and reads that of {sys.implementation.name} {here} wrongly ({', '.join(wrong)}): "
            f"use CPython {supported}, or a newer wengert"
        )


class _Asked:
    """An object that reads the frame that asks it for something."""

    def __init__(self, read: Callable[[FrameType], Any]) -> None:
        self.read, self.found = read, None

    def truth(self) -> bool:
        self.found = self.read(sys._getframe(1))
        return False

    def number(self, *_: Any) -> int:
        self.found = self.read(sys._getframe(1))
        return 1

    __bool__ = truth
    __call__ = __getitem__ = __add__ = __int__ = number


class _Probe(NamedTuple):
    """``read`` must find ``expected`` in the frame in which ``f`` asks its argument for something."""

    what: str
    f: Callable[[Any], Any]
    read: Callable[[FrameType], Any]
    expected: Any
    needs_columns: bool = False

    def is_right(self) -> bool:
        if self.needs_columns and not _HAS_COLUMNS:
            return True
        asked = _Asked(self.read)
        try:
            self.f(asked)
        except (LookupError, ValueError, AttributeError, TypeError):  # of the reader, which finds what it does not know
            return False
        return asked.found == self.expected


_HAS_COLUMNS = span(place_of(sys._getframe())) is not None
"""Whether Python knows where in a line an instruction stands. Without that (``python -X no_debug_ranges``) what is
called cannot be told, and is not."""


# ---------------------------------------------------------------------------------------- the functions, and the reads


def _counts(x: Any) -> None:
    for _ in range(int(x)):
        pass


def _repeats(x: Any) -> None:
    for _ in range(1):
        while x:
            pass


def _names(x: Any) -> Any:
    global _written
    _written = x()
    return sys.flags.optimize


def _imports(x: Any) -> None:
    import sys as s; x(s.flags)  # fmt: skip  # noqa: E702, I001  # as of Python 3.13 one instruction stores and loads


_written = 0


def _read_calls(frame: FrameType) -> Any:
    call = place_of_call(frame)
    around = call_around(call)
    return called_variable(frame, call), around and called_variable(frame, around)


def _read_for(frame: FrameType) -> bool:
    around = call_around(place_of_call(frame))
    return around is not None and is_before_for(around)


def _read_loops(frame: FrameType) -> Any:
    return [(loop.kind, is_counting(frame, loop)) for loop in loops_around(place_of(frame))]


def _read_line(frame: FrameType) -> int:
    return line_of(frame, frame.f_lineno).line - first_line(place_of(frame).code).line


def _read_names(frame: FrameType) -> Any:
    found = uses(place_of(frame).code)
    return set(found.loaded), set(found.written), sorted(found.paths), set(found.modules)


def _read_operation(frame: FrameType) -> Any:
    return is_operator(place_of(frame)), is_indexing(place_of(frame))


_CALLS, _LOOPS, _OPERATORS = "what is called", "loops", "operators"
_PROBES = [
    _Probe(_CALLS, lambda f: f(1), lambda frame: callee(place_of(frame)), Callee("variable", "f"), True),
    _Probe(_CALLS, lambda x: x.number(1), lambda frame: callee(place_of(frame)), Callee("attribute", "number"), True),
    _Probe(_CALLS, lambda x: x.number(1), called_object, _Asked.number, True),
    _Probe(_CALLS, _counts, _read_calls, (int, range), True),
    _Probe(_LOOPS, _counts, _read_for, True),
    _Probe(_LOOPS, _repeats, _read_loops, [("while", False), ("for", True)], True),
    _Probe("who asks for a truth", _repeats, asks_truth, Truth.BRANCH),
    _Probe("names", _names, _read_names, ({"sys"}, {"_written"}, [("sys", "flags", "optimize")], set())),
    _Probe("names", _imports, _read_names, (set(), set(), [("s", "flags")], {("s", "sys")})),
    _Probe("lines", _names, _read_line, 2),
    _Probe(_OPERATORS, lambda x: x + 1, _read_operation, (True, False)),
    _Probe(_OPERATORS, lambda x: x[1], _read_operation, (False, True)),
]
