"""Layers on features: affine maps, tables of vectors, dropout, and what only turns arrays round."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn import random
from wengert.nn.activations import identity
from wengert.nn.dense import dense_bias_act, embedding
from wengert.nn.initialisers import Initialiser, initialiser
from wengert.nn.layers.base import Array, DType, Generator, Layer, Params, Spec, entry
from wengert.nn.normalisation import alpha_dropout, dropout


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Dense(Layer):
    """``activation(x @ w.T + b)`` along the last axis.

    ``params`` are ``w`` [width, in] and ``b`` [width].

    >>> import wengert as wg
    >>> from wengert import nn
    >>> params, state = nn.Dense(10, nn.relu).init(0, wg.spec((32, 64)))
    >>> params["w"].shape, params["b"].dtype
    ((10, 64), dtype('float32'))
    """

    width: int
    activation: Callable[[Any], Any] = identity
    bias: bool = True
    weights: str | Initialiser = "glorot_uniform"

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        (x,) = xs
        if x.ndim == 0:
            raise wg.errors.ShapeError(wg.errors.message(f"{self}: x has no axis of features"))
        w = initialiser(self.weights)(np.random.default_rng(rng), (self.width, x.shape[-1]), dtype)
        return ({"w": w, "b": np.zeros(self.width, dtype)} if self.bias else {"w": w}), {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        (x,) = xs
        return dense_bias_act(self.activation, entry(self, params, "w"), x, params.get("b")), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Bilinear(Layer):
    """``activation(xᵀ w y + b)`` of two inputs, one matrix ``w`` for each of ``width`` outputs."""

    width: int
    activation: Callable[[Any], Any] = identity
    bias: bool = True
    weights: str | Initialiser = "glorot_uniform"

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        x, y = xs
        w = initialiser(self.weights)(np.random.default_rng(rng), (self.width, x.shape[-1], y.shape[-1]), dtype)
        return ({"w": w, "b": np.zeros(self.width, dtype)} if self.bias else {"w": w}), {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        x, y = xs
        z = np.einsum("...i,oij,...j->...o", x, entry(self, params, "w"), y)
        return self.activation(z + entry(self, params, "b") if self.bias else z), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Scale(Layer):
    """``activation(x * scale + bias)``, one of each a feature."""

    activation: Callable[[Any], Any] = identity
    bias: bool = True

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        width = xs[0].shape[-1]
        params = {"scale": np.ones(width, dtype)}
        return (params | {"bias": np.zeros(width, dtype)} if self.bias else params), {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        y = xs[0] * entry(self, params, "scale")
        return self.activation(y + entry(self, params, "bias") if self.bias else y), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Embedding(Layer):
    """The rows of a table at integers: [...] -> [..., width]. ``params`` are ``table`` [count, width]."""

    count: int
    width: int
    weights: str | Initialiser = "truncated_normal"

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        return {"table": initialiser(self.weights)(np.random.default_rng(rng), (self.count, self.width), dtype)}, {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return embedding(entry(self, params, "table"), *xs), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Dropout(Layer):
    """:func:`~wengert.nn.dropout` in training; elsewhere nothing. ``state`` has the ``key`` of the next draw."""

    rate: float
    is_alpha: bool = False
    """Whether it is :func:`~wengert.nn.alpha_dropout`."""

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        return {}, {"key": random.key(int(np.random.default_rng(rng).integers(1 << 63)))}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        if not train:
            return xs[0], state
        drawn, kept = random.split(state["key"])
        return (alpha_dropout if self.is_alpha else dropout)(drawn, xs[0], self.rate), {"key": kept}


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Reshape(Layer):
    """Each sample in another shape."""

    shape: tuple[int, ...]

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        x = xs[0]
        if -1 not in self.shape and math.prod(self.shape) != math.prod(x.shape[1:]):
            raise wg.errors.ShapeError(wg.errors.message(f"{self}: samples are {x.shape[1:]}"))
        return x.reshape(x.shape[0], *self.shape), state
