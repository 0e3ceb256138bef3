"""Trees of points: traced queries, traced points, and distances of two arrays; against SciPy, and differences."""

from __future__ import annotations

import copy
import pickle
import zlib
from typing import Any

import numpy as np
import pytest
from scipy import spatial

import wengert as wg
from tests.differences import check, check_value
from tests.of_scipy.checking import OF_COMPILED
from wengert.errors import UnsupportedFunctionError

RNG = np.random.default_rng(0)
P, X = RNG.uniform(size=(9, 2)), RNG.uniform(size=(3, 2))


TREES = [spatial.KDTree, pytest.param(spatial.cKDTree, marks=OF_COMPILED)]


@pytest.mark.parametrize("cls", TREES)
def test_queries_of_a_tree_of_constants(cls: Any) -> None:
    tree, box = cls(P), cls(P, boxsize=1.0)

    def queried(x: Any) -> Any:
        found = tree.query(x)[0] + np.sum(tree.query(x, [1, 3], p=1)[0], axis=-1) + np.sum(box.query(x, 3)[0], axis=-1)
        near, index = tree.query(x, k=12, distance_upper_bound=0.3)
        near = np.where(np.isfinite(near), near, 1.0)
        count = tree.query_ball_point(x, 0.4, return_length=True) + len(tree.query_ball_point(x[0], 0.4))
        return found * count + np.sum(near * index, axis=-1)

    check(queried, X)


@pytest.mark.parametrize("cls", TREES)
def test_a_tree_of_traced_points(cls: Any) -> None:
    check(lambda p, x: cls(p).query(x, 2)[0], P, X)

    def counted(p: Any) -> Any:
        tree = cls(p)
        pairs, balls = tree.query_pairs(0.3), tree.query_ball_tree(cls(P), 0.2)
        return p * (len(pairs) + len(balls[0]) + tree.count_neighbors(tree, 0.3) + tree.n * tree.m)

    check(counted, P)


@pytest.mark.parametrize("cls", TREES)
def test_scipys_code_sees_no_tree_of_traced_points(cls: Any) -> None:
    """A tree that is made outside, and one of traced points, in each other's methods."""
    outside, weights, radii = cls(P), np.arange(1.0, 10), np.array([0.2, 0.4, 0.9])

    def answers(inside: Any, x: Any, w: Any, r: Any) -> Any:
        counts = [
            outside.count_neighbors(inside, r),
            inside.count_neighbors(outside, r[0], 1.0),
            cls.count_neighbors(inside, outside, r, cumulative=False),
            outside.count_neighbors(inside, r, weights=(w, None)),
            inside.count_neighbors(outside, r, weights=(None, w), cumulative=False),
            inside.count_neighbors(inside, r[0], weights=w),
        ]
        found = outside.query_ball_tree(inside, r[1]) + inside.query_ball_tree(outside, r[1], 1.0)
        pairs = sorted(outside.query_pairs(r[1])) + sorted(map(tuple, inside.query_pairs(r[1], output_type="ndarray")))
        near = [inside.query(x)[1].tolist(), cls.query(inside, x)[1].tolist()]
        looked = repr(([sorted(one) for one in found], [(int(i), int(j)) for i, j in pairs], near)).encode()
        return [*counts, inside.maxes, inside.mins, inside.leafsize, zlib.crc32(looked)]

    def joined(p: Any, *args: Any) -> Any:
        return np.concatenate([np.ravel(np.asarray(x, float)) for x in answers(cls(p), *args)])

    given = P * 1.1, X, weights, radii
    np.testing.assert_allclose(wg.vjp(joined, *given)[0], joined(*given), rtol=1e-14)
    np.testing.assert_allclose(wg.jit(joined)(*given), joined(*given), rtol=1e-14)
    weighted = lambda w: outside.count_neighbors(cls(P), 0.3, weights=(w, w))
    check(weighted, weights)


@pytest.mark.parametrize("cls", TREES)
def test_balls_in_a_periodic_box(cls: Any) -> None:
    box = cls(P, boxsize=1.0)
    counted = lambda x: box.query_ball_point(x, 0.3, return_length=True) * 1.0 + len(box.query_pairs(x[0, 0]))
    np.testing.assert_array_equal(wg.vjp(counted, X)[0], counted(X))
    with pytest.raises(UnsupportedFunctionError, match="periodic box"):
        wg.vjp(lambda p: box.count_neighbors(cls(p), 0.3), P)


@pytest.mark.parametrize("cls", TREES)
def test_what_a_tree_of_traced_points_has_not_is_refused(cls: Any) -> None:
    outside, leaked = cls(P), []
    for use in (
        lambda p: outside.sparse_distance_matrix(cls(p), 2.0),
        lambda p: cls(p).sparse_distance_matrix(outside, 2.0),
        lambda p: cls(p).indices,
        lambda p: cls(p).tree,
        lambda p: cls(p).size,
        lambda p: pickle.dumps(cls(p)),
        lambda p: copy.copy(cls(p)),
    ):
        with pytest.raises(UnsupportedFunctionError, match="traced"):
            wg.vjp(use, P)
    wg.vjp(lambda p: leaked.append(cls(p)) or len(str(leaked)) * p, P)
    for use in (outside.sparse_distance_matrix, outside.count_neighbors, outside.query_ball_tree):
        with pytest.raises(ValueError, match="different dimension"):
            use(leaked[0], 2.0)
    narrow = cls(P[:, :1])
    with pytest.raises(ValueError, match="different dimensionality"):
        wg.vjp(lambda p: narrow.count_neighbors(cls(p), 2.0), P)


def test_neighbours_are_found_at_every_run_without_a_guard() -> None:
    tree = spatial.KDTree(P)
    f = wg.jit(lambda x: np.sum(tree.query(x, 2)[0]))
    for _ in range(3):
        x = RNG.uniform(size=(3, 2))
        np.testing.assert_allclose(f(x), np.sum(tree.query(x, 2)[0]), rtol=1e-14)
    assert f.stats()["traces"] == 1


@pytest.mark.filterwarnings("ignore:.* is deprecated in favor of:DeprecationWarning")  # since SciPy 1.18
def test_distances_of_two_arrays() -> None:
    check(lambda a, b: spatial.distance_matrix(a, b, 3) + spatial.minkowski_distance(a[:, None], b), P, X)
    check(
        lambda a, b: spatial.minkowski_distance_p(a[:, None], b, 1) + spatial.minkowski_distance_p(a[:, None], b), P, X
    )
    check_value(lambda a: spatial.minkowski_distance(a, a[0], np.inf), P)


def test_errors_are_scipys() -> None:
    for call in (lambda x: spatial.KDTree(P).query(x[:, :1]), lambda x: spatial.KDTree(x[0])):
        with pytest.raises(ValueError):  # whose words differ between SciPy's versions
            call(X)
        with pytest.raises(ValueError):
            wg.jit(call)(X)
