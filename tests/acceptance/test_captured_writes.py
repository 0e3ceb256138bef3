"""A function that writes what it captured: as Python says without ``jit``, and with it never silently left out."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import CaptureError

COUNTER = 0.0
LAST: Any = None


def test_a_traced_value_kept_in_a_global_raises_when_it_is_used_later() -> None:
    """Un-jitted, the write happens as Python says; a traced value that escaped so raises on use, naming its trace."""

    def f(x: Any) -> Any:
        global LAST
        LAST = x * 2
        return np.sum(LAST)

    np.testing.assert_array_equal(wg.grad(f)(np.ones(2)), [2.0, 2.0])
    with pytest.raises(wg.errors.EscapedTracerError, match="return the value"):
        np.add(LAST, 1.0)
    with pytest.raises(wg.errors.EscapedTracerError):
        np.asarray(LAST)
    with pytest.raises(wg.errors.EscapedTracerError):
        bool(LAST[0] > 0)


def test_a_traced_value_of_the_last_trace_raises_in_the_next() -> None:
    """A traced value of the last call is not a silent constant in this one."""
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x)
        return np.sum(kept[0] * x)

    np.testing.assert_array_equal(wg.grad(f)(np.ones(2)), [2.0, 2.0])
    with pytest.raises(wg.errors.EscapedTracerError):
        wg.grad(f)(np.ones(2))


def test_without_jit_a_counter_of_the_function_counts_every_call() -> None:
    """A counter of plain numbers counts every call: the function runs every time."""
    calls = 0

    def f(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x * calls

    gradient = wg.grad(f)
    assert [gradient(1.0) for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]
    assert calls == 4


@dataclass
class Box:
    value: Any


class Counter:
    total = 0.0

    def count(self, x: Any) -> Any:
        global METHOD_COUNTER
        METHOD_COUNTER += 1
        return x * METHOD_COUNTER


METHOD_COUNTER = 0


class Slotted:
    """No copy is made of it: the traced run writes the original, which is bound as it was before Python is to run."""

    __slots__ = ("unset", "value")

    def __init__(self) -> None:
        self.value = 0.0


class Extended(Slotted):
    """One that has a ``__dict__`` beside."""

    def __init__(self) -> None:
        super().__init__()
        self.beside = 1.0


def _writes_global(x: Any) -> Any:
    global COUNTER
    COUNTER = COUNTER + 1
    return x * COUNTER


def _writers() -> dict[str, Any]:
    count, items, table, box = 0, [0.0], {"a": 0.0}, Box(0.0)
    names: set[str] = set()
    slotted, extended = Slotted(), Extended()

    def counts_in_a_slot(x: Any) -> Any:
        slotted.value += 1.0
        return x * slotted.value

    def keeps_a_traced_value_in_a_slot(x: Any) -> Any:
        y = x * slotted.value
        slotted.value = x * 2
        return y + slotted.value

    def fills_and_empties_a_slot(x: Any) -> Any:
        slotted.unset = x * 2
        y = slotted.unset
        del slotted.unset
        slotted.value = 2.0
        return y * slotted.value

    def fills_a_slot(x: Any) -> Any:
        y = x * hasattr(slotted, "unset")
        slotted.unset = [x]
        return y

    def writes_beside_slots(x: Any) -> Any:
        extended.beside = extended.beside * 2
        extended.value = x
        return x * extended.beside

    def sets_a_traced_value_by_a_function(x: Any) -> Any:
        setattr(slotted, "".join(["val", "ue"]), x)
        return slotted.value * 2

    def writes_nonlocal(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * count

    def appends(x: Any) -> Any:
        items.append(x)
        return x * len(items)

    def sets_item(x: Any) -> Any:
        items[0] = x
        return x * 2

    def sets_key(x: Any) -> Any:
        table["b"] = x
        return x * 2

    def sets_attribute(x: Any) -> Any:
        box.value = x * 2
        return x * 2

    def adds_attribute(x: Any) -> Any:
        box.other = x
        return x * 2

    def through_a_helper(x: Any) -> Any:
        return writes_nonlocal(x)

    def through_a_method(x: Any) -> Any:
        return counter.count(x)

    def sets_class_attribute(x: Any) -> Any:
        Counter.total += 1.0
        return x * Counter.total

    counter = Counter()

    def adds_to_set(x: Any) -> Any:
        names.add("x")
        return x * len(names)

    return {f.__name__: f for f in locals().values() if isinstance(f, types.FunctionType)} | {
        "writes_global": _writes_global
    }


@pytest.mark.parametrize("name", _writers())
def test_a_strict_function_that_writes_what_it_captured_raises(name: str) -> None:
    """A later call would not repeat the write, so there is no later call."""
    f = _writers()[name]
    with pytest.raises(CaptureError, match=r"writes (.|\n)*try"):
        wg.jit(wg.grad(f), strict=True)(1.0)
    assert COUNTER == 0.0


WRITTEN_AT_ONCE = ("adds_to_set",)  # what no copy can be made of


@pytest.mark.parametrize("name", [name for name in _writers() if name not in WRITTEN_AT_ONCE])
def test_a_compiled_function_that_writes_what_it_captured_is_answered_plainly(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes at every call, as often as Python would, and says once that it is slow, and which line writes."""
    monkeypatch.setitem(globals(), "COUNTER", 0.0)
    monkeypatch.setitem(globals(), "METHOD_COUNTER", 0)
    monkeypatch.setattr(Counter, "total", 0.0)
    compiled, plain = wg.jit(_writers()[name]), _writers()[name]
    with pytest.warns(wg.PerformanceWarning, match=r"without machine code(.|\n)*writes") as warned:
        got = [compiled(2.0) for _ in range(3)]
    monkeypatch.setitem(globals(), "COUNTER", 0.0)
    monkeypatch.setitem(globals(), "METHOD_COUNTER", 0)
    monkeypatch.setattr(Counter, "total", 0.0)
    assert got == [plain(2.0) for _ in range(3)] and len(warned) == 1
    assert warned[0].filename == __file__ and (
        name in ("appends", "sets_key", "sets_a_traced_value_by_a_function") or f"{__file__}:" in str(warned[0].message)
    )


