"""Changes of width: what is coupled, what is kept, and what cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.graph.layers import Conv, Linear, Norm
from wengert import graph
from wengert.errors import GraphError, ShapeError, WidthError

X = np.random.default_rng(0).standard_normal((2, 3, 4, 5))


def mlp() -> graph.Graph:
    x = graph.input("x")
    h = graph.vertex(np.tanh, "t")(graph.vertex(Linear(8), "a")(x))
    return graph.Graph([x], [graph.vertex(Linear(2), "b")(h)])


def flat(x: Any) -> Any:
    return np.reshape(x, (x.shape[0], -1))


def cnn() -> graph.Graph:
    """Convolutions with a residual sum, a concatenation, norms, pooling and flattening."""
    x = graph.input("x")
    a = graph.vertex(Norm(), "na")(graph.vertex(Conv(6), "a")(x))
    b = graph.vertex(Conv(6), "b")(np.tanh(a))
    s = a + b
    c = graph.vertex(Conv(4), "c")(s)
    j = graph.concat(s, c, name="j")
    pooled = graph.vertex(lambda x: np.mean(x, axis=3), "pool")(j)
    return graph.Graph(
        [x], [graph.vertex(Linear(3), "head")(graph.vertex(flat, "flat")(graph.vertex(Norm(), "nj")(pooled)))]
    )


def value(g: graph.Graph, params: Any, state: Any, x: Any = X) -> Any:
    return g.apply(params, state, x)[0]


def moved(state: Any) -> Any:
    """A state that is not all zeros and ones."""
    rng = np.random.default_rng(1)
    return {k: {n: (v + rng.random(v.shape)).astype(v.dtype) for n, v in own.items()} for k, own in state.items()}


# ------------------------------------------------------------------------------------------------------ what follows


def test_a_hidden_layer_shrinks_to_its_most_important_features() -> None:
    g, x = mlp(), np.ones((5, 3))
    params, state = g.init(0, x)
    smaller, p, s = g.resize({"a": 5}, params, state, x, importance={"a": [0, 9, 1, 8, 2, 7, 3, 6]})
    assert smaller["a"].part == Linear(5) and smaller["b"].part == Linear(2) and smaller["t"] is g["t"]
    kept = [1, 3, 5, 6, 7]
    np.testing.assert_array_equal(p["a"]["w"], params["a"]["w"][kept])
    np.testing.assert_array_equal(p["b"]["w"], params["b"]["w"][:, kept])
    np.testing.assert_array_equal(p["b"]["b"], params["b"]["b"])
    np.testing.assert_array_equal(
        value(smaller, p, s, x),
        value(g, {**params, **p}, s, x)
        if False
        else np.tanh(x @ p["a"]["w"].T + p["a"]["b"]) @ p["b"]["w"].T + p["b"]["b"],
    )
    assert g["a"].part == Linear(8) and params["a"]["w"].shape == (8, 3)  # whole


def test_features_without_parameters_are_dropped_first() -> None:
    g, x = mlp(), np.ones((5, 3))
    params, state = g.init(0, x)
    params["a"]["w"][[2, 6]] = 0
    _, p, _ = g.resize({"a": 6}, params, state, x)
    np.testing.assert_array_equal(p["a"]["w"], np.delete(params["a"]["w"], [2, 6], axis=0))


@pytest.mark.parametrize("rng", [None, 0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_function_is_the_same_where_widths_grow(rng: Any, dtype: Any) -> None:
    x = X.astype(dtype)
    g = cnn()
    params, state = g.init(0, x)
    state = moved(state)
    for widths in ({"a": 9}, {"c": 7}, {"a": 7, "c": 5}, {"j": 13}, {"flat": 4 * 12}):
        bigger, p, s = g.resize(widths, params, state, x, rng=rng)
        specs = bigger.specs(x, params=p, state=s)
        assert all(specs[name].shape[1] == n for name, n in widths.items())
        assert specs["a"] == specs["b"] and specs["head"].shape == (2, 3)
        assert {leaf.dtype for own in p.values() for leaf in own.values()} == {np.dtype(dtype)}
        np.testing.assert_allclose(
            value(bigger, p, s, x), value(g, params, state, x), rtol=2e-5 if dtype == np.float32 else 1e-12, atol=1e-6
        )
    if rng is not None:
        bigger, p, s = g.resize({"c": 7}, params, state, x, rng=rng)
        assert np.all(p["c"]["w"][4:] != 0)


def test_coupled_widths_change_together_and_features_with_them() -> None:
    """What the sum couples loses the same features, everywhere: as if their channels had been zero."""
    g = cnn()
    params, state = g.init(0, X)
    state = moved(state)
    smaller, p, s = g.resize({"b": 4}, params, state, X)
    assert p["a"]["w"].shape == (4, 3, 1, 1) and p["b"]["w"].shape == (4, 4, 1, 1) and p["na"]["scale"].shape == (4,)
    assert s["na"]["mean"].shape == (4,) and p["c"]["w"].shape == (4, 4, 1, 1) and p["nj"]["scale"].shape == (8,)
    assert p["head"]["w"].shape == (3, 32)
    gone = [k for k in range(6) if not any(np.array_equal(params["a"]["w"][k], row) for row in p["a"]["w"])]
    cut = {name: {k: v.copy() for k, v in own.items()} for name, own in params.items()}
    means = {**state, "na": {**state["na"], "mean": state["na"]["mean"].copy()}}
    for name in ("a", "b"):
        cut[name]["w"][gone], cut[name]["b"][gone] = 0, 0
    means["na"]["mean"][gone] = 0
    cut["head"]["w"].reshape(3, 10, 4)[:, gone] = 0
    np.testing.assert_allclose(value(smaller, p, s), value(g, cut, means), rtol=1e-12)


def test_weights_say_what_should_rather_change() -> None:
    g = cnn()
    params, state = g.init(0, X)
    for weights, (s_width, c_width) in (({"c": 100}, (4, 4)), ({"a": 100, "b": 100}, (6, 2))):
        smaller, p, st = g.resize({"j": 8}, params, state, X, weights=weights)
        specs = smaller.specs(X, params=p, state=st)
        assert (specs["a"].shape[1], specs["c"].shape[1]) == (s_width, c_width)


def test_groups() -> None:
    x = graph.input("x")
    a = graph.vertex(Conv(6), "a")(x)
    b = graph.vertex(Conv(9, groups=3), "b")(a)
    g = graph.Graph([x], [graph.vertex(Conv(2), "c")(b)])
    params, state = g.init(0, X)
    for widths in ({"a": 9}, {"b": 12}, {"a": 12, "b": 15}):
        bigger, p, s = g.resize(widths, params, state, X, rng=0)
        np.testing.assert_allclose(value(bigger, p, s), value(g, params, state), rtol=1e-12)
    smaller, p, s = g.resize({"a": 3, "b": 6}, params, state, X)
    assert p["b"]["w"].shape == (6, 1, 1, 1) and value(smaller, p, s).shape == (2, 2, 4, 5)
    for k in range(3):  # each piece has lost one of its two inputs and one of its three outputs
        piece = params["b"]["w"][3 * k : 3 * k + 3, :, 0, 0]
        assert all(w in piece for w in p["b"]["w"][2 * k : 2 * k + 2, 0, 0, 0])
    with pytest.raises(WidthError, match="a multiple of 3, the groups of 'b'"):
        g.resize({"a": 7}, params, state, X)
    nearest, p, s = g.resize({"a": 7}, params, state, X, nearest=True)
    assert nearest["a"].part.width == 6


def test_depthwise_convolutions_follow() -> None:
    x = graph.input("x")
    a = graph.vertex(Conv(4), "a")(x)
    g = graph.Graph([x], [graph.vertex(Conv(2), "c")(graph.vertex(Conv(8, groups=4), "d")(a))])
    params, state = g.init(0, X)
    bigger, p, s = g.resize({"a": 6}, params, state, X, rng=0)
    assert bigger["d"].part == Conv(12, groups=6)
    np.testing.assert_allclose(value(bigger, p, s), value(g, params, state), rtol=1e-12)
    smaller, p, s = g.resize({"d": 4}, params, state, X)
    assert smaller["a"].part.width == 2 and value(smaller, p, s).shape == (2, 2, 4, 5)


def test_concatenations_that_are_summed() -> None:
    """Features of one term are features of two others: where new ones stand has to fit both."""
    x = graph.input("x")
    a, b = graph.vertex(Conv(3), "a")(x), graph.vertex(Conv(2), "b")(x)
    c = graph.vertex(Conv(5), "c")(x)
    g = graph.Graph([x], [graph.vertex(Conv(2), "end")(graph.concat(a, b) + c)])
    params, state = g.init(0, X)
    for widths in ({"a": 5}, {"b": 4}, {"c": 8}, {"a": 4, "b": 3}):
        bigger, p, s = g.resize(widths, params, state, X, rng=0)
        specs = bigger.specs(X, params=p, state=s)
        assert specs["a"].shape[1] + specs["b"].shape[1] == specs["c"].shape[1]
        np.testing.assert_allclose(value(bigger, p, s), value(g, params, state), rtol=1e-12)
    smaller, p, s = g.resize({"a": 1, "b": 3}, params, state, X)
    assert value(smaller, p, s).shape == (2, 2, 4, 5) and smaller["c"].part.width == 4


def test_a_value_beside_itself() -> None:
    x = graph.input("x")
    a = graph.vertex(Conv(3), "a")(x)
    g = graph.Graph([x], [graph.vertex(Conv(2), "end")(graph.concat(a, np.tanh(a), a, name="j"))])
    params, state = g.init(0, X)
    bigger, p, s = g.resize({"j": 12}, params, state, X, rng=0)
    assert bigger["a"].part.width == 4
    np.testing.assert_allclose(value(bigger, p, s), value(g, params, state), rtol=1e-12)


# ---------------------------------------------------------------------------------------------------- what cannot be


def test_impossible_widths_name_the_couplings_that_conflict() -> None:
    g = cnn()
    params, state = g.init(0, X)
    with pytest.raises(WidthError) as error:
        g.resize({"a": 8, "b": 5}, params, state, X)
    text = str(error.value)
    assert "'a' is to have width 8" in text and "'b' is to have width 5" in text
    assert "'na' is as wide as 'a'" in text and "'c'" not in text and "'head'" not in text
    with pytest.raises(WidthError, match=r"'flat' is 4 times as wide as(.|\n)*|'flat' is to have width 41"):
        g.resize({"flat": 41}, params, state, X)
    with pytest.raises(WidthError, match=r"'x', an input, keeps width 3"):
        g.resize({"x": 4}, params, state, X)
    with pytest.raises(WidthError, match="'a' has at least one feature"):
        g.resize({"a": 0}, params, state, X)


def test_the_nearest_widths() -> None:
    g = cnn()
    params, state = g.init(0, X)
    near, p, s = g.resize({"flat": 41}, params, state, X, nearest=True)
    assert near.specs(X, params=p, state=s)["flat"].shape == (2, 40)
    near, p, s = g.resize({"flat": 43}, params, state, X, nearest=True)
    assert near.specs(X, params=p, state=s)["flat"].shape == (2, 44)


def test_outputs_stay_if_they_are_not_asked_for() -> None:
    x = graph.input("x")
    a = graph.vertex(Conv(3), "a")(x)
    g = graph.Graph([x], [graph.vertex(np.tanh, "y")(a)])
    params, state = g.init(0, X)
    with pytest.raises(WidthError, match=r"'y', an output, keeps width 3"):
        g.resize({"a": 5}, params, state, X)
    assert g.resize({"y": 5}, params, state, X)[0]["a"].part.width == 5
    assert g.returning("a").resize({"a": 5}, params, state, X)[1]["a"]["w"].shape[0] == 5


class Opaque:
    """A layer without a rule."""

    def init(self, rng: Any, x: Any) -> Any:
        return {"w": np.ones(x.shape[1])}, {}

    def apply(self, params: Any, state: Any, x: Any, train: bool = False) -> Any:
        return x * params["w"][:, None, None], state


def test_what_nobody_knows_stays() -> None:
    x = graph.input("x")
    a = graph.vertex(Conv(3), "a")(x)
    g = graph.Graph([x], [graph.vertex(Conv(2), "b")(graph.vertex(Opaque(), "o")(a))])
    params, state = g.init(0, X)
    with pytest.raises(WidthError, match=r"'a', read by 'o', whose part has no rule for widths, keeps width 3"):
        g.resize({"a": 4}, params, state, X)
    sliced = g.replace("o", lambda x: x[:, :3])
    with pytest.raises(WidthError, match="no rule"):
        sliced.resize({"a": 4}, params, state, X)


def test_bad_requests() -> None:
    g, x = mlp(), np.ones((5, 3))
    params, state = g.init(0, x)
    with pytest.raises(GraphError, match="no vertex 'z'"):
        g.resize({"z": 4}, params, state, x)
    with pytest.raises(GraphError, match="no vertex 'z'"):
        g.resize({"a": 4}, params, state, x, weights={"z": 4})
    with pytest.raises(ShapeError, match=r"importance of 'a' has shape (.*); expected \(8,\)"):
        g.resize({"a": 4}, params, state, x, importance={"a": np.ones(3)})


def test_numbers_beside_features() -> None:
    """A value of width 1 that is read beside wider ones stays that."""
    x = graph.input("x")
    a, gate = graph.vertex(Conv(4), "a")(x), graph.vertex(Conv(1), "gate")(x)
    g = graph.Graph([x], [graph.vertex(Conv(2), "b")(a * gate)])
    params, state = g.init(0, X)
    bigger, p, s = g.resize({"a": 6}, params, state, X)
    assert bigger["gate"].part.width == 1
    np.testing.assert_allclose(value(bigger, p, s), value(g, params, state), rtol=1e-12)
    with pytest.raises(WidthError, match="spreads one feature"):
        g.resize({"gate": 2}, params, state, X)


# ---------------------------------------------------------------------------------------------------------- at random


def random_network(rng: np.random.Generator) -> graph.Graph:
    """Convolutions, sums of what is equally wide, concatenations and norms, at random; one convolution at the end."""
    wires = [graph.input("x")]
    width = {wires[0]: 3}
    for k in range(12):
        kind, read = rng.integers(4), wires[rng.integers(len(wires))]
        alike = [w for w in wires if width[w] == width[read]]
        other = alike[rng.integers(len(alike))]
        if kind == 0:
            new, n = graph.vertex(Conv(n := int(rng.integers(2, 6))), f"c{k}")(read), n
        elif kind == 1:
            new, n = graph.vertex(np.add, f"s{k}")(read, other), width[read]
        elif kind == 2:
            new, n = graph.concat(read, other, name=f"j{k}"), 2 * width[read]
        else:
            new, n = graph.vertex(Norm(), f"n{k}")(read), width[read]
        wires.append(new)
        width[new] = n
    return graph.Graph(wires[:1], [graph.vertex(Conv(2), "end")(graph.concat(*wires[1:]))])


@pytest.mark.sampled(9, "random networks, compiled after each change")
@pytest.mark.parametrize("seed", range(8))
def test_random_changes_of_random_networks(seed: int) -> None:
    """Widths that grow leave the function as it is; whatever comes out is a network that runs and has its widths."""
    rng = np.random.default_rng(seed)
    g = random_network(rng)
    params, state = g.init(seed, X)
    state = moved(state)
    done = 0
    for _ in range(12):
        name = str(rng.choice(g.find("[csjn]\\d+")))
        specs = g.specs(X, params=params, state=state)
        n = specs[name].shape[1] + int(rng.integers(-2, 4))
        nearest = bool(rng.integers(2))
        try:
            edited, p, s = g.resize({name: n}, params, state, X, nearest=nearest, rng=rng)
        except WidthError:
            assert not nearest
            continue
        after = edited.specs(X, params=p, state=s)
        assert nearest or after[name].shape[1] == n
        found = value(edited, p, s)
        if all(np.isin(params[k]["b"], p[k]["b"]).all() for k in params if "b" in params[k]):  # nothing is dropped
            np.testing.assert_allclose(found, value(g, params, state), rtol=1e-10, atol=1e-10)
        g, params, state, done = edited, p, s, done + 1
    assert done > 3
    wg.grad(lambda p: np.sum(value(g, p, state)))(params)


@pytest.mark.parametrize("seed", range(3))
def test_200_random_edits_of_a_network_that_must_preserve_its_outputs(seed: int) -> None:
    """Vertices that do nothing come and go, others are copied and renamed, widths grow; parameters go along."""
    rng = np.random.default_rng(seed)
    g = cnn()
    params, state = g.init(seed, X)
    state = moved(state)
    expected = value(g, params, state)
    grown = 0
    for k in range(200):
        kind, name = rng.integers(5), str(rng.choice([n for n in g.names if n not in g.inputs]))
        before = g, dict(params)
        if kind == 0:
            g = g.insert(f"i{k}", np.positive, after=name)
        elif kind == 1:
            g = g.insert(f"i{k}", np.positive, between=(g[name].inputs[0], name))
        elif kind == 2 and g.find(part=np.positive):
            g = g.remove(str(rng.choice(g.find(part=np.positive))))
        elif kind == 3:
            g = g.rename({name: f"r{k}"})
            params, state = ({f"r{k}" if n == name else n: own for n, own in tree.items()} for tree in (params, state))
        elif kind == 4 and grown < 12 and name not in g.outputs:
            n = g.specs(X, params=params, state=state)[name].shape[1]
            try:
                g, params, state = g.resize({name: n + int(rng.integers(1, 3))}, params, state, X, rng=rng)
                grown += 1
            except WidthError:
                assert g is before[0] and list(params) == list(before[1])
        np.testing.assert_allclose(value(g, params, state), expected, rtol=1e-9, atol=1e-9)
    assert grown > 3
