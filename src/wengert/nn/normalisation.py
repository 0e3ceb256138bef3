"""Normalisation, dropout and softmax: plain NumPy over given axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn import random
from wengert.nn.params import Array

Key = Any
Axes = int | Sequence[int]


# ------------------------------------------------------------------------------------------------------------- norms


@wg.expect.checked
def layer_norm(
    x: Array, scale: Array | None = None, bias: Array | None = None, axis: Axes = -1, epsilon: float = 1e-5
) -> Array:
    """Return ``x`` shifted and scaled to mean 0 and variance 1 over ``axis``, times ``scale`` plus ``bias``.

    Source: Ba et al. (2016), Layer normalization, arXiv:1607.06450.

    Parameters
    ----------
    x : float[..., n], or normalised over other axes.
    scale, bias : of the shape of the axes, which are then the last ones; or what broadcasts against ``x``.
    axis : an axis or several.
    epsilon : added to the variance.

    Raises
    ------
    ShapeError : ``x`` has no such axis, or ``scale`` or ``bias`` do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.layer_norm(np.array([1.0, 3.0]), epsilon=0)
    array([-1.,  1.])
    """
    wg.expect.axes("layer_norm", x, axis)
    return _affine(_standardised(x, axis, epsilon), scale, bias, "layer_norm")


@wg.expect.checked
def rms_norm(x: Array, scale: Array | None = None, axis: Axes = -1, epsilon: float = 1e-6) -> Array:
    """Return ``x`` / √(mean(x²) + epsilon), with the mean over ``axis``, times ``scale``.

    Source: Zhang & Sennrich (2019), Root mean square layer normalization, arXiv:1910.07467.

    Parameters
    ----------
    x : float[..., n]
    scale : float[n], or what broadcasts against ``x``.
    axis : an axis or several.
    epsilon : added to the mean of squares.

    Raises
    ------
    ShapeError : ``x`` has no such axis, or ``scale`` does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.rms_norm(np.array([1.0, 7.0]), epsilon=0)
    array([0.2, 1.4])
    """
    wg.expect.axes("rms_norm", x, axis)
    return _affine(x / np.sqrt(np.mean(x * x, _axes(axis), keepdims=True) + epsilon), scale, None, "rms_norm")


@wg.expect.checked
def group_norm(
    x: Array, groups: int, scale: Array | None = None, bias: Array | None = None, epsilon: float = 1e-5
) -> Array:
    """Return ``x`` with mean 0 and variance 1 in each of ``groups`` groups of channels of each sample.

    Source: Wu & He (2018), Group normalization, arXiv:1803.08494.

    Parameters
    ----------
    x : float[batch, channels, *space]
    groups : how many groups of neighbouring channels there are; it divides their number.
    scale, bias : float[channels]: what each channel is then multiplied by, and what is added.
    epsilon : added to the variance.

    Raises
    ------
    ShapeError : ``groups`` does not divide the channels, or ``scale`` or ``bias`` have another number.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.group_norm(np.array([[0.0, 1.0, 20.0, 30.0]]), 2, epsilon=0)
    array([[-1.,  1., -1.,  1.]])
    """
    wg.expect.ndim("group_norm", "x", x, 2, "[batch, channels, *space]")
    channels = x.shape[1]
    if groups < 1 or channels % groups:
        raise wg.errors.ShapeError(
            wg.errors.message(f"group_norm: {channels} channels cannot be divided into {groups} equal groups")
        )
    grouped = x.reshape(x.shape[0], groups, math.prod(x.shape[1:]) // groups)
    return _affine(_standardised(grouped, -1, epsilon).reshape(x.shape), *_by_channel(x, scale, bias))


@wg.expect.checked
def instance_norm(x: Array, scale: Array | None = None, bias: Array | None = None, epsilon: float = 1e-5) -> Array:
    """Return ``x`` with mean 0 and variance 1 in each channel of each sample.

    It is :func:`group_norm` with as many groups as channels.
    Source: Ulyanov et al. (2016), Instance normalization, arXiv:1607.08022.

    Parameters
    ----------
    x : float[batch, channels, *space]
    scale, bias : float[channels]: what each channel is then multiplied by, and what is added.
    epsilon : added to the variance.

    Raises
    ------
    ShapeError : ``x`` has no channels, or ``scale`` or ``bias`` have another number.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.instance_norm(np.array([[[0.0, 1.0], [20.0, 30.0]]]), epsilon=0)
    array([[[-1.,  1.],
            [-1.,  1.]]])
    """
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
    """Return ``x`` with mean 0 and variance 1 in each channel, by the batch in training, else by running numbers.

    Source: Ioffe & Szegedy (2015), Batch normalization, arXiv:1502.03167.

    Parameters
    ----------
    x : float[batch, channels, *space]
    scale, bias : float[channels] or None: what each channel is then multiplied by, and what is added.
    mean, var : float[channels], the running mean and variance.
    train : whether mean and variance are those of the batch, and the running ones move towards them.
    momentum : the share of the batch in the new running ones, of which the variance is the unbiased one.
    epsilon : added to the variance.

    Returns
    -------
    y, (mean, var)
        The result, and the new running mean and variance: the old ones where not in training. No derivative flows
        from the batch into the running ones.

    Raises
    ------
    ShapeError : an array does not have one number a channel; in training, a channel has fewer than two numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> x = np.array([[1.0], [3.0]])
    >>> nn.batch_norm(x, None, None, np.zeros(1), np.ones(1), train=True, epsilon=0)
    (array([[-1.], [ 1.]]), (array([0.2]), array([1.1])))
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
            wg.errors.message(
                f"batch_norm: {x.shape} has one number for each channel, and so no variance to train with"
            )
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
    """Return arrays of one number a channel, shaped to meet [batch, channels, *space]."""
    for a in numbers:
        if a is not None and a.shape != x.shape[1:2]:
            raise wg.errors.ShapeError(
                wg.errors.message(
                    f"norm: an array has shape {a.shape}; expected ({x.shape[1]},), for the channels of {x.shape}"
                )
            )
    return tuple([None if a is None else a.reshape((-1,) + (1,) * (x.ndim - 2)) for a in numbers])


