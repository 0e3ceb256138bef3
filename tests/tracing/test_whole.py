"""The tape of a whole function of the user's: what is an argument of it, and what it is made with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import tree
from wengert.tracing.signature import signature_of
from wengert.tracing.whole import ReadsEnclosingTrace, trace_whole


def whole(f: Any, *args: Any, **kwargs: Any) -> Any:
    leaves, treedef = tree.flatten((args, kwargs) if kwargs else args)
    return trace_whole(f, "f", leaves, signature_of(leaves, treedef, bool(kwargs)))


def test_traced_leaves_are_inputs_and_the_others_are_part_of_the_tape() -> None:
    tape, _, why, written = whole(
        lambda p, flag, x: p["a"] * x if flag else x, {"a": 2.0, "b": "text"}, True, np.ones(3)
    )
    assert [v.aval.shape for v in tape.inputs] == [(), (3,)] and not why and written == ()
    assert {x for _, x in tape.in_static} == {"text", True}
    assert tree.unflatten(tape.in_tree, "abcd") == ({"a": "a", "b": "b"}, "c", "d")


def test_arguments_by_name() -> None:
    tape, *_ = whole(lambda x, scale: {"y": x * scale}, 2.0, scale=3.0)
    assert len(tape.inputs) == 2 and tree.unflatten(tape.out_tree, ["y"]) == {"y": "y"}
    assert wg.compile(tape)(2.0, scale=3.0) == {"y": 6.0}


def test_the_environment_says_whether_the_tape_still_holds() -> None:
    scale = 2.0
    _, environment, why, _ = whole(lambda x: x * scale, 1.0)
    assert environment.holds() and not why
    scale = 3.0
    assert not environment.holds()


def test_what_cannot_be_repeated_says_why() -> None:
    numbers = iter([1.0, 2.0])
    assert whole(lambda x: x * next(numbers), 1.0)[2] == "numbers is an iterator"


def test_the_inputs_that_are_written() -> None:
    def f(x: Any, y: Any) -> Any:
        y += x
        return y

    assert whole(f, np.ones(2), np.ones(2))[3] == (1,)


def test_a_function_that_reads_an_enclosing_trace_has_no_tape_of_its_own() -> None:
    def f(x: Any) -> Any:
        with pytest.raises(ReadsEnclosingTrace, match="the value as an argument"):
            whole(lambda y: x * y, 1.0)
        return x

    wg.jvp(f, (1.0,), (1.0,))
