"""What is looked at is guarded, once it has been evaluated; and nothing else is evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.tracing.inputs import argument
from wengert.tape import Lit
from wengert.tracing import looking
from wengert.tracing.looking import evaluate, look
from wengert.tracing.trace import Trace


def test_a_derivative_inside_vmap_does_not_look_at_the_first_example() -> None:
    """The branch that the first example takes was taken for all of them."""

    def f(x: Any) -> Any:
        return np.sum(x) * (2 if x[0] > x[1] else 3)

    examples = np.array([[1.0, 2.0], [2.0, 1.0]])
    for inside in (wg.grad(f), wg.hessian(f), lambda x: wg.jvp(f, (x,), (x,))[1], lambda x: wg.vjp(f, x)[1](1.0)):
        for mapped in (wg.vmap(inside), wg.jit(wg.vmap(inside))):
            with pytest.raises(wg.errors.ConcretizationError, match=r"vmap runs all examples at once(.|\n)*np\.where"):
                mapped(examples)
    scaled = wg.vmap(lambda x: x * wg.grad(lambda y: y * (2.0 if y > 1 else 3.0))(5.0))  # this is no example's
    np.testing.assert_array_equal(scaled(examples), 2 * examples)


def test_an_array_that_is_looked_at_is_guarded_as_a_whole() -> None:
    f = wg.jit(lambda x, n: np.repeat(x, n))
    x = np.array([1.0, 2.0])
    for n in ([1, 2], [2, 1], [1, 2], [0, 0]):
        np.testing.assert_array_equal(f(x, np.array(n)), np.repeat(x, n))
    assert f.stats()["traces"] == 3


def test_nothing_is_evaluated_unless_a_guard_needs_it() -> None:
    with Trace("f").opened() as trace:
        x = argument(trace, 2.0)
        y, z = np.exp(x), np.sin(x)
        assert not trace.looking.values
        assert evaluate(trace, y.atom()) == np.exp(2.0)
        assert set(trace.looking.values) == {x.atom(), y.atom()} and z.atom() not in trace.looking.values


def test_a_look_is_a_guard_of_the_innermost_trace() -> None:
    """Whoever the value belongs to: guards stay in the order of the looks."""
    with Trace("outer").opened() as outer:
        x = argument(outer, 2.0)
        with Trace("inner").opened() as inner:
            assert look(outer, x.atom(), "bool", x) == 2.0
        (instr,) = inner.builder.instrs
        assert instr.op.name == "guard" and instr.params["kind"] == "bool"
        assert not outer.builder.instrs
        assert look(outer, Lit(3.0), "bool", x) == 3.0


def test_a_long_chain_is_evaluated_without_recursion() -> None:
    with Trace("f").opened() as trace:
        x = argument(trace, 1.0)
        y = x
        for _ in range(5000):
            y = y + 1.0
        assert evaluate(trace, y.atom()) == 5001


def test_values_of_a_loop_that_looks_in_each_iteration_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """The values of all iterations were kept."""
    monkeypatch.setattr(looking, "MOST_BYTES", 1 << 14)
    with Trace("f").opened() as trace:
        x = argument(trace, np.ones(64))
        before = np.exp(x)
        y, most = before, 0
        for k in range(200):
            y = y * 2.0 - 1.0
            assert look(trace, (y.sum() > k).atom(), "bool", y)
            most = max(most, sum(v.aval.nbytes for v in trace.looking.values))
        assert most <= (1 << 14) + 2 * 64 * 8
        assert before.atom() not in trace.looking.values
        np.testing.assert_array_equal(evaluate(trace, before.atom()), np.exp(np.ones(64)))
        evaluate(trace, (y + before).atom())
        np.testing.assert_allclose(evaluate(trace, y.atom()), 1 + (np.e - 1) * 2.0**200)


def test_python_code_of_the_users_is_not_run_again_for_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[int]()

    @wg.primitive
    def doubled(x: Any) -> Any:
        calls.append(1)
        return 2 * x

    def f(x: Any) -> Any:
        once = y = doubled(x)
        while y.sum() < 1e20:
            y = y * 2.0 + 1.0
        return y if once.sum() > 1 else -y

    counts = list[int]()
    for most in (1 << 30, 1 << 30, 1 << 14):  # the type of its result is known from the second run on
        monkeypatch.setattr(looking, "MOST_BYTES", most)
        calls.clear()
        assert wg.jit(f)(np.ones(64)).sum() > 1e20
        counts.append(len(calls))
    assert counts[1] == counts[2]


def test_what_comes_of_captured_arrays_of_an_enclosing_trace_may_be_seen_by_code_that_is_not_traced() -> None:
    """It was refused within a derivative, where the captured array is an implicit input, and not outside of one."""
    weights = np.array([1.0, 2.0])

    def f(x: Any) -> Any:
        scaled = weights * 3
        return wg.grad(lambda y: y * np.frombuffer(bytes(memoryview(np.asarray(scaled * 2))))[1])(x)

    jitted = wg.jit(f, strict=True)
    assert jitted(2.0) == 12.0
    weights[1] = 5.0
    assert jitted(2.0) == 30.0
