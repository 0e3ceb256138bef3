"""Equations: the same roots; a method that was asked for is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize
from numpy.testing import assert_allclose

import wengert as wg


def system(x: Any) -> Any:
    return [x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]]


def test_systems_of_equations() -> None:
    plain = scipy.optimize.root(system, [0, 0])
    with wg.exact(quiet=True, eager=True) as tally:
        for method in ("hybr", "lm"):
            found = scipy.optimize.root(system, [0, 0], method=method)
            assert_allclose(found.x, [0.8411639, 0.1588361], rtol=1e-6)
        assert_allclose(scipy.optimize.fsolve(system, [0, 0], col_deriv=1), plain.x)
        assert_allclose(scipy.optimize.root(system, [0, 0], method="broyden1").x, plain.x, atol=1e-5)
    assert tally.filled == 3
    assert found.nfev < plain.nfev


def test_equations_of_one_number() -> None:
    f = lambda x, a=2.0: x**3 - a
    with wg.exact(quiet=True, eager=True) as tally:
        assert_allclose(scipy.optimize.newton(f, 1.0, args=(3.0,)), 3 ** (1 / 3))
        assert_allclose(scipy.optimize.newton(f, [1, 1], args=(np.array([2.0, 3.0]),)), [2 ** (1 / 3), 3 ** (1 / 3)])
        assert_allclose(scipy.optimize.root_scalar(f, x0=1).root, 2 ** (1 / 3))
        assert_allclose(scipy.optimize.root_scalar(f, x0=1, method="halley").root, 2 ** (1 / 3))
        assert tally.filled == 5
        scipy.optimize.newton(f, 1.0, x1=2.0)
        scipy.optimize.root_scalar(f, bracket=(0, 2))
        scipy.optimize.root_scalar(f, x0=0, x1=2)
        assert tally.filled == 5
