"""SciPy's minimisers on trees: what they find, and how often they ask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import wengert as wg
from wengert import optimize


def valley(p: Any, stretch: float = 100.0) -> Any:
    """Rosenbrock's, in a tree."""
    x = np.concatenate([p["head"], np.reshape(p["tail"], (-1,))])
    return np.sum(stretch * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


START = {"head": np.array([1.2, 1.5]), "tail": np.array([[0.5], [0.8]])}


@pytest.mark.parametrize("method", ["L-BFGS-B", "BFGS", "CG", "Newton-CG", "trust-ncg", "TNC", "SLSQP"])
def test_a_valley(method: str) -> None:
    found = optimize.minimize(valley, START, method=method, tol=1e-9)
    np.testing.assert_allclose(found.x["head"], 1, atol=1e-3)
    np.testing.assert_allclose(found.x["tail"], np.ones((2, 1)), atol=1e-3)
    assert found.vector.shape == (4,) and found.jac["tail"].shape == (2, 1)


@pytest.mark.parametrize("method", ["dogleg", "trust-exact", "trust-krylov", "trust-constr"])
def test_methods_of_second_derivatives(method: str) -> None:
    """trust-constr failed on its own result, and dogleg and trust-exact had no Hessian."""
    bowl = lambda p, centre: np.sum((p["a"] - centre) ** 2) + np.cosh(p["b"]) + 0.1 * p["a"][0] * p["b"]
    found = optimize.minimize(bowl, {"a": np.zeros(2), "b": 1.0}, (np.array([2.0, -3.0]),), method, tol=1e-9)
    slope = found.grad if method == "trust-constr" else found.jac
    assert found.x["a"].shape == slope["a"].shape == (2,) and found.x["b"].shape == slope["b"].shape == ()
    assert np.abs(slope["b"]) < 1e-6 and np.max(np.abs(slope["a"])) < 1e-6
    assert found.x["b"] == pytest.approx(-0.1 * found.x["a"][0], rel=0.01)


def test_trust_constr_has_constraints_and_bounds() -> None:
    plane = scipy.optimize.LinearConstraint(np.ones((1, 3)), 2, 2)
    found = optimize.minimize(
        lambda x: np.sum(x**2),
        np.ones(3),
        method="trust-constr",
        constraints=plane,
        bounds=(-9.0, np.array([0.5, 9, 9])),
    )
    np.testing.assert_allclose(found.x, [0.5, 0.75, 0.75], atol=1e-3)
    np.testing.assert_allclose(found.grad, 2 * found.x, rtol=1e-12)


def test_no_evaluation_is_wasted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Value and gradient are one program, which is run once a point; at the beginning too, where it is looked at."""
    runs = 0
    compiled = wg.jit

    def counting(f: Any) -> Any:
        program = compiled(f)

        def run(*args: Any) -> Any:
            nonlocal runs
            runs += 1
            return program(*args)

        return run

    monkeypatch.setattr(wg, "jit", counting)
    found = optimize.minimize(valley, START)
    plain = scipy.optimize.minimize(
        lambda x: valley({"head": x[:2], "tail": x[2:]}),
        np.array([1.2, 1.5, 0.5, 0.8]),
        jac=wg.grad(lambda x: valley({"head": x[:2], "tail": x[2:]})),
        method="L-BFGS-B",
    )
    assert runs == found.nfev == found.njev and abs(found.nfev - plain.nfev) <= 2


def test_methods_without_gradients_bounds_arguments_and_callbacks() -> None:
    seen = []
    bowl = lambda p, centre: np.sum((p["a"] - centre) ** 2) + p["b"] ** 2
    x0 = {"a": np.zeros(2), "b": 1.0}
    centre = np.array([2.0, -3.0])
    found = optimize.minimize(bowl, x0, (centre,), "Nelder-Mead", callback=seen.append)
    np.testing.assert_allclose(found.x["a"], centre, atol=1e-3)
    assert seen[0].keys() == {"a", "b"}
    held = optimize.minimize(bowl, x0, (centre,), bounds=({"a": -1, "b": -9}, {"a": 1, "b": 9}))
    np.testing.assert_allclose(held.x["a"], [1, -1], atol=1e-6)
    assert optimize.minimize(lambda x: (x - 2) ** 2, 0.0).x == pytest.approx(2)


def test_what_is_not_finite_where_it_begins() -> None:
    with pytest.raises(wg.errors.NonFiniteError, match="nan at the starting point"):
        optimize.minimize(lambda x: np.sum(np.log(x)), -np.ones(2))
