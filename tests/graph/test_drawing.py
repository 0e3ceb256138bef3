"""Pictures of graphs."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from tests.graph.graphs import random_graph
from tests.graph.layers import Linear
from wengert import graph
from wengert.graph.drawing import COLOURS, svg

SVG = "{http://www.w3.org/2000/svg}"


def boxes(picture: str) -> dict[str, tuple[float, float, float, float]]:
    found = {}
    for group in ElementTree.fromstring(picture).iter(f"{SVG}g"):
        (rect,) = group.iter(f"{SVG}rect")
        title = group.find(f"{SVG}title")
        assert title is not None and title.text
        found[title.text.split(" ")[0]] = tuple(float(rect.get(k, 0)) for k in ("x", "y", "width", "height"))
    return found


def test_a_picture_of_100_vertices() -> None:
    """Every vertex is there once, within the picture, and no box covers another."""
    g = random_graph(100, 6, seed=0)
    picture = svg(g, 1.0)
    root = ElementTree.fromstring(picture)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    found = boxes(picture)
    assert set(found) == set(g.names)
    assert len(list(root.iter(f"{SVG}path"))) == sum(len(set(v.inputs)) for v in g)
    places = list(found.values())
    for k, (x, y, w, h) in enumerate(places):
        assert x >= 0 and y >= 0 and x + w <= width and y + h <= height
        assert all(x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y for x2, y2, w2, h2 in places[:k])
    assert width / height < 4 and height / width < 4


def test_edges_end_at_boxes() -> None:
    g = random_graph(60, 5, seed=1)
    picture = svg(g)
    found = list(boxes(picture).values())
    for path in ElementTree.fromstring(picture).iter(f"{SVG}path"):
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", path.get("d", ""))]
        (x0, y0), (x1, y1) = numbers[:2], numbers[-2:]
        assert any(x < x0 < x + w and abs(y + h - y0) < 0.2 for x, y, w, h in found)
        assert any(x < x1 < x + w and abs(y - y1) < 0.2 for x, y, w, h in found)


def test_kinds_and_shapes_are_shown_and_text_is_escaped(tmp_path: Path) -> None:
    x = graph.input("x")
    h = graph.vertex(Linear(4), "a<b")(x)
    g = graph.Graph([x], [h + graph.Wire(graph.Constant(np.ones(4)), "c", ())])
    g.draw(tmp_path / "g.svg", np.ones((2, 3), np.float32))
    picture = (tmp_path / "g.svg").read_text()
    assert "a&lt;b" in picture and "float32[2, 4]" in picture and "Linear(width=4)" in picture
    assert all(colour in picture for colour in COLOURS.values())
    assert picture.count('class="output"') == 1
    assert g._repr_svg_().startswith("<svg")


def test_an_empty_graph_is_drawn() -> None:
    ElementTree.fromstring(svg(graph.empty()))


def test_control_characters_in_names_leave_a_picture_that_can_be_read(tmp_path: Path) -> None:
    """XML has no place for them: no browser showed the picture."""
    x = graph.input("x\x00")
    h = graph.vertex(Linear(4), "a\x1b[1m\ufffe\ud800\u00fc")(x)
    graph.Graph([x], [h]).draw(tmp_path / "g.svg")
    picture = (tmp_path / "g.svg").read_text()
    titles = [title.text for title in ElementTree.fromstring(picture).iter(f"{SVG}title")]
    assert any(title is not None and title.startswith(r"a\x1b[1m\ufffe\ud800ü = ") for title in titles)
    assert r"x\x00" in picture
