"""Optimisers against their formulas, written out for one array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import optimize
from wengert.optimize import schedules

X = np.array([1.0, -2.0, 3.0])
CURVED = np.array([1.0, 10.0, 0.1])


def gradient(x: Any) -> Any:
    return CURVED * x + np.sin(x)


def sgd(momentum: float = 0, nesterov: bool = False) -> Any:
    def steps(x: Any) -> Any:
        v = np.zeros(3)
        while True:
            g = gradient(x)
            v = momentum * v + g
            x = x - 0.1 * (g + momentum * v if nesterov else v)
            yield x

    return steps


def adam(nesterov: bool = False, decay: float = 0) -> Any:
    def steps(x: Any) -> Any:
        m, v, t = np.zeros(3), np.zeros(3), 0
        while True:
            g, t = gradient(x), t + 1
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            mean = m / (1 - 0.9**t)
            if nesterov:
                mean = 0.9 * m / (1 - 0.9 ** (t + 1)) + 0.1 * g / (1 - 0.9**t)
            x = x - 0.1 * (mean / (np.sqrt(v / (1 - 0.999**t)) + 1e-8) + decay * x)
            yield x

    return steps


def lion(x: Any) -> Any:
    m = np.zeros(3)
    while True:
        g = gradient(x)
        x = x - 0.1 * (np.sign(0.9 * m + 0.1 * g) + 0.01 * x)
        m = 0.99 * m + 0.01 * g
        yield x


def rmsprop(momentum: float) -> Any:
    def steps(x: Any) -> Any:
        v, a = np.zeros(3), np.zeros(3)
        while True:
            g = gradient(x)
            v = 0.9 * v + 0.1 * g**2
            a = momentum * a + g / np.sqrt(v + 1e-8)
            x = x - 0.1 * a
            yield x

    return steps


def adagrad(x: Any) -> Any:
    v = np.full(3, 0.1)
    while True:
        g = gradient(x)
        v = v + g**2
        x = x - 0.1 * g / np.sqrt(v + 1e-7)
        yield x


def clipped(x: Any) -> Any:
    while True:
        g = gradient(x)
        x = x - 0.1 * g * min(1, 2 / np.linalg.norm(g))
        yield x


CASES: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "sgd": (optimize.sgd(0.1), sgd()),
    "momentum": (optimize.sgd(0.1, 0.9), sgd(0.9)),
    "nesterov": (optimize.sgd(0.1, 0.9, nesterov=True), sgd(0.9, True)),
    "adam": (optimize.adam(0.1), adam()),
    "nadam": (optimize.adam(0.1, nesterov=True), adam(True)),
    "adamw": (optimize.adamw(0.1, decay=0.02), adam(decay=0.02)),
    "lion": (optimize.lion(0.1, decay=0.01), lion),
    "rmsprop": (optimize.rmsprop(0.1), rmsprop(0)),
    "rmsprop with momentum": (optimize.rmsprop(0.1, momentum=0.5), rmsprop(0.5)),
    "adagrad": (optimize.adagrad(0.1), adagrad),
    "clipped": (optimize.chain(optimize.clip_by_norm(2.0), optimize.sgd(0.1)), clipped),
}


@pytest.mark.parametrize("compiled", [False, True], ids=["called", "compiled"])
@pytest.mark.parametrize("name", CASES)
def test_twenty_steps(name: str, compiled: bool) -> None:
    optimiser, formula = CASES[name]
    params: Any = {"a": X.copy(), "b": [X.copy()]}
    state = optimiser.init(params)

    def one(params: Any, state: Any) -> Any:
        ct = {"a": gradient(params["a"]), "b": [gradient(params["b"][0])]}
        if name == "clipped":  # the norm is that of all of them
            ct["b"][0] = ct["b"][0] * 0
        updates, state = optimiser.update(ct, state, params)
        return optimize.apply(params, updates), state

    run = wg.jit(one) if compiled else one
    for _, expected in zip(range(20), formula(X), strict=False):
        params, state = run(params, state)
        np.testing.assert_allclose(params["a"], expected, rtol=1e-9)
        np.testing.assert_allclose(params["b"][0], X if name == "clipped" else expected, rtol=1e-9)


@pytest.mark.parametrize("name", [*CASES, "lbfgs"])
def test_float32_stays_float32(name: str) -> None:
    optimiser = optimize.lbfgs() if name == "lbfgs" else CASES[name][0]
    params = {"a": X.astype("f")}
    for schedule in (None, schedules.cosine(1.0, 10)):
        chosen = optimiser if schedule is None else optimize.chain(optimiser, optimize.sgd(schedule))
        state = chosen.init(params)
        updates, state = chosen.update({"a": gradient(params["a"]).astype("f")}, state, params)
        assert updates["a"].dtype == np.float32 and optimize.apply(params, updates)["a"].dtype == np.float32
        assert {x.dtype.name for x in leaves(state)} <= {"float32", "int64"}


def leaves(tree: Any) -> list[Any]:
    return [x for v in tree.values() for x in leaves(v)] if isinstance(tree, dict) else [np.asarray(tree)]


def test_lbfgs_finds_the_bottom_of_a_bowl_as_scipy_does() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(8, 5))
    hessian = a.T @ a + np.eye(5)
    x, optimiser = rng.normal(size=5), optimize.lbfgs(memory=6)
    state = optimiser.init(x)
    step = wg.jit(lambda x, state: optimiser.update(hessian @ x, state, x))
    for k in range(40):
        updates, state = step(x, state)
        x = x + (updates if k else 1e-2 * updates)
        if k == 0:
            state["params"] = state["params"]
    assert np.linalg.norm(x) < 1e-6


def test_clipping_by_value_decay_and_masks() -> None:
    g, p = np.array([5.0, -0.5]), np.array([1.0, 1.0])
    clip = optimize.clip_by_value(1.0)
    np.testing.assert_array_equal(clip.update(g, clip.init(p), p)[0], [1, -0.5])
    tree = {"w": p, "b": p}
    decay = optimize.add_decay(0.1, lambda params: {k: k == "w" for k in params})
    found, _ = decay.update({"w": g, "b": g}, {}, tree)
    np.testing.assert_array_equal(found["w"], g + 0.1)
    np.testing.assert_array_equal(found["b"], g)
    chosen = optimize.adamw(0.1, decay=0.5, mask={"w": False, "b": False})
    plain = optimize.adam(0.1)
    first, second = [o.update({"w": g, "b": g}, o.init(tree), tree)[0]["w"] for o in (chosen, plain)]
    np.testing.assert_allclose(first, second)
    clip = optimize.clip_by_norm(1.0)
    np.testing.assert_array_equal(clip.update(0 * g, {}, p)[0], 0)  # no norm to divide by


def test_averages() -> None:
    for decay in (0.5, 1.0):
        optimiser = optimize.averaged(optimize.sgd(0.1), decay)
        x, expected = X, X
        state = optimiser.init(x)
        seen = [X]
        for _ in range(4):
            updates, state = optimiser.update(gradient(x), state, x)
            x = x + updates
            seen.append(x)
            expected = 0.5 * expected + 0.5 * x if decay == 0.5 else np.mean(seen, 0)
            np.testing.assert_allclose(state["average"], expected)


def test_every_so_many_steps() -> None:
    optimiser = optimize.every(3, optimize.sgd(0.1, 0.9))
    plain = optimize.sgd(0.1, 0.9)
    x, y = X.copy(), X.copy()
    state, other = optimiser.init(x), plain.init(y)
    run = wg.jit(optimiser.update)
    for _ in range(3):
        total = np.zeros(3)
        for k in range(3):
            g = gradient(x) + k
            total = total + g
            updates, state = run(g, state, x)
            assert np.any(updates) == (k == 2)
            x = x + updates
        updates, other = plain.update(total / 3, other, y)
        y = y + updates
        np.testing.assert_allclose(x, y)


def test_trees_that_differ() -> None:
    optimiser = optimize.adam(0.1)
    state = optimiser.init({"a": X})
    with pytest.raises(wg.errors.StructureError):
        optimiser.update({"b": X}, state, {"a": X})
    with pytest.raises(wg.errors.StructureError, match="'c'"):
        optimize.apply({"a": X}, {"c": X})
    assert optimize.apply({"a": [X, X]}, {"a": {"1": X}})["a"][0] is X


def test_a_share_that_is_kept_is_no_decay() -> None:
    with pytest.warns(DeprecationWarning, match=r"optimize.rmsprop\(kept=...\)"):
        optimize.rmsprop(0.1, decay=0.5)
    with pytest.warns(DeprecationWarning, match=r"optimize.averaged\(kept=...\)"):
        optimize.averaged(optimize.sgd(0.1), decay=0.5)
