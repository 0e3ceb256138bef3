"""All of SciPy's discrete distributions: values, and derivatives in the shapes that are not counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.stats._distr_params import distdiscrete

import wengert as wg
from wengert.errors import MissingRuleError

DISCRETE = {name: [np.asarray(s, float) for s in shapes] for name, shapes in distdiscrete if isinstance(name, str)}
OF_K = ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")


@pytest.mark.sampled(25, "two dozen distributions")
@pytest.mark.parametrize("name", sorted(DISCRETE))
def test_discrete(name):
    d, shapes = getattr(stats, name), DISCRETE[name]
    k = np.array([float(d.ppf(q, *shapes)) for q in (0.3, 0.7)])
    is_count = [info.integrality for info in d._param_info()[: len(shapes)]] if name != "poisson_binom" else [False]
    free = [j for j, counts in enumerate(is_count) if not counts]

    def f(*values):
        given = list(shapes)
        for j, x in zip(free, values, strict=True):
            given[j] = x
        rows = [getattr(d, m)(k, *given) for m in OF_K]
        rows.append(d.ppf(np.array([0.317, 0.711]), *given))
        if name == "bernoulli":
            rows.pop()
        if name not in ("skellam", "nhypergeom", "hypergeom"):  # SciPy sums for seconds, or refuses
            rows.append(d.entropy(*given) + np.zeros(2))
        mean, var = d.stats(*given)
        return np.concatenate([np.ravel(row) for row in [*rows, mean, var]])

    values = [shapes[j] for j in free]
    if not values:
        np.testing.assert_allclose(
            wg.jit(lambda k: d.cdf(k, *shapes) + d.pmf(k, *shapes))(k),
            d.cdf(k, *shapes) + d.pmf(k, *shapes),
            rtol=1e-12,
        )
        return
    expected = f(*values)
    np.testing.assert_allclose(wg.jit(f)(*values), expected, rtol=1e-9, atol=1e-14)
    for j, x in enumerate(values):
        h = 1e-4 * np.max(x)
        ones = [np.ones_like(v) if i == j else np.zeros_like(v) for i, v in enumerate(values)]
        at = lambda t, ones=ones, h=h: f(*[v + t * h * one for v, one in zip(values, ones, strict=True)])
        with np.errstate(invalid="ignore"):
            slopes = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)
        tangent = wg.jvp(f, values, ones)[1]
        finite = np.isfinite(expected)
        np.testing.assert_allclose(tangent[finite], slopes[finite], rtol=5e-5, atol=1e-6)
        ct = np.where(finite, np.arange(1.0, 1 + len(expected)), 0.0)[finite]
        one = lambda x, j=j, kept=finite: f(*[x if i == j else v for i, v in enumerate(values)])[kept]
        (found,) = wg.vjp(one, x)[1](ct)
        np.testing.assert_allclose(np.sum(found), np.sum(ct * tangent[finite]), rtol=1e-9)


def test_by_hand():
    k = np.array([0.0, 2.0, 5.0])
    np.testing.assert_allclose(wg.jacobian(lambda m: stats.poisson.logpmf(k, m))(2.5), k / 2.5 - 1, rtol=1e-14)
    np.testing.assert_allclose(
        wg.jacobian(lambda p: stats.binom.logpmf(k, 7, p))(0.3), k / 0.3 - (7 - k) / 0.7, rtol=1e-12
    )
    # ∂/∂μ of Poisson's distribution function is −p(k)
    np.testing.assert_allclose(
        wg.jacobian(lambda m: stats.poisson.cdf(k, m))(2.5), -stats.poisson.pmf(k, 2.5), rtol=1e-12
    )
    np.testing.assert_allclose(wg.hessian(lambda p: stats.bernoulli.logpmf(1, p))(0.2), -25.0, rtol=1e-12)


def test_the_value_has_no_derivative_and_scipy_says_what_is_allowed():
    k = np.array([-1.0, 0.0, 0.5, 3.0, np.nan, 9.0])
    for d, shapes in ((stats.poisson, (1.5,)), (stats.binom, (7, 0.3)), (stats.geom, (0.4,)), (stats.randint, (0, 5))):
        for m in OF_K:
            f = getattr(d, m)
            with np.errstate(all="ignore"):
                expected = f(k, *shapes, loc=0)
                np.testing.assert_allclose(wg.jit(lambda k, f=f, s=shapes: f(k, *s))(k), expected, rtol=1e-12)
        assert wg.grad(lambda k, d=d, s=shapes: np.sum(d.cdf(k, *s)))(np.array([1.0, 2.0])).tolist() == [0, 0]
    for p in (-0.5, 1.5, 0.0, 1.0):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(wg.jit(lambda p: stats.binom.pmf(2, 5, p))(p), stats.binom.pmf(2, 5, p))
    assert wg.grad(lambda p: stats.bernoulli.pmf(1, p))(0.0) == 1
    with pytest.raises(MissingRuleError, match="counts"):
        wg.grad(lambda n: stats.binom.pmf(2, n, 0.5))(5.0)


def test_own_values():
    d = stats.rv_discrete(values=([1, 2, 4], [0.2, 0.3, 0.5]))
    k = np.array([1.0, 2.0, 3.0, 4.0])
    for m in OF_K:
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(wg.jit(getattr(d, m))(k), getattr(d, m)(k))
