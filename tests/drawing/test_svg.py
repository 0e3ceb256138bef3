"""Pictures of boxes and edges."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from wengert.drawing import Box, picture

SVG = "{http://www.w3.org/2000/svg}"


def places_of(picture: str) -> dict[str, tuple[float, float, float, float]]:
    found = {}
    for group in ElementTree.fromstring(picture).iter(f"{SVG}g"):
        (rect,) = group.iter(f"{SVG}rect")
        title = group.find(f"{SVG}title")
        assert title is not None and title.text
        found[title.text.split(" ")[0]] = tuple(float(rect.get(k, 0)) for k in ("x", "y", "width", "height"))
    return found


def box(name: str, *reads: str) -> Box:
    return Box(name, reads, (("name", name), ("part", "sum")), f"{name} = sum", "#ffffff")


def random_boxes(count: int, window: int, seed: int) -> list[Box]:
    """Return boxes each of which reads one to three of the ``window`` before it."""
    rng, found = np.random.default_rng(seed), [box("x")]
    for k in range(count):
        reads = sorted({int(j) for j in rng.integers(max(0, k - window), k + 1, rng.integers(1, 4))})
        found.append(box(f"b{k}", *[found[j].name for j in reads]))
    return found


def test_a_picture_of_100_boxes() -> None:
    """Every box is there once, within the picture, and none covers another."""
    drawn = random_boxes(100, 6, seed=0)
    text = picture(drawn)
    root = ElementTree.fromstring(text)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    found = places_of(text)
    assert set(found) == {box.name for box in drawn}
    assert len(list(root.iter(f"{SVG}path"))) == sum(len(set(box.reads)) for box in drawn)
    places = list(found.values())
    for k, (x, y, w, h) in enumerate(places):
        assert x >= 0 and y >= 0 and x + w <= width and y + h <= height
        assert all(x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y for x2, y2, w2, h2 in places[:k])
    assert width / height < 4 and height / width < 4


def test_edges_end_at_boxes() -> None:
    text = picture(random_boxes(60, 5, seed=1))
    found = list(places_of(text).values())
    for path in ElementTree.fromstring(text).iter(f"{SVG}path"):
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", path.get("d", ""))]
        (x0, y0), (x1, y1) = numbers[:2], numbers[-2:]
        assert any(x < x0 < x + w and abs(y + h - y0) < 0.2 for x, y, w, h in found)
        assert any(x < x1 < x + w and abs(y - y1) < 0.2 for x, y, w, h in found)


def test_nothing_is_drawn() -> None:
    ElementTree.fromstring(picture([]))


def test_results_colours_and_long_lines_are_shown() -> None:
    long = Box("a<b", (), (("name", "a<b"), ("gives", "x" * 99)), "about", "#123456", is_result=True)
    text = picture([long])
    assert "a&lt;b" in text and "#123456" in text and text.count('class="output"') == 1
    assert "x" * 33 + "…" in text and "x" * 34 not in text


def test_control_characters_in_names_leave_a_picture_that_can_be_read() -> None:
    """XML has no place for them: no browser showed the picture."""
    text = picture([box("x\x00"), box("a\x1b[1m\ufffe\ud800\u00fc", "x\x00")])
    titles = [title.text for title in ElementTree.fromstring(text).iter(f"{SVG}title")]
    assert any(title is not None and title.startswith(r"a\x1b[1m\ufffe\ud800ü = ") for title in titles)
    assert r"x\x00" in text
