"""What the test knows of a program of this folder: its field, the function, where it is called, what it may do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A program, differentiated by its first argument: a number, an array, or nested dicts and lists of them."""

    field: str
    f: Callable[..., Any]
    points: tuple[tuple[Any, ...], ...]
    """The arguments of a first call, and of others; made of the first if they are not given."""
    traces: int = 1
    """How often, at most, the compiled function is traced for them; more than once is for a reason, ``why``."""
    plain: bool = False
    """Whether Python must answer the calls of the compiled function, with one warning, for a reason, ``why``."""
    why: str = ""
    state: Callable[[], Any] | None = None
    """What the function counts or keeps: a call of it leaves there what it leaves when NumPy runs it."""
    h: float = 1e-6
    """The step of differences, relative."""
    rtol: float = 1e-5
    value_rtol: float = 1e-9
    """How exact the value is, where an iteration finds it, which goes another way with exact derivatives."""


def program(
    field: str, f: Callable[..., Any], *first: Any, also: Sequence[tuple[Any, ...]] = (), **known: Any
) -> Entry:
    """The entry of ``f``, called with ``first``, and with each of ``also``."""
    return Entry(field, f, (first, *also), **known)


STEPS = "it loops to a tolerance: a trace for each number of steps"
BRANCHES = "it branches on values: a trace for each path"
