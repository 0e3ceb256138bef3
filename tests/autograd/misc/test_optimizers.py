"""autograd's optimisers: first steps worked by hand, and the minimum of a container's function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert.autograd as ag
from wengert.autograd.misc.optimizers import adam, rmsprop, sgd


@pytest.mark.parametrize(
    ("optimizer", "after"),
    [(sgd, 0.99), (adam, 1.0 - 0.1 / (1 + 1e-8)), (rmsprop, 1.0 - 0.1 / (1 + 1e-8))],
)
def test_the_first_step(optimizer: Any, after: float) -> None:
    assert optimizer(lambda x, i: 1.0, 1.0, num_iters=1, step_size=0.1) == pytest.approx(after, rel=1e-12)


@pytest.mark.parametrize("optimizer", [sgd, adam, rmsprop])
def test_they_descend_on_containers(optimizer: Any) -> None:
    start, seen = {"a": 3.0, "b": [np.array([1.0, -2.0])]}, []
    loss = lambda p, i: p["a"] ** 2 + np.sum((p["b"][0] - 1.0) ** 2)
    tell = lambda p, i, g: seen.append((i, p["a"], g["a"]))
    found = optimizer(ag.grad(loss), start, callback=tell, num_iters=500, step_size=0.05)
    assert loss(found, 0) < 1e-2 and found["b"][0].shape == (2,)
    assert seen[0] == (0, 3.0, 6.0) and len(seen) == 500
