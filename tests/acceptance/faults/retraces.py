"""Compiled functions that are traced again at the second call, or at each: the planted line is the reason."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tests.acceptance.faults.fault import Fault

Array = Any

RATE = 0.1
HISTORY: list[float] = []
CALLS = {"n": 0}


class Model:
    def __init__(self) -> None:
        self.gain = 2.0


MODEL = Model()


def decay(x: Array) -> Array:
    y = x**2
    return np.sum(np.exp(-RATE * y))  # planted


def gained(x: Array) -> Array:
    y = np.tanh(x)
    return np.sum(MODEL.gain * y)  # planted


def branching(x: Array) -> Array:
    y = np.sum(x)
    if y > 0.0:  # planted
        return y**2
    return -y


def binned(x: Array) -> Array:
    k = int(x[0])  # planted
    return np.sum(x[1:] ** k)


def timed(x: Array) -> Array:
    age = time.time() * 1e-12  # planted
    return np.sum(x) + age


def counted(x: Array) -> Array:
    CALLS["n"] += 1  # planted
    return np.sum(x**2)


def remembered(x: Array) -> Array:
    past = sum(HISTORY)  # planted
    return np.sum(x) * (1.0 + past)


def growing(x: Array) -> Array:  # planted
    return np.sum(np.sin(x))


def _rebind() -> None:
    global RATE
    RATE += 0.1


def _regain() -> None:
    MODEL.gain += 1.0


FAULTS = [
    Fault("a global number that is rebound", decay, (np.ones(3),), then=_rebind, again=(np.ones(3),)),
    Fault("an attribute that is set", gained, (np.ones(3),), then=_regain, again=(np.ones(3),)),
    Fault("a branch on a value", branching, (np.ones(3),), again=(-np.ones(3),)),
    Fault("an integer made of a value", binned, (np.arange(2.0, 5.0),), again=(np.arange(3.0, 6.0),)),
    Fault("the clock", timed, (np.ones(3),), again=(np.ones(3),)),
    Fault("a count of calls", counted, (np.ones(3),), again=(np.ones(3),)),
    Fault("a list that grows", remembered, (np.ones(3),), then=lambda: HISTORY.append(0.5), again=(np.ones(3),)),
    Fault("an argument of another shape", growing, (np.ones(3),), again=(np.ones(4),)),
]
