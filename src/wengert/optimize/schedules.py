"""Learning rates that change: functions of the number of steps so far, in plain NumPy, so they are compiled too."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import wengert as wg

Schedule = Callable[[Any], Any]
Count = int

__all__ = ["constant", "cosine", "exponential", "linear", "one_cycle", "piecewise", "warm_up"]
if not TYPE_CHECKING:
    __getattr__ = wg.expect.missing(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)


@wg.expect.checked
def constant(value: float) -> Schedule:
    """Return the schedule that is always ``value``.

    >>> from wengert.optimize import schedules
    >>> schedules.constant(0.1)(1000)
    0.1
    """
    return lambda count: value


@wg.expect.checked
def linear(start: float, end: float, steps: Count) -> Schedule:
    """Return the schedule that goes from ``start`` to ``end`` in so many steps, and then stays at ``end``.

    >>> from wengert.optimize import schedules
    >>> schedules.linear(1.0, 0.0, 10)(5)
    np.float64(0.5)
    """
    return lambda count: start + (end - start) * np.minimum(count / steps, 1.0)


@wg.expect.checked
def exponential(start: float, factor: float, steps: Count = 1, staircase: bool = False) -> Schedule:
    """Return the schedule ``start`` · ``factor`` ^ (count / ``steps``).

    With ``staircase`` the exponent is rounded down, so that the rate changes at each ``steps``-th step only.

    >>> from wengert.optimize import schedules
    >>> float(schedules.exponential(1.0, 0.5, 10)(20)), float(schedules.exponential(1.0, 0.5, 10, staircase=True)(19))
    (0.25, 0.5)
    """

    def rate(count: Any) -> Any:
        periods = count / steps
        return start * factor ** (np.floor(periods) if staircase else periods)

    return rate


@wg.expect.checked
def cosine(start: float, steps: Count, end: float = 0.0) -> Schedule:
    """Return the schedule that goes from ``start`` to ``end`` in so many steps, as half a wave of the cosine.

    Source: Loshchilov & Hutter (2017), arXiv:1608.03983.

    >>> from wengert.optimize import schedules
    >>> rate = schedules.cosine(1.0, 10)
    >>> [round(float(rate(count)), 6) for count in (0, 5, 10, 20)]
    [1.0, 0.5, 0.0, 0.0]
    """
    return lambda count: end + (start - end) * (1 + np.cos(math.pi * np.minimum(count / steps, 1.0))) / 2


@wg.expect.checked
def warm_up(peak: float, steps: int, then: Schedule | None = None) -> Schedule:
    """Return the schedule that goes from 0 to ``peak`` in so many steps, and then is another one from its beginning.

    Without ``then`` it stays at ``peak``.

    >>> from wengert.optimize import schedules
    >>> rate = schedules.warm_up(1.0, 10, schedules.cosine(1.0, 100))
    >>> [round(float(rate(count)), 6) for count in (0, 5, 10, 60)]
    [0.0, 0.5, 1.0, 0.5]
    """
    after = constant(peak) if then is None else then
    return lambda count: np.where(count < steps, peak * count / steps, after(np.maximum(count - steps, 0)))


@wg.expect.checked
def piecewise(start: float, factors: Mapping[int, float]) -> Schedule:
    """Return the schedule that is ``start``, times a factor from each of these steps on.

    >>> from wengert.optimize import schedules
    >>> rate = schedules.piecewise(1.0, {10: 0.1, 20: 0.5})
    >>> [round(float(rate(count)), 6) for count in (9, 10, 20)]
    [1.0, 0.1, 0.05]
    """

    def rate(count: Any) -> Any:
        value = start
        for step, factor in sorted(factors.items()):
            value = value * np.where(count < step, 1.0, factor)
        return value

    return rate


@wg.expect.checked
def one_cycle(peak: float, steps: int, rise: float = 0.3, start: float = 1 / 25, end: float = 1e-4) -> Schedule:
    """Return the schedule of a cosine up to ``peak`` over the share ``rise`` of the steps, and one down from there.

    It begins and ends at the shares ``start`` and ``end`` of the peak. Source: Smith & Topin (2018), arXiv:1708.07120.

    Raises
    ------
    OptionError : ``rise`` is not from 0 to 1.

    >>> from wengert.optimize import schedules
    >>> rate = schedules.one_cycle(1.0, 100)
    >>> [round(float(rate(count)), 6) for count in (0, 30, 100)]
    [0.04, 1.0, 0.0001]
    """
    if not 0 <= rise <= 1:
        raise wg.errors.OptionError(wg.errors.message(f"one_cycle: rise is {rise}; expected a number from 0 to 1"))
    up = max(1, round(rise * steps))
    rising, falling = cosine(start * peak, up, peak), cosine(peak, max(1, steps - up), end * peak)
    return lambda count: np.where(count < up, rising(count), falling(np.maximum(count - up, 0)))
