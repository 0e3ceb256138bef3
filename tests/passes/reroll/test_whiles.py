"""``while`` loops of Python's that are known to repeat: one program for every count, and for none that is not."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import config

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
