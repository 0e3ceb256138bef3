"""Errors of NumPy that depend on values: a compiled function raises them too, whichever call brings the bad value."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.differences import assert_gradient
from wengert import tree

X = np.array([3.0, 1.0, 2.0, 5.0, 4.0, 9.0])
N = np.array([2, 5, 2, 0, 5, 5])
M = np.stack([X, X**2])
UP, DOWN, MIXED = np.array([1.0, 2.5, 4.0]), np.array([4.0, 2.5, 1.0]), np.array([1.0, 4.0, 2.5])
INF, NAN = np.inf, np.nan


def check(name: str, f: Callable[..., Any], good: Any, bad: Any, error: type[Exception], *first: Any) -> Any:
    """``f(*first, good)`` is fine in NumPy, ``f(*first, bad)`` raises."""
    return pytest.param(f, (*first, good), (*first, bad), error, id=name)


CHECKS = [
    check("digitize", lambda x, b: np.digitize(x, b), UP, MIXED, ValueError, X),
    check("digitize_down", lambda x, b: np.digitize(x, b, right=True), DOWN, MIXED, ValueError, X),
    check("digitize_int", lambda x, b: np.digitize(x, b), np.array([1, 3]), np.array([1, 3, 2]), ValueError, N),
    check("quantile", lambda x, q: np.quantile(x, q), 0.4, 1.5, ValueError, X),
    check("quantile_below", lambda x, q: np.quantile(x, q, axis=1), 0.4, -1e-9, ValueError, M),
    check("quantile_nan", lambda x, q: np.quantile(x, q), 0.4, NAN, ValueError, X),
    check("quantile_nearest", lambda x, q: np.quantile(x, q, method="nearest"), 1.0, 1.01, ValueError, X),
    check("quantile_hazen", lambda x, q: np.quantile(x, q, method="hazen"), 1.0, 1.01, ValueError, X),
    check("quantiles", lambda x, q: np.quantile(x, q), np.array([0.0, 1.0]), np.array([0.0, 1.1]), ValueError, X),
    check("percentile", lambda x, q: np.percentile(x, q), 40.0, 100.5, ValueError, X),
    check("percentile_int", lambda x, q: np.percentile(x, q), 100, 101, ValueError, N),
    check("percentile_single", lambda x, q: np.percentile(x, q), 40.0, -1.0, ValueError, X.astype(np.float32)),
    check("nanquantile", lambda x, q: np.nanquantile(x, q), 0.4, -0.5, ValueError, X),
    check("nanpercentile", lambda x, q: np.nanpercentile(x, q), 40.0, 101.0, ValueError, X),
    check("bincount", lambda n: np.bincount(n), N, N - 1, ValueError),
    check("bincount_all_negative", lambda n: np.bincount(n, minlength=3), N, -1 - N, ValueError),
    check("bincount_weights", lambda x, n: np.bincount(n, x), N, N - 1, ValueError, X),
    check("bincount_minlength", lambda n, k: np.bincount(n, minlength=k), 8, -1, ValueError, N),
    check("choose", lambda x, n: np.choose(n, [x, -x, x**2]), N // 2, N, ValueError, X),
    check("choose_negative", lambda x, n: np.choose(n, [x, -x, x**2]), N // 2, N // 2 - 1, ValueError, X),
    check("choose_scalar", lambda x, n: np.choose(n, [x, -x]), 1, 2, ValueError, X),
    check("unravel_index", lambda n: np.unravel_index(n, (2, 3)), N, N + 1, ValueError),
    check("unravel_index_negative", lambda n: np.unravel_index(n, (2, 3)), N, N - 1, ValueError),
    check("unravel_index_scalar", lambda n: np.unravel_index(n, (2, 3)), 5, 6, ValueError),
    check("histogram", lambda x, b: np.histogram(x, b), UP, MIXED, ValueError, X),
    check("histogram_range", lambda x, r: np.histogram(x, 3, range=(1.0, r)), 4.0, 0.5, ValueError, X),
    check("histogram_one_bin", lambda x, r: np.histogram(x, 1, range=(1.0, r)), 4.0, 0.5, ValueError, X),
    check("histogram_infinite_range", lambda x, r: np.histogram(x, 3, range=(1.0, r)), 4.0, INF, ValueError, X),
    check("histogram_nan", lambda x: np.histogram(x, 3), X, X + np.array([0, NAN, 0, 0, 0, 0]), ValueError),
    check("histogram_inf", lambda x: np.histogram(x, 3), X, X + np.array([0, INF, 0, 0, 0, 0]), ValueError),
    check("histogram_narrow", lambda x: np.histogram(x, 3), X[:2], np.array([1, np.nextafter(1, 2)]), ValueError),
    check("histogram_count", lambda x, n: np.histogram(x, n), 2, 0, ValueError, X),
    check("cov_aweights", lambda m, w: np.cov(m, aweights=w), X, X - 2, ValueError, M),
    check("cov_fweights", lambda m, n: np.cov(m, fweights=n), N, N - 1, ValueError, M),
    check("cov_fweights_float", lambda m, n: np.cov(m, fweights=n), X, X + 0.5, TypeError, M),
    check("cov_weightless", lambda m, w: np.cov(m, aweights=w), X, 0 * X, ZeroDivisionError, M),
    check("cov_both", lambda m, w: np.cov(m, fweights=N, aweights=w), X, -X, ValueError, M),
    check("arange", lambda s: np.arange(0, 1, s), 0.25, 0.0, ZeroDivisionError),
    check("arange_float64", lambda s: np.arange(0, 1, s), np.float64(0.25), np.float64(0.0), ValueError),
    check("arange_nan", lambda s: np.arange(s, 1), 0.25, NAN, ValueError),
    check("arange_inf", lambda s: np.arange(0, s), 2.5, INF, ValueError),
    check("arange_long", lambda s: np.arange(0, s), 2.5, 1e300, ValueError),
    check("average", lambda x, w: np.average(x, weights=w), X, X - np.mean(X), ZeroDivisionError, X),
    check("average_axis", lambda m, w: np.average(m, 0, w), M, M * [0, 1, 1, 1, 1, 1], ZeroDivisionError, M),
    check("average_returned", lambda m, w: np.average(m, 1, w, returned=True), X, 0 * X, ZeroDivisionError, M),
    check("searchsorted_sorter", lambda x, s: np.searchsorted(x, 2.5, sorter=s), N.argsort(), N + 9, ValueError, X),
    check("interp", lambda x, p: np.interp(x, UP, UP, period=p), 3.0, 0.0, ValueError, X),
    check("place", lambda x: _placed(x, []), 0 * X, X, ValueError),
]  # fmt: skip


def _placed(x, values):
    y = x * 1.0
    np.place(y, y > 2, values)
    return y


def ignoring(f: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy warns of the quotients that it then refuses."""

    def quiet(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return f(*args)

    return quiet


def assert_same(got: Any, want: Any) -> None:
    got, want = tree.flatten(got)[0], tree.flatten(want)[0]
    assert len(got) == len(want)
    for y, e in zip(got, want, strict=True):
        assert np.shape(y) == np.shape(e)
        assert np.asarray(y).dtype == np.asarray(e).dtype
        np.testing.assert_allclose(y, e, rtol=1e-6 if y.dtype == np.float32 else 1e-13)


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize(("f", "good", "bad", "error"), CHECKS)
def test_raises_what_numpy_raises(f, good, bad, error):
    want = f(*good)
    with pytest.raises(error):
        ignoring(f)(*bad)
    for calls in ("good bad good bad", "bad good bad good"):
        compiled = wg.jit(f)
        for call in calls.split():
            if call == "good":
                assert_same(compiled(*good), want)
            else:
                with pytest.raises(error):
                    ignoring(compiled)(*bad)


def first_real(args: Any) -> int | None:
    return next((k for k, a in enumerate(args) if np.asarray(a).dtype == np.float64), None)


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize(("f", "good", "bad", "error"), [c for c in CHECKS if first_real(c.values[1]) is not None])
def test_raises_under_derivatives(f, good, bad, error):
    """Guards look at values and nothing else: the gradient is as ever."""
    k = first_real(good)

    def total(*args):
        return sum(np.sum(y) for y in tree.flatten(f(*args))[0]) + np.sum(args[k])

    gradient, compiled = wg.grad(total, k), wg.jit(wg.grad(total, k))
    for _ in range(2):
        got = gradient(*good)
        np.testing.assert_allclose(compiled(*good), got, rtol=1e-12)
        for g in (gradient, compiled):
            with pytest.raises(error):
                ignoring(g)(*bad)
    tangent = np.ones_like(good[k])
    one = lambda a: total(*[a if j == k else b for j, b in enumerate(good)])
    np.testing.assert_allclose(wg.jvp(one, (good[k],), (tangent,))[1], np.sum(got * tangent), rtol=1e-12)


def test_gradients():
    assert_gradient(
        wg.jit(wg.grad(lambda w: np.average(X, weights=w)))(N + 1.0), lambda w: np.average(X, weights=w), N + 1.0
    )
    for q in (0.33, 0.77):
        at_q = lambda x, q=q: np.quantile(x, q)
        assert_gradient(wg.jit(wg.grad(lambda q: np.quantile(X, q)))(q), lambda q: np.quantile(X, q), q)
        assert_gradient(wg.jit(wg.grad(at_q))(X), at_q, X)
    bins = lambda w: np.sum(np.bincount(N, w) ** 2)
    assert_gradient(wg.jit(wg.grad(bins))(X), bins, X, atol=1e-6)
    choose = lambda x: np.sum(np.choose(N // 2, [x, -x, x**2]))
    assert_gradient(wg.jit(wg.grad(choose))(X), choose, X, atol=1e-6)
    steps = lambda s: np.sum(np.arange(0, 1, s) ** 2)
    assert_gradient(wg.jit(wg.grad(steps))(0.3), steps, 0.3)
    for f in (lambda w: np.sum(np.cov(M, aweights=w)), lambda w: np.sum(np.cov(M, fweights=N, aweights=w))):
        assert_gradient(wg.jit(wg.grad(f))(X), f, X, rtol=1e-5, atol=1e-5)
    edges = lambda r: np.sum(np.histogram(X, 3, range=(1.0, r))[1] ** 2)
    assert_gradient(wg.jit(wg.grad(edges))(4.5), edges, 4.5, atol=1e-6)


# ------------------------------------------------------------------------------------------------------ digitize


DTYPES = [np.float64, np.float32, np.int64, np.int32, np.uint8]
BINS = ([6, 4, 2, 1], [4, 4, 2, 2, 1], [9, 1], [3], [], [2, 2, 2], [1, 2, 4, 6])


@pytest.mark.sampled(9, "every kind of bins, each compiled")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("right", [False, True])
def test_digitize_in_either_direction(dtype, right):
    x = np.array([0, 1, 2, 3, 4, 5, 6, 7, 9, 10], dtype)
    compiled = wg.jit(lambda x, b: np.digitize(x, b, right=right))
    for bins in BINS:
        for kind in (dtype, np.float64):
            b = np.array(bins, kind)
            for a in (x, x[3], x[:0], x.reshape(2, 5)):
                want = np.digitize(a, b, right=right)
                assert_same(compiled(a, b), want)  # bins as an argument
                assert_same(wg.jit(lambda a, b=b: np.digitize(a, b, right=right))(a), want)  # a capture
                assert_same(wg.jit(lambda a, b=tuple(bins): np.digitize(a, b, right=right))(a), want)  # a constant
                assert_same(wg.jit(lambda a, b: np.digitize(a, list(b), right=right))(a, tuple(b)), want)


def test_digitize_in_a_batch():
    """Nothing can be looked at: it is searched both ways."""
    for right in (False, True):
        f = lambda x, b, right=right: np.digitize(x, b, right=right)
        b = np.stack([UP, DOWN])
        x = np.stack([X, UP[[0, 1, 2, 0, 1, 2]]])
        assert_same(wg.vmap(f)(x, b), np.stack([f(*one) for one in zip(x, b, strict=True)]))


def test_digitize_with_nan_among_the_bins_is_refused():
    for bins in itertools.permutations([1.0, 2.0, NAN]):
        with pytest.raises(ValueError, match="monotonically"):
            wg.jit(np.digitize)(X, np.array(bins))


# ------------------------------------------------------------------------------------------------ what it costs


def guards(f: Callable[..., Any], *args: Any) -> int:
    return sum(instr.op.name == "guard" for instr in wg.trace(f)(*args).instrs)


def test_constants_need_no_guard():
    assert guards(lambda x: np.digitize(x, [4.0, 2.0, 1.0]), X) == 0
    assert guards(lambda x: np.digitize(x, np.linspace(0, 1, 5)), X) == 0
    assert guards(lambda x: (np.quantile(x, 0.3), np.percentile(x, [10, 90]), np.nanquantile(x, 1)), X) == 0
    assert guards(lambda x: (np.histogram(x, [1.0, 2.0, 3.0]), np.histogram(x, 3, range=(0, 1))), X) == 0
    assert guards(lambda x: np.choose([0, 1, 0, 1, 0, 1], [x, -x]), X) == 0
    assert guards(lambda x: np.bincount([0, 1, 0, 1, 0, 1], x), X) == 0
    assert guards(lambda x: np.average(x, weights=[1, 2, 3, 4, 5, 6]), X) == 0
    assert guards(lambda x: np.cov(x, aweights=[1, 2, 3, 4, 5, 6], fweights=[1, 2, 1, 2, 1, 2]), X) == 0
    assert guards(lambda x: np.searchsorted(x, 2.5, sorter=[1, 2, 0, 4, 3, 5]), X) == 0


def test_only_booleans_are_looked_at():
    """Other good values take the same path."""
    f = lambda x, q, w, b: (np.quantile(x, q), np.average(x, weights=w), np.digitize(x, b))
    looks = [i.params["expected"].value for i in wg.trace(f)(X, 0.5, X, UP).instrs if i.op.name == "guard"]
    assert looks == [False] * 4
    for q, w, b in ((0.5, X, UP), (0.1, X + 1, UP + 1), (0.9, N, UP * 3)):
        want = np.quantile(X, q), np.average(X, weights=w), np.digitize(X, b)
        assert_same(wg.jit(f)(X, q, w, b), want)


def test_batches_are_as_before():
    """In a batch a value has no single truth to look at."""
    q = np.array([0.1, 0.5])
    assert_same(wg.vmap(lambda x, q: np.quantile(x, q))(M, q), np.stack([np.quantile(*one) for one in zip(M, q)]))  # noqa: B905
    f = lambda x, w: np.average(x, weights=w)
    assert_same(wg.jit(wg.vmap(f))(M, M), np.stack([f(m, m) for m in M]))
    assert_same(wg.vmap(wg.grad(f))(M, M), np.stack([wg.grad(f)(m, m) for m in M]))
    f = lambda x, n: np.sum(np.choose(n, [x, -x, x**2]))
    assert_same(wg.vmap(f)(M, np.stack([N, N]) // 2), np.stack([f(m, N // 2) for m in M]))


# ------------------------------------------------------------------------------------------------------ siblings


def test_empty_arrays():
    none = X[:0]
    assert_same(wg.jit(lambda x: np.histogram(x, 3))(none), np.histogram(none, 3))
    assert_same(wg.jit(lambda n: np.bincount(n, minlength=2))(N[:0]), np.bincount(N[:0], minlength=2))
    assert_same(wg.jit(lambda n: np.unravel_index(n, (2, 3)))(N[:0]), np.unravel_index(N[:0], (2, 3)))
    assert_same(wg.jit(lambda x, q: np.quantile(x, q))(X, none), np.quantile(X, none))
    assert_same(wg.jit(lambda x, n: np.choose(n, [x, -x]))(none, N[:0]), np.choose(N[:0], [none, -none]))
    for f in (lambda x: np.quantile(x, 0.5), lambda x: np.percentile(x, [10, 20])):
        with pytest.raises(IndexError):
            f(none)
        with pytest.raises(IndexError):
            wg.jit(f)(none)
    with pytest.raises(ZeroDivisionError):
        wg.jit(lambda x: np.average(x, weights=x))(none)


def test_lists_of_traced_values():
    f = lambda x: np.histogram(x[:3], 2, weights=[x[0], x[1], x[5]])
    assert_same(wg.jit(f)(X), f(X))
    assert_same(wg.jit(lambda x: _placed(x, [x[0], 7.0]))(X), _placed(X, [X[0], 7.0]))


def test_covariance_without_degrees_of_freedom():
    """NumPy takes a negative number of them as zero."""
    w = np.array([1, 0, 0, 1, 0, 0])
    with pytest.warns(RuntimeWarning), np.errstate(all="ignore"):
        want = np.cov(M, fweights=w, ddof=3)
    with np.errstate(all="ignore"):
        assert_same(wg.jit(lambda m, w: np.cov(m, fweights=w, ddof=3))(M, w), want)


def test_arange_rounds_as_numpy_does():
    single = [np.float32(a) for a in (0.1, 3, 0.3)]
    for args in (single, single[:2], [0.1, 3.0, 0.3]):
        for dtype in (None, np.float32, np.float64, int):
            f = lambda *args, dtype=dtype: np.arange(*args, dtype=dtype)
            assert_same(wg.jit(f)(*args), f(*args))


@pytest.mark.parametrize(
    ("f", "args", "error"),
    [
        (lambda x: np.digitize(x, [1.0, 2.0]), [X + 0j], TypeError),
        (lambda x, s: np.searchsorted(x, 2.5, sorter=s), [X, N[:2]], ValueError),
        (lambda n: np.bincount(n), [N.reshape(2, 3)], ValueError),
        (lambda x, n: np.histogram(x, n), [X, 2.5], TypeError),
        (lambda x, w: np.histogram(x, 3, weights=w), [X, X[:1]], ValueError),
        (lambda x, n: np.choose(n, [x, -x]), [X, (N // 3).astype(np.uint64)], TypeError),
        (lambda x: np.unravel_index(x, (2, 5)), [X], TypeError),
        (lambda x, w: np.cov(x, aweights=w), [X, X[:1]], RuntimeError),
        (lambda x, w: np.cov(x, fweights=w), [X, N.reshape(1, 6)], RuntimeError),
        (lambda x: np.cov(x, ddof=0.5), [X], ValueError),
    ],
)
def test_raises_for_shapes_and_dtypes(f, args, error):
    with pytest.raises(error):
        f(*args)
    with pytest.raises(error):
        wg.jit(f)(*args)
