"""Chains as graphs."""

from __future__ import annotations

import numpy as np
import pytest

from wengert import graph, nn
from wengert.errors import GraphError

X = np.random.default_rng(0).standard_normal((2, 1, 6, 6)).astype(np.float32)


def test_a_chain_is_a_graph_with_the_same_parameters() -> None:
    chain = nn.Chain(nn.Conv(3, 4, nn.relu), nn.BatchNorm(), nn.max_pool(2), nn.flatten, nn.Dense(3))
    params, state = chain.init(0, X)
    g = graph.from_chain(chain)
    y, new = g.apply(params["layers"], state["layers"], X, train=True)
    expected, expected_state = chain.apply(params, state, X, train=True)
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(new["1"]["mean"], expected_state["layers"]["1"]["mean"])
    bigger, p, s = g.resize({"0": 6}, params["layers"], state["layers"], X)
    inference = chain.apply(params, state, X)[0]
    np.testing.assert_allclose(bigger.apply(p, s, X)[0], inference, rtol=1e-5)


def test_names_of_parts_are_names_of_vertices() -> None:
    assert graph.from_chain(nn.Chain(first=nn.Dense(3), last=nn.relu)).names == ("x", "first", "last")
    with pytest.raises(GraphError, match="two vertices are called 'x'"):
        graph.from_chain(nn.Chain(x=nn.Dense(3)))
