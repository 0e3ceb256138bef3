"""Filters of splines: in every mode, also of arrays so short that SciPy's are not symmetric."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.differences import check
from wengert.ops.splines import spline_filter
from wengert.tracing.arguments import array
from wengert.tracing.emit import record


@pytest.mark.parametrize("mode", ["mirror", "reflect", "grid-wrap", "nearest", "constant"])
@pytest.mark.parametrize("n", [1, 2, 7, 80])
def test_the_transpose_in_each_mode(mode: str, n: int) -> None:
    x = np.random.default_rng(n).standard_normal((n, 2))
    for order in (2, 5):
        params = {"order": order, "axis": 0, "mode": mode, "is_transposed": False}
        squared = lambda x, p=params: record(spline_filter, (array(x),), p) ** 2
        y, pullback = wg.vjp(squared, x)
        ct = np.cos(np.arange(y.size)).reshape(y.shape)
        _, dy = wg.jvp(squared, (x,), (ct,))
        assert np.sum(pullback(ct)[0] * ct) == pytest.approx(np.sum(ct * dy), rel=1e-11)


def test_a_spline_goes_through_its_values() -> None:
    from scipy import ndimage

    x = np.random.default_rng(0).standard_normal(9)
    c = wg.jit(lambda x: ndimage.spline_filter1d(x))(x)
    np.testing.assert_allclose((c[:-2] + 4 * c[1:-1] + c[2:]) / 6, x[1:-1], rtol=1e-12)
    check(lambda x: ndimage.spline_filter1d(x, 4), x)
