"""Boundary value problems within traced functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate

import wengert as wg

X = np.linspace(0, 1, 5)


def swing(p: Any, t: Any) -> Any:
    """y'' = −p y, y(0) = 0, y(1) = 1: sin(√p t) / sin √p."""
    found = integrate.solve_bvp(
        lambda x, y: np.vstack([y[1], -p * y[0]]),
        lambda a, b: np.array([a[0], b[0] - 1]),
        X,
        np.zeros((2, 5)),
        tol=1e-8,
    )
    return found.sol(t)[0] + 0 * found.niter


def test_an_oscillator() -> None:
    exact = lambda p, t: np.sin(np.sqrt(p) * t) / np.sin(np.sqrt(p))
    t = np.array([0.1, 0.5, 0.77])
    np.testing.assert_allclose(wg.jit(swing)(2.0, t), swing(2.0, t), rtol=1e-10)
    for way in (wg.jacobian(swing), wg.jit(wg.jacobian(swing))):
        np.testing.assert_allclose(way(2.0, t), wg.jacobian(exact)(2.0, t), rtol=1e-5)


@pytest.mark.deep("another program of the same problem")
def test_where_the_solution_is_asked_for() -> None:
    exact = lambda p, t: np.sin(np.sqrt(p) * t) / np.sin(np.sqrt(p))
    t = np.array([0.1, 0.5, 0.77])
    total = lambda f: lambda p, t: np.sum(f(p, t))
    both = lambda f: wg.grad(total(f), (0, 1))(2.0, t)
    for got, expected in zip(both(swing), both(exact), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_an_unknown_parameter() -> None:
    """An eigenvalue: y'' + k² y = 0 on (0, l) with y(0) = y(l) = 0, y'(0) = k: k = π / l."""

    def f(l: Any) -> Any:
        x = np.linspace(0, 1, 6)
        guess = np.zeros((2, 6))
        guess[0, 1], guess[0, 3] = 1, -1
        found = integrate.solve_bvp(
            lambda x, y, p: np.vstack([l * y[1], -l * p[0] ** 2 * y[0]]),
            lambda a, b, p: np.array([a[0], b[0], a[1] - p[0]]), x, guess, p=[6], tol=1e-6,
        )  # fmt: skip
        return found.p[0]

    assert wg.value_and_grad(f)(1.0) == pytest.approx((2 * np.pi, -2 * np.pi), rel=1e-5)


def test_what_is_refused() -> None:
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="singular term"):
        wg.grad(
            lambda p: integrate.solve_bvp(
                lambda x, y: p * y, lambda a, b: a - 1, X, np.zeros((1, 5)), S=np.zeros((1, 1))
            ).y[0, 0]
        )(1.0)
