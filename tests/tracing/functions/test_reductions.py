"""Reductions, running sums and products, statistics and quantiles against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tracing.numpy_cases import booleans, case, floats, integers, same_as_numpy, verify
from wengert.errors import UnsupportedFunctionError

X = floats(3, 4)
X3 = floats(2, 3, 4)
V = floats(7)
NAN = np.where(floats(4, 5, seed=3) > 1.2, np.nan, floats(4, 5, seed=4))
W = floats(3, 4, seed=9, low=0.2)
MASK = booleans(3, 4)
MASK[:, 0] = True

CASES = [
    case("sum", lambda x: np.sum(x), X),
    case("sum_axis", lambda x: np.sum(x, 0), X),
    case("sum_negative_axes_keepdims", lambda x: np.sum(x, axis=(-1, 0), keepdims=True), X3),
    case("sum_dtype", lambda x: np.sum(x, dtype=np.float32), X, order=0),
    case("sum_initial_where", lambda x: np.sum(x, axis=1, initial=2.5, where=MASK), X),
    case("sum_no_axes", lambda x: np.sum(x, axis=()), X),
    case("sum_scalar", lambda x: np.sum(x[0], axis=0), V),
    case("sum_method", lambda x: x.sum(axis=1, keepdims=True), X),
    case("prod", lambda x: np.prod(x), V),
    case("prod_axis", lambda x: np.prod(x, axis=(0, 2)), X3),
    case("prod_with_zeros", lambda x: np.prod(x), np.array([2.0, 0.0, 3.0, 0.0])),
    case("prod_where", lambda x: np.prod(x, axis=0, where=MASK, initial=2), X),
    case("max", lambda x: np.max(x), X),
    case("max_axis", lambda x: x.max(axis=-1), X),
    case("amin", lambda x: np.amin(x, axis=(0, 2), keepdims=True), X3),
    case("max_initial", lambda x: np.max(x, axis=0, initial=0.3), X),
    case("min_where", lambda x: np.min(x, axis=0, initial=0.5, where=MASK), X),
    case("max_of_nothing", lambda x: np.max(x[:, :0], axis=1, initial=1.5), X),
    case("ptp", lambda x: np.ptp(x, axis=1, keepdims=True), X),
    case("argmax", lambda x: (np.argmax(x), np.argmin(x, axis=0), x.argmax(1, keepdims=True)), X, order=0),
    case("argmax_flat_keepdims", lambda x: np.argmax(x, keepdims=True), X, order=0),
    case("any_all", lambda x: (np.any(x > 1), np.all(x > -3, axis=0), (x > 0).any(1, keepdims=True)), X, order=0),
    case("any_where", lambda x: (np.any(x, where=MASK), np.all(x, axis=1, where=MASK)), X, order=0),
    case("count_nonzero", lambda x: np.count_nonzero(x > 0, axis=1, keepdims=True), X, order=0),
    case("cumsum", lambda x: np.cumsum(x, axis=1), X),
    case("cumsum_flat", lambda x: np.cumsum(x), X),
    case("cumprod", lambda x: x.cumprod(axis=0), X),
    case("cumprod_with_zeros", lambda x: np.cumprod(x), np.array([2.0, 0.0, 3.0, 0.0, 1.5])),
    case("cumulative_sum", lambda x: np.cumulative_sum(x, axis=1, include_initial=True), X),
    case("cumulative_prod", lambda x: np.cumulative_prod(x, include_initial=True), V),
    case("mean", lambda x: np.mean(x, axis=0), X),
    case("mean_keepdims", lambda x: x.mean((0, 2), keepdims=True), X3),
    case("mean_where", lambda x: np.mean(x, axis=1, where=MASK), X),
    case("mean_dtype", lambda x: np.mean(x, dtype=np.float32), X, order=0),
    case("var", lambda x: np.var(x), X),
    case("var_ddof", lambda x: np.var(x, axis=1, ddof=1, keepdims=True), X),
    case("var_correction", lambda x: np.var(x, axis=0, correction=1), X),
    case("var_where", lambda x: np.var(x, axis=1, where=MASK), X),
    case("var_mean", lambda x: np.var(x, axis=1, mean=np.mean(x, axis=1, keepdims=True)), X),
    case("std", lambda x: x.std(axis=0), X),
    case("average", lambda x: np.average(x, axis=1), X),
    case("average_weights", lambda x, w: np.average(x, weights=w), X, W),
    case("average_axis_weights", lambda x, w: np.average(x, axis=1, weights=w, keepdims=True), X, W[0]),
    case("average_returned", lambda x, w: np.average(x, axis=0, weights=w, returned=True), X, W),
    case("median_odd", lambda x: np.median(x), V),
    case("median_even", lambda x: np.median(x, axis=1), X),
    case("median_axes", lambda x: np.median(x, axis=(0, 2), keepdims=True), X3),
    case("quantile", lambda x: np.quantile(x, 0.3), V),
    case("quantile_many", lambda x: np.quantile(x, [0.0, 0.25, 1.0], axis=1), X),
    case("quantile_exact", lambda x: np.quantile(x, 0.5, axis=0), X),
    case("quantile_keepdims", lambda x: np.quantile(x, [[0.1, 0.9]], axis=0, keepdims=True), X),
    case("quantile_of_traced_q", lambda x, q: np.quantile(x, q, axis=1), X, np.array([0.21, 0.77])),
    *[
        case(f"quantile_{m}", lambda x, m=m: np.quantile(x, [0.05, 0.37, 0.9], method=m), V, order=1)
        for m in (
            "lower",
            "higher",
            "nearest",
            "midpoint",
            "hazen",
            "weibull",
            "median_unbiased",
            "normal_unbiased",
            "interpolated_inverted_cdf",
        )
    ],
    case("percentile", lambda x: np.percentile(x, 35, axis=0), X),
    case("percentile_many", lambda x: np.percentile(x, (10, 20.5)), V),
    case("cov", lambda x: np.cov(x), X),
    case("cov_two", lambda x, y: np.cov(x, y, bias=True), V, V[::-1].copy()),
    case("cov_weights", lambda x, w: np.cov(x, aweights=w, rowvar=False), X, W[:, 0]),
    case("cov_frequencies", lambda x: np.cov(x, fweights=[1, 2, 3, 1], ddof=0), X),
    case("corrcoef", lambda x: np.corrcoef(x), X, order=0),
    case("corrcoef_of_two", lambda x, y: np.corrcoef(x, y)[0, 1], V, floats(7, seed=1)),
    case("nansum", lambda x: np.nansum(x, axis=0), NAN, order=0),
    case("nanprod", lambda x: np.nanprod(x), NAN, order=0),
    case("nancumsum", lambda x: np.nancumsum(x, axis=1), NAN, order=0),
    case("nancumprod", lambda x: np.nancumprod(x), NAN, order=0),
    case("nanmean", lambda x: np.nanmean(x, axis=1), NAN, order=0),
    case("nanvar", lambda x: np.nanvar(x, axis=1, ddof=1), NAN, order=0),
    case("nanstd", lambda x: np.nanstd(x, axis=0, keepdims=True), NAN, order=0),
    case("nanmax", lambda x: (np.nanmax(x), np.nanmin(x, axis=1)), NAN, order=0),
    case("nanargmax", lambda x: (np.nanargmax(x, axis=1), np.nanargmin(x)), NAN, order=0),
    case("nanmedian", lambda x: np.nanmedian(x, axis=1), NAN, order=0),
    case("nanquantile", lambda x: np.nanquantile(x, [0.2, 0.7], axis=0), NAN, order=0),
    case("nanpercentile", lambda x: np.nanpercentile(x, 40, axis=1, keepdims=True), NAN, order=0),
    case("nan_functions_without_nan", lambda x: (np.nansum(x), np.nanmean(x, 1), np.nanstd(x, 0), np.nanmax(x)), X),
    case("nanmedian_without_nan", lambda x: (np.nanmedian(x, 1), np.nanquantile(x, 0.3, 0)), X),
]


@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float16])
@pytest.mark.parametrize(
    "f",
    [np.sum, np.prod, np.max, np.cumsum, np.cumprod, np.mean, np.var, np.std, np.any, np.median, np.argmax,
     np.count_nonzero, np.nansum, np.nanmean, np.average],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_dtypes(f, dtype):
    same_as_numpy(lambda x: f(x, axis=0), [integers(5, 2, low=0, high=3).astype(dtype)])


@pytest.mark.parametrize("f", [np.sum, np.prod, np.cumsum, np.any, np.all, np.cumprod], ids=lambda f: f.__name__)
def test_empty_and_0d(f):
    same_as_numpy(f, [np.zeros((0, 3))])
    same_as_numpy(lambda x: f(x, axis=0), [np.zeros((0, 3))])
    same_as_numpy(f, [np.array(2.5)])


def test_std_of_equal_values_has_derivative_zero():
    import wengert as wg

    np.testing.assert_array_equal(wg.grad(lambda x: np.std(x))(np.ones(4)), np.zeros(4))


def test_nan_functions_pass_no_nan_to_the_derivative():
    import wengert as wg

    x = np.array([1.0, np.nan, 3.0])
    for f in (np.nansum, np.nanmean, np.nanvar, np.nanstd, np.nanmax, np.nanmedian, np.nanprod):
        assert np.isfinite(wg.grad(lambda z, f=f: f(z))(x)).all(), f.__name__


def test_out_is_written():
    def f(x):
        y = np.zeros(4)
        assert np.sum(x, axis=0, out=y) is y
        z = np.empty(4)
        np.mean(x, 0, out=z)
        return y, z

    same_as_numpy(f, [X])


def test_refused():
    with pytest.raises(UnsupportedFunctionError, match=r"method='inverted_cdf'.*"):
        same_as_numpy(lambda x: np.quantile(x, 0.5, method="inverted_cdf"), [V])
