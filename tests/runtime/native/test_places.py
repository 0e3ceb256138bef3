"""What a program read is compared with what was there: words, lists, sets at every call, by identity."""

from __future__ import annotations

import gc
import sys
from types import CellType
from typing import Any

import numpy as np
import pytest

from tests.runtime.native.entries import Point, X, entry, fits, jit

F8 = np.dtype(float)


class Other:
    pass


class Slotted:
    __slots__ = ("later", "value")

    def __init__(self) -> None:
        self.value = 1.0


class Set(set[Any]):
    pass


def both(place: Any, change: Any, back: Any) -> None:
    """The entry fits before the change, not after it, and again when it is put back."""
    f = jit(entry(places=[place]))
    assert fits(f)
    change()
    assert not fits(f)
    back()
    assert fits(f)


def put(holder: Any, name: str, value: Any) -> Any:
    return lambda: setattr(holder, name, value)


def test_a_cell_that_is_empty() -> None:
    content = [1.0]
    cell = CellType(content)
    both(("cell", cell, content), lambda: delattr(cell, "cell_contents"), put(cell, "cell_contents", content))


def test_the_class_of_an_object() -> None:
    p = Point()
    both(("kind", p, Point), put(p, "__class__", Other), put(p, "__class__", Point))


def test_the_dict_of_an_object() -> None:
    p = Point()
    mine = vars(p)
    both(("__dict__", p, mine), put(p, "__dict__", {}), put(p, "__dict__", mine))

    def f() -> None: ...

    mine = vars(f)
    both(("__dict__", f, mine), put(f, "__dict__", {}), put(f, "__dict__", mine))


def test_a_slot() -> None:
    s = Slotted()
    one, other = s.value, 2.0
    both(("member", s, vars(Slotted)["value"], one), put(s, "value", other), put(s, "value", one))
    both(("member", s, vars(Slotted)["value"], one), lambda: delattr(s, "value"), put(s, "value", one))
    both(("member", s, vars(Slotted)["later"]), put(s, "later", one), lambda: delattr(s, "later"))


def test_the_parts_of_a_function() -> None:
    def f(a: Any = 1.0, *, b: Any = 2.0) -> Any:
        """What it says."""

    def g() -> Any: ...

    code = (f.__code__, f.__doc__, f.__name__, f.__qualname__, f.__module__)
    both(("code", f, code), put(f, "__code__", g.__code__), put(f, "__code__", code[0]))
    for name, value in zip(("__doc__", "__name__", "__qualname__", "__module__"), code[1:], strict=True):
        both(("code", f, code), put(f, name, "another text"), put(f, name, value))
    defaults, by_name = f.__defaults__, f.__kwdefaults__
    both(("defaults", f, defaults), put(f, "__defaults__", None), put(f, "__defaults__", defaults))
    both(("kwdefaults", f, by_name), put(f, "__kwdefaults__", {"b": 2.0}), put(f, "__kwdefaults__", by_name))
    both(("defaults", g, None), put(g, "__defaults__", ()), put(g, "__defaults__", None))


def test_the_bases_and_names_of_a_class() -> None:
    class Meta(type): ...

    class OtherMeta(type): ...

    class Base: ...

    class C(Base, metaclass=Meta): ...

    before = (Meta, C.__mro__, C.__name__, C.__qualname__)
    for name, value in (("__name__", "D"), ("__qualname__", "D"), ("__bases__", (Point,)), ("__class__", OtherMeta)):
        f = jit(entry(places=[("class", C, before)]))
        assert fits(f)
        own = getattr(C, name)
        setattr(C, name, value)
        assert not fits(f)
        setattr(C, name, own)
        before = (Meta, C.__mro__, C.__name__, C.__qualname__)  # the bases are another tuple


def test_a_class_that_cannot_be_renamed() -> None:
    assert fits(jit(entry(places=[("class", float, (type, float.__mro__, "float", "float"))])))


def test_the_items_of_a_list() -> None:
    items: list[Any] = [1.0, "a", None]
    seen = tuple(items)
    for change in (
        lambda: items.append(1.0),
        lambda: items.__setitem__(1, "b"),
        items.clear,
        items.reverse,
        lambda: items.__setitem__(0, 1),
    ):
        both(("list", items, seen), change, lambda: items.__setitem__(slice(None), seen))
    assert fits(jit(entry(places=[("list", [], ())])))


@pytest.mark.parametrize("kind", [set, Set])
def test_the_members_of_a_set(kind: Any) -> None:
    members = kind([1.0, "a", None])
    f = jit(entry(places=[("set", members, frozenset(members))]))
    assert fits(f)
    members.add("b")
    assert not fits(f)
    members.discard("b")  # where it was, the table says that something was
    f = jit(entry(places=[("set", members, frozenset(members))]))
    assert fits(f)
    members.discard("a")
    assert not fits(f)
    with pytest.raises(ValueError, match="other members"):
        entry(places=[("set", members, frozenset([1.0]))])
    with pytest.raises(ValueError, match="other members"):
        entry(places=[("set", {1}, frozenset([True]))])  # they are equal


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_the_form_of_an_array() -> None:
    x = np.zeros((2, 3))
    both(("form", x, x.dtype, (2, 3, 24, 8)), put(x, "shape", (3, 2)), put(x, "shape", (2, 3)))


