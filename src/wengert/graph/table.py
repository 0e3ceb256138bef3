"""A graph in text: a line a vertex, with what it computes and what it reads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import wengert as wg
from wengert.graph.vertices import words

if TYPE_CHECKING:
    from wengert.graph.graph import Graph

MAX_PART = 60


def table(graph: Graph, *xs: Any) -> str:
    """Return a table of the vertices in topological order; with inputs like ``xs``, also of what each of them gives.

    >>> import numpy as np
    >>> from wengert import graph, nn
    >>> g = graph.empty("x").insert("h", nn.Dense(4), after="x").insert("t", np.tanh, after="h")
    >>> print(g.summary(np.ones((2, 3))))
    vertex  part      reads  gives          parameters
    x       input            float64[2, 3]
    h       Dense(4)  x      float64[2, 4]  16
    t       tanh      h      float64[2, 4]
    returns t; 16 parameters
    """
    params: dict[str, Any] = {}
    specs = graph.specs(*xs, params=params) if xs else {}
    counts = {name: sum([math.prod(np.shape(x)) for x in wg.tree.leaves(own)]) for name, own in params.items()}
    rows = [("vertex", "part", "reads", *(["gives", "parameters"] if xs else []))]
    for vertex in graph:
        part = words(vertex.part)
        part = part if len(part) <= MAX_PART else part[: MAX_PART - 3] + "..."
        more = [str(specs[vertex.name]), f"{counts[vertex.name]:,}" if vertex.name in counts else ""] if xs else []
        rows.append((vertex.name, part, ", ".join(vertex.inputs), *more))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    total = f"; {sum(counts.values()):,} parameters" if counts else ""
    return "\n".join([*lines, f"returns {', '.join(graph.outputs)}{total}"])
