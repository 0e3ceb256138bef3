"""A picture of nodes and edges in SVG, which browsers, notebooks and text editors show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from wengert.drawing.layout import Layout, Node, Place, columns, layout

LINE = 14.0
BOX_SPACE = 44.0
"""The space between two layers."""
LANE = 8.0
"""The space between edges that run side by side."""
MARGIN = 16.0
MAX_LETTERS = 34
LETTER = 6.7
"""The width of a letter, at 11 points of a font whose letters are equally wide."""

STYLE = """
text { font: 11px ui-monospace, Menlo, Consolas, monospace; text-anchor: middle; fill: #222 }
.name { font-weight: bold } .gives { fill: #777 }
rect { stroke: #666; rx: 5 } .output { stroke: #b5482a; stroke-width: 2 }
path { fill: none; stroke: #999; stroke-width: 1.2; marker-end: url(#head) }
""".strip()


@dataclass(frozen=True)
class Box:
    """A box says what a picture shows of one node, and names the nodes that it reads, whose edges run to it.

    ``lines`` are pairs of a class, "name", "part" or "gives", and a text; ``about`` is what a browser says of the box.
    """

    name: str
    reads: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    about: str
    colour: str
    is_result: bool = False
    """Its border is thick and red."""
    hangs: bool = False
    """It reads nothing, and stands right above its readers rather than at the top."""

    @property
    def width(self) -> float:
        return LETTER * max(len(_cut(text)) for _, text in self.lines) + 16


def picture(boxes: Sequence[Box]) -> str:
    """Return a picture, in SVG, of boxes each of which comes after those that it reads.

    >>> from wengert import drawing
    >>> x = drawing.Box("x", (), (("name", "x"),), about="an input", colour="#dbe9f6")
    >>> y = drawing.Box("y", ("x",), (("name", "y"), ("part", "sin")), about="y = sin(x)", colour="#ffffff")
    >>> drawing.picture([x, y]).count("<rect ")  # and the paper
    3
    """
    widths = {box.name: box.width for box in boxes}
    height = LINE * max([len(box.lines) for box in boxes], default=1) + 10
    places = layout([Node(box.name, box.reads, box.width, box.hangs) for box in boxes])
    sheet = Sheet(places, widths, height)
    edges = [f'<path d="{sheet.path(route)}"/>' for route in sheet.routes]
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
            *[_box(box, *sheet.at[box.name], height) for box in boxes],
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


def _cut(text: str) -> str:
    return text if len(text) <= MAX_LETTERS else text[: MAX_LETTERS - 1] + "…"


def _text(line: str) -> str:
    """Return a line as XML has it, with no place for control characters: they are written as Python writes them."""
    return escape(_NOT_OF_XML.sub(lambda found: ascii(found[0])[1:-1], line))


_NOT_OF_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _box(box: Box, middle: float, top: float, height: float) -> str:
    first = top + (height - LINE * len(box.lines)) / 2 + LINE - 3.5
    kind = ' class="output"' if box.is_result else ""
    return "\n".join(
        [
            f"<g><title>{_text(box.about)}</title>",
            f'<rect{kind} x="{middle - box.width / 2:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{height:.1f}" '
            f'fill="{box.colour}"/>',
            *[
                f'<text class="{kind}" x="{middle:.1f}" y="{first + k * LINE:.1f}">{_text(_cut(line))}</text>'
                for k, (kind, line) in enumerate(box.lines)
            ],
            "</g>",
        ]
    )
