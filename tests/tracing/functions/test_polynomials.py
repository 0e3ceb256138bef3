"""Polynomials, and functions along axes, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.tracing.functions.differences import check
from tests.tracing.numpy_cases import case, floats, integers, same_as_numpy, verify
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
    case("poly", np.poly, floats(4)),
    case("poly of one root", np.poly, floats(1)),
    case("polyval2d", lambda x, y, c: np.polynomial.polynomial.polyval2d(x, y, c), V, V + 1, X),
    case("polyval2d of numbers", lambda c: np.polynomial.polynomial.polyval2d(0.5, 2.0, c), X),
    case("polyval2d of a stack", lambda x, c: np.polynomial.polynomial.polyval2d(x, x * x, c), V, X3),
    case("polygrid2d", lambda x, y, c: np.polynomial.polynomial.polygrid2d(x, y, c), V[:2], V, X),
]  # fmt: skip


@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float16])
def test_dtypes(dtype):
    same_as_numpy(np.vander, [integers(4, low=0, high=3).astype(dtype)])


FIT = np.linspace(-1, 2, 9), np.random.default_rng(3).standard_normal(9), np.linspace(0.5, 2, 9)


@pytest.mark.parametrize("deg", [0, 1, 3])
def test_polyfit(deg):
    x, y, w = FIT
    check(lambda x, y: np.polyfit(x, y, deg), x, y, rtol=1e-5)
    check(lambda y, w: np.polyfit(x, np.stack([y, y * y], 1), deg, w=w), y, w, rtol=1e-5)
    for found, expected in zip(
        wg.jit(lambda x, y: np.polyfit(x, y, deg, full=True))(x, y), np.polyfit(x, y, deg, full=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_what_polyfit_refuses():
    x, y, w = FIT
    with pytest.raises(UnsupportedFunctionError, match="cov=True"):
        wg.grad(lambda x: np.sum(np.polyfit(x, y, 1, cov=True)[0]))(x)
    for args, error in (((x, y, -1), ValueError), ((x[:3], y, 1), TypeError), ((x[None], y, 1), TypeError)):
        with pytest.raises(error):
            np.polyfit(*args)
        with pytest.raises(error):
            wg.grad(lambda x, args=args: np.sum(np.polyfit(x, *args[1:])))(args[0])
    with pytest.raises(TypeError, match="weights"):
        wg.grad(lambda x: np.sum(np.polyfit(x, y, 1, w=w[None])))(x)
