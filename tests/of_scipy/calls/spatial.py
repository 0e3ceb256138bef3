from __future__ import annotations

from typing import Any

import numpy as np
import scipy.spatial.transform  # so that it is intercepted

X = np.arange(12.0).reshape(4, 3) % 5
U, V = np.array([1.0, 0.0, 2.0]), np.array([0.0, 1.0, 3.0])
D = scipy.spatial.distance.pdist(X)
NAMES = (
    "braycurtis canberra chebyshev cityblock correlation cosine dice euclidean hamming jaccard jensenshannon minkowski "
    "rogerstanimoto russellrao sokalsneath sqeuclidean yule"
)

PLANE = np.array([[0.0, 0.0], [2.0, 0.5], [0.5, 3.0], [1.0, 1.25]])
TWO = scipy.spatial.transform.Rotation.from_quat([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 1.0, 1.0]])
SLERP = scipy.spatial.transform.Slerp([0.0, 1.0], TWO)
OF_ROTATIONS: dict[str, list[Any]] = {
    "from_quat": [(([1.0, 2.0, 3.0, 4.0],), {}), (([1.0],), {})],
    "__init__": [((TWO, [1.0, 2.0, 3.0, 4.0]), {})],
    "from_matrix": [((np.eye(3),), {})],
    "from_rotvec": [(([1.0, 2.0, 3.0],), {})],
    "from_mrp": [(([1.0, 2.0, 3.0],), {})],
    "from_euler": [(("xyz", [1.0, 2.0, 3.0]), {}), (("xxz", [1.0, 2.0, 3.0]), {})],
    "from_davenport": [((np.eye(3), "e", [1.0, 2.0, 3.0]), {})],
    "apply": [((TWO, [1.0, 2.0, 3.0]), {})],
    "mean": [((TWO,), {})],
    "__pow__": [((TWO, 0.5), {})],
    "concatenate": [(([TWO, TWO],), {})],
    "align_vectors": [((X[:3], X[1:]), {})],
}
OF_TRANSFORMS: dict[str, list[Any]] = {}
if hasattr(scipy.spatial.transform, "RigidTransform"):
    ONE = scipy.spatial.transform.RigidTransform.from_exp_coords([0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
    OF_TRANSFORMS = {
        "__init__": [((ONE, np.eye(4)), {})],
        "from_matrix": [((np.eye(4),), {}), ((np.ones((4, 4)),), {})],
        "from_translation": [(([1.0, 2.0, 3.0],), {})],
        "from_exp_coords": [(([0.5, 1.0, 1.5, 2.0, 2.5, 3.0],), {})],
        "from_dual_quat": [(([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 1.0, 0.0],), {})],
        "from_rotation": [((TWO,), {})],
        "from_components": [(([1.0, 2.0, 3.0], TWO), {})],
        "apply": [((ONE, [1.0, 2.0, 3.0]), {})],
        "__pow__": [((ONE, 0.5), {})],
        "mean": [((ONE,), {})],
        "concatenate": [(([ONE, ONE],), {})],
    }

CALLS: dict[str, list[Any]] = {
    **{f"scipy.spatial.distance.{name}": [((U, V), {}), ((U,), {})] for name in NAMES.split()},
    "scipy.spatial.distance.mahalanobis": [((U, V, np.eye(3)), {})],
    "scipy.spatial.distance.seuclidean": [((U, V, U + 1), {})],
    "scipy.spatial.distance.cdist": [((X, X[:2]), {}), ((X, X[0]), {}), ((X, X, "cosine"), {})],
    "scipy.spatial.distance.pdist": [((X,), {}), ((X, "cityblock"), {"w": np.ones(3)}), ((X, "?"), {})],
    "scipy.spatial.distance.squareform": [((D,), {}), ((D[:2],), {})],
    "scipy.spatial.distance.is_valid_dm": [((X,), {}), ((X,), {"throw": True})],
    "scipy.spatial.distance.is_valid_y": [((D,), {}), ((X,), {})],
    "scipy.spatial.distance.num_obs_y": [((D,), {})],
    "scipy.spatial.distance.num_obs_dm": [((np.zeros((3, 3)),), {})],
    "scipy.spatial.distance.directed_hausdorff": [((X, X[1:]), {}), ((X, X[:, :2]), {})],
    **{f"scipy.spatial.transform.Rotation.{name}": calls for name, calls in OF_ROTATIONS.items()},
    "scipy.spatial.transform.Slerp.__init__": [((SLERP, [0.0, 1.0], TWO), {})],
    "scipy.spatial.transform.Slerp.__call__": [((SLERP, 0.5), {}), ((SLERP, 2.5), {})],
    **{f"scipy.spatial.transform.RigidTransform.{name}": calls for name, calls in OF_TRANSFORMS.items()},
    "scipy.spatial.KDTree.__init__": [((scipy.spatial.KDTree(X), X), {})],
    "scipy.spatial.KDTree.query": [((scipy.spatial.KDTree(X), X[0]), {})],
    "scipy.spatial.KDTree.query_ball_point": [((scipy.spatial.KDTree(X), X[0], 2.0), {})],
    "scipy.spatial.cKDTree": [((X,), {})],
    "scipy.spatial.cKDTree.query": [((scipy.spatial.cKDTree(X), X[0]), {})],
    "scipy.spatial.cKDTree.query_ball_point": [((scipy.spatial.cKDTree(X), X[0], 2.0), {})],
    "scipy.spatial.KDTree.query_ball_tree": [((scipy.spatial.KDTree(X), scipy.spatial.KDTree(X), 2.0), {})],
    "scipy.spatial.cKDTree.query_ball_tree": [((scipy.spatial.cKDTree(X), scipy.spatial.cKDTree(X), 2.0), {})],
    "scipy.spatial.KDTree.query_pairs": [((scipy.spatial.KDTree(X), 2.0), {})],
    "scipy.spatial.cKDTree.query_pairs": [((scipy.spatial.cKDTree(X), 2.0), {})],
    "scipy.spatial.KDTree.count_neighbors": [((scipy.spatial.KDTree(X), scipy.spatial.KDTree(X), 2.0), {})],
    "scipy.spatial.cKDTree.count_neighbors": [((scipy.spatial.cKDTree(X), scipy.spatial.cKDTree(X), 2.0), {})],
    "scipy.spatial.KDTree.sparse_distance_matrix": [((scipy.spatial.KDTree(X), scipy.spatial.KDTree(X), 2.0), {})],
    "scipy.spatial.cKDTree.sparse_distance_matrix": [((scipy.spatial.cKDTree(X), scipy.spatial.cKDTree(X), 2.0), {})],
    "scipy.spatial.minkowski_distance": [((U, V), {})],
    "scipy.spatial.minkowski_distance_p": [((U, V, 1), {})],
    "scipy.spatial.distance_matrix": [((X, X[:2]), {}), ((X, X[:, :1]), {})],
    "scipy.spatial.ConvexHull": [((PLANE,), {}), ((X[0],), {})],
    "scipy.spatial.Delaunay": [((PLANE,), {})],
    "scipy.spatial.Voronoi": [((PLANE,), {})],
    "scipy.spatial.Delaunay.find_simplex": [((scipy.spatial.Delaunay(PLANE), [1.0, 1.0]), {})],
    "scipy.spatial.procrustes": [((X, X[::-1]), {})],
    "scipy.spatial.geometric_slerp": [(([1.0, 0.0], [0.0, 1.0], 0.3), {}), (([1.0, 0.5], [0.0, 1.0], 0.3), {})],
}
