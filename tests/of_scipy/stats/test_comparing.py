"""SciPy's tests, correlations and fits: values and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import wengert as wg
from tests.of_scipy.checking import case, four_tests
from wengert.errors import UnsupportedFunctionError
from wengert.of_scipy.stats.comparing import IS_OLDER

rng = np.random.default_rng(0)
a = rng.gamma(2.0, size=(12, 3))
b = rng.gamma(2.0, size=(9, 3))
x = a[:, 0]
y = b[:, 0]
x2 = rng.normal(size=12) + x
P = rng.uniform(0.05, 0.9, size=(6,))
TRIMMED = (lambda a, b: sum(stats.levene(a, b, center="trimmed", proportiontocut=0.2)), [a, b])
FUNCTIONS = {
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
    **({} if IS_OLDER else {"trimmed": TRIMMED}),
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
            [sum(stats.combine_pvalues(p, m)) for m in ("fisher", "pearson", "stouffer", "mudholkar_george", "tippett")]
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
    "siegel": (
        lambda x, y: np.stack(
            [*stats.siegelslopes(y, x), *stats.siegelslopes(y), *stats.siegelslopes(y, x, "separate")]
        ),
        [x, x2],
    ),
    "siegel of ties": (lambda y: np.stack(stats.siegelslopes(y, np.repeat([1.0, 2.0, 4.0, 4.5], 3))), [x2]),
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
CASES = [case(name, f, *args) for name, (f, args) in FUNCTIONS.items()]
test_value_and_derivative, test_second_derivative, test_batch, test_compiled = four_tests(CASES)


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
