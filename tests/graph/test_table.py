"""A graph in text."""

from __future__ import annotations

import numpy as np

from wengert import graph
from wengert.graph.table import table


def test_long_parts_are_cut() -> None:
    g = graph.empty("x").insert("c", graph.Call(np.add, (np.arange(100), 1)), "x")
    assert max(map(len, str(g).splitlines())) < 90


def test_it_shows_what_each_vertex_gives() -> None:
    x = graph.input("x")
    g = graph.Graph([x], [graph.vertex(np.sum, "s")(x, axis=1), x])
    text = table(g, np.ones((2, 3), np.float32))
    assert text.splitlines()[2].split() == ["s", "sum(·,", "axis=1)", "x", "float32[2]"]
    assert text.endswith("returns s, x")