# ----------------------------------------------------------------------------------------------------------- dropout


@wg.expect.checked
def dropout(x: Array, key: Array, rate: float = 0.5) -> Array:
    """Return ``x`` with each element 0 with probability ``rate``, and the others divided by 1 − rate.

    Source: Srivastava et al. (2014), Dropout: a simple way to prevent neural networks from overfitting.

    Parameters
    ----------
    x : float[...], any shape.
    key : of :func:`wengert.nn.random.key`; the same key drops the same elements.
    rate : from 0 to less than 1; by default PyTorch's.

    Raises
    ------
    OptionError : ``rate`` is another number.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.dropout(np.ones(8), nn.random.key(0), 0.5)
    array([2., 0., 0., 2., 0., 0., 0., 2.])
    """
    x, key = _with_key("dropout", x, key)
    _check_rate(rate)
    if rate == 0:
        return x
    return np.where(random.uniform(key, x.shape) < rate, 0, x / (1 - rate))


@wg.expect.checked
def alpha_dropout(x: Array, key: Array, rate: float = 0.5) -> Array:
    """Return ``x`` with dropped elements at the lowest value of :func:`~wengert.nn.selu`.

    All is then scaled and shifted so that mean and variance stay 0 and 1.
    Source: Klambauer et al. (2017), Self-normalizing neural networks, arXiv:1706.02515, appendix.

    Parameters
    ----------
    x : float[...], any shape, of mean 0 and variance 1.
    key : of :func:`wengert.nn.random.key`; the same key drops the same elements.
    rate : the probability of an element to be dropped, from 0 to less than 1; by default PyTorch's.

    Raises
    ------
    OptionError : ``rate`` is another number.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.alpha_dropout(np.ones(4), nn.random.key(0), 0.5).round(3)
    array([ 1.666, -0.779, -0.779,  1.666])
    """
    x, key = _with_key("alpha_dropout", x, key)
    _check_rate(rate)
    if rate == 0:
        return x
    dropped = -1.7580993408473766  # what selu tends to: -scale alpha
    a = 1 / math.sqrt((1 - rate) * (1 + rate * dropped**2))
    return a * np.where(random.uniform(key, x.shape) < rate, dropped, x) - a * rate * dropped


