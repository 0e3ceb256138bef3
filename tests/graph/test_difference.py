"""What is different between two graphs."""

from __future__ import annotations

import numpy as np

from wengert import graph


def test_difference() -> None:
    x = graph.input("x")
    a = graph.vertex(np.sin, "a")(x)
    g = graph.Graph([x], [graph.vertex(np.add, "s")(a, x)])
    assert not g.difference(g) and str(g.difference(g)) == "the graphs are equal"
    other = g.replace("a", np.cos).insert("b", np.exp, between=("x", "s")).insert("c", np.exp, "x").returning("s", "c")
    found = g.difference(other)
    assert found and found.replaced == ("a",) and found.added == ("c", "b") and found.rewired == ("s",)
    assert str(found).splitlines() == [
        "replaced  a: sin -> cos",
        "added     c: exp(x)",
        "added     b: exp(x)",
        "rewired   s: a, x -> a, b",
        "outputs   s -> s, c",
    ]
    assert other.difference(g).removed == ("c", "b")
