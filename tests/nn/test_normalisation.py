"""Norms, dropout, softmax: against NumPy by hand, SciPy, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import wengert as wg
from wengert import nn

RNG = np.random.default_rng(0)
X = RNG.normal(2, 3, size=(4, 6, 5))
SCALE, BIAS = RNG.normal(1, 0.3, 6), RNG.normal(size=6)


def by_hand(x: Any, axes: Any) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def test_layer_norm() -> None:
    y = nn.layer_norm(X, SCALE[:5], BIAS[:5])
    np.testing.assert_allclose(y, by_hand(X, -1) * SCALE[:5] + BIAS[:5], rtol=1e-10)
    np.testing.assert_allclose(nn.layer_norm(X, axis=(-2, -1)), by_hand(X, (1, 2)), rtol=1e-10)
    wg.check_derivatives(nn.layer_norm, X[:2], SCALE[:5], BIAS[:5])


def test_rms_norm() -> None:
    np.testing.assert_allclose(
        nn.rms_norm(X, SCALE[:5]), X / np.sqrt((X**2).mean(-1, keepdims=True) + 1e-6) * SCALE[:5]
    )
    wg.check_derivatives(nn.rms_norm, X[:2], SCALE[:5])


@pytest.mark.deep("a second")
def test_group_and_instance_norm() -> None:
    y = by_hand(X.reshape(4, 3, 10), -1).reshape(X.shape)
    np.testing.assert_allclose(nn.group_norm(X, 3, SCALE, BIAS), y * SCALE[:, None] + BIAS[:, None], rtol=1e-10)
    np.testing.assert_allclose(nn.instance_norm(X), by_hand(X, -1), rtol=1e-10)
    wg.check_derivatives(lambda x, s, b: nn.group_norm(x, 2, s, b), X[:2], SCALE, BIAS)
    with pytest.raises(wg.errors.ShapeError, match="6 channels cannot be divided into 4"):
        nn.group_norm(X, 4)


def test_batch_norm_in_training_uses_the_batch_and_moves_the_running_numbers() -> None:
    mean, var = np.zeros(6), np.ones(6)
    y, (new_mean, new_var) = nn.batch_norm(X, SCALE, BIAS, mean, var, train=True)
    np.testing.assert_allclose(y, by_hand(X, (0, 2)) * SCALE[:, None] + BIAS[:, None], rtol=1e-10)
    np.testing.assert_allclose(new_mean, 0.1 * X.mean((0, 2)))
    np.testing.assert_allclose(new_var, 0.9 + 0.1 * X.var((0, 2), ddof=1))
    wg.check_derivatives(lambda x, s, b: nn.batch_norm(x, s, b, mean, var, train=True)[0], X[:3], SCALE, BIAS)
    ct = wg.grad(lambda x: np.sum(nn.batch_norm(x, SCALE, BIAS, mean, var, train=True)[1][0]))(X)
    np.testing.assert_array_equal(ct, 0)


def test_batch_norm_afterwards_uses_the_running_numbers() -> None:
    mean, var = RNG.normal(size=6), RNG.uniform(1, 2, 6)
    y, kept = nn.batch_norm(X, SCALE, BIAS, mean, var)
    column = lambda a: a[:, None]
    expected = (X - column(mean)) / np.sqrt(column(var) + 1e-5) * column(SCALE) + column(BIAS)
    np.testing.assert_allclose(y, expected, rtol=1e-10)
    assert kept[0] is mean and kept[1] is var
    with pytest.raises(wg.errors.ShapeError, match="one number for each channel"):
        nn.batch_norm(X[:1, :, 0], None, None, mean, var, train=True)
    with pytest.raises(wg.errors.ShapeError, match=r"expected \(6,\), for the channels"):
        nn.batch_norm(X, SCALE[:3], None, mean, var)


def test_dropout() -> None:
    x, key = np.ones((200, 300), "f"), nn.random.key(2)
    y = nn.dropout(x, key, 0.25)
    assert y.dtype == np.float32 and set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((y == 0).mean() - 0.25) < 0.01
    np.testing.assert_array_equal(wg.jit(nn.dropout)(x, key, 0.25), y)
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(nn.dropout(x, key, 0.25)))(x), y)
    assert nn.dropout(x, key, 0) is x
    for rate in (-0.1, 1.0):
        with pytest.raises(ValueError, match="0 <= rate < 1"):
            nn.dropout(x, key, rate)


@pytest.mark.parametrize("dropout", [nn.dropout, nn.alpha_dropout])
def test_a_key_before_the_array_warns(dropout: Any) -> None:
    x, key = np.ones(20), nn.random.key(2)
    with pytest.warns(DeprecationWarning, match=r"dropout\(x, key\)"):
        np.testing.assert_array_equal(dropout(key, x, 0.25), dropout(x, key, 0.25))
    with pytest.raises(TypeError, match="key is float64"):
        dropout(x, x)


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = nn.random.normal(nn.random.key(0), (400, 500))
    y = nn.alpha_dropout(x, nn.random.key(1), 0.2)
    assert abs(y.mean()) < 0.01 and abs(y.var() - 1) < 0.02


@pytest.mark.sampled(5, "half a second each")
@pytest.mark.parametrize("axis", [-1, 0, (0, 2)])
def test_softmax_and_its_logarithm(axis: Any) -> None:
    x = X * 200  # far from where exponentials are finite
    np.testing.assert_allclose(nn.softmax(x, axis), scipy.special.softmax(x, axis), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(nn.log_softmax(x, axis), scipy.special.log_softmax(x, axis), rtol=1e-12)
    np.testing.assert_allclose(nn.logsumexp(x, axis), scipy.special.logsumexp(x, axis), rtol=1e-12)
    for f in (nn.softmax, nn.log_softmax, nn.logsumexp):
        wg.check_derivatives(lambda x, f=f: f(x, axis), X[:2])
        fast = wg.jit(lambda x, f=f: f(x, axis))
        np.testing.assert_allclose(fast(X), f(X, axis), rtol=1e-12)
        assert f(X.astype("f"), axis).dtype == np.float32


def test_where_everything_is_minus_infinity() -> None:
    x = np.array([[-np.inf, -np.inf], [0.0, -np.inf]])
    np.testing.assert_array_equal(nn.softmax(x), [[0, 0], [1, 0]])
    np.testing.assert_array_equal(nn.logsumexp(x), [-np.inf, 0])
    assert nn.logsumexp(x, keepdims=True).shape == (2, 1)
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(nn.softmax(x)))(x), 0)
    np.testing.assert_array_equal(wg.grad(lambda x: nn.logsumexp(x)[1])(x), [[0, 0], [1, 0]])
