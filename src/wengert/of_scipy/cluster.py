"""``scipy.cluster`` on traced arrays: which go together is found by SciPy, how far apart they are is a formula."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster import hierarchy as scipys

import wengert as wg
from wengert.of_scipy.refusing import refuses
from wengert.of_scipy.spatial.distances import by_euclidean, pdist, squareform, table
from wengert.tracing.arguments import Traced, array, as_dtype, concrete, holds, inexact, unsupported
from wengert.tracing.interception.intercept import intercepts

VQ, HIERARCHY = "scipy.cluster.vq", "scipy.cluster.hierarchy"

# -------------------------------------------------------------------------------------------------- vector quantization


@intercepts(f"{VQ}:whiten")
def whiten(obs: ArrayLike, check_finite: bool | None = None) -> Any:
    x = inexact(array(obs))
    deviation = np.std(x, axis=0)
    is_zero = deviation == 0
    if holds(np.any(is_zero)):
        warnings.warn(
            "Some columns have standard deviation zero. The values of these columns will not change.",
            RuntimeWarning,
            stacklevel=3,
        )
    return x / np.where(is_zero, 1.0, deviation)


@intercepts(f"{VQ}:vq")
def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> Any:
    """The index of the nearest code of each observation, and its distance."""
    x, codes = inexact(array(obs)), inexact(array(code_book))
    if x.ndim != codes.ndim:
        raise ValueError("Observation and code_book should have the same rank")
    if x.ndim == 1:
        x, codes = x[:, None], codes[:, None]
    between = by_euclidean(x[:, None, :], codes[None, :, :])
    return as_dtype(np.argmin(between, axis=1), np.int32), np.min(between, axis=1)


refuses(
    VQ,
    ["kmeans", "kmeans2"],
    "its iteration is not differentiated",
    "vq, of a code book that was found outside, and means of the observations of each code",
)

# ---------------------------------------------------------------------------------------------------------- hierarchies

_merges = wg.primitive(
    lambda y, *, method: scipys.linkage(y, method)[:, [0, 1, 3]].astype(np.intp),
    type=lambda y, **_: np.zeros((int(np.ceil(np.sqrt(2 * y.shape[0]))) - 1, 3), np.intp),
)


def _joined(method: str, sizes: tuple[int, int], others: Traced, a: Traced, b: Traced, between: Traced) -> Any:
    """The distances of a new cluster from the others.  Source: Lance and Williams (1967), Computer J. 9:4; of the
    methods that are Euclidean, of squares."""
    n, m = sizes
    if method == "single":
        return np.minimum(a, b)
    if method == "complete":
        return np.maximum(a, b)
    if method == "weighted":
        return (a + b) / 2
    if method == "median":
        return (a + b) / 2 - between / 4
    if method == "average":
        return (n * a + m * b) / (n + m)
    if method == "centroid":
        return (n * a + m * b) / (n + m) - n * m * between / (n + m) ** 2
    total = others + n + m
    return ((others + n) * a + (others + m) * b - others * between) / total


@intercepts(f"{HIERARCHY}:linkage")
def linkage(y: ArrayLike, method: str = "single", metric: Any = "euclidean", optimal_ordering: bool = False) -> Any:
    """Heights by the recurrence of the method; which clusters are joined is looked at, and guarded."""
    if method not in ("single", "complete", "average", "weighted", "centroid", "median", "ward"):
        raise ValueError(f"Invalid method: {method}")
    of_squares = method in ("centroid", "median", "ward")
    x = as_dtype(array(y), np.float64)
    if x.ndim not in (1, 2):
        raise ValueError("`y` must be 1 or 2 dimensional.")
    if x.ndim == 2 and of_squares and metric != "euclidean":
        raise ValueError(f"`method={method}` requires the distance metric to be Euclidean")
    condensed = pdist(x, metric) if x.ndim == 2 else x
    merges = concrete(_merges(wg.stop_gradient(condensed), method=method), "which clusters are joined")
    n = len(merges) + 1
    d: Any = squareform(condensed**2 if of_squares else condensed, checks=False)
    names, sizes, heights = list(range(n)), [1] * n, []
    for k, (first, second, count) in enumerate(merges.tolist()):
        i, j = names.index(first), names.index(second)
        between = d[i, j]
        heights.append(between)
        rest = [r for r in range(len(names)) if r not in (i, j)]
        kept = table(np.array(rest, np.intp), x)
        others = table(np.array([sizes[r] for r in rest], float), x)
        new = _joined(method, (sizes[i], sizes[j]), others, d[i][kept], d[j][kept], between)
        d = np.concatenate([d[kept][:, kept], new[None]])
        d = np.concatenate([d, np.append(new, 0.0)[:, None]], axis=1)
        names, sizes = [*[names[r] for r in rest], n + k], [*[sizes[r] for r in rest], count]
    height = np.stack(heights) if heights else table(np.zeros(0), x)
    if of_squares:
        is_zero = height <= 0
        height = np.where(is_zero, 0.0, np.sqrt(np.where(is_zero, 1.0, height)))
    fixed = merges.astype(float)
    found = np.stack([table(fixed[:, 0], x), table(fixed[:, 1], x), height, table(fixed[:, 2], x)], axis=1)
    if optimal_ordering:
        raise unsupported("scipy.cluster.hierarchy.linkage: optimal_ordering of traced distances is not there")
    return found


def _tree(z: Any) -> tuple[Any, np.ndarray]:
    """A linkage, and the clusters that each row joins: a look, guarded."""
    found = as_dtype(array(z), np.float64)
    return found, np.asarray(concrete(found[:, :2], "which clusters are joined")).astype(int)


@intercepts(f"{HIERARCHY}:cophenet")
def cophenet(Z: ArrayLike, Y: ArrayLike | None = None) -> Any:
    """The height at which each pair is joined; with Y, the correlation of these with Y before it."""
    z, merges = _tree(Z)
    n = len(merges) + 1
    members: list[list[int]] = [[k] for k in range(n)]
    row = np.zeros((n, n), int)
    for k, (first, second) in enumerate(merges.tolist()):
        a, b = members[first], members[second]
        row[np.ix_(a, b)] = k
        row[np.ix_(b, a)] = k
        members.append(a + b)
    i, j = np.triu_indices(n, 1)
    heights = z[:, 2][table(row[i, j], z)]
    if Y is None:
        return heights
    y = as_dtype(array(Y), np.float64)
    dy, dz = y - np.mean(y), heights - np.mean(heights)
    return np.sum(dy * dz) / np.sqrt(np.sum(dy**2) * np.sum(dz**2)), heights


@intercepts(f"{HIERARCHY}:to_mlab_linkage")
def to_mlab_linkage(Z: ArrayLike) -> Any:
    z = as_dtype(array(Z), np.float64)
    return np.concatenate([z[:, :2] + 1.0, z[:, 2:3]], axis=1)


def _links(merges: np.ndarray, k: int, depth: int) -> list[int]:
    """The rows of the links at and below row k, down to so many levels."""
    if depth == 0:
        return []
    n = len(merges) + 1
    return [k, *itertools.chain(*[_links(merges, c - n, depth - 1) for c in merges[k].tolist() if c >= n])]


@intercepts(f"{HIERARCHY}:inconsistent")
def inconsistent(Z: ArrayLike, d: int = 2) -> Any:
    """Mean, deviation and number of the heights of the links below each, and by how many deviations it is higher."""
    if d != int(d) or d < 0:
        raise ValueError("The second argument d must be a nonnegative integer value.")
    z, merges = _tree(Z)
    rows = []
    for k in range(len(merges)):
        some = z[:, 2][table(np.array(_links(merges, k, int(d)), np.intp), z)]
        count = some.shape[0]
        mean = np.mean(some) if count else 0.0 * z[k, 2]
        variance = np.var(some, ddof=1) if count > 1 else 0.0 * mean
        is_spread = variance > 0
        deviation = np.sqrt(np.where(is_spread, variance, 1.0))
        above = np.where(is_spread, (z[k, 2] - mean) / deviation, 0.0)
        rows.append(np.stack([mean, np.where(is_spread, deviation, 0.0), mean * 0.0 + count, above]))
    return np.stack(rows)


def _largest_below(merges: np.ndarray, values: Traced) -> Any:
    """The largest of the values in the rows of each cluster."""
    n, found = len(merges) + 1, list[Any]()
    for k, pair in enumerate(merges.tolist()):
        top = values[k]
        for one in [found[c - n] for c in pair if c >= n]:
            top = np.maximum(top, one)
        found.append(top)
    return np.stack(found)


@intercepts(f"{HIERARCHY}:maxdists")
def maxdists(Z: ArrayLike) -> Any:
    """The largest height within each cluster."""
    z, merges = _tree(Z)
    return _largest_below(merges, z[:, 2])


@intercepts(f"{HIERARCHY}:maxinconsts")
def maxinconsts(Z: ArrayLike, R: ArrayLike) -> Any:
    return max_r_stat(Z, R, 3)


@intercepts(f"{HIERARCHY}:maxRstat")
def max_r_stat(Z: ArrayLike, R: ArrayLike, i: int) -> Any:
    """The largest of a column of ``R``, as :func:`inconsistent` returns it, within each cluster."""
    if not isinstance(i, int):
        raise TypeError("The third argument must be an integer.")
    if not 0 <= i <= 3:
        raise ValueError("i must be an integer between 0 and 3 inclusive.")
    z, merges = _tree(Z)
    r = as_dtype(array(R, (z,)), np.float64)
    if r.shape[0] != z.shape[0]:
        raise ValueError("The inconsistency matrix and linkage matrix each have a different number of rows.")
    return _largest_below(merges, r[:, i])


@intercepts(f"{HIERARCHY}:to_tree")
def to_tree(Z: ArrayLike, rd: bool = False) -> Any:
    """Nodes of SciPy's class, whose ``dist`` is traced."""
    z, merges = _tree(Z)
    nodes = [scipys.ClusterNode(k) for k in range(len(merges) + 1)]
    for k, (i, j) in enumerate(merges.tolist()):
        nodes.append(scipys.ClusterNode(len(merges) + 1 + k, nodes[i], nodes[j], z[k, 2]))
    return (nodes[-1], nodes) if rd else nodes[-1]


