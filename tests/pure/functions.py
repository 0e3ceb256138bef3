"""Functions that are traced with compiled modules and without, and what is to be the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import sin
from typing import Any

import numpy as np

import wengert as wg


def made_and_written(x: Any) -> Any:
    y = np.zeros(3)
    y[0] = x * x
    y[1:] = 2.0 * x
    return np.sum(y * np.linspace(0.0, 1.0, 3))


def of_math(x: Any) -> Any:
    return math.sin(x) + sin(x) * math.hypot(x, 2.0)


def in_lists(x: Any) -> Any:
    return np.sum([x, 2.0 * x]) + np.stack([x, x * x])[1] + np.concatenate([[x], [1.0]])[0] + np.array([x, 3.0])[0]


def of_builtins(x: Any) -> Any:
    total = 0.0
    for k in range(int(x) + 2):
        total = total + float(x) * k
    return total if isinstance(x, float) and type(x) is float else -total


def looked_at(x: Any) -> Any:
    while x < 20.0:
        x = x * 1.5 + 1.0
    return x if x > 1.0 else -x


def in_place(x: Any) -> Any:
    y = np.array([1.0, 2.0, 3.0]) * x
    view = y[1:]
    view *= x
    y += view[0]
    return y[::-1] @ y


def drawn_by_map(x: Any) -> Any:
    """Compiled code that ``map`` calls asks NumPy for memory, and takes nothing else."""
    return x * np.sum(list(map(np.random.default_rng(0).normal, [0.0, 1.0], [1.0, 1.0], [2, 2]))[1])


class Holder:
    """An object that has kept a function of C since before."""

    def __init__(self) -> None:
        self.sine = math.sin


HOLDER = Holder()


def held_elsewhere(x: Any) -> Any:
    return HOLDER.sine(x) * x


CASES: dict[str, Callable[[Any], Any]] = {
    f.__name__: f
    for f in (
        made_and_written,
        of_math,
        held_elsewhere,
        drawn_by_map,
        drawn_by_map,
        in_lists,
        of_builtins,
        looked_at,
        in_place,
    )
}


def answers(name: str) -> list[str]:
    """Return what a case gives: its tape, its value and its derivatives, un-jitted and jitted."""
    f = CASES[name]
    jitted = wg.jit(wg.value_and_grad(f), strict=True)
    numbers = [wg.value_and_grad(f)(1.5), wg.grad(wg.grad(f))(1.5), jitted(1.5), jitted(2.5), jitted(1.5)]
    return [str(wg.trace(f)(1.5)), *[str(x) for x in numbers], str(jitted.stats()["traces"])]
