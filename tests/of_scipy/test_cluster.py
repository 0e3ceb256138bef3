"""Clusters of traced observations: against SciPy, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.cluster import hierarchy, vq
from scipy.spatial.distance import pdist

import wengert as wg
from tests.differences import check
from wengert.errors import UnsupportedFunctionError

X = np.random.default_rng(0).standard_normal((7, 3))


def test_vector_quantization() -> None:
    check(lambda x: vq.whiten(x), X)

    def nearest(x: Any, codes: Any) -> Any:
        code, distance = vq.vq(x, codes)
        return distance * (1 + code)

    check(nearest, X, X[:3] + 0.1)


@pytest.mark.sampled(9, "each method is compared in both directions")
@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted", "centroid", "median", "ward"])
def test_linkages(method: str) -> None:
    check(lambda x: hierarchy.linkage(x, method), X)
    check(lambda x: hierarchy.cophenet(getattr(hierarchy, method)(pdist(x))), X)


def test_what_is_made_of_a_linkage() -> None:
    def measured(x: Any) -> Any:
        z = hierarchy.linkage(x, "average")
        correlation, heights = hierarchy.cophenet(z, pdist(x))
        return np.concatenate([heights, [correlation], hierarchy.maxdists(z), hierarchy.to_mlab_linkage(z)[:, 2]])

    check(measured, X)


def test_how_inconsistent_links_are() -> None:
    def statistics(x: Any) -> Any:
        z = hierarchy.linkage(x, "average")
        r = hierarchy.inconsistent(z, 3)
        largest = [hierarchy.maxinconsts(z, r), hierarchy.maxRstat(z, r, 0), hierarchy.maxRstat(z, r, 1)]
        return np.concatenate([hierarchy.inconsistent(z), r, np.stack(largest, axis=1)], axis=1)

    check(statistics, X)


def test_a_tree_of_nodes() -> None:
    def heights(x: Any) -> Any:
        root, nodes = hierarchy.to_tree(hierarchy.linkage(x, "complete"), rd=True)
        assert root.pre_order() == expected.pre_order()
        return np.stack([root.dist, *[node.dist for node in nodes[8:]]])

    expected: Any = hierarchy.to_tree(hierarchy.linkage(X, "complete"))
    check(heights, X)


@pytest.mark.parametrize("criterion", ["inconsistent", "distance", "maxclust", "monocrit", "maxclust_monocrit"])
def test_flat_clusters_are_found_at_every_run(criterion: str) -> None:
    def labels(z: Any) -> Any:
        t = 3 if criterion.startswith("maxclust") else 1.1
        more = {"monocrit": hierarchy.maxdists(z)} if "monocrit" in criterion else {}
        return hierarchy.fcluster(z, t, criterion, **more)

    compiled = wg.jit(labels)
    for scale in (1.0, 0.5, 2.0):
        z = hierarchy.linkage(X, "average") * np.array([1.0, 1.0, scale, 1.0])
        np.testing.assert_array_equal(compiled(z), labels(z))
    with pytest.raises(ValueError, match="Invalid cluster formation"):
        wg.jit(lambda z: hierarchy.fcluster(z, 1.0, "none"))(hierarchy.linkage(X))


def test_merges_are_guarded() -> None:
    f = wg.jit(lambda x: hierarchy.linkage(x, "single"))
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((5, 2))
        np.testing.assert_allclose(f(x), hierarchy.linkage(x, "single"), rtol=1e-12)


def test_what_is_refused_says_so() -> None:
    for f in (lambda x: vq.kmeans(x, X[:2]), lambda x: hierarchy.from_mlab_linkage(hierarchy.linkage(x))):
        with pytest.raises(UnsupportedFunctionError):
            wg.grad(lambda x, f=f: np.sum(f(x)[0]))(X)
