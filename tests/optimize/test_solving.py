"""Least squares and roots of functions of trees, by SciPy's solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import wengert as wg
from wengert import optimize

T = np.linspace(0, 2, 25)
TRUE = {"peaks": np.array([[2.0, 1.0], [0.5, 3.0]]), "base": 0.3}


def model(p: Any, t: Any = T) -> Any:
    heights, rates = p["peaks"]
    return heights @ np.exp(-rates[:, None] * t) + p["base"]


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares_of_a_tree(method: str) -> None:
    start = {"peaks": np.array([[1.5, 1.5], [0.3, 2.0]]), "base": 0.0}
    residuals = lambda p, y: {"fit": model(p) - y, "prior": 1e-6 * p["peaks"][0]}
    found = optimize.least_squares(residuals, start, (model(TRUE),), method, options={"xtol": 1e-12, "ftol": 1e-12})
    np.testing.assert_allclose(model(found.x), model(TRUE), atol=1e-4)
    assert found.x["peaks"].shape == found.grad["peaks"].shape == (2, 2)
    assert found.vector.shape == (5,) and found.jac.shape == (27, 5)


def test_bounds_are_trees() -> None:
    start = {"a": np.zeros(2), "b": 0.5}
    f = lambda p: np.concatenate([p["a"] - np.array([2.0, -3.0]), np.reshape(p["b"] - 4, (1,))])
    found = optimize.least_squares(f, start, bounds=({"a": -1.0, "b": 0.0}, {"a": np.array([1.0, 9.0]), "b": np.inf}))
    np.testing.assert_allclose(found.x["a"], [1, -1], atol=1e-6)
    assert found.x["b"] == pytest.approx(4)
    with pytest.raises(wg.errors.OptionError, match="low above"):
        optimize.least_squares(f, start, bounds=({"a": 2.0, "b": 0.0}, {"a": 1.0, "b": 1.0}))
    with pytest.raises(wg.errors.StructureError):
        optimize.least_squares(f, start, bounds=({"a": 2.0}, {"a": 3.0}))


def test_a_robust_loss() -> None:
    y = 2 * T + 1
    y[3] += 50
    found = optimize.least_squares(
        lambda p: p["slope"] * T + p["base"] - y, {"slope": 0.0, "base": 0.0}, loss="soft_l1"
    )
    assert found.x["slope"] == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov", "broyden1"])
def test_a_root_of_a_tree(method: str) -> None:
    f = lambda p, c: (p["x"] ** 2 + p["y"] - c, p["y"] - 1)
    found = optimize.root(f, {"x": np.array([1.0, 2.0]), "y": np.full(2, 0.5)}, (np.array([2.0, 5.0]),), method)
    assert found.success
    np.testing.assert_allclose(found.x["x"], [1, 2], atol=1e-5)
    np.testing.assert_allclose(found.x["y"], 1, atol=1e-5)
    assert found.vector.shape == (4,)


def test_as_many_equations_as_unknowns() -> None:
    with pytest.raises(wg.errors.ShapeError, match=r"returns 3 numbers, and x0 has 2(.|\n)*least_squares"):
        optimize.root(lambda p: np.ones(3) * p["a"][0], {"a": np.zeros(2)})
    with pytest.raises(wg.errors.DTypeError, match="complex"):
        optimize.root(lambda p: p, np.ones(2) * 1j)


def test_the_jacobian_is_ours() -> None:
    f = lambda p: p[0] * np.exp(-p[1] * T) - np.exp(-2 * T)
    plain, found = scipy.optimize.least_squares(f, [2.0, 1.0]), optimize.least_squares(f, np.array([2.0, 1.0]))
    np.testing.assert_allclose(found.x, [1, 2], rtol=1e-8)
    np.testing.assert_allclose(found.jac, plain.jac, atol=1e-6)
    np.testing.assert_allclose(found.jac, wg.jacobian(f)(found.vector), rtol=1e-12)
