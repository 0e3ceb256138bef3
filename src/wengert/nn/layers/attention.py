"""Attention with its weights, and the block that transformers are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn.activations import gelu
from wengert.nn.attention import attention
from wengert.nn.layers.base import Array, DType, Generator, Layer, Params, Spec
from wengert.nn.layers.containers import Inits, Parts, specs
from wengert.nn.layers.dense import Dense, Dropout
from wengert.nn.layers.norms import LayerNorm


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class MultiHeadAttention(Layer):
    """:func:`~wengert.nn.attention` between dense layers ``q``, ``k``, ``v`` and ``out``.

    Inputs are one array that attends to itself, or ``q, kv``, or ``q, k, v``, [batch, tokens, width].

    >>> import wengert as wg
    >>> from wengert import nn
    >>> params, state = nn.MultiHeadAttention(4).init(0, wg.spec((8, 64, 128)))
    >>> nn.count(params)
    66048
    """

    heads: int
    width: int | None = None
    """Of all heads together; that of the queries if not given."""
    causal: bool = False
    bias: bool = True

    def _parts(self, width: int) -> dict[str, Any]:
        inside = self.width or width
        return {**{k: Dense(inside, bias=self.bias) for k in "qkv"}, "out": Dense(width, bias=self.bias)}

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        made, given = Inits(rng, dtype), specs(_three(xs))
        dense = self._parts(given[0].shape[-1])
        mixed = [made.init(name, dense[name], x) for name, x in zip("qkv", given, strict=True)][-1]
        made.init("out", dense["out"], mixed)
        return made.params, made.state

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        given = _three(xs)
        dense = self._parts(given[0].shape[-1])
        parts = Parts(params, state, train, self, dense)
        q, k, v = [parts.apply(name, dense[name], x) for name, x in zip("qkv", given, strict=True)]
        mixed = attention(q, k, v, causal=self.causal, heads=self.heads)
        return parts.apply("out", dense["out"], mixed), state


def _three(xs: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Queries, keys and values."""
    return (xs[0], xs[min(1, len(xs) - 1)], xs[-1])


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class TransformerBlock(Layer):
    """x + attention(norm(x)), and to that its own dense layers of the norm of it; norms come after the sums if not
    ``pre_norm`` (Vaswani et al. 2017, arXiv:1706.03762; Xiong et al. 2020, arXiv:2002.04745).

    Parts: ``norm1``, ``attention``, ``norm2``, ``hidden``, ``out``, and ``dropout1``, ``dropout2`` with a ``rate``.
    """

    heads: int
    hidden: int | None = None
    """The width between its dense layers; four times that of the input if not given."""
    activation: Callable[[Any], Any] = gelu
    rate: float = 0.0
    causal: bool = False
    pre_norm: bool = True

    def _parts(self, width: int) -> dict[str, Any]:
        return {
            "norm1": LayerNorm(),
            "attention": MultiHeadAttention(self.heads, causal=self.causal),
            "norm2": LayerNorm(),
            "hidden": Dense(self.hidden or 4 * width, self.activation),
            "out": Dense(width),
            **({"dropout1": Dropout(self.rate), "dropout2": Dropout(self.rate)} if self.rate else {}),
        }

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        made, (x,) = Inits(rng, dtype), specs(xs)
        y = x
        for name, part in self._parts(x.shape[-1]).items():
            y = made.init(name, part, y if name == "out" else x)
        return made.params, made.state

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        (x,) = xs
        layers = self._parts(x.shape[-1])
        parts = Parts(params, state, train, self, layers)

        def part(name: str, x: Array) -> Array:
            return parts.apply(name, layers[name], x) if name in layers else x

        attend = lambda x: part("dropout1", part("attention", x))
        think = lambda x: part("dropout2", part("out", part("hidden", x)))
        if self.pre_norm:
            x = x + attend(part("norm1", x))
            x = x + think(part("norm2", x))
        else:
            x = part("norm1", x + attend(x))
            x = part("norm2", x + think(x))
        return x, parts.new_state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class PositionalEmbedding(Layer):
    """A learnt vector for each position, added to [batch, tokens, width]."""

    length: int

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        shape = (self.length, xs[0].shape[-1])
        return {"table": (0.02 * np.random.default_rng(rng).standard_normal(shape)).astype(dtype)}, {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return xs[0] + params["table"][: xs[0].shape[1]], state
