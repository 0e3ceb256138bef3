"""What a value is made of: every kind of part has a kind of value here, and each part is read again as it is now."""

from __future__ import annotations

import collections
import dataclasses
import functools
import logging
import os
import types
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.stats

import wengert as wg
from tests.tracing.surroundings.kinds import KINDS, Box, Closing, Pair, Row, Slotted, Table
from wengert.tracing.surroundings import parts
from wengert.tracing.surroundings.parts import Part, Parts, parts_of
from wengert.tracing.surroundings.slots import MISSING

GROUPS = [field.name for field in dataclasses.fields(Parts)]


def listed(found: Parts) -> dict[str, list[Part]]:
    """The parts of each kind that there are."""
    groups: dict[str, list[Part]] = {}
    for name in GROUPS:
        group: Part | Iterable[Part] | None = getattr(found, name)
        if group:
            groups[name] = [group] if isinstance(group, Part) else list(group)
    return {name: group for name, group in groups.items() if group}


def names_of(value: Any) -> dict[str, list[str]]:
    return {kind: [part.name for part in group] for kind, group in listed(parts_of(value, "x", lambda: value)).items()}


def test_the_kinds_of_value_have_every_kind_of_part() -> None:
    found = [names_of(make().value) for make in KINDS.values()]
    assert set().union(*found) == set(GROUPS)


@pytest.mark.parametrize("name", KINDS)
def test_a_part_is_read_as_it_is(name: str) -> None:
    value = KINDS[name]().value
    groups = listed(parts_of(value, "x", lambda: value))
    for kind, group in groups.items():
        for part in group:
            now = part.read()
            is_compared = kind in ("content", "names")  # by value; the others are the very object
            assert now == part.value if is_compared else now is part.value


def test_sequences() -> None:
    expected = {"content": ["len(x)"], "items": ["x[0]", "x[1]"]}
    for value in ([1.0, 2.0], (1.0, 2.0)):
        assert names_of(value) == expected
    assert names_of(Pair(1.0, 2.0)) == expected
    assert names_of(Row([1.0, 2.0])) == expected | {"names": ["the attributes of x"]}
    assert names_of([]) == {"content": ["len(x)"]}
    assert names_of([1.0] * 10_001) == {"content": ["x"]}


def test_dicts_and_sets() -> None:
    assert names_of({"a": 1.0, 2: 1.0}) == {"content": ["x.keys()"], "items": ["x['a']", "x[2]"]}
    assert names_of({Box: 1.0})["members"] == ["a member of x"]
    assert names_of({1.0, "a", (1, 2)}) == {"content": ["x"]}
    assert names_of({(1, Box())})["members"] == ["a member of x"]
    assert names_of(Table(a=1.0)) == {
        "content": ["x.keys()"],
        "items": ["x['a']"],
        "names": ["the attributes of x"],
    }
    assert names_of(dict.fromkeys(range(10_001))) == {"content": ["x"]}


def test_functions() -> None:
    def f(a: Any, b: Any = 1.0, c: Any = 2.0, *, d: Any = 3.0) -> Any:
        return a * b * c * d * cell * later * np.pi

    cell = 1.0
    f.note = 1.0
    assert names_of(f) == {
        "names": ["the attributes of x"],
        "attributes": ["x.note"],
        "inner": ["the defaults of x", "the defaults of x"],
        "arguments": ["x's default 0", "x's default 1", "x's default d"],
        "cells": ["cell"],
        "variables": ["np"],
    }
    later = 2.0
    assert names_of(f)["cells"] == ["cell", "later"]


def test_callables_made_around_others() -> None:
    assert names_of(Box().read) == {"inner": ["x.__func__", "x.__self__"]}
    assert names_of(functools.partial(max, 1.0, [2.0], key=abs)) == {
        "inner": ["x.func", "x.args", "x.keywords"],
        "arguments": ["x.args[0]", "x.args[1]", "x.keywords['key']"],
    }
    assert names_of(property(abs)) == {"inner": ["x.fget"]}
    assert names_of(staticmethod(abs)) == {"inner": ["x.__func__", "x.__wrapped__"]}
    assert names_of(functools.lru_cache(abs)) == {"inner": ["x.__wrapped__"]}
    assert names_of(KINDS["jitted function"]().value) == {"inner": ["x.__wrapped__"]}
    primitive = names_of(KINDS["primitive"]().value)
    assert {"x's function", "x's pullback"} <= set(primitive["items"])


