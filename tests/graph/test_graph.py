"""Graphs as functions and as layers; what is asked of them."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.graph.layers import Counting, Linear
from wengert import graph
from wengert.errors import CycleError, GraphError, ShapeError, StructureError


def residual() -> graph.Graph:
    x = graph.input("x")
    h = graph.vertex(Linear(3), "h")(x)
    t = graph.vertex(np.tanh, "t")(h)
    return graph.Graph(inputs=[x], outputs=[t + x])


def test_a_graph_is_a_layer() -> None:
    g = residual()
    params, state = g.init(0, wg.spec((5, 3), "float32"))
    assert list(params) == ["h"] and state == {}
    assert params["h"]["w"].shape == (3, 3)
    x = np.ones((5, 3), np.float32)
    y, new_state = g.apply(params, state, x)
    np.testing.assert_allclose(y, np.tanh(x @ params["h"]["w"].T + params["h"]["b"]) + x, rtol=1e-6)
    assert y.dtype == np.float32 and new_state == {}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_is_differentiated_and_compiled(dtype: Any) -> None:
    g = residual()
    params, state = g.init(0, wg.spec((5, 3), dtype))
    params["h"] = {k: v.astype(dtype) for k, v in params["h"].items()}
    x = np.linspace(-1, 1, 15, dtype=dtype).reshape(5, 3)

    def loss(params: Any, x: Any) -> Any:
        return np.sum(g.apply(params, state, x)[0] ** 2)

    def by_hand(params: Any, x: Any) -> Any:
        return np.sum((np.tanh(x @ params["h"]["w"].T + params["h"]["b"]) + x) ** 2)

    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    gradient, expected = wg.jit(wg.grad(loss))(params, x), wg.grad(by_hand)(params, x)
    for k in ("w", "b"):
        assert gradient["h"][k].dtype == dtype
        np.testing.assert_allclose(gradient["h"][k], expected["h"][k], rtol=tolerance, atol=tolerance)
    if dtype == np.float64:
        wg.check_derivatives(loss, params, x)


def test_its_tape_is_that_of_the_plain_function() -> None:
    """Nothing of the graph is left once it is traced."""
    g = residual()
    params, _ = g.init(0, wg.spec((5, 3), "float32"))
    x = np.ones((5, 3), np.float32)

    def plain(params: Any, x: Any) -> Any:
        return np.tanh(x @ params["h"]["w"].T + params["h"]["b"]) + x

    tape, other = wg.trace(lambda p, x: g.apply(p, {}, x)[0])(params, x), wg.trace(plain)(params, x)
    assert [i.op for i in tape.instrs] == [i.op for i in other.instrs]


def test_a_shared_vertex_is_computed_once() -> None:
    part = Counting(np.sin)
    x = graph.input("x")
    h = graph.vertex(part, "h")(x)
    g = graph.Graph([x], [h * h + h])
    assert g(1.0) == np.sin(1.0) ** 2 + np.sin(1.0)
    assert part.calls == 1


def test_several_inputs_and_outputs() -> None:
    x, y = graph.input("x"), graph.input("y")
    g = graph.Graph([x, y], [x - y, 1 / y])
    assert g(3.0, 2.0) == (1.0, 0.5)
    with pytest.raises(StructureError, match="2 inputs expected, 1 given"):
        g(3.0)


def test_graphs_are_vertices_of_graphs() -> None:
    inner = residual()
    x = graph.input("x")
    g = graph.Graph([x], [graph.vertex(inner, "b")(graph.vertex(inner, "a")(x))])
    params, state = g.init(0, wg.spec((2, 3), "float32"))
    assert set(params) == {"a", "b"} and set(params["a"]) == {"h"}
    x_ = np.ones((2, 3), np.float32)
    once = inner.apply(params["a"], {}, x_)[0]
    np.testing.assert_array_equal(g.apply(params, state, x_)[0], inner.apply(params["b"], {}, once)[0])


@dataclass(frozen=True)
class Counter:
    """A layer with state alone."""

    def init(self, rng: Any, *xs: Any) -> Any:
        return {}, {"n": np.zeros((), np.int64)}

    def apply(self, params: Any, state: Any, x: Any, train: bool = False) -> Any:
        return x, {"n": state["n"] + 1} if train else state


def test_state_is_handed_on() -> None:
    g = graph.empty("x").insert("c", Counter(), after="x").insert("d", Counter(), after="c")
    params, state = g.init(0, wg.spec(3, "float32"))
    assert params == {}
    _, new = g.apply(params, state, np.ones(3), train=True)
    assert {k: int(v["n"]) for k, v in new.items()} == {"c": 1, "d": 1}
    assert int(state["c"]["n"]) == 0


# --------------------------------------------------------------------------------------------------------- queries


def diamond() -> graph.Graph:
    x = graph.input("x")
    a = graph.vertex(np.sin, "a")(x)
    b, c = graph.vertex(np.cos, "b1")(a), graph.vertex(np.exp, "b2")(a)
    return graph.Graph([x], [graph.vertex(np.add, "d")(b, c)])


def test_ancestors_descendants_and_finding() -> None:
    g = diamond()
    assert g.names == ("x", "a", "b1", "b2", "d") and g.inputs == ("x",) and g.outputs == ("d",)
    assert g.ancestors("d") == ("x", "a", "b1", "b2") and g.ancestors("b1") == ("x", "a")
    assert g.descendants("a") == ("b1", "b2", "d") and g.descendants("d") == ()
    assert g.readers()["a"] == ["b1", "b2"]
    assert g.find("b.") == ("b1", "b2") and g.find(part=np.exp) == ("b2",) and g.find(type=np.ufunc)[0] == "a"
    assert g.find(where=lambda v: len(v.inputs) == 2) == ("d",)
    assert "b1" in g and "b3" not in g and len(g) == 5 and g["a"].part is np.sin
    with pytest.raises(GraphError, match=r"no vertex 'b3'(.|\n)*'b1'"):
        g["b3"]


def test_equality() -> None:
    assert diamond() == diamond() and hash(diamond()) == hash(diamond())
    assert diamond() != diamond().replace("b1", np.tan)
    assert diamond() != "no graph"


def test_its_specs() -> None:
    specs = residual().specs(wg.spec((7, 3), "float32"))
    assert specs["h"] == wg.spec((7, 3), "float32") and list(specs) == ["x", "h", "t", "add"]


def test_it_is_printed_as_a_table() -> None:
    lines = str(diamond()).splitlines()
    assert lines[0].split() == ["vertex", "part", "reads"] and lines[-1] == "returns d"
    assert lines[5].split() == ["d", "add", "b1,", "b2"]


# ---------------------------------------------------------------------------------------------------------- misuse


def test_values_that_do_not_fit_name_both_vertices_and_their_shapes() -> None:
    x = graph.input("x")
    g = graph.Graph([x], [graph.vertex(Linear(4), "wide")(x) + graph.vertex(Linear(3), "narrow")(x)])
    with pytest.raises(
        ShapeError, match=r"'add'(.|\n)*wide +gives float32\[5, 4\](.|\n)*narrow +gives float32\[5, 3\]"
    ):
        g.init(0, wg.spec((5, 3), "float32"))
    params = {"wide": {"w": np.ones((4, 3)), "b": np.ones(4)}, "narrow": {"w": np.ones((3, 3)), "b": np.ones(3)}}
    with pytest.raises(ShapeError, match=r"wide +gives float64\[5, 4\](.|\n)*narrow +gives float64\[5, 3\]"):
        g.apply(params, {}, np.ones((5, 3)))


def test_a_layer_that_does_not_fit_is_named_with_its_parameters() -> None:
    g = graph.empty("x").insert("h", Linear(4), after="x")
    params, _ = g.init(0, wg.spec((5, 3), "float32"))
    with pytest.raises(ShapeError, match=r"'h', Linear(.|\n)*x +gives float64\[5, 2\](.|\n)*h.w +is float32\[4, 3\]"):
        g.apply(params, {}, np.ones((5, 2)))


def test_parameters_of_another_graph() -> None:
    g, x = residual(), np.ones((5, 3), np.float32)
    params, state = g.init(0, x)
    with pytest.raises(StructureError, match=r"nothing for the vertex 'h', Linear(.|\n)*other"):
        g.rename({"t": "other"}).apply({"other": {}}, state, x)
    with pytest.raises(StructureError, match="a parameter for 'other', but no vertex"):
        g.apply({**params, "other": params["h"]}, state, x)
    with pytest.raises(StructureError, match="a state for 'other'"):
        g.apply(params, {"other": {}}, x)
    with pytest.raises(StructureError, match="a parameter for 'other'"):
        g.value_and_grad(lambda outputs: np.sum(outputs[0]))({**params, "other": params["h"]}, state, x)


def test_an_input_that_is_missing_and_names_that_are_taken() -> None:
    x, y = graph.input("x"), graph.input("y")
    with pytest.raises(GraphError, match="need the input 'y'"):
        graph.Graph([x], [x + y])
    with pytest.raises(GraphError, match="two vertices are called 'x'"):
        graph.Graph([x], [graph.vertex(np.sin, "x")(x)])


def test_wires_that_read_themselves() -> None:
    x = graph.input("x")
    y = graph.vertex(np.sin, "y")(x)
    y.inputs = (y,)
    with pytest.raises(CycleError):
        graph.Graph([x], [y])


# --------------------------------------------------------------------------------------- in functions and processes


def test_a_memo_of_the_users_is_the_same_tape() -> None:
    """Recursion over the graph's vertices with a plain dict: what it records is what the graph does."""
    g = diamond()

    def output(memo: dict[str, Any], name: str) -> Any:
        if name not in memo:
            vertex = g[name]
            memo[name] = vertex.part(*[output(memo, read) for read in vertex.inputs])
        return memo[name]

    def recursive(x: Any) -> Any:
        return np.sum(output({"x": x}, "d"))

    x = np.linspace(0, 1, 3)
    by_user, by_graph = wg.trace(wg.grad(recursive))(x), wg.trace(wg.grad(lambda x: np.sum(g(x))))(x)
    assert str(by_user).splitlines()[1:] != [] and len(by_user) == len(by_graph)
    assert [i.op for i in by_user.instrs] == [i.op for i in by_graph.instrs]
    np.testing.assert_array_equal(wg.grad(recursive)(x), wg.grad(lambda x: np.sum(g(x)))(x))


