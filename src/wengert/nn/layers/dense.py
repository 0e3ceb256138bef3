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
from wengert.nn.dense import embedding, linear
from wengert.nn.initialisers import Initialiser, initialiser
from wengert.nn.layers.base import Array, DType, Generator, Layer, Params, Spec, entry
from wengert.nn.normalisation import alpha_dropout, dropout


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Dense(Layer):
    """This layer computes ``activation(x @ w.T + b)`` along the last axis: float[..., in] -> float[..., width].

    Parameters
    ----------
    width : how many features come out.
    activation : an elementwise function.
    bias : whether there is one.
    weights : what they begin as, an initialiser or its name.

    ``params`` are ``w`` [width, in] and ``b`` [width], zeros.

    Raises
    ------
    ShapeError : the input has no axis, or another width than at ``init``.

    Examples
    --------
    >>> import wengert as wg
    >>> from wengert import nn
    >>> params, state = nn.Dense(10, nn.relu).init(0, wg.spec((32, 64), "float32"))
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
        return self.activation(linear(x, entry(self, params, "w"), params.get("b"))), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Bilinear(Layer):
    """This layer computes ``activation(xᵀ w y + b)`` of two inputs, with a matrix ``w`` for each output.

    float[..., in], float[..., in2] -> float[..., width].

    Parameters
    ----------
    width : how many features come out.
    activation : an elementwise function.
    bias : whether there is one.
    weights : what they begin as, an initialiser or its name.

    ``params`` are ``w`` [width, in, in2] and ``b`` [width], zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> params = {"w": np.eye(2)[None], "b": np.ones(1)}
    >>> nn.Bilinear(1).apply(params, {}, np.array([1.0, 2.0]), np.array([3.0, 4.0]))[0]
    array([12.])
    """

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
    """This layer computes ``activation(x * scale + bias)``, with a scale and a bias for each feature.

    float[..., width] -> float[..., width].

    Parameters
    ----------
    activation : an elementwise function.
    bias : whether there is one.

    ``params`` are ``scale`` [width], ones, and ``bias`` [width], zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> params = {"scale": np.array([2.0, 3.0]), "bias": np.array([0.0, 1.0])}
    >>> nn.Scale().apply(params, {}, np.ones((1, 2)))[0]
    array([[2., 4.]])
    """

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
    """This layer looks up rows of a table: integers [...] -> float[..., width], as :func:`~wengert.nn.embedding`.

    Parameters
    ----------
    count : how many rows there are: the integers are from 0 to ``count`` − 1.
    width : how long a row is.
    weights : what they begin as, an initialiser or its name.

    ``params`` are ``table`` [count, width].

    Raises
    ------
    IndexError : an integer is no row.
    DTypeError : the input is no integers.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> from wengert import nn
    >>> layer = nn.Embedding(1000, 16)
    >>> params, state = layer.init(0, wg.spec((32, 10), "int64"))
    >>> layer.apply(params, state, np.zeros((32, 10), int))[0].shape
    (32, 10, 16)
    """

    count: int
    width: int
    weights: str | Initialiser = "truncated_normal"

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        return {"table": initialiser(self.weights)(np.random.default_rng(rng), (self.count, self.width), dtype)}, {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return embedding(xs[0], entry(self, params, "table")), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Dropout(Layer):
    """This layer is :func:`~wengert.nn.dropout` in training, and elsewhere gives its input: any shape.

    Parameters
    ----------
    rate : the probability of an element to be dropped, from 0 to less than 1.
    is_alpha : whether it is :func:`~wengert.nn.alpha_dropout`.

    ``state`` has the ``key`` of the next draw; each call in training returns another one.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> layer, x = nn.Dropout(0.5), np.ones(100)
    >>> params, state = layer.init(0, x)
    >>> y, new_state = layer.apply(params, state, x, train=True)
    >>> np.unique(y), bool(new_state["key"] == state["key"])
    (array([0., 2.]), False)
    >>> bool(np.all(layer.apply(params, state, x)[0] == x))
    True
    """

    rate: float
    is_alpha: bool = False
    """Whether it is :func:`~wengert.nn.alpha_dropout`."""

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        return {}, {"key": random.key(int(np.random.default_rng(rng).integers(1 << 63)))}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        if not train:
            return xs[0], state
        drawn, kept = random.split(state["key"])
        return (alpha_dropout if self.is_alpha else dropout)(xs[0], drawn, self.rate), {"key": kept}


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class Reshape(Layer):
    """This layer gives each sample another shape: [batch, ...] -> [batch, *shape].

    Parameters
    ----------
    shape : of one sample; -1 for one length that follows from the others.

    Raises
    ------
    ShapeError : samples have another number of elements.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.Reshape((2, -1)).apply({}, {}, np.zeros((5, 6)))[0].shape
    (5, 2, 3)
    """

    shape: tuple[int, ...]

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        x = xs[0]
        if -1 not in self.shape and math.prod(self.shape) != math.prod(x.shape[1:]):
            raise wg.errors.ShapeError(
                wg.errors.message(f"{self}: each sample has shape {x.shape[1:]}, which has another number of elements")
            )
        return x.reshape(x.shape[0], *self.shape), state
