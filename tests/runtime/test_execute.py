"""Un-jitted calls: the program of a tape seen before is used again, and never the wrong one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import config
from wengert.ad.reverse import vjp
from wengert.passes.number_guards import without_guards
from wengert.runtime import execute
from wengert.runtime.execute import program_for, transformed, without_data
from wengert.tape import Aval, Capture, Var

X = np.array([0.5, -1.0, 2.0])


@pytest.fixture(autouse=True)
def an_empty_cache() -> None:
    execute.forget()


def test_equal_tapes_have_one_program() -> None:
    gradients = [wg.grad(lambda x: np.sum(np.sin(x) * 2)) for _ in range(5)]
    for gradient in gradients:
        np.testing.assert_array_equal(gradient(X), 2 * np.cos(X))
        gradient(X)
    assert len(execute._programs) == 1
    wg.grad(lambda x: np.sum(np.sin(x) * 3))(X)
    assert len(execute._programs) == 2


def test_programs_are_bounded_and_the_least_recent_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "max_programs", 3)
    for n in range(1, 10):
        np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x * x))(np.ones(n)), np.full(n, 2.0))
        assert len(execute._programs) <= 3


def test_a_transform_is_part_of_the_key() -> None:
    tape = wg.trace(lambda x: np.sum(x * x))(X)
    first = ((vjp, ((0,), (0,), "one", True, False)),)
    second = ((vjp, ((0,), (0,), "one", True, True)),)
    assert program_for(tape, first) is program_for(tape, first)
    assert program_for(tape, first) is not program_for(tape, second)
    assert transformed(tape, ()) is tape
    assert transformed(tape, first).runs_once


def test_a_primitive_is_not_kept_for_its_rules_may_change() -> None:
    @wg.primitive
    def double(x: Any) -> Any:
        return 2 * x

    double.def_pullback(lambda ct, y, x: (2 * ct,))
    assert wg.grad(double)(1.0) == 2
    assert len(execute._programs) == 0
    double.def_pullback(lambda ct, y, x: (20 * ct,))
    assert wg.grad(double)(1.0) == 20


def test_a_capture_without_data_has_its_type() -> None:
    capture = Capture(Var(Aval((1000, 1000), np.dtype(float))), np.ones((1000, 1000)), "c")
    hollow = without_data(capture)
    assert hollow.array.shape == (1000, 1000) and hollow.array.strides == (0, 0)
    assert hollow.var is capture.var and hollow.name == "c"


def test_guards_are_dropped_for_the_values_they_were_recorded_with() -> None:
    tape = wg.trace(lambda x: x if x > 0 else -x)(1.0)
    assert "guard" not in [i.op.name for i in without_guards(tape).instrs]
    plain = wg.trace(np.sin)(1.0)
    assert without_guards(plain) is plain


# ------------------------------------------------------------------- a run that follows what the last one recorded


def test_another_path_at_the_second_call() -> None:
    gradient = wg.grad(lambda x: x**3 if x > 0 else np.sin(x))
    for x in (2.0, -2.0, 2.0, 3.0, -1.0):
        assert gradient(x) == (3 * x**2 if x > 0 else np.cos(x))


def test_another_number_of_steps() -> None:
    """The second run is longer, then shorter: a beginning of the last one is not the last one."""
    n = 2

    def f(x: Any) -> Any:
        y = x
        for _ in range(n):
            y = y * x
        return y

    gradient = wg.grad(f)
    for count in (2, 3, 1, 0, 3, 2):
        n = count
        assert gradient(2.0) == (count + 1) * 2.0**count


def test_the_same_steps_and_another_result() -> None:
    which = 0
    gradient = wg.grad(lambda x: (x**3, x**2, 2 * x)[which])
    got = []
    for k in (0, 1, 2, 0):
        which = k
        got.append(gradient(3.0))
    assert got == [27, 6, 2, 27]


def test_other_literals() -> None:
    a = 1.0
    gradient = wg.grad(lambda x: x * a)
    got = []
    for value in (1.0, 2.0, 0.0, -0.0, 2.0):
        a = value
        got.append(gradient(3.0))
    assert got == [1, 2, 0, 0, 2] and np.signbit(got[3]) and not np.signbit(got[2])


def test_a_literal_of_another_type() -> None:
    a: Any = 2
    f = wg.value_and_grad(lambda x: np.sum(x * a))
    results = []
    for value in (2, 2.0, np.float64(2), np.float32(2)):
        a = value
        results.append(f(np.ones(2, np.float32)))
    assert [g.dtype for _, g in results] == [np.float32] * 4
    assert [v.dtype for v, _ in results] == [np.float32, np.float32, np.float64, np.float32]


def test_other_captured_arrays() -> None:
    c = np.array([1.0, 2.0, 3.0])
    gradient = wg.grad(lambda x: np.sum(x * c))
    np.testing.assert_array_equal(gradient(X), [1, 2, 3])
    c[0] = 5.0
    np.testing.assert_array_equal(gradient(X), [5, 2, 3])
    c = np.zeros(3)
    np.testing.assert_array_equal(gradient(X), [0, 0, 0])
    c = np.array(2.0)  # of another type
    np.testing.assert_array_equal(gradient(X), [2, 2, 2])
    assert len(execute._programs) == 2


def test_large_captured_arrays() -> None:
    """They are not copied but locked while the function runs, and are the caller's again afterwards."""
    c = np.ones(5000)
    gradient = wg.grad(lambda x: np.sum(x * c))
    for k in range(3):
        c[:] = k
        np.testing.assert_array_equal(gradient(np.ones(5000)), c)
        assert c.flags.writeable


