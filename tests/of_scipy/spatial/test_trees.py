"""Trees of points: traced queries, traced points, and distances of two arrays; against SciPy, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import spatial

import wengert as wg
from tests.differences import check, check_value

RNG = np.random.default_rng(0)
P, X = RNG.uniform(size=(9, 2)), RNG.uniform(size=(3, 2))


@pytest.mark.parametrize("cls", [spatial.KDTree, spatial.cKDTree])
def test_queries_of_a_tree_of_constants(cls: Any) -> None:
    tree, box = cls(P), cls(P, boxsize=1.0)

    def queried(x: Any) -> Any:
        found = tree.query(x)[0] + np.sum(tree.query(x, [1, 3], p=1)[0], axis=-1) + np.sum(box.query(x, 3)[0], axis=-1)
        near, index = tree.query(x, k=12, distance_upper_bound=0.3)
        near = np.where(np.isfinite(near), near, 1.0)
        count = tree.query_ball_point(x, 0.4, return_length=True) + len(tree.query_ball_point(x[0], 0.4))
        return found * count + np.sum(near * index, axis=-1)

    check(queried, X)


@pytest.mark.parametrize("cls", [spatial.KDTree, spatial.cKDTree])
def test_a_tree_of_traced_points(cls: Any) -> None:
    check(lambda p, x: cls(p).query(x, 2)[0], P, X)

    def counted(p: Any) -> Any:
        tree = cls(p)
        pairs, balls = tree.query_pairs(0.3), tree.query_ball_tree(cls(P), 0.2)
        return p * (len(pairs) + len(balls[0]) + tree.count_neighbors(tree, 0.3) + tree.n * tree.m)

    check(counted, P)


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
