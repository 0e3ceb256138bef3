"""Linear programs and assignments within traced functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import wengert as wg
from tests.of_scipy.optimize.solutions import check_solution

C = np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])


def program(p: Any) -> Any:
    return optimize.linprog([-1, 4 * p], A_ub=[[-3 * p, 1], [1, 2]], b_ub=[6, 4 * p], bounds=[(None, None), (-3, None)])


def test_linprog() -> None:
    check_solution(
        lambda p: np.concatenate([program(p).x, [program(p).fun + program(p).slack[0]]]), 1.0, second_rtol=1e-4
    )


def test_an_equation_and_bounds() -> None:
    f = lambda p: optimize.linprog([1.0, 2.0, 0.5 * p], A_eq=[[1, 1, p]], b_eq=[3 * p], bounds=(0, 2)).x
    check_solution(f, 1.1)


def test_a_vertex_where_too_many_constraints_meet_has_no_derivative() -> None:
    f = lambda p: optimize.linprog([-1.0, -1.0], A_ub=[[1, 0], [0, 1], [1, 1]], b_ub=[p, 1.0, 2.0]).x
    with pytest.warns(wg.SolverWarning, match="only just holds"):
        assert np.all(np.isnan(wg.jacobian(f)(1.0)))


def test_an_infeasible_program() -> None:
    f = lambda p: optimize.linprog([1.0], A_ub=[[1.0], [-1.0]], b_ub=[-p, 0.0]).x[0]
    with pytest.warns(wg.SolverWarning, match="did not converge"):
        assert np.isnan(wg.grad(f)(1.0))


# SciPy says so where any test before this one seeded NumPy's global generator.
@pytest.mark.filterwarnings("ignore:The NumPy global RNG was seeded:FutureWarning")
def test_assignments() -> None:
    def cost(C: Any) -> Any:
        rows, columns = optimize.linear_sum_assignment(C)
        return C[rows, columns].sum()

    picked = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert wg.jit(cost)(C) == cost(C)
    np.testing.assert_array_equal(wg.grad(cost)(C), picked)
    np.testing.assert_array_equal(wg.jit(wg.grad(cost))(C), picked)
    f = lambda p: optimize.quadratic_assignment(p * C, C).fun
    assert wg.grad(f)(1.0) == f(1.0)


def test_integers_stay() -> None:
    plane = lambda p: optimize.LinearConstraint(np.array([[1.0, 1.0, 1.0]]), -np.inf, 4 * p)
    f = lambda p: optimize.milp(
        np.array([-1.0, -1.5 * p, -0.5]), integrality=np.array([1, 0, 0]), bounds=optimize.Bounds(0, [2.5, 1.5, 9.0]),
        constraints=[plane(p)],
    ).x  # fmt: skip
    np.testing.assert_allclose(f(1.0), [2.0, 1.5, 0.5])
    for way in (wg.jacobian(f), wg.jit(wg.jacobian(f))):
        np.testing.assert_allclose(way(1.0), [0.0, 0.0, 4.0], atol=1e-9)
