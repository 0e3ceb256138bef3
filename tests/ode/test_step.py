"""Newton's iteration: where it ends, where it is given up, and the derivatives of what it finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.ode.step import simplified_newton, solution


def test_an_iteration_ends_where_it_converges_and_where_it_does_not() -> None:
    def found(slope: Any) -> Any:  # of x = cos x, with the slope as it was elsewhere
        change = lambda x: -(x - np.cos(x)) / slope
        return simplified_newton(change, lambda dx: np.abs(dx), np.float64(0.5), 6, np.float64(1e-6))

    compiled = wg.jit(found)
    good, bad, none = compiled(1.6), compiled(0.3), compiled(np.nan)
    assert (bool(good.is_found), bool(bad.is_found), bool(none.is_found)) == (True, False, False)
    assert good.x == pytest.approx(0.7390851332, abs=1e-6)
    assert (good.count < 6, bad.count < 6, int(none.count)) == (True, True, 1)


def test_four_derivatives_of_a_solution() -> None:
    """Of the cube root, from far away."""

    def root(a: Any) -> Any:
        matrix = lambda x: np.diag(3 * x**2)
        return solution(lambda x: x**3 - a, matrix, np.array([2.0]), np.ones(1))[0]

    along = lambda f: lambda a: wg.jvp(f, (a,), (1.0,))[1]
    f, a = root, 27.0
    for expected in (3.0, 1 / 27, -2 / 9 / 3**5, 10 / 27 / 3**8, -80 / 81 / 3**11):
        assert wg.jit(f)(a) == pytest.approx(expected, rel=1e-9)
        f = along(f)
    assert wg.grad(wg.grad(root))(a) == pytest.approx(-2 / 9 / 3**5, rel=1e-9)


def test_a_solution_with_the_inverse_of_a_matrix_that_is_near() -> None:
    """It is used as far as it goes; where that is not near enough, there are new ones."""

    def root(a: Any, slope: Any) -> Any:
        matrix = lambda x: np.diag(3 * x**2)
        return solution(lambda x: x**3 - a, matrix, np.array([2.0]), np.ones(1), np.array([[1 / slope]]))[0]

    compiled, gradient = wg.jit(root), wg.jit(wg.grad(root))
    for slope in (12.0, 27.0, 1e3, 1.0, -5.0):
        assert compiled(27.0, slope) == pytest.approx(3.0, rel=1e-13)
        assert gradient(27.0, slope) == pytest.approx(1 / 27, rel=1e-13)
