"""Steps of a loop's body that read constants of the loop alone are taken out, if they are heavy."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from tests.passes.tapes import tape
from wengert.higher.loops import while_
from wengert.ops.contract import contract
from wengert.ops.elementwise import add, multiply, tanh
from wengert.passes.hoist import split
from wengert.tape import Aval, Tape

F64 = np.dtype(float)
MATRIX, VECTOR = Aval((20, 20), F64), Aval((20,), F64)


def run(made: Tape, *args: Any) -> Any:
    (value,) = wg.compile(made)(*args)
    return value


def body(w: Any, c: Any) -> Any:
    square = contract(w, w, a=(0, 1), b=(1, 2), out=(0, 2))
    return tanh(add(contract(square, c, a=(0, 1), b=(1,), out=(0,)), c))


def test_heavy_steps_of_constants_are_computed_before_and_the_rest_is_left() -> None:
    made = tape(body, MATRIX, VECTOR)
    found = split(made, 1)
    assert found is not None
    assert [i.op.name for i in found.before.instrs] == ["contract"]
    assert [i.op.name for i in found.body.instrs] == [i.op.name for i in made.instrs[1:]]
    w, c = np.random.default_rng(0).normal(size=(20, 20)) / 20, np.linspace(0, 1, 20)
    square = run(found.before, w)
    np.testing.assert_allclose(run(found.body, w, square, c), run(made, w, c), rtol=1e-14)
    np.testing.assert_array_equal(run(found.without, w), np.zeros((20, 20)))


def test_light_steps_stay_where_they_are() -> None:
    assert split(tape(lambda w, c: multiply(add(w, w), c), VECTOR, VECTOR), 1) is None


def test_in_a_while_loop_a_product_of_constants_is_computed_once() -> None:
    def f(w: Any, x: Any) -> Any:
        return np.sum(wg.while_loop(lambda c: np.sum(c) < 35, lambda c: np.abs(w @ w @ c) + 1, x))

    w, x = np.eye(30) / 2, np.ones(30) / 100
    program = wg.jit(f).program(w, x)
    (loop,) = [i.params["loop"] for i in program.tape.instrs if i.op is while_]
    assert sum(i.op.name == "contract" for i in loop.body.instrs) == 1
    np.testing.assert_allclose(program(w, x), f(w, x))


def test_a_loop_of_any_count_that_python_wrote_is_lightened_too() -> None:
    def f(w: Any, x: Any, least: Any) -> Any:
        while np.sum(x) < least:
            x = np.abs(w @ w @ x) + 1
        return np.sum(x)

    w, x = np.eye(30) / 2, np.ones(30) / 100
    g = wg.jit(f)
    for least in (39.0, 39.7, 39.9, 39.98, 39.999):
        np.testing.assert_allclose(g(w, x, least), f(w, x, least))
    loops = [i.params["loop"] for i in g.program(w, x, 39.95).tape.instrs if i.op is while_]
    assert [sum(i.op.name == "contract" for i in loop.body.instrs) for loop in loops] == [1]
