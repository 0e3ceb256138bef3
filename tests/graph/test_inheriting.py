"""Parameters over an edit."""

from __future__ import annotations

import numpy as np

import wengert as wg
from tests.graph.layers import Linear
from wengert import graph


def test_what_fits_stays_and_the_rest_is_new() -> None:
    g = (
        graph.empty("x")
        .insert("a", Linear(4), after="x")
        .insert("b", Linear(3), after="a")
        .insert("c", Linear(2), after="b")
    )
    x = wg.spec((5, 4))
    params, state = g.init(0, x)
    edited = g.replace("b", Linear(6)).rename({"a": "first"}).insert("d", np.tanh, after="b")
    new, new_state = graph.inherit(edited, 1, (x,), params, state, names={"a": "first"})
    assert list(new) == ["first", "b", "c"] and new_state == {}
    assert new["first"] is params["a"]
    assert new["b"]["w"].shape == (6, 4) and new["c"]["w"].shape == (2, 6)
    again, _ = graph.inherit(g, 1, (x,), params, state)
    assert again == params
