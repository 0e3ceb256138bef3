"""Advice names what is slow and what would avoid it; a program without faults gets none."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.report.data import Advice

X = np.linspace(0.1, 1, 40)


def advice(f: Any, *args: Any) -> list[Advice]:
    found = list(wg.explain(f)(*args).report.advice)
    assert all(a.instead for a in found)
    return found


def test_a_good_program_gets_none() -> None:
    assert advice(wg.grad(lambda x: np.sum(np.exp(x))), X) == []


@pytest.mark.machine_code("kernels call back alone")
def test_a_callback_is_named_with_its_line() -> None:
    (one,) = advice(lambda x: np.exp(x.astype(np.float16)), X)
    assert one.what == "callback" and "a dtype without native code" in one.text and "float64" in one.instead


@pytest.mark.machine_code("kernels copy")
def test_a_copy_of_an_argument_that_is_not_in_c_order_is_named() -> None:
    a = np.asfortranarray(np.ones((64, 65)))
    found = advice(lambda a: a.reshape(-1), a)
    assert any(one.what == "copy" and "np.ascontiguousarray(a)" in one.instead for one in found)


@pytest.mark.machine_code("kernels copy")
def test_a_copy_is_named_with_the_line_and_the_reason() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        if x.ndim > 7:
            return y
        return np.concatenate([y, y[::-1]]), x

    line = f.__code__.co_firstlineno
    joined, returned = [a for a in advice(f, np.ones(1000)) if a.what == "copy"]
    assert joined.line == returned.line == line + 4
    assert f"(sin at test_advice.py:{line + 1})" in joined.text and "side by side" in joined.text
    assert returned.text.startswith("x, 8000 bytes") and "never share memory with arguments" in returned.text
    (transposed,) = [a for a in advice(lambda x: (np.sin(x).T, np.cos(x)), np.ones((60, 70))) if a.what == "copy"]
    assert "a result is an array of its own, in C order" in transposed.text


def test_a_long_loop_on_the_tape_is_named() -> None:
    def f(x: Any) -> Any:
        for k in range(100):
            x = np.sin(x)
            if k % 7 == 0:
                x = np.exp(-x)
        return x

    (one,) = advice(f, X)
    assert one.what == "unrolled loop" and "130 steps of the tape" in one.text and "wg.scan" in one.instead


def test_what_the_function_itself_answers_is_named() -> None:
    (one,) = advice(lambda x: len({x[0]: 1}) * x, X)
    assert one.what == "plain call" and "test_advice.py:" in one.text and "an integer as the key" in one.instead
    (one,) = [a for a in wg.explain(lambda x: x * time.time())(X).report.advice if a.what == "plain call"]
    assert "reads the clock" in one.text


def test_traces_of_a_jit_are_named_with_their_reasons() -> None:
    scale = 1.0

    def f(x: Any) -> Any:
        return scale * x

    step = wg.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wg.PerformanceWarning)
        step(X)
        scale = 2.0
        step(X)
    found = [a for a in advice(step, X) if a.what == "retrace"]
    assert any("scale" in a.text and "as an argument" in a.instead for a in found)
    (shape,) = [a for a in advice(step, X[:5]) if "traced anew: argument" in a.text]
    assert "float64[5], not float64[40]" in shape.text
