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
    """:func:`~wengert.nn.batch_norm` of [batch, channels, *space]. ``params`` are ``scale`` and ``bias``, ``state`` the
    running ``mean`` and ``var``, each [channels]."""

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
    """:func:`~wengert.nn.layer_norm` along the last axis."""

    epsilon: float = 1e-5
    affine: bool = True

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        return _affine(xs[0].shape[-1], self.affine, dtype), {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return layer_norm(xs[0], params.get("scale"), params.get("bias"), epsilon=self.epsilon), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class RMSNorm(Layer):
    """:func:`~wengert.nn.rms_norm` along the last axis."""

    epsilon: float = 1e-6

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        return {"scale": np.ones(xs[0].shape[-1], dtype)}, {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return rms_norm(xs[0], entry(self, params, "scale"), epsilon=self.epsilon), state


@wg.expect.checked_class
@dataclass(frozen=True, repr=False)
class GroupNorm(Layer):
    """:func:`~wengert.nn.group_norm` of [batch, channels, *space]."""

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
    """:func:`~wengert.nn.instance_norm` of [batch, channels, *space]."""

    epsilon: float = 1e-5
    affine: bool = True

    def init(self, rng: Generator, *xs: Array | Spec, dtype: DType = "float32") -> tuple[Params, Params]:
        return _affine(xs[0].shape[1], self.affine, dtype), {}

    def apply(self, params: Params, state: Params, *xs: Array, train: bool = False) -> tuple[Any, Params]:
        return instance_norm(xs[0], params.get("scale"), params.get("bias"), self.epsilon), state
