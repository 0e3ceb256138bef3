"""Where the nodes of a drawing stand."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from wengert.drawing.layout import BEND_WIDTH, SPACE, Node, columns, coordinates, crossings, layers_of, layout


def random_nodes(count: int, window: int, seed: int) -> list[Node]:
    """Return nodes of different widths, each of which reads one to three of the ``window`` before it."""
    rng = np.random.default_rng(seed)
    nodes = [Node("0", (), 20.0)]
    for k in range(count):
        reads = tuple([str(j) for j in rng.integers(max(0, k - window), k + 1, rng.integers(1, 4))])
        nodes.append(Node(str(k + 1), reads, 20.0 + 7 * (k % 5)))
    return nodes


def chains(*names: str) -> list[Node]:
    """Return the nodes of chains from one source: "abc" is the chain of a, b and c."""
    found = [Node("0", (), 40.0)]
    for chain in names:
        found += [Node(b, (a,), 40.0) for a, b in pairwise(["0", *chain])]
    return found


@pytest.mark.parametrize(("count", "window", "seed"), [(10, 3, 0), (100, 8, 1), (100, 40, 2)])
def test_edges_run_down_and_boxes_do_not_overlap(count: int, window: int, seed: int) -> None:
    nodes = random_nodes(count, window, seed)
    widths = {node.name: node.width for node in nodes}
    found = layout(nodes)
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
    found = layout(chains("abcdef", "uvwxyz"))
    below = {p: [q for r in found.routes.values() for o, q in pairwise(r) if o == p] for p in found.x}
    assert crossings(found.layers, below) == 0
    assert len({round(found.x[name], 3) for name in "abcdef"}) == 1


def test_what_hangs_stands_above_its_readers() -> None:
    nodes = [Node("x", (), 1), Node("c", (), 1, hangs=True), Node("a", ("x",), 1), Node("b", ("a",), 1)]
    nodes.append(Node("d", ("b", "c"), 1))
    assert layers_of(nodes) == {"x": 0, "c": 2, "a": 1, "b": 2, "d": 3}
    assert layers_of([Node("c", (), 1, hangs=True)]) == {"c": 0}


def test_long_drawings_are_cut_where_few_edges_run() -> None:
    nodes, last = [Node("0", (), 60.0)], "0"
    for k in range(20):  # x + sin(cos(x))
        nodes += [Node(f"cos{k}", (last,), 60.0), Node(f"sin{k}", (f"cos{k}",), 60.0)]
        nodes.append(Node(f"add{k}", (last, f"sin{k}"), 60.0))
        last = f"add{k}"
    found = layout(nodes)
    parts = columns(found, 150.0, 80.0)
    assert [p for part in parts for p in part] == found.layers and len(parts) > 2
    assert all(len(part[0]) <= 2 for part in parts)
    assert columns(layout([Node("x", (), 1.0)]), 150.0, 80.0) == [[["x"]]]


def test_coordinates_of_nothing() -> None:
    assert coordinates([], {}, {}, {}) == {}
    assert layout([]).layers == []
