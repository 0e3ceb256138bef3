"""Minimisers: the same minimum, in fewer evaluations; what a slot says is left."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from numpy.testing import assert_allclose
from scipy.optimize import minimize  # long before the context

import wengert as wg
from tests.solvers.counting import Counted

X0 = np.array([1.3, 0.7, 0.8, 1.9])


def rosen(x: Any, a: float = 1.0) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)


@pytest.mark.parametrize("method", ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "trust-constr"])
def test_a_minimiser_finds_the_same_minimum_in_fewer_evaluations(method: str) -> None:
    plain = minimize(rosen, X0, method=method)
    with wg.exact(quiet=True, eager=True):
        found = minimize(rosen, X0, method=method)
    assert_allclose(found.x, plain.x, atol=3e-3)
    assert found.fun <= plain.fun + 1e-8
    assert found.nfev < 0.6 * plain.nfev


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-exact"])
def test_methods_that_refuse_to_go_without_derivatives_go(method: str) -> None:
    with pytest.raises(ValueError, match=r"[Jj]acobian"):
        minimize(rosen, X0, method=method)
    with wg.exact(quiet=True, eager=True):
        found = minimize(rosen, X0, args=(1.0,), method=method)
    assert_allclose(found.x, 1, atol=1e-3)


def test_a_gradient_that_is_there_is_used_for_the_product() -> None:
    gradient = Counted(wg.jac_for(rosen))
    with wg.exact(quiet=True, eager=True) as tally:
        found = minimize(rosen, X0, method="trust-ncg", jac=scipy.optimize.rosen_der)
    assert_allclose(found.x, 1, atol=1e-3)
    assert tally.filled == 1
    with wg.exact(quiet=True, eager=True), pytest.warns(wg.FiniteDifferencesWarning), pytest.raises(ValueError):
        minimize(rosen, X0, method="trust-ncg", jac=gradient)


@pytest.mark.parametrize(
    "slot", ["2-point", "3-point", "cs", scipy.optimize.rosen_der], ids=["2-point", "3-point", "cs", "own"]
)
def test_a_slot_that_says_something_is_left(slot: Any) -> None:
    with wg.exact(quiet=True, eager=True) as tally:
        minimize(rosen, X0, jac=slot)
    assert tally.filled == 0


def test_constraints_have_jacobians() -> None:
    f = lambda x: (x[0] - 1) ** 2 + (x[1] - 2.5) ** 2
    limits = [Counted(lambda x: x[0] - 2 * x[1] + 2), Counted(lambda x: 6 - x[0] - 2 * x[1])]
    rows = [{"type": "ineq", "fun": c.inner} for c in limits]
    kept = [dict(row) for row in rows]
    with wg.exact(quiet=True, eager=True) as tally:
        found = minimize(f, (2, 0), bounds=[(0, None)] * 2, constraints=rows)
    assert_allclose(found.x, [1.4, 1.7], atol=1e-6)
    assert tally.filled == 3
    assert rows == kept  # the user's dictionaries are not written
    nonlinear = scipy.optimize.NonlinearConstraint(lambda x: [x[0] ** 2 + x[1], x[0]], -np.inf, [2, 3])
    plain = minimize(f, [2.0, 0.0], method="trust-constr", constraints=nonlinear)
    with wg.exact(quiet=True, eager=True) as tally:
        found = minimize(f, [2.0, 0.0], method="trust-constr", constraints=nonlinear)
    assert_allclose(found.x, plain.x, atol=1e-4)
    assert tally.filled == 3  # gradient, product, constraint
    assert nonlinear.jac == "2-point"


OLDER: dict[str, Callable[..., Any]] = {
    "fmin_bfgs": lambda f: scipy.optimize.fmin_bfgs(f, X0, disp=0),
    "fmin_cg": lambda f: scipy.optimize.fmin_cg(f, X0, disp=0, gtol=1e-4),
    "fmin_l_bfgs_b": lambda f: scipy.optimize.fmin_l_bfgs_b(f, X0, approx_grad=True)[0],
    "fmin_tnc": lambda f: scipy.optimize.fmin_tnc(f, X0, approx_grad=True, messages=0)[0],
    "fmin_slsqp": lambda f: scipy.optimize.fmin_slsqp(f, X0, iprint=0, f_ieqcons=lambda x: x - 0.1),
    "fmin_ncg": lambda f: scipy.optimize.fmin_ncg(f, X0, scipy.optimize.rosen_der, disp=0),
}


@pytest.mark.parametrize("name", OLDER)
def test_the_older_minimisers(name: str) -> None:
    with wg.exact(quiet=True, eager=True) as tally:
        assert_allclose(OLDER[name](rosen), 1, atol=3e-3)
    assert tally.filled == (2 if name == "fmin_slsqp" else 1)
    assert tally.derivatives > 5


SEED: dict[str, Any] = {"rng" if "rng" in inspect.signature(scipy.optimize.basinhopping).parameters else "seed": 1}
"""The argument was renamed in SciPy 1.15."""
SEARCHES: dict[str, Callable[..., Any]] = {
    "basinhopping": lambda f: scipy.optimize.basinhopping(f, X0, niter=5, **SEED),
    "dual_annealing": lambda f: scipy.optimize.dual_annealing(f, [(0, 2)] * 4, maxiter=30, **SEED),
    "differential_evolution": lambda f: scipy.optimize.differential_evolution(f, [(0, 2)] * 4, maxiter=30, **SEED),
    "shgo": lambda f: scipy.optimize.shgo(f, [(0, 2)] * 4),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_the_minimiser_within_a_search(name: str) -> None:
    plain = SEARCHES[name](rosen)
    with wg.exact(quiet=True, eager=True) as tally:
        found = SEARCHES[name](rosen)
    assert found.fun <= plain.fun + 1e-6
    assert found.nfev < plain.nfev
    assert tally.calls == 1
    assert tally.filled > 0
