"""Differences, gradients, interpolation, rounding, diagonals, polynomials and questions against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

import wengert as wg
from tests.tracing.numpy_cases import case, floats, integers, record, same_as_numpy, verify
from wengert.errors import UnsupportedFunctionError

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
    case("diagonal", lambda x: (np.diagonal(x), np.diagonal(x, 1), x.diagonal(-2)), X),
    case("diagonal_axes", lambda x: (np.diagonal(x, axis1=1, axis2=2), np.diagonal(x, 1, 0, 2)), X3),
    case("diag", lambda x: (np.diag(x), np.diag(x, -1), np.diag(x[0]), np.diag(x[0], 2), np.diag(x[0], -1)), S),
    case("diagflat", lambda x: np.diagflat(x, 1), X),
    case("trace", lambda x: (np.trace(x), np.trace(x, 1), np.trace(x, -1)), X),
    case("trace_axes", lambda x: np.trace(x, axis1=0, axis2=1), X3),
    case("triangles", lambda x: (np.tril(x), np.triu(x), np.tril(x, -1), np.triu(x, 2)), X),
    case("triangles_of_a_vector", lambda x: (np.tril(x), np.triu(x, -1)), V),
    case("triangles_3d", lambda x: (np.tril(x, 1), np.triu(x)), X3),
    case("indices_from", lambda x: (x[np.tril_indices_from(x)], x[np.triu_indices_from(x, 1)]), S),
    case("diag_indices_from", lambda x: x[np.diag_indices_from(x)], S),
    case("fill_diagonal", lambda x, v: _filled_diagonal(x, v), S, V[:4]),
    case("fill_diagonal_number", lambda x: _filled_diagonal(x, 3.0), floats(5, 3)),
    case("meshgrid", lambda x, y: np.meshgrid(x, y), V, T),
    case("meshgrid_sparse", lambda x, y: np.meshgrid(x, y, sparse=True, indexing="ij"), V, T),
    case("ix", lambda x: x[np.ix_([0, 2], [1, 3])], X),
    case("ix_traced", lambda x: np.ix_(x, x[:2]), V),
    case("polyval", lambda c, x: (np.polyval(c, x), np.polyval([1.0, 2.0], x)), V[:4], X),
    case("poly_arithmetic", lambda a, b: (np.polyadd(a, b), np.polysub(b, a), np.polymul(a, b)), V[:4], V[:2]),
    case("polyder", lambda a: (np.polyder(a), np.polyder(a, 2)), V),
    case("polyint", lambda a: (np.polyint(a), np.polyint(a, 2, k=[1.0, 2.0])), V),
    case("vander", lambda x: (np.vander(x), np.vander(x, 3, increasing=True)), V),
    case("apply_along_axis", lambda x: np.apply_along_axis(lambda r: r[::-1] * r[0], 1, x), X),
    case("apply_along_axis_to_scalars", lambda x: np.apply_along_axis(np.sum, 0, x), X),
    case("apply_over_axes", lambda x: np.apply_over_axes(np.sum, x, [0, 2]), X3),
    case("isclose", lambda x, y: (np.isclose(x, y), np.allclose(x, x), np.allclose(x, y)), X, -X, order=0),
    case("array_equal", lambda x: (np.array_equal(x, x), np.array_equal(x, x[0])), X, order=0),
    case("array_equiv", lambda x: (np.array_equiv(x, x[:1]), np.array_equiv(x, x[:, :2])), X, order=0),
    case("isreal", lambda x: (np.isreal(x), np.iscomplex(x), np.isposinf(x), np.isneginf(x)), X, order=0),
    case("astype", lambda x: np.astype(x, np.float32), X, order=0),
]  # fmt: skip


def _filled_diagonal(x, value):
    y = x * 1.0
    assert np.fill_diagonal(y, value) is None
    return y


@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float16])
def test_dtypes(dtype):
    n = integers(4, 4, low=0, high=3).astype(dtype)
    same_as_numpy(lambda n: (np.diff(n), np.tril(n), np.diag(n), np.diag(n[0]), np.trace(n), np.round(n)), [n])
    same_as_numpy(lambda n: (np.diagonal(n), np.nan_to_num(n), np.vander(n[0])), [n])
    if dtype is not bool:
        same_as_numpy(lambda n: (np.trapezoid(n), np.clip(n, 0, 1), np.interp(n, [0, 1, 3], [3, 4, 5])), [n])
        same_as_numpy(lambda n: np.gradient(n), [n])


def test_special_values():
    x = np.array([np.nan, np.inf, -np.inf, 1.0, -0.0])
    f = lambda x: (np.nan_to_num(x), np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-2.0), np.isposinf(x), np.isneginf(x))
    same_as_numpy(f, [x])
    same_as_numpy(
        lambda x: (np.isclose(x, x), np.isclose(x, x, equal_nan=True), np.array_equal(x, x, equal_nan=True)), [x]
    )
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


def test_shapes_and_dtypes_are_known():
    def f(x):
        assert np.shape(x) == (3, 4) and np.ndim(x) == 2 and np.size(x) == 12 and np.size(x, 0) == 3
        assert np.result_type(x, np.float32) == np.float64 and np.can_cast(x, np.float64)
        assert np.isrealobj(x) and not np.iscomplexobj(x) and np.common_type(x) is np.float64
        assert np.result_type(x.astype(np.float32), 3.0) == np.float32
        return x

    tape, *_ = record(f, [X])
    assert [i.op.name for i in tape.instrs] == ["convert"]


def test_refused():
    with pytest.raises(UnsupportedFunctionError, match=r"np\.polyfit is not traced"):
        record(lambda x: np.polyfit(x, x, 1), [V])


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")  # by NumPy 2.5, which still has it
def test_fix() -> None:
    same_as_numpy(np.fix, [X])
