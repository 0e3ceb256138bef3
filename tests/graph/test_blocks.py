"""Gradients block by block: the same as of the whole graph, and after an edit only what changed is new."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.graph.layers import Linear, Norm
from wengert import graph
from wengert.graph import blocks
from wengert.graph.blocks import MAX_BLOCKS, SIZE, blocks_of


def total(outputs: Any) -> Any:
    return sum([np.sum(y**2) for y in outputs])


def random_graph(count: int, seed: int, width: int = 4) -> graph.Graph:
    """Dense layers and functions, each of one to three earlier values; all that nobody reads is an output."""
    rng = np.random.default_rng(seed)
    wires = [graph.input("x")]
    for k in range(count):
        reads = [wires[j] for j in sorted({int(j) for j in rng.integers(max(0, k - 10), k + 1, rng.integers(1, 4))})]
        read = graph.vertex(lambda *xs: np.tanh(sum(xs)), f"t{k}")(*reads)
        wires.append(graph.vertex(Linear(width), f"v{k}")(read) if rng.random() < 0.6 else read)
    read = {id(v) for wire in wires for v in wire.inputs}
    return graph.Graph(wires[:1], [wire for wire in wires if id(wire) not in read])


def of_whole(g: graph.Graph, params: Any, state: Any, x: Any) -> Any:
    def loss(params: Any) -> Any:
        y = g.apply(params, state, x)[0]
        return total(y if isinstance(y, tuple) else (y,))

    return wg.value_and_grad(loss)(params)


def same(found: Any, expected: Any, tolerance: float) -> None:
    assert found.keys() == expected.keys()
    for name, own in expected.items():
        for key, leaf in own.items():
            assert found[name][key].dtype == leaf.dtype
            np.testing.assert_allclose(found[name][key], leaf, rtol=tolerance, atol=tolerance)


@pytest.mark.sampled(7, "random graphs in blocks: 2 s each")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_gradient_is_that_of_the_whole(seed: int, dtype: Any) -> None:
    g = random_graph(60, seed)
    x = np.linspace(-1, 1, 8, dtype=dtype).reshape(2, 4)
    params, state = g.init(seed, x)
    assert len(blocks_of(g)) > 2
    (value, _), gradient = g.value_and_grad(total)(params, state, x)
    expected, expected_gradient = of_whole(g, params, state, x)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(value, expected, rtol=tolerance)
    same(gradient, expected_gradient, tolerance)


def test_blocks_are_the_vertices_in_their_order() -> None:
    g = random_graph(200, 2)
    found = blocks_of(g)
    assert [v for block in found for v in block.vertices] == [v for v in g if v.name != "x"]
    assert all(len(block.vertices) <= 2 * SIZE for block in found)
    given = {"x", *[name for block in found for name in block.gives]}
    assert all(given.issuperset(block.reads) for block in found)
    assert set(g.outputs) <= given


@pytest.mark.deep("a hundred graphs are compiled in blocks: 8 s")
def test_after_an_edit_only_blocks_that_changed_are_new() -> None:
    """Replace, insert and remove one vertex of some hundred: the counts of what is compiled again."""
    g = random_graph(300, 3)
    x = np.ones((2, 4))
    params, state = g.init(0, x)
    first = g.value_and_grad(total)
    assert first.report.new_blocks == first.report.blocks > 15
    assert g.value_and_grad(total).report.new_blocks == 0
    layers = g.find("v.*")
    for k in (10, 80, 150):
        name = layers[k]
        edits = {
            "replace": (g.replace(name, np.tanh), 1),
            "insert": (g.insert(f"new{k}", np.sin, between=(g[name].inputs[0], name)), 2),
            "remove": (g.remove(name), 1 + len(set(g.readers()[name]))),
        }
        for what, (edited, most) in edits.items():
            step = edited.value_and_grad(total)
            assert 1 <= step.report.new_blocks <= most + 1, (what, str(step.report))
            assert step.report.new_vertices <= 2 * SIZE * (most + 1)
            own = {n: p for n, p in params.items() if n in edited and edited[n].part == g[n].part}
            (value, _), gradient = step(own, state, x)
            expected, expected_gradient = of_whole(edited, own, state, x)
            np.testing.assert_allclose(value, expected, rtol=1e-12)
            same(gradient, expected_gradient, 1e-12)


def test_equal_blocks_of_another_graph_share_their_programs() -> None:
    one, two = random_graph(80, 4), random_graph(80, 4)
    parts = {v.name: v.part for v in one}
    for v in list(two):
        if v.name.startswith("t"):
            two = two.replace(v.name, parts[v.name])  # functions are equal if they are the same
    one.value_and_grad(total)
    assert two == one and two.value_and_grad(total).report.new_blocks == 0


def test_state_is_handed_on_and_arguments_of_the_loss() -> None:
    class Counted(Norm):
        def apply(self, params: Any, state: Any, x: Any, train: bool = False) -> Any:
            y, _ = super().apply(params, state, x)
            return y, {**state, "mean": state["mean"] + 1} if train else state

    g = graph.empty("x").insert("n", Counted(), after="x").insert("h", Linear(2), after="n")
    x, target = np.ones((3, 4)), np.zeros((3, 2))
    params, state = g.init(0, x)

    def loss(outputs: Any, target: Any, weight: Any) -> Any:
        return weight * np.sum((outputs[0] - target) ** 2)

    step = g.value_and_grad(loss)
    (value, new), gradient = step(params, state, x, args=(target, 2.0), train=True)
    assert np.all(new["n"]["mean"] == 1) and np.all(state["n"]["mean"] == 0)
    y = g.apply(params, state, x)[0]
    np.testing.assert_allclose(value, 2 * np.sum(y**2))
    np.testing.assert_allclose(gradient["h"]["b"], 4 * np.sum(y, axis=0))


def test_values_without_derivatives_and_parameters_that_nobody_needs() -> None:
    x = graph.input("x")
    h = graph.vertex(Linear(4), "h")(x)
    k = graph.vertex(lambda h: np.argmax(h, axis=1), "k")(h)
    y = graph.vertex(lambda h, k: h * (k[:, None] + 1.0), "y")(h, k)
    idle = graph.vertex(Linear(2), "idle")(graph.vertex(lambda k: k[:, None] * 1.0, "f")(k))
    g = graph.Graph([x], [y, y, idle]).returning("y", "y")
    # so that each vertex is a block of its own
    old, blocks.SIZE = blocks.SIZE, 1
    try:
        assert len(blocks_of(g)) == 5
        params, state = g.init(0, np.ones((3, 4)))
        values = np.random.default_rng(0).standard_normal((3, 4))
        (value, _), gradient = g.value_and_grad(total)(params, state, values)
    finally:
        blocks.SIZE = old
    expected, expected_gradient = of_whole(g, params, state, values)
    np.testing.assert_allclose(value, expected)
    same(gradient, expected_gradient, 1e-12)
    assert np.all(gradient["idle"]["w"] == 0)


def test_programs_of_old_graphs_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand architectures keep no more programs than one would say."""
    monkeypatch.setattr(blocks, "MAX_BLOCKS", 10)
    blocks._programs.clear()
    g = graph.empty("x").insert("h", Linear(2), after="x")
    for k in range(50):
        g.insert(f"end{k}", np.tanh, after="h").value_and_grad(total)
        assert len(blocks._programs) <= 10
    assert MAX_BLOCKS > 1000


