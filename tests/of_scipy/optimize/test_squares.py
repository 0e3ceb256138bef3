"""Least squares within traced functions, beside differences of what SciPy computes without a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import wengert as wg
from tests.of_scipy.optimize.solutions import check_solution, differences

T = np.linspace(0, 1, 20)
Y = 2.5 * np.exp(-1.3 * T) + 0.05 * np.sin(40 * T)
TIGHT: dict[str, Any] = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}


def decay(x: Any, a: Any, b: Any) -> Any:
    return a * np.exp(-b * x)


def rest(q: Any, p: Any) -> Any:
    return decay(T, q[0], q[1]) - Y**p


@pytest.mark.parametrize(
    "options",
    [{}, {"loss": "soft_l1"}, {"loss": "cauchy", "f_scale": 0.3}, {"method": "lm"}, {"bounds": ([0, 0], [2.4, 5])}],
)
@pytest.mark.sampled(7, "a compiled program for each")
def test_least_squares(options: Any) -> None:
    f = lambda p: optimize.least_squares(rest, [1.0, 1.0], args=(p,), **TIGHT, **options).x
    check_solution(f, 1.1, rtol=1e-4, second_rtol=3e-3)


@pytest.mark.deep("others of the same kind")
@pytest.mark.parametrize("options", [{"loss": "huber", "f_scale": 0.02}, {"loss": "arctan"}, {"method": "dogbox"}])
def test_least_squares_in_other_ways(options: Any) -> None:
    f = lambda p: optimize.least_squares(rest, [2.0, 1.0], args=(p,), **TIGHT, **options).x
    check_solution(f, 1.1, rtol=1e-3, second_rtol=1e-2)


def test_a_traced_scale_of_the_losses() -> None:
    """Its derivative was 0."""
    k = np.linspace(0, 3, 8)
    tight: Any = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}
    line = lambda z: z[0] + z[1] * k - np.sin(k) - 1.3 * k**2
    # SciPy's own differences leave x uncertain by 4e-9, of which the differences of x make more than is allowed.
    jac = lambda z: np.stack([np.ones_like(k), k], axis=1)
    f = lambda p: optimize.least_squares(line, [0.0, 0.0], jac, loss="soft_l1", f_scale=p, **tight).x
    check_solution(f, 0.6, rtol=1e-4)
    tight |= {"method": "trf", "loss": "cauchy"}
    model = lambda k, a, b: a + b * k
    g = lambda p: optimize.curve_fit(model, k, np.sin(k) + 1.3 * k**2, (0.0, 0.0), f_scale=p, **tight)[0]
    check_solution(g, 0.6, rtol=1e-3)  # SciPy's own differences are no better


def test_the_result_of_least_squares() -> None:
    def f(p: Any) -> Any:
        found = optimize.least_squares(rest, [1.0, 1.0], args=(p,), **TIGHT)
        return np.concatenate([found.fun, found.grad, [found.cost + 0 * found.nfev], found.jac[0]])

    check_solution(f, 1.1, rtol=1e-4)


def test_leastsq() -> None:
    for f in (
        lambda p: optimize.leastsq(rest, [1.0, 1.0], (p,), ftol=1e-14, xtol=1e-14)[0],
        lambda p: optimize.leastsq(rest, [1.0, 1.0], (p,), full_output=True)[1],
    ):
        check_solution(f, 1.1, rtol=1e-3, value_rtol=1e-5, second_rtol=1e-2)


FITS = {
    "data": lambda p: optimize.curve_fit(decay, T, p * Y)[0],
    "places": lambda p: optimize.curve_fit(decay, T * p, Y)[0],
    "captured": lambda p: optimize.curve_fit(lambda x, a, b: a * np.exp(-b * x**p), T, Y)[0],
    "sigma": lambda p: optimize.curve_fit(decay, T, Y, sigma=1 + p * T)[0],
    "a matrix": lambda p: optimize.curve_fit(decay, T, Y, sigma=np.diag(1 + p * T) + 0.1)[0],
    "bounds": lambda p: optimize.curve_fit(decay, T, Y, bounds=([0, 0], [2.2 * p, 5]))[0],
    "start": lambda p: optimize.curve_fit(decay, T, Y * p, p0=[p, 1.0], method="trf")[0],
    "covariance": lambda p: optimize.curve_fit(decay, T, Y**p)[1],
    "absolute covariance": lambda p: optimize.curve_fit(decay, T, Y, sigma=1 + p * T, absolute_sigma=True)[1],
}


@pytest.mark.sampled(4, "a compiled program for each")
@pytest.mark.parametrize("name", FITS)
def test_curve_fit(name: str) -> None:
    check_solution(FITS[name], 1.0, rtol=2e-3, value_rtol=1e-5, second_rtol=3e-2 if name == "places" else None)


def test_a_straight_line_by_hand() -> None:
    """The slope of a fit is linear in the data: Σ (t − t̄) y / Σ (t − t̄)²."""
    f = lambda y: optimize.curve_fit(lambda x, a, b: a * x + b, T, y)[0][0]
    centred = T - T.mean()
    np.testing.assert_allclose(wg.grad(f)(Y), centred / (centred @ centred), atol=1e-12)


def test_a_fit_that_does_not_tell_its_parameters_has_no_derivative() -> None:
    f = lambda p: optimize.curve_fit(lambda x, a, b: (a + b) * x * p, T, Y)[0][0]
    with pytest.warns(wg.SolverWarning, match="singular"):
        assert np.isnan(wg.grad(f)(1.0))


A = np.random.default_rng(0).normal(size=(6, 3))
B = A @ np.array([1.0, -1.0, 0.5]) + 0.1 * np.arange(6)


def test_linear_least_squares() -> None:
    box = lambda p: (-0.3, np.array([p, 1.0, 2.0]))

    def f(p: Any) -> Any:
        x, norm = optimize.nnls(A * p, B)
        bounded = optimize.lsq_linear(A, B * p, bounds=box(p)).x
        return np.concatenate([x, bounded, [norm, optimize.lsq_linear(A, B * p).cost]])

    check_solution(f, 1.1)


def test_isotonic_regression() -> None:
    y = np.array([1.0, 3.0, 2.0, 5.0, 4.0, 6.0])
    f = lambda p: optimize.isotonic_regression(y * p ** np.arange(6)).x
    check_solution(f, 1.0)
    g = lambda p: optimize.isotonic_regression(y, weights=1 + p * np.arange(6), increasing=False).x
    np.testing.assert_allclose(wg.jacobian(g)(1.0), differences(g, 1.0), rtol=1e-7)
