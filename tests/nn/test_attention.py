"""Attention against a loop over tokens and heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn

RNG = np.random.default_rng(0)
Q, K, V = RNG.normal(size=(2, 3, 8)), RNG.normal(size=(2, 5, 8)), RNG.normal(size=(2, 5, 4))


def by_loop(q: Any, k: Any, v: Any, allowed: Any, heads: int) -> Any:
    out = np.zeros((*q.shape[:2], v.shape[2]))
    n, m = q.shape[2] // heads, v.shape[2] // heads
    for s in range(q.shape[0]):
        for h in range(heads):
            for t in range(q.shape[1]):
                scores = [q[s, t, h * n :][:n] @ k[s, u, h * n :][:n] / np.sqrt(n) for u in range(k.shape[1])]
                weights = np.exp(scores) * allowed[s, t]
                if weights.sum():
                    out[s, t, h * m : (h + 1) * m] = weights / weights.sum() @ v[s, :, h * m : (h + 1) * m]
    return out


@pytest.mark.sampled(15, "each arrangement is compiled")
@pytest.mark.parametrize("heads", [None, 1, 2, 4])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_attention(heads: int | None, causal: bool, masked: bool) -> None:
    mask = RNG.random((2, 3, 5)) < 0.6 if masked else None
    if mask is not None:
        mask[1, 2] = False
    allowed = np.ones((2, 3, 5), bool) if mask is None else mask
    if causal:
        allowed = allowed & nn.causal_mask(3, 5)
    f = lambda q, k, v: nn.attention(q, k, v, mask, causal=causal, heads=heads)
    np.testing.assert_allclose(f(Q, K, V), by_loop(Q, K, V, allowed, heads or 1), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(wg.jit(f)(Q, K, V), f(Q, K, V), rtol=1e-10, atol=1e-12)
    wg.check_derivatives(f, Q, K, V)


def test_a_token_that_may_look_nowhere_gets_zeros_and_no_cotangent() -> None:
    nowhere = np.zeros((3, 5), bool)
    np.testing.assert_array_equal(nn.attention(Q, K, V, nowhere), 0)
    np.testing.assert_array_equal(wg.grad(lambda q: np.sum(nn.attention(q, K, V, nowhere)))(Q), 0)


def test_scale_bias_and_float32() -> None:
    np.testing.assert_allclose(nn.attention(Q, K, V, scale=0.0), np.broadcast_to(V.mean(1, keepdims=True), (2, 3, 4)))
    bias = np.array([0, -800.0, -800, -800, -800])
    np.testing.assert_allclose(nn.attention(Q, K, V, bias=bias), np.broadcast_to(V[:, :1], (2, 3, 4)))
    q, k, v = [x.astype("f") for x in (Q, K, V)]
    assert nn.attention(q, k, v, causal=True, heads=2).dtype == np.float32


def test_shapes_that_do_not_fit() -> None:
    for call in (lambda: nn.attention(Q, K[..., :4], V), lambda: nn.attention(Q, K, V[:, :2])):
        with pytest.raises(wg.errors.ShapeError, match="attention: q"):
            call()
    with pytest.raises(wg.errors.ShapeError, match="8 is not a multiple of the number of heads, 3"):
        nn.attention(Q, K, V, heads=3)


def test_positions() -> None:
    p = nn.sinusoidal_positions(7, 6)
    angles = [3, 3 * 1e4 ** (-1 / 3), 3 * 1e4 ** (-2 / 3)]
    np.testing.assert_allclose(p[3], [*np.sin(angles), *np.cos(angles)], rtol=1e-6)
    turned = nn.rotary(Q)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=-1), np.linalg.norm(Q, axis=-1))
    np.testing.assert_array_equal(turned[:, 0], Q[:, 0])
    near = nn.rotary(np.stack([Q[0, 0]] * 5)) @ nn.rotary(np.stack([K[0, 0]] * 5)).T  # depends on distances alone
    np.testing.assert_allclose(near[1, 0], near[4, 3])
    wg.check_derivatives(nn.rotary, Q)
    with pytest.raises(wg.errors.ShapeError, match="odd"):
        nn.rotary(Q[..., :3])
