"""A look says what a call would run and why, and leaves the compiled function as it was."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tape import Var

X = np.linspace(0.1, 1, 5)


def test_a_look_changes_neither_programs_nor_counts() -> None:
    step = wg.jit(lambda x: np.sum(np.sin(x)))
    before = step.stats()
    found = wg.look(step)(X)
    assert found.program is not None and not found.is_known and step.stats() == before
    step(X)
    before = step.stats()
    assert wg.look(step)(X).is_known and step.stats() == before


def test_cotangents_are_those_of_the_values_on_the_optimised_tape() -> None:
    def f(x: np.ndarray, y: np.ndarray) -> np.floating:
        return np.sum(np.exp(x) * y)

    found = wg.look(wg.grad(f))(X, X)
    tape = found.program.tape
    x, y = tape.inputs
    assert found.wrt == (0,)
    assert found.cotangents[x] is tape.outputs[0]
    (exp,) = wg.edit.find(tape, op="exp")
    assert found.cotangents[exp.outs[0]] is y
    assert found.activity[x].is_active and found.activity[exp.outs[0]].inputs == (0,)
    assert not found.activity[y].is_active and y not in found.cotangents


def test_the_step_that_stops_a_derivative_is_named() -> None:
    found = wg.look(wg.grad(lambda x: np.sum(x * wg.stop_gradient(np.exp(x)))))(X)
    (stop,) = wg.edit.find(found.program.tape, op="stop_gradient")
    (value,) = stop.outs
    assert isinstance(value, Var)
    assert not found.activity[value].is_active and found.activity[value].by is stop


def test_what_cannot_be_compiled_has_a_reason_instead_of_a_program() -> None:
    def f(x: np.ndarray) -> float:
        return float(f"{x[0]:f}")

    found = wg.look(f)(X)
    assert found.program is None and "text of a traced" in found.why_plain


def test_a_mistake_in_the_call_is_raised() -> None:
    with pytest.raises(TypeError):
        wg.look(lambda x: x)()


def test_another_shape_another_variable_and_another_branch_are_reasons_to_trace_again() -> None:
    scale = 2.0

    def f(x: np.ndarray) -> np.ndarray:
        return x * scale if x[0] > 0 else -x

    step = wg.jit(f)
    assert wg.look(step)(X).why_traced_again == ()
    step(X)
    assert wg.look(step)(X).why_traced_again == ()
    line = f.__code__.co_firstlineno
    where = f"f at test_look.py:{line}"
    assert wg.look(step)(X[:3]).why_traced_again == (f"argument x is float64[3], not float64[5], in a call of {where}",)
    assert wg.look(step)(x=X).why_traced_again == (f"the structure of the arguments of {where} differs",)
    (branch,) = wg.look(step)(-X).why_traced_again
    assert "was True on the path that is known, and is False here" in branch
    scale = 3.0
    (rebound,) = wg.look(step)(X).why_traced_again
    assert f"scale, read at test_look.py:{line + 1}, is no longer what it was" in rebound


def test_each_program_beyond_the_first_has_its_reason_with_a_line() -> None:
    scale = 2.0
    model = SimpleNamespace(gain=1.0)

    def f(x: Any, n: Any = None) -> Any:
        y = model.gain * x
        y = y * scale if x[0] > 0 else -y
        return y ** int(x[-1])

    line = f.__code__.co_firstlineno
    step = wg.jit(f)
    step(X)
    step(-X)
    step(2 * X)
    step(X, n=X)
    step(X, n=X[:2])
    scale, model.gain = 3.0, 2.0
    step(X)
    assert set(wg.look(step)(X).kept_apart) == {
        f"the branch at test_look.py:{line + 2} (y = y * scale if x[0] > 0 else -y) was True in one call, and False in "
        "another",
        f"the integer at test_look.py:{line + 3} (return y ** int(x[-1])) was 1 in one call, and 2 in another",
        f"the structure of the arguments of f at test_look.py:{line} differs",
        f"argument n is float64[2], not float64[5], in a call of f at test_look.py:{line}",
        f"scale, read at test_look.py:{line + 2}, has changed",
        f"model.gain, read at test_look.py:{line + 1}, has changed",
    }
    assert wg.look(step)(X, n=X[:3]).why_traced_again[0].startswith("argument n is float64[3], not float64[")


def test_the_paths_that_are_known_are_given_with_the_one_taken_first() -> None:
    step = wg.jit(lambda x: x if x > 0 else -x)
    step(1.0)
    step(-1.0)
    assert [[bool(d.seen) for d in path] for path in wg.look(step)(1.0).paths] == [[True], [False]]
    assert [[bool(d.seen) for d in path] for path in wg.look(step)(-1.0).paths] == [[False], [True]]


def test_a_loop_of_any_count_that_is_known_is_what_is_looked_at() -> None:
    def f(x: float) -> float:
        while x < 100:
            x = x * x + 1
        return x

    step = wg.jit(f)
    for x in (0.1, 1.5, 2.5, 0.5, 1.0):
        step(x)
    found = wg.look(step)(0.1)
    assert found.is_known and [i.op.name for i in found.program.tape.instrs] == [
        i.op.name for i in step.program(0.1).tape.instrs
    ]
