"""Tapes run step by step through the references of their ops: what is freed, written in place, copied, and said."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy
from wengert.ops.control import GuardMiss
from wengert.runtime.reference import Reference

X = np.arange(12.0).reshape(3, 4) - 4.5


def test_a_row_at_a_traced_integer_is_not_the_callers_memory() -> None:
    """A gather at integers alone gave a NumPy view of its operand; the next step in place wrote into the argument."""

    def f(x: Any, k: int) -> Any:
        row = x[k].copy()
        row[0] = 100.0
        return row

    as_numpy(f, X, 1)


@pytest.mark.parametrize(
    "native", [pytest.param(True, marks=pytest.mark.machine_code("both ways are compared")), False]
)
def test_errors_of_a_running_step_say_the_line(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """``LinAlgError: Singular matrix`` pointed at the call of the compiled function, and into the library."""
    monkeypatch.setattr(wg.config, "native", native)

    def inverse(a: Any) -> Any:
        b = a * 2
        c = np.linalg.inv(b)  # here: inverse
        return np.sum(c)

    def power(x: Any, n: Any) -> Any:
        y = x + 1
        z = y**n  # here: power
        return z * 2 + x

    @wg.primitive
    def strict(x: Any) -> Any:
        if x[0] < 0:
            raise ValueError("negative")
        return x

    def own(x: Any) -> Any:
        y = strict(x)  # here: own
        return y * 2

    def indexed(x: Any, i: Any) -> Any:
        return np.sin(x[i + 1])  # here: indexed

    for f, good, bad, error in [
        (inverse, (np.eye(2),), (np.zeros((2, 2)),), np.linalg.LinAlgError),
        (power, (np.arange(3), 1), (np.arange(3), -1), ValueError),
        (own, (np.ones(2),), (-np.ones(2),), ValueError),
        (indexed, (np.ones(3), 1), (np.ones(3), 7), IndexError),
    ]:
        g = wg.jit(f)
        g(*good)
        with pytest.raises(error) as raised:
            g(*bad)
        assert [f"# here: {f.__name__}" in note for note in raised.value.__notes__] == [True]
        g(*good)
    with pytest.raises(np.linalg.LinAlgError) as raised:
        wg.grad(inverse)(np.zeros((2, 2)))
    assert "# here: inverse" in raised.value.__notes__[0]


def reference(f: Callable[..., Any], *args: Any) -> Reference:
    return Reference(wg.trace(f)(*args))


def in_place(steps: Reference) -> list[bool]:
    """Of each step, whether it overwrites its first operand."""
    return ["_writable" in repr(getattr(run, "func", run)) for _, run, *_ in steps.steps]


def test_the_outputs_are_what_numpy_gives() -> None:
    f = lambda x, y: (np.sin(x) @ y, np.sum(x, axis=0), 2.0, x > 0)
    args = [X, np.ones(4)]
    for got, want in zip(reference(f, *args).run(args), f(*args), strict=True):
        np.testing.assert_array_equal(got, want)
        assert np.asarray(got).dtype == np.asarray(want).dtype and np.shape(got) == np.shape(want)


def test_a_slot_is_emptied_after_its_last_use() -> None:
    """The argument's is the caller's; what is returned stays."""
    *_, outs, dead = zip(*reference(lambda x: np.exp(np.cos(np.sin(x))), X).steps, strict=True)
    assert list(dead) == [[], [outs[0]], [outs[1]]]
    *_, dead = zip(*reference(lambda x: (np.sin(x), np.cos(np.sin(x)))[0], X).steps, strict=True)
    assert dead[0] == []


def test_a_loop_of_writes_overwrites_one_array() -> None:
    """The first copies, for the array may be the caller's; the others cost what they cost in NumPy."""

    def f(x: Any) -> Any:
        y = x * 1.0
        for k in range(3):
            y[k, 0] = float(k)
        return y

    program = reference(f, X)
    assert [i.op.name for i in program.tape.instrs] == ["set_slice"] * 3  # x * 1.0 is no step
    assert in_place(program) == [False, True, True]
    x = X.copy()
    (got,) = program.run([x])
    np.testing.assert_array_equal(got, f(X))
    np.testing.assert_array_equal(x, X)


def test_what_a_view_still_needs_is_not_overwritten() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        old = y[0].copy()
        y[0] = 7.0
        return y + old

    np.testing.assert_array_equal(reference(f, X).run([X])[0], f(X))

    def g(x: Any) -> Any:  # the row is read once more, after the write
        y = x * 1.0
        row = np.array(y[0])
        y[0, 1] = 7.0
        return row, y

    for got, want in zip(reference(g, X).run([X]), g(X), strict=True):
        np.testing.assert_array_equal(got, want)


def test_results_share_memory_with_nothing() -> None:
    c = np.arange(3.0)
    program, x = reference(lambda x: (x, x.T, c, x[1:], x * 1.0, x), X), X.copy()
    results = program.run([x])
    for k, y in enumerate(results):
        assert y.flags.writeable and not any(np.shares_memory(y, z) for z in (x, c, *results[:k]))


def test_captured_arrays_are_read_where_they_lie_or_given() -> None:
    c = np.ones(3000)
    program = reference(lambda x: x * c, 2.0)
    c[:] = 3.0
    assert program.run([np.asarray(2.0)])[0][0] == 6.0
    assert program.run([np.asarray(2.0)], [np.full(3000, 5.0)])[0][0] == 10.0


def test_a_guard_that_does_not_hold_raises() -> None:
    program = reference(lambda x: x if x > 0 else -x, 1.0)
    assert program.run([np.asarray(2.0)]) == [2.0]
    with pytest.raises(GuardMiss):
        program.run([np.asarray(-2.0)])


def test_arithmetic_is_quiet() -> None:
    """A backward part divides by zero where a mask will not look; warnings are errors here."""
    assert reference(lambda x: 1 / x, 1.0).run([np.asarray(0.0)]) == [np.inf]


def test_threads_run_one_at_once() -> None:
    program = reference(lambda x: np.sum(np.sin(x) * x, axis=0), X)
    inputs = [np.full((3, 4), float(k)) for k in range(8)]
    results: list[Any] = [None] * 8

    def work(k: int) -> None:
        for _ in range(50):
            (results[k],) = program.run([inputs[k]])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(8):
        np.testing.assert_allclose(results[k], 3 * k * np.sin(k), rtol=1e-15)


def test_results_are_in_c_order_as_those_of_machine_code() -> None:
    """A write through ``r.ravel()`` reached ``r`` when machine code had made it, and not before."""
    x = np.arange(6.0).reshape(2, 3)
    results = [
        wg.jit(lambda x: x.T + 1.0)(x),
        wg.vmap(lambda y: np.zeros(2))(x),
        wg.vmap(lambda y: np.outer(y, y).T + 1.0)(x),
        wg.grad(lambda x: np.sum((x.T + np.ones((3, 2))) ** 2))(x),
        *wg.jvp(lambda x: x.T + 1.0, (x,), (x,)),
    ]
    for r in results:
        assert r.flags.c_contiguous
