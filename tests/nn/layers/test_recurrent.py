"""Recurrent layers against loops over samples, times and directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import wengert as wg
from wengert import nn

X = np.random.default_rng(0).normal(size=(3, 5, 4))


def rnn(p: Any, x: Any, h: Any) -> Any:
    return (np.tanh(p["w"] @ x + p["u"] @ h[0] + p["b"]),)


def lstm(p: Any, x: Any, carry: Any) -> Any:
    i, f, g, o = np.split(p["w"] @ x + p["u"] @ carry[0] + p["b"], 4)
    c = expit(f) * carry[1] + expit(i) * np.tanh(g)
    return expit(o) * np.tanh(c), c


def gru(p: Any, x: Any, carry: Any) -> Any:
    (h,) = carry
    (wr, wz, wn), (ur, uz, un), (br, bz, bn) = [np.split(p[k], 3) for k in "wub"]
    r, z = expit(wr @ x + ur @ h + br), expit(wz @ x + uz @ h + bz)
    return ((1 - z) * np.tanh(wn @ x + bn + r * (un @ h + p["c"])) + z * h,)


CELLS: dict[str, tuple[Any, Any, int]] = {"RNN": (nn.RNN, rnn, 1), "LSTM": (nn.LSTM, lstm, 2), "GRU": (nn.GRU, gru, 1)}


def by_hand(step: Any, n_carried: int, params: Any, x: Any, layers: int, ways: list[str]) -> Any:
    out = []
    for sample in x:
        sequence = list(sample)
        for k in range(layers):
            found = []
            for way in ways:
                p, order = params["layers"][f"{k}{way}"], sequence[::-1] if way else sequence
                carry, ys = tuple([np.zeros(p["u"].shape[1])] * n_carried), []
                for v in order:
                    carry = step(p, v, carry)
                    ys.append(carry[0])
                found.append(ys[::-1] if way else ys)
            sequence = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        out.append(sequence)
    return np.array(out)


@pytest.mark.sampled(15, "each cell in four arrangements is compiled")
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("name", CELLS)
def test_over_a_sequence(name: str, layers: int, bidirectional: bool) -> None:
    make, step, n_carried = CELLS[name]
    layer = make(3, layers, bidirectional)
    params, state = layer.init(0, X, dtype="float64")
    y, _ = layer.apply(params, state, X)
    ways = ["", " reversed"] if bidirectional else [""]
    np.testing.assert_allclose(y, by_hand(step, n_carried, params, X, layers, ways))
    fast = wg.jit(lambda p, x: layer.apply(p, {}, x)[0])
    np.testing.assert_allclose(fast(params, X), y, rtol=1e-12, atol=1e-14)
    if layers == 1:
        wg.check_derivatives(lambda p, x: layer.apply(p, {}, x)[0], params, X[:2, :3])


@pytest.mark.parametrize("name", CELLS)
def test_a_carry_goes_on_where_it_ended(name: str) -> None:
    layer = CELLS[name][0](3, 2)
    params, _ = layer.init(0, X, dtype="float64")
    whole, _ = layer.apply(params, {}, X)
    zeros = np.zeros((3, 3))
    begin = tuple([(zeros, zeros) if name == "LSTM" else zeros] * 2)
    (first, carry), _ = layer.apply(params, {}, X[:, :2], begin)
    (second, _), _ = layer.apply(params, {}, X[:, 2:], carry)
    np.testing.assert_allclose(np.concatenate([first, second], 1), whole)
    with pytest.raises(wg.errors.StructureError, match="expected 2"):
        layer.apply(params, {}, X, carry[:1])


def test_float32_and_wrong_shapes() -> None:
    layer = nn.LSTM(3)
    params, _ = layer.init(0, X)
    assert layer.apply(params, {}, X.astype("f"))[0].dtype == np.float32
    with pytest.raises(wg.errors.ShapeError, match="batch, time, features"):
        layer.init(0, X[0])
