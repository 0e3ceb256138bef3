"""Transforms and loops record tapes that go through the passes which come before derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert.api.recording import record_body, record_for_transform
from wengert.tape import Aval, Tape
from wengert.tracing.record import input_of, record_call
from wengert.tracing.trace import WholeRun
from wengert.tree import flatten

X = np.linspace(0.1, 1.0, 50)


def sum_of_sines(x: Any) -> Any:
    total = 0.0
    for k in range(50):
        total = total + np.sin(x[k])
    return total


def names(tape: Tape) -> list[str]:
    return [i.op.name for i in tape.instrs]


@pytest.mark.parametrize("will_be_compiled", [True, False])
def test_repeated_steps_become_a_loop_if_the_trace_around_will_be_compiled(will_be_compiled: bool) -> None:
    def outer(x: Any) -> Any:
        tape = record_for_transform(sum_of_sines, lambda way: sum_of_sines, [input_of(x)]).tape
        assert (names(tape) == ["sin", "sum", "add"]) == will_be_compiled
        return x

    record_call(outer, [input_of(X)], name="outer", whole=WholeRun(is_rolled=will_be_compiled))


def test_windows_in_a_body_are_joined_with_their_product_before_a_derivative_is_taken() -> None:
    def smoothed(x: Any) -> Any:
        return np.lib.stride_tricks.sliding_window_view(x, 3) @ np.ones(3)

    def outer(x: Any) -> Any:
        body = record_body("scan", smoothed, [Aval((50,), np.dtype(float))], flatten((0.0,))[1])
        assert "contract_windows" in names(body.tape) and "windows" not in names(body.tape)
        return x

    record_call(outer, [input_of(X)], name="outer")
