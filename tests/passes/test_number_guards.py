"""Guards are numbered in their order, and their values are a path."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from wengert.ops.control import Expected, guard
from wengert.passes.number_guards import guards_alone, number_guards, path_of
from wengert.tape import check


def branches(x: Any) -> Any:
    y = x if x > 0 else -x
    return y * int(y) if y < 10 else y


def test_guards_are_numbered_in_order() -> None:
    tape = wg.trace(branches)(3.5)
    guards = [i for i in tape.instrs if i.op is guard]
    assert [g.params["position"] for g in guards] == [0, 1, 2, 3]
    assert [g.params["kind"] for g in guards] == ["bool", "bool", "bool", "int"]  # int: is there one, and which
    assert path_of(tape) == (Expected(True), Expected(True), Expected(True), Expected(np.int64(3)))


def test_what_was_numbered_otherwise_is_numbered_anew() -> None:
    """Of two tapes joined, or of one that was edited."""
    tape = wg.trace(branches)(3.5)
    fewer = check(tape.replace(instrs=tape.instrs[2:])) if tape.instrs[1].op is guard else tape
    again = number_guards(fewer)
    assert [i.params["position"] for i in again.instrs if i.op is guard] == [0, 1, 2]
    assert path_of(again) == path_of(fewer) == path_of(tape)[1:]
    assert [i.params for i in number_guards(tape).instrs] == [i.params for i in tape.instrs]


def test_a_tape_without_guards_is_handed_back() -> None:
    tape = wg.trace(np.sin)(1.0)
    assert number_guards(tape) is tape and path_of(tape) == ()


def test_guards_alone_are_what_they_look_at() -> None:
    tape = number_guards(wg.trace(lambda x: branches(x) * np.sin(x))(3.5))
    alone = check(guards_alone(tape))
    assert path_of(alone) == path_of(tape)
    assert alone.outputs == () and "sin" not in [i.op.name for i in alone.instrs]
