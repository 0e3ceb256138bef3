"""Normalisation, dropout and softmax: plain NumPy over given axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn import random

Array = Any
Key = Any
Axes = int | Sequence[int]


# ------------------------------------------------------------------------------------------------------------- norms


@wg.expect.checked
def layer_norm(
    x: Array, scale: Array | None = None, bias: Array | None = None, axis: Axes = -1, epsilon: float = 1e-5
) -> Array:
    """``x`` with mean 0 and variance 1 over ``axis``, then times ``scale`` plus ``bias``.

    ``scale`` and ``bias`` have the shape of the axes, which are the last (Ba et al. 2016, arXiv:1607.06450).

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.layer_norm(np.array([1.0, 3.0]), epsilon=0)
    array([-1.,  1.])
    """
    wg.expect.axes("layer_norm", x, axis)
    return _affine(_standardised(x, axis, epsilon), scale, bias, "layer_norm")


@wg.expect.checked
def rms_norm(x: Array, scale: Array | None = None, axis: Axes = -1, epsilon: float = 1e-6) -> Array:
    """``x`` over its root mean square along ``axis``, times ``scale`` (Zhang & Sennrich 2019, arXiv:1910.07467)."""
    wg.expect.axes("rms_norm", x, axis)
    return _affine(x / np.sqrt(np.mean(x * x, _axes(axis), keepdims=True) + epsilon), scale, None, "rms_norm")


@wg.expect.checked
def group_norm(
    x: Array, groups: int, scale: Array | None = None, bias: Array | None = None, epsilon: float = 1e-5
) -> Array:
    """Each sample's ``groups`` of channels with mean 0 and variance 1 (Wu & He 2018, arXiv:1803.08494).

    x : [batch, channels, *space]; scale, bias : [channels].
    """
    wg.expect.ndim("group_norm", "x", x, 2, "[batch, channels, *space]")
    channels = x.shape[1]
    if groups < 1 or channels % groups:
        raise wg.errors.ShapeError(wg.errors.message(f"group_norm: {channels} channels in {groups} groups"))
    grouped = x.reshape(x.shape[0], groups, math.prod(x.shape[1:]) // groups)
    return _affine(_standardised(grouped, -1, epsilon).reshape(x.shape), *_by_channel(x, scale, bias))


@wg.expect.checked
def instance_norm(x: Array, scale: Array | None = None, bias: Array | None = None, epsilon: float = 1e-5) -> Array:
    """Each channel of each sample with mean 0 and variance 1 (Ulyanov et al. 2016, arXiv:1607.08022)."""
    wg.expect.ndim("instance_norm", "x", x, 2, "[batch, channels, *space]")
    return group_norm(x, x.shape[1], scale, bias, epsilon)


@wg.expect.checked
def batch_norm(
    x: Array,
    scale: Array | None,
    bias: Array | None,
    mean: Array,
    var: Array,
    train: bool = False,
    momentum: float = 0.1,
    epsilon: float = 1e-5,
) -> tuple[Array, tuple[Array, Array]]:
    """Each channel with mean 0 and variance 1: in training those of the batch, else the running ones.

    Parameters
    ----------
    x : [batch, channels, *space].
    scale, bias, mean, var : [channels]; ``mean`` and ``var`` are the running ones.
    momentum : the share of the batch in the new running ones, of which the variance is the unbiased one.

    Returns
    -------
    The result, and the new (mean, var): the old ones where not in training (Ioffe & Szegedy 2015, arXiv:1502.03167).
    """
    wg.expect.ndim("batch_norm", "x", x, 2, "[batch, channels, *space]")
    scale, bias = _by_channel(x, scale, bias)
    m, v = _by_channel(x, mean, var)
    if not train:
        return _affine((x - m) / np.sqrt(v + epsilon), scale, bias), (mean, var)
    axes = (0, *range(2, x.ndim))
    n = math.prod(x.shape[k] for k in axes)
    if n < 2:
        raise wg.errors.ShapeError(
            wg.errors.message(f"batch_norm: {x.shape} has one number a channel, and so no variance to train with")
        )
    m = np.mean(x, axes, keepdims=True)
    v = np.mean((x - m) ** 2, axes, keepdims=True)
    keep = 1 - momentum
    new_mean = keep * mean + momentum * wg.stop_gradient(m).reshape(-1)
    new_var = keep * var + momentum * (n / (n - 1)) * wg.stop_gradient(v).reshape(-1)
    return _affine((x - m) / np.sqrt(v + epsilon), scale, bias), (new_mean, new_var)


def _standardised(x: Array, axis: Axes, epsilon: float) -> Array:
    centred = x - np.mean(x, _axes(axis), keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, _axes(axis), keepdims=True) + epsilon)


def _axes(axis: Axes) -> Any:
    return axis if isinstance(axis, int) else tuple(axis)


def _affine(x: Array, scale: Array | None, bias: Array | None, where: str = "norm") -> Array:
    for name, numbers in (("scale", scale), ("bias", bias)):
        if numbers is not None:
            wg.expect.fits(where, name, numbers, "x", x.shape)
    if scale is not None:
        x = x * scale
    return x if bias is None else x + bias


def _by_channel(x: Array, *numbers: Array | None) -> tuple[Any, ...]:
    """One number a channel, shaped to meet [batch, channels, *space]."""
    for a in numbers:
        if a is not None and a.shape != x.shape[1:2]:
            raise wg.errors.ShapeError(
                wg.errors.message(f"norm: {a.shape} for the {x.shape[1]} channels of x {x.shape}")
            )
    return tuple([None if a is None else a.reshape((-1,) + (1,) * (x.ndim - 2)) for a in numbers])


# ----------------------------------------------------------------------------------------------------------- dropout


@wg.expect.checked
def dropout(key: Key, x: Array, rate: float) -> Array:
    """``x`` with each element 0 with probability ``rate``, the others over 1 − rate (Srivastava et al. 2014)."""
    _check_rate(rate)
    if rate == 0:
        return x
    return np.where(random.uniform(key, x.shape) < rate, 0, x / (1 - rate))


@wg.expect.checked
def alpha_dropout(key: Key, x: Array, rate: float) -> Array:
    """Dropout for :func:`~wengert.nn.selu`, which keeps mean and variance (Klambauer et al. 2017, appendix)."""
    _check_rate(rate)
    if rate == 0:
        return x
    dropped = -1.7580993408473766  # what selu tends to: -scale alpha
    a = 1 / math.sqrt((1 - rate) * (1 + rate * dropped**2))
    return a * np.where(random.uniform(key, x.shape) < rate, dropped, x) - a * rate * dropped


def _check_rate(rate: float) -> None:
    if not 0 <= rate < 1:
        raise wg.errors.OptionError(wg.errors.message(f"dropout: rate is {rate}; expected 0 <= rate < 1"))


# ----------------------------------------------------------------------------------------------------------- softmax


@wg.expect.checked
def softmax(x: Array, axis: Axes = -1) -> Array:
    """exp(x) / Σ exp(x) along ``axis``. Where all of x is −inf, nothing has a share: 0.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.softmax(np.array([800.0, 800.0]))
    array([0.5, 0.5])
    """
    e = np.exp(x - _greatest("softmax", x, axis))
    total = np.sum(e, _axes(axis), keepdims=True)
    return e / np.where(total > 0, total, 1)


@wg.expect.checked
def log_softmax(x: Array, axis: Axes = -1) -> Array:
    """x − log Σ exp(x) along ``axis``."""
    shifted = x - _greatest("log_softmax", x, axis)
    return shifted - np.log(np.sum(np.exp(shifted), _axes(axis), keepdims=True))


@wg.expect.checked
def logsumexp(x: Array, axis: Axes = -1, keepdims: bool = False) -> Array:
    """log Σ exp(x) along ``axis``; −inf where all of x is."""
    greatest = _greatest("logsumexp", x, axis)
    total = np.sum(np.exp(x - greatest), _axes(axis), keepdims=True)
    result = np.where(total > 0, np.log(np.where(total > 0, total, 1)) + greatest, -np.inf)
    return result if keepdims else np.squeeze(result, _axes(axis))


def _greatest(where: str, x: Array, axis: Axes) -> Array:
    """The greatest element, as a constant: what is subtracted from all changes no result. Of what is all −inf, 0."""
    wg.expect.axes(where, x, axis)
    if x.size == 0:
        return np.zeros_like(np.sum(x, _axes(axis), keepdims=True))
    greatest = np.max(wg.stop_gradient(x), _axes(axis), keepdims=True)
    return np.where(greatest == -np.inf, 0, greatest)
