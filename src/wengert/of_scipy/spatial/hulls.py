"""Convex hulls, triangulations and Voronoi diagrams of traced points.

Which points make a facet is found by SciPy, from values that are looked at: the tables of indices are constants, and a
program is traced again where they change. What is measured on them (volume, area, equations, centers) is a formula.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import ConvexHull, Delaunay, Voronoi

import wengert as wg
from wengert.of_scipy.refusing import refuses
from wengert.of_scipy.spatial.distances import table
from wengert.tracing.arguments import Traced, array, as_dtype, concrete, holds, unsupported
from wengert.tracing.interception.asking import AT_ANY
from wengert.tracing.interception.intercept import intercepts

PLACE = "scipy.spatial"
CLASSES: dict[str, Any] = {"ConvexHull": ConvexHull, "Delaunay": Delaunay, "Voronoi": Voronoi}


def _joined(lists: list[list[int]]) -> np.ndarray:
    """Lists of different lengths in one array: how many, and each behind its length."""
    return np.array([len(lists), *[x for one in lists for x in (len(one), *one)]])


def _lists(joined: np.ndarray) -> list[list[int]]:
    found, at = [], 1
    for _ in range(int(joined[0])):
        length = int(joined[at])
        found.append([int(k) for k in joined[at + 1 : at + 1 + length]])
        at += 1 + length
    return found


def _packed(points: np.ndarray, name: str, options: str | None) -> np.ndarray:
    """All tables of indices one after the other, each behind its number of axes and their lengths."""
    made = CLASSES[name](points, qhull_options=options)
    if name == "Voronoi":
        count = np.array([made.vertices.shape[0]])
        tables = [count, _joined(made.regions), made.ridge_points, _joined(made.ridge_vertices), made.point_region]
    elif name == "Delaunay":
        tables = [made.simplices, made.neighbors, made.convex_hull, made.coplanar]
    else:
        tables = [made.simplices, made.neighbors, made.vertices, made.coplanar]
    parts = [x for t in tables for x in ([t.ndim, *t.shape], np.ravel(t))]
    return np.concatenate(parts).astype(np.intp)


_length = wg.primitive(
    lambda points, *, name, options: np.intp(len(_packed(points, name, options))),
    type=lambda points, **_: np.zeros((), np.intp),
)
_tables = wg.primitive(
    lambda points, *, name, options, length: _packed(points, name, options),
    type=lambda points, *, length, **_: np.zeros(length, np.intp),
)


def tables_of(points: Traced, name: str, options: str | None) -> list[np.ndarray]:
    """The tables of indices of the values at hand, under a guard."""
    x = wg.stop_gradient(points)
    length = int(concrete(_length(x, name=name, options=options), "how many indices there are"))
    packed: Any = concrete(_tables(x, name=name, options=options, length=length), "which points go together")
    found, at = [], 0
    while at < length:
        ndim = int(packed[at])
        shape = tuple(packed[at + 1 : at + 1 + ndim])
        start = at + 1 + ndim
        at = start + math.prod(shape)
        found.append(packed[start:at].reshape(shape).astype(np.int32))
    return found


def _points(points: ArrayLike, furthest_site: bool, incremental: bool) -> Any:
    x = as_dtype(array(points), np.float64)
    if x.ndim != 2:
        raise ValueError("`points` should be a 2-dimensional array")
    if holds(np.any(np.isnan(x))):
        raise ValueError("Points cannot contain NaN")
    if incremental or furthest_site:
        option = "incremental" if incremental else "furthest_site"
        raise unsupported(f"scipy.spatial: {option}=True of traced points is not there")
    return x


def normals_of(corners: Traced) -> Any:
    """The normals of simplices of d points in d dimensions: the cofactors of their edges, (n, d)."""
    edges = corners[:, 1:] - corners[:, :1]
    d = corners.shape[-1]
    parts = []
    for k in range(d):
        others = [j for j in range(d) if j != k]
        minor = edges[:, :, others]
        parts.append((-1) ** k * (np.linalg.det(minor) if d > 1 else 1 + 0 * corners[:, 0, 0]))
    return np.stack(parts, axis=-1)


class _Tables:
    """Attributes that all three have."""

    _points: Any

    @property
    def points(self) -> Any:
        return self._points

    @property
    def npoints(self) -> int:
        return self._points.shape[0]

    @property
    def ndim(self) -> int:
        return self._points.shape[1]

    @property
    def min_bound(self) -> Any:
        return np.min(self._points, axis=0)

    @property
    def max_bound(self) -> Any:
        return np.max(self._points, axis=0)

    def add_points(self, *_: Any, **__: Any) -> None:
        raise unsupported("points are not added to what is made of traced ones", "all points at once")

    def close(self) -> None:
        pass


class TracedHull(_Tables):
    """A convex hull of traced points: SciPy's attributes."""

    def __init__(self, points: Traced, options: str | None) -> None:
        self._points = points
        self.simplices, self.neighbors, self.vertices, self.coplanar = tables_of(points, "ConvexHull", options)
        self.nsimplex = len(self.simplices)
        self.good = None

    @property
    def equations(self) -> Any:
        """The normals of the facets, outwards, of length 1, and their offsets."""
        corners = self._points[table(self.simplices, self._points)]
        normal = normals_of(corners)
        normal = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
        offset = -np.sum(normal * corners[:, 0], axis=-1)
        center = np.mean(self._points[table(self.vertices, self._points)], axis=0)
        side = np.where(normal @ center + offset > 0, -1.0, 1.0)
        return np.concatenate([normal, offset[:, None]], axis=-1) * side[:, None]

    @property
    def volume(self) -> Any:
        """The sum over the facets of the cones from a point within: |det| / d!."""
        corners = self._points[table(self.simplices, self._points)]
        center = np.mean(self._points[table(self.vertices, self._points)], axis=0)
        return np.sum(np.abs(np.linalg.det(corners - center))) / math.factorial(self.ndim)

    @property
    def area(self) -> Any:
        """The sum of the facets' measures: lengths of normals / (d − 1)!."""
        normal = normals_of(self._points[table(self.simplices, self._points)])
        return np.sum(np.linalg.norm(normal, axis=-1)) / math.factorial(self.ndim - 1)


