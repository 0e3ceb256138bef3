"""Notes that transforms and passes leave for a report while one function is looked at.

Nothing is noted, and nothing costs more than the look at one attribute, unless :func:`taken` is open in this thread.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from wengert._contexts import replaced
from wengert.source import Source


class Unrolled(NamedTuple):
    """A stretch of steps that repeat, and the reason why they did not become a loop."""

    sources: frozenset[tuple[str, int]]
    """The files and lines of the steps."""
    iterations: int
    why: str


class Notes:
    """The notes on one trace and what became of it. Values are those of whichever tape they were noted on."""

    def __init__(self) -> None:
        self.recorded: Any = None
        """The tape as it was recorded."""
        self.cotangents: dict[Any, Any] = {}
        """The cotangent of each value that has one, as reverse mode had it."""
        self.differentiated: list[tuple[Any, Any]] = []
        """The derivatives that were taken: the values that each is taken with respect to, and the outputs."""
        self.active: set[Any] = set()
        """The values that were active to one of these derivatives."""
        self.new_names: dict[Any, Any] = {}
        """The value that has taken the place of another."""
        self.not_rolled: list[Unrolled] = []

    def now(self, atom: Any) -> Any:
        """Return the value that stands for ``atom`` at last."""
        seen = 0
        while atom in self.new_names and seen < 1000:
            new = self.new_names[atom]
            if new is atom:
                break
            atom, seen = new, seen + 1
        return atom

    def leave_unrolled(self, sources: list[Source | None], iterations: int, why: str) -> None:
        """Note that steps from these lines repeat, and why they stay as they are."""
        lines = frozenset([(s.file, s.line) for s in sources if s is not None])
        self.not_rolled.append(Unrolled(lines, iterations, why))


class _Taken(threading.local):
    notes: Notes | None = None


_current = _Taken()


def current() -> Notes | None:
    """Return the notes that are being taken in this thread; None almost always."""
    return _current.notes


def taken() -> AbstractContextManager[Notes]:
    """Take notes in this thread: ``with taken() as notes:``."""
    return replaced(_current, "notes", Notes())
