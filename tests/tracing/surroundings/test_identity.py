"""Objects that a function captured are told apart by identity as Python tells them, plain and compiled.

The traced run is given copies of what it captured. A copy and its original must not be met as two: where ``is``,
``in`` and a table by identity see both, the other branch would be taken without a word.
"""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg


class Node:
    registry: ClassVar[dict[Any, float]] = {}
    instances: ClassVar[list[Any]] = []

    def __init__(self, weight: float, parent: Any = None) -> None:
        self.weight, self.parent = weight, parent
        Node.registry[self] = weight
        Node.instances.append(self)

    def is_root(self, x: Any) -> Any:
        return x if self is ROOT else 7.0 * x

    def below_root(self, x: Any) -> Any:
        return x if self.parent is ROOT else 7.0 * x

    def registered(self, x: Any) -> Any:
        return x * Node.registry[self]

    def among_all(self, x: Any) -> Any:
        return x if self in type(self).instances else 7.0 * x

    def by_id(self, x: Any) -> Any:
        return x * IDS[id(self)]


class Slotted:
    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node


@dataclass(frozen=True)
class Edge:
    start: Node
    end: Node


Pair = namedtuple("Pair", "first second")


def double(x: Any) -> Any:
    return 2.0 * x


class Rule:
    apply = staticmethod(double)

    def weighted(self, x: Any) -> Any:
        return self.apply(x) * RULES[self.apply]


ROOT = Node(2.0)
LEAF = Node(3.0, ROOT)
NODES = [ROOT, LEAF]
TABLE = {ROOT: 2.0, LEAF: 5.0}
PAIRS = {(ROOT, LEAF): 3.0, Pair(LEAF, ROOT): 4.0}
SOME = {ROOT}
FROZEN = frozenset({ROOT, (LEAF, ROOT)})
EDGES = {Edge(ROOT, LEAF)}
IDS = {id(ROOT): 2.0, id(LEAF): 5.0}
SLOT = Slotted(ROOT)
RULES = {double: 3.0, np.sin: 5.0, Node: 7.0, ROOT.is_root: 11.0}
RULE = Rule()
POINTS = np.arange(3.0)
OPTIONS = {"scale": 2.0}
STEPS = [1.0, 2.0]


class Sum:
    points = POINTS

    def of(self, x: Any, points: Any, options: Any, steps: Any) -> Any:
        return x * points.sum() if points is POINTS and options is OPTIONS and steps is STEPS else 7.0 * x


SUM = Sum()

CASES: dict[str, Callable[[Any], Any]] = {
    "a table whose keys are objects": lambda x: sum(TABLE[n] * n.weight * x for n in NODES),
    "a table whose keys are pairs of objects": lambda x: x * PAIRS[ROOT, LEAF] * PAIRS[LEAF, ROOT],
    "a set of objects": lambda x: sum(x if n in SOME else 7.0 * x for n in NODES),
    "a frozen set of objects and tuples": lambda x: x if LEAF not in FROZEN and (LEAF, ROOT) in FROZEN else 7.0 * x,
    "a set of frozen dataclasses of objects": lambda x: x if Edge(ROOT, LEAF) in EDGES else 7.0 * x,
    "a global of the method's": lambda x: ROOT.is_root(x) + LEAF.below_root(x),
    "a table of the class": lambda x: LEAF.registered(x),
    "a list of the class": lambda x: LEAF.among_all(x) + (x if ROOT in Node.instances else 7.0 * x),
    "an object with slots": lambda x: (x if SLOT.node is ROOT else 7.0 * x) * TABLE[SLOT.node],
    "a dict made inside": lambda x: x * {ROOT: 2.0}[SLOT.node],
    "an index": lambda x: x * (1 + NODES.index(LEAF.parent)),
    "functions as keys": lambda x: x * RULES[double] * RULES[np.sin] * RULES[Node] * RULES[ROOT.is_root],
    "an array, a dict and a list that a method has as globals": lambda x: SUM.of(x, POINTS, OPTIONS, STEPS),
    "an array of a class": lambda x: x * POINTS.sum() if SUM.points is POINTS else 7.0 * x,
    "a function found by its class": lambda x: RULE.weighted(x) * (1.0 if RULE.apply is double else 7.0),
    "a function that equals one": lambda x: RULE.weighted(x) * (1.0 if RULE.apply == double else 7.0),
}


@pytest.mark.parametrize("case", CASES)
def test_an_object_and_the_copy_that_is_traced_were_taken_for_two(case: str) -> None:
    f = CASES[case]
    assert wg.value_and_grad(f)(1.5) == (f(1.5), f(1.0))
    gradient = wg.jit(wg.value_and_grad(f), strict=True)
    for x in (1.5, 2.5):
        assert gradient(x) == (pytest.approx(f(x)), pytest.approx(f(1.0)))
    assert gradient.stats()["traces"] == 1


def array_by_id(x: Any) -> Any:
    return x if id(SUM.points) == id(POINTS) else 7.0 * x


def test_a_table_by_id_was_not_found() -> None:
    """An id is another number for another object, so the function is traced again; but it is the original's id."""
    for f in (lambda x: sum(IDS[id(n)] * x for n in NODES), lambda x: LEAF.by_id(x), array_by_id):
        gradient = wg.jit(wg.grad(f))
        with pytest.warns(wg.PerformanceWarning, match=r"id\(\)"):
            assert gradient(1.5) == f(1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert gradient(2.5) == f(1.0)


def test_an_object_that_is_a_key_is_still_looked_at_again() -> None:
    own = Node(2.0)
    table = {own: 3.0}
    f = wg.jit(lambda x: x * sum(n.weight * w for n, w in table.items()))
    assert f(1.0) == 6.0
    own.weight = 5.0
    assert f(1.0) == 15.0
    table[own] = 4.0
    assert f(1.0) == 20.0
    table[Node(1.0)] = 1.0
    assert f(1.0) == 21.0


def test_a_counter_of_an_object_that_its_class_knows_is_written_as_python_writes_it() -> None:
    class Counting:
        instances: ClassVar[list[Any]] = []

        def __init__(self) -> None:
            self.count = 0
            self.instances.append(self)

        def f(self, x: Any) -> Any:
            self.count += 1
            return x * x if self in self.instances else x

    counting = Counting()
    f = wg.jit(counting.f)
    with pytest.warns(wg.PerformanceWarning, match="count"):
        assert f(3.0) == 9.0
    assert counting.count == 1
    assert f(4.0) == 16.0
    assert counting.count == 2
