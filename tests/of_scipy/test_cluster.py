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


def test_merges_are_guarded() -> None:
    f = wg.jit(lambda x: hierarchy.linkage(x, "single"))
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((5, 2))
        np.testing.assert_allclose(f(x), hierarchy.linkage(x, "single"), rtol=1e-12)


def test_what_is_refused_says_so() -> None:
    for f in (lambda x: vq.kmeans(x, X[:2]), lambda x: hierarchy.inconsistent(hierarchy.linkage(x))):
        with pytest.raises(UnsupportedFunctionError):
            wg.grad(lambda x, f=f: np.sum(f(x)[0]))(X)