EQUAL = [(1.5, float("1.5")), (float("nan"), float("nan")), (10**20, int("1" + 20 * "0")), ("ab", "".join("ab"))]
OTHERS = [(0.0, -0.0), (1, 1.0), (1, True), (1.0, np.float64(1.0)), (b"a", bytes([97])), ((1.5,), (float("1.5"),))]


@pytest.mark.parametrize(("seen", "now"), [*EQUAL, *OTHERS])
def test_numbers_and_texts_may_be_others_that_are_equal(seen: Any, now: Any) -> None:
    is_equal = any(seen is one for one, _ in EQUAL)
    cell, table, items = CellType(seen), {"a": seen}, [seen]
    found = [
        ("cell", cell, seen),
        ("item", table, "a", seen),
        ("dict", table, ("a",), (seen,)),
        ("list", items, (seen,)),
    ]
    entries = [jit(entry(places=[place])) for place in found]
    assert all(map(fits, entries))
    cell.cell_contents = table["a"] = items[0] = now
    for _ in range(2):
        assert [fits(f) for f in entries] == [is_equal or now is seen] * 4


def test_the_bytes_of_an_array() -> None:
    x = np.arange(6.0)
    both(("content", x, x.tobytes()), lambda: x.__setitem__(5, 1.0), lambda: x.__setitem__(5, 5.0))
    assert not fits(jit(entry(places=[("content", x[::2], x[::2].tobytes())])))  # no memory to compare
    assert not fits(jit(entry(places=[("content", x, x[:5].tobytes())])))


def test_an_array_that_can_be_written() -> None:
    x = np.zeros(3)
    x.flags.writeable = False
    both(("readonly", x, True), put(x.flags, "writeable", True), put(x.flags, "writeable", False))


def test_what_is_asked_when_a_number_has_changed() -> None:
    number, answers, asked = 1, True, 0

    def ask() -> bool:
        nonlocal asked
        asked += 1
        return answers

    f = jit(entry(places=[("counted", lambda: number, ask, True)]))
    assert fits(f) and fits(f) and asked == 1
    number = 2
    assert fits(f) and fits(f) and asked == 2
    number, answers = 3, False
    assert not fits(f) and not fits(f) and asked == 4
    answers = True
    assert fits(f) and fits(f) and asked == 5
    assert not fits(jit(entry(places=[("counted", lambda: 1 / 0, ask, True)])))
    assert not fits(jit(entry(places=[("counted", lambda: 1, lambda: 1 / 0, True)])))


@pytest.mark.parametrize(
    "place",
    [
        ("kind", Point()),
        ("__dict__", 1.0, {}),
        ("member", Slotted(), vars(Point)["__dict__"], 1.0),
        ("member", Point(), vars(Slotted)["value"], 1.0),
        ("code", len, ()),
        ("code", fits, (1, 2)),
        ("defaults", len, None),
        ("class", Point(), (type, (), "", "")),
        ("class", Point, ()),
        ("list", (), ()),
        ("list", [], []),
        ("set", [], frozenset()),
        ("dict", {}, ("a",), ()),
        ("keys", 1, ()),
        ("absent", {}, ["a"]),
        ("form", [], F8, ()),
        ("content", [], b""),
        ("readonly", [], True),
        ("counted", len, None, True),
    ],
)
def test_places_that_make_no_sense(place: Any) -> None:
    with pytest.raises(ValueError):
        entry(places=[place])


def test_how_many_are_compared_at_every_call() -> None:
    items = list(range(1000))
    names = dict.fromkeys(map(str, range(1000)))
    f = jit(
        entry(
            places=[
                ("cell", CellType(X), X),
                ("list", items, tuple(items)),
                *[("item", names, name, None) for name in names],
                ("absent", names, ("a",)),
            ]
        )
    )
    assert f._entries[0].looks == (2, 1001, 0)


def test_references_are_given_back() -> None:
    def f() -> Any: ...

    p, s, mark = Point(), Slotted(), object()
    p.mark, s.value, table, items = mark, mark, {"a": mark}, [mark]
    objects = (p, s, f, mark, table, items, vars(p), vars(Slotted)["value"])
    before = [sys.getrefcount(x) for x in objects]
    e: Any = entry(
        places=[
            ("kind", p, Point),
            ("__dict__", p, vars(p)),
            ("item", vars(p), "mark", mark),
            ("member", s, vars(Slotted)["value"], mark),
            ("code", f, (f.__code__, None, f.__name__, f.__qualname__, f.__module__)),
            ("dict", table, ("a",), (mark,)),
            ("list", items, (mark,)),
            ("class", Point, (type, Point.__mro__, "Point", "Point")),
        ]
    )
    assert sys.getrefcount(mark) > before[3]
    del e
    gc.collect()
    assert [sys.getrefcount(x) for x in objects] == before
