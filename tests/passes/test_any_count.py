"""``while`` loops of Python's that are known to repeat: one program for every count, and for none that is not."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import config
from wengert.ops.control import Expected, guard
from wengert.passes import any_count
from wengert.passes.reroll.pieces import IterationStep
from wengert.source import Source
from wengert.tracing.counted import IterationNote, NotedValue

POINTS = [4.0, 100.0, 1e4, 1e6, 9.0, 1e8, 0.01, 25.0, 1e10, 2.0, 1e-6]


def newton(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = (x + a / x) / 2
    return x


def leaves_in_the_middle(a: Any) -> Any:
    x = a
    while True:
        new = (x + a / x) / 2
        if abs(new - x) < 1e-12 * abs(x):
            break
        x = new
    return new * 1.5


def of_arrays(a: Any) -> Any:
    x = np.array([a, 2 * a])
    y = x * 0 + 1
    while np.max(np.abs(y * y - x)) > 1e-10 * a:
        y = (y + x / y) / 2
    return np.sum(y * np.array([1.0, 2.0]))


def two_loops(a: Any) -> Any:
    x = newton(a)
    y = 1.0 + 0 * a
    while y < x:
        y = y * 1.5
    return x * y


@pytest.mark.sampled(2, "a second each")
@pytest.mark.parametrize("f", [newton, leaves_in_the_middle, of_arrays])
def test_one_program_for_every_count(f: Callable[..., Any]) -> None:
    value, gradient = wg.jit(f), wg.jit(wg.grad(f))
    for a in POINTS:
        assert value(a) == pytest.approx(f(a), rel=1e-11)
        assert gradient(a) == pytest.approx(wg.grad(f)(a), rel=1e-9)
    assert value.stats()["traces"] == gradient.stats()["traces"] == 3
    assert "while" in [i.op.name for i in value.program(3.0).tape.instrs]
    before = value.stats()["guard_misses"]
    for a in np.geomspace(1e-8, 1e12, 60).tolist():
        assert value(a) == pytest.approx(f(a), rel=1e-11)
    assert value.stats()["traces"] == 3
    assert value.stats()["guard_misses"] == before


def test_a_loop_that_does_not_run_is_another_path() -> None:
    f = lambda x: newton(x) if x > 1.5 else x
    compiled = wg.jit(f)
    for a in (*POINTS, 1.0, 4.0, 1.0, 1e9):
        assert compiled(a) == pytest.approx(f(a), rel=1e-11)


@pytest.mark.deep("more than a second")
def test_one_loop_behind_the_other() -> None:
    compiled = wg.jit(wg.grad(two_loops))
    for a in np.geomspace(1e-3, 1e9, 40).tolist():
        assert compiled(a) == pytest.approx(wg.grad(two_loops)(a), rel=1e-9)
    assert compiled.stats()["traces"] < 20


def counted(a: Any) -> Any:
    x, n = a, 0
    while abs(x * x - a) > 1e-12 * a:
        x, n = (x + a / x) / 2, n + 1
    return x * n


def capped(a: Any) -> Any:
    x = a
    for _ in itertools.repeat(None, 9):
        if abs(x * x - a) <= 1e-12 * a:
            break
        x = (x + a / x) / 2
    return x


def capped_by_a_list(a: Any) -> Any:
    x, history = a, []
    while abs(x * x - a) > 1e-12 * a and len(history) < 9:
        x = (x + a / x) / 2
        history.append(None)
    return x


def capped_by_a_constant(a: Any) -> Any:
    x, counts = a, np.zeros(1)
    while abs(x * x - a) > 1e-12 * a:
        x = (x + a / x) / 2
        counts[0] += 1
        if counts[0] > 8:
            break
    return x


def uses_its_count(a: Any) -> Any:
    history = [a, a]
    while abs(history[-1] ** 2 - a) > 1e-12 * a:
        history.append((history[-1] + a / history[-1]) / 2)
    return history[-1] * history[-2]


@pytest.mark.parametrize("f", [counted, capped, capped_by_a_list, capped_by_a_constant, uses_its_count])
def test_what_depends_on_its_count_stays_as_it_is(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "max_paths", 200)  # each count is a path, and all are to be compiled
    compiled = wg.jit(f)
    for a in (*POINTS, *np.geomspace(1e-4, 1e12, 25)):
        assert compiled(a) == pytest.approx(f(a), rel=1e-11)
    assert "while" not in [i.op.name for i in compiled.program(4.0).tape.instrs]


def exchanged(x: Any) -> Any:
    a, b, c = x, 3 * x, x
    while c < 100.0:
        a, b, c = b, a, c * 2.0
    return a


def exchanged_in_an_array(x: Any) -> Any:
    u, c = np.array([x, 2 * x, 3 * x]), x
    while c < 100.0:
        u[1], u[2] = u[2], u[1]
        c = c * 2.0
    return u[1]


def turned_round(x: Any) -> Any:
    r, c = [x, 2 * x, 3 * x], x
    while c < 100.0:
        r, c = [r[2], r[0], r[1]], c * 2.0
    return r[0]


def turned_round_in_views(x: Any) -> Any:
    u, c = np.stack([x, 2 * x, 3 * x]), x
    a, b = u[:1], u[1:2]
    while c < 100.0:
        a, b, c = b[:], a[:], c * 2.0
    return a[0]


def named_in_turn(x: Any) -> Any:
    u, w = np.zeros(2) * x, np.ones(2) * x
    v, c = u, x
    while c < 100.0:
        v, c = w if v is u else u, c * 2.0
    return v[0]


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize("f", [exchanged, exchanged_in_an_array, turned_round, turned_round_in_views, named_in_turn])
@pytest.mark.parametrize("step", [2, 3])
def test_what_changes_places_is_no_loop_of_any_count(f: Callable[..., Any], step: int) -> None:
    """After counts that had led to one tape it took any other for one of them."""
    compiled = wg.jit(f)
    for count in (*range(4, 4 + 5 * step, step), *range(3, 16)):
        x = 100 / 2.0 ** (count - 0.5)
        assert compiled(x) == pytest.approx(f(x), rel=1e-12)


def test_it_can_be_turned_off() -> None:
    compiled = wg.jit(newton, reroll=False)
    for a in POINTS:
        compiled(a)
    assert compiled.stats()["traces"] > 3


# ------------------------------------------------------------------------------- quick ones, of each kind of loop


def grows(x: Any) -> Any:
    while x < 100.0:
        x = x * 1.5 + 1
    return x


def grows_in_an_array(x: Any) -> Any:
    """Each iteration writes into an array what it has computed, after other steps of its own."""
    u = np.array([x, 2 * x])
    while x < 100.0:
        y = x * 1.5
        x = y + np.sin(y)
        u[1] = x * 2.0
    return u[0] * u[1]


def two_things_grow(x: Any) -> Any:
    y = x * 0.5
    while x < 100.0:
        x, y = x * 1.5 + y, y + 0.1
    return x - y


def leaves(x: Any) -> Any:
    while True:
        x = x * 1.5 + 1
        if x > 100.0:
            break
    return x


STARTS = [90.0, 40.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 60.0]


@pytest.mark.parametrize("f", [grows, grows_in_an_array, two_things_grow, leaves])
def test_after_three_counts_a_loop_is_one_of_any(f: Callable[..., Any]) -> None:
    compiled = wg.jit(f)
    for x in STARTS:
        assert compiled(x) == pytest.approx(f(x), rel=1e-12)
    assert "while" in [i.op.name for i in compiled.program(3.0).tape.instrs]


def added_up(x: Any, n: Any) -> Any:
    for k in range(n):
        x = np.sin(x) + k
    return x


def powers(x: Any, n: Any) -> Any:
    for k in range(2, n):
        x = np.sin(x) + (3 - k) * (k * k) - abs(-k)
    return x


def of_numbers(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = np.sin(x) + n
    return x


@pytest.mark.parametrize("f", [added_up, powers, of_numbers])
def test_a_for_of_a_traced_count_is_one_loop_after_several(f: Callable[..., Any]) -> None:
    compiled = wg.jit(f)
    for n in (6, 8, 10, 12, 7, 20, 41):
        assert compiled(0.3, n) == pytest.approx(f(0.3, n), rel=1e-12)
    assert "while" in [i.op.name for i in compiled.program(0.3, 9).tape.instrs]


def may_leave_int64(x: Any, n: Any) -> Any:
    for k in range(n):
        x = np.sin(x) + (k**2) ** 2 * (k * k) * (k * k) * (k * k) * 2.0
    return x


def carries_an_integer(x: Any, n: Any) -> Any:
    total = 0
    for k in range(n):
        total = total + k
        x = np.sin(x) * 0.5 + total
    return x


@pytest.mark.parametrize("f", [may_leave_int64, carries_an_integer])
def test_an_integer_that_may_leave_int64_makes_no_loop_of_any_count(f: Callable[..., Any]) -> None:
    """Python's integers do not."""
    compiled = wg.jit(f)
    for n in (6, 8, 10, 12, 7, 20):
        assert compiled(0.3, n) == pytest.approx(f(0.3, n), rel=1e-12)
    assert "while" not in [i.op.name for i in compiled.program(0.3, 9).tape.instrs]