class TracedDelaunay(_Tables):
    """A triangulation of traced points: SciPy's attributes."""

    def __init__(self, points: Traced, options: str | None) -> None:
        self._points = points
        self.simplices, self.neighbors, self.convex_hull, self.coplanar = tables_of(points, "Delaunay", options)
        self.nsimplex = len(self.simplices)
        self.furthest_site, self.good = False, None

    @property
    def vertex_to_simplex(self) -> Any:
        found = np.full(self.npoints, -1, np.int32)
        found[self.simplices[::-1].ravel()] = np.repeat(np.arange(self.nsimplex)[::-1], self.ndim + 1)
        return found

    @property
    def transform(self) -> Any:
        """Barycentric coordinates: c = T (x − r), the inverse of the edges and the last corner."""
        corners = self._points[table(self.simplices, self._points)]
        last = corners[:, -1]
        edges = np.swapaxes(corners[:, :-1] - last[:, None], -1, -2)
        return np.concatenate([np.linalg.inv(edges), last[:, None]], axis=1)

    def find_simplex(self, xi: ArrayLike, bruteforce: bool = False, tol: float | None = None) -> Any:
        """The index of the simplex that a point is in, −1 if there is none."""
        x = as_dtype(array(xi), np.float64)
        t = wg.stop_gradient(self.transform)
        c = np.sum(t[:, :-1] * (wg.stop_gradient(x)[..., None, :] - t[:, -1])[..., None, :], axis=-1)
        least = np.minimum(np.min(c, axis=-1), 1 - np.sum(c, axis=-1))
        eps = 100 * np.finfo(float).eps if tol is None else tol
        found = np.where(np.max(least, axis=-1) >= -eps, np.argmax(least, axis=-1), -1)
        return as_dtype(found, np.int32)


class TracedVoronoi(_Tables):
    """A Voronoi diagram of traced points: SciPy's attributes."""

    def __init__(self, points: Traced, options: str | None) -> None:
        self._points = points
        count, regions, self.ridge_points, ridges, self.point_region = tables_of(points, "Voronoi", options)
        self.ridge_vertices, self.regions = _lists(ridges), _lists(regions)
        self._count, self.furthest_site = int(count[0]), False

    @property
    def ridge_dict(self) -> dict[tuple[int, ...], list[int]]:
        pairs = [tuple(pair) for pair in self.ridge_points.tolist()]
        return dict(zip(pairs, self.ridge_vertices, strict=True))

    @property
    def vertices(self) -> Any:
        """Points as far from each of d + 1 sites: 2 (pₖ − p₀) · c = |pₖ|² − |p₀|²."""
        d = self.ndim
        around: list[list[int]] = [[] for _ in range(self._count)]
        for site, region in enumerate(self.point_region.tolist()):
            for vertex in self.regions[region] if region >= 0 else []:
                if vertex >= 0:
                    around[vertex].append(site)
        corners = self._points[table(np.array([sites[: d + 1] for sites in around]), self._points)]
        edges = corners[:, 1:] - corners[:, :1]
        square = np.sum(edges * edges, axis=-1)
        return corners[:, 0] + np.linalg.solve(2 * edges, square[..., None])[..., 0]