def _with_key(name: str, x: Array, key: Array) -> tuple[Array, Key]:
    """The array and the key, which came first once."""
    if x.dtype == np.uint64 and x.shape in ((), (1,)) and key.dtype != np.uint64:
        wg.expect.outdated(f"nn.{name}(key, x)", f"nn.{name}(x, key)")
        x, key = key, x
    return x, wg.expect.require(name, "key", key, "Key")


def _check_rate(rate: float) -> None:
    if not 0 <= rate < 1:
        raise wg.errors.OptionError(wg.errors.message(f"dropout: rate is {rate}; expected 0 <= rate < 1"))


# ----------------------------------------------------------------------------------------------------------- softmax


@wg.expect.checked
def softmax(x: Array, axis: Axes = -1) -> Array:
    """Return exp(x) / Σ exp(x), with the sum along ``axis``: shares from 0 to 1 that add up to 1.

    Parameters
    ----------
    x : float[..., n]. Where all of x is −inf, nothing has a share: 0.
    axis : an axis or several; by default the last, as JAX's has it, where SciPy's takes all axes.

    Raises
    ------
    ShapeError : ``x`` has no such axis.

    Examples
    --------
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
    """Return x − log Σ exp(x), with the sum along ``axis``: the logarithm of :func:`softmax`, right where that is 0.

    Parameters
    ----------
    x : float[..., n]. Where all of x is −inf, the result is NaN.
    axis : an axis or several; by default the last, as JAX's has it, where SciPy's takes all axes.

    Raises
    ------
    ShapeError : ``x`` has no such axis.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.log_softmax(np.array([800.0, 0.0]))
    array([   0., -800.])
    """
    shifted = x - _greatest("log_softmax", x, axis)
    return shifted - np.log(np.sum(np.exp(shifted), _axes(axis), keepdims=True))


@wg.expect.checked
def logsumexp(x: Array, axis: Axes = -1, keepdims: bool = False) -> Array:
    """Return log Σ exp(x), with the sum along ``axis``; nothing overflows.

    Parameters
    ----------
    x : float[..., n]. Where all of x is −inf, so is the result, with a derivative of 0.
    axis : an axis or several; by default the last, as JAX's has it, where SciPy's takes all axes.
    keepdims : whether the result keeps the axis, of length 1.

    Raises
    ------
    ShapeError : ``x`` has no such axis.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.logsumexp(np.array([[800.0, 800.0], [-np.inf, -np.inf]])).round(4)
    array([800.6931,     -inf])
    """
    greatest = _greatest("logsumexp", x, axis)
    total = np.sum(np.exp(x - greatest), _axes(axis), keepdims=True)
    result = np.where(total > 0, np.log(np.where(total > 0, total, 1)) + greatest, -np.inf)
    return result if keepdims else np.squeeze(result, _axes(axis))


def _greatest(where: str, x: Array, axis: Axes) -> Array:
    """Return the greatest element, as a constant, or 0 if all are −inf.

    What is subtracted from all elements changes no result of the functions above.
    """
    wg.expect.axes(where, x, axis)
    if x.size == 0:
        return np.zeros_like(np.sum(x, _axes(axis), keepdims=True))
    greatest = np.max(wg.stop_gradient(x), _axes(axis), keepdims=True)
    return np.where(greatest == -np.inf, 0, greatest)
