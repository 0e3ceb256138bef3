"""What tells calls apart: equal signatures may run the same program, others must not."""

from __future__ import annotations

import enum
import fractions
from collections import defaultdict
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import same
from wengert import tree
from wengert.errors import DTypeError, StructureError
from wengert.tracing.signature import Array, Number, Scalar, Static, leaf_of, signature_of

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


F64 = np.dtype(float)


def signature(*args: Any, **kwargs: Any) -> Any:
    leaves, treedef = tree.flatten((args, kwargs) if kwargs else args)
    return signature_of(leaves, treedef, bool(kwargs))


def test_a_leaf_is_an_array_a_scalar_a_number_or_static() -> None:
    assert leaf_of(np.ones((2, 3))) == Array((2, 3), F64)
    assert leaf_of(np.ones(())) == Array((), F64)
    assert leaf_of(np.float64(1)) == Scalar(F64)
    assert [leaf_of(x) for x in (1.5, 2, 3j)] == [Number(float), Number(int), Number(complex)]
    assert isinstance(leaf_of("sin"), Static) and isinstance(leaf_of(True), Static)
    assert [leaf_of(x).is_traced for x in (np.ones(2), np.True_, 1, "sin", True, None)] == [True] * 3 + [False] * 3


@pytest.mark.parametrize("x", [np.ones((2, 3)), np.float32(1), 1.5, "sin", np.ones((2, 3)).T])
def test_every_kind_of_leaf_names_itself(x: Any) -> None:
    """A short cut makes them, not their own constructors: nothing may be forgotten on it."""
    leaf = leaf_of(x)
    fields = [getattr(leaf, name) for name in leaf._fields]
    assert leaf == type(leaf)(*fields[:-1]) and leaf.kind == type(leaf).__name__.lower()


def test_kinds_of_equal_content_differ() -> None:
    """Tuples are equal where their contents are, and NumPy's dtypes are equal to the types of Python's numbers."""
    assert Scalar(F64) != Number(float)
    leaves = [Static((), F64), Array((), F64), Scalar(F64), Number(float), leaf_of(F64), leaf_of(float)]
    for a, b in combinations(leaves, 2):
        assert a != b
    assert len({*leaves}) == len(leaves)


def test_traced_leaves_are_alike_whatever_their_values() -> None:
    assert leaf_of(1.5) == leaf_of(2.5) != leaf_of(1)
    assert leaf_of(np.ones(2)) == leaf_of(np.zeros(2)) != leaf_of(np.ones(3))
    assert leaf_of(np.ones(2)) != leaf_of(np.ones(2, np.float32))
    assert leaf_of(np.float64(1)) != leaf_of(np.ones(()))  # one is a scalar


def test_static_leaves_are_alike_where_values_and_types_are() -> None:
    assert leaf_of("sin") == leaf_of("".join("sin"))
    assert leaf_of(True) != leaf_of(np.True_)
    assert leaf_of((1,)) != leaf_of((True,)) and leaf_of((0.0,)) != leaf_of((-0.0,))


def test_strides_are_told_where_the_order_is_not_c() -> None:
    x = np.ones((2, 3))
    assert leaf_of(x).strides is None and leaf_of(x[0, ::2]).strides is None
    assert leaf_of(x.T).strides == (8, 24)
    assert leaf_of(x[0, ::-1]).strides == (-8,) and leaf_of(x[0, :1][::-1]).strides is None
    assert leaf_of(x.T) != leaf_of(np.ones((3, 2)))
    assert [leaf_of(a).strides for a in (np.float64(1), 1.0, "sin")] == [None, None, None]


def test_what_no_program_can_be_made_for_is_refused() -> None:
    with pytest.raises(StructureError, match="a set among the arguments"):
        leaf_of({1, 2})
    with pytest.raises(DTypeError, match="more than 63 bits"):
        leaf_of(2**63)


def test_calls_of_equal_leaves_may_differ() -> None:
    x = np.ones(2)
    assert signature(x, s=x) == signature(x, s=x + 1)
    assert signature((x,), {"s": x}) != signature(x, s=x)
    assert signature({"a": x, "b": x}) != signature({"b": x, "a": x})
    assert hash(signature(x, "sin")) == hash(signature(x, "sin"))
