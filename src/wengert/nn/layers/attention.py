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
from wengert.nn.layers.containers import AppliedParts, Inits, specs
from wengert.nn.layers.dense import Dense, Dropout
from wengert.nn.layers.norms import LayerNorm


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class MultiHeadAttention(Layer):
    """This layer is :func:`~wengert.nn.attention` between dense layers ``q``, ``k``, ``v`` and ``out``.

    Inputs are one array that attends to itself, or ``q, kv``, or ``q, k, v``, float[batch, tokens, width]; the result
    is float[batch, tokens, width of q].

    Parameters
    ----------
    heads : how many parts attend one by one.
    width : of all heads together; that of the queries if not given.
    causal : whether a token looks only at itself and those before it.
    bias : whether the dense layers have one.

    Raises
    ------
    ShapeError : the shapes do not fit, or ``heads`` does not divide the width.

    Examples
    --------
    >>> import wengert as wg
    >>> from wengert import nn
    >>> params, state = nn.MultiHeadAttention(4).init(0, wg.spec((8, 64, 128), "float32"))
    >>> nn.count(params)
    66048
    """

    heads: int
    width: int | None = None
    """The width of all heads together; that of the queries if not given."""
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
        parts = AppliedParts(params, state, train, self, dense)
        q, k, v = [parts.apply(name, dense[name], x) for name, x in zip("qkv", given, strict=True)]
        mixed = attention(q, k, v, causal=self.causal, heads=self.heads)
        return parts.apply("out", dense["out"], mixed), state


def _three(xs: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Queries, keys and values."""
    return (xs[0], xs[min(1, len(xs) - 1)], xs[-1])


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class TransformerBlock(Layer):
    """This layer adds to x its attention, and to that two dense layers of it, with a norm before each.

    y = x + attention(norm1(x)), then y + out(hidden(norm2(y))): float[batch, tokens, width], in and out. Without
    ``pre_norm`` the norms are of the sums (Vaswani et al. 2017, arXiv:1706.03762; Xiong et al. 2020, arXiv:2002.04745).

    Parameters
    ----------
    heads : of the :class:`MultiHeadAttention`.
    hidden : the width between its dense layers; four times that of the input if not given.
    activation : of the first dense layer.
    rate : of the dropout of attention and dense layers.
    causal : whether a token looks only at itself and those before it.
    pre_norm : whether norms come before attention and dense layers, or after the sums.

    ``params`` has ``norm1``, ``attention``, ``norm2``, ``hidden``, ``out``; with a ``rate``, ``state`` has ``dropout1``
    and ``dropout2``.

    Examples
    --------
    >>> import wengert as wg
    >>> from wengert import nn
    >>> block, x = nn.TransformerBlock(2), wg.spec((2, 5, 4), "float32")
    >>> params, state = block.init(0, x)
    >>> list(params), params["hidden"]["w"].shape
    (['norm1', 'attention', 'norm2', 'hidden', 'out'], (16, 4))
    >>> wg.spec_of(block.apply)(params, state, x)[0]
    float32[2, 5, 4]
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
        parts = AppliedParts(params, state, train, self, layers)

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
    """This layer adds a learnt vector for each position: float[batch, tokens, width], in and out.

    Parameters
    ----------
    length : how many positions there are, the most tokens of an input.

    ``params`` are ``table`` [length, width].

    Raises
    ------
    ShapeError : there are more tokens than ``length``.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> params = {"table": np.array([[10.0], [20.0], [30.0]])}
    >>> nn.PositionalEmbedding(3).apply(params, {}, np.array([[[1.0], [2.0]]]))[0]
    array([[[11.],
            [22.]]])
    """

    length: int

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        shape = (self.length, xs[0].shape[-1])
        return {"table": (0.02 * np.random.default_rng(rng).standard_normal(shape)).astype(dtype)}, {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return xs[0] + params["table"][: xs[0].shape[1]], state
