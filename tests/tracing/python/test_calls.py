"""What an instruction calls, told from the place of its callee in the source."""

from __future__ import annotations

import builtins
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from wengert.tracing.python import calls
from wengert.tracing.python.calls import Callee
from wengert.tracing.python.frames import place_of

seen: list[Any] = []


def note(*args: Any, **kwargs: Any) -> int:
    """Note what the frame that calls it is said to call."""
    frame = sys._getframe(1)
    place = place_of(frame)
    seen.append((calls.callee(place), calls.called_variable(frame), calls.called_names(frame, place)))
    return 3


owner = SimpleNamespace(note=note, inner=SimpleNamespace(note=note))
table = {"note": note}


def by_a_local() -> None:
    local = note
    local(1)


def by_a_cell() -> None:
    cell = note

    def inner() -> None:
        cell(key=1)

    inner()


def over_lines() -> None:
    note(
        1,
        key=2,
    )


VARIABLE = Callee("variable", "note"), note, ["note"]
ATTRIBUTE = Callee("attribute", "note"), None


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda: note(), VARIABLE),
        (lambda: note(1, *[2], key=3), VARIABLE),
        (lambda: [note(k) for k in (1,)], VARIABLE),
        (over_lines, VARIABLE),
        (lambda: owner.note(1), (*ATTRIBUTE, ["owner", "note"])),
        (lambda: owner.inner.note(key=1), (*ATTRIBUTE, ["owner", "inner", "note"])),
        (by_a_local, (Callee("variable", "local"), note, ["local"])),
        (by_a_cell, (Callee("variable", "cell"), note, ["cell"])),
        (lambda: table["note"](1), (Callee("else"), None, None)),
        (lambda: getattr(owner, "note")(1), (Callee("else"), None, None)),  # noqa: B009
        (lambda: list(map(note, [1])), (Callee("variable", "list"), list, ["list"])),
    ],
)
def test_what_a_line_calls(f: Any, expected: Any) -> None:
    seen.clear()
    f()
    assert [(kind, function, names) for kind, function, names in seen] == [expected]


def test_a_callee_was_not_found_in_a_function_of_more_names_than_a_byte_counts() -> None:
    """What only carries a part of the next instruction's number has the same place in the source."""
    names = ", ".join([f"name_{k}" for k in range(300)])
    namespace: dict[str, Any] = {"note": note} | {f"name_{k}": k for k in range(300)}
    exec(f"def f():\n    {names}\n    return note(1)", namespace)
    seen.clear()
    namespace["f"]()
    assert seen == [(*VARIABLE[:2], None)]  # it has no file


def test_an_operator_calls_nothing_by_a_name() -> None:
    frame = sys._getframe()

    class Noting:
        def __add__(self, other: Any) -> Any:
            place = place_of(frame)
            return calls.callee(place), calls.called_names(frame, place), calls.called_object(frame)

    assert Noting() + 1 == (Callee("else"), None, None)


def test_the_object_that_is_called_is_looked_up_without_running_code() -> None:
    class Owner:
        def __init__(self) -> None:
            self.given = note_object

        @property
        def computed(self) -> Any:
            return note_object

        @staticmethod
        def nested() -> Any: ...

    found: list[Any] = []

    def note_object(*args: Any) -> None:
        found.append(calls.called_object(sys._getframe(1)))

    owner, local = Owner(), note_object
    local(1)
    note_object(*[1])
    owner.given(1)
    owner.computed(2)
    sorted([1], key=note_object)
    [note_object][0](3)
    assert found == [note_object, note_object, note_object, None, sorted, None]


def places() -> list[Any]:
    """What gives the place of the call that it is, and of the one around that."""
    frame = sys._getframe(1)
    place = calls.place_of_call(frame)
    around = calls.call_around(place)
    seen.append((calls.called_variable(frame, place), around and calls.called_variable(frame, around)))
    return []


@pytest.mark.parametrize(
    ("f", "around"),
    [
        (lambda: places(), None),
        (lambda: len(places()), len),
        (lambda: max(1, len(places())), len),
        (lambda: isinstance([], type(places())), type),
        (lambda: places() + [1], None),
    ],
)
def test_the_call_that_takes_what_a_call_gives(f: Any, around: Any) -> None:
    seen.clear()
    f()
    assert seen == [(places, around)]


def test_a_callee_of_another_name_is_what_that_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtins, "note_of_a_test", note, raising=False)
    seen.clear()
    eval("note_of_a_test()")
    assert seen == [(Callee("variable", "note_of_a_test"), note, None)]
