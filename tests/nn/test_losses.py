"""Losses against SciPy and formulas, their derivatives, and labels that are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import wengert as wg
from wengert import nn

RNG = np.random.default_rng(0)
Z, P = RNG.normal(size=(6, 4)), scipy.special.softmax(RNG.normal(size=(6, 4)), -1)
CLASSES = np.array([0, 3, 3, 1, 2, 0])
SIGNS = np.where(RNG.random((6, 4)) < 0.5, -1.0, 1.0)


def test_cross_entropy() -> None:
    log_p = scipy.special.log_softmax(Z, -1)
    each = -log_p[np.arange(6), CLASSES]
    for f in (nn.cross_entropy, wg.jit(nn.cross_entropy)):
        np.testing.assert_allclose(f(Z, CLASSES), each.mean())
        np.testing.assert_allclose(f(Z, P), -(P * log_p).sum(-1).mean())
    np.testing.assert_allclose(nn.cross_entropy(Z, CLASSES, reduction="none"), each)
    np.testing.assert_allclose(nn.cross_entropy(Z.T, CLASSES, axis=0), each.mean())
    smooth = 0.9 * np.eye(4)[CLASSES] + 0.025
    np.testing.assert_allclose(
        nn.cross_entropy(Z, CLASSES, label_smoothing=0.1, reduction="sum"), -(smooth * log_p).sum()
    )
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    expected = (each * weights[CLASSES]).sum() / weights[CLASSES].sum()
    np.testing.assert_allclose(nn.cross_entropy(Z, CLASSES, weights=weights), expected)
    ct = wg.grad(nn.cross_entropy)(Z, CLASSES)
    np.testing.assert_allclose(ct, (np.exp(log_p) - np.eye(4)[CLASSES]) / 6, atol=1e-15)
    wg.check_derivatives(nn.cross_entropy, Z, P)
    far = np.array([[800.0, -800.0]])
    np.testing.assert_array_equal(nn.cross_entropy(far, np.array([1])), 1600)
    np.testing.assert_array_equal(wg.grad(nn.cross_entropy)(far, np.array([1])), [[1, -1]])


def test_labels_that_are_no_classes() -> None:
    for wrong in (np.array([0, 1, 2, 3, 4, 0]), np.array([0, 1, 2, 3, -1, 0])):
        for f in (nn.cross_entropy, wg.jit(nn.cross_entropy)):
            with pytest.raises(IndexError):
                f(Z, wrong)
    with pytest.raises(wg.errors.ShapeError, match=r"labels \(5,\)"):
        nn.cross_entropy(Z, CLASSES[:5])
    with pytest.raises(wg.errors.ShapeError):
        nn.cross_entropy(Z, P[:, :3])


CASES: dict[str, tuple[Any, Any, Any]] = {
    "squared_error": (nn.squared_error, P, lambda a, b: (a - b) ** 2),
    "absolute_error": (nn.absolute_error, P, lambda a, b: abs(a - b)),
    "huber": (nn.huber, P * 5, lambda a, b: scipy.special.huber(1, a - b)),
    "binary_cross_entropy": (
        nn.binary_cross_entropy, P,
        lambda z, y: -y * scipy.special.log_expit(z) - (1 - y) * scipy.special.log_expit(-z),
    ),
    "kl_divergence": (nn.kl_divergence, P, lambda log_q, p: (p * (np.log(p) - log_q)).sum(-1)),
    "cosine": (nn.cosine, P,
               lambda a, b: 1 - np.einsum("ij,ij->i", a, b) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)),
    "hinge": (nn.hinge, SIGNS, lambda s, y: np.maximum(0, 1 - s * y)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_others(name: str) -> None:
    f, target, formula = CASES[name]
    each = formula(Z, target)
    np.testing.assert_allclose(f(Z, target, reduction="none"), each)
    np.testing.assert_allclose(f(Z, target), each.mean())
    np.testing.assert_allclose(f(Z, target, reduction="sum"), each.sum())
    np.testing.assert_allclose(wg.jit(f)(Z, target), each.mean())
    wg.check_derivatives(lambda z: f(z, target), Z)
    assert f(Z.astype("f"), target.astype("f")).dtype == np.float32
    with pytest.raises(wg.errors.ShapeError, match=name):
        f(Z, target[:, :1])
    with pytest.raises(ValueError, match="reduction"):
        f(Z, target, reduction="avg")


def test_far_from_the_middle() -> None:
    z, y = np.array([800.0, -800.0]), np.array([0.0, 0.0])
    np.testing.assert_array_equal(nn.binary_cross_entropy(z, y, "none"), [800, 0])
    np.testing.assert_array_equal(wg.grad(nn.binary_cross_entropy)(z, y), [0.5, 0])
    np.testing.assert_array_equal(nn.kl_divergence(np.log(P), np.where(P > 0.5, 1.0, 0.0)) >= 0, True)
    np.testing.assert_array_equal(nn.cosine(np.zeros((1, 3)), np.ones((1, 3))), 1)
    assert np.all(np.isfinite(wg.grad(nn.cosine)(np.zeros((1, 3)), np.ones((1, 3)))))


def test_accuracy() -> None:
    assert nn.accuracy(Z, Z.argmax(-1)) == 1 and nn.accuracy(Z, np.eye(4)[Z.argmax(-1)]) == 1
    assert nn.accuracy(Z, (Z.argmax(-1) + 1) % 4) == 0


def test_a_class_that_cannot_be_costs_nothing_where_it_is_not() -> None:
    """A logit of −inf made the loss and its gradient NaN, though its class has no share in the label."""
    logits, labels = np.array([[1.0, -np.inf, 2.0], [0.0, 0.0, -np.inf]]), np.array([2, 0])
    expected = (np.log1p(np.exp(-1.0)) + np.log(2.0)) / 2
    shares = np.eye(3)[labels]
    for f in (nn.cross_entropy, lambda z, labels: nn.kl_divergence(nn.log_softmax(z), shares)):
        for call in (wg.value_and_grad(f), wg.jit(wg.value_and_grad(f))):
            value, gradient = call(logits, labels)
            np.testing.assert_allclose(value, expected, rtol=1e-14)
            np.testing.assert_allclose(gradient, (nn.softmax(logits) - shares) / 2, rtol=1e-14, atol=1e-16)
    assert nn.cross_entropy(logits, np.array([1, 0])) == np.inf


@pytest.mark.parametrize("delta", [0.0, -1.0, np.nan])
def test_an_error_that_is_not_positive_is_no_border(delta: float) -> None:
    """With a negative one the loss was negative."""
    with pytest.raises(wg.errors.OptionError, match="expected more than 0"):
        nn.huber(np.ones(2), np.zeros(2), delta)
