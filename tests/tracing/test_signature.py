"""What tells calls apart: equal signatures may run the same program, others must not."""

from __future__ import annotations

import enum
import fractions
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import same

X = np.array([1.25, -0.5, 2.0])


def test_the_order_of_a_dict_is_part_of_its_type() -> None:
    """A program traced for one order of the keys answered calls in another."""

    def f(p: Any, **k: Any) -> Any:
        first = next(iter(k.values()))
        return {name: first * v for name, v in p.items()}, np.concatenate([v.ravel() for v in p.values()])

    g = wg.jit(f)
    for _ in range(3):
        for p in ({"a": X, "b": X + 1}, {"b": X + 1, "a": X}):
            for k in ({"r": 2.0, "s": 3.0}, {"s": 3.0, "r": 2.0}):
                got, want = g(p, **k), f(p, **k)
                same(got, want)
                assert list(got[0]) == list(want[0])
    assert g.stats()["traces"] == 4


class Color(enum.IntEnum):
    RED = 1


class Shape(enum.IntEnum):
    ROUND = 1


class Text(str):
    pass


class Real(float):
    pass


@pytest.mark.parametrize(
    "values",
    [
        (Color.RED, Shape.ROUND, True, fractions.Fraction(1)),
        ("a", Text("a")),
        (frozenset({True}), frozenset({1.0}), frozenset({1})),
        (Real(0.0), Real(-0.0)),
    ],
    ids=["enums", "strings", "sets", "zeros"],
)
def test_static_arguments_of_other_types_are_others(values: tuple[Any, ...]) -> None:
    def f(x: Any, k: Any) -> Any:
        inner = next(iter(k)) if isinstance(k, frozenset) else k
        return x * (len(repr(inner)) + 100 * len(type(inner).__name__))

    g = wg.jit(f)
    for k in (*values, *values):
        assert g(2.0, k) == f(2.0, k)


def test_keys_of_other_types_are_others() -> None:
    g = wg.jit(lambda p: sum(v * len(type(k).__name__) for k, v in p.items()))
    for p in ({True: 2.0}, {1: 2.0}, {1.0: 2.0}, {True: 2.0}):
        assert g(p) == 2.0 * len(type(next(iter(p))).__name__)
    h = wg.jit(lambda p: sum(v * len(repr(k)) for k, v in p.items()))
    for p in ({(1,): 2.0}, {(True,): 2.0}, {0.0: 2.0}, {-0.0: 2.0}, {("a", 1): 2.0}, {("a", 1): 2.0}):
        assert h(p) == 2.0 * len(repr(next(iter(p))))


def test_the_order_of_a_defaultdict_and_of_what_is_in_it() -> None:
    class Weight:
        def __init__(self, a: Any) -> None:
            self.a = a + 0

    wg.tree.register(Weight, lambda w: ((w.a,), None), lambda _, children: Weight(*children))
    g = wg.jit(lambda d: next(iter(d.values())).a * 2.0)
    for keys in ("ab", "ba", "ab"):
        d = defaultdict(lambda: Weight(0.0))
        for key in keys:
            d[key] = Weight(float(ord(key)))
        assert g(d) == 2.0 * ord(keys[0])
