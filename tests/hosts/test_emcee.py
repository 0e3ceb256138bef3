"""emcee's chains of compiled densities, of one walker and of all at once, are those of the plain function."""

from __future__ import annotations

from typing import Any

import emcee
import numpy as np
import pytest
from scipy import stats

import wengert as wg

X = np.linspace(0, 5, 60)
Y = 2 * np.exp(-0.7 * X) + 0.05 * np.random.default_rng(0).standard_normal(60)
START = np.array([2.0, 0.7, -3.0]) + 0.01 * np.random.default_rng(1).standard_normal((16, 3))


def log_density(p: Any) -> Any:
    height, rate, log_noise = p
    prior = stats.norm.logpdf(p, 0, 5).sum()
    return prior + stats.norm.logpdf(Y, height * np.exp(-rate * X), np.exp(log_noise)).sum()


def bounded(p: Any) -> Any:
    return np.where((p[0] > 0) & (p[0] < 2.05), log_density(p), -np.inf)


def chain(f: Any, vectorize: bool = False) -> Any:
    sampler = emcee.EnsembleSampler(16, 3, f, vectorize=vectorize)
    sampler.random_state = np.random.RandomState(2).get_state()
    sampler.run_mcmc(START, 40)
    return sampler


@pytest.mark.parametrize("f", [log_density, bounded])
def test_the_chains_are_those_of_the_function(f: Any) -> None:
    wanted = chain(f)
    for sampler in (chain(wg.jit(f)), chain(wg.jit(wg.vmap(f)), vectorize=True), chain(wg.vmap(f), vectorize=True)):
        np.testing.assert_allclose(sampler.get_chain(), wanted.get_chain(), rtol=1e-9)
        np.testing.assert_allclose(sampler.get_log_prob(), wanted.get_log_prob(), rtol=1e-9)


def test_a_branch_per_walker() -> None:
    def f(p: Any) -> Any:
        if p[0] < 0 or p[0] > 2.05:
            return -np.inf
        return log_density(p)

    np.testing.assert_allclose(chain(wg.jit(f)).get_chain(), chain(f).get_chain(), rtol=1e-9)
    with pytest.raises(wg.errors.ConcretizationError, match=r"np\.where"):
        wg.vmap(f)(START)


def test_the_values_are_float64_of_each_walker() -> None:
    values = wg.jit(wg.vmap(log_density))(START)
    assert values.shape == (16,) and values.dtype == np.float64
    np.testing.assert_allclose(values, [log_density(p) for p in START], rtol=1e-12)
