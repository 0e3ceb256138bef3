"""Roots within traced functions: derivatives of the implicit function theorem, by hand and by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import wengert as wg
from tests.of_scipy.optimize.solutions import check_solution


def square(t: Any, p: Any) -> Any:
    return t * t - p


def pair(y: Any, p: Any) -> Any:
    """y0 + y1 = p, y0 y1 = 1/2."""
    return [y[0] + y[1] - p, y[0] * y[1] - 0.5]


ONE_NUMBER = {
    "brentq": lambda p: optimize.brentq(lambda t: t * t - p, 0, 2),
    "brenth": lambda p: optimize.brenth(square, 0, 2, (p,)),
    "ridder": lambda p: optimize.ridder(square, 0, 2, args=(p,)),
    "bisect": lambda p: optimize.bisect(square, 0, 2, args=p, xtol=1e-13),
    "toms748": lambda p: optimize.toms748(square, 0, 2, (p,), 2),
    "secant": lambda p: optimize.newton(square, 1.0, args=(p,), tol=1e-13),
    "newton": lambda p: optimize.newton(square, 1.0, lambda t, p: 2 * t, (p,), tol=1e-13),
    "halley": lambda p: optimize.newton(square, 1.0, lambda t, p: 2 * t, (p,), fprime2=lambda t, p: 2.0, tol=1e-13),
    "newton of arrays": lambda p: (
        np.sum(optimize.newton(lambda t: t * t - np.array([p, p]), np.ones(2), tol=1e-13)) / 2
    ),
    "root_scalar": lambda p: optimize.root_scalar(square, args=(p,), bracket=(0, 2)).root,
    "root_scalar newton": lambda p: (
        optimize.root_scalar(lambda t: (t * t - p, 2 * t), x0=1.0, fprime=True, xtol=1e-13).root
    ),
    "fsolve": lambda p: optimize.fsolve(square, 1.0, args=(p,), xtol=1e-13)[0],
    "fixed_point": lambda p: optimize.fixed_point(lambda t: (t + p / t) / 2, 1.0, xtol=1e-13),
}


@pytest.mark.parametrize("name", ONE_NUMBER)
def test_square_roots(name: str) -> None:
    f, p = ONE_NUMBER[name], 1.3
    assert f(p) == pytest.approx(p**0.5, rel=1e-9)
    value, tangent = wg.jvp(f, (p,), (1.0,))
    assert value == pytest.approx(f(p), rel=1e-12)
    assert tangent == pytest.approx(0.5 / p**0.5, rel=1e-8)
    both = wg.jit(lambda p: (wg.grad(f)(p), wg.grad(wg.grad(f))(p)))
    for at in (p, 1.5):
        assert both(at)[0] == pytest.approx(0.5 / at**0.5, rel=1e-8)
        assert both(at)[1] == pytest.approx(-0.25 / at**1.5, rel=1e-8)
    ps = np.array([1.1, 1.7])
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(ps), 0.5 / np.sqrt(ps), rtol=1e-8)


def by_formula(p: Any) -> Any:
    half = np.sqrt(p**2 / 4 - 0.5)
    return np.array([p / 2 + half, p / 2 - half])


SYSTEMS = {
    "hybr": lambda p: optimize.root(pair, [2.0, 0.1], (p,), tol=1e-13).x,
    "lm": lambda p: optimize.root(lambda y: pair(y, p), np.array([2.0, 0.1]), method="lm", tol=1e-13).x,
    "jac": lambda p: (
        optimize.root(pair, [2.0, 0.1], (p,), jac=lambda y, p: np.array([[1.0, 1.0], [y[1], y[0]]]), tol=1e-13).x
    ),
    "fsolve": lambda p: optimize.fsolve(pair, [2.0, 0.1], (p,), xtol=1e-13),
    "krylov": lambda p: (
        optimize.root(lambda y: np.array(pair(y, p)), np.array([2.0, 0.2]), method="krylov", tol=1e-11).x
    ),
    "df-sane": lambda p: (
        optimize.root(
            lambda y: np.array(pair(y, p)), np.array([1.7, 0.2]), method="df-sane", options={"fatol": 1e-11}
        ).x
    ),
    "broyden1": lambda p: optimize.broyden1(lambda y: np.array(pair(y, p)), np.array([1.7, 0.2]), f_tol=1e-12),
    "newton_krylov": lambda p: optimize.newton_krylov(
        lambda y: np.array(pair(y, p)), np.array([1.7, 0.2]), f_tol=1e-12
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems(name: str) -> None:
    f, p = SYSTEMS[name], 2.0
    np.testing.assert_allclose(wg.jvp(f, (p,), (1.0,))[0], f(p), rtol=1e-9)
    np.testing.assert_allclose(wg.jacobian(f)(p), wg.jacobian(by_formula)(p), rtol=1e-7)
    np.testing.assert_allclose(
        wg.jit(wg.jacobian(wg.jacobian(f)))(2.1), wg.jacobian(wg.jacobian(by_formula))(2.1), rtol=1e-6
    )


def test_results_have_scipys_fields() -> None:
    def f(p: Any) -> Any:
        found = optimize.root(pair, [2.0, 0.1], (p,))
        assert isinstance(found, optimize.OptimizeResult) and found["x"] is found.x
        if not found.success:
            raise ValueError("no root")
        x, info = optimize.brentq(square, 0, 2, (p,), full_output=True)
        assert isinstance(info, optimize.RootResults) and info.method == "brentq"
        y, facts, ier, _ = optimize.fsolve(pair, [2.0, 0.1], (p,), full_output=True)
        return found.x[0] + 0 * (found.nfev + info.iterations + facts["nfev"] + ier) + x + np.sum(y) + found.fun[0]

    expected = lambda p: by_formula(p)[0] + p**0.5 + p
    for way in (wg.grad(f), wg.jit(wg.grad(f))):
        assert way(2.0) == pytest.approx(wg.grad(expected)(2.0), rel=1e-7)
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="'message'"):
        wg.grad(lambda p: optimize.root(pair, [2.0, 0.1], (p,)).message * p)(2.0)


def test_where_there_is_no_derivative_it_is_nan_and_a_warning_says_why() -> None:
    double = lambda p: optimize.newton(lambda t: t * t - p, 0.5, maxiter=100)
    with pytest.warns(wg.SolverWarning, match=r"newton at test_roots.py.* double root"):
        assert np.isnan(wg.grad(double)(0.0))
    nowhere = lambda p: optimize.root(lambda t: t * t + p, [1.0]).x[0]
    with pytest.warns(wg.SolverWarning, match="did not converge"):
        assert np.isnan(wg.jit(wg.grad(nowhere))(1.0))
    plane = lambda p: optimize.root(lambda y: np.array([y[0] + y[1] - p, 2 * y[0] + 2 * y[1] - 2 * p]), [0.5, 0.5]).x[0]
    with pytest.warns(wg.SolverWarning, match="singular"):
        assert np.isnan(wg.grad(plane)(1.0))


def test_errors_are_scipys() -> None:
    with pytest.raises(ValueError, match="different signs"):
        wg.grad(lambda p: optimize.brentq(lambda t: t * t + p, 0, 2))(1.0)
    with pytest.raises(RuntimeError, match="Failed to converge"):
        wg.grad(lambda p: optimize.newton(lambda t: t * t + p, 1.0, maxiter=5))(1.0)
    with pytest.raises(TypeError, match="mismatch between the input and output shape"):
        wg.grad(lambda p: optimize.fsolve(lambda t: np.stack([t[0] - p, p]), 1.0)[0])(1.0)


def test_what_captures_nothing_traced_is_scipys_own() -> None:
    def f(p: Any) -> Any:
        found = optimize.root(lambda y: [float(y[0]) ** 2 - 2.0], [1.0])
        assert type(found) is optimize.OptimizeResult and type(found.message) is str
        return found.x[0] * p

    assert wg.grad(f)(1.0) == pytest.approx(2**0.5)
    assert wg.jit(wg.grad(f), strict=True)(1.0) == pytest.approx(2**0.5)


def test_the_ends_of_a_bracket_have_no_derivative() -> None:
    f = lambda a: optimize.brentq(lambda t: t - 1.0, 0 * a, a)
    assert wg.grad(f)(2.0) == 0.0


def test_solvers_within_solvers() -> None:
    """y = √x within the equation x y = p, so x = p^(2/3)."""
    inner = lambda x: optimize.brentq(lambda y: y * y - x, 0.0, 10.0)
    f = lambda p: optimize.newton(lambda x: x * inner(x) - p, 1.5, tol=1e-12)
    check_solution(f, 2.0)
    assert wg.grad(f)(2.0) == pytest.approx(2 / 3 * 2 ** (-1 / 3), rel=1e-8)


def test_a_change_of_sign_by_a_jump_is_no_solution_with_a_derivative() -> None:
    """The derivative was 0, since that of the sign is."""
    f = lambda a: optimize.brentq(lambda z: np.sign(z - a) if z > 0 else z - a, -1, 3)
    for slope in (wg.grad(f), wg.jit(wg.grad(f)), lambda a: wg.jvp(f, (a,), (1.0,))[1]):
        with pytest.warns(wg.SolverWarning, match="no derivative here"):
            assert np.isnan(slope(0.6))
