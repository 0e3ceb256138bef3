"""autograd's convolution beside NumPy's and SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

import wengert.autograd.scipy.signal as signal
from wengert.autograd.test_util import check_grads


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize(("a", "b"), [((7,), (3,)), ((3,), (7,)), ((5, 4), (2, 3)), ((4,), (4,))])
def test_it_is_the_convolution_of_scipy(a: tuple[int, ...], b: tuple[int, ...], mode: str) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=a), rng.normal(size=b)
    assert np.allclose(signal.convolve(x, y, mode=mode), scipy.signal.convolve(x, y, mode=mode))
    check_grads(lambda x, y: signal.convolve(x, y, mode=mode), (0, 1), modes=["rev"], order=1)(x, y)


def test_axes_are_convolved_summed_or_left_alone() -> None:
    rng = np.random.default_rng(1)
    images, filters = (
        rng.normal(size=(2, 3, 6, 5)),
        rng.normal(size=(3, 4, 2, 2)),
    )  # samples, channels; channels, filters
    found = signal.convolve(images, filters, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid")
    assert found.shape == (2, 4, 5, 4)
    one = sum(scipy.signal.convolve(images[1, c], filters[c, 2], mode="valid") for c in range(3))
    assert np.allclose(found[1, 2], one)
    swapped = signal.convolve(filters, images, axes=([2, 3], [2, 3]), dot_axes=([0], [1]), mode="valid")
    assert np.allclose(swapped, np.swapaxes(found, 0, 1))


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(Exception, match="One array must be larger"):
        signal.convolve(np.ones((3, 1)), np.ones((1, 3)), mode="valid")
    with pytest.raises(AssertionError, match="undefined"):
        signal.convolve(np.ones(3), np.ones(3), mode="circular")
