from __future__ import annotations

from typing import Any

import numpy as np
import scipy.cluster

X = np.arange(12.0).reshape(4, 3) % 5
Z = scipy.cluster.hierarchy.linkage(X)
R = scipy.cluster.hierarchy.inconsistent(Z)

CALLS: dict[str, list[Any]] = {
    "scipy.cluster.vq.whiten": [((X,), {})],
    "scipy.cluster.vq.vq": [((X, X[:2]), {}), ((X, X[0]), {})],
    "scipy.cluster.hierarchy.linkage": [((X,), {}), ((X, "?"), {})],
    "scipy.cluster.hierarchy.cophenet": [((Z,), {})],
    **{f"scipy.cluster.hierarchy.{name}": [((Z,), {})] for name in ("maxdists", "inconsistent", "to_tree")},
    "scipy.cluster.hierarchy.maxinconsts": [((Z, R), {})],
    "scipy.cluster.hierarchy.maxRstat": [((Z, R, 1), {}), ((Z, R, 4), {})],
    "scipy.cluster.hierarchy.fcluster": [((Z, 1.0), {}), ((Z, 1.0, "distance"), {})],
    "scipy.cluster.hierarchy.to_mlab_linkage": [((Z,), {})],
}
