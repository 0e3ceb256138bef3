"""Parameters as a whole: paths, freezing, one vector, gradients that add up in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn

X = np.random.default_rng(0).normal(size=(6, 4)).astype("f")
MODEL = nn.Chain(nn.Dense(5, np.tanh), nn.Dense(5, np.tanh), nn.Dense(3))
PARAMS, STATE = MODEL.init(0, X)


def loss(params: Any, x: Any = X) -> Any:
    return np.sum(MODEL.apply(params, STATE, x)[0] ** 2)


def test_paths_and_count() -> None:
    tree = {"a": [np.ones(2), (np.ones(3), None)], "b": {"c": np.ones((2, 2))}}
    assert list(nn.paths(tree)) == ["a.0", "a.1.0", "b.c"] and nn.count(tree) == 9


def test_two_arrays_with_one_path_are_refused_and_counted() -> None:
    tree = {"a.b": np.ones(2), "a": {"b": np.ones(3)}}
    with pytest.raises(wg.errors.StructureError, match=r"two arrays have the path 'a\.b'(.|\n)*'a', 'b'"):
        nn.paths(tree)
    assert nn.count(tree) == 5


def test_functions_of_leaves_are_called_in_the_order_of_the_dicts() -> None:
    order = iter(range(3))
    assert nn.mapped(lambda x: next(order), {"w": 0, "b": [0, None], "a": 0}) == {"w": 0, "b": [1, None], "a": 2}
    assert nn.mapped(lambda x, y: y, {"w": 0}, {"more": 1, "w": 2}) == {"w": 2}


def test_what_is_frozen_has_no_cotangent() -> None:
    """There is none on the tape either."""
    whole = wg.grad(loss)(PARAMS)
    last = wg.grad(loss, wrt=nn.trainable(PARAMS, "layers.2.*"))(PARAMS)
    assert list(nn.paths(last)) == ["layers.2.w", "layers.2.b"]
    for path, x in nn.paths(last).items():
        np.testing.assert_allclose(x, nn.paths(whole)[path], rtol=1e-6)
    contractions = lambda f: sum(i.op.name == "contract" for i in wg.trace(f)(PARAMS).instrs)
    assert (
        contractions(wg.grad(loss)) == 3 + 5
        and contractions(wg.grad(loss, wrt=nn.trainable(PARAMS, "layers.2.*"))) == 3 + 1
    )
    rest = wg.grad(loss, wrt=nn.trainable(PARAMS, frozen="*.w"))(PARAMS)
    assert list(nn.paths(rest)) == ["layers.0.b", "layers.1.b", "layers.2.b"]


def test_a_pattern_that_matches_nothing() -> None:
    with pytest.raises(wg.errors.StructureError, match=r"no parameter matches 'layer\.2\.\*'") as error:
        nn.trainable(PARAMS, "layer.2.*")
    assert "layers.2" in str(error.value)
    with pytest.raises(wg.errors.StructureError, match="matches"):
        nn.trainable(PARAMS, frozen="nothing")
    with pytest.raises(wg.errors.StructureError, match="all of the parameters are frozen"):
        nn.trainable(PARAMS, "layers.0.*", frozen="layers.*")


def test_one_vector() -> None:
    """The tree's arrays are parts of it, and so are a gradient's."""
    vector, tree = nn.flat(PARAMS)
    assert vector.size == nn.count(PARAMS) and vector.dtype == np.float32
    assert all(np.shares_memory(x, vector) for x in nn.paths(tree).values())
    vector *= 2
    np.testing.assert_array_equal(tree["layers"]["1"]["w"], 2 * PARAMS["layers"]["1"]["w"])
    room, view = nn.flat(PARAMS)
    gradient = wg.jit(wg.grad(loss))
    for _ in range(2):
        assert gradient(PARAMS, out=view) is view
        np.testing.assert_allclose(room, np.concatenate([x.ravel() for x in nn.paths(gradient(PARAMS)).values()]))
    with pytest.raises(wg.errors.DTypeError, match="float32, float64"):
        nn.flat({"a": np.ones(2, "f"), "b": np.ones(2)})
    assert nn.flat({})[0].size == 0


@pytest.mark.machine_code("without it nothing is given away")
def test_gradients_of_micro_batches_add_up_in_one_buffer() -> None:
    add = nn.accumulate(wg.grad(loss))
    room, total = nn.flat(PARAMS)
    room[:] = 0
    for part in np.split(X, 3):
        result = add(total, PARAMS, part)
        assert all(a is b for a, b in zip(nn.paths(result).values(), nn.paths(total).values(), strict=True))
    whole = np.concatenate([x.ravel() for x in nn.paths(wg.grad(loss)(PARAMS)).values()])
    np.testing.assert_allclose(room, whole, rtol=1e-4, atol=1e-5)
