"""Losses. ``reduction`` says what becomes of one number a sample: "mean", "sum" or "none"."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

import wengert as wg
from wengert.nn.activations import relu, softplus
from wengert.nn.normalisation import log_softmax

Array = Any
RealArray = Any


@wg.expect.checked
def squared_error(prediction: Array, target: Array, reduction: str = "mean") -> Array:
    """(prediction − target)², of each element.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.squared_error(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    np.float64(2.0)
    """
    _check_same("squared_error", prediction, target)
    return reduced((prediction - target) ** 2, reduction)


@wg.expect.checked
def absolute_error(prediction: Array, target: Array, reduction: str = "mean") -> Array:
    """|prediction − target|, of each element."""
    _check_same("absolute_error", prediction, target)
    return reduced(np.abs(prediction - target), reduction)


@wg.expect.checked
def huber(prediction: Array, target: Array, delta: float = 1.0, reduction: str = "mean") -> Array:
    """e² / 2 where the error e is at most ``delta``, delta (|e| − delta / 2) beyond (Huber 1964)."""
    _check_same("huber", prediction, target)
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
    """−Σ p log softmax(logits) along ``axis``.

    Parameters
    ----------
    logits : [..., classes], or the classes along ``axis``.
    labels : integers [...], the classes themselves; or probabilities of the shape of ``logits``.
    label_smoothing : so much of each label is spread evenly over the classes.
    weights : one a class; the mean is then over the weights of the labels.

    Raises
    ------
    ShapeError : shapes that do not fit.
    IndexError : a label is not in 0 ... classes − 1.

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
    each = -np.sum(p * log_softmax(logits), -1)
    if weights is not None and reduction == "mean":
        return np.sum(each) / np.sum(p)
    return reduced(each, reduction)


def _one_hot(labels: Array, classes: int, dtype: Any) -> Array:
    """[..., classes]; raises IndexError for a label that is no class."""
    rows = np.concatenate([np.eye(classes, dtype=dtype)])
    return rows[np.where(labels < 0, classes, labels)]


@wg.expect.checked
def binary_cross_entropy(logits: RealArray, labels: RealArray, reduction: str = "mean") -> Array:
    """−y log σ(z) − (1 − y) log(1 − σ(z)), of logits z and labels y in [0, 1]."""
    _check_same("binary_cross_entropy", logits, labels)
    return reduced(softplus(logits) - labels * logits, reduction)


@wg.expect.checked
def kl_divergence(log_q: RealArray, p: RealArray, axis: int = -1, reduction: str = "mean") -> Array:
    """Σ p (log p − log q) along ``axis``, of logarithms of the model's probabilities and of probabilities p."""
    _check_same("kl_divergence", log_q, p)
    wg.expect.axes("kl_divergence", p, axis, "p")
    return reduced(np.sum(special.xlogy(p, p) - p * log_q, axis), reduction)


@wg.expect.checked
def cosine(a: Array, b: Array, axis: int = -1, epsilon: float = 1e-8, reduction: str = "mean") -> Array:
    """1 − a·b / (|a| |b|) along ``axis``; a norm below ``epsilon`` counts as that."""
    _check_same("cosine", a, b)
    wg.expect.axes("cosine", a, axis, "a")
    norms = [np.sqrt(np.maximum(np.sum(x * x, axis), epsilon**2)) for x in (a, b)]
    return reduced(1 - np.sum(a * b, axis) / (norms[0] * norms[1]), reduction)


@wg.expect.checked
def hinge(scores: Array, labels: Array, margin: float = 1.0, reduction: str = "mean") -> Array:
    """max(0, margin − y s), of scores s and labels y that are −1 or 1."""
    _check_same("hinge", scores, labels)
    return reduced(relu(margin - labels * scores), reduction)


@wg.expect.checked
def accuracy(logits: Array, labels: Array) -> Array:
    """The share of samples whose greatest logit is their label, an integer; or, as a class, their most probable one."""
    wg.expect.ndim("accuracy", "logits", logits, 1, "[..., classes]")
    if logits.shape[-1] == 0 or labels.shape not in (logits.shape, logits.shape[:-1]):
        what = f"accuracy: labels {labels.shape} for logits {logits.shape}; expected {logits.shape[:-1]}"
        raise wg.errors.ShapeError(wg.errors.message(what))
    if labels.ndim == logits.ndim:
        labels = np.argmax(labels, -1)
    return np.mean(np.argmax(logits, -1) == labels)


def _check_same(name: str, a: Array, b: Array) -> None:
    """No loss broadcasts: (n, 1) with (n,) would be n² errors, silently."""
    if a.shape != np.shape(b):
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"{name}: shapes {a.shape} and {np.shape(b)}; expected one",
                tries=["y.reshape(prediction.shape)"],
            )
        )


def reduced(each: Array, reduction: str) -> Array:
    """The mean or the sum of one number a sample, or all of them."""
    if reduction == "mean":
        return np.mean(each)
    if reduction == "sum":
        return np.sum(each)
    if reduction == "none":
        return each
    raise wg.errors.OptionError(wg.errors.message(f'reduction is "{reduction}"; expected "mean", "sum" or "none"'))
