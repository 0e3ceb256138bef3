"""The equation and the functions of its events, as functions of t and y alone, each recorded by itself.

They are called many times in a step. Each call that is recorded by itself is one instruction on the tape, so that the
branches within do not multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.ode.options import Given, Options
from wengert.ode.step import Array, Rate, Real

EventFunction = Callable[[Any, Any], Any]
"""``value(t, y)`` is zero where an event happens."""


def rate_of(fun: Callable[..., Any], given: Given) -> Rate:
    """The right-hand side, of the shape and dtype of the state."""
    of_state = wg.joined(lambda t, y: fun(t, y, *given.args))

    def rate(t: Real, y: Array) -> Any:
        dy = np.asarray(of_state(t, y))
        if dy.shape == () and y.shape == (1,):
            dy = dy.reshape(1)
        if dy.shape != y.shape:
            raise ValueError(f"fun returned shape {dy.shape}; y has {y.shape}")
        return dy.astype(given.y0.dtype)

    return rate


def event_values(options: Options, given: Given) -> list[EventFunction]:
    """The functions of the events, which give a number each."""
    return [wg.joined(lambda t, y, g=g: _number(g, t, y, given.args) * 1.0) for g in options.events]


def _number(g: Callable[..., Any], t: Real, y: Array, args: Sequence[Any]) -> Any:
    return wg.expect.require("solve_ivp", "the result of an event", g(t, y, *args), "RealArray")


def crosses(before: Array, after: Array, sign: float) -> Any:
    """Whether an event's function passes zero from one value to the next, in the direction that its event asks for."""
    up, down = (before <= 0) & (after >= 0), (before >= 0) & (after <= 0)
    return up if sign > 0 else down if sign < 0 else up | down


def direction_of(event: Callable[..., Any]) -> float:
    """1 where only crossings from below are events, -1 where only those from above are, 0 where both are."""
    return getattr(event, "direction", 0.0)
