from __future__ import annotations

from typing import Any

import numpy as np
import scipy.cluster

X = np.arange(12.0).reshape(4, 3) % 5
Z = scipy.cluster.hierarchy.linkage(X)

CALLS: dict[str, list[Any]] = {
    "scipy.cluster.vq.whiten": [((X,), {})],
    "scipy.cluster.vq.vq": [((X, X[:2]), {}), ((X, X[0]), {})],
    "scipy.cluster.hierarchy.linkage": [((X,), {}), ((X, "?"), {})],
    "scipy.cluster.hierarchy.cophenet": [((Z,), {})],
    "scipy.cluster.hierarchy.maxdists": [((Z,), {})],
    "scipy.cluster.hierarchy.to_mlab_linkage": [((Z,), {})],
}
