"""Which programs the runtime runs without asking Python, and how it is told their arguments."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest

import wengert as wg
from tests.runtime.native.entries import entry, fits, jit
from tests.tracing.surroundings.kinds import EDITS, KINDS
from tests.tracing.surroundings.walks import replaced, watched
from wengert.runtime.entry import native_structure
from wengert.tracing.surroundings.slots import native_slots

X = np.array([0.5, -1.0, 2.0])


class Pair(NamedTuple):
    a: Any
    b: Any


class Sole(NamedTuple):
    a: Any


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that it was one of many
    optree.register_pytree_node(Sole, lambda x: ((x.a,), None, None), lambda _, xs: Sole(*xs), namespace="wengert")


class Checked(Pair):
    """A named tuple that does more than store its items."""

    def __new__(cls, a: Any, b: Any) -> Checked:
        return super().__new__(cls, a, {"n": b} if isinstance(b, np.ndarray) else b)


@dataclass
class Model:
    weight: Any


def test_structures_are_of_plain_containers() -> None:
    assert native_structure(((0, [1, 2]), {"b": 3, "a": 4}, None)) == (
        "tuple",
        [("tuple", [0, ("list", [1, 2])]), ("dict", [("b", 3), ("a", 4)]), ("none",)],
    )
    assert native_structure(()) == ("tuple", [])


def test_named_tuples_are_plain_containers_too() -> None:
    """Unless somebody has registered another way to take them apart."""
    assert native_structure([Pair(0, (1, 2))]) == ("list", [("named", Pair, [0, ("tuple", [1, 2])])])
    assert native_structure(Sole(0)) is None


@pytest.mark.parametrize("structure", [{"m": Model(0)}, (0, (1, Model(2))), Pair(0, Model(1))])
def test_structures_with_classes_in_them_are_pythons(structure: Any) -> None:
    assert native_structure(structure) is None


@pytest.mark.parametrize(
    ("args", "is_the_runtimes"),
    [((X, 2.0), True), (([X], {"s": 2.0}), True), ((X, "text"), True), ((Pair(X, 2.0),), True), ((Model(X),), False)],
    ids=["plain", "containers", "a setting", "a named tuple", "a dataclass"],
)
def test_a_call_seen_before_is_the_runtimes_where_its_arguments_are_plain(args: Any, is_the_runtimes: bool) -> None:
    step = wg.jit(lambda *args: wg.tree.flatten(args)[0][0] * 2)
    for _ in range(3):
        np.testing.assert_array_equal(step(*args), X * 2)
    assert [entry.calls for entry in step._entries] == ([2] if is_the_runtimes else [])
    assert step.stats()["traces"] == 1


def test_a_named_tuple_is_no_tuple_and_none_of_another_class() -> None:
    class Twin(NamedTuple):
        a: Any
        b: Any

    step = wg.jit(lambda pair: pair.a * 2 if type(pair) is Pair else pair[0] * 3)
    for _ in range(3):
        np.testing.assert_array_equal(step(Pair(X, 2.0)), X * 2)
        np.testing.assert_array_equal(step(Twin(X, 2.0)), X * 3)
        np.testing.assert_array_equal(step((X, 2.0)), X * 3)
    assert step.stats()["traces"] == 3


def test_a_named_tuple_is_made_by_its_class() -> None:
    step = wg.jit(lambda x: (Pair(x, [x]), Checked(x, x * 2)))
    for _ in range(3):
        pair, checked = step(X)
        assert (type(pair), type(checked)) == (Pair, Checked) and type(pair.b) is list
        np.testing.assert_array_equal(checked.b["n"], X * 2)
    assert [entry.calls for entry in step._entries] == [2]


def test_results_of_any_class_are_built_by_python() -> None:
    """Of plain containers by the runtime; of the others it calls what makes them."""
    step = wg.jit(lambda x: (Pair(x * 2, {"n": x}), [x]))
    for _ in range(3):
        made, (same,) = step(X)
        assert type(made) is Pair and same.tolist() == X.tolist()
        assert (made.a.tolist(), made.b["n"].tolist()) == ((2 * X).tolist(), X.tolist())
    assert [entry.calls for entry in step._entries] == [2]


def test_an_entry_leads_to_its_program() -> None:
    step = wg.jit(lambda x, y: x * y)
    step(X, y=3.0)
    (entry,) = step._entries
    assert entry.token.program is step.program(X, y=3.0) and entry.token.entry is entry


# --------------------------------------------------------------------------------------- what is read beside arguments


@pytest.mark.parametrize(("name", "edit"), EDITS)
@pytest.mark.parametrize("is_watched", [True, False])
def test_an_edit_of_what_is_read_is_seen_by_the_runtime(name: str, edit: str, is_watched: bool) -> None:
    kind = KINDS[name]()
    value = kind.value
    slots = watched(value).slots if is_watched else replaced(lambda: value)[1].slots
    call = jit(entry(places=native_slots(slots)))
    assert fits(call) and fits(call)
    kind.edits[edit]()
    is_seen = edit not in (kind.only_replaced if is_watched else kind.only_watched)
    for _ in range(2):
        assert fits(call) != is_seen