def test_one_captured_array_twice_and_then_two() -> None:
    a, b = np.ones(3), np.ones(3)
    pair = [a, a]
    gradient = wg.grad(lambda x: np.sum(x * pair[0] * pair[1]))
    gradient(X)
    pair = [a, b]
    b[:] = 3.0
    np.testing.assert_array_equal(gradient(X), [3, 3, 3])
    pair = [b, b]
    np.testing.assert_array_equal(gradient(X), [9, 9, 9])


def test_an_exception_in_between() -> None:
    fail = False

    def f(x: Any) -> Any:
        y = np.sin(x)
        if fail:
            raise RuntimeError("in between")
        return y * x

    gradient = wg.grad(f)
    want = gradient(2.0)
    fail = True
    with pytest.raises(RuntimeError, match="in between"):
        gradient(2.0)
    fail = False
    assert gradient(2.0) == want == np.sin(2.0) + 2 * np.cos(2.0)


def test_other_argument_types() -> None:
    gradient = wg.grad(lambda x: np.sum(x * x))
    for x in (np.ones(3), np.ones(2), np.ones(3, np.float32), 2.0, np.ones((2, 2)), np.ones(3)):
        got = gradient(x)
        np.testing.assert_array_equal(got, 2 * x)
        assert got.dtype == np.asarray(x).dtype


def test_the_same_function_inside_of_itself() -> None:
    """The inner run must not follow the tape of the outer one, nor leave its own behind for it."""
    f = wg.grad(lambda x, depth: x**3 if depth == 0 else f(x, depth - 1) * x)
    assert f(2.0, 0) == 12  # 3x²
    assert f(2.0, 1) == 36  # (3x² x)' = 9x²
    assert f(2.0, 2) == 108  # (9x² x)' = 27x²
    assert f(2.0, 0) == 12


def test_a_run_within_an_enclosing_trace_does_not_follow() -> None:
    inner = wg.grad(lambda x: np.sin(x) * 2)
    assert inner(1.0) == 2 * np.cos(1.0)
    assert wg.grad(inner)(1.0) == -2 * np.sin(1.0)
    np.testing.assert_allclose(wg.vmap(inner)(X), 2 * np.cos(X))
    assert inner(1.0) == 2 * np.cos(1.0)


def test_constants_go_through_inside_of_a_trace() -> None:
    """A derivative at values that the enclosing trace does not know is a number there."""

    def f(x: Any) -> Any:
        slope = wg.grad(lambda t: t**3)(2.0)
        table = wg.grad(lambda t: np.sum(t**2))(np.arange(3.0))
        return slope * x + np.sum(table * x)

    assert wg.grad(f)(1.0) == 18
    assert wg.jit(f)(1.0) == 18


def test_equal_steps_of_other_lines_say_their_own() -> None:
    """Un-jitted gradients share programs; the line is that of the function that was called."""
    first = wg.grad(lambda a: np.sum(np.linalg.inv(a)))  # first
    second = wg.grad(lambda a: np.sum(np.linalg.inv(a)))  # second
    for f, name in (first, "first"), (second, "second"), (first, "first"):
        with pytest.raises(np.linalg.LinAlgError) as raised:
            f(np.zeros((2, 2)))
        assert raised.value.__notes__[0].endswith(f"# {name}")
