"""A graph as a picture: what :mod:`wengert.drawing` shows of each vertex."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wengert import drawing
from wengert.graph.vertices import Constant, InputPart, Vertex, is_layer, words

if TYPE_CHECKING:
    from wengert.graph.graph import Graph

COLOURS = {"input": "#dbe9f6", "constant": "#eeeeee", "layer": "#e3f1de", "function": "#ffffff"}


def draw(graph: Graph, file: str | Path, *xs: Any) -> None:
    """Write a picture of the graph to ``file``, in SVG; with inputs like ``xs``, it says what each vertex gives.

    Edges run down. Blue boxes are inputs, green ones layers, grey ones constants; outputs have a thick red border.

    >>> import pathlib, tempfile, numpy as np
    >>> from wengert import graph
    >>> g = graph.empty("x").insert("h", np.tanh, after="x")
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "graph.svg"
    >>> g.draw(file, np.ones(3))
    >>> file.read_text()[:4]
    '<svg'
    """
    Path(file).write_text(svg(graph, *xs), encoding="utf-8")


def svg(graph: Graph, *xs: Any) -> str:
    """Return the picture that :func:`draw` writes."""
    specs = graph.specs(*xs) if xs else {}
    return drawing.picture([_box(graph, vertex, specs) for vertex in graph])


def _box(graph: Graph, vertex: Vertex, specs: Mapping[str, object]) -> drawing.Box:
    kind, what = _kind(vertex), words(vertex.part)
    lines = [("name", vertex.name)]
    if kind != "input" and what != vertex.name:
        lines.append(("part", what))
    if vertex.name in specs:
        lines.append(("gives", str(specs[vertex.name])))
    return drawing.Box(
        vertex.name,
        vertex.inputs,
        tuple(lines),
        about=f"{vertex.name} = {what}" + (f" of {', '.join(vertex.inputs)}" if vertex.inputs else ""),
        colour=COLOURS[kind],
        is_result=vertex.name in graph.outputs,
        hangs=not vertex.inputs and vertex.name not in graph.inputs,
    )


def _kind(vertex: Vertex) -> str:
    part = vertex.part
    if isinstance(part, InputPart):
        return "input"
    return "constant" if isinstance(part, Constant) else "layer" if is_layer(part) else "function"
