"""The norms as layers: their parameters' shapes, and that they are the functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn

X = np.random.default_rng(0).normal(2, 3, size=(4, 6, 5))
CASES: dict[str, tuple[Any, int, Any]] = {
    "LayerNorm": (nn.LayerNorm(), 5, nn.layer_norm),
    "RMSNorm": (nn.RMSNorm(), 5, nn.rms_norm),
    "GroupNorm": (nn.GroupNorm(3), 6, lambda x, s, b: nn.group_norm(x, 3, s, b)),
    "InstanceNorm": (nn.InstanceNorm(), 6, nn.instance_norm),
    "BatchNorm": (nn.BatchNorm(), 6, lambda x, s, b: nn.batch_norm(x, s, b, np.zeros(6), np.ones(6), True)[0]),
}


@pytest.mark.parametrize("name", CASES)
def test_norms(name: str) -> None:
    layer, width, function = CASES[name]
    params, state = layer.init(0, X, dtype="float64")
    assert {x.shape for x in params.values()} == {(width,)}
    drawn = {k: np.random.default_rng(1).normal(1, 0.1, width) for k in params}
    y, _ = layer.apply(drawn, state, X, train=True)
    np.testing.assert_allclose(y, function(X, *drawn.values()))
    wg.check_derivatives(lambda p: layer.apply(p, state, X, train=True)[0], drawn)


def test_without_parameters() -> None:
    for layer in (nn.LayerNorm(affine=False), nn.GroupNorm(2, affine=False), nn.InstanceNorm(affine=False)):
        assert layer.init(0, X) == ({}, {}) and layer.apply({}, {}, X)[0].shape == X.shape
    assert nn.BatchNorm(affine=False).init(0, X)[0] == {}


def test_what_runs_moves_towards_what_is_seen() -> None:
    layer = nn.BatchNorm(momentum=0.5)
    params, state = layer.init(0, X, dtype="float64")
    for _ in range(30):
        _, state = layer.apply(params, state, X, train=True)
    np.testing.assert_allclose(state["mean"], X.mean((0, 2)))
    np.testing.assert_allclose(state["var"], X.var((0, 2), ddof=1))
    y, same = layer.apply(params, state, X)
    assert same["mean"] is state["mean"] and abs(y.mean()) < 1e-6
