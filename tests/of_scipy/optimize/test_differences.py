"""Numerical differences and Rosenbrock's function within traced functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import wengert as wg
from tests.differences import check_derivative, same

X = np.array([1.1, 0.7, -0.4, 2.0])


def cubes(x: Any, p: Any) -> Any:
    return p * np.array([np.sum(x**3), x[0] * x[1]])


def test_differences_are_scipys() -> None:
    gradient = lambda p, x: optimize.approx_fprime(x, lambda x: np.sum(p * x**3))
    rows = lambda p, x: optimize.approx_fprime(x, cubes, 1e-5, p)
    check = lambda p, x: optimize.check_grad(lambda x: np.sum(p * x**3), lambda x: 3 * p * x**2 + 1, x)
    for f in (gradient, rows, check):
        same(wg.jit(f)(1.3, X), f(1.3, X), rtol=1e-5)
    np.testing.assert_allclose(wg.jacobian(gradient)(1.3, X), 3 * X**2, rtol=1e-6)
    np.testing.assert_allclose(wg.jacobian(gradient, 1)(1.3, X), np.diag(6 * 1.3 * X), rtol=1e-6, atol=1e-6)
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="random direction"):
        wg.grad(lambda p: optimize.check_grad(lambda x: p * x[0], lambda x: x, X, direction="random"))(1.0)


def test_rosenbrocks_function() -> None:
    for f in (optimize.rosen, optimize.rosen_der, optimize.rosen_hess, lambda x: optimize.rosen_hess_prod(x, x + 1)):
        same(wg.jit(f)(X), f(X))
        check_derivative(lambda x, f=f: np.sum(np.sin(f(x) / 1e3)), X)
    np.testing.assert_allclose(wg.grad(optimize.rosen)(X), optimize.rosen_der(X))
    np.testing.assert_allclose(wg.hessian(optimize.rosen)(X), optimize.rosen_hess(X), atol=1e-12)
    same(optimize.rosen_hess_prod(X, X), wg.jit(optimize.rosen_hess_prod)(X, X))
