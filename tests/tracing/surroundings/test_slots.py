"""Slots are compared by what they held, each in its way; the runtime gets them in its own terms."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

from tests.tracing.surroundings.kinds import KINDS, Box, Crate, Pair
from tests.tracing.surroundings.walks import replaced, watched
from wengert.runtime import _native
from wengert.tracing.surroundings.slots import (
    AbsentRead,
    AttributeRead,
    AttributesRead,
    CellRead,
    ClassRead,
    CodeRead,
    Container,
    DefaultRead,
    ItemRead,
    KeysRead,
    LengthRead,
    NameRead,
    Slot,
    VariableRead,
    all_hold,
    is_unchanged,
    native_slots,
)


def slot(now: Any, seen: Any, by_value: bool = True) -> Slot:
    return Slot("x", lambda: now, seen, by_value)


NAN = float("nan")
SAME = [(1, 1), (1.5, 1.5), ("a", "a"), (NAN, float("nan")), (np.float32(2), np.float32(2)), ((1, "a"), (1, "a"))]
OTHERS = [(1, 1.0), (1, True), (0.0, -0.0), (-0.0, 0.0), (NAN, 1.0), (np.float32(2), np.float64(2)), (1, None)]


@pytest.mark.parametrize(("now", "seen"), SAME)
def test_equal_values_of_one_type_are_the_same(now: Any, seen: Any) -> None:
    assert is_unchanged(slot(now, seen))


@pytest.mark.parametrize(("now", "seen"), OTHERS)
def test_values_that_differ_in_type_or_sign_are_not(now: Any, seen: Any) -> None:
    assert not is_unchanged(slot(now, seen))


def test_by_identity_an_equal_object_is_another() -> None:
    seen = [1.0]
    assert is_unchanged(slot(seen, seen, by_value=False))
    assert not is_unchanged(slot([1.0], seen, by_value=False))


@pytest.mark.parametrize("error", [KeyError, IndexError, AttributeError, ValueError, TypeError])
def test_what_is_no_longer_there_has_changed(error: type[Exception]) -> None:
    def read() -> Any:
        raise error

    assert not all_hold([slot(1, 1), Slot("x", read, 1, True)])


def test_another_error_is_the_users() -> None:
    def read() -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        all_hold([Slot("x", read, 1, True)])


def test_readers_read_what_is_there_now() -> None:
    def f(a: Any = 1.0) -> Any:
        return a + total

    total, box, table, items = 2.0, Box(), {"a": 1.0}, [1.0, 2.0]
    assert f.__closure__
    expected = {
        CellRead(f.__closure__[0]): 2.0,
        VariableRead(table, "a"): 1.0,
        ClassRead(Box, "rate"): 1.0,
        ClassRead(Box, ...): ("Box", "Box", *Box.__mro__, *vars(Box)),
        AbsentRead(table, ("a", "b")): ("a",),
        CodeRead(f): (f.__code__, None, "f", f.__qualname__, f.__module__),
        NameRead(vars(np), "zeros"): np.zeros,
        ItemRead(lambda: items, None, 1): 2.0,
        LengthRead(lambda: items, None): 2,
        KeysRead(lambda: table, None): ("a",),
        AttributeRead(lambda: box, None, "value"): 1.0,
        AttributesRead(lambda: box, None): (Box, "value"),
        DefaultRead(lambda: f, None, 0): 1.0,
    }
    for read, value in expected.items():
        assert read() == value
    items.append(3.0)
    table["b"] = 2.0
    box.__class__ = Crate
    f.__defaults__ = (5.0,)
    assert [read() for read in expected][-6:] == [2.0, 3, ("a", "b"), 1.0, (Crate, "value"), 5.0]
    assert AbsentRead(table, ("a", "b"))() == ("a", "b")


def test_a_container_in_the_runtime_s_terms() -> None:
    def f(a: Any = 1.0) -> Any:
        return a

    table, items, box = {"a": 1.0}, [1.0], Box(2.0)
    assert Container("list", items).native() == ("list", items, (1.0,))
    assert Container("dict", table).native() == ("dict", table, ("a",), (1.0,))
    assert Container("attributes", box).native() == ("attributes", box, ("value",), (2.0,))
    assert Container("defaults", f).native() == ("defaults", f, (1.0,))


def native_kinds(slots: list[Slot]) -> list[str]:
    return [place[0] for place in native_slots(slots, _native.type_version)]


def test_a_container_is_one_place_however_many_items_it_has() -> None:
    items, table, pair, queue = [1.0, 2.0], {"a": 1.0, "b": 2.0}, (1.0, 2.0), deque([1.0])
    read = lambda: items
    container = Container("list", items)
    parts = [LengthRead(read, container), ItemRead(read, container, 0), ItemRead(read, container, 1)]
    assert native_kinds([Slot("x", part, part(), True) for part in parts]) == ["list"]
    item = ItemRead(lambda: table, Container("dict", table), "a")
    assert native_kinds([Slot("x", item, 1.0, True), *[Slot("x", part, part(), True) for part in parts]]) == [
        "dict",
        "list",
    ]
    in_tuple = ItemRead(lambda: pair, Container("tuple", pair), 0)  # the tuple itself is looked at
    assert native_kinds([Slot("x", in_tuple, 1.0, True)]) == []
    unknown = ItemRead(lambda: queue, None, 0)
    assert native_kinds([Slot("x", unknown, 1.0, True), Slot("x", lambda: 1, 1, True)]) == ["call"]


def test_what_python_looks_at_is_one_call_with_what_it_says_while_all_is_there() -> None:
    now: list[Any] = [1.0, 2.0]
    slots = [Slot("x", lambda k=k: now[k], now[k], True) for k in range(2)]
    (place,) = native_slots(slots, _native.type_version)
    kind, call, seen = place
    assert kind == "call" and call() is seen
    now[1] = 3.0
    assert call() is not seen


def _kinds_of_a_closure(f: Any) -> list[str]:
    return native_kinds(replaced(f)[1].slots)


def test_the_places_of_what_is_replaced() -> None:
    a, items, table, box, pair = 1.0, [1.0], {"a": 1.0}, Box(), Pair(1.0, 2.0)
    queue, members = deque([1.0]), {1.0}

    def with_default(x: Any = 1.0) -> Any:
        return x

    assert _kinds_of_a_closure(lambda: a) == ["cell", "code"]
    assert _kinds_of_a_closure(lambda: items) == ["cell", "list", "code"]
    assert _kinds_of_a_closure(lambda: table) == ["cell", "dict", "code"]
    assert _kinds_of_a_closure(lambda: box) == ["cell", "type", "attributes", "code"]
    assert not {"list", "dict", "attributes"} & set(_kinds_of_a_closure(lambda: pair))  # a tuple cannot change
    assert _kinds_of_a_closure(lambda: queue) == ["cell", "code", "call"]
    assert _kinds_of_a_closure(lambda: members) == ["cell", "code", "call"]
    assert _kinds_of_a_closure(with_default) == ["defaults", "code"]
    assert _kinds_of_a_closure(lambda: np.sum(len([1]))) == ["code", "absent", "item", "names", "names"]


@pytest.mark.parametrize("name", ["list", "dict", "namespace", "closure"])
def test_what_is_watched_is_compared_by_python(name: str) -> None:
    kinds = native_kinds(watched(KINDS[name]().value).slots)
    assert "call" in kinds and not {"cell", "list", "dict", "attributes", "defaults"} & set(kinds)


def test_what_hangs_on_an_option_is_compared_by_python() -> None:
    option = KINDS["option"]().value
    kinds = native_kinds(replaced(lambda: option)[1].slots)
    assert "call" in kinds and "attributes" not in kinds


def test_a_class_is_a_place_while_it_has_a_version() -> None:
    slots = [Slot("Box.rate", ClassRead(Box, "rate"), Box.rate, True)]
    assert native_kinds(slots) == ["type"]
    assert [place[0] for place in native_slots(slots, lambda cls: 0)] == ["call"]
    assert [place[0] for place in native_slots([slots[0]._replace(seen=2.0)], lambda cls: 1)] == ["call"]
