"""Small layers that the tests of graphs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Linear:
    """x Wᵀ + b, by the protocol of layers."""

    width: int

    def init(self, rng: Any, x: Any) -> Any:
        rng = np.random.default_rng(rng)
        w = (rng.standard_normal((self.width, x.shape[-1])) / np.sqrt(x.shape[-1])).astype(x.dtype)
        return {"w": w, "b": np.zeros(self.width, x.dtype)}, {}

    def apply(self, params: Any, state: Any, x: Any, train: bool = False) -> Any:
        return x @ params["w"].T + params["b"], state


class Counting:
    """A function that counts its calls."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f, self.calls = f, 0

    def __call__(self, *xs: Any) -> Any:
        self.calls += 1
        return self.f(*xs)
