"""Parameters over an edit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.graph.layers import Linear, Norm
from wengert import graph


def test_what_fits_stays_and_the_rest_is_new() -> None:
    g = (
        graph.empty("x")
        .insert("a", Linear(4), after="x")
        .insert("b", Linear(3), after="a")
        .insert("c", Linear(2), after="b")
    )
    x = wg.spec((5, 4), "float32")
    params, state = g.init(0, x)
    edited = g.replace("b", Linear(6)).rename({"a": "first"}).insert("d", np.tanh, after="b")
    new, new_state = graph.inherit(edited, 1, (x,), params, state, names={"a": "first"})
    assert list(new) == ["first", "b", "c"] and new_state == {}
    assert new["first"] is params["a"]
    assert new["b"]["w"].shape == (6, 4) and new["c"]["w"].shape == (2, 6)
    again, _ = graph.inherit(g, 1, (x,), params, state)
    assert again == params


def test_layers_that_read_what_has_another_width_are_made_anew() -> None:
    g = graph.empty("x").insert("a", Norm(), after="x").insert("b", Linear(2), after="a")
    params, state = g.init(0, wg.spec((5, 1), "float32"))
    wider = graph.empty("x").insert("w", Linear(3), after="x").merge(g, {"x": "w"}).returning("b")
    new, new_state = graph.inherit(wider, 1, (wg.spec((5, 1), "float32"),), params, state)
    assert new["a"]["scale"].shape == (3,) and new_state["a"]["mean"].shape == (3,) and new["b"]["w"].shape == (2, 3)


def test_state_and_layers_without_parameters() -> None:
    g = graph.empty("x").insert("a", Norm(), after="x").insert("t", np.tanh, after="a")
    params, state = g.init(0, wg.spec((5, 3), "float32"))
    new, new_state = graph.inherit(
        g.insert("i", np.positive, after="t"), 1, (wg.spec((5, 3), "float32"),), params, state
    )
    assert new["a"] is params["a"] and new_state["a"] is state["a"]
    gone, _ = graph.inherit(g.replace("a", np.sin), 1, (wg.spec((5, 3), "float32"),), params, state)
    assert gone == {}


def test_an_input_that_is_no_array_is_said_in_our_words() -> None:
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(wg.errors.ArgumentError, match=r"an input of a graph is no array(.|\n)*wg\.spec"):
        graph.inherit(graph.empty("x").insert("h", np.tanh, after="x"), 0, (deep,), {}, {})
