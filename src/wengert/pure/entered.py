"""Code of Python begins to run: the Python form of wengert.tracing.interception._entered.

``sys.setprofile`` calls a function of Python's at every call and return, of which the calls count here. A profiler
that is written in Python hears of every event meanwhile; beside one of C code (cProfile) nothing can be followed, which
is an error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType, FrameType
from typing import Any

from wengert.pure.context import EnteredContext

_OUR_FOLDER = os.path.join(os.path.dirname(__file__), "")
_MOST_KNOWN = 100_000
_unwanted: dict[int, CodeType] = {}
"""The codes that nobody wants to hear of, by id, since codes that look alike are equal."""

Tell = Callable[[FrameType], bool | None]


class _Seen:
    """Which codes have been told of."""

    __slots__ = ("codes", "tell")

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self.codes: dict[int, CodeType] = {}  # by id

    def meet(self, frame: FrameType) -> None:
        """Tell of a frame that begins, if its code is new, and not that of the Python forms."""
        code = frame.f_code
        if code.co_filename.startswith(_OUR_FOLDER):
            return
        if id(code) in self.codes or id(code) in _unwanted:
            return
        self.codes[id(code)] = code
        answer = self.tell(frame)
        if answer is None:
            del self.codes[id(code)]
        elif answer is False:
            if len(_unwanted) >= _MOST_KNOWN:
                _unwanted.clear()
            _unwanted[id(code)] = code


class FollowingCalls(EnteredContext):
    """Each code's first frame is told of."""

    __slots__ = ("_before", "_has_raised", "_is_alone", "_is_set", "_seen", "_told")

    def __init__(self, tell: Tell | None) -> None:
        self._seen = None if tell is None else _Seen(tell)
        self._is_set, self._is_alone, self._has_raised = False, True, False
        self._before: Any = None
        self._told: Any = None
        self.begin()

    def enter(self) -> None:
        if self._seen is None:
            return
        before = self._before = sys.getprofile()
        if before is not None and not callable(before):
            raise RuntimeError(
                "a profiler of C code is running (cProfile), and without wengert's extension the function, which "
                "reaches code of packages, cannot be traced beside it: profile it without wg.jit, or install the "
                "extension"
            )
        meet = self._seen.meet

        def told(frame: FrameType, what: Any, argument: object) -> None:
            if what == "call":
                try:
                    meet(frame)
                except BaseException:  # any: Python takes a profiler away that raises
                    self._has_raised = True
                    raise
            if before is not None:
                before(frame, what, argument)

        self._told = told
        self._is_set = True
        sys.setprofile(told)

    def leave(self) -> None:
        if not self._is_set:
            return
        self._is_set = False
        self._is_alone = self._has_raised or sys.getprofile() is self._told
        if self._is_alone:
            sys.setprofile(self._before)

    def exited(self, is_error: bool) -> None:
        if not (self._is_alone or is_error):
            raise RuntimeError("the function sets a profiler while it is traced, which needs the one there is")


def following(tell: Tell | None, /) -> AbstractContextManager[None]:
    """Return a context in which ``tell`` is called with the frame of each code's first call in this thread, before the
    code runs. Where it says False, no context asks about that code again; where it says None, this one does. ``tell``
    None: nothing is followed."""
    return FollowingCalls(tell)
