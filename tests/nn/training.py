"""A small network to train, for tests and for the processes that they start."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import nn, optimize

RNG = np.random.default_rng(0)
X = RNG.normal(size=(70, 2)).astype("f")
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
MODEL = nn.Chain(nn.Dense(16, np.tanh), nn.Dropout(0.1), nn.Dense(2))


def run(epochs: int, **options: Any) -> Any:
    options = {"optimiser": optimize.adam(0.05), "progress": False, "batch_size": 16, "seed": 3} | options
    return nn.fit(MODEL, *MODEL.init(1, X), (X, Y), epochs=epochs, **options)
