"""Layers on features against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import nn

X = np.random.default_rng(0).normal(size=(4, 3))


def test_dense() -> None:
    layer = nn.Dense(5, np.tanh)
    params, state = layer.init(0, X, dtype="float64")
    np.testing.assert_allclose(layer.apply(params, state, X)[0], np.tanh(X @ params["w"].T + params["b"]))
    wg.check_derivatives(lambda p: layer.apply(p, {}, X)[0], params)
    assert nn.Dense(5, bias=False).init(0, X)[0].keys() == {"w"}
    assert not nn.Dense(5, weights="zeros").init(0, X)[0]["w"].any()
    with pytest.raises(wg.errors.ShapeError, match="no axis of features"):
        layer.init(0, np.zeros(()))


def test_bilinear() -> None:
    layer = nn.Bilinear(2, np.sin)
    y = X[:, :2] + 1
    params, _ = layer.init(0, X, y, dtype="float64")
    params["b"][:] = [0.5, -0.5]
    of_one = lambda a, c: [np.sin(a @ w @ c + b) for w, b in zip(params["w"], params["b"], strict=True)]
    expected = np.array([of_one(a, c) for a, c in zip(X, y, strict=True)])
    np.testing.assert_allclose(layer.apply(params, {}, X, y)[0], expected)
    wg.check_derivatives(lambda p: layer.apply(p, {}, X, y)[0], params)


def test_scale_and_embedding() -> None:
    params, _ = nn.Scale().init(0, X)
    np.testing.assert_array_equal(nn.Scale().apply(params, {}, X)[0], X)
    params, _ = nn.Embedding(7, 4).init(0, np.array([1]))
    assert params["table"].shape == (7, 4)
    np.testing.assert_array_equal(nn.Embedding(7, 4).apply(params, {}, np.array([[6]]))[0], params["table"][None, 6:])


def test_dropout_draws_anew_at_every_call_and_not_at_all_afterwards() -> None:
    layer, x = nn.Dropout(0.5), np.ones((50, 50), "f")
    _, state = layer.init(0, x)
    first, state = layer.apply({}, state, x, train=True)
    second, _ = layer.apply({}, state, x, train=True)
    assert np.any(first != second) and abs(first.mean() - 1) < 0.1
    assert layer.apply({}, state, x)[0] is x
    assert nn.Dropout(0.1, is_alpha=True).apply({}, state, x, train=True)[0].shape == x.shape


def test_reshape() -> None:
    assert nn.Reshape((3, 1)).apply({}, {}, X)[0].shape == (4, 3, 1)
    assert nn.Reshape((-1,)).apply({}, {}, X[:, :, None])[0].shape == (4, 3)
    with pytest.raises(wg.errors.ShapeError, match="each sample has shape"):
        nn.Reshape((2,)).apply({}, {}, X)