def test_graphs_are_arguments_too() -> None:
    """As they are static, a jitted function is traced once for each."""
    value = wg.jit(lambda g, x: np.sum(g(x)))
    assert value(diamond(), 1.0) == value(diamond(), 1.0) and value.stats()["traces"] == 1
    assert value(diamond().replace("d", np.subtract), 1.0) != value(diamond(), 1.0)
    assert wg.grad(lambda x, g: g(x))(0.5, diamond()) == wg.grad(diamond())(0.5)


def test_a_jitted_graph_is_looked_at_at_every_call() -> None:
    """An array that a part holds may be edited in place."""
    shift = np.zeros(3)
    g = graph.empty("x").insert("s", lambda x: x + shift, after="x")
    f = wg.jit(g)
    assert f(np.ones(3))[0] == 1
    shift[:] = 5
    assert f(np.ones(3))[0] == 6


def test_graphs_travel_between_processes() -> None:
    g = residual()
    assert pickle.loads(pickle.dumps(g)) == g
    assert len({g, residual()}) == 1 and copy.deepcopy(g) == g


# ------------------------------------------------------------------------------------------------------------ size


@pytest.mark.deep("7 s; one of 1,000 is quick")
def test_a_graph_of_100_000_vertices_in_a_row_needs_no_recursion() -> None:
    """No recursion: built by calling, evaluated, edited at its ends, traced."""
    x = graph.input("x")
    at = x
    for _ in range(100_000):
        at = graph.Wire(np.negative, None, (at,))
    g = graph.Graph([x], [at])
    assert len(g) == 100_001
    assert g(2.0) == 2.0
    assert len(g.ancestors(g.outputs[0])) == 100_000
    edited = g.insert("last", np.negative, after=g.outputs[0])
    assert edited(2.0) == -2.0 and g(2.0) == 2.0 and wg.grad(g)(2.0) == 1.0


