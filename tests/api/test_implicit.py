"""Solvers of one's own: the derivatives of what they find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import wengert as wg
from wengert.errors import DTypeError, StructureError


def newton(g: Any, y: Any) -> Any:
    assert isinstance(y, np.ndarray | np.generic | float)
    for _ in range(50):
        step = g(y) / g.jac(y) if np.ndim(y) == 0 else np.linalg.solve(g.jac(y), g(y))
        y = y - step
        if np.max(np.abs(step)) < 1e-14:
            break
    return y


def test_a_number() -> None:
    f = wg.implicit(lambda y, p: y * y - p, newton)
    for way in (f, wg.jit(f)):
        assert way(1.0, 2.0) == pytest.approx(2**0.5, rel=1e-15)
    g: Any = lambda p: f(1.0, p)
    for transform, expected in ((wg.grad, 0.25), (wg.grad, -1 / 32), (wg.grad, 3 / 256)):
        g = transform(g)
        assert g(4.0) == pytest.approx(expected, rel=1e-12)
        assert wg.jit(g)(4.0) == pytest.approx(expected, rel=1e-12)
    assert wg.jvp(lambda p: f(1.0, p), (4.0,), (1.0,))[1] == pytest.approx(0.25)
    ps = np.array([1.0, 4.0])
    np.testing.assert_allclose(wg.vmap(lambda p: wg.grad(f, 1)(1.0, p))(ps), 0.5 / np.sqrt(ps))
    assert wg.grad(f)(1.0, 4.0) == 0.0  # where it begins


def test_a_start_that_cannot_be_traced_is_refused_without_a_trace_too() -> None:
    """A masked array went to the solver, which failed at its shape or lost its mask."""
    f = wg.implicit(lambda y: y - 1.0, newton)
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="MaskedArray"):
        f(np.ma.masked_array([1.0, 2.0], [False, True]))
    with pytest.raises(DTypeError, match="real numbers"):
        f(1)


def test_what_the_function_captures() -> None:
    A = np.array([[3.0, 1.0], [1.0, 2.0]])

    def f(b: Any, p: Any) -> Any:
        return np.sum(wg.implicit(lambda y: A @ y + p * y**3 - b, newton)(np.zeros(2)))

    b = np.array([1.0, 2.0])
    h = 1e-5
    for way in (wg.grad(f, (0, 1)), wg.jit(wg.grad(f, (0, 1)))):
        by_b, by_p = way(b, 0.5)
        assert by_p == pytest.approx((f(b, 0.5 + h) - f(b, 0.5 - h)) / (2 * h), rel=1e-8)
        expected = [(f(b + h * e, 0.5) - f(b - h * e, 0.5)) / (2 * h) for e in np.eye(2)]
        np.testing.assert_allclose(by_b, expected, rtol=1e-8)


def test_a_tree_and_a_solver_of_scipys() -> None:
    """u² = p, u v = 1, with v of one element."""

    def by_scipy(g: Any, y: Any) -> Any:
        def flat(x: Any) -> Any:
            left = g({"u": x[0], "v": x[1:]})
            return np.array([left["u"], *left["v"]])

        found = optimize.root(flat, [y["u"], *y["v"]], tol=1e-13).x
        return {"u": found[0], "v": found[1:]}

    pair = wg.implicit(lambda y, p: {"u": y["u"] ** 2 - p, "v": y["u"] * y["v"] - 1}, by_scipy)
    f = lambda p: pair({"u": 1.0, "v": np.ones(1)}, p)["v"][0]
    assert f(4.0) == pytest.approx(0.5)
    assert wg.grad(f)(4.0) == pytest.approx(-1 / 16)
    assert wg.jit(wg.grad(f))(4.0) == pytest.approx(-1 / 16)


def test_single_precision_is_kept() -> None:
    f = wg.jit(wg.implicit(lambda y, p: y * y - p, newton))
    assert f(np.float32(1.0), np.float32(2.0)).dtype == np.float32


def test_where_there_is_no_derivative() -> None:
    double = wg.implicit(lambda y, p: (y - p) ** 2, lambda g, y: np.float64(1.0))
    with pytest.warns(wg.SolverWarning, match="implicit at .*test_implicit.*singular"):
        assert np.isnan(wg.grad(double, 1)(0.5, 1.0))
    lazy = wg.implicit(lambda y, p: y**3 - p, lambda g, y: y)  # it does not solve
    with pytest.warns(wg.SolverWarning, match="moves too much"):
        assert np.isnan(wg.grad(lazy, 1)(1.0, 3.0))


def test_what_does_not_fit_is_told() -> None:
    with pytest.raises(DTypeError, match="y0 has int64"):
        wg.grad(wg.implicit(lambda y, p: y * y - p, newton), 1)(1, 2.0)
    with pytest.raises(StructureError, match="f returned"):
        wg.grad(wg.implicit(lambda y, p: np.stack([y, p]), newton), 1)(1.0, 2.0)
    with pytest.raises(StructureError, match="the solver returned"):
        wg.grad(wg.implicit(lambda y, p: y - p, lambda g, y: np.ones(2)), 1)(1.0, 2.0)
