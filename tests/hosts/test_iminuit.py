"""iminuit takes gradients and Hessians as they are: its places for them are filled, and asked."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from iminuit import Minuit
from iminuit.cost import BinnedNLL, LeastSquares, UnbinnedNLL
from scipy import stats

import wengert as wg


def rosenbrock(x: float, y: float) -> float:
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def of_array(p: np.ndarray) -> float:
    return float(np.sum((p - np.arange(len(p))) ** 2 * np.arange(1, len(p) + 1))) + np.prod(np.cos(p))


def test_a_cost_of_named_parameters_is_minimised_with_our_gradient_alone() -> None:
    m = Minuit(wg.jit(rosenbrock), x=-1.0, y=2.0, grad=wg.jit(wg.grad(rosenbrock, argnums=(0, 1))))
    differenced = Minuit(rosenbrock, x=-1.0, y=2.0).migrad()
    assert m.migrad().valid and m.parameters == ("x", "y")
    assert m.ngrad > 0 and m.nfcn < differenced.nfcn and differenced.ngrad == 0
    np.testing.assert_allclose(m.values, [1.0, 1.0], atol=1e-3)


def test_the_gradient_is_what_minuit_computes_numerically() -> None:
    ours = np.array(wg.jit(wg.grad(rosenbrock, argnums=(0, 1)))(0.3, -0.7))
    h = 1e-6
    by_hand = [
        (rosenbrock(0.3 + h, -0.7) - rosenbrock(0.3 - h, -0.7)) / (2 * h),
        (rosenbrock(0.3, -0.7 + h) - rosenbrock(0.3, -0.7 - h)) / (2 * h),
    ]
    np.testing.assert_allclose(ours, by_hand, rtol=1e-7)


@pytest.mark.parametrize("n", [1, 4])
def test_a_cost_of_one_array(n: int) -> None:
    m = Minuit(wg.jit(of_array), np.full(n, 0.5), grad=wg.jit(wg.grad(of_array)))
    m.tol = 1e-6
    assert m.migrad().valid and m.ngrad > 0
    np.testing.assert_allclose(wg.grad(of_array)(np.array(m.values)), 0, atol=1e-2)


def test_limits_and_fixed_parameters_are_minuits() -> None:
    m = Minuit(rosenbrock, x=-1.0, y=0.2, grad=wg.jit(wg.grad(rosenbrock, argnums=(0, 1))))
    m.limits["x"] = (-2, 0.5)
    m.fixed["y"] = True
    m.tol = 1e-6
    m.migrad()
    assert m.valid and m.values["y"] == 0.2 and -2 <= m.values["x"] <= 0.5
    assert abs(wg.grad(rosenbrock)(m.values["x"], 0.2)) < 1e-2


def test_the_errors_come_from_our_hessian() -> None:
    m = Minuit(of_array, np.full(3, 0.5), grad=wg.jit(wg.grad(of_array)), hessian=wg.jit(wg.hessian(of_array)))
    m.migrad()
    m.hesse()
    wanted = 2 * np.linalg.inv(wg.hessian(of_array)(np.array(m.values)))  # errordef = 1
    np.testing.assert_allclose(m.covariance, wanted, rtol=1e-3)


def line(x: np.ndarray, a: float, b: float) -> np.ndarray:
    return a + b * np.exp(-x)


def test_least_squares_take_the_slopes_of_the_model() -> None:
    x = np.linspace(0, 4, 40)
    y = line(x, 1.0, 2.0) + 0.1 * np.random.default_rng(1).standard_normal(40)
    slopes = wg.jit(lambda x, *p: np.stack(wg.jacobian(line, argnums=(1, 2))(x, *p)))
    cost = LeastSquares(x, y, 0.1, line, grad=slopes)
    np.testing.assert_allclose(cost.grad(0.5, 1.5), wg.grad(lambda p: np.sum(((y - line(x, p[0], p[1])) / 0.1) ** 2))(
        np.array([0.5, 1.5])
    ), rtol=1e-12)  # fmt: skip
    m = Minuit(cost, a=0.0, b=0.0).migrad()
    exact = np.linalg.lstsq(np.stack([np.ones(40), np.exp(-x)], 1), y, rcond=None)[0]
    assert m.ngrad > 0
    np.testing.assert_allclose(m.values, exact, rtol=1e-4)


def test_the_likelihoods_of_distributions_of_scipy() -> None:
    sample = stats.norm.rvs(1.0, 0.5, size=300, random_state=2)

    def logpdf(x: np.ndarray, mu: float, sigma: float) -> np.ndarray:
        return stats.norm.logpdf(x, mu, sigma)

    def cdf(edges: np.ndarray, mu: float, sigma: float) -> np.ndarray:
        return stats.norm.cdf(edges, mu, sigma)

    def slopes(f):
        return wg.jit(lambda x, *p: np.stack(wg.jacobian(f, argnums=(1, 2))(x, *p)))

    m = Minuit(UnbinnedNLL(sample, logpdf, log=True, grad=slopes(logpdf)), mu=0.5, sigma=1.0)
    m.limits["sigma"] = (0.01, None)
    m.migrad()
    assert m.ngrad > 0
    np.testing.assert_allclose(m.values, [sample.mean(), sample.std()], rtol=1e-3)

    counts, edges = np.histogram(sample, bins=30)
    binned = Minuit(BinnedNLL(counts, edges, cdf, grad=slopes(cdf)), mu=0.5, sigma=1.0)
    binned.limits["sigma"] = (0.01, None)
    plain = Minuit(BinnedNLL(counts, edges, stats.norm.cdf, name=["x", "y"]), x=0.5, y=1.0)
    plain.limits["y"] = (0.01, None)
    assert binned.migrad().ngrad > 0
    np.testing.assert_allclose(binned.values, plain.migrad().values, rtol=1e-3)


def test_what_cannot_be_differentiated_is_an_error_and_no_number() -> None:
    def cost(x: float) -> float:
        return float(Decimal(x)) ** 2

    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"decimal\.Decimal is not traced"):
        Minuit(cost, x=0.5, grad=wg.grad(cost, argnums=(0,))).migrad()
