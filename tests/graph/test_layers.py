"""Widths of the layers of nn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import graph, nn
from wengert.errors import WidthError

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


TOKENS = np.random.default_rng(0).integers(0, 7, (2, 5))
SERIES = np.random.default_rng(0).standard_normal((2, 5, 4)).astype(np.float32)


@pytest.mark.parametrize(
    ("parts", "x", "widths"),
    [
        ([nn.Dense(6, nn.relu), nn.Dropout(0.5), nn.Dense(5), nn.Dense(3)], SERIES, {"v0": 8, "v2": 9}),
        ([nn.Embedding(7, 6), nn.PositionalEmbedding(5), nn.Dense(3)], TOKENS, {"v0": 8}),
        ([nn.Embedding(7, 6), nn.Scale(), nn.Dense(3)], TOKENS, {"v1": 7}),
        ([nn.LSTM(6, layers=2), nn.Dense(3)], SERIES, {"v0": 8}),
        ([nn.GRU(6), nn.GRU(4), nn.Dense(3)], SERIES, {"v0": 8, "v1": 7}),
        ([nn.RNN(6), nn.Dense(3)], SERIES, {"v0": 8}),
        ([nn.Dense(8), nn.MultiHeadAttention(2), nn.Dense(3)], SERIES, {"v1": 12}),
        ([nn.Conv(1, 6), nn.BatchNorm(), nn.relu, nn.MaxPool(2), nn.flatten, nn.Dense(3)], X, {"v1": 8}),
        ([nn.Conv(1, 6), nn.InstanceNorm(), nn.MeanPool(3), nn.flatten, nn.Dense(3)], X, {"v3": 32}),
    ],
    ids=lambda x: "-".join(repr(nn.as_layer(p)).split("(")[0] for p in x) if isinstance(x, list) else "",
)
def test_growing_leaves_the_function_as_it_is(parts: Any, x: Any, widths: Any) -> None:
    g = network(*parts)
    params, state = g.init(0, x)
    y = g.apply(params, state, x)[0]
    for rng in (None, 0):
        bigger, p, s = g.resize(widths, params, state, x, rng=rng)
        specs = bigger.specs(x, params=p, state=s)
        for name, n in widths.items():
            axis = 1 if specs[name].ndim in (2, 4) else 2
            assert specs[name].shape[axis] == n
        np.testing.assert_allclose(bigger.apply(p, s, x)[0], y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("parts", "x", "widths"),
    [
        ([nn.Dense(6), nn.LayerNorm(), nn.Dense(3)], SERIES, {"v0": 4}),
        ([nn.Dense(6), nn.RMSNorm(), nn.Dense(3)], SERIES, {"v1": 4}),
        ([nn.LSTM(6, layers=2), nn.Dense(3)], SERIES, {"v0": 2}),
        ([nn.GRU(6), nn.Dense(3)], SERIES, {"v0": 2}),
        ([nn.Conv(1, 6), nn.GroupNorm(3), nn.Conv(1, 2)], X, {"v0": 3}),
        ([nn.Conv(1, 6), nn.BatchNorm(), nn.flatten, nn.Dense(3)], X, {"v0": 3}),
        ([nn.Embedding(7, 6), nn.Dense(3)], TOKENS, {"v0": 2}),
        ([nn.Dense(8), nn.MultiHeadAttention(2), nn.Dense(3)], SERIES, {"v0": 5}),
    ],
    ids=lambda x: "-".join(repr(nn.as_layer(p)).split("(")[0] for p in x) if isinstance(x, list) else "",
)
def test_shrinking_gives_a_network_that_runs(parts: Any, x: Any, widths: Any) -> None:
    g = network(*parts)
    params, state = g.init(0, x)
    smaller, p, s = g.resize(widths, params, state, x)
    assert smaller.apply(p, s, x)[0].shape == g.apply(params, state, x)[0].shape
    fresh, fresh_state = smaller.init(0, x)
    shapes = [{path: leaf.shape for path, leaf in leaves(tree)} for tree in (p, s, fresh, fresh_state)]
    assert shapes[:2] == shapes[2:]


def leaves(tree: Any, path: str = "") -> Any:
    for key, value in tree.items():
        yield from leaves(value, f"{path}.{key}") if isinstance(value, dict) else [(f"{path}.{key}", value)]


def test_groups_of_a_norm_bind_widths() -> None:
    g = network(nn.Conv(1, 6), nn.GroupNorm(3), nn.Conv(1, 2))
    params, state = g.init(0, X)
    with pytest.raises(WidthError, match="a multiple of 3, the groups of 'v1'"):
        g.resize({"v0": 7}, params, state, X)


@pytest.mark.parametrize(
    "part", [nn.LSTM(6, bidirectional=True), nn.TransformerBlock(2), nn.Chain(nn.Dense(4)), nn.Reshape((4, 5))]
)
def test_layers_that_keep_their_widths(part: Any) -> None:
    g = network(nn.Dense(4), part, nn.Dense(3))
    params, state = g.init(0, SERIES)
    with pytest.raises(WidthError, match="'v0', read by 'v1', whose part has no rule"):
        g.resize({"v0": 6}, params, state, SERIES)


def test_a_layer_along_another_axis_than_the_features() -> None:
    g = network(nn.Conv(1, 6), nn.LayerNorm(), nn.Conv(1, 2))
    params, state = g.init(0, X)
    with pytest.raises(WidthError, match="no rule"):
        g.resize({"v0": 5}, params, state, X)


def test_a_chain_a_graph_and_a_function_are_one_tape() -> None:
    """What is differentiated and compiled is the same, however the network is written."""
    parts = [nn.Dense(8, nn.tanh), nn.Dense(8, nn.relu), nn.Dense(3)]
    chain, g = nn.Chain(*parts), network(*parts)
    x = SERIES[:, 0]
    params, state = g.init(0, x)
    names = list(params)

    def of_graph(params: Any, x: Any) -> Any:
        return np.sum(g.apply(params, state, x)[0] ** 2)

    def of_chain(params: Any, x: Any) -> Any:
        return np.sum(chain.apply({"layers": {str(k): params[name] for k, name in enumerate(names)}}, {}, x)[0] ** 2)

    def plain(params: Any, x: Any) -> Any:
        for name, act in zip(names, (np.tanh, nn.relu, lambda x: x), strict=True):
            x = act(x @ params[name]["w"].T + params[name]["b"])
        return np.sum(x**2)

    tapes = [wg.trace(wg.grad(f))(params, x) for f in (of_graph, of_chain, plain)]
    steps = [[(i.op.name, tuple(v.aval for v in i.outs)) for i in wg.compile(tape).tape.instrs] for tape in tapes]
    assert steps[0] == steps[1]
    assert len(steps[2]) == len(steps[0])
