"""Run gradients that are written by hand, and the simple functions that the targets name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.workloads import Workload, one_after_another, steps


def network(weights: Any, x: Any) -> list[np.ndarray]:
    inputs, sums = [], []
    for w in weights:
        inputs.append(x)
        sums.append(w @ x)
        x = np.cos(sums[-1])
    ct = np.zeros_like(x)
    ct[0] = 1
    gradient = []
    for w, h, z in zip(reversed(weights), reversed(inputs), reversed(sums), strict=True):
        dz = -np.sin(z) * ct
        gradient.append(np.outer(dz, h))
        ct = w.T @ dz
    return gradient[::-1]


def eight(x: np.ndarray) -> np.ndarray:
    sin, cos = np.sin(x), np.cos(x)
    return cos * cos - sin * sin


def dense(w: np.ndarray, x: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    y = np.tanh(w @ x + b[:, None])
    dz = 2 * y * (1 - y * y)
    return dz @ x.T, w.T @ dz, dz.sum(1)


def twenty_steps(x: np.ndarray) -> np.ndarray:
    values = [x]
    for _ in range(5):
        values.append(0.25 * (values[-1] * x + 0.5) - x)
    ct, ct_x = np.ones_like(x), np.zeros_like(x)
    for y in values[-2::-1]:
        ct_x -= ct
        ct *= 0.25
        ct_x += ct * y
        ct *= x
    return ct_x + ct


BY_HAND: dict[str, Callable[..., Any]] = {
    "network": network,
    "8-vector": eight,
    "Poly9": lambda _, x: np.sum(x**2),
    "sum(exp(x))": np.exp,
    "dense": dense,
    "20 steps": twenty_steps,
    "20 steps, forward": steps,
    "20 steps, from memory": twenty_steps,
    "20 steps, from memory, forward": steps,
    "20 steps, n=1e7": twenty_steps,
    "20 steps, n=1e7, forward": steps,
}


def called(w: Workload) -> Callable[[], Any]:
    return one_after_another(partial(partial, BY_HAND[w.name]), w.args, w.copies)


def sum_of_squares(w: Workload) -> Callable[[], Any] | None:
    x = w.args[-1]
    return (lambda: (x * x).sum()) if w.name == "Poly9" else None


def copy(w: Workload) -> Callable[[], Any] | None:
    """Copy into a fresh array, which costs what memory alone costs."""
    return one_after_another(lambda x: x.copy, w.args, w.copies) if w.name.startswith("20 steps") else None


def copy_into(w: Workload) -> Callable[[], Any] | None:
    if not w.name.startswith("20 steps"):
        return None
    return one_after_another(lambda x: partial(np.copyto, np.zeros_like(x), x), w.args, w.copies)


KINDS = {"called": called, "(x*x).sum()": sum_of_squares, "copy": copy, "copy into": copy_into}
