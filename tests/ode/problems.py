"""Equations that several tests of ``solve_ivp`` solve, and differences for their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

ARGS = (1.5, 1.0, 3.0, 1.0)
TIMES = np.linspace(0.0, 4.0, 6)


def prey(t: Any, y: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return np.array([a * y[0] - b * y[0] * y[1], -c * y[1] + d * y[0] * y[1]])


def robertson(t: Any, y: Any) -> Any:
    slow, fast, sink = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return np.array([-slow + fast, slow - fast - sink, sink])


def fall(t: Any, y: Any) -> Any:
    return np.array([y[1], -9.81 + 0.0 * y[0]])


def ground(t: Any, y: Any) -> Any:
    return y[0]


ground.terminal = True
ground.direction = -1
P = np.array([*ARGS, 5.0, 2.0])


def differences(f: Any, x: Any, h: float = 1e-4) -> Any:
    """Central, of fourth order."""
    basis = h * np.eye(len(x))
    return np.array([(8 * (f(x + d) - f(x - d)) - (f(x + 2 * d) - f(x - 2 * d))) / (12 * h) for d in basis])
