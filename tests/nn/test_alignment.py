"""The loss of sequences against all of their alignments, one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.special

import wengert as wg
from wengert import nn

RNG = np.random.default_rng(0)
LOG_P = scipy.special.log_softmax(RNG.normal(size=(5, 6, 4)), -1)
LABELS = np.array([[1, 2, 3], [2, 2, 1], [3, 1, 0], [1, 1, 1], [2, 0, 0]])
LENGTHS, LABEL_LENGTHS = np.array([6, 5, 4, 5, 6]), np.array([3, 3, 2, 3, 0])


def by_alignments(log_p: Any, labels: Any, blank: int) -> float:
    """The paths that read as the labels, where repetitions are joined first and blanks left out then."""
    total = 0.0
    for path in itertools.product(range(log_p.shape[1]), repeat=log_p.shape[0]):
        if [k for k, _ in itertools.groupby(path) if k != blank] == list(labels):
            total += np.exp(log_p[np.arange(len(path)), path].sum())
    return -np.log(total)


@pytest.mark.sampled(2, "a second each")
@pytest.mark.parametrize("blank", [0, 3])
def test_all_alignments(blank: int) -> None:
    labels = LABELS if blank == 0 else LABELS - 1
    expected = [
        by_alignments(p[:n], y[:m], blank) for p, y, n, m in zip(LOG_P, labels, LENGTHS, LABEL_LENGTHS, strict=True)
    ]
    f = lambda p, labels: nn.ctc_loss(p, labels % 4, LENGTHS, LABEL_LENGTHS, blank=blank, reduction="none")
    for way in (f, wg.jit(f)):
        np.testing.assert_allclose(way(LOG_P, labels), expected, rtol=1e-12)
    assert f(LOG_P.astype("f"), labels).dtype == np.float32
    np.testing.assert_allclose(nn.ctc_loss(LOG_P, labels % 4, LENGTHS, LABEL_LENGTHS, blank=blank), np.mean(expected))
    wg.check_derivatives(lambda p: f(p, labels), LOG_P)


def test_lengths_may_be_left_out() -> None:
    expected = [by_alignments(p, y, 0) for p, y in zip(LOG_P[:2], LABELS[:2], strict=True)]
    np.testing.assert_allclose(nn.ctc_loss(LOG_P[:2], LABELS[:2], reduction="none"), expected)
    nothing = np.zeros((5, 0), int)
    np.testing.assert_allclose(nn.ctc_loss(LOG_P, nothing, reduction="none"), -LOG_P[:, :, 0].sum(-1))


def test_too_few_steps_are_infinitely_unlikely_and_have_no_nan() -> None:
    f = lambda p: nn.ctc_loss(p, LABELS[3:4], reduction="sum")  # three equal labels need five steps
    assert f(LOG_P[3:4, :4]) == np.inf and f(LOG_P[3:4, :5]) < np.inf
    np.testing.assert_array_equal(wg.grad(f)(LOG_P[3:4, :4]), 0)


def test_the_cotangent_is_the_share_of_each_class() -> None:
    ct = -wg.jit(wg.grad(lambda p: nn.ctc_loss(p, LABELS[:2], reduction="sum")))(LOG_P[:2])
    np.testing.assert_allclose(ct.sum(-1), 1)  # at every step something is emitted
    assert (ct > -1e-15).all()


def test_what_is_wrong() -> None:
    for args in ((LOG_P[0], LABELS), (LOG_P, LABELS[0]), (LOG_P[:4], LABELS), (LOG_P[:, :0], LABELS)):
        with pytest.raises(wg.errors.ShapeError, match="ctc_loss"):
            nn.ctc_loss(*args)
    with pytest.raises(wg.errors.ShapeError, match="ctc_loss"):
        nn.ctc_loss(LOG_P, LABELS, LENGTHS[:2])
    for wrong in (LABELS + 1, LABELS - 1):
        with pytest.raises(IndexError):
            nn.ctc_loss(LOG_P, wrong)
    with pytest.raises(ValueError, match="reduction"):
        nn.ctc_loss(LOG_P, LABELS, reduction="avg")
