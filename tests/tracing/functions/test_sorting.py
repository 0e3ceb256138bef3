"""Sorting, searching, medians, quantiles, counting in bins against NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy
from tests.tracing.numpy_cases import case, floats, integers, record, same_as_numpy, verify
from wengert.errors import UnsupportedFunctionError
from wengert.tracing.functions.sorting import _refuses_no_weight

X = floats(3, 4)
X3 = floats(2, 3, 4)
V = floats(7)
N = np.array([2, 5, 2, 0, 5, 5])
W = floats(7, seed=5, low=0.2)
NAN = np.where(floats(4, 5, seed=3) > 1.2, np.nan, floats(4, 5, seed=4))
TABLE = np.array([-1.5, -0.5, 0.25, 1.0])

CASES = [
    case("sort", lambda x: (np.sort(x), np.sort(x, axis=0), np.sort(x, axis=None)), X),
    case("sort_3d", lambda x: np.sort(x, axis=1, kind="stable"), X3),
    case("argsort", lambda x: (np.argsort(x), x.argsort(axis=0), np.argsort(x, axis=None)), X, order=0),
    case("sort_in_place", lambda x: _sorted_in_place(x), X),
    case("partition", lambda x: np.sum(np.partition(x, 2)[:3]), V),
    case("argpartition", lambda x: np.sum(x[np.argpartition(x, 3)[:3]]), V),
    case("lexsort", lambda x, y: np.lexsort((x, np.rint(y))), V, floats(7, seed=1), order=0),
    case("unique", lambda x: np.unique(np.concatenate([x, x[:3]])), V),
    case("searchsorted", lambda x: (np.searchsorted(TABLE, x), np.searchsorted(TABLE, x, side="right")), X, order=0),
    case("searchsorted_method", lambda x: np.sort(x).searchsorted(0.3), V, order=0),
    case("searchsorted_sorter", lambda x: np.searchsorted(x, TABLE, sorter=np.argsort(x)), V, order=0),
    case("digitize", lambda x: (np.digitize(x, TABLE), np.digitize(x, TABLE, right=True)), X, order=0),
    case("digitize_down", lambda x: np.digitize(x, TABLE[::-1]), X, order=0),
    case("isin", lambda x: (np.isin(x, x[1]), np.isin(x, [0.0], invert=True)), X, order=0),
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
    case("nanmedian", lambda x: np.nanmedian(x, axis=1), NAN, order=0),
    case("nanquantile", lambda x: np.nanquantile(x, [0.2, 0.7], axis=0), NAN, order=0),
    case("nanpercentile", lambda x: np.nanpercentile(x, 40, axis=1, keepdims=True), NAN, order=0),
    case("nanmedian_without_nan", lambda x: (np.nanmedian(x, 1), np.nanquantile(x, 0.3, 0)), X),
    case("bincount_weights", lambda w: np.bincount(N, weights=w, minlength=8), V[:6]),
    case("histogram", lambda x: np.histogram(x, bins=TABLE), X, order=0),
    case("histogram_range", lambda x: np.histogram(x, bins=4, range=(-2, 2)), X, order=0),
    case("histogram_bin_edges", lambda x: np.histogram_bin_edges(x, bins=5), X),
    case("histogram_bin_edges_range", lambda x: np.histogram_bin_edges(x, bins=3, range=(0, 2)), X, order=0),
    case("histogram2d", lambda x: np.histogram2d(x[0], x[1], bins=3), X, order=0),
    case("histogram2d_edges", lambda x: np.histogram2d(x[0], x[1], bins=TABLE), X, order=0),
    case("histogram2d_each", lambda x: np.histogram2d(x[0], x[1], bins=[TABLE, 4], range=[None, (-2, 2)]), X, order=0),
    case("histogramdd", lambda x: np.histogramdd(x.T, bins=(2, 3, 4))[0], X, order=0),
    case("histogramdd_density", lambda x: np.histogramdd(x.T, 2, [(-2, 2)] * 3, density=True)[0], X, order=0),
    case("histogram2d_weights", lambda w: np.histogram2d(V, V * V, bins=3, weights=w, density=True)[0], W),
    case("histogram_weights", lambda w: np.histogram(V, bins=TABLE, weights=w, density=True)[0], W),
]  # fmt: skip


def _sorted_in_place(x):
    y = x * 1.0
    assert y.sort(axis=0) is None
    y[0].sort()
    return y


@pytest.mark.sampled(5, "a tenth of a second each")
@pytest.mark.parametrize(("f", "args", "order"), CASES)
def test_like_numpy(f, args, order):
    verify(f, args, order)


def test_integers():
    f = lambda n: (np.sort(n), np.argsort(n, kind="stable"), np.bincount(n), np.unique(n))
    same_as_numpy(f, [N])
    same_as_numpy(lambda n: np.unique(n, return_index=True, return_inverse=True, return_counts=True), [N])
    same_as_numpy(lambda n: np.unique(n, return_inverse=True, return_counts=True), [N.reshape(2, 3)])
    same_as_numpy(lambda n: np.histogram(n), [N])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float16])
def test_dtypes_of_medians(dtype):
    same_as_numpy(lambda x: np.median(x, axis=0), [integers(5, 2, low=0, high=3).astype(dtype)])


def test_nan_is_sorted_last_and_unique():
    x = np.array([np.nan, 1.0, np.nan, -1.0])
    same_as_numpy(lambda x: (np.sort(x), np.argsort(x, kind="stable"), np.unique(x)), [x])
    same_as_numpy(lambda x: np.unique(x, equal_nan=False), [x])
    same_as_numpy(lambda x: (np.median(x), np.quantile(x, [0.1, 0.5])), [x])


def test_empty_and_0d():
    same_as_numpy(lambda x: (np.sort(x), np.argsort(x), np.sort(x, axis=0)), [np.zeros((0, 3))])
    same_as_numpy(lambda x: np.unique(x), [np.zeros(0)])
    same_as_numpy(lambda x: np.sort(x, axis=None), [np.array(2.0)])
    same_as_numpy(lambda n: np.bincount(n), [np.zeros(0, int)])


def test_derivative_of_sort_is_a_permutation():
    jacobian = wg.jacobian(lambda x: np.sort(x))(np.array([3.0, 1.0, 2.0]))
    np.testing.assert_array_equal(jacobian, [[0, 1, 0], [0, 0, 1], [1, 0, 0]])


def test_unique_guards_the_count_alone():
    tape, *_ = record(lambda x: np.unique(x), [V])
    assert [i.params["expected"].value for i in tape.instrs if i.op.name == "guard"] == [7]


def test_refused():
    with pytest.raises(UnsupportedFunctionError, match="order='f0'"):
        record(lambda x: np.sort(x, order="f0"), [X])
    with pytest.raises(UnsupportedFunctionError, match="bins='stone'"):
        record(lambda x: np.histogram(x, bins="stone"), [X])


ROWS = np.array([[1.0, 2, 1], [3, 1, 2], [1, 2, 1], [3, 1, 0]])
NO_ROWS, NO_COLUMNS, PAIRS = ROWS[:0], ROWS[:, :0], np.stack([ROWS, ROWS], 1)
NAN_ROWS = np.array([[np.nan, 1], [np.nan, 1], [1, np.nan], [1, 2], [1, 2]])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("a", [ROWS, ROWS > 1, ROWS.astype(int), NO_ROWS, NO_COLUMNS, PAIRS, NAN_ROWS])
def test_unique_along_an_axis(a, axis):
    same_as_numpy(lambda x: np.unique(x, axis=axis), [a])
    same_as_numpy(lambda x: np.unique(x, True, True, True, axis=axis), [a])


def test_unique_rows_are_looked_at_and_move():
    f = wg.jit(lambda x: np.unique(x, axis=0), strict=True)
    for x in (ROWS, ROWS[::-1], ROWS + np.arange(4)[:, None]):
        np.testing.assert_array_equal(f(x), np.unique(x, axis=0))
    same_as_numpy(lambda x: np.unique(x, return_inverse=True, axis=0), [V])
    for f in (lambda x: np.unique(x, axis=2), lambda x: np.unique(x[0], axis=1)):
        with pytest.raises(ValueError):
            wg.jit(f, strict=True)(X)
    by = wg.grad(lambda x: np.sum(np.unique(x, axis=0) * [[1.0], [2], [3]]))(ROWS)
    assert by[:, 0].tolist() == [1, 3, 0, 2]  # of equal rows the first moves


@pytest.mark.parametrize("method", ["inverted_cdf", "averaged_inverted_cdf", "closest_observation"])
def test_quantiles_that_are_elements_or_half_way(method):
    q = np.linspace(0, 1, 9)
    for n in (1, 2, 4, 5):
        for x in (V[:n], N[:n], V[:n].astype(np.float32)):
            same_as_numpy(lambda x: (np.quantile(x, q, method=method), np.quantile(x, 0.5, method=method)), [x])
    f = lambda x: np.nanquantile(x, [0.1, 0.5, 1 / 3], axis=0, method=method)
    same_as_numpy(f, [NAN])
    same_as_numpy(lambda x: np.percentile(x, [10, 50], axis=1, method=method, keepdims=True), [X])
    wg.check_derivatives(lambda x: np.quantile(x, q, method=method), V)


WEIGHTED: list[dict[str, Any]] = [
    {"axis": 0, "weights": W[:3]},
    {"axis": 1, "weights": W[:4], "keepdims": True},
    {"axis": 0, "weights": np.array([0.0, 2, 1])},
    {"axis": (0, 1), "weights": np.abs(X)},
    {"axis": (1, 0), "weights": np.abs(X).T},
    {"weights": np.abs(X)},
    {"axis": -1, "weights": np.abs(X)},
]


MIXED_UP = np.quantile([[1.0, 2], [3, 4]], 0.5, (0, 1), weights=[[0, 1], [0, 0]], method="inverted_cdf") != 2
"""Up to 2.3, NumPy takes the weights of several axes in another order than the elements."""


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize("options", WEIGHTED)
def test_weighted_quantiles(options):
    if MIXED_UP and isinstance(options.get("axis"), tuple):
        pytest.skip("NumPy's are wrong")

    def f(x, quantile=np.quantile, scale=1):
        return tuple([quantile(x, scale * np.array(q), method="inverted_cdf", **options) for q in (0.3, [0, 0.25, 1])])

    for x in (X, np.where(X > 1, np.nan, X), (4 * X).astype(int)):
        same_as_numpy(f, [x])
    same_as_numpy(lambda x: f(x, np.percentile, 100), [X])
    wg.check_derivatives(f, X)


def test_weighted_quantiles_without_nan():
    x = np.where(X > 1, np.nan, X)
    x[:, 1] = np.nan
    options = {"axis": 0, "weights": np.abs(X), "method": "inverted_cdf"}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a column without a number
        same_as_numpy(lambda x: np.nanquantile(x, [0.2, 1.0], **options), [x])
        same_as_numpy(lambda x: np.nanpercentile(x, 30, **options), [x])


def test_weights_of_quantiles_as_lists():
    f = lambda w: np.quantile([1.0, 3.0, 2.0], 0.5, method="inverted_cdf", weights=[w[0], 1.0, w[1]])
    as_numpy(f, W)
    assert not wg.grad(f)(W).any()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"weights": W[:3]}, TypeError),
        ({"weights": W[:3], "axis": 1}, ValueError),
        ({"weights": -np.abs(X)}, ValueError),
        ({"weights": 0 * X}, ValueError),
        ({"weights": np.abs(X), "method": "linear"}, ValueError),
        ({"method": "median"}, ValueError),
    ],
)
def test_weights_and_methods_that_numpy_refuses(options, error):
    f = lambda x: np.quantile(x, 0.5, **{"method": "inverted_cdf", **options})
    if not np.any(options.get("weights", 1)) and not _refuses_no_weight():
        pytest.skip("not refused up to NumPy 2.3")
    with np.errstate(invalid="ignore"):
        for call in (f, wg.jit(f, strict=True)):
            with pytest.raises(error):
                call(X)


MANY = np.random.default_rng(0).normal(size=50)


@pytest.mark.parametrize("bins", ["auto", "fd", "doane", "scott", "rice", "sturges", "sqrt"])
def test_estimated_bins(bins):
    arrays = (MANY, MANY.astype(np.float32), np.arange(30) ** 2, MANY[:2], np.ones(4), np.array([1, 1, 1, 1, 9.0]))
    for x in (*arrays, np.zeros(0)):
        same_as_numpy(lambda x: np.histogram(x, bins), [x])
        same_as_numpy(lambda x: np.histogram_bin_edges(x, bins, range=(0, 2)), [x])
    wg.check_derivatives(lambda x: np.histogram_bin_edges(x, bins), MANY, order=1)


def test_how_many_bins_is_looked_at():
    f = wg.jit(lambda x: np.histogram(x, "fd"), strict=True)
    for x in (MANY, MANY**3, MANY + 1):
        for found, expected in zip(f(x), np.histogram(x, "fd"), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)
    for options, error in (({"bins": "none"}, ValueError), ({"bins": "fd", "weights": MANY}, TypeError)):
        with pytest.raises(error):
            wg.jit(lambda x, options=options: np.histogram(x, **options), strict=True)(MANY)


def test_nothing_is_partitioned():
    same_as_numpy(lambda x: (np.partition(x, 0), np.argpartition(x, 3)), [np.zeros(0)])


def test_a_sorter_is_of_integers():
    with pytest.raises(TypeError, match="integers"):
        wg.jit(lambda x: np.searchsorted(x, x, sorter=x), strict=True)(V)
    f = lambda x, v: (np.searchsorted(x, v, sorter=np.argsort(x)), x.searchsorted(v, "right", [3, 2, 1, 0, 4, 5, 6]))
    as_numpy(f, np.array([4.0, 3, 2, 1, 5, 6, 7]), W)


def test_errors_are_numpys():
    for f in (lambda x: np.sort(x, axis=2), lambda x: np.partition(x, 4), lambda x: np.searchsorted(x, 1.0)):
        with pytest.raises(ValueError):
            f(X)
        with pytest.raises(ValueError):
            record(f, [X])


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int64, np.float32])
def test_the_middle_of_integers_is_computed_in_float(dtype: Any) -> None:
    """The two middle values were added as what they are: True + True is True, and 100 + 100 no int8."""
    x = (np.array([[1, 120, 110, 90], [0, 100, 100, 0]]) > (1 if dtype is np.bool_ else -1)) * 100
    x = (x if dtype is not np.bool_ else x > 0).astype(dtype)
    for f in (np.median, np.nanmedian):
        as_numpy(lambda x, f=f: (f(x), f(x, 1), f(x, axis=0, keepdims=True)), x)


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("q", [0, 1, [0, 1], 0.25, [0.1, 0.9]])
@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "midpoint", "hazen"])
@pytest.mark.parametrize("dtype", ["u1", "i4", "f4", "f8"])
@pytest.mark.parametrize("function", [np.quantile, np.nanquantile])
def test_quantiles_had_another_dtype_where_they_are_elements(function, dtype, method, q):
    x = np.array([[3, 1, 4], [1, 5, 9]], dtype)
    expected, got = function(x, q, axis=1, method=method), wg.jit(lambda x: function(x, q, axis=1, method=method))(x)
    if method in ("midpoint", "hazen") and dtype == "f4" and isinstance(q, list):
        return  # of NumPy's several ways, with integers among them
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_medians_and_quantiles_of_empty_arrays(shape: tuple[int, int], axis: int) -> None:
    """Where no column is left nanmedian raised: reshape cannot tell a length from no elements."""
    x = np.ones(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for f in (np.median, np.nanmedian):
            np.testing.assert_array_equal(wg.jit(lambda x, f=f: f(x, axis=axis))(x), f(x, axis=axis))
        np.testing.assert_array_equal(
            wg.jit(lambda x: np.nanquantile(x, [0.2, 0.5], axis=axis))(x), np.nanquantile(x, [0.2, 0.5], axis=axis)
        )


@pytest.mark.filterwarnings("ignore:All-NaN slice")
@pytest.mark.parametrize("n", [4, 5])
def test_medians_of_complex_numbers_know_nan(n: int) -> None:
    """NaN was looked for among real numbers alone, and counted as the greatest of complex ones."""
    columns = np.array([[1 + 2j, 3], [complex(np.nan, 1), 1j], [0.5 - 1j, 2], [complex(2, np.nan), 1], [-1, 4]])[:n]
    for of in (np.median, np.nanmedian):
        f = lambda z, of=of: (of(z, axis=0), of(z), of(z[1]))
        for got, want in zip(wg.jit(f)(columns), f(columns), strict=True):
            np.testing.assert_array_equal(got, want)
    gradient = wg.jit(wg.grad(lambda z: np.real(np.nanmedian(z))))(columns[:, 0])
    assert np.isfinite(gradient).all() and np.sum(gradient) == 1
