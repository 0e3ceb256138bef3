"""Pictures of graphs."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from tests.graph.graphs import random_graph
from tests.graph.layers import Linear
from wengert import graph
from wengert.graph.drawing import COLOURS, svg

SVG = "{http://www.w3.org/2000/svg}"


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


def test_all_vertices_and_edges_are_drawn_and_constants_hang() -> None:
    g = random_graph(100, 6, seed=0)
    picture = svg(g, 1.0)
    titles = [title.text or "" for title in ElementTree.fromstring(picture).iter(f"{SVG}title")]
    assert [title.split(" ")[0] for title in titles] == list(g.names)
    assert picture.count("<path ") == sum(len(set(v.inputs)) for v in g)
    g = graph.empty("x").insert("a", np.sin, after="x").insert("b", np.cos, after="a")
    g = g.insert("c", graph.Constant(1.0)).insert("d", np.add, "b", "c", after="b")
    tops = [rect.get("y") for rect in ElementTree.fromstring(svg(g)).iter(f"{SVG}rect")][1:]
    top = dict(zip(g.names, tops, strict=True))
    assert top["c"] == top["b"] and top["a"] != top["x"]
