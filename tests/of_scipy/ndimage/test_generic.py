"""Filters of images on traced arrays: against SciPy, and differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import wengert as wg
from tests.differences import check

X = np.random.default_rng(3).standard_normal((4, 5))


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap"])
def test_generic_filter_in_each_mode(mode: str) -> None:
    check(lambda x: ndimage.generic_filter(x, lambda w: np.sum(w * w) * w[0], 3, mode=mode, cval=0.5), X)
    check(lambda x: ndimage.generic_filter(x, np.mean, (2, 3), origin=(0, -1), mode=mode), X)


@pytest.mark.deep("more than a second")
def test_generic_filter_of_a_footprint_and_of_axes() -> None:
    cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    check(lambda x: ndimage.generic_filter(x, lambda w, k, power=1: (w[0] - k * w[4]) ** power, footprint=cross,
                                           extra_arguments=(2.0,), extra_keywords={"power": 3}), X)  # fmt: skip
    check(lambda x: ndimage.generic_filter(x, lambda w: w[0] * w[-1], (2, 3), axes=(1, 0)), X)
    check(lambda x: ndimage.generic_filter(x, np.prod, 3, axes=(1,)), X)


def test_generic_filter_of_what_its_function_captures() -> None:
    """SciPy's code goes on with the exception pending that refuses a traced number, and then anything fails."""
    check(lambda p: ndimage.generic_filter(np.arange(4.0), lambda w: p * w[0], 3).sum(), np.array(1.5))
    with pytest.raises(ZeroDivisionError):
        wg.grad(lambda p: p * ndimage.generic_filter(np.ones(4), lambda w: 1 / 0, 3)[0])(1.0)


def test_generic_filter_refuses_what_scipy_refuses() -> None:
    for call in (
        lambda x: ndimage.generic_filter(x, np.max),
        lambda x: ndimage.generic_filter(x, np.max, 3, origin=2),
        lambda x: ndimage.generic_filter(x, np.max, 3, mode="?"),
        lambda x: ndimage.generic_filter(x, np.max, footprint=np.ones(3)),
    ):
        with pytest.raises((RuntimeError, ValueError)) as expected:
            call(X)
        with pytest.raises(expected.type):
            wg.jit(call)(X)


def test_vectorized_filter() -> None:
    if not hasattr(ndimage, "vectorized_filter"):
        pytest.skip("it came with SciPy 1.16")
    cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    check(lambda x: ndimage.vectorized_filter(x, np.median, size=3), X)
    check(lambda x: ndimage.vectorized_filter(x, np.prod, footprint=cross, mode="wrap"), X)
    check(lambda x: ndimage.vectorized_filter(x, np.sum, size=2, mode="valid"), X)
    check(lambda x: ndimage.vectorized_filter(x, np.max, size=3, axes=0, mode="constant", cval=0.25, origin=1), X)
