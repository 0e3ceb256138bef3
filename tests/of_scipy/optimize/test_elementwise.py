"""Roots and minima element by element within traced functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

elementwise = pytest.importorskip("scipy.optimize.elementwise")
P = np.array([[1.1, 2.0], [3.0, 0.5]])


def test_roots() -> None:
    find: Any = lambda p: elementwise.find_root(lambda x, c: x**2 - c, (0.0, 2.0), args=(p,)).x
    np.testing.assert_allclose(wg.jit(find)(P), find(P), rtol=1e-12)
    total = lambda p: np.sum(np.cos(find(p)))
    expected = lambda p: np.sum(np.cos(np.sqrt(p)))
    for way in (lambda f: f, wg.jit):
        np.testing.assert_allclose(way(wg.grad(total))(P), wg.grad(expected)(P), rtol=1e-9)
    np.testing.assert_allclose(wg.hessian(total)(P[0]), wg.hessian(expected)(P[0]), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(wg.vmap(wg.grad(total))(P), wg.vmap(wg.grad(expected))(P), rtol=1e-9)


def test_minima() -> None:
    find: Any = lambda p: elementwise.find_minimum(lambda x, p: (x - p) ** 2 + x**4, (-1.0, 0.3, 2.0), args=(p,)).x
    x = find(P)
    np.testing.assert_allclose(wg.grad(lambda p: np.sum(find(p)))(P), 2 / (2 + 12 * x**2), rtol=1e-5)


def test_an_element_without_a_root() -> None:
    find: Any = lambda p: elementwise.find_root(lambda x, p: x**2 - p, (0.0, 2.0), args=(p,)).x
    with pytest.warns(wg.SolverWarning, match="did not converge"):
        slopes = wg.grad(lambda p: np.sum(find(p)))(np.array([1.0, -1.0]))
    assert slopes[0] == pytest.approx(0.5) and np.isnan(slopes[1])
