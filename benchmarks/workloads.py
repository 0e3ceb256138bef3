"""The functions that are measured, in plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def network(n: int = 12, layers: int = 6) -> tuple[Callable[..., Any], np.ndarray, tuple[np.ndarray, ...]]:
    """A small network as a plain loop: input ``n``, ``layers`` square matrices, cosine after each product."""
    rng = np.random.default_rng(0)
    x0 = rng.random(n)
    weights = tuple(rng.random((n, n)) for _ in range(layers))

    def loss(weights: Any, x: Any, cos: Any = np.cos) -> Any:
        for w in weights:
            x = cos(w @ x)
        return x[0]

    return loss, x0, weights


def network_gradient_by_hand(weights: Any, x: Any) -> list[np.ndarray]:
    """The gradient of :func:`network`'s loss as a numerical analyst would write it."""
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


def graph(vertices: int = 1000, n: int = 16) -> tuple[Callable[..., Any], list[Any], np.ndarray]:
    """A random DAG: vertex = tanh(W @ (sum of one to three earlier ones) + b), n by n; evaluated by recursion."""
    rng = np.random.default_rng(0)
    parents = [
        sorted({int(k) for k in rng.integers(max(0, v - 50), v + 1, rng.integers(1, 4))}) for v in range(vertices)
    ]
    params = [(0.3 * rng.standard_normal((n, n)), 0.1 * rng.standard_normal(n)) for _ in range(vertices)]
    x0 = rng.standard_normal(n)

    def loss(params: Any, x: Any) -> Any:
        memo: dict[int, Any] = {0: x}
        for v in range(vertices):  # in topological order, so that recursion is at most one deep
            total = memo[parents[v][0]]
            for p in parents[v][1:]:
                total = total + memo[p]
            w, b = params[v]
            memo[v + 1] = np.tanh(w @ total + b)
        return np.sum(memo[vertices])

    return loss, params, x0


def chain(x: Any, length: int) -> Any:
    """``length`` elementwise steps, alternately of one and of two operands."""
    for _ in range(length // 2):
        x = np.sin(x) * 0.5
    return x
