"""Building by calling: operators, names, constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wengert import graph


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: x**2 - -y,
        lambda x, y: 2 + x * 3 - (1 - y) / (4 / x),
        lambda x, y: x @ y + np.ones(3) @ x + np.arctan2(x, 2.0),
        lambda x, y: np.float64(2) * np.maximum(x, np.array([1.0, 5.0, 1.0])),
    ],
)
def test_arithmetic_makes_vertices(f: Callable[..., Any]) -> None:
    x, y = graph.input("x"), graph.input("y")
    g = graph.Graph([x, y], [f(x, y)])
    a, b = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])
    np.testing.assert_array_equal(g(a, b), f(a, b))


def test_concat() -> None:
    x, y = graph.input("x"), graph.input("y")
    g = graph.Graph([x, y], [graph.concat(x, y, x), graph.concat(x, y, axis=0, name="rows")])
    assert g.names == ("x", "y", "concat", "rows")
    side, rows = g(np.zeros((2, 3)), np.ones((2, 3)))
    assert side.shape == (2, 9) and rows.shape == (4, 3)


def test_names_are_made_of_parts() -> None:
    x = graph.input("x")
    outputs = [np.sin(x), np.sin(x), graph.vertex(lambda x: x)(x), 2 - x, graph.vertex(np.sum)(x, axis=0)]
    assert graph.Graph([x], outputs).outputs == ("sin", "sin_2", "vertex", "sub", "sum")


def test_only_what_is_needed_is_a_vertex() -> None:
    x = graph.input("x")
    np.sin(x)
    assert graph.Graph([x], [x + 1]).names == ("x", "add")


def test_methods_of_ufuncs_are_refused() -> None:
    with pytest.raises(TypeError):
        np.add.reduce(graph.input("x"))
