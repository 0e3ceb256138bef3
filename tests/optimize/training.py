"""A loss that other processes import."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import nn

MODEL = nn.Chain(nn.Dense(4, np.tanh), nn.Dense(2))
X = np.random.default_rng(0).normal(size=(10, 3)).astype("f")
Y = np.random.default_rng(1).integers(0, 2, 10)


def loss(params: Any, x: Any, y: Any) -> Any:
    return nn.cross_entropy(MODEL.apply(params, {}, x)[0], y)