_flat = wg.primitive(
    lambda z, *more, names, options: scipys.fcluster(z, **dict(zip(names, more, strict=True)), **dict(options)),
    type=lambda z, *_, **__: np.zeros(z.shape[0] + 1, np.int32),
)


@intercepts(f"{HIERARCHY}:fcluster")
def fcluster(
    Z: ArrayLike,
    t: float,
    criterion: str = "inconsistent",
    depth: int = 2,
    R: ArrayLike | None = None,
    monocrit: ArrayLike | None = None,
) -> Any:
    """SciPy finds the numbers of the clusters, at every run."""
    if criterion not in ("inconsistent", "distance", "maxclust", "monocrit", "maxclust_monocrit"):
        raise ValueError(f"Invalid cluster formation criterion: {criterion}")
    z = as_dtype(array(Z, (R, monocrit, t)), np.float64)
    given = {"t": t, "R": R, "monocrit": monocrit}
    found = {name: wg.stop_gradient(array(x, (z,))) for name, x in given.items() if x is not None}
    options = (("criterion", criterion), ("depth", depth))
    return _flat(wg.stop_gradient(z), *found.values(), names=tuple(found), options=options)


refuses(HIERARCHY, ["from_mlab_linkage"], "of a traced linkage is not there", "linkage, of the distances")
