"""Graphs that tests share."""

from __future__ import annotations

import numpy as np

from wengert import graph


def random_graph(count: int, window: int, seed: int) -> graph.Graph:
    """Each vertex adds one to three of the ``window`` before it; three outputs."""
    rng = np.random.default_rng(seed)
    wires = [graph.input("x")]
    for k in range(count):
        reads = sorted({int(j) for j in rng.integers(max(0, k - window), k + 1, rng.integers(1, 4))})
        wires.append(graph.vertex(lambda *xs: sum(xs))(*[wires[j] for j in reads]))
    return graph.Graph([wires[0]], wires[-3:])
