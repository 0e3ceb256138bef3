"""Arrays that are computed again, rather than kept for the way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.passes import PIPELINE, run
from wengert.passes.recompute import recompute
from wengert.passes.schedule import schedule
from wengert.tape import Tape

N = 256
RNG = np.random.default_rng(0)
KEPT: dict[str, tuple[Callable[[Any], Any], int]] = {
    "identity": (nn.identity, 1),
    "tanh": (nn.tanh, 1),
    "relu": (nn.relu, 1),
    "np.maximum": (lambda x: np.maximum(x, 0), 1),
    "leaky_relu": (nn.leaky_relu, 1),
    "sigmoid": (nn.sigmoid, 1),
    "elu": (nn.elu, 1),
    "celu": (nn.celu, 1),
    "selu": (nn.selu, 1),
    "gelu": (nn.gelu, 1),
    "swish": (nn.swish, 1),
    "mish": (nn.mish, 1),
    "softplus": (nn.softplus, 2),
}


def network(act: Callable[[Any], Any], depth: int) -> tuple[Callable[[Any], Any], list[Any]]:
    """A loss of the weights of dense layers as wide as the batch is long, and weights."""
    x = RNG.normal(size=(N, N)).astype("f")
    layers = [(RNG.normal(size=(N, N)).astype("f") / 20, RNG.normal(size=N).astype("f")) for _ in range(depth)]

    def loss(layers: Any) -> Any:
        h = x
        for w, b in layers:
            h = act(h @ w.T + b)
        return np.sum(h * h)

    return loss, layers


def arrays(act: Callable[[Any], Any], depth: int) -> float:
    """In the arena of the gradient, counted as large as a layer's."""
    loss, layers = network(act, depth)
    return wg.jit(wg.grad(loss)).program(layers).arena_bytes / (4 * N * N)


@pytest.mark.machine_code("the bytes of a planned arena are compared")
@pytest.mark.sampled(3, "a tenth of a second each")
@pytest.mark.parametrize("name", KEPT)
def test_arrays_that_are_kept_a_layer(name: str) -> None:
    act, kept = KEPT[name]
    assert round((arrays(act, 6) - arrays(act, 3)) / 3, 1) == kept


@pytest.mark.machine_code("the bytes of a planned arena are compared")
@pytest.mark.sampled(3, "half a second each")
@pytest.mark.parametrize("name", ["tanh", "relu", "sigmoid", "elu", "gelu"])
def test_arrays_that_are_kept_of_a_hundred_layers(name: str) -> None:
    act, kept = KEPT[name]
    assert round(arrays(act, 100) / 100, 1) == kept


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("name", KEPT)
def test_gradients_are_those_of_the_reference(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    act, _ = KEPT[name]
    loss, layers = network(act, 4)
    with monkeypatch.context() as patch:
        patch.setattr(wg.config, "native", False)
        want = wg.grad(loss)(layers)
    for found, expected in zip(wg.jit(wg.grad(loss))(layers), want, strict=True):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4 * np.abs(b).max())


def steps(f: Callable[..., Any], *args: Any) -> tuple[Tape, Tape]:
    """The tape of a gradient on its way to kernels, before and behind the pass."""
    tape = schedule(run(wg.trace(wg.grad(f))(*args), PIPELINE))
    return tape, recompute(tape, lambda *_: True)


def test_a_sigmoid_is_made_again_of_what_its_derivative_reads() -> None:
    loss, layers = network(nn.sigmoid, 3)
    before, after = steps(loss, layers)
    count = lambda tape: [i.op.name for i in tape.instrs].count("expit")
    assert count(after) > count(before)
    again = [k for k, i in enumerate(after.instrs) if i.op.name == "expit" and i not in before.instrs]
    assert all("contract" in [i.op.name for i in after.instrs[k : k + 3]] for k in again)


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(lambda w, x: np.sum(np.tanh(x @ w) @ w), id="one layer: nothing far away reads it"),
        pytest.param(lambda w, x: np.sum(np.sin(np.sin(np.sin(x * w)))), id="no product reads it"),
        pytest.param(lambda w, x: np.sum(nn.sigmoid(nn.sigmoid(x[:9] @ w) @ w) @ w), id="small arrays"),
    ],
)
def test_what_is_kept_as_it_is(f: Callable[..., Any]) -> None:
    w, x = RNG.normal(size=(2, N, N)).astype("f")
    before, after = steps(f, w, x)
    assert after is before


@pytest.mark.needs_extension("what draws from a generator is traced at every call")
def test_what_the_user_gets_is_there_anyway() -> None:
    def hidden(layers: Any) -> Any:
        found = [RNG.normal(size=(N, N)).astype("f")]
        for w, b in layers:
            found.append(nn.sigmoid(found[-1] @ w.T + b))
        return np.sum(found[-1] ** 2), found

    tape = schedule(run(wg.trace(wg.grad(hidden, has_aux=True))(network(nn.sigmoid, 3)[1]), PIPELINE))
    assert recompute(tape, lambda *_: True) is tape


def test_functions_without_machine_code_are_not_called_twice() -> None:
    loss, layers = network(nn.sigmoid, 3)
    tape = schedule(run(wg.trace(wg.grad(loss))(layers), PIPELINE))
    assert recompute(tape, lambda function, *_: function != "expit") is tape
