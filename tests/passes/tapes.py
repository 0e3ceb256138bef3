"""Tapes written in ops, for the tests of passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.ops.control import Expected, guard
from wengert.ops.elementwise import less
from wengert.tape import Aval, Builder, Capture, Tape, Var, building, check

F64 = np.dtype(float)
VECTOR, NUMBER = Aval((3,), F64), Aval((), F64)


def tape(f: Callable[..., Any], *avals: Aval, captures: tuple[Capture, ...] = ()) -> Tape:
    inputs = tuple(map(Var, avals))
    with building(Builder()) as builder:
        y = f(*inputs, *[c.var for c in captures])
    outputs = y if isinstance(y, tuple) else (y,)
    return check(Tape(inputs, captures, builder.instrs, outputs, name="f"))


def effect(x: Any) -> None:
    """A guard: an instruction that no pass may drop."""
    guard(less(x, 0), expected=Expected(False), position=0, kind="if")
