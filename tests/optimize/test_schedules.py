"""Schedules, at their corners, and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import optimize
from wengert.optimize import schedules

CASES: dict[str, tuple[Any, dict[int, float]]] = {
    "constant": (schedules.constant(3.0), {0: 3, 100: 3}),
    "linear": (schedules.linear(1.0, 0.0, 10), {0: 1, 5: 0.5, 10: 0, 20: 0}),
    "exponential": (schedules.exponential(1.0, 0.5, 2), {0: 1, 1: 0.5**0.5, 2: 0.5, 4: 0.25}),
    "staircase": (schedules.exponential(1.0, 0.5, 2, staircase=True), {0: 1, 1: 1, 2: 0.5, 5: 0.25}),
    "cosine": (schedules.cosine(1.0, 10, 0.2), {0: 1, 5: 0.6, 10: 0.2, 99: 0.2}),
    "warm-up": (schedules.warm_up(2.0, 4), {0: 0, 2: 1, 4: 2, 9: 2}),
    "warm-up, then": (schedules.warm_up(2.0, 4, schedules.linear(2.0, 0.0, 4)), {0: 0, 4: 2, 6: 1, 8: 0}),
    "piecewise": (schedules.piecewise(1.0, {5: 0.1, 8: 0.5}), {0: 1, 4: 1, 5: 0.1, 8: 0.05}),
    "one cycle": (schedules.one_cycle(1.0, 10), {0: 1 / 25, 3: 1, 10: 1e-4}),
}


@pytest.mark.parametrize("name", CASES)
def test_schedules(name: str) -> None:
    schedule, points = CASES[name]
    fast = wg.jit(lambda count: schedule(count) + 0.0 * count)
    for count, expected in points.items():
        np.testing.assert_allclose(float(schedule(count)), expected, atol=1e-15)
        np.testing.assert_allclose(fast(np.array(count)), expected, atol=1e-15)


def test_no_steps_are_refused() -> None:
    """They divided by zero when the rate was asked for."""
    for of_no_steps in (
        lambda: schedules.linear(1.0, 0.0, 0),
        lambda: schedules.cosine(1.0, 0),
        lambda: schedules.exponential(1.0, 0.5, 0),
        lambda: optimize.every(0, optimize.sgd(0.1)),
    ):
        with pytest.raises(wg.errors.ArgumentError, match="expected an integer, 1 or more"):
            of_no_steps()
