"""Weights by PyTorch's names. That the outputs are the same is in ``test_against_torch_exchange.py``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.comparisons import same
from wengert import nn
from wengert.errors import ShapeError, StructureError


def model() -> tuple[Any, Any]:
    """A convolution, a norm and two dense layers, of which one stands in a part of its own."""
    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    params = {
        "layers": {
            "0": {"w": draw(4, 1, 3, 3), "b": draw(4)},
            "1": {"scale": draw(4), "bias": draw(4)},
            "4": {"layers": {"0": {"w": draw(5, 4), "b": draw(5)}, "out": {"w": draw(2, 5)}}},
        }
    }
    return params, {"layers": {"1": {"mean": draw(4), "var": draw(4)}, "3": {"key": np.array(1, np.uint64)}}}


NAMES = [
    "0.weight", "0.bias",
    "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked",
    "4.0.weight", "4.0.bias", "4.out.weight",
]  # fmt: skip


def test_names_are_paths_without_layers() -> None:
    assert list(nn.to_torch(*model())) == NAMES


def test_names_that_are_said() -> None:
    names = {"layers.0": "features.conv", "layers.4": "head", "layers.4.layers.out": "last"}
    assert [name for name in nn.to_torch(*model(), names) if not name.startswith("1.run")] == [
        "features.conv.weight", "features.conv.bias", "1.weight", "1.bias", "1.num_batches_tracked",
        "head.0.weight", "head.0.bias", "last.weight",
    ]  # fmt: skip


@pytest.mark.parametrize("names", [None, {"layers": "net"}, {"layers.1": "norm", "layers.4": "head"}])
def test_there_and_back(names: Any) -> None:
    params, state = model()
    blank = [{**tree, "layers": _zeros(tree["layers"])} for tree in (params, state)]
    back = nn.from_torch(*blank, nn.to_torch(params, state, names), names)
    state["layers"]["3"]["key"] *= 0  # which is not exchanged
    same(back, (params, state), 0)
    assert not blank[0]["layers"]["0"]["w"].any()


def _zeros(tree: Any) -> Any:
    return {k: _zeros(v) for k, v in tree.items()} if isinstance(tree, dict) else np.zeros_like(tree)


def test_queries_keys_and_values_are_one() -> None:
    rng = np.random.default_rng(0)
    params = {key: {"w": rng.standard_normal((4, 4)), "b": rng.standard_normal(4)} for key in ("q", "k", "v", "out")}
    theirs = nn.to_torch({"a": params}, {})
    assert {name: array.shape for name, array in theirs.items()} == {
        "a.in_proj_weight": (12, 4), "a.out_proj.weight": (4, 4), "a.in_proj_bias": (12,), "a.out_proj.bias": (4,),
    }  # fmt: skip
    assert np.array_equal(theirs["a.in_proj_bias"][4:8], params["k"]["b"])
    same(nn.from_torch({"a": _zeros(params)}, {}, theirs), ({"a": params}, {}), 0)


@pytest.mark.parametrize("gates", [1, 3, 4])
def test_two_biases_are_one(gates: int) -> None:
    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.standard_normal(shape)
    cell = lambda: {"w": draw(2 * gates, 3), "u": draw(2 * gates, 2), "b": draw(2 * gates)}
    more = lambda: {"c": draw(2)} if gates == 3 else {}
    params = {"rnn": {"layers": {"0": {**cell(), **more()}, "0 reversed": {**cell(), **more()}}}}
    theirs = nn.to_torch(params, {})
    assert list(theirs) == [
        f"rnn.{name}_l0{end}" for end in ("", "_reverse") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    ]
    same(nn.from_torch(_zeros(params), {}, theirs), (params, {}), 0)
    theirs["rnn.bias_hh_l0"] += 1
    changed, _ = nn.from_torch(_zeros(params), {}, theirs)
    old, new = params["rnn"]["layers"]["0"], changed["rnn"]["layers"]["0"]
    same(new["b"], old["b"] + ([1, 1, 1, 1, 0, 0] if gates == 3 else 1))
    if gates == 3:
        same(new["c"], old["c"] + 1)


def test_a_single_layer() -> None:
    params = {"w": np.ones((1, 2)), "b": np.zeros(1)}
    assert list(nn.to_torch(params, {})) == ["weight", "bias"]
    assert list(nn.to_torch(params, {}, {"": "fc"})) == ["fc.weight", "fc.bias"]


def test_the_whole_below_another_name() -> None:
    assert next(iter(nn.to_torch(*model(), {"": "net"}))) == "net.0.weight"


def test_copies_of_our_dtype() -> None:
    theirs = {"weight": np.ones((1, 2)), "bias": np.ones(1)}
    params, _ = nn.from_torch({"w": np.zeros((1, 2), np.float32), "b": np.zeros(1, np.float32)}, {}, theirs)
    assert params["w"].dtype == np.float32 and not np.shares_memory(params["w"], theirs["weight"])
    exported = nn.to_torch(params, {})
    exported["weight"][:] = 7
    assert params["w"].tolist() == [[1, 1]]


def test_names_that_are_missing_and_too_many() -> None:
    params, state = model()
    theirs = nn.to_torch(params, state)
    theirs["fc.weight"] = theirs.pop("4.0.weight")
    with pytest.raises(StructureError) as raised:
        nn.from_torch(params, state, theirs)
    text = str(raised.value)
    assert "miss   4.0.weight" in text and "extra  fc.weight" in text
    assert "names={'layers.4.layers.0': " in text


def test_another_shape() -> None:
    params, state = model()
    theirs = {**nn.to_torch(params, state), "0.bias": np.zeros(5)}
    with pytest.raises(ShapeError, match=r"0.bias is float64\[5\]; the model has float32\[4\]"):
        nn.from_torch(params, state, theirs)


def test_names_of_nothing() -> None:
    with pytest.raises(StructureError, match=r"no parameters at layers\.2"):
        nn.to_torch(*model(), {"layers.2": "x"})


def test_two_of_one_name() -> None:
    with pytest.raises(StructureError, match=r"would both be x\.weight: one at layers\.4\.layers\.0"):
        nn.to_torch(*model(), {"layers.0": "x", "layers.4.layers.0": "x"})


def test_what_pytorch_has_no_name_for() -> None:
    with pytest.raises(StructureError, match=r"no name for layers\.0\.strange"):
        nn.to_torch({"layers": {"0": {"strange": np.ones(1)}}}, {})
