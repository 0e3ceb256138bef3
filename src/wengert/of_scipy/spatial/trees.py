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
from wengert.of_scipy.spatial.distances import by_minkowski, power_sum
from wengert.tracing.arguments import Traced, array, as_dtype, concrete, is_traced, unsupported
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
    """A tree of traced points."""

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
    def size(self) -> int:
        raise unsupported("the nodes of a tree of traced points are not there")

    @property
    def tree(self) -> Any:
        raise unsupported("the nodes of a tree of traced points are not there")

    def query(self, x: ArrayLike, k: Any = 1, eps: float = 0, p: float = 2, *rest: Any, **options: Any) -> Any:
        return _answer(self, x, k, eps, p, *rest, **options)

    def query_ball_point(self, x: ArrayLike, r: ArrayLike, p: float = 2.0, *rest: Any, **options: Any) -> Any:
        return _in_balls(self, x, r, p, *rest, **options)

    def query_ball_tree(self, other: Any, r: float, p: float = 2.0, eps: float = 0) -> Any:
        return _between(self, other, r, p)

    def query_pairs(self, r: float, p: float = 2.0, eps: float = 0, output_type: str = "set") -> Any:
        near = _is_near(self._points, self._points, r, p)
        i, j = np.nonzero(np.triu(near, 1))
        return set(zip(i.tolist(), j.tolist(), strict=True)) if output_type == "set" else np.stack([i, j], axis=1)

    def count_neighbors(self, other: Any, r: ArrayLike, p: float = 2.0, *_: Any, **__: Any) -> Any:
        between = by_minkowski(self._points[:, None], points_of(other)[None], p)
        return np.sum(between <= array(r)[..., None, None], axis=(-2, -1))

    def sparse_distance_matrix(self, *_: Any, **__: Any) -> Any:
        raise unsupported(
            "KDTree.sparse_distance_matrix of traced points is not there",
            "np.where(D <= r, D, 0), with D = distance.cdist(x, y)",
        )


def points_of(tree: Any) -> Any:
    return tree._points if type(tree) is TracedTree else array(np.asarray(tree.data))


def _is_near(x: Traced, y: Traced, r: Any, p: float) -> Any:
    """Which points lie within r of each other: a look, guarded."""
    return concrete(by_minkowski(x[:, None], y[None], p) <= r, "the neighbours")


def _between(tree: Any, other: Any, r: float, p: float) -> list[list[int]]:
    near = _is_near(points_of(tree), points_of(other), r, p)
    return [np.flatnonzero(row).tolist() for row in near]


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
    difference = at[..., None, :] - data[np.minimum(index, n - 1)]
    box = None if known is None else known.boxsize
    if box is not None:
        size = np.where(np.asarray(box) > 0, box, np.inf)
        turns = np.round(concrete_ratio(difference, size))
        difference = difference - np.where(np.isfinite(size), size, 0) * turns
    distance = np.where(is_missing, np.inf, by_minkowski(difference, 0 * difference, p))
    if wanted is not None:
        return distance[..., wanted - 1], index[..., wanted - 1]
    return (distance[..., 0], index[..., 0]) if count == 1 else (distance, index)


def concrete_ratio(difference: Traced, size: np.ndarray) -> Any:
    return wg.stop_gradient(difference) / size


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
    between = by_minkowski(at[..., None, :], points_of(tree), p)
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


def _made(data: ArrayLike, boxsize: Any) -> TracedTree:
    if boxsize is not None:
        raise unsupported("KDTree of traced points in a periodic box is not there", "a tree of constant points")
    points = array(data)
    if points.dtype.kind == "c":
        raise TypeError("KDTree does not work with complex data")
    if points.ndim != 2:
        raise ValueError("data must be of shape (n, m), where there are n points of dimension m")
    tree = KDTree.__new__(TracedTree)
    tree._points = as_dtype(points, np.float64)
    return tree


@intercepts(f"{PLACE}:cKDTree", AT_ANY)
def ckdtree(
    data: ArrayLike,
    leafsize: int = 16,
    compact_nodes: bool = True,
    copy_data: bool = False,
    balanced_tree: bool = True,
    boxsize: Any = None,
) -> Any:
    return _made(data, boxsize)


@intercepts(f"{PLACE}:KDTree.__init__")
def kdtree(
    tree: Any,
    data: ArrayLike,
    leafsize: int = 10,
    compact_nodes: bool = True,
    copy_data: bool = False,
    balanced_tree: bool = True,
    boxsize: Any = None,
) -> None:
    made = _made(data, boxsize)
    tree.__class__ = TracedTree
    tree._points = made._points


intercepts(f"{PLACE}:KDTree.query")(_answer)
intercepts(f"{PLACE}:KDTree.query_ball_point")(_in_balls)


def _of_compiled_tree(answer: Callable[..., Any]) -> Callable[..., Any]:
    """A method of the compiled class, which KDTree's call too."""

    def answered(tree: Any, *args: Any, **kwargs: Any) -> Any:
        if not any(map(is_traced, [*args, *kwargs.values()])):
            return NotImplemented
        return answer(tree, *args, **kwargs)

    return answered


intercepts(f"{PLACE}:cKDTree.query", AT_OBJECT)(_of_compiled_tree(_answer))
intercepts(f"{PLACE}:cKDTree.query_ball_point", AT_OBJECT)(_of_compiled_tree(_in_balls))


@intercepts(f"{PLACE}:KDTree.query_ball_tree", AT_OBJECT)
def query_ball_tree(tree: Any, other: Any, r: float, p: float = 2.0, eps: float = 0) -> Any:
    return _between(tree, other, r, p) if type(other) is TracedTree else NotImplemented


# -------------------------------------------------------------------------------------------- distances of two arrays


def _minkowski_p(x: ArrayLike, y: ArrayLike, p: Any = 2.0) -> Any:
    u, v = [as_dtype(array(a), np.promote_types(array(a).dtype, np.float64)) for a in (x, y)]
    if isinstance(p, int | float) and p in (1, np.inf):
        return by_minkowski(u, v, p)
    return power_sum(v - u, p)


@intercepts(f"{PLACE}:minkowski_distance_p")
def minkowski_distance_p(x: ArrayLike, y: ArrayLike, p: Any = 2.0) -> Any:
    return _minkowski_p(x, y, p)


@intercepts(f"{PLACE}:minkowski_distance")
def minkowski_distance(x: ArrayLike, y: ArrayLike, p: Any = 2.0) -> Any:
    u, v = [as_dtype(array(a), np.promote_types(array(a).dtype, np.float64)) for a in (x, y)]
    return by_minkowski(u, v, p)


@intercepts(f"{PLACE}:distance_matrix")
def distance_matrix(x: ArrayLike, y: ArrayLike, p: Any = 2.0, threshold: int = 1_000_000) -> Any:
    u, v = as_dtype(array(x), np.float64), as_dtype(array(y), np.float64)
    if u.shape[1] != v.shape[1]:
        raise ValueError(f"x contains {u.shape[1]}-dimensional vectors but y contains {v.shape[1]}-dimensional vectors")
    return by_minkowski(u[:, None, :], v[None, :, :], p)
