"""Differences, gradients, integrals, interpolation and rounding against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

import wengert as wg
from tests.tracing.numpy_cases import case, floats, integers, same_as_numpy, verify

X = floats(3, 4)
X3 = floats(3, 3, 4)
S = floats(4, 4)
V = floats(6)
T = np.cumsum(floats(6, low=0.2, seed=4))
KNOTS = np.array([-1.5, -0.4, 0.3, 1.1])

CASES = [
    case("diff", lambda x: (np.diff(x), np.diff(x, axis=0), np.diff(x, n=2), np.diff(x, n=0)), X),
    case("diff_ends", lambda x: np.diff(x, prepend=0.0, append=x[:, :2]), X),
    case("ediff1d", lambda x: (np.ediff1d(x), np.ediff1d(x, to_begin=[1.0, 2.0], to_end=x[0])), V),
    case("gradient", lambda x: np.gradient(x), X),
    case("gradient_axis", lambda x: (np.gradient(x, 0.5, axis=1), np.gradient(x, axis=(1, 0))), X),
    case("gradient_spacings", lambda x: np.gradient(x, 2.0, np.array([0.0, 1.0, 1.5, 3.0])), X),
    case("gradient_uneven", lambda x, t: (np.gradient(x, t), np.gradient(x, t, edge_order=2)), V, T),
    case("gradient_edges", lambda x: np.gradient(x, edge_order=2), X3),
    case("gradient_of_h", lambda x, h: np.gradient(x, h[0]), V, T),
    case("trapezoid", lambda x: (np.trapezoid(x), np.trapezoid(x, dx=0.5, axis=0)), X),
    case("trapezoid_x", lambda y, t: (np.trapezoid(y, t), np.trapezoid(y, y**2)), V, T),
    case("trapezoid_x_axis", lambda y, t: np.trapezoid(y, t, axis=0), X, T[:3]),
    case("unwrap", lambda x: np.unwrap(x), np.array([0.0, 1.0, 4.5, 8.0, 7.0, 0.5])),
    case("unwrap_period", lambda x: np.unwrap(x, period=3.0, axis=0), floats(5, 2, low=-5, high=5)),
    case("interp", lambda x, k, v: np.interp(x, k, v), X, KNOTS, V[:4]),
    case("interp_ends", lambda x, v: np.interp(x, KNOTS, v, left=-7.0, right=v[0]), X, V[:4]),
    case("interp_concrete", lambda x: np.interp(x, KNOTS, [1.0, 2.0, 4.0, 8.0]), X),
    case("interp_scalar", lambda x: np.interp(x[0], KNOTS, KNOTS**2), V),
    case("interp_period", lambda x, v: np.interp(x, [0.5, 0.1, 0.9], v, period=1.0), V, X[0, :3]),
    case("interp_one_knot", lambda x, v: np.interp(x, [0.3], v), V, V[:1]),
    case("round", lambda x: (np.round(x), np.round(x, 1), x.round(2), np.around(x * 100, -1)), X, order=0),
    case("clip", lambda x: (np.clip(x, -0.5, 0.5), x.clip(0), np.clip(x, None, x[0])), X),
    case("clip_keywords", lambda x: (x.clip(max=1), np.clip(x, min=0), np.clip(x, None, None)), X),
    case("nan_to_num", lambda x: np.nan_to_num(x), X),
    case("real", lambda x: (np.real(x), np.imag(x), x.real, x.imag, x.conj(), np.real_if_close(x)), X),
    case("angle", lambda x: (np.angle(x), np.angle(x, deg=True)), X, order=0),
    case("sinc", lambda x: np.sinc(x), np.array([-2.3, -0.4, 0.05, 0.3, 1.0])),
]  # fmt: skip


@pytest.mark.sampled(5, "a tenth of a second each")
@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float16])
def test_dtypes(dtype):
    n = integers(4, 4, low=0, high=3).astype(dtype)
    same_as_numpy(lambda n: (np.diff(n), np.round(n), np.nan_to_num(n)), [n])
    if dtype is not bool:
        same_as_numpy(lambda n: (np.trapezoid(n), np.clip(n, 0, 1), np.interp(n, [0, 1, 3], [3, 4, 5])), [n])
        same_as_numpy(lambda n: np.gradient(n), [n])


def test_special_values():
    x = np.array([np.nan, np.inf, -np.inf, 1.0, -0.0])
    same_as_numpy(lambda x: (np.nan_to_num(x), np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-2.0)), [x])
    same_as_numpy(lambda x: (np.interp(x, KNOTS, KNOTS), np.clip(x, -1, 1), np.sinc(x[3:])), [x])


def test_interp_at_its_knots():
    same_as_numpy(lambda x: np.interp(x, KNOTS, V[:4]), [KNOTS])
    slope = wg.grad(lambda x: np.interp(x, KNOTS, V[:4]))
    assert slope(-3.0) == 0 and slope(3.0) == 0
    np.testing.assert_allclose(slope(1.1), (V[3] - V[2]) / (KNOTS[3] - KNOTS[2]))


def test_i0_is_scipys():
    same_as_numpy(lambda x: np.i0(x), [np.array([0.0, 0.5, 3.0])])
    np.testing.assert_allclose(wg.grad(np.i0)(2.0), special.i1(2.0), rtol=1e-15)


@pytest.mark.parametrize("dtype", list("?bBhHiIqQefd"))
@pytest.mark.parametrize("f", [np.i0, np.angle, np.sinc, np.unwrap, np.nan_to_num], ids=lambda f: f.__name__)
def test_dtypes_are_numpys(f: Any, dtype: str) -> None:
    x = np.array([1, 0, 1]).astype(dtype)
    want, got = f(x), wg.jit(f)(x)
    assert want.dtype == got.dtype
    np.testing.assert_allclose(got, want, rtol=1e-3)


def test_sinc_at_zero_has_its_derivatives():
    assert wg.grad(np.sinc)(0.0) == 0.0
    np.testing.assert_allclose(wg.grad(wg.grad(np.sinc))(0.0), -(np.pi**2) / 3)


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")  # by NumPy 2.5, which still has it
def test_fix() -> None:
    same_as_numpy(np.fix, [X])


@pytest.mark.filterwarnings("ignore:(invalid value|overflow) encountered")
@pytest.mark.parametrize("decimals", [1, -1, 0, 308, 309, -400])
def test_rounding_is_numpys_far_out_and_of_each_part_of_a_complex_number(decimals: int) -> None:
    """NaN or infinity in one part made NaN of the other; 10 to the power of 309 raised."""
    z = np.array([complex(np.inf, 1.26), complex(1.0, -np.inf), 1.25 + 2.35j, complex(np.nan, 2.26), -0.0 - 0.04j])
    for x in (z, z.real, z[2], 1.25):
        same_as_numpy(lambda x: np.round(x, decimals), [x])
