"""Polynomials, and functions along axes, against NumPy."""

from __future__ import annotations

import contextlib
import functools
import importlib
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial

import wengert as wg
from tests.differences import check
from tests.tracing.numpy_cases import case, floats, integers, same_as_numpy, verify
from wengert.errors import ConcretizationError

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
    case("polydiv", lambda a, b: (*np.polydiv(a, b), *np.polydiv(b, a)), V, V[:3]),
    case("polydiv by a number", lambda a, b: (*np.polydiv(a, b[0]), *np.polydiv(b[0], a)), V[:3], V[:3] + 3),
    case("polydiv of numbers", lambda a: (*np.polydiv(a, [2.0, 1.0]), *np.polydiv([1, 2], a)), V[:3]),
    case("polyval2d", lambda x, y, c: np.polynomial.polynomial.polyval2d(x, y, c), V, V + 1, X),
    case("polyval2d of numbers", lambda c: np.polynomial.polynomial.polyval2d(0.5, 2.0, c), X),
    case("polyval2d of a stack", lambda x, c: np.polynomial.polynomial.polyval2d(x, x * x, c), V, X3),
    case("polygrid2d", lambda x, y, c: np.polynomial.polynomial.polygrid2d(x, y, c), V[:2], V, X),
]  # fmt: skip


@pytest.mark.sampled(5, "a quarter of a second each")
@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float16])
def test_dtypes(dtype):
    same_as_numpy(np.vander, [integers(4, low=0, high=3).astype(dtype)])


def test_a_remainder_begins_where_it_is_not_zero():
    divisor = np.array([2.0, 1.0, -1.0])
    f = wg.jit(np.polydiv, strict=True)
    for quotient in ([1.0, 2.0, 4.0], [1.0, 0.0, 0.0]):
        for remainder in ([0.0], [2.0], [1.0, 3.0]):
            u = np.polyadd(np.polymul(quotient, divisor), remainder)
            for found, expected in zip(f(u, divisor), np.polydiv(u, divisor), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)
    for u in (np.array([4, 2, 3]), np.array([4, 2, 3], np.float32)):
        same_as_numpy(np.polydiv, [u, u[:2]])


OF_POLY1D = """
p(x)  (p * p).c  (p + x[0]).c  (p - np.poly1d(x[:2])).c  (-p).c  (p**2).c  p.deriv()(x)  p.integ()(x)  p.c  p[2]
p.o * x  p(p).c  np.poly1d(x, True).c  np.poly1d([1, 2.0])(x)  np.polyadd(p, x).c  np.polymul(x, p).c
np.polysub(p, x).c  np.polydiv(x, p)[0].c  np.polyval(x, p).c  len(p) * x  np.array(list(p))
(p * 2).c  np.poly1d([1, x[0]])(p).c
"""


@pytest.mark.needs_extension("NumPy's classes of numbers are called as they are, and refuse traced values")
def test_poly1d():
    texts = ", ".join(e for line in OF_POLY1D.strip().splitlines() for e in line.split("  "))
    f = eval(f"lambda x: (lambda p: ({texts}))(np.poly1d(x[1:]))", {"np": np})
    x = np.array([0.3, 0.7, 1.1, 1.9])
    same_as_numpy(f, [x])
    wg.check_derivatives(f, x, order=1)


FIT = np.linspace(-1, 2, 9), np.random.default_rng(3).standard_normal(9), np.linspace(0.5, 2, 9)