def test_objects() -> None:
    box = Box()
    assert names_of(box) == {"names": ["the attributes of x"], "attributes": ["x.value"]}
    assert names_of(types.SimpleNamespace(a=1.0)) == {"names": ["the attributes of x"], "attributes": ["x.a"]}
    assert names_of(Closing()) == {"names": ["the attributes of x"], "attributes": ["x.value"]}
    assert names_of(Slotted()) == {"attributes": ["x.unset", "x.value"]}
    unset, value = listed(parts_of(Slotted(), "x", Slotted))["attributes"]
    assert unset.value is MISSING and value.value == 1.0
    assert names_of(np.errstate()) == {}  # a library's


def test_arrays_and_what_else_has_a_content() -> None:
    assert names_of(np.ones(2)) == {"content": ["the content of x"]}
    assert names_of(np.array([None, [1.0], 2.0], object))["members"] == ["a member of x"]
    assert names_of(bytearray(b"a")) == {"content": ["x"]}
    assert names_of(np.random.default_rng(0)) == {"content": ["the state of x"]}


def test_modules_and_classes() -> None:
    module = types.ModuleType("m")
    assert "x.__name__" in names_of(module)["attributes"] and "names" not in names_of(module)
    found = names_of(Box)
    assert found["names"] == ["the attributes of x"] and {"x.rate", "x.read"} <= set(found["attributes"])
    part = parts.attribute_of(Box, "Box", "rate")
    assert (part.key, part.name, part.value, part.read()) == ("rate", "Box.rate", 1.0, 1.0)


class WithNothing:
    """Has no attributes, and no dict to have some."""

    __slots__ = ()


class Caching(Box):
    @functools.cache  # noqa: B019
    def kept(self) -> Any:
        return self.value


COMPILED = getattr(scipy.linalg.qr_delete, "__wrapped__", scipy.linalg.qr_delete)
"""A function that Cython compiled: with a ``__dict__``, and state of its own beside it."""
COPYABLE: dict[str, tuple[type, bool]] = {
    "of the user's": (Box, True),
    "a namespace": (types.SimpleNamespace, True),
    "with slots": (Slotted, False),
    "with nothing": (WithNothing, False),
    "with slots and a dict": (type("Both", (Slotted,), {}), False),
    "that keeps what a method gave": (Caching, False),
    "of the environment": (type(os.environ), False),
    "of a log": (logging.Logger, False),
    "that closes something": (Closing, False),
    "a list of its own kind": (Row, False),
    "a named tuple": (Pair, False),
    "an exception": (type("Mistake", (ValueError,), {}), False),
    "a class of classes": (type("Meta", (type,), {}), False),
    "a library's": (np.errstate, False),
    "a builtin": (float, False),
    "a compiled function": (type(COMPILED), False),
}


@pytest.mark.parametrize("name", COPYABLE)
def test_what_a_copy_can_be_made_of(name: str) -> None:
    cls, is_copyable = COPYABLE[name]
    assert parts.is_copyable(cls) == is_copyable


update = scipy.linalg.qr_delete


def test_a_compiled_function_in_a_closure_is_not_copied() -> None:
    """SciPy 1.16 closes over what Cython 3.1 compiled; a copy had nothing but its ``__dict__``, and a call of it ended
    the process."""
    with pytest.raises(wg.errors.WengertError, match=r"not traced|cannot become a concrete array"):
        wg.grad(lambda x: np.sum(update(x, np.eye(3), 0)[1]))(np.eye(3))


def test_a_property_of_a_library_s_object_is_not_asked_for() -> None:
    """It may do anything: import, warn, raise."""

    class Lazy:
        __module__ = "numpy.of_a_test"
        __slots__ = ("inner",)

        @property
        def value(self) -> Any:
            raise RuntimeError("asked for")

    assert names_of(Lazy()) == {}


