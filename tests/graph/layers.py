"""Small layers that the tests of graphs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert import graph


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


@graph.rule.register
def _(part: Linear, operands: Any) -> graph.Rule:
    return graph.Own(
        axis=-1, params={"w": ("out", "in"), "b": ("out",)}, widened=lambda part, width: replace(part, width=width)
    )


@dataclass(frozen=True)
class Conv:
    """A convolution by windows of 1 x 1, in groups, over images."""

    width: int
    groups: int = 1

    def init(self, rng: Any, x: Any) -> Any:
        rng = np.random.default_rng(rng)
        w = rng.standard_normal((self.width, x.shape[1] // self.groups, 1, 1)).astype(x.dtype)
        return {"w": w, "b": rng.standard_normal(self.width).astype(x.dtype)}, {}

    def apply(self, params: Any, state: Any, x: Any, train: bool = False) -> Any:
        n, c, *space = x.shape
        pieces = np.reshape(x, (n, self.groups, c // self.groups, *space))
        w = np.reshape(params["w"], (self.groups, self.width // self.groups, -1))
        y = np.einsum("gok,ngkxy->ngoxy", w, pieces).reshape(n, self.width, *space)
        return y + params["b"][:, None, None], state


@graph.rule.register
def _(part: Conv, operands: Any) -> graph.Rule:
    if operands and part.groups == operands[0].shape[1] > 1:
        count = part.width // part.groups
        params = {"w": ("out", None, None, None), "b": ("out",)}
        return graph.Times(1, params, count=count, widened=lambda part, n: replace(part, width=n * count, groups=n))
    params = {"w": ("out", "in", None, None), "b": ("out",)}
    return graph.Own(1, params, widened=lambda part, n: replace(part, width=n), groups=part.groups)


@dataclass(frozen=True)
class Norm:
    """Each channel by means that are kept, with a scale."""

    def init(self, rng: Any, x: Any) -> Any:
        n = x.shape[1]
        return {"scale": np.ones(n, x.dtype)}, {"mean": np.zeros(n, x.dtype), "var": np.ones(n, x.dtype)}

    def apply(self, params: Any, state: Any, x: Any, train: bool = False) -> Any:
        shape = (-1, *[1] * (x.ndim - 2))
        scale = np.reshape(params["scale"] / np.sqrt(state["var"]), shape)
        return (x - np.reshape(state["mean"], shape)) * scale, state


@graph.rule.register
def _(part: Norm, operands: Any) -> graph.Rule:
    return graph.Same(1, params={"scale": ("out",)}, state={"mean": ("out",), "var": ("out",)})
