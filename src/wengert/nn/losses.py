"""Losses. ``reduction`` says what becomes of one number a sample: "mean", "sum" or "none"."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

import wengert as wg
from wengert.nn.activations import relu, softplus
from wengert.nn.normalisation import log_softmax
from wengert.nn.params import Array, RealArray


@wg.expect.checked
def squared_error(prediction: Array, target: Array, reduction: str = "mean") -> Array:
    """Return (prediction − target)² of each element, reduced.

    Parameters
    ----------
    prediction, target : float[...], of one shape: nothing is broadcast.
    reduction : "mean" of all elements, their "sum", or "none" of it, float[...].

    Raises
    ------
    ShapeError : the shapes differ.
    OptionError : another ``reduction``.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.squared_error(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    np.float64(2.0)
    """
    _check_same("squared_error", prediction, target)
    return reduced((prediction - target) ** 2, reduction)


@wg.expect.checked
def absolute_error(prediction: Array, target: Array, reduction: str = "mean") -> Array:
    """Return |prediction − target| of each element, reduced. The derivative is 0 where they are equal.

    Parameters
    ----------
    prediction, target : float[...], of one shape: nothing is broadcast.
    reduction : "mean" of all elements, their "sum", or "none" of it, float[...].

    Raises
    ------
    ShapeError : the shapes differ.
    OptionError : another ``reduction``.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.absolute_error(np.array([1.0, 3.0]), np.array([2.0, 1.0]), reduction="none")
    array([1., 2.])
    """
    _check_same("absolute_error", prediction, target)
    return reduced(np.abs(prediction - target), reduction)


@wg.expect.checked
def huber(prediction: Array, target: Array, delta: float = 1.0, reduction: str = "mean") -> Array:
    """Return e² / 2 of each error e = prediction − target up to ``delta``, delta (|e| − delta / 2) beyond, reduced.

    Source: Huber (1964), Robust estimation of a location parameter.

    Parameters
    ----------
    prediction, target : float[...], of one shape: nothing is broadcast.
    delta : the error at which the loss goes on as a straight line, in units of ``prediction``; greater than 0.
    reduction : "mean" of all elements, their "sum", or "none" of it, float[...].

    Raises
    ------
    ShapeError : the shapes differ.
    OptionError : another ``reduction``, or a ``delta`` that is not greater than 0.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.huber(np.array([0.5, 3.0]), np.zeros(2), reduction="none")
    array([0.125, 2.5  ])
    """
    _check_same("huber", prediction, target)
    if not delta > 0:
        raise wg.errors.OptionError(wg.errors.message(f"huber: delta is {delta}; expected more than 0"))
    error = np.abs(prediction - target)
    near = np.where(error < delta, error, delta)
    return reduced(near * near / 2 + delta * (error - near), reduction)


@wg.expect.checked
def cross_entropy(
    logits: Array,
    labels: Array,
    *,
    axis: int = -1,
    label_smoothing: float = 0.0,
    weights: Array | None = None,
    reduction: str = "mean",
) -> Array:
    """Return −Σ p log softmax(logits) along ``axis``, where p are the labels, reduced.

    Parameters
    ----------
    logits : float[..., classes], or the classes along ``axis``; −inf for a class that cannot be.
    labels : integers [...], the classes themselves; or probabilities of the shape of ``logits``.
    axis : the axis of ``logits`` that has the classes.
    label_smoothing : so much of each label, from 0 to 1, is spread evenly over the classes.
    weights : float[classes]; the mean is then over the weights of the labels.
    reduction : "mean" of all samples, their "sum", or "none" of it, float[...].

    Raises
    ------
    ShapeError : shapes that do not fit.
    IndexError : a label is not in 0 ... classes − 1.
    OptionError : another ``reduction``.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.cross_entropy(np.array([[0.0, 800.0]]), np.array([1]))
    np.float64(0.0)
    """
    wg.expect.axes("cross_entropy", logits, axis, "logits")
    logits = np.moveaxis(logits, axis, -1)
    classes = logits.shape[-1]
    labels = np.asarray(labels)
    is_class = labels.dtype.kind in "iu"
    if is_class and labels.shape != logits.shape[:-1]:
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"cross_entropy: labels {labels.shape} for logits {logits.shape}; expected {logits.shape[:-1]}",
                tries=["probabilities as floats, of the shape of the logits"],
            )
        )
    if is_class:
        p = _one_hot(labels, classes, logits.dtype)
    else:
        p = np.moveaxis(labels, axis, -1)
        _check_same("cross_entropy", logits, p)
    if label_smoothing:
        p = p * (1 - label_smoothing) + label_smoothing / classes
    if weights is not None:
        wg.expect.fits("cross_entropy", "weights", weights, "the classes", (classes,))
        p = p * weights
    each = -np.sum(_shares(p, log_softmax(logits)), -1)
    if weights is not None and reduction == "mean":
        return np.sum(each) / np.sum(p)
    return reduced(each, reduction)


def _shares(p: Array, log_q: Array) -> Array:
    """Return p log q, which is 0 where p is 0 and log q is −inf, with derivatives of 0."""
    return p * np.where((p == 0) & (log_q == -np.inf), 0, log_q)


def _one_hot(labels: Array, classes: int, dtype: Any) -> Array:
    """Return rows [..., classes] with a 1 at each label; raises IndexError for a label that is no class."""
    rows = np.concatenate([np.eye(classes, dtype=dtype)])
    return rows[np.where(labels < 0, classes, labels)]


@wg.expect.checked
def binary_cross_entropy(logits: RealArray, labels: RealArray, reduction: str = "mean") -> Array:
    """Return −y log σ(z) − (1 − y) log(1 − σ(z)) of logits z and labels y, with σ the sigmoid, reduced.

    Parameters
    ----------
    logits : float[...], any real numbers: the sigmoid is part of the loss, and nothing overflows.
    labels : float[...], of the shape of ``logits``, in [0, 1].
    reduction : "mean" of all elements, their "sum", or "none" of it, float[...].

    Raises
    ------
    ShapeError : the shapes differ.
    OptionError : another ``reduction``.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.binary_cross_entropy(np.array([0.0, 800.0, 800.0]), np.array([1.0, 1.0, 0.0]), "none").round(4)
    array([6.931e-01, 0.000e+00, 8.000e+02])
    """
    _check_same("binary_cross_entropy", logits, labels)
    return reduced(softplus(logits) - labels * logits, reduction)


@wg.expect.checked
def kl_divergence(log_q: RealArray, p: RealArray, axis: int = -1, reduction: str = "mean") -> Array:
    """Return Σ p (log p − log q) along ``axis``, reduced: the divergence of p from the model's q. 0 log 0 is 0.

    Parameters
    ----------
    log_q : float[..., classes], logarithms of the model's probabilities, as of :func:`~wengert.nn.log_softmax`.
    p : float[..., classes], probabilities.
    axis : the one that is summed over.
    reduction : "mean" of all samples, their "sum", or "none" of it, float[...].

    Raises
    ------
    ShapeError : the shapes differ, or have no such axis.
    OptionError : another ``reduction``.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.kl_divergence(np.log(np.array([[0.5, 0.5]])), np.array([[1.0, 0.0]])).round(4)
    np.float64(0.6931)
    """
    _check_same("kl_divergence", log_q, p)
    wg.expect.axes("kl_divergence", p, axis, "p")
    return reduced(np.sum(special.xlogy(p, p) - _shares(p, log_q), axis), reduction)


@wg.expect.checked
def cosine(a: Array, b: Array, axis: int = -1, epsilon: float = 1e-8, reduction: str = "mean") -> Array:
    """Return 1 − a·b / (|a| |b|) along ``axis``, reduced: 0 for one direction, 2 for opposite ones.

    Parameters
    ----------
    a, b : float[..., n], of one shape.
    axis : the one along which they are vectors.
    epsilon : a norm below this counts as this, so that nothing is divided by 0.
    reduction : "mean" of all samples, their "sum", or "none" of it, float[...].

    Raises
    ------
    ShapeError : the shapes differ, or have no such axis.
    OptionError : another ``reduction``.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.cosine(np.array([[1.0, 0.0], [3.0, 0.0]]), np.array([[0.0, 2.0], [5.0, 0.0]]), reduction="none")
    array([1., 0.])
    """
    _check_same("cosine", a, b)
    wg.expect.axes("cosine", a, axis, "a")
    norms = [np.sqrt(np.maximum(np.sum(x * x, axis), epsilon**2)) for x in (a, b)]
    return reduced(1 - np.sum(a * b, axis) / (norms[0] * norms[1]), reduction)


@wg.expect.checked
def hinge(scores: Array, labels: Array, margin: float = 1.0, reduction: str = "mean") -> Array:
    """Return max(0, margin − y s) of each score s and label y, reduced.

    Parameters
    ----------
    scores : float[...]
    labels : of the shape of ``scores``, −1 or 1.
    margin : the score in the direction of the label from which on nothing is lost.
    reduction : "mean" of all elements, their "sum", or "none" of it, float[...].

    Raises
    ------
    ShapeError : the shapes differ.
    OptionError : another ``reduction``.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.hinge(np.array([2.0, -0.5]), np.array([1.0, 1.0]), reduction="none")
    array([0. , 1.5])
    """
    _check_same("hinge", scores, labels)
    return reduced(relu(margin - labels * scores), reduction)


@wg.expect.checked
def accuracy(logits: Array, labels: Array) -> Array:
    """Return the share of samples whose greatest logit is the one of their label, from 0 to 1. Its derivative is 0.

    Parameters
    ----------
    logits : float[..., classes]
    labels : integers [...], the classes themselves; or probabilities [..., classes], of which the greatest counts.

    Raises
    ------
    ShapeError : the shapes do not fit, or there are no classes.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.accuracy(np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([1, 1]))
    np.float64(0.5)
    """
    wg.expect.ndim("accuracy", "logits", logits, 1, "[..., classes]")
    if logits.shape[-1] == 0 or labels.shape not in (logits.shape, logits.shape[:-1]):
        what = f"accuracy: labels {labels.shape} for logits {logits.shape}; expected {logits.shape[:-1]}"
        raise wg.errors.ShapeError(wg.errors.message(what))
    if labels.ndim == logits.ndim:
        labels = np.argmax(labels, -1)
    return np.mean(np.argmax(logits, -1) == labels)


def _check_same(name: str, a: Array, b: Array) -> None:
    """Raise ShapeError unless the shapes are equal: to broadcast (n, 1) with (n,) would be n² errors, silently."""
    if a.shape != np.shape(b):
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"{name}: the shapes are {a.shape} and {np.shape(b)}; expected equal ones",
                tries=["y.reshape(prediction.shape)"],
            )
        )


def reduced(each: Array, reduction: str) -> Any:
    """Return the mean or the sum of one number a sample, or all of them."""
    if reduction == "mean":
        return np.mean(each)
    if reduction == "sum":
        return np.sum(each)
    if reduction == "none":
        return each
    raise wg.errors.OptionError(wg.errors.message(f'reduction is "{reduction}"; expected "mean", "sum" or "none"'))
