"""Entries of one small program, and what calls them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.runtime.native.executables import F8, TWICE_PLUS_ONE, executable
from wengert.runtime._native import Dispatcher, Entry

X = np.arange(8.0)
ARRAY = ("array", F8, (8,), None)


class Jit(Dispatcher):
    def __init__(self, name: str = "") -> None:
        self.name = name
        self.slow: list[Any] = []

    def _slow(self, args, kwargs):
        self.slow.append((args, kwargs))
        return "slow"

    def _missed(self, token, position, seen, args, kwargs):
        return ("missed", token, position, seen, args, kwargs)


def jit(entry: Any) -> Jit:
    f = Jit()
    f._install(entry)
    return f


def entry(structure: Any = ("tuple", [0]), leaves: Any = (ARRAY,), places: Any = (), **rest: Any) -> Entry:
    program = rest.pop("executable", None) or executable(steps=TWICE_PLUS_ONE)
    return Entry(
        structure,
        leaves,
        places,
        program,
        rest.get("input_leaves", [0]),
        rest.get("result", 0),
        rest.get("token"),
        rest.get("keywords", ()),
        rest.get("written", ()),
    )


def fits(f: Any) -> bool:
    """Whether the program of an entry runs, rather than what is asked where none fits."""
    return not isinstance(f(X), str)


class Point:
    """An object with attributes."""
