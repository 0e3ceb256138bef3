"""What ``trace``, ``compile``, ``jit`` and ``constant`` return for every kind of argument."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import close
from wengert.errors import (
    GuardError,
    NotDifferentiableError,
    StructureError,
)

X = np.array([0.5, -1.0, 2.0])
V = np.array([1.0, 0.25, -0.5])


# ------------------------------------------------------------------------------------------------------------- constant


def test_constant_is_a_frozen_copy() -> None:
    frozen = wg.constant({"x": X, "n": 3})
    assert frozen["n"] == 3 and frozen["x"] is not X and not frozen["x"].flags.writeable
    assert X.flags.writeable
    close(wg.grad(lambda x: np.sum(x * frozen["x"]))(V), X)
    with pytest.raises(NotDifferentiableError, match="stop_gradient"):
        wg.grad(lambda x: wg.constant(x) * x)(3.0)


# ---------------------------------------------------------------------------------------------------- trace and compile


def test_trace_and_compile() -> None:
    tape = wg.trace(lambda p, flag, *, n: np.sum(p["x"] ** n) if flag else 0.0)({"x": X}, True, n=3)
    assert [i.op.name for i in tape.instrs] == ["convert", "power", "sum"]
    assert wg.check(tape) is tape
    program = wg.compile(tape)
    close(program({"x": V}, True, n=3), np.sum(V**3))
    close(program({"x": V}, True, n=2), np.sum(V**2))


def test_a_compiled_tape_holds_on_its_path() -> None:
    tape = wg.trace(lambda x: 2 * x if x > 0 else x)(1.0)
    program = wg.compile(tape)
    assert program(3.0) == 6
    with pytest.raises(GuardError, match="bool was True"):
        program(-3.0)


def test_trace_of_a_gradient_is_its_tape() -> None:
    tape = wg.trace(wg.grad(lambda x: np.sum(np.exp(x))))(X)
    close(wg.compile(tape)(V), np.exp(V))
    assert wg.format_tree(tape).count("exp") >= 1


# ------------------------------------------------------------------------------------------------------------------ jit


def test_jit_of_methods() -> None:
    class Model:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        @wg.jit
        def __call__(self, x: Any) -> Any:
            return self.scale * x

        @wg.jit
        def shifted(self, x: Any, by: float = 1.0) -> Any:
            return self.scale * x + by

    two, three = Model(2.0), Model(3.0)
    for _ in range(2):
        close(two(X), 2 * X)
        close(three(X), 3 * X)
        close(two.shifted(X), 2 * X + 1)
        close(three.shifted(X, by=0.5), 3 * X + 0.5)
    two.scale = 5.0
    close(two(X), 5 * X)
    assert type(Model.shifted).__name__ == "Jit"


def test_jit_takes_keywords_and_static_leaves() -> None:
    @wg.jit
    def f(x: Any, mode: str = "sin", *, twice: bool = False, none: Any = None) -> Any:
        y = {"sin": np.sin, "cos": np.cos}[mode](x)
        assert none is None
        return 2 * y if twice else y

    for _ in range(2):
        close(f(X), np.sin(X))
        close(f(X, "cos"), np.cos(X))
        close(f(X, mode="cos", twice=True), 2 * np.cos(X))
        close(f(X, twice=False), np.sin(X))
    assert f.stats()["traces"] == 4


def test_a_bool_is_static_and_a_number_is_not() -> None:
    f = wg.jit(lambda x, k: x * k)
    assert [f(2.0, 1), f(2.0, 5), f(2.0, 3.0)] == [2, 10, 6]
    assert f.stats()["traces"] == 2
    assert [f(2.0, True), f(2.0, False)] == [2, 0]
    assert f.stats()["traces"] == 4


def test_jit_of_jit() -> None:
    inner = wg.jit(lambda x: np.sin(x) * 2)
    outer = wg.jit(lambda x: inner(inner(x)))
    close(outer(X), 2 * np.sin(2 * np.sin(X)))
    close(wg.grad(lambda x: np.sum(outer(x)))(X), 4 * np.cos(X) * np.cos(2 * np.sin(X)))
    assert inner.stats()["calls"] in (0, 2)  # its steps are recorded in the outer one


def test_jit_counts_what_it_does() -> None:
    f = wg.jit(lambda x: x if np.sum(x) > 0 else -x)
    for x in (X, X, -X, -X, X, np.ones(2)):
        f(x)
    stats = f.stats()
    assert stats["calls"] == 6
    assert stats["traces"] == 3
    assert stats["guard_misses"] == 2
    assert stats["sibling_hits"] == 1
    assert stats["specialisations"] == 3
    assert stats["environment_misses"] == 0
    assert stats["compile_s"] > 0
    assert stats["unrepeatable"] == ""
    f.clear()
    assert f.stats()["specialisations"] == f.stats()["calls"] == 0
    close(f(X), X)


def test_out_takes_a_structure() -> None:
    f = wg.jit(lambda x: (x * 2, {"s": x + 1}))
    out = (np.empty(3), {"s": np.empty(3)})
    assert f(X, out=out) is out
    close(out[0], 2 * X)
    close(out[1]["s"], X + 1)


def test_out_may_be_an_argument() -> None:
    x = X.copy()
    assert wg.jit(lambda x: x[::-1] * 2)(x, out=x) is x
    close(x, X[::-1] * 2)


@pytest.mark.parametrize("out", [np.empty(4), np.empty(3, np.float32), np.empty(3).tolist(), None, (np.empty(3),)])
def test_out_of_another_type_is_refused(out: Any) -> None:
    f = wg.jit(lambda x: x * 2)
    if out is None:
        close(f(X, out=None), 2 * X)
    else:
        with pytest.raises(StructureError, match="out"):
            f(X, out=out)


def test_read_only_out_is_refused_before_anything_is_written() -> None:
    first, second = np.zeros(3), np.zeros(3)
    second.flags.writeable = False
    with pytest.raises(wg.errors.StructureError, match="read-only"):
        wg.jit(lambda x: (x * 2, x * 3))(np.ones(3), out=(first, second))
    np.testing.assert_array_equal(first, np.zeros(3))


def test_a_parameter_called_out() -> None:
    """Its argument was overwritten with the result."""
    for f in (lambda x, out=3.0: x + out, lambda x, out: x + out):
        g, room = wg.jit(f), np.array([10.0, 20.0, 30.0])
        np.testing.assert_array_equal(g(X, room), X + room)
        for _ in range(2):
            with pytest.raises(wg.errors.StructureError, match="parameter out"):
                g(X, out=room)
        np.testing.assert_array_equal(room, [10, 20, 30])
    room = np.empty(3)
    for f in (lambda x, out=None: x + 1, lambda x, out=5.0, /: x + 1):
        assert wg.jit(f)(X, out=room) is room
        np.testing.assert_array_equal(room, X + 1)


def test_out_inside_of_a_trace_is_written_too() -> None:
    """It used to be ignored when an enclosing transform recorded the steps."""
    double = wg.jit(lambda x: x * 2)

    def f(x: Any) -> Any:
        out = np.zeros(3)
        double(x, out=out)
        return np.sum(out * x)

    close(f(X), 2 * np.sum(X**2))
    close(wg.grad(f)(X), 4 * X)
    with pytest.raises(StructureError, match="out"):
        wg.grad(lambda x: np.sum(double(x, out=np.zeros(2))))(X)


def test_jit_of_a_function_that_captured_a_value_being_differentiated() -> None:
    """It used to raise: only the arguments of the call were asked whether they are traced."""
    close(wg.grad(lambda t: np.sum(wg.jit(lambda x: x * t**2)(X)))(2.0), 4 * X.sum())
    close(wg.jvp(lambda t: wg.jit(lambda: t**2)(), (3.0,), (1.0,)), (9.0, 6.0))
    outer = wg.jit(wg.grad(lambda t: np.sum(wg.jit(lambda x: x * t**2)(X))))
    close(outer(2.0), 4 * X.sum())
    close(outer(3.0), 6 * X.sum())


def test_the_program_of_a_call() -> None:
    f = wg.jit(wg.grad(lambda x: np.sum(x**3)))
    program = f.program(X)
    close(program(V), 3 * V**2)
    assert f.program(X) is program
    assert f.program(np.ones(2)) is not program


def test_specs_stand_for_arrays_where_shapes_alone_are_asked() -> None:
    x = wg.spec((2, 3), "float64")
    assert x is wg.spec([np.int64(2), 3], float) and (x.shape, x.dtype, x.size) == ((2, 3), np.float64, 6)
    assert wg.spec(3) is wg.spec((3,), np.float64)
    f = lambda x, scale, *, square: {"y": x @ np.ones((3, 4)) * scale, "n": (x**2 if square else x).sum()}
    found = wg.spec_of(f)(x, 2.0, square=True)
    assert found == {"y": wg.spec((2, 4), "float64"), "n": wg.spec((), "float64")}
    assert found == wg.spec_of(f)(np.zeros((2, 3)), 2.0, square=False)
    assert [i.op.name for i in wg.trace(f)(x, 2.0, square=False).instrs] == ["contract", "multiply", "sum"]


def test_specs_have_no_values_to_look_at() -> None:
    with pytest.raises(wg.errors.ConcretizationError, match="shapes and dtypes alone"):
        wg.spec_of(lambda x: x if x.sum() > 0 else -x)(np.ones(3))
    with pytest.raises(wg.errors.ShapeError, match="negative"):
        wg.spec((2, -1))


def test_specs_of_what_is_being_traced() -> None:
    f = lambda x: np.zeros(wg.spec_of(lambda y: y[0])(x).shape) + x[1]
    close(wg.jit(f)(np.ones((3, 2))), np.ones(2))
    close(wg.grad(lambda x: np.sum(f(x) ** 2))(np.ones((3, 2))), [[0, 0], [2, 2], [0, 0]])


def test_compile_takes_a_tape_and_says_so() -> None:
    for value in (np.sin, lambda x: x, np.ones(3), None, "tape", wg.jit(np.sin)):
        with pytest.raises(
            StructureError, match=r"compile: tape is .*; expected a Tape\n  try    wg.compile\(wg.trace"
        ):
            wg.compile(value)


def test_fastmath_of_no_function_is_refused() -> None:
    """It was an error of Python's at the first call."""
    with pytest.raises(wg.errors.ArgumentError, match="fastmath: f is 3; expected a function"):
        wg.fastmath()(cast(Any, 3))