def test_what_a_copy_does_not_equal() -> None:
    frozen = dataclasses.make_dataclass("frozen", ["of"], frozen=True)
    told = Box(1.0)
    for value in (
        told,
        len_of,
        told.__init__,
        functools.partial(len_of),
        (1, (told,)),
        frozenset({told}),
        frozen(told),
    ):
        assert parts.is_told_by_identity(value)
    for value in (1.0, "a", (1, "a"), frozenset({1}), frozen(1.0), np.sin, Box, len):
        assert not parts.is_told_by_identity(value)


def test_the_functions_of_a_key() -> None:
    box = Box(1.0)
    assert parts.functions_in((len_of, 1, (box.__init__,))) == [len_of, Box.__init__]
    assert parts.functions_in(box) == parts.functions_in("a") == []


def len_of(x: Any) -> int:
    return len(x)


SEALED: dict[str, tuple[Any, bool]] = {
    "the user's": (Box(), False),
    "an array": (np.ones(1), True),
    "a function of NumPy's": (np.errstate(), True),
    "the environment": (os.environ, True),
    "a log": (logging.getLogger("a"), True),
    "a polynomial": (np.poly1d([1.0]), False),
    "a polynomial of numpy.polynomial": (np.polynomial.Polynomial([1.0]), False),
    "an object of SciPy's": (scipy.stats.norm(), False),
    "a layer": (wg.nn.Dense(1), False),
    "a compiled function": (wg.jit(abs), True),
}


@pytest.mark.parametrize("name", SEALED)
def test_whose_attributes_are_a_library_s_own(name: str) -> None:
    value, is_sealed = SEALED[name]
    assert parts.is_sealed(type(value)) == is_sealed


class OneSlot:
    __slots__ = "value"  # a text is one name

    def __init__(self) -> None:
        self.value = 1.0


class SlotsOfBoth(Slotted):
    __slots__ = ("__dict__", "__weakref__", "own")

    def __init__(self) -> None:
        super().__init__()
        self.own, self.more = 2.0, 3.0


class PrivateSlot:
    __slots__ = ("__value",)

    def __init__(self) -> None:
        self.__value = 1.0


class SlotsOfAnIterator:
    __slots__ = (name for name in ("left", "right"))


def test_slots_of_a_class_and_of_its_bases() -> None:
    assert names_of(OneSlot()) == {"attributes": ["x.value"]}
    assert names_of(SlotsOfBoth()) == {
        "names": ["the attributes of x"],
        "attributes": ["x.more", "x.own", "x.unset", "x.value"],
    }
    assert names_of(PrivateSlot()) == {"attributes": ["x._PrivateSlot__value"]}
    assert names_of(SlotsOfAnIterator()) == {"attributes": ["x.left", "x.right"]}


def test_of_a_class_with_parameters_its_class_counts_alone() -> None:
    assert names_of(dict[str, float]) == {"inner": ["x.__origin__"]}


def test_which_containers_are_walked() -> None:
    for value in ([1], (1,), Pair(1, 2), collections.deque([1])):
        assert parts.is_sequence(value)
        assert parts.is_own_kind(value) == (type(value) is Pair)
    for value in (Row([1]), {"a": 1}, {1}, "ab", range(2), type("Own", (tuple,), {})((1,))):
        assert not parts.is_sequence(value)
    assert parts.is_own_kind(Row()) and parts.is_own_kind(Pair(1, 2)) and not parts.is_own_kind(Box())
    for value, is_long in (([0] * 10_000, False), ([0] * 10_001, True), ((0,) * 10_001, True), ("a" * 10_001, False)):
        assert parts.is_long(value) == is_long
    assert parts.is_long(dict.fromkeys(range(10_001))) and not parts.is_long(set(range(10_001)))


def test_what_holds_itself_deep_is_told_by_its_identity_up_to_a_depth() -> None:
    inner: Any = (Box(1.0),)
    for _ in range(7):
        inner = (inner,)
    assert parts.is_told_by_identity(inner) and not parts.is_told_by_identity((inner,))
