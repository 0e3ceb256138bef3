"""Filters of Fourier transforms: against SciPy, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from tests.differences import check, check_value

X = np.random.default_rng(0).standard_normal((4, 5))
F = np.fft.fft2(X)


@pytest.mark.sampled(3, "each filter is compared in both directions")
@pytest.mark.parametrize("name", ["fourier_gaussian", "fourier_uniform", "fourier_ellipsoid", "fourier_shift"])
def test_each_filter(name: str) -> None:
    f = getattr(ndimage, name)

    def all_at_once(z: Any, s: Any) -> Any:
        return f(z, s) * f(z, s, n=9, axis=1) + f(z[0], s[0]) * f(z[None], s[1])[0]

    check(all_at_once, F, np.array([1.2, 0.7]))
    check_value(lambda x: f(x, 0.5), X.astype(np.float32))
    check_value(lambda x: f(x, 0.5), np.arange(12).reshape(3, 4))
