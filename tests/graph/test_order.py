"""Topological order."""

from __future__ import annotations

import pytest

from wengert.errors import CycleError
from wengert.graph.order import in_order, visited
from wengert.graph.vertices import Vertex


def vertices(**reads: str) -> dict[str, Vertex]:
    return {name: Vertex(name, None, tuple(names.split())) for name, names in reads.items()}


def test_visited_is_depth_first_from_left_to_right() -> None:
    reads = {"d": "bc", "b": "a", "c": "a", "a": "", "e": "d"}
    assert visited("ce", lambda name: reads[name]) == list("acbde")


def test_visited_names_the_cycle() -> None:
    reads = {"d": "b", "b": "a", "a": "d"}
    with pytest.raises(CycleError, match="d -> b -> a -> d"):
        visited("d", lambda name: reads[name])


def test_in_order_moves_what_must() -> None:
    sorted_already = vertices(a="", b="a", c="b")
    assert in_order(sorted_already) is sorted_already
    assert list(in_order(vertices(a="e", b="a", c="", d="", e="c"))) == ["c", "d", "e", "a", "b"]
    with pytest.raises(CycleError, match="a -> c -> b -> a"):
        in_order(vertices(a="c", b="a", c="b"))


def test_a_vertex_may_read_a_value_twice() -> None:
    assert list(in_order(vertices(b="a a", a=""))) == ["a", "b"]
