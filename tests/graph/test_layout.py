"""Where the vertices of a drawing stand."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from tests.graph.graphs import random_graph
from wengert import graph
from wengert.graph.layout import BEND_WIDTH, SPACE, columns, coordinates, crossings, layers_of, layout


@pytest.mark.parametrize(("count", "window", "seed"), [(10, 3, 0), (100, 8, 1), (100, 40, 2)])
def test_edges_run_down_and_boxes_do_not_overlap(count: int, window: int, seed: int) -> None:
    g = random_graph(count, window, seed)
    widths = {name: 20.0 + 7 * (k % 5) for k, name in enumerate(g.names)}
    found = layout(g, widths)
    layer = {place: k for k, places in enumerate(found.layers) for place in places}
    for (source, reader), route in found.routes.items():
        assert (route[0], route[-1]) == (source, reader)
        assert [layer[place] for place in route] == list(range(layer[source], layer[reader] + 1))
    for places in found.layers:
        for a, b in pairwise(places):
            half = sum(widths.get(str(p), BEND_WIDTH) / 2 for p in (a, b))
            assert found.x[b] - found.x[a] >= half + SPACE - 1e-6


def test_crossings_are_counted_as_by_hand() -> None:
    rng = np.random.default_rng(0)
    upper, lower = list("abcdef"), list("uvwxyz")
    for _ in range(20):
        below = {a: [b for b in lower if rng.random() < 0.5] for a in upper}
        edges = [(upper.index(a), lower.index(b)) for a in upper for b in below[a]]
        expected = sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(edges, 2))
        assert crossings([upper, lower], below) == expected


def test_two_chains_do_not_cross_and_a_chain_is_straight() -> None:
    x = graph.input("x")
    a, b = x, x
    for _ in range(6):
        a, b = np.sin(a), np.cos(b)
    g = graph.Graph([x], [b, a])
    found = layout(g, dict.fromkeys(g.names, 40.0))
    below = {p: [q for r in found.routes.values() for o, q in pairwise(r) if o == p] for p in found.x}
    assert crossings(found.layers, below) == 0
    assert len({round(found.x[name], 3) for name in g.find("sin.*")}) == 1


def test_constants_stand_above_their_readers() -> None:
    g = graph.empty("x").insert("a", np.sin, after="x").insert("b", np.cos, after="a")
    g = g.insert("c", graph.Constant(1.0)).insert("d", np.add, "b", "c", after="b")
    assert layers_of(g) == {"x": 0, "c": 2, "a": 1, "b": 2, "d": 3}


def test_long_graphs_are_cut_where_few_edges_run() -> None:
    x = graph.input("x")
    for _ in range(20):
        x = x + np.sin(np.cos(x))
    g = graph.Graph([_first(x)], [x])
    found = layout(g, dict.fromkeys(g.names, 60.0))
    parts = columns(found, 150.0, 80.0)
    assert [p for part in parts for p in part] == found.layers and len(parts) > 2
    assert all(len(part[0]) <= 2 for part in parts)
    short = layout(graph.empty("x"), {"x": 1.0})
    assert columns(short, 150.0, 80.0) == [[["x"]]]


def _first(wire: graph.Wire) -> graph.Wire:
    while wire.inputs:
        wire = wire.inputs[0]
    return wire


def test_coordinates_of_nothing() -> None:
    assert coordinates([], {}, {}, {}) == {}
    assert layout(graph.empty(), {}).layers == []
