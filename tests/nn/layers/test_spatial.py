"""Layers on space: the functions with parameters of the right shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import close
from wengert import nn
from wengert.errors import ShapeError

X = np.random.default_rng(0).standard_normal((2, 4, 6, 5)).astype(np.float32)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("like", [X, wg.spec(X.shape, "float32")], ids=["array", "spec"])
def test_conv(dtype: str, like: Any) -> None:
    layer = nn.Conv((3, 2), 6, nn.relu, stride=2, padding="same", groups=2)
    params, state = layer.init(0, like, dtype=dtype)
    assert {name: (p.shape, p.dtype.name) for name, p in params.items()} == {
        "w": ((6, 2, 3, 2), dtype),
        "b": ((6,), dtype),
    }
    params["b"] += 0.5
    x = X.astype(dtype)
    y, new_state = layer.apply(params, state, x)
    assert state == new_state == {} and y.dtype == dtype
    close(y, nn.conv_bias_act(nn.relu, x, params["w"], params["b"], 2, "same", 1, 2), 0)
    close(wg.jit(layer.apply)(params, state, x)[0], y, 1e-5)


def test_conv_transpose() -> None:
    layer = nn.ConvTranspose(3, 6, np.tanh, stride=2, output_padding=1, groups=2)
    params, state = layer.init(0, X)
    assert params["w"].shape == (4, 3, 3, 3) and params["b"].shape == (6,)
    y, _ = layer.apply(params, state, X)
    assert y.shape == (2, 6, 14, 12)
    close(y, np.tanh(nn.conv_transpose(X, params["w"], params["b"], 2, 0, 1, 1, 2)), 0)


@pytest.mark.parametrize("layer", [nn.Conv(1, 3, bias=False), nn.ConvTranspose(1, 3, bias=False)])
def test_without_bias(layer: Any) -> None:
    params, state = layer.init(0, X)
    assert list(params) == ["w"]
    assert layer.apply(params, state, X)[0].shape == (2, 3, 6, 5)


def test_a_seed_or_a_generator() -> None:
    layer = nn.Conv(3, 8)
    first, second = layer.init(7, X)[0], layer.init(np.random.default_rng(7), X)[0]
    assert np.array_equal(first["w"], second["w"])
    rng = np.random.default_rng(7)
    assert not np.array_equal(layer.init(rng, X)[0]["w"], layer.init(rng, X)[0]["w"])


def test_weights_vary_as_glorot_says() -> None:
    w = nn.Conv(3, 64).init(0, wg.spec((1, 32, 9, 9), "float32"))[0]["w"]
    assert np.var(w) == pytest.approx(2 / ((64 + 32) * 9), rel=0.02) and abs(np.mean(w)) < 1e-3


def test_other_initialisers() -> None:
    assert not nn.Conv(3, 2, weights="zeros").init(0, X)[0]["w"].any()
    assert (
        nn.ConvTranspose(3, 2, weights=lambda rng, shape, dtype: np.full(shape, 7, dtype)).init(0, X)[0]["w"].min() == 7
    )


def test_a_gradient_has_the_structure_of_the_parameters() -> None:
    layer = nn.Conv(3, 4, nn.relu)
    params, state = layer.init(0, X)
    gradient = wg.grad(lambda params: np.sum(layer.apply(params, state, X)[0]))(params)
    assert {name: g.shape for name, g in gradient.items()} == {"w": (4, 4, 3, 3), "b": (4,)}
    assert all(g.dtype == np.float32 for g in gradient.values())


@pytest.mark.parametrize(
    ("layer", "function"),
    [
        (nn.MaxPool(2, 1, 1), nn.max_pool(2, 1, 1)),
        (nn.MaxPool(2, dilation=2), nn.max_pool(2, dilation=2)),
        (nn.MeanPool(3, 2, 1, False), nn.mean_pool(3, 2, 1, False)),
        (nn.LPPool(2, 3), nn.lp_pool(2, 3)),
        (nn.Upsample(2, "linear"), nn.upsample(2, "linear")),
        (nn.Upsample(size=(3, 4)), nn.upsample(size=(3, 4))),
    ],
    ids=repr,
)
def test_what_has_no_weights(layer: Any, function: Any) -> None:
    params, state = layer.init(0, X)
    assert (params, state) == ({}, {})
    y, _ = layer.apply(params, state, X, train=True)
    close(y, function(X), 0)


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (nn.Conv(3, 6), "Conv(3, 6)"),
        (nn.Conv((3, 3), 16, nn.relu, stride=2), "Conv((3, 3), 16, activation=relu, stride=2)"),
        (nn.ConvTranspose(2, 8, bias=False), "ConvTranspose(2, 8, bias=False)"),
        (nn.MaxPool(2), "MaxPool(2)"),
        (nn.Upsample(2), "Upsample(scale=2)"),
    ],
)
def test_it_reads_as_it_was_written(layer: Any, text: str) -> None:
    assert repr(layer) == text


@pytest.mark.parametrize(
    ("layer", "shape", "text"),
    [
        (nn.Conv(3, 6, groups=4), (1, 6, 5), r"Conv\(3, 6, groups=4\): x is float32\[1, 6, 5\]"),
        (nn.Conv(3, 6, groups=4), (1, 4, 5), "width multiples of groups, 4"),
        (nn.ConvTranspose(3, 6), (4, 5), "ConvTranspose"),
        (nn.Conv((3, 3), 6), (1, 4, 5), r"kernel is \(3, 3\)"),
    ],
)
def test_what_does_not_fit(layer: Any, shape: Any, text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        layer.init(0, wg.spec(shape, "float32"))
