"""Polynomials, and functions along axes, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tracing.numpy_cases import case, floats, integers, record, same_as_numpy, verify
from wengert.errors import UnsupportedFunctionError

X = floats(3, 4)
X3 = floats(3, 3, 4)
V = floats(6)


CASES = [
    case("polyval", lambda c, x: (np.polyval(c, x), np.polyval([1.0, 2.0], x)), V[:4], X),
    case("poly_arithmetic", lambda a, b: (np.polyadd(a, b), np.polysub(b, a), np.polymul(a, b)), V[:4], V[:2]),
    case("polyder", lambda a: (np.polyder(a), np.polyder(a, 2)), V),
    case("polyint", lambda a: (np.polyint(a), np.polyint(a, 2, k=[1.0, 2.0])), V),
    case("vander", lambda x: (np.vander(x), np.vander(x, 3, increasing=True)), V),
    case("apply_along_axis", lambda x: np.apply_along_axis(lambda r: r[::-1] * r[0], 1, x), X),
    case("apply_along_axis_to_scalars", lambda x: np.apply_along_axis(np.sum, 0, x), X),
    case("apply_over_axes", lambda x: np.apply_over_axes(np.sum, x, [0, 2]), X3),
]  # fmt: skip


@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float16])
def test_dtypes(dtype):
    same_as_numpy(np.vander, [integers(4, low=0, high=3).astype(dtype)])


def test_refused():
    with pytest.raises(UnsupportedFunctionError, match=r"np\.polyfit is not traced"):
        record(lambda x: np.polyfit(x, x, 1), [V])
