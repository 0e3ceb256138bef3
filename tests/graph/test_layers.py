"""Widths of the layers of nn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert import graph, nn

X = np.random.default_rng(0).standard_normal((2, 3, 6, 6)).astype(np.float32)


def network(*parts: Any) -> graph.Graph:
    g = graph.empty("x")
    for k, part in enumerate(parts):
        g = g.insert(f"v{k}", part, after=g.outputs[0])
    return g


CASES = {
    "convolution": (nn.Conv(3, 8, nn.relu, padding="same"), 11, 5),
    "in groups": (nn.Conv(3, 9, groups=2 + 1, padding=1), 12, 6),
    "transposed": (nn.ConvTranspose(2, 6, stride=2), 8, 4),
    "transposed, in groups": (nn.ConvTranspose(2, 6, stride=2, groups=3), 9, 3),
    "without bias": (nn.Conv((1, 3), 6, bias=False), 7, 2),
}


@pytest.mark.parametrize("name", CASES)
def test_a_width_of_its_own(name: str) -> None:
    """It grows without changing what comes out, and shrinks."""
    layer, more, less = CASES[name]
    g = network(nn.Conv(1, 6), layer, nn.max_pool(2), nn.Conv(1, 4))
    params, state = g.init(0, X)
    y = g.apply(params, state, X)[0]
    for widths in ({"v1": more}, {"v0": 9}, {"v0": 9, "v1": more}):
        bigger, p, s = g.resize(widths, params, state, X, rng=1)
        assert bigger["v1"].part.width == widths.get("v1", layer.width)
        np.testing.assert_allclose(bigger.apply(p, s, X)[0], y, rtol=1e-4, atol=1e-5)
    smaller, p, s = g.resize({"v1": less, "v0": 3}, params, state, X)
    assert smaller.apply(p, s, X)[0].shape == y.shape
    assert all(leaf.dtype == np.float32 for own in p.values() for leaf in own.values())


def test_depthwise() -> None:
    g = network(nn.Conv(1, 4), nn.Conv(3, 8, groups=4, padding=1), nn.Conv(1, 2))
    params, state = g.init(0, X)
    bigger, p, s = g.resize({"v0": 6}, params, state, X, rng=1)
    assert bigger["v1"].part == nn.Conv(3, 12, groups=6, padding=1)
    np.testing.assert_allclose(bigger.apply(p, s, X)[0], g.apply(params, state, X)[0], rtol=1e-4, atol=1e-5)
