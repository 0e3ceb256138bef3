"""SciPy's tests, correlations and fits: values and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import wengert as wg
from wengert.errors import UnsupportedFunctionError

rng = np.random.default_rng(0)
a = rng.gamma(2.0, size=(12, 3))
b = rng.gamma(2.0, size=(9, 3))
x = a[:, 0]
y = b[:, 0]
x2 = rng.normal(size=12) + x
P = rng.uniform(0.05, 0.9, size=(6,))
CASES = {
    "t1": (
        lambda a, m: (
            (lambda r: r.statistic + r.pvalue)(stats.ttest_1samp(a, m))
            + stats.ttest_1samp(a, m, alternative="less").pvalue
        ),
        [a, np.float64(1.5)],
    ),
    "t2": (
        lambda a, b: sum(stats.ttest_ind(a, b)) + sum(stats.ttest_ind(a, b, equal_var=False, alternative="greater")),
        [a, b],
    ),
    "t3": (lambda a, b: sum(stats.ttest_rel(a, b)), [a, a[::-1] * 1.3]),
    "t4": (
        lambda m, s, n: np.atleast_1d(sum(stats.ttest_ind_from_stats(m, s, 10, n, 1.2, 12))),
        [np.float64(1.0), np.float64(2.0), np.float64(0.3)],
    ),
    "skewtest": (
        lambda a: (
            sum(stats.skewtest(a))
            + sum(stats.kurtosistest(a))
            + sum(stats.normaltest(a))
            + sum(stats.jarque_bera(a, axis=0))
        ),
        [a],
    ),
    "f": (
        lambda a, b: sum(stats.f_oneway(a, b, a[:5] * 2)) + sum(stats.bartlett(a, b)) + sum(stats.levene(a, b)),
        [a, b],
    ),
    "chi": (
        lambda a: (
            sum(stats.chisquare(a))
            + sum(stats.power_divergence(a, lambda_="cressie-read"))
            + sum(stats.power_divergence(a, lambda_=0))
        ),
        [a],
    ),
    "comb": (
        lambda p: np.stack(
            [sum(stats.combine_pvalues(p, m)) for m in ("fisher", "pearson", "stouffer", "mudholkar_george")]
        ),
        [P],
    ),
    "pearson": (
        lambda x, y: np.atleast_1d(
            sum(stats.pearsonr(x, y))
            + stats.pearsonr(x, y, alternative="less").pvalue
            + sum(stats.pointbiserialr(x, y))
        ),
        [x, x2],
    ),
    "linreg": (lambda x, y: np.stack([*stats.linregress(x, y), stats.linregress(x, y).intercept_stderr]), [x, x2]),
    "spear": (lambda x, y: np.atleast_1d(sum(stats.spearmanr(x, y))), [x, x2]),
    "fit": (
        lambda x: np.stack(
            [
                *stats.norm.fit(x),
                *stats.expon.fit(x),
                *stats.laplace.fit(x),
                *stats.uniform.fit(x),
                stats.rayleigh.fit(x, floc=0)[1],
                stats.norm.fit(x, floc=1.0)[1],
            ]
        ),
        [x],
    ),
}


def check(f, args):
    expected = np.asarray(f(*args))
    y = wg.jit(f)(*args)
    np.testing.assert_allclose(y, expected, rtol=1e-8)
    assert np.shape(y) == expected.shape
    _, pullback = wg.vjp(f, *args)
    ct = np.random.default_rng(1).standard_normal(expected.shape)
    cts = pullback(ct)
    for k, v in enumerate(args):
        dx = np.random.default_rng(k).standard_normal(np.shape(v))
        h = 1e-5

        def along(t, k=k, dx=dx):
            return np.sum(ct * f(*[u + t * dx if j == k else u for j, u in enumerate(args)]))

        slope = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
        assert np.sum(cts[k] * dx) == pytest.approx(slope, rel=2e-6, abs=2e-6)
        tangents = [dx if j == k else np.zeros_like(u) for j, u in enumerate(args)]
        assert np.sum(ct * wg.jvp(f, args, tangents)[1]) == pytest.approx(np.sum(cts[k] * dx), rel=1e-9, abs=1e-9)


@pytest.mark.sampled(9, "a dozen functions")
@pytest.mark.parametrize("name", CASES)
def test_comparing(name):
    check(*CASES[name])


def test_results_are_scipys():
    found = []

    def f(x, y):
        result = stats.ttest_ind(x, y)
        found.append((type(result), type(stats.pearsonr(x, x2)), type(stats.linregress(x, x2))))
        return result.statistic + result.df

    wg.grad(f)(x, y)
    expected = type(stats.ttest_ind(x, y)), type(stats.pearsonr(x, x2)), type(stats.linregress(x, x2))
    assert found[0] == expected
    slope = wg.jacobian(lambda y: stats.linregress(x, y).slope)(x2)
    np.testing.assert_allclose(slope, (x - x.mean()) / np.sum((x - x.mean()) ** 2), rtol=1e-12)


def test_what_is_refused():
    with pytest.raises(UnsupportedFunctionError, match="permutations"):
        wg.grad(lambda x: stats.ttest_ind(x, y, permutations=10).statistic)(x)
    with pytest.raises(ValueError, match="identical"):
        wg.grad(lambda y: stats.linregress(np.ones(12), y).slope)(x2)
    with pytest.raises(ValueError, match="same length"):
        wg.grad(lambda x: stats.pearsonr(x, y).statistic)(x)
