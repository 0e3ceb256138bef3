"""The tables of the methods, by the conditions that they satisfy, and by the order at which they converge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.ode.methods import METHODS
from wengert.ode.step import Step

ORDERS = {"Tsit5": 5, "RK45": 5, "RK23": 3, "DOP853": 8, "KenCarp4": 4, "Radau": 5}


def step_from(start: Any, h: Any) -> Step:
    return Step(start, start + h, h, 0, 0)


@pytest.mark.parametrize("name", ORDERS)
def test_order_conditions(name: str) -> None:
    """Of rooted trees of up to four vertices: Hairer, Nørsett, Wanner (1993), table II.2.1."""
    m: Any = METHODS[name]
    s = len(m.b)
    a = np.zeros((s, s))
    for i, row in enumerate(m.a):
        a[i, : len(row)] = row
    if m.gamma:
        a += m.gamma * np.diag([0.0, *[1.0] * (s - 1)])
    b, c = np.array(m.b), np.array(m.c)
    one = np.ones(s)
    conditions = [(b @ one, 1), (b @ c, 1 / 2), (b @ c**2, 1 / 3), (b @ (a @ c), 1 / 6)]
    if ORDERS[name] >= 4:
        conditions += [
            (b @ c**3, 1 / 4),
            (b @ (c * (a @ c)), 1 / 8),
            (b @ (a @ c**2), 1 / 12),
            (b @ (a @ (a @ c)), 1 / 24),
        ]
    np.testing.assert_allclose(a @ one, c, atol=1e-12)
    for seen, expected in conditions:
        assert seen == pytest.approx(expected, abs=1e-12)


@pytest.mark.sampled(7, "a program for each method")
@pytest.mark.parametrize("name", ORDERS)
def test_order_of_convergence(name: str) -> None:
    m = METHODS[name]
    rate = lambda t, y: np.stack([y[1] * np.cos(t), -y[0] * np.cos(t)])  # y = sin, cos of sin t

    def end(n: Any) -> Any:
        def step(y: Any, t: Any) -> Any:
            return m.follow(rate, step_from(t, 1.5 / n), y), None

        return wg.scan(step, np.array([0.0, 1.0]), np.arange(n) * 1.5 / n)[0]

    exact = np.array([np.sin(np.sin(1.5)), np.cos(np.sin(1.5))])
    few, many = (4, 8) if ORDERS[name] == 8 else (16, 32) if name != "Tsit5" else (24, 48)
    errors = [np.abs(wg.jit(lambda n=n: end(n))() - exact).max() for n in (few, many)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[name], abs=0.7)


@pytest.mark.parametrize("name", ORDERS)
def test_values_within_a_step_meet_its_ends(name: str) -> None:
    m = METHODS[name]
    rate = lambda t, y: np.stack([y[1], -y[0]])
    y, h = np.array([1.0, 0.5]), 0.3

    def values(x: Any) -> Any:
        new = m.follow(rate, step_from(0.0, h), y)
        return m.within(rate, step_from(0.0, h), y, new)(x), new

    compiled = wg.jit(values)
    start, new = compiled(0.0)
    np.testing.assert_allclose(start, y, rtol=1e-13)
    np.testing.assert_allclose(compiled(1.0)[0], new, rtol=1e-13)
    exact = [np.cos(0.15) + 0.5 * np.sin(0.15), -np.sin(0.15) + 0.5 * np.cos(0.15)]
    np.testing.assert_allclose(compiled(0.5)[0], exact, rtol=5e-4)