@pytest.mark.parametrize("name", WRITTEN_AT_ONCE)
def test_a_write_that_is_done_while_tracing_raises(name: str) -> None:
    """It would be done twice if Python were to answer the call."""
    with pytest.raises(wg.errors.WrittenError, match=r"writes (.|\n)*try"):
        wg.jit(wg.grad(_writers()[name]))(1.0)


def test_a_write_with_jit_inside_of_grad_raises_too() -> None:
    with pytest.raises(CaptureError):
        wg.jit(_writers()["writes_nonlocal"], strict=True)(1.0)


def test_a_captured_array_written_inside_raises_and_stays() -> None:
    """buffer[0] = x where the buffer was made outside: jitted or not, an error, and the buffer as it was."""
    buffer = np.zeros(3)

    def f(x: Any) -> Any:
        buffer[0] = x
        return np.sum(buffer)

    for gradient in (wg.grad(f), wg.jit(wg.grad(f))):
        with pytest.raises(wg.errors.MutationError, match=r"test_captured_writes\.py(.|\n)*try"):
            gradient(1.0)
        np.testing.assert_array_equal(buffer, np.zeros(3))
        assert buffer.flags.writeable


def test_own_variables_may_be_written() -> None:
    """What the function made itself is its own: nonlocal of its inner functions, its lists, its dicts."""

    def f(x: Any) -> Any:
        total = 0.0
        parts: list[Any] = []
        table: dict[str, Any] = {}

        def add(y: Any) -> None:
            nonlocal total
            total = total + y
            parts.append(y)
            table["last"] = y

        for k in range(3):
            add(x**k)
        return total + parts[1] * table["last"]

    for gradient in (wg.grad(f), wg.jit(wg.grad(f))):
        assert gradient(2.0) == 1.0 + 4.0 + 12.0
        assert gradient(2.0) == 1.0 + 4.0 + 12.0
