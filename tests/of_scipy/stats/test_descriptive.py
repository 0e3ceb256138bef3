"""SciPy's functions of samples: values and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import wengert as wg
from tests.of_scipy.checking import case, four_tests
from wengert.errors import UnsupportedFunctionError

rng = np.random.default_rng(0)
a = rng.gamma(2.0, size=(12, 3))
b = rng.gamma(2.0, size=(9, 3))
x = a[:, 0]
y = b[:, 0]
x2 = rng.normal(size=12) + x
P = rng.uniform(0.05, 0.9, size=(6,))
FUNCTIONS = {
    "gmean": (lambda a: stats.gmean(a) + stats.gmean(a, 0, None, np.arange(1.0, 13)[:, None] * np.ones(3)), [a]),
    "hmean": (lambda a: stats.hmean(a, axis=1) + stats.hmean(a, axis=1, keepdims=True)[:, 0], [a]),
    "pmean": (lambda a: stats.pmean(a, 2) + stats.pmean(a, 0.5, axis=0), [a]),
    "trim": (lambda a: stats.trim_mean(a, 0.2) + stats.trim_mean(a, 0.1, axis=None), [a]),
    "moment": (
        lambda a: stats.moment(a, 3) + stats.moment(a, [1, 2, 3], axis=0)[1] + stats.moment(a, 2, center=0.5),
        [a],
    ),
    "skew": (
        lambda a: (
            stats.skew(a)
            + stats.skew(a, axis=None, bias=False)
            + stats.kurtosis(a, fisher=False)
            + stats.kurtosis(a, axis=0, bias=False)
        ),
        [a],
    ),
    "sem": (lambda a: stats.sem(a) + stats.variation(a, ddof=1) + stats.gstd(a) + stats.sem(a, axis=None, ddof=0), [a]),
    "describe": (
        lambda a: (
            lambda d: d.mean + 2 * d.variance + 3 * d.skewness + d.kurtosis + d.minmax[0] - d.minmax[1] + d.nobs
        )(stats.describe(a)),
        [a],
    ),
    "tmean": (
        lambda a: (
            stats.tmean(a, (0.5, 4.0))
            + stats.tvar(a, (0.5, 4.0))
            + stats.tstd(a, (0.5, None))
            + stats.tsem(a)
            + stats.tmin(a, 0.5)
            + stats.tmax(a, 3.0)
        ),
        [a],
    ),
    "iqr": (
        lambda a: (
            stats.iqr(a)
            + stats.iqr(a, axis=0, scale="normal")
            + stats.median_abs_deviation(a)
            + stats.median_abs_deviation(a, axis=None, scale="normal")
        ),
        [a],
    ),
    "rank": (lambda x: stats.rankdata(x) + 0 * x, [x]),
    "zscore": (
        lambda a: stats.zscore(a) + stats.zscore(a, axis=None, ddof=1) + stats.gzscore(a) + stats.zmap(a, a[:5]),
        [a],
    ),
    "circ": (
        lambda a: (
            stats.circmean(a)
            + stats.circvar(a, axis=0)
            + stats.circstd(a, axis=0, high=9.0)
            + stats.circmean(a, high=4, low=-4, axis=0)
        ),
        [a],
    ),
    "entropy": (
        lambda a: stats.entropy(a) + stats.entropy(a, a[::-1], base=2) + stats.entropy(a, axis=1, keepdims=True)[:3, 0],
        [a],
    ),
    "dent": (
        lambda a: np.stack(
            [stats.differential_entropy(a, method=m) for m in ("auto", "vasicek", "van es", "correa", "ebrahimi")]
        ),
        [a],
    ),
    "wass": (
        lambda x, y, w: np.atleast_1d(
            stats.wasserstein_distance(x, y) + stats.wasserstein_distance(x, y, w) + stats.energy_distance(x, y, w)
        ),
        [x, y, np.linspace(1, 2, 12)],
    ),
    "boxcox": (
        lambda x, k: (
            stats.boxcox(x, k) + stats.boxcox_llf(k, x) + stats.yeojohnson(x - 1, k) + stats.yeojohnson_llf(k, x - 1.0)
        ),
        [x, np.float64(0.4)],
    ),
}
CASES = [case(name, f, *args) for name, (f, args) in FUNCTIONS.items()]
test_value_and_derivative, test_second_derivative, test_batch, test_compiled = four_tests(CASES)


def test_transformations_without_a_parameter_find_the_likeliest():
    y, k = wg.jit(lambda x: stats.boxcox(x))(x)
    expected = stats.boxcox(x)
    np.testing.assert_allclose(y, expected[0], rtol=1e-12)
    assert k == expected[1]
    dx = np.random.default_rng(2).standard_normal(x.shape)
    for f in (lambda x: stats.boxcox(x)[1], lambda x: stats.yeojohnson(x)[1]):
        slope = (float(f(x + 1e-3 * dx)) - float(f(x - 1e-3 * dx))) / 2e-3
        assert wg.grad(f)(x) @ dx == pytest.approx(slope, rel=1e-3)


def test_batches_second_order_and_single_precision():
    rows = np.stack([x, x + 1])
    f = lambda x: stats.skew(x) + stats.gmean(x) + stats.iqr(x) + stats.zscore(x)[0]
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(rows), [wg.grad(f)(row) for row in rows], rtol=1e-12)
    hessian = wg.hessian(stats.gmean)(x)
    g, n = stats.gmean(x), len(x)
    np.testing.assert_allclose(hessian, g * (np.outer(1 / x, 1 / x) / n**2 - np.diag(1 / x**2) / n), rtol=1e-12)
    single = x.astype(np.float32)
    for function in (stats.zscore, stats.sem, stats.kurtosis, stats.trim_mean):
        more = (0.1,) if function is stats.trim_mean else ()
        actual = wg.jit(lambda x, function=function, more=more: function(x, *more))(single)
        assert np.asarray(actual).dtype == np.asarray(function(single, *more)).dtype
        np.testing.assert_allclose(actual, function(single, *more), rtol=1e-4)


def test_ranks_and_policies():
    ties = np.array([[3.0, 1.0, 3.0, 2.0], [0.0, 0.0, 1.0, 5.0]])
    for method in ("average", "min", "max", "dense", "ordinal"):
        for axis in (None, 0, 1):
            expected = stats.rankdata(ties, method, axis=axis)
            np.testing.assert_array_equal(
                wg.jit(lambda x, m=method, k=axis: stats.rankdata(x, m, axis=k))(ties), expected
            )
    with pytest.raises(UnsupportedFunctionError, match="omit"):
        wg.grad(lambda x: stats.skew(x, nan_policy="omit"))(x)
    with pytest.raises(ValueError, match="nan"):
        wg.grad(lambda x: stats.skew(x, nan_policy="raise"))(np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="Proportion"):
        wg.grad(lambda x: stats.trim_mean(x, 0.6))(x)
