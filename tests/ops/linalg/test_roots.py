"""Roots of polynomials: every rule by the checker of ops, ill-conditioned and multiple ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.ops.cases import complex_numbers, shapes
from tests.ops.check_op import Case, case, check_op

CASES = [
    *[
        case("roots", shapes(n + 1), numpy=lambda p: np.roots(p) + 0j, note=f"degree {n}", rtol=1e-6)
        for n in (1, 2, 3, 5)
    ],
    case("roots", complex_numbers(4), numpy=np.roots, dtypes="DF", note="complex", rtol=1e-6),
    case("roots", shapes(2, 4), note="stack", rtol=1e-6),
    case("roots", shapes(2, 1), note="constants"),
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_rules(one: Case) -> None:
    check_op(one)


@pytest.mark.parametrize("n", [5, 8, 10, 12])
def test_many_roots(n: int) -> None:
    """Of (x - 1) (x - 2) ... (x - n), whose companion matrix has vectors that are nearly dependent."""
    exact = np.arange(1.0, n + 1)
    p = np.poly(exact)
    found = np.roots(p)
    exact = exact[np.argmin(np.abs(found[:, None] - exact), axis=1)]
    slopes = [np.prod(x - np.delete(exact, k)) for k, x in enumerate(exact)]
    ct = np.random.default_rng(0).normal(size=n)
    expected = -np.sum((ct / slopes)[:, None] * exact[:, None] ** np.arange(n, -1, -1), 0)
    _, pullback = wg.vjp(np.roots, p)
    np.testing.assert_allclose(pullback(ct)[0], expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def test_multiple_roots_have_no_derivative() -> None:
    """Never a large number; the simple ones beside them have theirs."""
    for multiple in ([1.0, 1], [1, 1, 1], [2, 2, 2, 2], [1j, 1j]):
        p = np.poly([*multiple, -3])
        _, tangent = wg.jvp(np.roots, (p,), (np.ones_like(p),))
        is_simple = np.abs(np.roots(p) + 3) < 1e-3
        assert np.isnan(tangent[~is_simple]).all()
        assert np.isfinite(tangent[is_simple]).all()
        assert is_simple.sum() == 1


def test_a_jacobian_of_a_holomorphic_function() -> None:
    p = np.array([1.0, 2j, 3 - 1j])
    found: Any = wg.jacobian(np.roots)(p)
    r = np.roots(p)
    np.testing.assert_allclose(found, -np.vander(r, 3) / np.polyval(np.polyder(p), r)[:, None], rtol=1e-12)


def test_a_double_root_alone_has_no_derivative() -> None:
    """Of a polynomial of degree 2, that rounding splits in two; of two that lie apart each has one."""
    for double in (0.1, 1.0, 0.3 + 0.7j):
        p = np.poly([double, double])
        assert np.isnan(wg.jvp(np.roots, (p,), (np.array([0.0, 1, 2]),))[1]).all()
    for first, second in ((0.1, 0.2), (1.0, -3.0), (2.0, 2.001)):
        p, dp = np.poly([first, second]), np.array([0.0, 1, 2])
        x = np.roots(p)
        np.testing.assert_allclose(wg.jvp(np.roots, (p,), (dp,))[1], -np.polyval(dp, x) / np.polyval([2, p[1]], x))
