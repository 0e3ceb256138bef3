"""Optimisers against Optax's, where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert import optimize

pytest.importorskip("jax")
optax = pytest.importorskip("optax")

CASES: dict[str, tuple[Any, Any]] = {
    "sgd": (optimize.sgd(0.1), optax.sgd(0.1)),
    "momentum": (optimize.sgd(0.1, 0.9), optax.sgd(0.1, 0.9)),
    "nesterov": (optimize.sgd(0.1, 0.9, nesterov=True), optax.sgd(0.1, 0.9, nesterov=True)),
    "adam": (optimize.adam(0.1), optax.adam(0.1)),
    "nadam": (optimize.adam(0.1, nesterov=True), optax.nadam(0.1)),
    "adamw": (optimize.adamw(0.1, decay=0.02), optax.adamw(0.1, weight_decay=0.02)),
    "lion": (optimize.lion(0.1), optax.lion(0.1, weight_decay=0.0)),
    "rmsprop": (optimize.rmsprop(0.1), optax.rmsprop(0.1)),
    "adagrad": (optimize.adagrad(0.1), optax.adagrad(0.1)),
    "clip": (
        optimize.chain(optimize.clip_by_norm(0.5), optimize.sgd(1.0)),
        optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(1.0)),
    ),
    "cosine": (
        optimize.sgd(optimize.schedules.cosine(0.1, 10)),
        optax.sgd(optax.cosine_decay_schedule(0.1, 10)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_fifteen_steps(name: str) -> None:
    ours, theirs = CASES[name]
    x = {"a": np.array([1.0, -2.0, 3.0], "f"), "b": np.array([[0.5]], "f")}
    y = dict(x)
    s, t = ours.init(x), theirs.init(y)
    for k in range(15):
        g = {name: np.sin(v + k).astype("f") for name, v in x.items()}
        updates, s = ours.update(g, s, x)
        x = optimize.apply(x, updates)
        others, t = theirs.update(g, t, y)
        y = {name: y[name] + np.asarray(others[name]) for name in y}
        for part in x:  # divisions by √v + ε of small v differ in their last digits, and go on from there
            np.testing.assert_allclose(x[part], y[part], rtol=1e-4, atol=1e-5)