def test_complex_values_between_blocks_have_cotangents(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were taken for values without derivatives: the gradient of all before them was zero."""
    monkeypatch.setattr(blocks, "SIZE", 2)
    g = graph.empty("x").insert("h", Linear(2), after="x").insert("z", lambda h: h * (1 + 2j), after="h")
    for k in range(4):
        g = g.insert(f"sin{k}", np.sin, after=g.outputs[0])
    g = g.insert("size", lambda z: np.real(z * np.conj(z)), after=g.outputs[0])
    assert len(blocks_of(g)) > 1
    x = np.full((3, 2), 0.1)
    params, state = g.init(0, x)
    _, gradient = g.value_and_grad(lambda outputs: np.sum(outputs[0]))(params, state, x)
    expected = wg.grad(lambda params: np.sum(g.apply(params, state, x)[0]))(params)
    np.testing.assert_allclose(gradient["h"]["w"], expected["h"]["w"], rtol=1e-12)
    assert np.all(gradient["h"]["w"] != 0)


def test_the_number_of_inputs_is_checked() -> None:
    step = graph.empty("x").insert("sole", np.tanh, after="x").value_and_grad(lambda outputs: np.sum(outputs[0]))
    with pytest.raises(wg.errors.StructureError, match="1 inputs expected, 2 given"):
        step({}, {}, np.ones(2), np.ones(2))
