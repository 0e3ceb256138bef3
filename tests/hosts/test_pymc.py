"""PyTensor differentiates and batches NumPy functions, and PyMC samples models of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.gradient import Rop, hessian, jacobian
from pytensor.graph.replace import vectorize_graph

import wengert as wg

with warnings.catch_warnings():  # ArviZ tells of its future when it is imported
    warnings.simplefilter("ignore")
    import pymc as pm

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTensor, PyMC and ArviZ have many of their own

RNG = np.random.default_rng(0)
W, X = RNG.normal(size=(3, 4)), RNG.normal(size=4)
SYMBOLS = pt.matrix("w", shape=(3, 4)), pt.vector("x", shape=(4,))


def layer(w: Any, x: Any) -> Any:
    return np.tanh(w @ x) * np.sum(x**2)


def pytensor_layer(w: Any, x: Any) -> Any:
    return pt.tanh(w @ x) * pt.sum(x**2)


OURS = wg.hosts.pymc.function(layer)


def values(outputs: list[Any], inputs: tuple[Any, ...] = SYMBOLS, given: tuple[Any, ...] = (W, X)) -> list[Any]:
    return pytensor.function(list(inputs), outputs, on_unused_input="ignore", mode="FAST_COMPILE")(*given)


DERIVATIVES: dict[str, Callable[[Any], list[Any]]] = {
    "value": lambda y: [y],
    "gradient": lambda y: pytensor.grad((y**3).sum(), list(SYMBOLS)),
    "jacobian": lambda y: [jacobian(y, SYMBOLS[1])],
    "hessian": lambda y: [hessian((y**3).sum(), SYMBOLS[1])],
    "mixed": lambda y: [jacobian(pytensor.grad((y**3).sum(), SYMBOLS[0]).sum(0), SYMBOLS[1])],
    "forward": lambda y: [Rop(y, list(SYMBOLS), list(SYMBOLS))],
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_pytensors_own(name: str) -> None:
    mine, theirs = [values(DERIVATIVES[name](f(*SYMBOLS))) for f in (OURS, pytensor_layer)]
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("is_known", [True, False])
def test_batches(is_known: bool) -> None:
    ws, xs = RNG.normal(size=(5, 1, 3, 4)), RNG.normal(size=(2, 4))
    batched = pt.tensor("ws", shape=ws.shape if is_known else (None, 1, 3, 4)), pt.tensor("xs", shape=xs.shape)
    for of in (lambda y: y, lambda y: pytensor.grad((y**3).sum(), SYMBOLS[0])):
        mine, theirs = [
            values([vectorize_graph(of(f(*SYMBOLS)), dict(zip(SYMBOLS, batched, strict=True)))], batched, (ws, xs))[0]
            for f in (OURS, pytensor_layer)
        ]
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-13)


def test_a_batch_is_one_call(counted_double: Any) -> None:
    double, calls = counted_double
    x = SYMBOLS[1]
    y = vectorize_graph(wg.hosts.pymc.function(double)(x), {x: SYMBOLS[0]})
    values([y], SYMBOLS[:1], (W,))
    assert calls == [2]


def test_trees_settings_and_integers() -> None:
    f = wg.hosts.pymc.function(lambda p, *, n: {"y": np.sin(p["a"]) ** n, "k": (np.arange(3), p["i"] + 1)})
    a, i = pt.vector("a", shape=(3,)), pt.lvector("i")
    found = f({"a": a, "i": pt.specify_shape(i, (3,))}, n=2)
    y, k, gradient = values(
        [found["y"], found["k"][1], pytensor.grad(found["y"].sum(), a)], (a, i), (X[:3], np.arange(3))
    )
    np.testing.assert_allclose(y, np.sin(X[:3]) ** 2)
    np.testing.assert_array_equal(k, np.arange(1, 4))
    np.testing.assert_allclose(gradient, np.sin(2 * X[:3]))


def test_dtypes_stay() -> None:
    x = pt.vector("x", shape=(4,), dtype="float32")
    y = wg.hosts.pymc.function(lambda x: np.exp(x) * x)(x)
    assert y.dtype == "float32" and pytensor.grad(y.sum(), x).dtype == "float32"
    assert values([y], (x,), (X.astype(np.float32),))[0].dtype == np.float32


def test_a_variable_of_unknown_shape_is_refused() -> None:
    with pytest.raises(wg.errors.ShapeError, match=r"layer: the shape of w is not known(.|\n)*pt.specify_shape\(w"):
        OURS(pt.matrix("w"), SYMBOLS[1])


T = np.linspace(0, 1, 20)
DATA = 2 * np.exp(-1.5 * T) + 0.05 * RNG.normal(size=20)


def model(decay: Callable[[Any], Any], is_potential: bool = False) -> Any:
    with pm.Model() as made:
        p, s = pm.Normal("p", 1, 1, shape=2), pm.HalfNormal("s", 1.0)
        if is_potential:
            pm.Potential("y", decay(p, s))
        else:
            pm.Normal("y", pm.Deterministic("mean", decay(p)), s, observed=DATA)
    return made


OF_OURS = model(wg.hosts.pymc.function(lambda p: p[0] * np.exp(-p[1] * T)))
OF_PYTENSOR = model(lambda p: p[0] * pt.exp(-p[1] * T))
OF_A_DENSITY = model(
    wg.hosts.pymc.function(
        lambda p, s: np.sum(-(((DATA - p[0] * np.exp(-p[1] * T)) / s) ** 2) / 2 - np.log(s) - np.log(2 * np.pi) / 2)
    ),
    is_potential=True,
)


@pytest.mark.parametrize("ours", [OF_OURS, OF_A_DENSITY])
def test_densities_and_their_derivatives_are_those_of_pymcs_own_model(ours: Any) -> None:
    point = {name: x + 0.3 for name, x in OF_PYTENSOR.initial_point().items()}
    for compiled in ("compile_logp", "compile_dlogp", "compile_d2logp"):
        np.testing.assert_allclose(
            getattr(ours, compiled)()(point), getattr(OF_PYTENSOR, compiled)()(point), rtol=1e-11
        )


def test_a_model_is_sampled() -> None:
    means = []
    for made in (OF_OURS, OF_PYTENSOR):
        with made:
            trace = pm.sample(200, tune=200, chains=1, cores=1, progressbar=False, random_seed=1)
        means.append(trace.posterior["p"].mean(("chain", "draw")).values)
    np.testing.assert_allclose(*means, atol=0.02)
    np.testing.assert_allclose(means[0], [2, 1.5], atol=0.1)