@pytest.mark.deep("half a minute, and like the one before")
def test_a_graph_of_100_000_vertices_in_a_row_is_compiled() -> None:
    x = graph.input("x")
    at = x
    for k in range(100_000):
        at = np.sin(at) if k % 2 else at * 1.5
    step = wg.jit(wg.grad(graph.Graph([x], [at])), strict=True)
    gradient = step(0.3)
    assert np.isfinite(gradient) and step(0.3) == gradient
    assert step.stats()["traces"] == 1


def test_the_first_gradient_of_a_random_graph_of_1_000() -> None:
    rng = np.random.default_rng(0)
    wires = [graph.input("x")]
    for k in range(1000):
        reads = [wires[j] for j in sorted({int(j) for j in rng.integers(max(0, k - 50), k + 1, rng.integers(1, 4))})]
        wires.append(graph.vertex(Linear(4))(graph.vertex(lambda *xs: np.tanh(sum(xs)))(*reads)))
    g = graph.Graph(wires[:1], wires[-1:])
    params, state = g.init(0, wg.spec(4, "float64"))
    tape = wg.trace(wg.grad(lambda p, x: np.sum(g.apply(p, state, x)[0])))(params, np.ones(4))
    assert len(tape) < 16 * len(g)
    gradient = wg.grad(lambda p, x: np.sum(g.apply(p, state, x)[0]))(params, np.ones(4))
    assert all(np.isfinite(leaf).all() for own in gradient.values() for leaf in own.values())
