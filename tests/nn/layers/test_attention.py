"""Attention and transformer blocks as layers, against what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn

X = np.random.default_rng(0).normal(size=(2, 5, 8))


def dense(p: Any, x: Any) -> Any:
    return x @ p["w"].T + p["b"]


@pytest.mark.sampled(3, "half a second each")
@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_attention(inputs: int) -> None:
    layer = nn.MultiHeadAttention(2, causal=inputs == 1)
    xs = [X, X[:, :4] + 1, X[:, :4] - 1][:inputs]
    params, state = layer.init(0, *xs, dtype="float64")
    q, k, v = xs[0], xs[min(1, inputs - 1)], xs[-1]
    mixed = nn.attention(
        dense(params["q"], q), dense(params["k"], k), dense(params["v"], v), heads=2, causal=inputs == 1
    )
    np.testing.assert_allclose(layer.apply(params, state, *xs)[0], dense(params["out"], mixed))
    wg.check_derivatives(lambda p: layer.apply(p, {}, *xs)[0], params)


@pytest.mark.parametrize("pre_norm", [True, False])
def test_transformer_block(pre_norm: bool) -> None:
    layer = nn.TransformerBlock(2, hidden=12, pre_norm=pre_norm)
    params, state = layer.init(0, X, dtype="float64")
    assert state == {} and params["hidden"]["w"].shape == (12, 8)
    norm = lambda k, x: nn.layer_norm(x, params[k]["scale"], params[k]["bias"])
    attend = lambda x: nn.MultiHeadAttention(2).apply(params["attention"], {}, x)[0]
    think = lambda x: dense(params["out"], nn.gelu(dense(params["hidden"], x)))
    if pre_norm:
        h = X + attend(norm("norm1", X))
        expected = h + think(norm("norm2", h))
    else:
        h = norm("norm1", X + attend(X))
        expected = norm("norm2", h + think(h))
    np.testing.assert_allclose(layer.apply(params, state, X)[0], expected)


def test_dropout_in_a_block() -> None:
    layer = nn.TransformerBlock(2, rate=0.5)
    params, state = layer.init(0, X, dtype="float64")
    first, new = layer.apply(params, state, X, train=True)
    second, _ = layer.apply(params, new, X, train=True)
    assert new.keys() == {"dropout1", "dropout2"} and np.any(first != second)
    np.testing.assert_array_equal(layer.apply(params, state, X)[0], layer.apply(params, new, X)[0])


def test_positions() -> None:
    layer = nn.PositionalEmbedding(7)
    params, _ = layer.init(0, X)
    np.testing.assert_allclose(layer.apply(params, {}, X)[0], X + params["table"][:5])
