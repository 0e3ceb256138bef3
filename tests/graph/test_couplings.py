"""Which features change together."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.graph.layers import Conv, Linear
from wengert import graph
from wengert.errors import WidthError
from wengert.graph.couplings import couplings, selections

X = wg.spec((2, 3, 4, 5), "float32")


def joined() -> graph.Graph:
    x = graph.input("x")
    a, b, c = (graph.vertex(Conv(n), name)(x) for name, n in (("a", 2), ("b", 3), ("c", 5)))
    s = graph.vertex(np.add, "s")(graph.concat(a, b, name="j"), c)
    far = graph.vertex(Conv(4), "far")(s)
    return graph.Graph([x], [graph.vertex(Linear(3), "end")(graph.vertex(lambda x: x.reshape(2, -1), "flat")(far))])


def test_classes_and_segments() -> None:
    g = joined()
    found = couplings(g, g.specs(X), ["a"])
    assert set(found.widths) == {"a", "b", "c", "j", "s"}  # far takes any width
    np.testing.assert_array_equal(found.classes["c"], [*found.classes["a"], *found.classes["b"]])
    assert sorted(map(len, found.segments.values())) == [2, 3]
    assert found.counts("j") == found.counts("c") and sum(found.counts("a").values()) == 1


def test_flattening_counts_a_class_once_a_pixel() -> None:
    g = joined()
    found = couplings(g, g.specs(X), ["flat"])
    assert set(found.widths) == {"far", "flat"}
    assert list(found.counts("flat").values()) == [20] and list(found.counts("far").values()) == [1]


def test_selections() -> None:
    g = joined()
    found = couplings(g, g.specs(X), ["a"])
    (of_a,), (of_b,) = found.counts("a"), found.counts("b")
    kept = {of_a: found.segments[of_a], of_b: found.segments[of_b][1:]}
    chosen = selections(g, found, kept, {of_a: 1, of_b: 0})
    assert chosen["a"].tolist() == [0, 1, -1] and chosen["b"].tolist() == [1, 2]
    assert chosen["c"].tolist() == chosen["j"].tolist() == chosen["s"].tolist() == [0, 1, -1, 3, 4]


def test_features_that_are_coupled_crosswise() -> None:
    """b beside a, added to a beside b, of different widths: features of each are features of the other."""
    x = graph.input("x")
    a, b = graph.vertex(Conv(2), "a")(x), graph.vertex(Conv(3), "b")(x)
    g = graph.Graph([x], [graph.vertex(Conv(1), "end")(graph.concat(a, b) + graph.concat(b, a))])
    params, state = g.init(0, X)
    with pytest.raises(WidthError, match="different orders"):
        g.resize({"a": 4}, params, state, X)


def test_axes_of_features() -> None:
    """A dense layer's are the last, whatever else there is before them."""
    x = graph.input("x")
    g = graph.Graph([x], [graph.vertex(Linear(4), "b")(x + graph.vertex(Linear(7), "a")(x))])
    params, state = g.init(0, wg.spec((2, 5, 7), "float32"))
    with pytest.raises(WidthError, match="'x', an input, keeps width 7"):
        g.resize({"a": 6}, params, state, wg.spec((2, 5, 7), "float32"))
