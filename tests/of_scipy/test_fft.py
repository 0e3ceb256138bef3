"""Hankel transforms on traced arrays: against SciPy, and differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import fft

from tests.differences import check

NUMBERS = [np.array(x) for x in (0.3, 0.7, 0.2, 0.1)]


@pytest.mark.parametrize("n", [8, 9])
def test_hankel_transforms_in_every_argument(n: int) -> None:
    a = np.random.default_rng(n).standard_normal((2, n))
    check(lambda a, dln, mu, offset, bias: fft.fht(a, dln, mu, offset, bias), a, *NUMBERS, rtol=1e-6)
    check(lambda a, dln, mu, offset, bias: fft.ifht(a, dln, mu, offset, bias), a, *NUMBERS, rtol=1e-6)


def test_the_offset() -> None:
    check(lambda dln, mu, initial, bias: fft.fhtoffset(dln, mu, initial, bias), *NUMBERS)
