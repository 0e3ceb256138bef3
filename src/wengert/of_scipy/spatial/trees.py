"""``KDTree`` and ``cKDTree``: of traced queries, or of traced points.

SciPy's tree finds the neighbours, at every run: it is one step on the tape, whose results are indices and have no
derivative. The distances are computed from these. A tree of traced points is built again at every run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import spatial
from scipy.spatial import KDTree

import wengert as wg
from wengert.errors import UnsupportedFunctionError
from wengert.of_scipy.spatial.distances import by_minkowski, power_sum
from wengert.tracing.arguments import Traced, array, as_dtype, concrete, holds_traced, unsupported
from wengert.tracing.interception.asking import AT_ANY, AT_OBJECT
from wengert.tracing.interception.intercept import intercepts

PLACE = "scipy.spatial"
_COMPILED: Any = vars(spatial)["cKDTree"]  # which the stubs have not


def _query(data: np.ndarray, x: np.ndarray, *, tree: Any, k: int, eps: float, p: float, bound: float) -> Any:
    """The indices of the k nearest, the number of points where there are fewer."""
    found = (_COMPILED(data) if tree is None else tree).query(x, k, eps, p, bound)[1]
    return np.asarray(found, np.intp).reshape(*x.shape[:-1], k)


nearest = wg.primitive(_query, type=lambda data, x, *, k, **options: np.zeros((*x.shape[:-1], k), np.intp))


class TracedTree(KDTree):
    """A tree of traced points.

    Its part in C++ is a tree of no points, of one dimension more: SciPy's own code finds that the dimensions of two
    trees differ, wherever this one is handed to it after the trace.
    """

    def __init__(self, data: ArrayLike) -> None:
        pass

    @property
    def data(self) -> Any:
        return self._points

    @property
    def n(self) -> int:
        return self._points.shape[0]

    @property
    def m(self) -> int:
        return self._points.shape[1]

    @property
    def maxes(self) -> Any:
        return np.max(self._points, axis=0) if self.n else np.zeros(self.m)

    @property
    def mins(self) -> Any:
        return np.min(self._points, axis=0) if self.n else np.zeros(self.m)

    @property
    def indices(self) -> Any:
        raise _without_nodes()

    @property
    def size(self) -> int:
        raise _without_nodes()

    @property
    def tree(self) -> Any:
        raise _without_nodes()

    def __reduce_ex__(self, protocol: object) -> Any:
        raise unsupported("a tree of traced points is not copied or pickled", "a new tree of its data")

    def query(self, x: ArrayLike, k: Any = 1, eps: float = 0, p: float = 2, *rest: Any, **options: Any) -> Any:
        return _answer(self, x, k, eps, p, *rest, **options)

    def query_ball_point(self, x: ArrayLike, r: ArrayLike, p: float = 2.0, *rest: Any, **options: Any) -> Any:
        return _in_balls(self, x, r, p, *rest, **options)

    def query_ball_tree(self, other: Any, r: float, p: float = 2.0, eps: float = 0) -> Any:
        return _between(self, other, r, p)

    def query_pairs(self, r: float, p: float = 2.0, eps: float = 0, output_type: str = "set") -> Any:
        return _pairs(self, r, p, eps, output_type)

    def count_neighbors(
        self, other: Any, r: ArrayLike, p: float = 2.0, weights: ArrayLike | None = None, cumulative: bool = True
    ) -> Any:
        return _counted(self, other, r, p, weights, cumulative)

    def sparse_distance_matrix(self, *args: Any, **options: Any) -> Any:
        return _sparse(self, *args, **options)


def _without_nodes() -> UnsupportedFunctionError:
    return unsupported("the nodes of a tree of traced points are not there")


def points_of(tree: Any) -> Any:
    return tree._points if type(tree) is TracedTree else array(np.asarray(tree.data))


def _differences(x: Traced, y: Traced, box: ArrayLike | None) -> Any:
    """x − y, in a periodic box the shortest."""
    difference = x - y
    if box is None:
        return difference
    size = np.where(np.asarray(box) > 0, box, np.inf)
    turns = np.round(wg.stop_gradient(difference) / size)
    return difference - np.where(np.isfinite(size), size, 0) * turns


def _distances(x: Traced, y: Traced, p: float, box: ArrayLike | None) -> Any:
    difference = _differences(x, y, box)
    return by_minkowski(difference, 0 * difference, p)


def _all_distances(tree: Any, other: Any, p: float, name: str) -> Any:
    """The distance of each point of a tree from each of another."""
    box = tree.boxsize
    if tree is not other and not (box is None and other.boxsize is None):
        raise unsupported(f"KDTree.{name} of traced values in a periodic box is not there", "trees without boxsize=")
    x, y = points_of(tree), points_of(other)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"Trees passed to {name} have different dimensionality")
    return _distances(x[:, None], y[None], p, box)


def _between(tree: Any, other: Any, r: float, p: float = 2.0, eps: float = 0) -> list[list[int]]:
    near = concrete(_all_distances(tree, other, p, "query_ball_tree") <= r, "the neighbours")
    return [np.flatnonzero(row).tolist() for row in near]


def _pairs(tree: Any, r: float, p: float = 2.0, eps: float = 0, output_type: str = "set") -> Any:
    if output_type not in ("set", "ndarray"):
        raise ValueError("Invalid output type")
    near = concrete(_all_distances(tree, tree, p, "query_pairs") <= r, "the neighbours")
    i, j = np.nonzero(np.triu(near, 1))
    return set(zip(i.tolist(), j.tolist(), strict=True)) if output_type == "set" else np.stack([i, j], axis=1)


def _counted(
    tree: Any, other: Any, r: ArrayLike, p: float = 2.0, weights: ArrayLike | None = None, cumulative: bool = True
) -> Any:
    """The number of pairs that are no farther apart than each of ``r``, or their sum of products of weights."""
    between = _all_distances(tree, other, p, "count_neighbors")
    radii = array(r, (between,))
    if radii.ndim > 1:
        raise ValueError("r must be either a single value or a one-dimensional array of values")
    near: Any = between <= radii[..., None, None]
    if not cumulative and radii.ndim:
        if np.any(radii[1:] < radii[:-1]):
            raise ValueError("r must be non-decreasing for non-cumulative counting.")
        near = near & np.concatenate([np.ones_like(near[:1]), ~near[:-1]])
    if weights is None:
        return np.sum(near, axis=(-2, -1))
    of_tree, of_other = weights if isinstance(weights, tuple) else (weights, weights)
    for one, side, n in ((of_tree, "self", between.shape[0]), (of_other, "other", between.shape[1])):
        if one is not None and np.shape(one) != (n,):
            raise ValueError(f"Number of weights differ from the number of {side} tree nodes")
    total = as_dtype(near, np.float64)
    if of_tree is not None:
        total = total * as_dtype(array(of_tree, (total,)), np.float64)[:, None]
    if of_other is not None:
        total = total * as_dtype(array(of_other, (total,)), np.float64)
    return np.sum(total, axis=(-2, -1))


def _sparse(tree: Any, other: Any, max_distance: float, p: float = 2.0, output_type: str = "dok_matrix") -> Any:
    raise unsupported(
        "KDTree.sparse_distance_matrix of traced values is not there",
        "np.where(D <= r, D, 0), with D = distance.cdist(x, y)",
    )


def _answer(
    tree: Any,
    x: ArrayLike,
    k: Any = 1,
    eps: float = 0,
    p: float = 2,
    distance_upper_bound: float = np.inf,
    workers: int = 1,
) -> tuple[Any, Any]:
    at = as_dtype(array(x), np.float64)
    data = points_of(tree)
    if at.ndim == 0 or at.shape[-1] != data.shape[1]:
        raise ValueError(f"x must consist of vectors of length {data.shape[1]} but has shape {at.shape}")
    if k is None:
        raise ValueError("k must be an integer or a sequence of integers")
    wanted = None if np.ndim(k) == 0 else np.asarray(k, int)
    count = int(k) if wanted is None else int(wanted.max())
    if count < 1:
        raise ValueError("k must be greater than 0")
    known = None if type(tree) is TracedTree else tree
    options = {"tree": known, "k": count, "eps": float(eps), "p": float(p), "bound": float(distance_upper_bound)}
    index = nearest(wg.stop_gradient(data), wg.stop_gradient(at), **options)
    n = data.shape[0]
    is_missing = index >= n
    box = None if known is None else known.boxsize
    distance = np.where(is_missing, np.inf, _distances(at[..., None, :], data[np.minimum(index, n - 1)], p, box))
    if wanted is not None:
        return distance[..., wanted - 1], index[..., wanted - 1]
    return (distance[..., 0], index[..., 0]) if count == 1 else (distance, index)


def _in_balls(
    tree: Any,
    x: ArrayLike,
    r: ArrayLike,
    p: float = 2.0,
    eps: float = 0,
    workers: int = 1,
    return_sorted: bool | None = None,
    return_length: bool = False,
) -> Any:
    at = as_dtype(array(x), np.float64)
    between = _distances(at[..., None, :], points_of(tree), p, tree.boxsize)
    is_near = between <= array(r)[..., None]
    if return_length:
        return np.sum(is_near, axis=-1)
    known = concrete(is_near, "the neighbours")
    if known.ndim == 1:
        return np.flatnonzero(known).tolist()
    found = np.empty(known.shape[:-1], object)
    for place in np.ndindex(*found.shape):
        found[place] = np.flatnonzero(known[place]).tolist()
    return found


def _make(tree: Any, data: ArrayLike, leafsize: int, boxsize: ArrayLike | None) -> None:
    """Let ``tree`` be one of these traced points."""
    if boxsize is not None:
        raise unsupported("KDTree of traced points in a periodic box is not there", "a tree of constant points")
    points = array(data)
    if points.dtype.kind == "c":
        raise TypeError("KDTree does not work with complex data")
    if points.ndim != 2:
        raise ValueError("data must be of shape (n, m), where there are n points of dimension m")
    _COMPILED.__init__(tree, np.zeros((0, points.shape[1] + 1)), leafsize)
    tree.__class__ = TracedTree
    tree._points = as_dtype(points, np.float64)


@intercepts(f"{PLACE}:cKDTree", AT_ANY)
def ckdtree(
    data: ArrayLike,
    leafsize: int = 16,
    compact_nodes: bool = True,
    copy_data: bool = False,
    balanced_tree: bool = True,
    boxsize: ArrayLike | None = None,
) -> Any:
    tree = KDTree.__new__(KDTree)
    _make(tree, data, leafsize, boxsize)
    return tree


@intercepts(f"{PLACE}:KDTree.__init__")
def kdtree(
    tree: Any,
    data: ArrayLike,
    leafsize: int = 10,
    compact_nodes: bool = True,
    copy_data: bool = False,
    balanced_tree: bool = True,
    boxsize: ArrayLike | None = None,
) -> None:
    _make(tree, data, leafsize, boxsize)


def _of_trees(method: str, answer: Callable[..., Any]) -> None:
    """Let ``answer`` stand for a method, where a tree or an argument is traced."""

    @intercepts(f"{PLACE}:{method}", AT_OBJECT)
    def answered(*args: Any, **kwargs: Any) -> Any:
        if not any(type(x) is TracedTree or holds_traced(x) for x in (*args, *kwargs.values())):
            return NotImplemented
        return answer(*args, **kwargs)


for _method, _answers in {
    "query": _answer,
    "query_ball_point": _in_balls,
    "query_ball_tree": _between,
    "query_pairs": _pairs,
    "count_neighbors": _counted,
    "sparse_distance_matrix": _sparse,
}.items():
    _of_trees(f"KDTree.{_method}", _answers)
    _of_trees(f"cKDTree.{_method}", _answers)


# -------------------------------------------------------------------------------------------- distances of two arrays


def _minkowski_p(x: ArrayLike, y: ArrayLike, p: float = 2.0) -> Any:
    u, v = [as_dtype(array(a), np.promote_types(array(a).dtype, np.float64)) for a in (x, y)]
    if isinstance(p, int | float) and p in (1, np.inf):
        return by_minkowski(u, v, p)
    return power_sum(v - u, p)


@intercepts(f"{PLACE}:minkowski_distance_p")
def minkowski_distance_p(x: ArrayLike, y: ArrayLike, p: float = 2.0) -> Any:
    return _minkowski_p(x, y, p)


@intercepts(f"{PLACE}:minkowski_distance")
def minkowski_distance(x: ArrayLike, y: ArrayLike, p: float = 2.0) -> Any:
    u, v = [as_dtype(array(a), np.promote_types(array(a).dtype, np.float64)) for a in (x, y)]
    return by_minkowski(u, v, p)


@intercepts(f"{PLACE}:distance_matrix")
def distance_matrix(x: ArrayLike, y: ArrayLike, p: float = 2.0, threshold: int = 1_000_000) -> Any:
    u, v = as_dtype(array(x), np.float64), as_dtype(array(y), np.float64)
    if u.shape[1] != v.shape[1]:
        raise ValueError(f"x contains {u.shape[1]}-dimensional vectors but y contains {v.shape[1]}-dimensional vectors")
    return by_minkowski(u[:, None, :], v[None, :, :], p)
