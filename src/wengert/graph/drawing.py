"""A graph as a picture, in SVG, which browsers, notebooks and text editors show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wengert.graph.layout import Layout, Place, columns, layout
from wengert.graph.vertices import Constant, InputPart, Vertex, is_layer, words

if TYPE_CHECKING:
    from wengert.graph.graph import Graph

LINE = 14.0
BOX_SPACE = 44.0
"""The space between two layers."""
LANE = 8.0
"""The space between edges that run side by side."""
MARGIN = 16.0
MAX_LETTERS = 34
LETTER = 6.7
"""The width of a letter, at 11 points of a font whose letters are equally wide."""

COLOURS = {"input": "#dbe9f6", "constant": "#eeeeee", "layer": "#e3f1de", "function": "#ffffff"}

STYLE = """
text { font: 11px ui-monospace, Menlo, Consolas, monospace; text-anchor: middle; fill: #222 }
.name { font-weight: bold } .gives { fill: #777 }
rect { stroke: #666; rx: 5 } .output { stroke: #b5482a; stroke-width: 2 }
path { fill: none; stroke: #999; stroke-width: 1.2; marker-end: url(#head) }
""".strip()


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
    texts = {vertex.name: _lines(vertex, specs) for vertex in graph}
    widths = {name: LETTER * max(len(line) for _, line in lines) + 16 for name, lines in texts.items()}
    height = LINE * max(map(len, texts.values()), default=1) + 10
    sheet = Sheet(layout(graph, widths), widths, height)
    edges = [f'<path d="{sheet.path(route)}"/>' for route in sheet.routes]
    boxes = [
        _box(graph, vertex, texts[vertex.name], *sheet.at[vertex.name], widths[vertex.name], height) for vertex in graph
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{sheet.width:.0f}" height="{sheet.height:.0f}" '
            f'viewBox="0 0 {sheet.width:.0f} {sheet.height:.0f}">',
            f"<style>{STYLE}</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto">'
            '<polygon points="0,0.5 8,4 0,7.5" fill="#999"/></marker></defs>',
            '<rect width="100%" height="100%" style="fill:#fff;stroke:none"/>',
            *edges,
            *boxes,
            "</svg>",
            "",
        ]
    )


class Sheet:
    """A sheet says where everything stands on the picture.

    Columns stand from left to right, and between them is room for the edges that run from the bottom of one to the top
    of the next.
    """

    def __init__(self, places: Layout, widths: Mapping[str, float], box: float) -> None:
        self.routes = list(places.routes.values())
        self.box = box
        self.at: dict[Place, tuple[float, float]] = {}
        """The middle of the upper side of each box, and where each bend begins."""
        self.column: dict[Place, int] = {}
        self.lanes: list[float] = []
        """Where the next edge from each column to the one on its right goes up."""
        self.shift: list[float] = []
        """How much higher than those before it that edge runs below and above the boxes."""
        step = box + BOX_SPACE
        extent = max((x + widths.get(str(p), 0) / 2 for p, x in places.x.items()), default=0.0)
        left, self.height = MARGIN, 0.0
        for k, layers in enumerate(columns(places, extent, step)):
            here = [place for layer in layers for place in layer]
            sides = [(places.x[p], widths.get(str(p), 0.0) / 2) for p in here]
            start = min((x - half for x, half in sides), default=0.0)
            for row, layer in enumerate(layers):
                for place in layer:
                    self.at[place] = (left + places.x[place] - start, MARGIN + BOX_SPACE / 2 + row * step)
                    self.column[place] = k
            left += max((x + half for x, half in sides), default=0.0) - start
            self.lanes.append(left + LANE)
            self.shift.append(0.0)
            leaving = sum(self._leaves(a, b, k) for route in self.routes for a, b in pairwise(route))
            left += LANE * (leaving + 2)
            self.height = max(self.height, len(layers) * step + 2 * MARGIN)
        self.width = left - 2 * LANE + MARGIN

    def _leaves(self, a: Place, b: Place, column: int) -> bool:
        """Return whether an edge's step from ``a`` to ``b`` leaves the column that has just been placed."""
        return self.column.get(a) == column and b not in self.column

    def path(self, route: list[Place]) -> str:
        """Return the path of an edge: down from box to box, past the boxes of each layer, and bent between layers."""
        x, y = self.at[route[0]]
        path = [f"M{x:.1f},{y + self.box:.1f}"]
        for before, place in pairwise(route):
            (x0, y0), (x, y) = self.at[before], self.at[place]
            bottom, bend = y0 + self.box, BOX_SPACE / 2
            if self.column[before] == self.column[place]:
                path.append(f"C{x0:.1f},{bottom + bend:.1f} {x:.1f},{y - bend:.1f} {x:.1f},{y:.1f}")
            else:
                path.append(self._to_the_next_column(self.column[before], x0, bottom, x, y))
            if place != route[-1]:
                path.append(f"V{y + self.box:.1f}")
        return " ".join(path)

    def _to_the_next_column(self, column: int, x0: float, bottom: float, x: float, y: float) -> str:
        """Return the path below the last box, up in a lane of its own, and above the first."""
        lane = self.lanes[column]
        shift, r = self.shift[column], LANE
        low, high = bottom + BOX_SPACE / 2 - shift, y - BOX_SPACE / 2 + shift
        self.lanes[column] += LANE
        self.shift[column] = (shift + 4) % (BOX_SPACE / 2 - r)
        return (
            f"C{x0:.1f},{low:.1f} {x0:.1f},{low:.1f} {x0 + r:.1f},{low:.1f} H{lane - r:.1f} "
            f"C{lane:.1f},{low:.1f} {lane:.1f},{low:.1f} {lane:.1f},{low - r:.1f} V{high + r:.1f} "
            f"C{lane:.1f},{high:.1f} {lane:.1f},{high:.1f} {lane + r:.1f},{high:.1f} H{x - r:.1f} "
            f"C{x:.1f},{high:.1f} {x:.1f},{high:.1f} {x:.1f},{y:.1f}"
        )


def _lines(vertex: Vertex, specs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the lines in a box, each with its class."""
    lines = [("name", _cut(vertex.name))]
    what = words(vertex.part)
    if not isinstance(vertex.part, InputPart) and what != vertex.name:
        lines.append(("part", _cut(what)))
    if vertex.name in specs:
        lines.append(("gives", _cut(str(specs[vertex.name]))))
    return lines


def _cut(text: str) -> str:
    return text if len(text) <= MAX_LETTERS else text[: MAX_LETTERS - 1] + "…"


def _kind(vertex: Vertex) -> str:
    part = vertex.part
    if isinstance(part, InputPart):
        return "input"
    return "constant" if isinstance(part, Constant) else "layer" if is_layer(part) else "function"


def _text(line: str) -> str:
    """Return a line as XML has it, with no place for control characters: they are written as Python writes them."""
    return escape(_NOT_OF_XML.sub(lambda found: ascii(found[0])[1:-1], line))


_NOT_OF_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _box(
    graph: Graph,
    vertex: Vertex,
    lines: list[tuple[str, str]],
    middle: float,
    top: float,
    width: float,
    height: float,
) -> str:
    first = top + (height - LINE * len(lines)) / 2 + LINE - 3.5
    kind = ' class="output"' if vertex.name in graph.outputs else ""
    reads = ", ".join(vertex.inputs)
    about = f"{vertex.name} = {words(vertex.part)}" + (f" of {reads}" if reads else "")
    return "\n".join(
        [
            f"<g><title>{_text(about)}</title>",
            f'<rect{kind} x="{middle - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'fill="{COLOURS[_kind(vertex)]}"/>',
            *[
                f'<text class="{kind}" x="{middle:.1f}" y="{first + k * LINE:.1f}">{_text(line)}</text>'
                for k, (kind, line) in enumerate(lines)
            ],
            "</g>",
        ]
    )
