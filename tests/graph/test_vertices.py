"""Vertices and their parts."""

from __future__ import annotations

import numpy as np

from tests.graph.layers import Linear
from wengert.graph.vertices import Call, Constant, InputPart, Operand, Vertex, words


def test_parts_in_words() -> None:
    assert words(InputPart()) == "input"
    assert words(Constant(np.ones((2, 3)))) == "constant float64[2, 3]"
    assert words(Linear(3)) == "Linear(width=3)"
    assert words(Call(np.add, (1, Operand(0)))) == "add(1, ·)"


def test_equal_parts_are_equal_vertices() -> None:
    assert Vertex("h", Linear(3), ("x",)) == Vertex("h", Linear(3), ("x",))
    assert Constant(np.ones(2)) != Constant(np.zeros(2)) and Constant(1.0) != 1.0
    assert hash(Constant(np.ones(2))) == hash(Constant(np.ones(2)))
    assert Call(np.sum, (Operand(0),), {"axis": 0}) != Call(np.sum, (Operand(0),), {"axis": 1})
    assert hash(Call(np.sum, (Operand(0),), {"axis": 0})) == hash(Call(np.sum, (Operand(0),), {"axis": 0}))
