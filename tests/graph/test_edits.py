"""Edits return another graph, which shares what stayed; or raise, and the old one is whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import graph
from wengert.errors import CycleError, GraphError


def chain(*parts: Any) -> graph.Graph:
    g = graph.empty("x")
    for k, part in enumerate(parts):
        g = g.insert(f"v{k}", part, after=g.outputs[0])
    return g


def diamond() -> graph.Graph:
    x = graph.input("x")
    a = graph.vertex(np.sin, "a")(x)
    b, c = graph.vertex(np.cos, "b")(a), graph.vertex(np.exp, "c")(a)
    return graph.Graph([x], [graph.vertex(np.subtract, "d")(b, c)])


def check(g: graph.Graph) -> None:
    """What always holds of a graph."""
    met: set[str] = set()
    for name, vertex in g.vertices.items():
        assert vertex.name == name
        assert met.issuperset(vertex.inputs)
        met.add(name)
    assert met.issuperset(g.outputs)
    assert [v.name for v in g if type(v.part).__name__ == "InputPart"] == sorted(g.inputs, key=g.names.index)


# ---------------------------------------------------------------------------------------------------- one by one


def test_insert_after_before_between_and_apart() -> None:
    g = diamond()
    y = np.cos(np.sin(1.0)) - np.exp(np.sin(1.0))
    after = g.insert("n", np.negative, after="a")
    np.testing.assert_allclose(after(1.0), np.cos(-np.sin(1.0)) - np.exp(-np.sin(1.0)))
    between = g.insert("n", np.negative, between=("a", "c"))
    np.testing.assert_allclose(between(1.0), np.cos(np.sin(1.0)) - np.exp(-np.sin(1.0)))
    assert g.insert("n", np.negative, before="c") == between
    apart = g.insert("n", np.negative, "d")
    assert apart(1.0) == y and apart.returning("n")(1.0) == -y
    assert g.insert("n", np.negative, after="d").outputs == ("n",)
    joined = g.insert("s", np.add, "a", "x", after="a")
    np.testing.assert_allclose(joined(1.0), np.cos(np.sin(1.0) + 1) - np.exp(np.sin(1.0) + 1))
    for edited in (after, between, apart, joined):
        check(edited)
        assert edited["d"] is g["d"]  # shared
    assert len(g) == 5 and g(1.0) == y  # whole


def test_who_reads_a_later_vertex_moves_behind_it() -> None:
    edited = diamond().rewire("b", "c")
    check(edited)
    np.testing.assert_allclose(edited(1.0), np.cos(np.exp(np.sin(1.0))) - np.exp(np.sin(1.0)))


def test_remove_reconnects() -> None:
    g = diamond()
    np.testing.assert_allclose(g.remove("a")(1.0), np.cos(1.0) - np.exp(1.0))
    np.testing.assert_allclose(g.remove("d", to="c")(1.0), np.exp(np.sin(1.0)))
    assert g.remove("d", to="c").outputs == ("c",)
    with pytest.raises(GraphError, match="'d' has 2 inputs: b, c"):
        g.remove("d")
    with pytest.raises(GraphError, match="'x' has no inputs"):
        g.remove("x")
    assert g.insert("n", np.negative, "a").remove("n") == g
    both = graph.empty("x", "y").insert("h", np.sin, "x").returning("h")
    assert both.remove("y").inputs == ("x",)


def test_remove_in_favour_of_what_stands_behind() -> None:
    g = chain(np.sin, np.cos).insert("far", np.exp, "x").insert("end", np.add, "v1", "far").returning("end")
    edited = g.remove("v0", to="far")
    check(edited)
    np.testing.assert_allclose(edited(1.0), np.cos(np.exp(1.0)) + np.exp(1.0))
    with pytest.raises(CycleError):
        diamond().remove("a", to="d")


def test_replace_and_rewire() -> None:
    g = diamond()
    np.testing.assert_allclose(g.replace("d", np.add)(1.0), np.cos(np.sin(1.0)) + np.exp(np.sin(1.0)))
    np.testing.assert_allclose(g.replace("c", np.add, "a", "x")(1.0), np.cos(np.sin(1.0)) - np.sin(1.0) - 1)
    np.testing.assert_allclose(g.rewire("d", "c", "b")(1.0), np.exp(np.sin(1.0)) - np.cos(np.sin(1.0)))
    with pytest.raises(CycleError) as error:
        g.rewire("a", "d")
    assert {"a", "d"} < set(str(error.value).splitlines()[0].removeprefix("the graph has a cycle: ").split(" -> "))
    with pytest.raises(CycleError, match="b -> b"):
        g.rewire("b", "b")
    with pytest.raises(GraphError, match="'x' is an input"):
        g.replace("x", np.sin)
    with pytest.raises(GraphError, match="'x' is an input"):
        g.rewire("x", "a")


def test_rename() -> None:
    g = diamond().rename({"a": "first", "d": "last"})
    check(g)
    assert g.names == ("x", "first", "b", "c", "last") and g.outputs == ("last",) and g["b"].inputs == ("first",)
    assert g.rename({"first": "a", "last": "d"}) == diamond()
    assert diamond().rename({"b": "c", "c": "b"})(1.0) == diamond()(1.0)  # at once
    assert diamond().rename(lambda name: f"m/{name}").inputs == ("m/x",)
    with pytest.raises(GraphError, match="two vertices are called 'b'"):
        diamond().rename({"a": "b"})
    with pytest.raises(GraphError, match="no vertex 'z'"):
        diamond().rename({"z": "b"})


def test_copy() -> None:
    g = diamond().copy({"a": "a2", "b": "b2"})
    check(g)
    assert g["b2"].inputs == ("a2",) and g["a2"].inputs == ("x",) and g.outputs == ("d",)
    assert g.replace("a2", np.tanh).rewire("d", "b2", "c")(1.0) == np.cos(np.tanh(1.0)) - np.exp(np.sin(1.0))
    for names in ({"a": "b"}, {"a": "n", "b": "n"}):
        with pytest.raises(GraphError, match="two vertices"):
            diamond().copy(names)
    with pytest.raises(GraphError, match="'x' is an input"):
        diamond().copy({"x": "x2"})


def test_merge() -> None:
    body, head = diamond(), graph.empty("z", "w").insert("d2", np.multiply, "z", "w").returning("d2")
    both = body.merge(head, {"z": "d"})
    check(both)
    assert both.inputs == ("x", "w") and both.outputs == ("d", "d2")
    assert both(1.0, 3.0) == (body(1.0), 3 * body(1.0))
    twice = body.merge(body, prefix="second/")
    assert twice.inputs == ("x",) and twice.outputs == ("d", "second/d")
    assert twice(1.0) == (body(1.0), body(1.0))
    with pytest.raises(GraphError, match="two vertices are called 'a'"):
        body.merge(body)
    with pytest.raises(GraphError, match="no vertex 'q'"):
        body.merge(head, {"q": "d"})


def test_part() -> None:
    g = diamond()
    assert g.part(["b"]).names == ("x", "a", "b")
    inner = g.part(["d"], inputs=["a"])
    assert inner.inputs == ("a",) and inner(0.5) == np.cos(0.5) - np.exp(0.5)
    assert g.insert("n", np.negative, "a").part() == g
    with pytest.raises(GraphError, match="the input 'x' is needed"):
        g.part(["d"], inputs=["b"])


def test_names_that_are_not_there_or_are_taken() -> None:
    g = diamond()
    edits: list[Callable[[], Any]] = [
        lambda: g.insert("a", np.sin, after="x"),
        lambda: g.insert("n", np.sin, "nobody"),
        lambda: g.insert("n", np.sin, after="nobody"),
        lambda: g.insert("n", np.sin, before="d"),
        lambda: g.insert("n", np.sin, between=("x", "d")),
        lambda: g.insert("n", np.sin, after="a", before="b"),
        lambda: g.remove("nobody"),
        lambda: g.remove("a", to="nobody"),
        lambda: g.remove("a", to="a"),
        lambda: g.replace("nobody", np.sin),
        lambda: g.rewire("d", "a", "nobody"),
        lambda: g.returning("nobody"),
        lambda: g.ancestors("nobody"),
        lambda: g.part(["nobody"]),
    ]
    for edit in edits:
        with pytest.raises(GraphError):
            edit()
    assert g == diamond()


# -------------------------------------------------------------------------------------------------------- sequences


def identity(x: Any) -> Any:
    return x


class Same:
    """An edit that must preserve the outputs, drawn at random."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.count = 0

    def pick(self, names: Any) -> str:
        return str(self.rng.choice(sorted(names)))

    def name(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def edit(self, g: graph.Graph) -> graph.Graph:
        kinds = [
            self.insert,
            self.insert_between,
            self.remove,
            self.rename,
            self.copy,
            self.merge,
            self.replace,
            self.swap,
        ]
        return kinds[self.rng.integers(len(kinds))](g)

    def insert(self, g: graph.Graph) -> graph.Graph:
        return g.insert(self.name(), identity, after=self.pick(g.names))

    def insert_between(self, g: graph.Graph) -> graph.Graph:
        reader = self.pick([v.name for v in g if v.inputs])
        return g.insert(self.name(), identity, between=(self.pick(g[reader].inputs), reader))

    def remove(self, g: graph.Graph) -> graph.Graph:
        idle = [n for n, readers in g.readers().items() if not readers and n not in (*g.outputs, *g.inputs)]
        same = g.find(part=identity)
        return g.remove(self.pick([*idle, *same])) if idle or same else g

    def rename(self, g: graph.Graph) -> graph.Graph:
        return g.rename({self.pick(g.names): self.name()})

    def copy(self, g: graph.Graph) -> graph.Graph:
        """And whoever read the original may read the copy."""
        original, copied = self.pick([n for n in g.names if n not in g.inputs]), self.name()
        edited = g.copy({original: copied})
        for reader in g.readers()[original]:
            if self.rng.random() < 0.5:
                edited = edited.rewire(reader, *[copied if n == original else n for n in edited[reader].inputs])
        return edited

    def merge(self, g: graph.Graph) -> graph.Graph:
        if len(g) > 60:
            return g.part()
        other = graph.empty("in").insert("a", np.sin, after="in").insert("b", np.cos, after="a")
        return g.merge(other, {"in": self.pick(g.names)}, prefix=self.name() + "/").returning(*g.outputs)

    def replace(self, g: graph.Graph) -> graph.Graph:
        name = self.pick([n for n in g.names if n not in g.inputs])
        part = g[name].part
        return g.replace(name, part.func if hasattr(part, "func") else graph.Call(part, tuple(operands(g[name]))))

    def swap(self, g: graph.Graph) -> graph.Graph:
        """Out and in again."""
        name = self.pick([v.name for v in g if len(v.inputs) == 1])
        read, part = g[name].inputs[0], g[name].part
        is_alone = g.readers()[read] == [name] and read not in g.outputs
        return g.remove(name).insert(name, part, after=read) if is_alone else g


def operands(vertex: graph.Vertex) -> list[Any]:
    from wengert.graph.vertices import Operand

    return [Operand(k) for k in range(len(vertex.inputs))]


def random_graph(rng: np.random.Generator, count: int) -> graph.Graph:
    wires = [graph.input("x")]
    for _ in range(count):
        a, b = rng.choice(len(wires), 2)
        kind = rng.integers(4)
        wires.append([np.sin(wires[a]), np.tanh(wires[a]), wires[a] - wires[b], 0.5 * wires[a]][kind])
    return graph.Graph([wires[0]], [wires[-1], wires[len(wires) // 2]])


@pytest.mark.parametrize("seed", range(5))
def test_200_random_edits_that_must_preserve_the_outputs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    g = random_graph(rng, 12)
    x = np.linspace(-1, 1, 4)
    before, outputs = g(x), len(g.outputs)
    gradient = wg.grad(lambda x: np.sum(g(x)[0]))(x)
    same, edited = Same(rng), g
    for _ in range(200):
        previous, as_it_was = edited, (edited.inputs, edited.outputs, dict(edited.vertices))
        edited = same.edit(previous)
        check(edited)
        assert (previous.inputs, previous.outputs, dict(previous.vertices)) == as_it_was
        for y, expected in zip(edited(x), before, strict=True):
            np.testing.assert_array_equal(y, expected)
    assert len(edited.outputs) == outputs
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(edited(x)[0]))(x), gradient, rtol=1e-12)


def any_edit(g: graph.Graph, kind: Any, new: str, a: str, b: str, c: str) -> graph.Graph:
    edits: list[Callable[[], graph.Graph]] = [
        lambda: g.insert(new, np.add, a, b),
        lambda: g.insert(new, np.sin, a, after=b),
        lambda: g.insert(new, np.sin, c, between=(a, b)),
        lambda: g.remove(a),
        lambda: g.remove(a, to=b),
        lambda: g.rewire(a, *[b, c][: len(g[a].inputs)]),
        lambda: g.copy({a: new}),
        lambda: g.rename({a: new}),
        lambda: g.returning(a, b),
        lambda: g.part([a]).merge(g, prefix=f"{new}/") if len(g) < 40 else g.part(),
    ]
    return edits[kind]()


@pytest.mark.parametrize("seed", range(5))
def test_200_random_edits_that_may_fail_leave_the_old_graph_whole(seed: int) -> None:
    """Any names, cycles among them: an edit gives a graph in order, or raises GraphError."""
    rng = np.random.default_rng(seed)
    g = random_graph(rng, 10)
    failed = 0
    for k in range(200):
        a, b, c = (str(n) for n in rng.choice([*g.names, "nobody"], 3))
        before = dict(g.vertices)
        try:
            edited = any_edit(g, rng.integers(10), f"n{k}", a, b, c)
        except GraphError:
            failed += 1
            assert dict(g.vertices) == before
            continue
        check(edited)
        if edited.outputs and len(edited) > 4:
            g = edited
    assert failed > 10
