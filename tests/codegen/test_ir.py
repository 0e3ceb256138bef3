"""LLVM IR, written through values that behave like numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.comparisons import as_numpy


@pytest.mark.parametrize("n", [3, 100])
def test_signed_and_unsigned_integers_of_one_width_in_one_kernel(n: int) -> None:
    """LLVM's code for both is the same text; the value of one was taken for the other's."""
    a, b = np.arange(n).astype("u4"), np.arange(-1, n - 1).astype("i4")
    as_numpy(lambda a: (a > 0) + 0, a.astype("u8"))
    as_numpy(lambda a, b: (a > 5) + (b * 5), a, b)
    as_numpy(lambda a, b: (a == 0) | (b == 0), a, b)
