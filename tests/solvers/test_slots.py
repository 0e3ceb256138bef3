"""Slots filled by hand: what ``jac_for``, ``hess_for`` and ``hessp_for`` give SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose

import wengert as wg


def quartic(x: Any, a: float) -> Any:
    return np.sum((x - a) ** 4 + x[0] * x)


def test_the_gradient_has_further_arguments() -> None:
    x = np.array([1.0, 2.0, -1.0])
    assert_allclose(wg.jac_for(quartic)(x, 0.5), wg.grad(quartic)(x, 0.5))
    assert wg.jac_for(quartic).__name__ == "jac_for(quartic)"


@pytest.mark.parametrize("returned", [list, tuple, np.array], ids=["list", "tuple", "array"])
def test_the_jacobian_is_of_lists_too(returned: Any) -> None:
    f = lambda x: returned([x[0] * x[1], np.sin(x[0]), 3.0 * x[1]])
    assert_allclose(wg.jac_for(f)(np.array([1.0, 2.0])), [[2, 1], [np.cos(1), 0], [0, 3]])


def test_an_integer_point_is_a_point() -> None:
    assert_allclose(wg.jac_for(lambda x: np.sum(x**2))([1, 2]), [2, 4])
    assert_allclose(wg.jac_for(lambda x: np.sum(x**2))(np.array([1, 2])), [2, 4])


def test_the_second_argument_is_that_of_an_equation() -> None:
    f = lambda t, y, k: [y[1], -k * y[0] * t]
    assert_allclose(wg.jac_for(f, 1)(2.0, np.array([1.0, 3.0]), 5.0), [[0, 1], [-10, 0]])


def test_several_arguments_are_columns() -> None:
    model = lambda t, a, b: a * np.exp(b * t)
    t = np.linspace(0, 1, 5)
    found = wg.jac_for(model, range(1, 3))(t, np.float64(2.0), np.float64(-1.0))
    assert_allclose(found, np.stack([np.exp(-t), 2 * t * np.exp(-t)], axis=1))
    p, _ = scipy.optimize.curve_fit(model, t, model(t, 3.0, -2.0), jac=wg.jac_for(model, range(1, 3)))
    assert_allclose(p, [3, -2])


def test_second_derivatives() -> None:
    x, v = np.array([1.0, 2.0, -1.0]), np.array([0.5, -1.0, 2.0])
    expected = wg.hessian(quartic)(x, 0.5)
    assert_allclose(wg.hess_for(quartic)(x, 0.5), expected)
    assert_allclose(wg.hessp_for(quartic)(x, v, 0.5), expected @ v)


def test_an_objective_may_return_an_array_of_one_number() -> None:
    f = lambda x: np.sum(x**3, keepdims=True)
    assert_allclose(wg.hess_for(f)(np.array([1.0, 2.0])), np.diag([6, 12]))
