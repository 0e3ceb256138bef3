"""Norms with their scales, biases and running numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn.layers.base import Array, DType, Generator, Layer, Params, Spec, entry
from wengert.nn.normalisation import batch_norm, group_norm, instance_norm, layer_norm, rms_norm


def _affine(width: int, is_affine: bool, dtype: Any) -> Params:
    return {"scale": np.ones(width, dtype), "bias": np.zeros(width, dtype)} if is_affine else {}


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class BatchNorm(Layer):
    """This layer is :func:`~wengert.nn.batch_norm` of [batch, channels, *space]; the running numbers are its state.

    Parameters
    ----------
    momentum : the share of the batch in the new running mean and variance.
    epsilon : added to the variance.
    affine : whether there are ``scale`` and ``bias``.

    ``params`` are ``scale`` and ``bias``, ``state`` the running ``mean`` and ``var``, each [channels].

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> layer, x = nn.BatchNorm(epsilon=0.0), np.array([[1.0], [3.0]])
    >>> params, state = layer.init(0, x, dtype="float64")
    >>> layer.apply(params, state, x, train=True)
    (array([[-1.], [ 1.]]), {'mean': array([0.2]), 'var': array([1.1])})
    """

    momentum: float = 0.1
    epsilon: float = 1e-5
    affine: bool = True

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        channels = xs[0].shape[1]
        state = {"mean": np.zeros(channels, dtype), "var": np.ones(channels, dtype)}
        return _affine(channels, self.affine, dtype), state

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        running = (state["mean"], state["var"])
        y, (mean, var) = batch_norm(
            xs[0], params.get("scale"), params.get("bias"), *running, train, self.momentum, self.epsilon
        )
        return y, {"mean": mean, "var": var}


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class LayerNorm(Layer):
    """This layer is :func:`~wengert.nn.layer_norm` along the last axis: float[..., width] -> float[..., width].

    Parameters
    ----------
    epsilon : added to the variance.
    affine : whether there are ``scale`` and ``bias``, the ``params``, each [width].

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> layer, x = nn.LayerNorm(epsilon=0.0), np.array([[1.0, 3.0]])
    >>> layer.apply(*layer.init(0, x, dtype="float64"), x)[0]
    array([[-1.,  1.]])
    """

    epsilon: float = 1e-5
    affine: bool = True

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        return _affine(xs[0].shape[-1], self.affine, dtype), {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return layer_norm(xs[0], params.get("scale"), params.get("bias"), epsilon=self.epsilon), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class RMSNorm(Layer):
    """This layer is :func:`~wengert.nn.rms_norm` along the last axis: float[..., width] -> float[..., width].

    Parameters
    ----------
    epsilon : added to the mean of squares.

    ``params`` are ``scale`` [width], ones.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> layer, x = nn.RMSNorm(epsilon=0.0), np.array([[1.0, 7.0]])
    >>> layer.apply(*layer.init(0, x, dtype="float64"), x)[0]
    array([[0.2, 1.4]])
    """

    epsilon: float = 1e-6

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        return {"scale": np.ones(xs[0].shape[-1], dtype)}, {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return rms_norm(xs[0], entry(self, params, "scale"), epsilon=self.epsilon), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class GroupNorm(Layer):
    """This layer is :func:`~wengert.nn.group_norm` of [batch, channels, *space].

    Parameters
    ----------
    groups : how many groups of neighbouring channels there are.
    epsilon : added to the variance.
    affine : whether there are ``scale`` and ``bias``, the ``params``, each [channels].

    Raises
    ------
    ShapeError : ``groups`` does not divide the channels.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> layer, x = nn.GroupNorm(2, epsilon=0.0), np.array([[0.0, 1.0, 20.0, 30.0]])
    >>> layer.apply(*layer.init(0, x, dtype="float64"), x)[0]
    array([[-1.,  1., -1.,  1.]])
    """

    groups: int
    epsilon: float = 1e-5
    affine: bool = True

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        return _affine(xs[0].shape[1], self.affine, dtype), {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return group_norm(xs[0], self.groups, params.get("scale"), params.get("bias"), self.epsilon), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class InstanceNorm(Layer):
    """This layer is :func:`~wengert.nn.instance_norm` of [batch, channels, *space].

    Parameters
    ----------
    epsilon : added to the variance.
    affine : whether there are ``scale`` and ``bias``, the ``params``, each [channels].

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> layer, x = nn.InstanceNorm(epsilon=0.0), np.array([[[0.0, 1.0], [20.0, 30.0]]])
    >>> layer.apply(*layer.init(0, x, dtype="float64"), x)[0]
    array([[[-1.,  1.],
            [-1.,  1.]]])
    """

    epsilon: float = 1e-5
    affine: bool = True

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        return _affine(xs[0].shape[1], self.affine, dtype), {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return instance_norm(xs[0], params.get("scale"), params.get("bias"), self.epsilon), state
