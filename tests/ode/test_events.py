"""When events happen, beside SciPy's, and the derivatives of the times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp as of_scipy

import wengert as wg
from tests.ode.problems import fall, ground
from wengert.ode import solve_ivp


def apex(t: Any, y: Any) -> Any:
    return y[1]


def test_events() -> None:
    ours, theirs = (f(fall, (0, 10), [0.0, 10.0], method="RK45", events=[ground, apex]) for f in (solve_ivp, of_scipy))
    assert (ours.status, ours.message) == (theirs.status, theirs.message) == (1, "A termination event occurred.")
    for seen, expected in zip(ours.t_events, theirs.t_events, strict=True):
        np.testing.assert_allclose(seen, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.t[-1], 20 / 9.81, rtol=1e-9)
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-8, atol=1e-9)


def test_the_derivative_of_a_terminal_event() -> None:
    def lands(v: Any) -> Any:
        return solve_ivp(fall, (0.0, 10.0), np.stack([0.0 * v, v]), events=ground).t_events[0][0]

    assert wg.grad(lands)(10.0) == pytest.approx(2 / 9.81, rel=1e-6)


def half_life(k: Any) -> Any:
    """log(2) / k"""
    options: dict[str, Any] = {"t_eval": [0.1], "rtol": 1e-10, "atol": 1e-12, "events": half}
    return solve_ivp(lambda t, y: -k * y, (0.0, 10.0), [1.0], **options).t_events[0][0]


def half(t: Any, y: Any) -> Any:
    return y[0] - 0.5


half.terminal = True


@pytest.mark.deep("more than a second")
def test_second_derivatives_of_the_time_of_an_event() -> None:
    assert wg.grad(wg.grad(half_life))(0.8) == pytest.approx(2 * np.log(2) / 0.8**3, rel=1e-6)


@pytest.mark.deep("3 s")
def test_the_fourth_derivative_of_the_time_of_an_event() -> None:
    f: Any = half_life
    for _ in range(4):
        f = (lambda g: lambda k: wg.jvp(g, (k,), (1.0,))[1])(f)
    assert f(0.8) == pytest.approx(24 * np.log(2) / 0.8**5, rel=1e-3)


def third(t: Any, y: Any) -> Any:
    return y[0] - 5.0


third.terminal = 3


def test_an_event_that_ends_at_its_third_time() -> None:
    swing = lambda t, y: np.array([y[1], -y[0]])
    other = lambda t, y: y[1] - 5.0
    ours, theirs = (
        f(swing, (0, 100), [0.0, 10.0], method="RK45", rtol=1e-8, atol=1e-8, events=[other, third])
        for f in (solve_ivp, of_scipy)
    )
    assert [len(t) for t in ours.t_events] == [len(t) for t in theirs.t_events]
    for seen, expected in zip((*ours.t_events, *ours.y_events), (*theirs.t_events, *theirs.y_events), strict=True):
        np.testing.assert_allclose(seen, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose((ours.t[-1], *ours.y[:, -1]), (theirs.t[-1], *theirs.y[:, -1]), rtol=1e-9)


@pytest.mark.deep("3 s")
@pytest.mark.sampled(2, "a program for each method; the steps of each are compared in quick ones")
@pytest.mark.parametrize("method", ["Tsit5", "Radau"])
def test_the_derivatives_of_events_that_do_not_end(method: str) -> None:
    """Of y = r sin(w t), where y is 5 and rises: t = (asin(5/r) + 2 π k) / w."""

    def times(p: Any) -> Any:
        r, w = p
        rises = lambda t, y: y[0] - 5.0
        rises.direction = 1
        swing = lambda t, y: np.array([w * y[1], -w * y[0]])
        found = solve_ivp(swing, (0, 10), np.stack([0.0 * r, r]), method, rtol=1e-9, atol=1e-9, events=rises)
        return found.t_events[0] + 0.0 * found.y_events[0][:, 0]

    compiled, reverse = wg.jit(wg.jacobian(times)), wg.jit(wg.grad(lambda p: times(p)[-1]))
    for w, number in ((2.0, 4), (3.0, 5), (2.0, 4)):
        r, k = 10.0, np.arange(number)
        angle = np.arcsin(5 / r) + 2 * np.pi * k
        exact = np.stack([np.full(number, -5 / r**2 / np.sqrt(1 - 25 / r**2) / w), -angle / w**2], axis=1)
        p = np.array([r, w])
        np.testing.assert_allclose(times(p), angle / w, rtol=1e-7)
        np.testing.assert_allclose(compiled(p), exact, rtol=1e-6)
        np.testing.assert_allclose(reverse(p), exact[-1], rtol=1e-6)


@pytest.mark.deep("a second; a budget is kept in test_follow.py, events without one in quick ones")
def test_events_within_a_budget() -> None:
    def lands(v: Any, budget: int) -> Any:
        start = np.stack([0.0 * v, v])
        options: dict[str, Any] = {"events": ground, "max_step": 0.05, "budget": budget}
        return solve_ivp(fall, (0.0, 10.0), start, t_eval=[0.5, 5.0], **options).t_events[0][0]

    assert wg.grad(lambda v: lands(v, 200))(10.0) == pytest.approx(2 / 9.81, rel=1e-6)
    assert lands(10.0, 200) == pytest.approx(lands(10.0, 1 << 30), rel=1e-13)


def test_the_earliest_terminal_event_ends_it() -> None:
    """Whatever the order in which they are given, and whatever happens beside or behind it."""
    fun, options = lambda t, y: -y, {"method": "RK45", "first_step": 0.6, "t_eval": np.linspace(0, 2, 21)}

    def half(t: Any, y: Any) -> Any:
        return y[0] - 0.5

    def less(t: Any, y: Any) -> Any:
        return y[0] - 0.4

    half.terminal = less.terminal = True
    first, behind = (lambda t, y: y[0] - 0.9), (lambda t, y: y[0] - 0.45)
    for events in ([half, less], [less, half], [first, less, behind, half]):
        ours, theirs = (f(fun, (0, 2), [1.0], events=events, **options) for f in (solve_ivp, of_scipy))
        np.testing.assert_array_equal(ours.t, theirs.t)
        assert [len(t) for t in ours.t_events] == [len(t) for t in theirs.t_events]