@intercepts(f"{PLACE}:ConvexHull", AT_ANY)
def convex_hull(points: ArrayLike, incremental: bool = False, qhull_options: str | None = None) -> Any:
    return TracedHull(_points(points, False, incremental), qhull_options)


@intercepts(f"{PLACE}:Delaunay", AT_ANY)
def delaunay(
    points: ArrayLike, furthest_site: bool = False, incremental: bool = False, qhull_options: str | None = None
) -> Any:
    return TracedDelaunay(_points(points, furthest_site, incremental), qhull_options)


@intercepts(f"{PLACE}:Voronoi", AT_ANY)
def voronoi(
    points: ArrayLike, furthest_site: bool = False, incremental: bool = False, qhull_options: str | None = None
) -> Any:
    return TracedVoronoi(_points(points, furthest_site, incremental), qhull_options)


_find = wg.primitive(
    lambda x, *, triangulation, bruteforce, tol: np.asarray(
        triangulation.find_simplex(x, bruteforce, tol), np.int32
    ).reshape(x.shape[:-1]),
    type=lambda x, **_: np.zeros(x.shape[:-1], np.int32),
)


@intercepts(f"{PLACE}:Delaunay.find_simplex")
def find_simplex(triangulation: Any, xi: ArrayLike, bruteforce: bool = False, tol: float | None = None) -> Any:
    x = as_dtype(array(xi), np.float64)
    return _find(wg.stop_gradient(x), triangulation=triangulation, bruteforce=bruteforce, tol=tol)


refuses(PLACE, ["SphericalVoronoi"], "of traced points is not there", "ConvexHull")
refuses(PLACE, ["HalfspaceIntersection"], "of traced halfspaces is not there", "ConvexHull", looks=AT_ANY)


# --------------------------------------------------------------------------------------------- shapes and great circles


@intercepts(f"{PLACE}:procrustes")
def procrustes(data1: ArrayLike, data2: ArrayLike) -> Any:
    """Two shapes, moved, scaled and turned to each other, and what is left between them."""
    a, b = as_dtype(array(data1), np.float64), as_dtype(array(data2), np.float64)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("Input matrices must be two-dimensional")
    if a.shape != b.shape:
        raise ValueError("Input matrices must be of same shape")
    if a.size == 0:
        raise ValueError("Input matrices must be >0 rows and >0 cols")
    a, b = a - np.mean(a, axis=0), b - np.mean(b, axis=0)
    of_a, of_b = np.linalg.norm(a), np.linalg.norm(b)
    if holds((of_a == 0) | (of_b == 0)):
        raise ValueError("Input matrices must contain >1 unique points")
    a, b = a / of_a, b / of_b
    u, s, vt = np.linalg.svd(b.T @ a)
    b = (b @ (u @ vt)) * np.sum(s)
    return a, b, np.sum((a - b) ** 2)


@intercepts(f"{PLACE}:geometric_slerp")
def geometric_slerp(start: ArrayLike, end: ArrayLike, t: ArrayLike, tol: float = 1e-7) -> Any:
    """Points on the great circle from one to another: (sin((1 − t) ω) a + sin(t ω) b) / sin ω, by an orthonormal
    basis, as in SciPy."""
    a, b, at = [as_dtype(array(x), np.float64) for x in (start, end, t)]
    if at.ndim > 1:
        raise ValueError("The interpolation parameter value must be one dimensional.")
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError("Start and end coordinates must be one-dimensional")
    if a.size != b.size:
        raise ValueError("The dimensions of start and end must match (have same size)")
    if a.size < 2:
        raise ValueError("The start and end coordinates must both be in at least two-dimensional space")
    for x in (a, b):
        if holds(np.abs(np.linalg.norm(x) - 1) <= 1e-9) is False:
            raise ValueError("start and end are not on a unit n-sphere")
    if not isinstance(tol, float):
        raise ValueError("tol must be a float")
    cosine = np.sum(a * b)
    across = b - cosine * a
    sine = np.linalg.norm(across)
    if holds(sine == 0):
        return np.broadcast_to(a, (*at.shape, a.size)) + 0 * at[..., None]
    angle = at * np.arctan2(sine, cosine)
    return np.cos(angle)[..., None] * a + np.sin(angle)[..., None] * (across / sine)
