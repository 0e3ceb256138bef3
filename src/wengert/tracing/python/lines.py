"""The user's lines: where in the source a frame is, with the calls that led there."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FrameType

from wengert.source import Source
from wengert.tracing.python.frames import RUN_CODE

MOST_CALLERS = 2000
"""Frames whose callers are remembered, unless more than half as many are calling at once: they are kept alive."""


def line_of(frame: FrameType, line: int) -> Source:
    """Return a line of the function that a frame runs."""
    return Source(frame.f_code.co_filename, line, frame.f_code.co_name)


def first_line(code: CodeType) -> Source:
    """Return where the definition of a function begins, which is the same of a copy that has other code."""
    return Source(code.co_filename, code.co_firstlineno, code.co_name)


def definition(f: object) -> Source | None:
    """Return where the definition of a function begins, of the one behind decorators; None for what has no code."""
    code = getattr(inspect.unwrap(f) if callable(f) else f, "__code__", None)
    return None if code is None else first_line(code)


class Lines:
    """The lines that one run of a user's function comes along, each found once.

    ``is_internal`` says of a frame that its line is not the user's, so that it is left out.
    """

    __slots__ = ("_callers", "_is_internal", "_most_callers", "_sources")

    def __init__(self, is_internal: Callable[[FrameType], bool]) -> None:
        self._is_internal = is_internal
        self._callers: dict[FrameType, Source | None] = {}
        self._most_callers = MOST_CALLERS
        self._sources: dict[tuple[int, int, int], tuple[Source, CodeType]] = {}

    def clear(self) -> None:
        """Let go of the frames."""
        self._callers.clear()
        self._sources.clear()

    def at(self, frame: FrameType) -> Source:
        """Return the line that a frame of the user's is at, with the calls that led to it.

        A caller's position cannot change while its callee runs, so it is worked out once a call, not once a step.
        """
        callers = self._callers
        return self._source(frame, callers[frame] if frame in callers else self._caller(frame))

    def _source(self, frame: FrameType, parent: Source | None) -> Source:
        code = frame.f_code
        key = (id(code), frame.f_lasti, id(parent))  # not the parent: its hash takes as long as it has parents
        known = self._sources.get(key)
        if known is None:
            source = Source(code.co_filename, frame.f_lineno or 0, code.co_name, parent)
            self._sources[key] = known = (source, code)  # the code, and the parent, are kept so that their ids are
        return known[0]

    def _caller(self, frame: FrameType) -> Source | None:
        callers = self._callers
        is_begun_anew = len(callers) > self._most_callers
        if is_begun_anew:
            callers.clear()
        chain: list[FrameType] = []
        at: FrameType | None = frame
        while at is not None and at not in callers:
            chain.append(at)
            at = at.f_back
            if at is not None and at.f_code is RUN_CODE:
                at = None  # the boundary: what is above belongs to whoever started the trace
        if is_begun_anew:  # all who are calling now are in it; as many may come, before it is done again
            self._most_callers = max(MOST_CALLERS, 2 * len(chain))
        parent: Source | None = None
        if at is not None:
            parent = callers[at] if self._is_internal(at) else self._source(at, callers[at])
        for one in reversed(chain):
            callers[one] = parent
            if not self._is_internal(one) and one is not frame:
                parent = self._source(one, parent)
        return callers[frame]
