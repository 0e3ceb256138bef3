"""Lists, tuples and dicts alone are containers here."""

from __future__ import annotations

from dataclasses import dataclass

from wengert.tree.containers import flatten_containers, map_containers


@dataclass
class Pair:
    first: float
    second: float


def test_none_and_objects_are_leaves() -> None:
    pair = Pair(1.0, 2.0)
    leaves, structure = flatten_containers({"b": [None, pair], "a": (3.0,)})
    assert leaves == [3.0, None, pair]
    assert structure.unflatten(leaves) == {"a": (3.0,), "b": [None, pair]}


def test_a_function_is_given_the_leaves_of_all() -> None:
    assert map_containers(lambda x, y: x + y, [1, (2,)], [10, (20,)]) == [11, (22,)]
