"""Minima within traced functions: closed forms, and differences of what SciPy computes without a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import wengert as wg
from tests.of_scipy.optimize.solutions import check_solution

START = np.array([0.5, 0.6])


def banana(x: Any, a: Any, b: Any = 2.0) -> Any:
    """Least at (a, a²)."""
    return (a - x[0]) ** 2 + b * (x[1] - x[0] ** 2) ** 2


METHODS = ["BFGS", "Nelder-Mead", "L-BFGS-B", "CG", "Powell", "Newton-CG", "TNC", "SLSQP", "COBYLA", "trust-constr",
           "dogleg", "trust-ncg", "trust-exact", "trust-krylov"]  # fmt: skip


@pytest.mark.sampled(3, "a program for each method, which differ by SciPy's code alone")
@pytest.mark.parametrize("method", METHODS)
def test_methods(method: str) -> None:
    f = lambda a: (
        optimize.minimize(
            banana,
            START if method != "dogleg" else [1.1, 1.4],
            args=(a,),
            method=method,
            tol=1e-9 if method != "COBYLA" else 1e-5,
        ).x
    )
    for way in (wg.jacobian(f), wg.jit(wg.jacobian(f))):
        np.testing.assert_allclose(way(1.2), [1.0, 2.4], rtol=1e-3)
    np.testing.assert_allclose(wg.jacobian(wg.jacobian(f))(1.2), [0.0, 2.0], atol=1e-3)


def test_the_result_of_minimize() -> None:
    def f(a: Any) -> Any:
        found = optimize.minimize(lambda x: banana(x, a) + a**3, START, tol=1e-10)
        if not found.success or found.status:
            return a
        return found.fun + 0.0 * (found.nit + found.nfev + found.njev) + found.jac[0]

    assert wg.grad(f)(1.2) == pytest.approx(3 * 1.2**2, rel=1e-6)  # the envelope theorem
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="hess_inv"):
        wg.grad(lambda a: optimize.minimize(banana, START, args=(a,)).hess_inv[0, 0])(1.2)


def nearest(x: Any) -> Any:
    return np.sum((x - np.array([1.0, 2.0, 3.0])) ** 2)


def test_bounds() -> None:
    """The minimum of (1, 2, 3) is free or at the bound, and the bound is traced."""
    box = lambda b: optimize.minimize(nearest, np.zeros(3), bounds=[(0, b), (0, None), (None, 2 * b)]).x
    np.testing.assert_allclose(wg.jacobian(box)(0.5), [1.0, 0.0, 2.0], atol=1e-7)
    np.testing.assert_allclose(wg.jit(wg.jacobian(box))(1.2), [0.0, 0.0, 2.0], atol=1e-7)
    moved = lambda p: (
        optimize.minimize(
            lambda x: nearest(x - p * x[0] * x[1]), np.zeros(3), bounds=optimize.Bounds(0.0, [2.0, 1.5, 2.5]), tol=1e-12
        ).x
    )
    check_solution(moved, 0.1, second_rtol=1e-3)


def test_a_bound_that_only_just_holds_has_no_derivative() -> None:
    box = lambda b: optimize.minimize(nearest, np.zeros(3), bounds=[(0, b), (0, None), (None, 9.0)]).x
    with pytest.warns(wg.SolverWarning, match="only just holds"):
        assert np.all(np.isnan(wg.jacobian(box)(1.0)))


def within(p: Any, method: str, **options: Any) -> Any:
    rows = [
        {"type": "eq", "fun": lambda x: x[0] + x[1] + x[2] - p},
        {"type": "ineq", "fun": lambda x, q: q - x @ x, "args": (p,)},
        {"type": "ineq", "fun": lambda x: 100.0 - x},
    ]
    return optimize.minimize(nearest, np.ones(3) * 0.5, constraints=rows, method=method, options=options).x


def test_constraints() -> None:
    check_solution(lambda p: within(p, "SLSQP", ftol=1e-14), 2.0, second_rtol=1e-4)


@pytest.mark.filterwarnings("ignore:delta_grad:UserWarning")
@pytest.mark.deep("thousands of SciPy's steps")
@pytest.mark.parametrize("method", ["trust-constr", "COBYLA"])
def test_constraints_by_methods_that_come_less_near(method: str) -> None:
    f = lambda p: within(p, method, maxiter=2000)
    exact = wg.jacobian(lambda p: within(p, "SLSQP", ftol=1e-14))(2.0)
    np.testing.assert_allclose(wg.jacobian(f)(2.0), exact, rtol=5e-3)


@pytest.mark.deep("a second")
def test_constraints_as_objects() -> None:
    def f(p: Any) -> Any:
        plane = optimize.LinearConstraint(np.array([[1.0, 1.0, 0.0]]), -np.inf, 2.0)
        ball = optimize.NonlinearConstraint(lambda x: x @ x * p, 0.0, 6.0)
        return optimize.minimize(
            nearest, np.ones(3), constraints=[plane, ball], bounds=[(0, 5)] * 3, method="SLSQP", options={"ftol": 1e-14}
        ).x

    check_solution(f, 1.0)


def test_minimize_scalar() -> None:
    well = lambda x, p: (x - p) ** 2 + x**4
    for f in (
        lambda p: optimize.minimize_scalar(well, args=(p,), tol=1e-10).x,
        lambda p: optimize.minimize_scalar(well, bounds=(-p, p), args=(p,), options={"xatol": 1e-9}).x,
        lambda p: optimize.fminbound(well, -2.0, 2.0, (p,), xtol=1e-9),
        lambda p: optimize.brent(well, (p,), (0.0, 1.0), tol=1e-9),
        lambda p: optimize.golden(well, (p,), (0.0, 1.0), tol=1e-9),
    ):
        x: Any = f(1.0)
        assert wg.grad(f)(1.0) == pytest.approx(2 / (2 + 12 * x**2), rel=1e-5)
    at_bound = lambda p: optimize.minimize_scalar(well, bounds=(0, 0.3 * p), args=(p,)).x
    assert wg.jit(wg.grad(at_bound))(1.0) == pytest.approx(0.3)


FAMILY = {
    "fmin": lambda a: optimize.fmin(banana, START, (a,), 1e-8, 1e-8, disp=0),
    "fmin_powell": lambda a: optimize.fmin_powell(banana, START, args=(a,), disp=0),
    "fmin_bfgs": lambda a: optimize.fmin_bfgs(banana, START, args=(a,), disp=0, full_output=True)[0],
    "fmin_cg": lambda a: optimize.fmin_cg(banana, START, args=(a,), disp=0),
    "fmin_ncg": lambda a: optimize.fmin_ncg(banana, START, banana, args=(a,), disp=0, avextol=1e-9),
    "fmin_l_bfgs_b": lambda a: optimize.fmin_l_bfgs_b(banana, START, args=(a,), approx_grad=True, factr=10.0)[0],
    "fmin_tnc": lambda a: optimize.fmin_tnc(banana, START, args=(a,), approx_grad=True, messages=0, ftol=1e-14)[0],
    "fmin_slsqp": lambda a: optimize.fmin_slsqp(banana, START, args=(a,), disp=0, acc=1e-12),
    "brute": lambda a: optimize.brute(banana, [(0, 2), (0, 3)], args=(a,)),
    "basinhopping": lambda a: optimize.basinhopping(banana, START, 1, minimizer_kwargs={"args": (a,)}).x,
    "dual_annealing": lambda a: optimize.dual_annealing(banana, [(0, 2), (0, 3)], args=(a,), maxiter=5).x,
    "differential_evolution": lambda a: optimize.differential_evolution(banana, [(0, 2), (0, 3)], args=(a,)).x,
}


@pytest.mark.sampled(3, "they differ by SciPy's code alone")
@pytest.mark.parametrize("name", FAMILY)
def test_other_names_of_minimisers(name: str) -> None:
    np.testing.assert_allclose(wg.jacobian(FAMILY[name])(1.2), [1.0, 2.4], rtol=2e-3)


def test_a_minimum_under_vmap() -> None:
    f = lambda a: optimize.minimize(banana, START, args=(a,), tol=1e-9).x[1]
    a = np.array([0.7, 1.2])
    np.testing.assert_allclose(wg.vmap(f)(a), a**2, rtol=1e-5)
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(a), 2 * a, rtol=1e-5)
    np.testing.assert_allclose(wg.grad(lambda a: wg.vmap(f)(a).sum())(a), 2 * a, rtol=1e-5)


def test_what_is_not_traced_is_refused_by_name() -> None:
    for options, what in (({"callback": print}, "callback"), ({"method": lambda *a, **k: None}, "a function")):
        with pytest.raises(wg.errors.UnsupportedFunctionError, match=f"minimize.*{what}"):
            wg.grad(lambda a: optimize.minimize(banana, START, args=(a,), **options).x[0])(1.0)  # noqa: B023


def test_a_flat_minimum_has_no_derivative() -> None:
    f = lambda p: optimize.minimize(lambda x: (x[0] + x[1] - p) ** 2, START).x[0]
    with pytest.warns(wg.SolverWarning, match="singular"):
        assert np.isnan(wg.grad(f)(1.0))
