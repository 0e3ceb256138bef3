"""Slots are compared by what they held, each in its way; the runtime gets them in its own terms."""

from __future__ import annotations

import abc
import functools
from collections import deque
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.tracing.surroundings.kinds import KINDS, Box, Crate, Pair, Slotted
from tests.tracing.surroundings.walks import replaced, watched
from wengert.tracing.surroundings.parts import _content
from wengert.tracing.surroundings.slots import (
    MISSING,
    AbsentRead,
    ArgumentRead,
    ArrayRead,
    AttributeRead,
    AttributesRead,
    CellRead,
    ClassRead,
    CodeRead,
    Container,
    ContentRead,
    DefaultRead,
    DefaultsRead,
    FormRead,
    HeldRead,
    ItemRead,
    ItselfRead,
    KeysRead,
    KeywordDefaultRead,
    KeywordsRead,
    LengthRead,
    MembersRead,
    NamesRead,
    ReadonlyRead,
    RegisteredRead,
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

    def g(*, a: Any = 1.0) -> Any:
        return a

    total, box, table, items = 2.0, Box(), {"a": 1.0}, [1.0, 2.0]
    assert f.__closure__ and g.__kwdefaults__
    expected = {
        CellRead(f.__closure__[0]): 2.0,
        VariableRead(table, "a"): 1.0,
        ClassRead(Box, "rate"): 1.0,
        ClassRead(Box, ...): (type, Box.__mro__, "Box", "Box", tuple(vars(Box))),
        AbsentRead(table, ("a", "b")): ("a",),
        CodeRead(f): (f.__code__, None, "f", f.__qualname__, f.__module__),
        VariableRead(vars(np), "zeros"): np.zeros,
        ItemRead(lambda: items, None, 1): 2.0,
        LengthRead(lambda: items, None): 2,
        KeysRead(lambda: table, None): ("a",),
        ContentRead(lambda: items, None): [1.0, 2.0],
        ContentRead(lambda: table, None): {"a": 1.0},
        AttributeRead(lambda: box, box, "value"): 1.0,
        AttributesRead(lambda: box, box): (Box, "value"),
        HeldRead(lambda: box, box, "value"): 1.0,
        DefaultRead(f, 0): 1.0,
        DefaultsRead(f, "__defaults__"): (1.0,),
        KeywordDefaultRead(g, "a"): 1.0,
        NamesRead(table): ("a",),
        ItselfRead(box): box,
    }
    for read, value in expected.items():
        assert read() == value
    items.append(3.0)
    table["b"] = 2.0
    box.__class__ = Crate
    f.__defaults__ = (5.0,)
    g.__kwdefaults__ = {"a": 6.0}
    of_containers = [2.0, 3, ("a", "b"), [1.0, 2.0, 3.0], {"a": 1.0, "b": 2.0}]
    of_objects = [1.0, (Crate, "value"), 1.0, 5.0, (5.0,), 6.0, ("a", "b"), box]
    assert [read() for read in expected][-13:] == [*of_containers, *of_objects]
    assert AbsentRead(table, ("a", "b"))() == ("a", "b")


def test_a_container_in_the_runtime_s_terms_is_as_it_was_found() -> None:
    table, items, pair = {"a": 1.0}, [1.0], (1.0, 2.0)
    containers = [Container("list", items), Container("dict", table), Container("tuple", pair)]
    items[0] = table["a"] = 2.0
    found = [container.native() for container in containers]
    assert found == [[("list", items, (1.0,))], [("dict", table, ("a",), (1.0,))], []]


def places(read: Any) -> Any:
    """The places of a slot that has been read now."""
    return read.native(read())


def test_readers_in_the_runtime_s_terms() -> None:
    def f(a: Any = 1.0, *, b: Any = 2.0) -> Any:
        return a + total

    total, box, table, slotted = 2.0, Box(), {"a": 1.0}, Slotted()
    cell = (f.__closure__ or ())[0]
    code = (f.__code__, None, "f", f.__qualname__, f.__module__)
    array = np.zeros((2, 3))
    of_box = ("__dict__", box, vars(box))
    slot_of_value = vars(Slotted)["value"]
    assert places(CellRead(cell)) == [("cell", cell, 2.0)]
    assert places(VariableRead(table, "a")) == [("item", table, "a", 1.0)]
    assert places(ClassRead(Box, "rate")) == [("item", Box, "rate", 1.0)]
    of_class = ("class", Box, (type, Box.__mro__, "Box", "Box"))
    assert places(ClassRead(Box, ...)) == [of_class, ("keys", Box, tuple(vars(Box)))]
    assert places(AbsentRead(table, ("b",))) == [("absent", table, ("b",))]
    assert places(AbsentRead(table, ("a",))) is None
    assert places(CodeRead(f)) == [("code", f, code)]
    assert places(FormRead(array)) == [("form", array, array.dtype, (2, 3, 24, 8))]
    assert places(AttributeRead(lambda: box, box, "value")) == [of_box, ("item", vars(box), "value", 1.0)]
    assert places(AttributesRead(lambda: box, box)) == [("kind", box, Box), of_box, ("keys", vars(box), ("value",))]
    assert places(HeldRead(lambda: box, box, "value")) == [of_box, ("item", vars(box), "value", 1.0)]
    assert places(HeldRead(lambda: box, box, "rate")) is None  # of its class
    assert places(HeldRead(lambda: slotted, slotted, "value")) == [("member", slotted, slot_of_value, 1.0)]
    assert places(HeldRead(lambda: slotted, slotted, "unset")) == [("member", slotted, vars(Slotted)["unset"])]
    assert places(DefaultRead(f, 0)) == [("defaults", f, (1.0,))]
    assert places(KeywordDefaultRead(f, "b")) == [("kwdefaults", f, {"b": 2.0}), ("item", {"b": 2.0}, "b", 2.0)]
    assert places(DefaultsRead(f, "__kwdefaults__")) == [("kwdefaults", f, {"b": 2.0})]
    assert places(NamesRead(table)) == [("keys", table, ("a",))]
    assert places(ItselfRead(box)) == []
    assert places(ArrayRead(lambda: array, array, _content)) == [
        *places(FormRead(array)),
        ("content", array, bytes(48)),
    ]
    assert places(ArrayRead(lambda: array.T, array.T, _content)) is None
    constant = wg.constant(array)
    flag, (kind, lent, is_it) = places(ReadonlyRead(lambda: constant, constant))
    assert flag == ("readonly", constant, True) and kind == "call" and lent() is is_it
    assert places(ReadonlyRead(lambda: array, array)) is None
    part = functools.partial(f, 1.0, b=box)
    keywords = ("member", part, vars(functools.partial)["keywords"], part.keywords)
    assert places(ArgumentRead(lambda: part, part, 0)) == [
        ("member", part, vars(functools.partial)["args"], (1.0,)),
    ]
    assert places(ArgumentRead(lambda: part, part, "b")) == [keywords, ("item", part.keywords, "b", box)]
    assert places(KeywordsRead(lambda: part, part)) == [keywords, ("keys", part.keywords, ("b",))]
    members = {1.0, "a"}
    assert places(MembersRead(lambda: members, members)) == [("set", members, frozenset(members))]
    assert places(MembersRead(lambda: members, frozenset(members))) == []


def test_what_is_registered_with_abstract_classes_is_looked_at_when_anything_is() -> None:
    class A(abc.ABC): ...  # noqa: B024

    class B(abc.ABC): ...  # noqa: B024

    slots = [Slot("what is registered", read, read(), True) for read in (RegisteredRead(A), RegisteredRead(B))]
    ((kind, number, ask, seen),) = native_slots(slots)
    assert kind == "counted" and ask() is seen
    before = number()
    B.register(Box)
    assert number() != before and ask() is not seen


def test_a_class_with_a_dict_of_its_own_is_left_to_python() -> None:
    class Own:
        @property
        def __dict__(self) -> Any:
            return {"value": 1.0}

    own = Own()
    assert AttributesRead(lambda: own, own).native((Own, "value")) is None


def native_kinds(slots: list[Slot]) -> list[str]:
    return [place[0] for place in native_slots(slots)]


def test_a_container_is_one_place_however_many_items_it_has() -> None:
    items, table, pair, queue = [1.0, 2.0], {"a": 1.0, "b": 2.0}, (1.0, 2.0), deque([1.0])
    read = lambda: items
    container = Container("list", items)
    parts = [LengthRead(read, container), ItemRead(read, container, 0), ItemRead(read, container, 1)]
    assert native_kinds([Slot("x", part, part(), True) for part in parts]) == ["list"]
    item = ItemRead(lambda: table, Container("dict", table), "a")
    assert native_kinds([Slot("x", item, table["a"], True), *[Slot("x", part, part(), True) for part in parts]]) == [
        "dict",
        "list",
    ]
    in_tuple = ItemRead(lambda: pair, Container("tuple", pair), 0)  # the tuple itself is looked at
    assert native_kinds([Slot("x", in_tuple, pair[0], True)]) == []
    unknown = ItemRead(lambda: queue, None, 0)
    assert native_kinds([Slot("x", unknown, 1.0, True), Slot("x", lambda: 1, 1, True)]) == ["call"]


def test_the_attributes_of_an_object_are_one_place_where_all_are_read() -> None:
    box = Box([1.0])
    vars(box)["other"] = [2.0]
    read = lambda: box
    which = Slot("the attributes", AttributesRead(read, box), (Box, "value", "other"), True)
    slots = [Slot(name, AttributeRead(read, box, name), value, False) for name, value in vars(box).items()]
    whole = ("dict", vars(box), ("value", "other"), tuple(vars(box).values()))
    assert native_slots([which, *slots])[2:] == [whole]
    assert native_kinds([which, slots[0]]) == ["kind", "__dict__", "keys", "item"]
    assert native_kinds(slots) == ["__dict__", "item", "item"]
    changed = slots[0]._replace(seen=[1.0])  # it was another object at another look
    assert native_slots([which, *slots, changed])[2:] == [whole, ("item", vars(box), "value", changed.seen)]


def test_what_was_changed_while_it_was_traced_never_holds() -> None:
    items, table, box = [1.0, 2.0], {"a": 1.0}, Box()
    whole = Container("list", items)
    for read in (
        ItemRead(lambda: items, whole, 0),
        LengthRead(lambda: items, whole),
        ContentRead(lambda: items, whole),
        KeysRead(lambda: table, Container("dict", table)),
        ContentRead(lambda: table, Container("dict", table)),
        AttributesRead(lambda: box, box),
        ClassRead(Box, ...),
        NamesRead(table),
    ):
        (place,) = native_slots([Slot("x", read, MISSING, True)])
        assert place[0] == "call" and place[1]() is False


def test_what_python_looks_at_is_one_call_with_what_it_says_while_all_is_there() -> None:
    now: list[Any] = [1.0, 2.0]
    slots = [Slot("x", lambda k=k: now[k], now[k], True) for k in range(2)]
    (place,) = native_slots(slots)
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
    assert _kinds_of_a_closure(lambda: box) == ["cell", "class", "keys", "kind", "__dict__", "dict", "code"]
    assert not {"list", "dict"} & set(_kinds_of_a_closure(lambda: pair))  # a tuple cannot change
    assert _kinds_of_a_closure(lambda: queue) == ["cell", "code", "call"]
    assert _kinds_of_a_closure(lambda: members) == ["cell", "set", "code"]
    assert _kinds_of_a_closure(with_default) == ["defaults", "code"]
    assert _kinds_of_a_closure(lambda: np.sum(len([1]))) == ["code", "absent", "item", "item", "item"]


LOOKED_AT_BY_PYTHON = {
    "primitive",  # its rules
    "deque",
    "OrderedDict",
    "exception",  # its arguments
    "array of objects",
    "masked array",
    "bytearray",
    "memoryview",
    "array.array",
    "Generator",
    "RandomState",
    "Random",
}
"""The kinds of value in which something is looked at by Python, when they are watched."""


@pytest.mark.parametrize("name", KINDS)
def test_what_is_watched_is_looked_at_by_the_runtime(name: str) -> None:
    _, *slots = watched(KINDS[name]().value).slots  # the first says where the test found it
    assert ("call" in native_kinds(slots)) == (name in LOOKED_AT_BY_PYTHON)


def test_the_defaults_of_a_function_are_one_place() -> None:
    def f(a: Any = 1.0, b: Any = 2.0) -> Any:
        return a, b

    slots = [Slot("x", read, read(), False) for read in (DefaultsRead(f, "__defaults__"), DefaultRead(f, 0))]
    assert native_slots(slots) == [("defaults", f, (1.0, 2.0))]
