"""Linear filters on traced arrays: against SciPy, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import wengert as wg
from tests.differences import check, check_value, same

RNG = np.random.default_rng(0)
X = RNG.standard_normal((5, 6))
W, W2 = RNG.standard_normal(4), RNG.standard_normal((3, 2))
MODES = ["constant", "reflect", "nearest", "mirror", "wrap", "grid-wrap"]


@pytest.mark.sampled(5, "each mode is compared in both directions")
@pytest.mark.parametrize("mode", MODES)
def test_correlations_and_convolutions(mode: str) -> None:
    def all_at_once(x: Any, w: Any, w2: Any) -> Any:
        options = {"mode": mode, "cval": 0.3}
        found = ndimage.correlate1d(x, w, 0, origin=1, **options) * ndimage.convolve1d(x, w, 1, origin=-1, **options)
        found = found + ndimage.correlate(x, w2, origin=(1, -1), **options)
        return found * ndimage.convolve(x, w2, origin=(-1, 0), **options)

    check(all_at_once, X, W, W2)


def test_uniform_filters_and_axes() -> None:
    check(lambda x: ndimage.uniform_filter(x, (3, 4), origin=(1, -1), mode=("wrap", "mirror")), X)
    check(lambda x: ndimage.uniform_filter1d(x, 3, 0) * ndimage.uniform_filter(x, 2, axes=1), X)
    check(lambda x, w: ndimage.correlate(x, w, axes=(1,)) + ndimage.convolve(x, w, axes=0), X, W)


def test_gaussian_filters_have_derivatives_in_sigma() -> None:
    check(lambda x, s: ndimage.gaussian_filter(x, s, order=(1, 0), mode="nearest"), X, np.array([0.7, 1.2]))
    check(lambda x, s: ndimage.gaussian_filter1d(x, s, 0, order=3), X, np.array(1.1))
    check(lambda x, s: ndimage.gaussian_laplace(x, s) * ndimage.gaussian_gradient_magnitude(x, s), X, np.array(0.8))
    check_value(lambda x: ndimage.gaussian_filter(x, 1.0, radius=2, axes=(0,)), X)
    check_value(lambda x: ndimage.gaussian_filter(x, 0.0), X)


def test_slopes_of_images() -> None:
    check(lambda x: ndimage.sobel(x) * ndimage.prewitt(x, 0) + ndimage.laplace(x, mode="wrap"), X)

    def second(x: Any, axis: int, output: Any, mode: Any, cval: Any, factor: float, power: int = 1) -> Any:
        return ndimage.correlate1d(x, [factor, -2, 1], axis, output, mode, cval) ** power

    options = {"extra_arguments": (1.5,), "extra_keywords": {"power": 1}}
    check(lambda x: ndimage.generic_laplace(x, second, **options), X)
    check(lambda x: ndimage.generic_gradient_magnitude(x, ndimage.sobel), X)
    assert not np.any(wg.grad(lambda x: np.sum(ndimage.generic_gradient_magnitude(x, ndimage.sobel)))(np.ones((4, 4))))


def test_a_function_of_lines() -> None:
    def reversed_sum(line: Any, out: Any) -> None:
        out[...] = line[:-2] * line[2:]

    check(lambda x: ndimage.generic_filter1d(x, reversed_sum, 3, axis=0), X)


@pytest.mark.machine_code("rounding decides an element that is cut off to an integer, and falls out as SciPy's there")
def test_dtypes_and_targets() -> None:
    single, whole = X.astype(np.float32), np.arange(30).reshape(5, 6)
    for x in (single, whole):
        check_value(lambda x: ndimage.gaussian_filter(x, 1.0), x)
        check_value(lambda x: ndimage.correlate1d(x, [1, 2, 1]), x)
        check_value(lambda x: ndimage.uniform_filter(x, 3, output=float), x)
    z = X + 1j * X[::-1]
    check(lambda z, w: ndimage.correlate1d(z, w) + ndimage.convolve(z, w[:, None]), z, W + 0.5j)

    def into_output(x: Any) -> Any:
        out = np.empty((5, 6))
        ndimage.sobel(x, output=out)
        return out

    check(into_output, X)
    blurred = lambda x: ndimage.gaussian_filter1d(x, 1.0)
    same(wg.vmap(blurred)(X), np.stack([blurred(x) for x in X]))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ndimage.correlate1d(x, W, origin=5),
        lambda x: ndimage.correlate1d(x, W2),
        lambda x: ndimage.correlate(x, W),
        lambda x: ndimage.correlate(x, W2, mode="unknown"),
        lambda x: ndimage.gaussian_filter(x, 1.0, order=-1),
        lambda x: ndimage.gaussian_filter(x, (1.0, 2.0, 3.0)),
        lambda x: ndimage.uniform_filter1d(x, 0),
        lambda x: ndimage.uniform_filter(x, 3, axes=(0, 0)),
        lambda x: ndimage.gaussian_filter(x, 1.0, output=np.zeros(3)) if isinstance(x, np.ndarray)
        else ndimage.gaussian_filter(x, 1.0, output=x[0]),
    ],
)  # fmt: skip
def test_errors_are_scipys(call: Any) -> None:
    with pytest.raises((RuntimeError, ValueError)) as expected:
        call(X)
    with pytest.raises(expected.type) as found:
        wg.jit(call)(X)
    assert str(found.value)[:16] == str(expected.value)[:16]


def test_a_correlation_by_hand() -> None:
    dx = wg.grad(lambda x: ndimage.correlate1d(x, [1.0, 2.0, 4.0], mode="constant")[1])(np.zeros(4))
    np.testing.assert_array_equal(dx, [1, 2, 4, 0])
