"""Functions that are evaluated on a kink, or just beside a jump: the nearest switch is on the planted line."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.acceptance.faults.fault import Fault

Array = Any


def lasso(w: Array) -> Array:
    x = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]])
    residual = x @ w - np.array([1.0, -1.0])
    penalty = np.sum(np.abs(w))  # planted
    return np.sum(residual**2) + 0.1 * penalty


def hinge(w: Array) -> Array:
    margin = 1.0 - w * np.array([1.0, -1.0, 2.0])
    return np.sum(np.maximum(margin, 0.0))  # planted


def saturated(u: Array) -> Array:
    force = np.clip(u, -1.0, 1.0)  # planted
    velocity = np.cumsum(0.1 * force)
    return np.sum(velocity**2)


def tax(income: Array) -> Array:
    base = 0.1 * income
    if income > 50_000.0:  # planted
        base = base + 0.2 * (income - 50_000.0) + 700.0
    return base


def worst_case(x: Array) -> Array:
    losses = np.stack([np.sum(x**2), 2.0 * x[0] + 3.0, x[1] ** 2 + 1.0])
    return np.max(losses)  # planted


def middle(x: Array) -> Array:
    scaled = 2.0 * x
    return np.median(scaled) + 0.01 * np.sum(scaled**2)  # planted


def efficiency(speed: Array) -> Array:
    knots = np.array([0.0, 10.0, 20.0, 40.0])
    table = np.array([0.1, 0.6, 0.8, 0.5])
    value = np.interp(speed, knots, table)  # planted
    return np.sum(value * speed)


def whole_steps(t: Array) -> Array:
    steps = np.floor(t / 0.25)  # planted
    return t - 0.25 * steps + np.sin(t)


FAULTS = [
    Fault("|w| at zero", lasso, (np.array([0.5, 0.0, -0.2]),)),
    Fault("a hinge that is just met", hinge, (np.array([1.0, 0.4, 0.1]),)),
    Fault("a force at its bound", saturated, (np.array([0.3, 1.0, -0.2]),)),
    Fault("an income just over the threshold", tax, (50_000.01,)),
    Fault("two equal greatest losses", worst_case, (np.array([1.0, 2.0]),)),
    Fault("two equal middle values", middle, (np.array([3.0, 1.0, 3.0, 7.0, 3.0]),)),
    Fault("a table look-up at a knot", efficiency, (np.array([5.0, 20.0]),)),
    Fault("a whole number of steps", whole_steps, (1.0,)),
]
