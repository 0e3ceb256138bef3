"""Constants are computed once, if they are not too large."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.passes.tapes import F64, VECTOR, tape
from wengert.edit import merge_common
from wengert.ops.elementwise import cos, tanh
from wengert.ops.reduce import sum_
from wengert.passes.fold_constants import fold_constants
from wengert.passes.simplify import drop_dead
from wengert.tape import Aval, Capture, Tape, Var

FOLDING = sys.modules["wengert.passes.fold_constants"]  # the function of the package has its name


def test_what_depends_on_constants_alone_is_computed_now() -> None:
    w = Capture(Var(VECTOR), np.array([0.0, 1.0, 2.0]), "w", is_constant=True)
    after = fold_constants(tape(lambda x, w: x * sum_(w * w, axis=(0,)), VECTOR, captures=(w,)))
    assert [line.strip() for line in str(drop_dead(after)).splitlines()[1:]] == [
        "v1: float64[3] = multiply(v0, 5.0)",
        "return v1",
    ]


def test_what_may_change_is_read_at_every_run() -> None:
    w = Capture(Var(VECTOR), np.zeros(3), "w")
    before = tape(lambda x, w: x * tanh(w), VECTOR, captures=(w,))
    assert str(fold_constants(before)) == str(before)


def test_folded_arrays_become_constants() -> None:
    w = Capture(Var(VECTOR), np.zeros(3), "w", is_constant=True)
    after = drop_dead(fold_constants(tape(lambda x, w: x + cos(w), VECTOR, captures=(w,))))
    assert len(after) == 1
    np.testing.assert_array_equal(after.captures[0].array, np.ones(3))
    assert after.captures[0].is_constant


def test_what_fails_is_left_to_fail_when_it_runs() -> None:
    from wengert.ops.linalg import inv

    zeros = Capture(Var(Aval((2, 2), F64)), np.zeros((2, 2)), "w", is_constant=True)
    before = tape(lambda w: inv(w), captures=(zeros,))
    assert [i.op.name for i in fold_constants(before).instrs] == ["inv"]


# ----------------------------------------------------------------------------------------------------- bounds


def constant_bytes(t: Tape) -> int:
    return sum([c.array.nbytes for c in t.captures])


def test_a_table_of_all_pairs_is_computed_at_each_call() -> None:
    """It would take 128 MB where the points take 32 kB."""
    points = wg.constant(np.linspace(0.0, 1.0, 4000))

    def f(x: Any) -> Any:
        return np.sum(np.exp(-((points[:, None] - points) ** 2)) * x)

    program = wg.jit(f).program(2.0)
    assert constant_bytes(program.tape) <= 2 * 4000 * 8
    assert program.arena_bytes < 1 << 20


def test_what_it_is_made_of_is_still_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FOLDING, "LEAST_BYTES", 4096)
    points = wg.constant(np.linspace(0.0, 1.0, 50))

    def f(x: Any) -> Any:
        y = np.sin(np.exp(points))
        return np.sum(y[:, None] * y * x)

    program = wg.jit(wg.grad(f)).program(2.0)
    assert [c.array.shape for c in program.tape.captures] == [(50, 1), (50,)]
    y = np.sin(np.exp(np.linspace(0.0, 1.0, 50)))
    np.testing.assert_allclose(wg.jit(wg.grad(f))(2.0), np.sum(np.outer(y, y)))


def test_what_is_dear_to_compute_is_computed_once_however_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FOLDING, "LEAST_BYTES", 4096)
    points = wg.constant(np.linspace(0.0, 1.0, 100))

    def f(x: Any) -> Any:
        table = np.exp(-np.abs(points[:, None] - points))
        return np.linalg.cholesky(table) @ x

    kinds = [i.op.name for i in wg.jit(f).program(np.ones(100)).tape.instrs]
    assert "cholesky" not in kinds


def test_values_are_let_go_when_nobody_reads_them_any_more() -> None:
    """A recurrence over rows kept the whole array at each row, and rows kept alive the array they were views of."""
    start = wg.constant(np.ones((100, 100)))

    def f(x: Any) -> Any:
        p, total = start.copy(), 0.0
        for k in range(1, 6):
            p[k] = 1.0 / (p[k - 1] + 3.0)
            total = total + x @ p[k]
        return total

    x = np.linspace(0.0, 1.0, 100)
    after = drop_dead(fold_constants(wg.trace(f)(x)))
    kept = [c.array for c in after.captures]
    assert len(kept) == 5
    assert sum([(c if c.base is None else c.base).nbytes for c in kept]) <= 5 * 100 * 8
    np.testing.assert_allclose(wg.compile(after)(x), f(x))


def test_values_that_nobody_reads_are_no_captures() -> None:
    w = Capture(Var(VECTOR), np.arange(3.0), "w", is_constant=True)
    after = fold_constants(tape(lambda x, w: x * sum_(cos(tanh(w)), axis=(0,)), VECTOR, captures=(w,)))
    assert after.captures == (w,)


def test_equal_constants_are_one_though_the_first_was_let_go() -> None:
    def f(x: Any, w: Any) -> Any:
        first = x * tanh(w)
        second = cos(first) * tanh(w)
        return x * tanh(w) + second

    w = Capture(Var(VECTOR), np.array([0.0, 1.0, 2.0]), "w", is_constant=True)
    after = merge_common(fold_constants(tape(f, VECTOR, captures=(w,))))
    assert [i.op.name for i in drop_dead(after).instrs] == ["multiply", "cos", "multiply", "add"]
    assert len([c for c in after.captures if c.name == "constant"]) == 1
