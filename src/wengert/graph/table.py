"""A graph in text: a line a vertex, with what it computes and what it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.graph.vertices import words

if TYPE_CHECKING:
    from wengert.graph.graph import Graph

MAX_PART = 60


def table(graph: Graph, *xs: Any) -> str:
    """The vertices in topological order; with inputs like ``xs``, what each of them gives too.

    >>> import numpy as np
    >>> from wengert import graph
    >>> print(table(graph.empty("x").insert("h", np.tanh, after="x"), np.ones((2, 3))))
    vertex  part   reads  gives
    x       input         float64[2, 3]
    h       tanh   x      float64[2, 3]
    returns h
    """
    gives = {name: str(spec) for name, spec in graph.specs(*xs).items()} if xs else {}
    rows = [("vertex", "part", "reads", *(["gives"] if xs else []))]
    for vertex in graph:
        part = words(vertex.part)
        part = part if len(part) <= MAX_PART else part[: MAX_PART - 3] + "..."
        rows.append((vertex.name, part, ", ".join(vertex.inputs), *([gives[vertex.name]] if xs else [])))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, f"returns {', '.join(graph.outputs)}"])
