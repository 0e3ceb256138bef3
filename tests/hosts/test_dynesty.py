"""dynesty's runs with compiled functions are those with the plain ones."""

from __future__ import annotations

from typing import Any

import dynesty
import numpy as np
import pytest
from scipy import stats

import wengert as wg

X = np.linspace(0, 5, 60)
Y = 2 * np.exp(-0.7 * X) + 0.05 * np.random.default_rng(0).standard_normal(60)


def log_likelihood(p: Any) -> Any:
    height, rate = p
    return stats.norm.logpdf(Y, height * np.exp(-rate * X), 0.05).sum()


def branching(p: Any) -> Any:
    if p[0] > 9:
        return -1e100
    return log_likelihood(p)


def prior(u: Any) -> Any:
    return np.array([10 * u[0], 5 * u[1]])


def run(f: Any, transform: Any) -> Any:
    sampler = dynesty.NestedSampler(f, transform, 2, nlive=40, rstate=np.random.default_rng(1))
    sampler.run_nested(dlogz=2.0, print_progress=False)
    return sampler.results


@pytest.mark.parametrize("f", [log_likelihood, branching])
def test_the_run_is_that_of_the_functions(f: Any) -> None:
    ours, plain = run(wg.jit(f), wg.jit(prior)), run(f, prior)
    np.testing.assert_allclose(ours.samples, plain.samples, rtol=1e-7)
    np.testing.assert_allclose(ours.logz, plain.logz, rtol=1e-9)


def test_a_grid_at_once() -> None:
    points = np.random.default_rng(3).uniform(0, 3, (50, 2))
    np.testing.assert_allclose(wg.jit(wg.vmap(log_likelihood))(points), [log_likelihood(p) for p in points], rtol=1e-12)