LINE = Source("m.py", 3, "f")


def step(source: Source | None) -> IterationStep:
    return IterationStep(guard, (), (), {"expected": Expected(True)}, source)


def test_two_looks_are_of_one_loop_by_their_line() -> None:
    assert any_count._same_line(step(LINE), step(LINE._replace(role="tangent")))
    for other in (LINE._replace(line=4), None):
        assert not any_count._same_line(step(LINE), step(other))
        assert not any_count._same_line(step(other), step(LINE))
    assert not any_count._same_line(step(None), step(None))


VALUES = {name: NotedValue(None, name, (1, 2, 0)) for name in "abc"}


def note(loop: int = 1, beside: Any = "x", values: str = "ab") -> IterationNote:
    return IterationNote(loop, beside, tuple([VALUES[name] for name in values]))


def test_two_looks_are_of_one_loop_by_what_stands_beside() -> None:
    for is_first in (True, False):
        assert any_count._same_place(note(), note(), is_first)
        for other in (note(loop=2), note(beside="y")):
            assert not any_count._same_place(note(), other, is_first)
            assert not any_count._same_place(other, note(), is_first)
    assert any_count._same_place(note(), note(values="ac"), is_first=True), "other values stood there before"
    assert not any_count._same_place(note(), note(values="ac"))