@pytest.mark.sampled(3, "a second each")
@pytest.mark.parametrize("deg", [0, 1, 3])
def test_polyfit(deg):
    x, y, w = FIT
    check(lambda x, y: np.polyfit(x, y, deg), x, y, rtol=1e-5)
    check(lambda y, w: np.polyfit(x, np.stack([y, y * y], 1), deg, w=w), y, w, rtol=1e-5)
    for found, expected in zip(
        wg.jit(lambda x, y: np.polyfit(x, y, deg, full=True))(x, y), np.polyfit(x, y, deg, full=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cov", [True, "unscaled"])
def test_polyfit_and_how_sure_it_is(cov):
    x, y, w = FIT
    f = lambda x, y: np.polyfit(x, y, 2, cov=cov)
    g = lambda y: np.polyfit(x, np.stack([y, np.sin(y)], 1), 1, w=w, cov=cov)
    for found, expected in zip((*wg.jit(f)(x, y), *wg.jit(g)(y)), (*f(x, y), *g(y)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    wg.check_derivatives(f, x, y, order=1)
    wg.check_derivatives(g, y, order=1)


def test_what_polyfit_refuses():
    x, y, w = FIT
    with pytest.raises(ValueError, match="exceed order"):
        wg.grad(lambda x: np.sum(np.polyfit(x, y[:3], 2, cov=True)[0]))(x[:3])
    for args, error in (((x, y, -1), ValueError), ((x[:3], y, 1), TypeError), ((x[None], y, 1), TypeError)):
        with pytest.raises(error):
            np.polyfit(*args)
        with pytest.raises(error):
            wg.grad(lambda x, args=args: np.sum(np.polyfit(x, *args[1:])))(args[0])
    with pytest.raises(TypeError, match="weights"):
        wg.grad(lambda x: np.sum(np.polyfit(x, y, 1, w=w[None])))(x)


# ----------------------------------------------------------------------------------------------- numpy.polynomial

BASES = {
    "polynomial": ("poly", Polynomial),
    "chebyshev": ("cheb", Chebyshev),
    "legendre": ("leg", Legendre),
    "hermite": ("herm", Hermite),
    "hermite_e": ("herme", HermiteE),
    "laguerre": ("lag", Laguerre),
}
FUNCTIONS = """
{0}val(x, c)  {0}val(0.5, c)  {0}val(x[:2], m)  {0}val(x, m, tensor=False)  {0}val2d(x, x[::-1], m)  {0}grid2d(x, c, m)
{0}val3d(x, x, x, t)  {0}grid3d(x, c, x, t)  {0}add(c, x)  {0}sub(x, c)  {0}mul(c, x)
{0}pow(c, 3)  {0}mulx(c)  {0}der(c)  {0}der(m, 2, axis=1)  {0}der(c, 3)
{0}int(c)  {0}int(c, 2, k=[1, c[0]], lbnd=x[1])  {0}int(m, axis=1, scl=2.0)  {0}vander(x, 3)  {0}vander2d(x, x, [2, 1])
{0}vander3d(x, x, x, [1, 1, 2])  {0}companion(c)  {0}fromroots(c)  {0}line(c[0], c[1])
"""
NOT_OF_POWERS = "{0}weight(x / 3)  {0}gauss(4)[0] * c[1]", "  {0}2poly(c)  poly2{0}(c)"
NOT_IN_BATCHES = """
{0}div(x, c)[0]  {0}div(x, c)[1]  {0}div(c, x)[1]  {0}fit(x, x**3 + c[0], 2)  {0}fit(x, m.T, [0, 2], w=x)
{0}fit(x, x**3, 1, full=True)[0]  {0}trim(c)
"""
OF_CLASSES = """
K(c)(x)  K(c)(x[1])  K(c, [0, 2], [-1, 1])(x)  K(c, [x[1], x[0]], [-1, 1])(x)  ((K(c) * K(x) + 2 - K(c)**2) / 2).coef
(K(x) // K(c)).coef  (K(x) % K(c)).coef  divmod(K(x), K(c))[1].coef  (x[0] * K(c)).coef  (K(c) - x[0])(x)  (-K(c)).coef
K(c).deriv(2)(x)  K(c).integ(1, k=[x[0]], lbnd=0.5)(x)  K.fit(x, x**2, 2)(x)  K.fit(x, x**2, 2, domain=[0, 2]).coef
K(c).convert(kind=P).coef  K(c).convert(domain=[0, 1]).coef  K.fromroots(c, domain=[0, 1])(x)
K(c).trim().coef  K(c).truncate(2).coef  K(c).cutdeg(1).coef  K(c).linspace(5)[1]  K([1, 2, 3.0])(x)  K.identity()(x)
K.basis(3)(x)  len(K(c)) * K(c).degree() * x  K(c).copy()(x)  np.array(list(K(c)))  K(c)(K(x)).coef  captured(x)
"""
DATA = floats(3, low=0.2) + 0.1, np.array([0.3, 0.7, 1.1, 1.9]), floats(3, 4), floats(2, 3, 2)


def together(expressions: str, prefix: str, **names):
    """All expressions, of a vector, points, a matrix and a tensor of coefficients, as one function."""
    texts = [e for line in expressions.format(prefix).strip().splitlines() for e in line.split("  ")]
    return eval(f"lambda c, x, m, t: ({', '.join(texts)},)", {"np": np, **names})


@pytest.mark.sampled(6, "every function of six families of the same form")
@pytest.mark.parametrize("module", BASES)
def test_functions_of_numpy_polynomial(module):
    prefix, _ = BASES[module]
    names = vars(importlib.import_module(f"numpy.polynomial.{module}"))
    own, not_in_batches = ("polyvalfromroots(x, c)", "") if prefix == "poly" else NOT_OF_POWERS
    verify(together(f"{FUNCTIONS.strip()}  {own}", prefix, **names), DATA, order=1)
    f = together(NOT_IN_BATCHES.strip() + not_in_batches, prefix, **names)
    same_as_numpy(f, DATA)
    wg.check_derivatives(f, *DATA, order=1)


@pytest.mark.sampled(6, "every class of six families of the same form")
@pytest.mark.parametrize("module", BASES)
def test_classes_of_numpy_polynomial(module):
    _, cls = BASES[module]
    f = together(OF_CLASSES, "", K=cls, P=Polynomial, captured=cls([1.0, -2.0, 0.5], [0, 2]))
    same_as_numpy(f, DATA)
    wg.check_derivatives(f, *DATA, order=1)
    wg.check_derivatives(lambda c, x: (cls(c) ** 2 + 1).deriv()(x), *DATA[:2], order=2)


def test_zeros_at_the_end_of_coefficients_are_looked_at():
    f = wg.jit(lambda c: (Legendre(c) * Legendre(c)).coef, strict=True)
    for c in ([1.0, 2.0], [1.0, 0.0], [0.0, 0.0]):
        np.testing.assert_array_equal(f(np.array(c)), (Legendre(c) * Legendre(c)).coef)
    rows = np.array([[1.0, 2.0], [1.0, 0.0]])
    np.testing.assert_array_equal(
        wg.vmap(lambda c: (Legendre(c) * Legendre(c)).coef)(rows), [(Legendre([1, 2]) ** 2).coef, [1, 0, 0]]
    )


def test_what_a_batch_cannot_do_is_refused_for_what_it_is():
    """Operators of polynomials take any error for one of types: TypeError, unsupported operand types."""
    for f in (lambda c: (Legendre([1.0, 2.0]) // Legendre(c)).coef, lambda c: Legendre(c).trim().coef):
        with pytest.raises(ConcretizationError, match=r"(?s)which has none: vmap.*test_polynomials\.py"):
            wg.vmap(f)(np.ones((2, 2)))

    def mine(c):
        with contextlib.suppress(ConcretizationError):
            bool(c[0] > 0)
        word: Any = "x"
        return len(c) // word

    with pytest.raises(TypeError, match="unsupported operand"):
        wg.vmap(mine)(np.ones((2, 2)))


def test_a_captured_polynomial_is_read_at_every_call():
    p = Chebyshev([1.0, 2.0, 3.0])
    f = wg.jit(lambda x: p(x), strict=True)
    x = DATA[1]
    for change in (
        lambda: None,
        lambda: p.coef.__setitem__(0, 9.0),
        lambda: setattr(p, "coef", np.array([1.0, 5.0])),
        lambda: setattr(p, "domain", np.array([0.0, 2.0])),
    ):
        change()
        np.testing.assert_allclose(f(x), p(x), rtol=1e-14)


def test_nodes_of_a_quadrature_are_numpys_arrays():
    """They may be kept, by a cache, beyond the trace."""
    nodes = functools.cache(np.polynomial.legendre.leggauss)

    def f(x):
        t, w = nodes(5)
        assert type(t) is np.ndarray and type(Polynomial.basis(2).coef) is np.ndarray
        return np.sum(w * np.exp(x * t))

    check(f, 0.3)
    check(lambda x: f(x) + 1, 0.3)


# ----------------------------------------------------------------------------------------------- roots, matrices

OF_ROOTS = [[1.0, -3, 2], [0.0, 1, 2, 5, 0], [2.0, 0], [1.0, 2, 3, 4], [1.0, 2j, 3], [0.0, 1, 1j, 2, 0, 0]]


@pytest.mark.sampled(2, "every polynomial is compiled")
@pytest.mark.parametrize("p", OF_ROOTS, ids=str)
def test_roots(p):
    p = np.array(p)
    found, expected = wg.jit(np.roots)(p), np.roots(p)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    _, pullback = wg.vjp(np.roots, p)
    ct = np.arange(1, len(expected) + 1).astype(expected.dtype)
    inner = np.trim_zeros(p)  # roots at zero stay there: the zeros were found
    r = np.roots(inner)
    powers = r[:, None] ** np.arange(len(inner))[::-1]
    slopes = -np.sum((ct[: len(r)] / np.polyval(np.polyder(inner), r))[:, None] * powers, 0)  # dr = -rᵏ dpₖ / p'(r)
    wanted = np.zeros(len(p), slopes.dtype)
    wanted[np.flatnonzero(p)[0] :][: len(inner)] = slopes
    np.testing.assert_allclose(pullback(ct)[0], wanted if p.dtype == complex else wanted.real, rtol=1e-9, atol=1e-12)


def test_roots_of_special_polynomials():
    f = wg.jit(np.roots)
    for p in ([0.0, 0.0], [3.0], [1, 2, 3]):
        np.testing.assert_allclose(f(np.array(p)), np.roots(p), rtol=1e-12)
    stack = np.array([[1.0, -3, 2], [1.0, 2, 5]])
    np.testing.assert_allclose(wg.vmap(np.roots)(stack), [np.roots(p) for p in stack], rtol=1e-12)
    double = np.array([1.0, -2, 1])
    assert np.isnan(wg.grad(lambda p: np.abs(np.roots(p)[0]))(double)).any()
    with pytest.raises(ValueError, match="rank-1"):
        f(stack)


def test_poly_of_roots_that_are_pairs_and_of_matrices():
    f = wg.jit(np.poly)
    a = np.array([[1.0, 2], [-3, 4]])
    for x in (np.array([1j, -1j, 2]), np.array([1j, 2]), a, a @ a.T, a * 1j):
        found, expected = f(x), np.poly(x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(wg.grad(lambda a: np.poly(a)[2])(a), [[4, 3], [-2, 1]], rtol=1e-12)  # the determinant
    with pytest.raises(ValueError, match="square"):
        f(np.ones((2, 3)))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("c", [[2.0, -3, 1.5, 0.5], [2.0, 1, 1.5, -0.7], [1.0, 2]], ids=str)
def test_roots_in_other_bases(base, c):
    _, kind = BASES[base]
    check(lambda c: kind(c).roots(), np.array(c), rtol=1e-6)
