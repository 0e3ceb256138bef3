"""Means, variances, averages and correlations, and reductions that pass NaN over, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy
from tests.tracing.numpy_cases import booleans, case, floats, integers, same_as_numpy, verify

X = floats(3, 4)
X3 = floats(2, 3, 4)
V = floats(7)
NAN = np.where(floats(4, 5, seed=3) > 1.2, np.nan, floats(4, 5, seed=4))
W = floats(3, 4, seed=9, low=0.2)
MASK = booleans(3, 4)
MASK[:, 0] = True


CASES = [
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
    case("nan_functions_without_nan", lambda x: (np.nansum(x), np.nanmean(x, 1), np.nanstd(x, 0), np.nanmax(x)), X),
]  # fmt: skip


@pytest.mark.sampled(7, "a tenth of a second each")
@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float16])
@pytest.mark.parametrize(
    "f",
    [np.mean, np.var, np.std, np.nansum, np.nanmean, np.average],
    ids=lambda f: f.__name__,
)
def test_dtypes(f, dtype):
    same_as_numpy(lambda x: f(x, axis=0), [integers(5, 2, low=0, high=3).astype(dtype)])


def test_std_of_equal_values_has_derivative_zero():
    np.testing.assert_array_equal(wg.grad(lambda x: np.std(x))(np.ones(4)), np.zeros(4))


def test_nan_functions_pass_no_nan_to_the_derivative():
    x = np.array([1.0, np.nan, 3.0])
    for f in (np.nansum, np.nanmean, np.nanvar, np.nanstd, np.nanmax, np.nanmedian, np.nanprod):
        assert np.isfinite(wg.grad(lambda z, f=f: f(z))(x)).all(), f.__name__


def test_a_mean_into_integers() -> None:
    as_numpy(lambda x: np.mean(x, out=np.zeros((), int)), np.array([1.25, -0.5, 2.0]))
