"""What fused layers promise, by the names of the checks: arrays that are stored, and that nothing is written over which
somebody still reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn

N = 100
RNG = np.random.default_rng(0)
W, X = RNG.normal(size=(N, N)).astype("f"), RNG.random((N, N)).astype("f")
B = RNG.random(N).astype("f")
ARRAY = 4 * N * N  # bytes

SPELLINGS: dict[str, Callable[..., Any]] = {
    "named": lambda w, x, b: np.tanh(nn.linear(x, w, b)),
    "plain": lambda w, x, b: np.tanh(x @ w.T + b),
    "in place": lambda w, x, b: _in_place(w, x, b),
}


def _in_place(w: Any, x: Any, b: Any) -> Any:
    y = np.dot(x, w.T)
    y += b
    return np.tanh(y)


def by_hand(w: Any, x: Any, b: Any) -> tuple[Any, ...]:
    """Of the sum of squares."""
    y = np.tanh(x.astype(float) @ w.T.astype(float) + b)
    dz = 2 * y * (1 - y**2)
    return dz.T @ x, dz @ w, dz.sum(0)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_gradients_take_three_arrays_with_the_results(spelling: str) -> None:
    """These are dw, dx, and one between them: dz is written over the output, since the pullback runs once."""
    f = SPELLINGS[spelling]
    gradient = wg.jit(wg.grad(lambda w, x, b: np.sum(f(w, x, b) ** 2), (0, 1, 2)))
    for a, c in zip(gradient(W, X, B), by_hand(W, X, B), strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-3, atol=1e-2)
    program = gradient.program(W, X, B)
    assert program.arena_bytes <= ARRAY + 4096
    assert len(program.kernels) <= 5 and all(k.kind in ("loops", "BLAS") for k in program.kernels)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_pullback_of_which_the_output_is_held_takes_four(spelling: str) -> None:
    """These are the output, dz, dw and dx; and twice in one program, one dz after the other."""
    f = SPELLINGS[spelling]

    def pulled(w: Any, x: Any, b: Any, ct: Any) -> Any:
        y, pullback = wg.vjp(f, w, x, b)
        return y, pullback(ct)

    def pulled_twice(w: Any, x: Any, b: Any, ct: Any) -> Any:
        _, pullback = wg.vjp(f, w, x, b)
        return pullback(ct), pullback(2 * ct)

    ct = RNG.normal(size=(N, N)).astype("f")
    once, twice = wg.jit(pulled), wg.jit(pulled_twice)
    assert once.program(W, X, B, ct).arena_bytes <= ARRAY + 4096
    assert twice.program(W, X, B, ct).arena_bytes <= 2 * ARRAY + 4096
    y, cotangents = once(W, X, B, ct)
    np.testing.assert_allclose(y, f(W, X, B), rtol=1e-4, atol=1e-5)
    for first, a, c in zip(cotangents, *twice(W, X, B, ct), strict=True):
        np.testing.assert_allclose(a, first, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(2 * a, c)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_pullback_may_be_called_again(spelling: str) -> None:
    """Nothing that it reads is then written over."""
    f = SPELLINGS[spelling]
    y, pullback = wg.vjp(lambda w, x, b: f(w, x, b), W, X, B)
    kept = np.array(y)
    first = pullback(2 * y)
    for _ in range(3):
        for a, c in zip(pullback(2 * y), first, strict=True):
            np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(y, kept)
    for a, c in zip(first, by_hand(W, X, B), strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-3, atol=1e-2)
    small = W[:3, :3].astype(float), X[:2, :3].astype(float), B[:3].astype(float)
    jacobian = wg.jacobian(lambda b: f(small[0], small[1], b))(small[2])
    expected = np.stack([np.diag(1 - np.tanh(x @ small[0].T + small[2]) ** 2) for x in small[1]])
    np.testing.assert_allclose(jacobian, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_user_may_write_over_the_output(spelling: str) -> None:
    """The pullback has what it reads for itself."""
    y, pullback = wg.vjp(SPELLINGS[spelling], W, X, B)
    ct = np.array(2 * y)
    first = pullback(ct)
    y[...] = 7
    for a, c in zip(pullback(ct), first, strict=True):
        np.testing.assert_array_equal(a, c)
    assert np.all(y == 7)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_an_output_that_is_a_result_stays_as_it_is(spelling: str) -> None:
    """dz is not written over it, though the pullback runs once."""
    f = SPELLINGS[spelling]

    def loss(w: Any, x: Any, b: Any) -> Any:
        y = f(w, x, b)
        return np.sum(y**2), y

    gradient = wg.jit(wg.grad(loss, (0, 1, 2), has_aux=True))
    found, y = gradient(W, X, B)
    np.testing.assert_allclose(y, f(W, X, B), rtol=1e-4, atol=1e-5)
    for a, c in zip(found, by_hand(W, X, B), strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-3, atol=1e-2)
    alone = wg.jit(wg.grad(lambda w, x, b: loss(w, x, b)[0], (0, 1, 2))).program(W, X, B)
    assert gradient.program(W, X, B).arena_bytes == alone.arena_bytes  # what was the output's is dz's


def test_what_somebody_else_holds_is_not_written_over() -> None:
    """The product is read again after the activation."""

    def loss(w: Any, x: Any, b: Any) -> Any:
        y = w @ x
        z = np.tanh(y + b)
        return np.sum(z**2) + np.sum(y * y)

    small = W[:6, :5].astype(float), X[:5, :4].astype(float), B[:4].astype(float)
    wg.check_derivatives(loss, *small)
    fast = wg.jit(wg.grad(loss, (0, 1, 2)))
    for a, c in zip(fast(*small), wg.grad(loss, (0, 1, 2))(*small), strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-10)
    held = wg.jit(lambda w, x, b: (lambda y: (y, np.tanh(y + b)))(w @ x))
    product, activated = held(W, X, B)
    np.testing.assert_allclose(product, W @ X, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(activated, np.tanh(product + B), rtol=1e-5, atol=1e-6)


@pytest.mark.machine_code("the plan of a program is looked at")
@pytest.mark.parametrize("n", [100, 300])
def test_bias_and_activation_are_one_pass_over_the_product(n: int) -> None:
    """The product is written once and read once."""
    w, x, b = [RNG.normal(size=s).astype("f") for s in ((n, n), (n, n), (n,))]
    program = wg.jit(lambda w, x, b: nn.relu(x @ w.T + b)).program(w, x, b)
    assert program.plan is not None
    product, epilogue = program.plan.steps
    assert product.outs[0].buffer in [place.buffer for place in epilogue.ins] and len(program.kernels) == 2
    touched = sum([place.aval.nbytes for step in program.plan.steps for place in (*step.ins, *step.outs)])
    assert touched == w.nbytes + x.nbytes + b.nbytes + 3 * 4 * n * n  # the product, twice, and the result
    assert program.arena_bytes <= 4 * n * n + 64


def test_small_products_are_ours_and_have_their_epilogue_inside() -> None:
    """Where the border lies is measured by benchmarks/bench_contract.py."""
    for n, kinds in ((8, {"loops"}), (64, {"loops"}), (1200, {"BLAS", "loops"})):
        w, x, b = [RNG.normal(size=s).astype("f") for s in ((n, n), (n, n), (n,))]
        program = wg.jit(lambda w, x, b: nn.relu(x @ w.T + b)).program(w, x, b)
        assert {k.kind for k in program.kernels} == kinds
        assert (len(program.kernels) == 1) == (n == 8)
