"""Guards are numbered in their order, and what they expect is the path."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from wengert.ops.control import Expected, guard
from wengert.passes.number_guards import number_guards


def test_guards_are_numbered_in_order() -> None:
    def f(x: Any) -> Any:
        y = x if x > 0 else -x
        return y * int(y) if y < 10 else y

    tape = wg.trace(f)(3.5)
    guards = [i for i in tape.instrs if i.op is guard]
    assert [g.params["position"] for g in guards] == [0, 1, 2, 3]
    assert [g.params["kind"] for g in guards] == ["bool", "bool", "bool", "int"]  # int: is there one, and which
    again, found = number_guards(tape)
    assert found == tuple(map(Expected, (True, True, True, np.int64(3))))
    assert [i.params for i in again.instrs] == [i.params for i in tape.instrs]


def test_a_tape_without_guards_is_handed_back() -> None:
    tape = wg.trace(np.sin)(1.0)
    assert number_guards(tape) == (tape, ())
