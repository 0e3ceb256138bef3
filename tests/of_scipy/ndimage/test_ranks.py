"""Filters by rank, and grey morphology: against SciPy, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import wengert as wg
from tests.differences import check, check_value

RNG = np.random.default_rng(0)
X, S = RNG.standard_normal((5, 6)), RNG.standard_normal((3, 2))
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
GREY = ["grey_erosion", "grey_dilation", "grey_opening", "grey_closing", "white_tophat", "black_tophat",
        "morphological_gradient", "morphological_laplace"]  # fmt: skip


@pytest.mark.sampled(3, "each mode is compared in both directions")
@pytest.mark.parametrize("mode", ["constant", "reflect", "nearest", "mirror", "wrap"])
def test_ranks_in_each_mode(mode: str) -> None:
    def all_at_once(x: Any) -> Any:
        options = {"mode": mode, "cval": 0.3}
        found = ndimage.maximum_filter(x, (3, 2), origin=(1, 0), **options) * ndimage.minimum_filter1d(
            x, 3, 0, **options
        )
        found = found + ndimage.median_filter(x, (3, 2), **options) * ndimage.rank_filter(x, -2, 3, **options)
        return found * ndimage.percentile_filter(x, 30, footprint=CROSS, **options)

    check(all_at_once, X)


@pytest.mark.sampled(5, "each function is compared in both directions")
@pytest.mark.parametrize("name", GREY)
def test_grey_morphology(name: str) -> None:
    f = getattr(ndimage, name)

    def all_at_once(x: Any, s: Any) -> Any:
        return f(x, (3, 2)) * f(x, footprint=CROSS, mode="wrap") + f(x, structure=s, origin=(1, 0))

    check(all_at_once, X, S)


def test_footprints_axes_and_dtypes() -> None:
    check(lambda x: ndimage.minimum_filter(x, footprint=CROSS) * ndimage.maximum_filter(x, 3, axes=1), X)
    check_value(lambda x: ndimage.median_filter(x, 3), (10 * X).astype(np.int32))
    check_value(lambda x: ndimage.grey_erosion(x, 3), X.astype(np.float32))
    check_value(lambda x: ndimage.maximum_filter(x, 3, output=np.float32), X)
    check_value(lambda x: ndimage.median_filter(x, 4), X[0])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ndimage.maximum_filter(x),
        lambda x: ndimage.maximum_filter(x + 1j, 3),
        lambda x: ndimage.maximum_filter1d(x, 3, origin=4),
        lambda x: ndimage.rank_filter(x, 40, 3),
        lambda x: ndimage.percentile_filter(x, 140, 3),
        lambda x: ndimage.grey_erosion(x),
        lambda x: ndimage.minimum_filter(x, footprint=CROSS[0]),
        lambda x: ndimage.minimum_filter(x, footprint=CROSS * 0),
    ],
)
def test_errors_are_scipys(call: Any) -> None:
    with pytest.raises((RuntimeError, ValueError, TypeError)) as expected:
        call(X)
    with pytest.raises(expected.type) as found:
        wg.jit(call)(X)
    assert str(found.value)[:16] == str(expected.value)[:16]


def test_a_median_by_hand() -> None:
    dx = wg.grad(lambda x: ndimage.median_filter(x, 3)[1])(np.array([3.0, 1.0, 2.0, 9.0]))
    np.testing.assert_array_equal(dx, [0, 0, 1, 0])


def test_truths_by_a_structure_are_refused() -> None:
    """SciPy's own result depends on where in the array a window lies."""
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="truths by a structure"):
        wg.jit(lambda x: ndimage.white_tophat(x > 0, structure=np.ones((3, 3), bool)), strict=True)(np.eye(4))
