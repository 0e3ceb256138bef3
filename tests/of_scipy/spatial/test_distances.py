"""Distances on traced arrays: against SciPy, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import distance

import wengert as wg
from tests.differences import check, check_value, same
from wengert.of_scipy.spatial.distances import ALIASES, METRICS, OF_STACKS

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0.2, 1, (5, 3)), RNG.uniform(0.2, 1, (4, 3))
W = np.array([0.5, 1.0, 2.0])
SPREAD = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])
COUNTS = ["dice", "hamming", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"]
SMOOTH = sorted(METRICS.keys() - set(COUNTS))


def own(metric: str) -> tuple[Any, ...]:
    """The keywords that a metric wants, as its functions of two vectors take them."""
    return {"mahalanobis": (SPREAD,), "seuclidean": (W,)}.get(metric, ())


@pytest.mark.sampled(5, "a quarter of a second each")
@pytest.mark.parametrize("metric", SMOOTH)
def test_each_metric_of_tables_and_of_vectors(metric: str) -> None:
    def all_at_once(x: Any, y: Any) -> Any:
        parts = [distance.cdist(x, y, metric).ravel(), distance.pdist(x, metric)]
        return np.concatenate([*parts, np.reshape(getattr(distance, metric)(x[0], y[0], *own(metric)), (1,))])

    check(all_at_once, X, Y)


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize("metric", COUNTS)
def test_metrics_of_counts_are_flat(metric: str) -> None:
    truths = np.random.default_rng(1).uniform(size=(5, 6)) > 0.5
    numbers = 1.0 * truths * np.random.default_rng(2).uniform(0.5, 2, (5, 6))
    f = getattr(distance, metric)
    for x in (truths, numbers):
        check_value(lambda x: distance.cdist(x, x[:3], metric), x)
        check_value(lambda x: distance.pdist(x, metric), x)
        same(float(wg.jit(lambda x: f(x[0], x[1]))(x)), float(f(x[0], x[1])), rtol=1e-14)
        if metric != "dice":
            check_value(lambda x: distance.cdist(x, x[:3], metric, w=np.arange(1.0, 7)), x)
    if metric != "dice":  # which multiplies the numbers
        assert not np.any(wg.grad(lambda x: np.sum(distance.pdist(x, metric)))(numbers))


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize("metric", ["chebyshev", "cityblock", "correlation", "cosine", "euclidean", "sqeuclidean"])
def test_weights(metric: str) -> None:
    f = getattr(distance, metric)
    check(lambda x, y, w: f(x[0], y[0], w=w) + distance.cdist(x, y, metric, w=w), X, Y, W)


@pytest.mark.deep("more than a second")
def test_parameters_have_derivatives() -> None:
    check(lambda x, y, p, w: distance.cdist(x, y, "minkowski", p=p, w=w), X, Y, np.array(2.5), W)
    check(lambda x, p: distance.minkowski(x[0], x[1], p), X, np.array(1.5))
    check(lambda x, V: distance.pdist(x, "seuclidean", V=V), X, W)
    check(lambda x, VI: distance.pdist(x, "mahalanobis", VI=VI), X, SPREAD)
    check(lambda x, y: distance.jensenshannon(x, y, 2.0, axis=1, keepdims=True), X[:4], Y)
    for p in (1, 2, 3, np.inf):
        check(
            lambda x, y, p=p: distance.cdist(x, y, "minkowski", p=p, w=W) + distance.minkowski(x[0], y[0], p, W), X, Y
        )


def test_at_distance_zero_the_derivative_of_a_root_is_zero() -> None:
    for metric in ("euclidean", "minkowski", "seuclidean", "mahalanobis", "jensenshannon"):
        g = wg.grad(lambda x, m=metric: np.sum(distance.cdist(x, x, m)))(X)
        assert np.all(np.isfinite(g)), metric
    np.testing.assert_array_equal(wg.grad(lambda x: distance.euclidean(x, X[0]))(X[0]), np.zeros(3))


def test_a_function_of_the_users_is_called_for_each_pair() -> None:
    check(lambda x, y, p: distance.cdist(x, y, lambda u, v: np.sum((u - v) ** 2) * p), X, Y, np.array(0.5))
    check(lambda x: distance.pdist(x, lambda u, v: u @ v if u[0] > v[0] else u[0] * v[1]), X)
    check(lambda x, w: distance.pdist(x, distance.cityblock, w=w), X, W)


def test_names_out_and_tables_of_both_forms() -> None:
    def into_out(x: Any) -> Any:
        out = np.empty((5, 5))
        distance.cdist(x, x, out=out)
        return out

    check_value(into_out, X)
    for alias, name in ALIASES.items():
        assert isinstance(distance.cdist(X, Y, alias), np.ndarray), name
    check_value(lambda x: distance.cdist(x, x, "test_euclidean"), X)
    check(lambda d: distance.squareform(d), np.arange(1.0, 7))
    check(lambda d: distance.squareform(d + d.T, checks=False), RNG.uniform(size=(4, 4)))
    check_value(lambda x: distance.squareform(distance.squareform(distance.pdist(x))), X)
    check_value(lambda x: distance.squareform(x), np.zeros(0))
    d = distance.squareform(distance.pdist(X))
    for f in (distance.is_valid_dm, distance.num_obs_dm):
        assert wg.jit(f)(d) == f(d)
    assert not wg.jit(distance.is_valid_dm)(X @ X.T)
    assert wg.jit(lambda d: distance.is_valid_y(d) * distance.num_obs_y(d))(distance.pdist(X)) == 5


def test_hausdorff() -> None:
    check(lambda x, y: distance.directed_hausdorff(x, y)[0], X, Y)
    found = wg.jit(distance.directed_hausdorff)(X, Y)
    np.testing.assert_allclose([float(x) for x in found], distance.directed_hausdorff(X, Y))


def test_batches_second_order_and_single_precision() -> None:
    stack = RNG.uniform(size=(3, 4, 2))
    same(wg.vmap(distance.pdist)(stack), np.stack([distance.pdist(x) for x in stack]))
    assert wg.jit(distance.pdist)(X.astype(np.float32)).dtype == np.float64
    wg.check_derivatives(lambda x: np.exp(-(distance.cdist(x, x[:2]) ** 2)), X, order=2)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: distance.cdist(x, x[0]), ValueError),
        (lambda x: distance.cdist(x, x[:, :2]), ValueError),
        (lambda x: distance.pdist(x, "longest"), ValueError),
        (lambda x: distance.pdist(x, 3), TypeError),
        (lambda x: distance.pdist(x, w=[-1, 1, 1]), ValueError),
        (lambda x: distance.cdist(x[:1], x[:1], "mahalanobis"), ValueError),
        (lambda x: distance.cityblock(x, x), ValueError),
        (lambda x: distance.minkowski(x[0], x[1], -1), ValueError),
        (lambda x: distance.squareform(x[0, :2]), ValueError),
        (lambda x: distance.squareform(x @ x.T), ValueError),
    ],
)
def test_errors_are_scipys(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as expected:
        call(X)
    with pytest.raises(error) as found:
        wg.jit(call)(X)
    assert str(found.value)[:20] == str(expected.value)[:20]


@pytest.mark.skipif(not OF_STACKS, reason="stacks of vectors are taken since SciPy 1.18")
def test_distances_of_stacks() -> None:
    for f in (distance.euclidean, distance.sqeuclidean, lambda x, y: distance.minkowski(x, y, 3)):
        check(f, X[:4], Y)


def test_a_distance_by_hand() -> None:
    """d = |x − y|, ∂d/∂x = (x − y) / d: no helper, no differences."""
    dx = wg.grad(lambda x: distance.cdist(x, np.array([[0.0, 0.0]]))[0, 0])(np.array([[3.0, 4.0]]))
    np.testing.assert_allclose(dx, [[0.6, 0.8]], rtol=1e-15)
