"""Formulas that lose digits: nearly all of the loss arises on the planted line."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.acceptance.faults.fault import Fault

Array = Any


def half_versine(x: Array) -> Array:
    c = np.cos(x)
    top = 1.0 - c  # planted
    return top / x**2


def gap_of_roots(x: Array) -> Array:
    a = np.sqrt(x + 1.0)
    b = np.sqrt(x)
    return 3.0 * (a - b)  # planted


def variance(x: Array) -> Array:
    mean = np.mean(x)
    mean_square = np.mean(x * x)
    return np.sqrt(mean_square - mean * mean)  # planted


def small_root(b: Array) -> Array:
    discriminant = b * b - 4.0
    root = np.sqrt(discriminant)
    return (-b + root) / 2.0  # planted


def kinetic_energy(v: Array) -> Array:
    gamma = 1.0 / np.sqrt(1.0 - v * v)
    excess = gamma - 1.0  # planted
    return 938.3 * excess


def exponential_series(x: Array) -> Array:
    k = np.arange(1.0, 120.0)
    terms = np.cumprod(x / k)
    return 1.0 + np.sum(terms)  # planted


def triangle(sides: Array) -> Array:
    a, b, c = sides[0], sides[1], sides[2]
    s = (a + b + c) / 2.0
    slack = s - a  # planted
    return np.sqrt(s * slack * (s - b) * (s - c))


FAULTS = [
    Fault("1 - cos x for a small x", half_versine, (1e-6,)),
    Fault("the difference of two nearly equal roots", gap_of_roots, (1e12,)),
    Fault("the mean square less the squared mean", variance, (1e7 + np.linspace(0.0, 1.0, 9),)),
    Fault("the small root of a quadratic equation", small_root, (1e7,)),
    Fault("γ - 1 for a slow body", kinetic_energy, (1e-6,)),
    Fault("an alternating sum of large terms", exponential_series, (-25.0,)),
    Fault("a needle-like triangle", triangle, (np.array([1.7, 1.1, 0.6 + 1e-10]),)),
]
