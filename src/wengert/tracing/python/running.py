"""Which functions run: what stands in the others is no reason for anything.

A function is known by the place where it is written, since a copy of it that is traced may have code of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, NamedTuple


class Written(NamedTuple):
    """Where a function is written."""

    file: str
    line: int
    name: str


def written_at(code: CodeType) -> Written:
    """Return where the function of this code is written."""
    return Written(code.co_filename, code.co_firstlineno, code.co_qualname)


@contextmanager
def noting_what_runs(is_asked: bool) -> Iterator[Collection[Written] | None]:
    """Note the functions that begin to run meanwhile in this thread.

    Yields a collection that is filled by the end; None if nobody has asked, or if somebody profiles the thread already,
    so that nothing is known.
    """
    if not is_asked or sys.getprofile() is not None:
        yield None
        return
    began: dict[int, CodeType] = {}  # by their ids: the hash of a code takes a while
    found = set[Written]()

    def note(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            began[id(frame.f_code)] = frame.f_code

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        found.update(map(written_at, began.values()))
