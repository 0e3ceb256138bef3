"""The record of a program with a planted fault."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple


class Fault(NamedTuple):
    """A program ``f``, called with ``args``, and what is wrong with it, in words."""

    what: str
    f: Callable[..., Any]
    args: tuple[Any, ...]
    then: Callable[[], Any] | None = None
    """Done between two calls: it changes what ``f`` captured."""
    again: tuple[Any, ...] = ()
    """The arguments of the second call."""

    @property
    def line(self) -> int:
        """The number of the planted line."""
        lines, first = inspect.getsourcelines(self.f)
        (planted,) = [k for k, line in enumerate(lines) if "# planted" in line]
        return first + planted
