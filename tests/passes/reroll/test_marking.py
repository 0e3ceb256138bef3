"""An array that loops read in part has no cotangent where no iteration reads it, also when the loops are rolled up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.ops.control import only_where
from wengert.passes.reroll.marking import marked

N = 60
A = np.random.default_rng(3).uniform(0.5, 1.5, (N, N))


def prefix(a: Any) -> Any:
    b, x = np.sqrt(a), np.zeros(N)
    for i in range(N):
        x[i] = 1.0 + np.sum(b[0, :i] * x[:i]) * 0.01
    return np.sum(x * x)


def below_the_diagonal(a: Any) -> Any:
    b, x = np.sqrt(a), np.zeros(N)
    for i in range(N):
        x[i] = 1.0 + b[i, :i] @ x[:i] * 0.01
    return np.sum(x * x)


def above_the_diagonal(a: Any) -> Any:
    b, x = np.sqrt(a), np.zeros(N)
    for i in range(N - 1, -1, -1):
        x[i] = 1.0 + b[i, i + 1 :] @ x[i + 1 :] * 0.01
    return np.sum(x * x)


def into_another(a: Any) -> Any:
    b, c = np.sqrt(a), np.zeros((N, N))
    for i in range(N):
        c[i, :i] = b[i, :i] * 2.0
    return np.sum(c * c)


def in_place(a: Any) -> Any:
    b, total = np.sqrt(a), 0.0
    for i in range(N):
        b[i, :i] = b[i, :i] * 2.0
        total = total + np.sum(b[i, :i])
    return total


def overwritten(a: Any) -> Any:
    """The diagonal is overwritten before it is read."""
    b = np.sqrt(a)
    for i in range(N):
        b[i, i] = 1.0
        b[i, : i + 1] = b[i, : i + 1] * 0.5
    return np.sum(b[:, 0] ** 2) + np.sum(b)


LOOPS = [prefix, below_the_diagonal, above_the_diagonal, into_another, in_place, overwritten]


def unread(f: Any, a: Any) -> Any:
    """Return where ``f`` reads nothing, by a derivative where all elements are positive."""
    return wg.grad(f)(a) == 0


@pytest.mark.sampled(3, "a second and a half each where the machine code is new")
@pytest.mark.parametrize("f", LOOPS, ids=[f.__name__ for f in LOOPS])
def test_an_infinite_derivative_does_not_count_where_nothing_is_read(f: Any) -> None:
    a = np.where(unread(f, A), 0.0, A)
    assert (a == 0).any()
    step = wg.jit(wg.value_and_grad(f))
    value, found = step(a)
    assert any("scan" in k.name for k in step.program(a).kernels)
    np.testing.assert_allclose(value, f(a), rtol=1e-12)
    np.testing.assert_allclose(found, wg.grad(f)(a), rtol=1e-9)
    np.testing.assert_allclose(found, wg.jit(wg.grad(f), reroll=False)(a), rtol=1e-9)
    assert np.isfinite(found).all()
    tangent = wg.jit(lambda x, dx: wg.jvp(f, (x,), (dx,))[1])(a, A * (a != 0))
    np.testing.assert_allclose(tangent, np.sum(found * A), rtol=1e-9)


def test_batches_keep_what_counts() -> None:
    zeros = np.where(np.tri(N, k=-1, dtype=bool), A, 0.0)
    both = np.array([zeros, 2 * zeros])
    found = wg.jit(wg.vmap(wg.grad(below_the_diagonal)))(both)
    np.testing.assert_allclose(found, [wg.grad(below_the_diagonal)(a) for a in both], rtol=1e-9)


def test_a_mask_costs_nothing_where_no_derivative_reads_it() -> None:
    program = wg.jit(below_the_diagonal).program(A)
    assert not any("less" in k.name for k in program.kernels)


def test_marks_are_put_behind_what_is_read_in_part() -> None:
    tape = wg.trace(below_the_diagonal)(A)
    (mark,) = [i for i in marked(tape).instrs if i.op is only_where]
    (made,) = [i for i in tape.instrs if mark.ins[0] in i.outs]
    assert made.op.name == "sqrt"

    def whole(a: Any) -> Any:
        b = np.sqrt(a)
        return sum(np.sum(b[i]) * i for i in range(N))

    tape = wg.trace(whole)(A)
    assert marked(tape) is tape
