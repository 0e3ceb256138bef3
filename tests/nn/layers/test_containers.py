"""Layers of layers: names, states, shapes that do not fit, parameters of another model, and that they cost nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 3)).astype("f")


def steps_of(f: Any, *args: Any) -> list[Any]:
    return [(i.op.name, dict(i.params)) for i in wg.trace(f)(*args).instrs]


def test_a_chain_is_its_parts_one_after_the_other() -> None:
    """It also gives the tape of the plain function."""
    model = nn.Chain(nn.Dense(5, np.tanh), nn.relu, nn.Dense(2))
    params, state = model.init(0, X)
    assert state == {} and list(nn.paths(params)) == ["layers.0.w", "layers.0.b", "layers.2.w", "layers.2.b"]

    def plain(params: Any, x: Any) -> Any:
        first, last = params["layers"]["0"], params["layers"]["2"]
        return nn.relu(np.tanh(x @ first["w"].T + first["b"])) @ last["w"].T + last["b"]

    y, _ = model.apply(params, {}, X)
    np.testing.assert_array_equal(y, plain(params, X))
    loss = lambda f: lambda params, x: np.sum(f(params, x) ** 2)
    chained = lambda params, x: model.apply(params, {}, x)[0]
    assert steps_of(wg.grad(loss(chained)), params, X) == steps_of(wg.grad(loss(plain)), params, X)


def test_the_steps_of_a_layer_do_not_depend_on_how_many_there_are() -> None:
    def steps(depth: int) -> int:
        model = nn.Chain(*[nn.Dense(3, np.tanh) for _ in range(depth)])
        params, state = model.init(0, X)
        return len(wg.trace(wg.grad(lambda p: np.sum(model.apply(p, state, X)[0])))(params).instrs)

    few, some, many = steps(10), steps(20), steps(200)
    assert many - some == 18 * (some - few)


def test_parts_by_name_by_number_and_slices() -> None:
    model = nn.Chain(hidden=nn.Dense(5, np.tanh), out=nn.Dense(2))
    params, _ = model.init(0, X)
    assert list(nn.paths(params)) == ["layers.hidden.w", "layers.hidden.b", "layers.out.w", "layers.out.b"]
    assert model["out"] == nn.Dense(2) and model[1] == model["out"] and len(model) == 2
    assert repr(model) == "Chain(hidden=Dense(5, activation=tanh), out=Dense(2))"
    assert nn.Chain(np.sin, np.cos, np.tan)[1:] == nn.Chain(np.cos, np.tan)
    assert hash(nn.Chain(np.sin)) == hash(nn.Chain(np.sin)) and nn.Chain(np.sin) != nn.Chain(np.cos)
    with pytest.raises(wg.errors.StructureError, match="all parts have names, or none"):
        nn.Chain(np.sin, out=np.cos)
    with pytest.raises(wg.errors.StructureError, match="is no layer"):
        nn.Chain(3)


def test_shapes_alone_are_enough_and_seeds_are_generators() -> None:
    model = nn.Chain(nn.Conv((3, 3), 4, nn.relu), nn.max_pool(2), nn.flatten, nn.Dense(10))
    params, _ = model.init(7, wg.spec((32, 1, 8, 8), "float32"))
    again, _ = model.init(np.random.default_rng(7), np.zeros((1, 1, 8, 8), "f"))
    for path, x in nn.paths(params).items():
        np.testing.assert_array_equal(x, nn.paths(again)[path])
        assert x.dtype == np.float32
    assert params["layers"]["3"]["w"].shape == (10, 36)
    wide, _ = model.init(7, wg.spec((1, 1, 8, 8), "float32"), dtype="float64")
    assert {x.dtype.name for x in nn.paths(wide).values()} == {"float64"}


def test_state_goes_in_and_comes_out() -> None:
    model = nn.Chain(nn.Dense(4), nn.BatchNorm(), nn.Dropout(0.5), nn.relu)
    params, state = model.init(0, X)
    assert sorted(nn.paths(state)) == ["layers.1.mean", "layers.1.var", "layers.2.key"]
    before = {k: v.copy() for k, v in nn.paths(state).items()}
    step = wg.jit(lambda p, s, x: model.apply(p, s, x, train=True))
    y, new = step(params, state, X)
    assert sorted(nn.paths(new)) == sorted(before) and y.shape == (4, 4)
    for path, x in nn.paths(state).items():
        np.testing.assert_array_equal(x, before[path])
        assert np.any(nn.paths(new)[path] != x)
    plain, same = model.apply(params, state, X, train=True)
    np.testing.assert_allclose(plain, y, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(nn.paths(same)["layers.2.key"], nn.paths(new)["layers.2.key"])
    z, kept = model.apply(params, new, X)
    assert all(np.array_equal(a, nn.paths(new)[k]) for k, a in nn.paths(kept).items())
    assert np.all(np.isfinite(z))


def test_branches() -> None:
    model = nn.Branch(nn.Dense(2), np.sin, combine=lambda a, b: np.concatenate([a, b], -1))
    params, state = model.init(0, X)
    y, _ = model.apply(params, state, X)
    np.testing.assert_array_equal(y[:, 2:], np.sin(X))
    assert nn.paths(params).keys() == {"layers.0.w", "layers.0.b"}
    both = nn.Chain(nn.Branch(np.sin, np.cos), nn.Parallel(np.square, np.negative, combine=np.add))
    np.testing.assert_array_equal(both.apply({}, {}, X)[0], np.sin(X) ** 2 - np.cos(X))
    np.testing.assert_array_equal(nn.Maxout(np.sin, np.cos).apply({}, {}, X)[0], np.maximum(np.sin(X), np.cos(X)))
    with pytest.raises(wg.errors.StructureError, match="1 inputs for 2 parts"):
        nn.Parallel(np.sin, np.cos).apply({}, {}, X)


def test_skip_connections_and_repeats() -> None:
    skip = nn.SkipConnection(nn.Dense(3, np.tanh))
    params, state = skip.init(0, X)
    inner = params["layer"]
    np.testing.assert_array_equal(skip.apply(params, state, X)[0], np.tanh(X @ inner["w"].T + inner["b"]) + X)
    own, shared = nn.Repeat(nn.Dense(3), 3), nn.Repeat(nn.Dense(3), 3, shared=True)
    p, _ = own.init(0, X)
    q, _ = shared.init(0, X)
    assert nn.count(p) == 3 * nn.count(q) == 36
    y = X
    for _ in range(3):
        y = y @ q["layer"]["w"].T + q["layer"]["b"]
    np.testing.assert_allclose(shared.apply(q, {}, X)[0], y, rtol=1e-6)
    wg.check_derivatives(lambda q: shared.apply(q, {}, X.astype(float))[0], q_of(q))
    assert own.apply(p, {}, X)[0].shape == X.shape


def q_of(params: Any) -> Any:
    return {"layer": {k: v.astype(float) for k, v in params["layer"].items()}}


def test_compact() -> None:
    @nn.compact
    def block(part: Any, x: Any) -> Any:
        h = part("hidden", nn.Dense(8, np.tanh), x)
        h = part("drop", nn.Dropout(0.5), h)
        return x * part.param("gain", (), "ones") + part("inner", inner, h)

    @nn.compact
    def inner(part: Any, h: Any) -> Any:
        return part("out", nn.Dense(3), h)

    params, state = block.init(0, X)
    assert sorted(nn.paths(params)) == ["gain", "hidden.b", "hidden.w", "inner.out.b", "inner.out.w"]
    y, new = block.apply(params, state, X, train=True)
    assert y.shape == X.shape and new["drop"]["key"] != state["drop"]["key"]
    chain = nn.Chain(block, block)
    assert "layers.1.inner.out.w" in nn.paths(chain.init(0, X)[0])

    @nn.compact
    def twice(part: Any, x: Any) -> Any:
        return part("a", nn.Dense(3), part("a", nn.Dense(3), x))

    with pytest.raises(wg.errors.StructureError, match="two parts are called 'a'"):
        twice.init(0, X)


def test_an_error_says_which_layer_and_both_shapes() -> None:
    model = nn.Chain(nn.Dense(5), nn.Chain(nn.relu, nn.Dense(2)))
    params, state = model.init(0, X)
    with pytest.raises(
        wg.errors.ShapeError, match=r"layers\.0 Dense\(5\) of float32\[4, 7\].*\(4, 7\) with w \(5, 3\)"
    ):
        model.apply(params, state, np.zeros((4, 7), "f"))
    params["layers"]["1"]["layers"]["1"]["w"] = np.zeros((2, 9), "f")
    with pytest.raises(wg.errors.ShapeError, match=r"layers\.1\.layers\.1 Dense\(2\) of float32\[4, 5\]"):
        wg.jit(lambda p: model.apply(p, state, X))(params)
    with pytest.raises(wg.errors.ShapeError, match=r"layers\.1 Conv"):
        nn.Chain(nn.relu, nn.Conv(3, 4)).init(0, X)
    with pytest.raises(ValueError) as broken:  # not of ours: the part is in a note
        nn.Chain(np.sin, lambda x: x.reshape(5)).apply({}, {}, X)
    assert "in the part" in "".join(broken.value.__notes__)


def test_parameters_of_another_model() -> None:
    model, other = nn.Chain(nn.Dense(5), nn.relu, nn.Dense(2)), nn.Chain(nn.Dense(5), nn.Dense(2))
    params, _ = other.init(0, X)
    with pytest.raises(wg.errors.StructureError, match=r"layers\.2 Dense\(2\).*params has no 'w'"):
        model.apply({"layers": {"0": params["layers"]["0"]}}, {}, X)
    with pytest.raises(wg.errors.StructureError, match="params has '7', and there is no such part"):
        model.apply({"layers": {**params["layers"], "7": {}}}, {}, X)
    with pytest.raises(wg.errors.StructureError, match="'more'"):
        model.apply({**params, "more": {}}, {}, X)


def test_float32_stays_float32() -> None:
    """There is no float64 array on the tape of value, gradient and new state."""
    model = nn.Chain(
        nn.Dense(8, nn.gelu), nn.LayerNorm(), nn.Dropout(0.1), nn.SkipConnection(nn.Dense(8, nn.swish)),
        nn.BatchNorm(), nn.Dense(3),
    )  # fmt: skip
    params, state = model.init(0, X)

    def loss(params: Any) -> Any:
        y, new = model.apply(params, state, X, train=True)
        return nn.cross_entropy(y, np.array([0, 1, 2, 0])), new

    tape = wg.trace(wg.value_and_grad(loss, has_aux=True))(params)
    assert {v.aval.dtype.name for i in tape.instrs for v in i.outs if v.aval.shape} <= {
        "float32",
        "bool",
        "int64",
        "uint64",
    }


def test_a_mixed_input_is_said_once_with_the_layer_that_promoted() -> None:
    model = nn.Chain(nn.relu, nn.Chain(nn.Dense(4), nn.Dense(4)), nn.Dense(2))
    params, _ = model.init(0, X)
    apply = lambda x: model.apply(params, {}, x)[0]
    mixed = r"layers\.1 Chain.*input is float64, the parameters are float32"
    for call in (apply, wg.jit(apply)):
        with pytest.warns(wg.PerformanceWarning, match=mixed) as said:
            call(X.astype(float))
        assert len(said) == 1 and said[0].filename == __file__
    wide, _ = model.init(0, X, dtype="float64")
    with pytest.warns(wg.PerformanceWarning, match="input is float32, the parameters are float64") as said:
        model.apply(wide, {}, X)
    assert len(said) == 1
