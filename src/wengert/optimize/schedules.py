"""Learning rates that change: functions of the number of steps so far, in plain NumPy, so they are compiled too."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import wengert as wg

Schedule = Callable[[Any], Any]


@wg.expect.checked
def constant(value: float) -> Schedule:
    """Always ``value``."""
    return lambda count: value


@wg.expect.checked
def linear(start: float, end: float, steps: int) -> Schedule:
    """From ``start`` to ``end`` in so many steps, and then ``end``.

    >>> linear(1.0, 0.0, 10)(5)
    np.float64(0.5)
    """
    return lambda count: start + (end - start) * np.minimum(count / steps, 1.0)


@wg.expect.checked
def exponential(start: float, factor: float, steps: int = 1, staircase: bool = False) -> Schedule:
    """``start`` times ``factor`` for every ``steps`` steps, at once at the end of each if ``staircase``."""

    def rate(count: Any) -> Any:
        periods = count / steps
        return start * factor ** (np.floor(periods) if staircase else periods)

    return rate


@wg.expect.checked
def cosine(start: float, steps: int, end: float = 0.0) -> Schedule:
    """Half a wave from ``start`` to ``end`` (Loshchilov & Hutter 2017, arXiv:1608.03983)."""
    return lambda count: end + (start - end) * (1 + np.cos(math.pi * np.minimum(count / steps, 1.0))) / 2


@wg.expect.checked
def warm_up(peak: float, steps: int, then: Schedule | None = None) -> Schedule:
    """From 0 to ``peak`` in so many steps, and then another schedule from its beginning, or ``peak``."""
    after = constant(peak) if then is None else then
    return lambda count: np.where(count < steps, peak * count / steps, after(np.maximum(count - steps, 0)))


@wg.expect.checked
def piecewise(start: float, factors: Mapping[int, float]) -> Schedule:
    """``start``, times a factor from each of these steps on."""

    def rate(count: Any) -> Any:
        value = start
        for step, factor in sorted(factors.items()):
            value = value * np.where(count < step, 1.0, factor)
        return value

    return rate


@wg.expect.checked
def one_cycle(peak: float, steps: int, rise: float = 0.3, start: float = 1 / 25, end: float = 1e-4) -> Schedule:
    """A cosine up to ``peak`` over the share ``rise`` of the steps, and one down from there, beginning and ending at
    these shares of the peak (Smith & Topin 2018, arXiv:1708.07120)."""
    if not 0 <= rise <= 1:
        raise wg.errors.OptionError(wg.errors.message(f"one_cycle: rise is {rise}; expected a share, 0 to 1"))
    up = max(1, round(rise * steps))
    rising, falling = cosine(start * peak, up, peak), cosine(peak, max(1, steps - up), end * peak)
    return lambda count: np.where(count < up, rising(count), falling(np.maximum(count - up, 0)))
