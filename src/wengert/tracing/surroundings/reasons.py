"""The reasons why a run of a function cannot stand for its other runs.

There are two. A run is *unrepeatable* if another would give another number: the function reads the clock, say. And a
run is in *doubt* if it may read a value that no note covers: then an array that was computed meanwhile cannot be kept
as a constant of the program.
"""

from __future__ import annotations

import types
from collections.abc import Collection
from typing import NamedTuple

from wengert.source import Source
from wengert.tracing.python.lines import first_line


class By(NamedTuple):
    """Who asks for something, in words: the name of a function, its file and line."""

    name: str
    code: types.CodeType
    line: int = 0

    def __str__(self) -> str:
        file, first, *_ = first_line(self.code)
        return f"{self.name} at {file}:{self.line or first}"


class Reason(NamedTuple):
    """One reason why a run is unrepeatable."""

    why: str
    code: types.CodeType | None
    """The code that makes the run unrepeatable if it runs; None: the run is unrepeatable in any case."""
    verdict: str = ""
    """The verdict on ``name``, which the code reads: see purity.py."""
    name: str = ""


class Reasons:
    """The reasons that were found in one trace."""

    def __init__(self) -> None:
        self.doubt = ""
        """The reason why the function may read a value that no note covers; empty if none was found."""
        self.unrepeatable = ""
        """The reason why another run may give another number, so that Python runs the function at every call; empty if
        none was found."""
        self.found: list[Reason] = []
        """All reasons why the run is unrepeatable, the first of which is told."""

    @property
    def is_closed(self) -> bool:
        """Whether every value that the function may read is noted, as far as is known: see purity.py."""
        return not self.doubt

    def give_up(self, why: str, code: types.CodeType | None = None, verdict: str = "", name: str = "") -> None:
        """Note why the run is unrepeatable, if it comes to ``code``; None: in any case."""
        self.unrepeatable = self.unrepeatable or why
        self.found.append(Reason(why, code, verdict, name))

    @property
    def why_in_any_case(self) -> str:
        """Why the run cannot be repeated, whatever it runs."""
        return next((reason.why for reason in self.found if reason.code is None), "")

    @property
    def depends_on_what_runs(self) -> bool:
        """Whether all reasons stand in code, which the run may not come to."""
        return bool(self.found) and not self.why_in_any_case

    def forget_what_did_not_run(self, ran: Collection[Source]) -> None:
        """Forget the reasons in code that the run did not come to: another run would not come to it either."""
        self.found = [found for found in self.found if found.code is None or first_line(found.code) in ran]
        self.unrepeatable = self.found[0].why if self.found else ""

    def give_doubt(self, why: str) -> None:
        """Note why a value may be read that no note covers; the first reason is told."""
        self.doubt = self.doubt or why
