"""Interpolation of scattered points: radial functions, triangles, nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import interpolate, spatial

import wengert as wg
from wengert.of_scipy.refusing import refuses
from wengert.tracing.arguments import (
    Traced,
    array,
    arrays,
    as_dtype,
    holds_traced,
    is_traced,
    unsupported,
)
from wengert.tracing.interception.asking import AT_ANY, AT_OBJECT
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.interception.python_functions import original

PLACE = "scipy.interpolate._interpnd" if hasattr(interpolate, "_interpnd") else "scipy.interpolate.interpnd"
"""The module of triangles, which has the second name until SciPy 1.14."""

# -------------------------------------------------------------------------------------------------- radial functions


def _logarithmic(r: Any) -> Any:
    """r² log r, and 0 at 0."""
    is_zero = r == 0
    return np.where(is_zero, 0.0, r**2 * np.log(np.where(is_zero, 1.0, r)))


KERNELS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda r: -r,
    "thin_plate_spline": _logarithmic,
    "cubic": lambda r: r**3,
    "quintic": lambda r: -(r**5),
    "multiquadric": lambda r: -np.sqrt(r**2 + 1),
    "inverse_multiquadric": lambda r: 1 / np.sqrt(r**2 + 1),
    "inverse_quadratic": lambda r: 1 / (r**2 + 1),
    "gaussian": lambda r: np.exp(-(r**2)),
}


def _distances(x: Traced, y: Traced) -> Any:
    """The distance of each of x from each of y; where it is 0, with the derivative 0."""
    square = np.sum((x[:, None] - y) ** 2, axis=-1)
    is_zero = square == 0
    return np.where(is_zero, 0.0, np.sqrt(np.where(is_zero, 1.0, square)))


def _monomials(x: Traced, powers: Any) -> Any:
    powers = np.asarray(powers)
    return np.prod(np.stack([x**p for p in powers]), axis=-1).T if len(powers) else np.zeros((x.shape[0], 0))


@intercepts("scipy.interpolate._rbfinterp_np:_build_and_solve_system")
def build_and_solve(
    y: Traced,
    d: Traced,
    smoothing: Traced,
    kernel: str,
    epsilon: float | Traced,
    powers: Traced,
    *namespace: Any,
) -> Any:
    """The system [K + S, P; Pᵀ, 0] of the coefficients of radial functions and monomials."""
    y, d, smoothing = arrays(y, d, smoothing, epsilon)[:3]
    powers = np.asarray(powers)
    low, high = np.min(y, axis=0), np.max(y, axis=0)
    shift, scale = (high + low) / 2, (high - low) / 2
    scale = np.where(scale == 0, 1.0, scale)
    basis = _monomials((y - shift) / scale, powers)
    matrix = KERNELS[kernel](_distances(y * epsilon, y * epsilon)) + np.diag(smoothing)
    count = len(powers)
    zero = np.zeros((count, count))
    lhs = np.block([[matrix, basis], [basis.T, zero]]) if count else matrix
    rhs = np.concatenate([d, np.zeros((count, d.shape[1]))])
    return shift, scale, np.linalg.solve(lhs, rhs)


def _evaluated(
    x: Traced,
    y: Traced,
    kernel: str,
    epsilon: float | Traced,
    powers: Traced,
    shift: Traced,
    scale: Traced,
    coeffs: Traced,
    *namespace: Any,
) -> Any:
    x, y, shift, scale, coeffs = arrays(x, y, shift, scale, coeffs, epsilon)[:5]
    near = KERNELS[kernel](_distances(x * epsilon, y * epsilon))
    return np.concatenate([near, _monomials((x - shift) / scale, powers)], 1) @ coeffs


intercepts("scipy.interpolate._rbfinterp_np:compute_interpolation")(_evaluated)


@intercepts("scipy.interpolate:RBFInterpolator.__init__")
def make_radial(
    self: Any,
    y: Traced,
    d: Traced,
    neighbors: int | None = None,
    smoothing: Any = 0.0,
    kernel: str = "thin_plate_spline",
    epsilon: Any = None,
    degree: int | None = None,
) -> None:
    """SciPy's own, with a traced ``epsilon``, of which that takes the value."""
    make = original(interpolate.RBFInterpolator.__init__)
    make(self, y, d, neighbors, smoothing, kernel, 1.0 if is_traced(epsilon) else epsilon, degree)
    if is_traced(epsilon):
        self.epsilon = epsilon
    if is_traced(epsilon) and neighbors is None:
        self._shift, self._scale, self._coeffs = build_and_solve(
            self.y, self.d, self.smoothing, self.kernel, epsilon, self.powers
        )


@intercepts("scipy.interpolate:RBFInterpolator.__call__", AT_OBJECT)
def of_neighbors(self: Any, x: Traced) -> Any:
    """Each place has a system of its own, of the nearest points alone, which are found at every run."""
    if self.neighbors is None or not holds_traced([x, self.y, self.d, self.smoothing, self.epsilon]):
        return NotImplemented
    x = as_dtype(array(x, (self.y, self.d)), np.float64)
    if x.ndim != 2:
        raise ValueError("`x` must be a 2-dimensional array.")
    if x.shape[1] != self.y.shape[1]:
        raise ValueError(f"Expected the second axis of `x` to have length {self.y.shape[1]}.")
    if np.dtype(self.d_dtype).kind == "c":
        raise unsupported("RBFInterpolator: neighbors= of traced complex values is not traced", "its two parts")
    index = np.reshape(self._tree.query(x, self.neighbors)[1], (x.shape[0], self.neighbors))
    y, d, smoothing = arrays(self.y, self.d, self.smoothing, x)[:3]

    def one(place: Traced, nearest: Traced) -> Any:
        some, kind = y[nearest], (self.kernel, self.epsilon, self.powers)
        return _evaluated(place[None], some, *kind, *build_and_solve(some, d[nearest], smoothing[nearest], *kind))[0]

    return np.reshape(wg.vmap(one)(x, index), (x.shape[0], *self.d_shape))


# --------------------------------------------------------------------------------------------------------- triangles


@wg.primitive
def _corners(points: Traced, xi: Traced) -> Any:
    """The numbers of the corners of the simplex that each point lies in; −1 where there is none."""
    simplices = spatial.Delaunay(points)
    found = simplices.find_simplex(xi)
    return np.where(found[:, None] < 0, -1, simplices.simplices[found]).astype(np.intp)


def _place(xi: np.ndarray, *, triangulation: Any) -> Any:
    return triangulation.find_simplex(xi).astype(np.intp)


_simplex = wg.primitive(_place, type=lambda xi, *, triangulation: np.zeros(xi.shape[:1], np.intp))


def _neighbor(points: np.ndarray, xi: np.ndarray, *, tree: Any, **options: Any) -> Any:
    made = spatial.KDTree(points) if tree is None else tree
    return np.asarray(made.query(xi, **options)[1], np.intp)


_nearest = wg.primitive(_neighbor, type=lambda points, xi, *, tree, **options: np.zeros(xi.shape[:1], np.intp))


def coordinates_of(points: Any, ndim: int | None, near: tuple[Any, ...] = ()) -> Any:
    """Points along the last axis: of an array as it is, of one array for each dimension stacked."""
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        given = arrays(*points, *near)[: len(points)]
        return as_dtype(np.stack(np.broadcast_arrays(*given), -1), np.float64)
    x = array(points, near)
    return np.reshape(x, (-1, 1) if ndim is None else (-1, ndim)) if x.ndim == 1 else x


class _Scattered:
    """Points and values of an interpolator, of which some are traced: it stands for SciPy's object."""

    def __init__(self, points: Any, values: Traced, rescale: bool = False) -> None:
        self.points = as_dtype(coordinates_of(points, None, (values,)), np.float64)
        self.values = array(values, (self.points,))
        self.offset: Any = 0.0
        self.scale: Any = 1.0
        if self.points.ndim != 2:
            raise ValueError("invalid shape for input data points")
        if self.points.shape[1] < 2:
            raise ValueError("input data must be at least 2-D")
        if self.points.shape[0] != self.values.shape[0]:
            raise ValueError("different number of values and points")
        if rescale:
            self.offset = np.mean(self.points, axis=0)
            width = np.max(self.points, axis=0) - np.min(self.points, axis=0)
            self.scale = np.where(width > 0, width, 1.0)
            self.points = (self.points - self.offset) / self.scale

    def queried(self, args: tuple[Any, ...]) -> tuple[Any, tuple[int, ...]]:
        """The points that are asked for, in the units of the points, and the shape that they have."""
        ndim = self.points.shape[1]
        xi = coordinates_of(args, ndim, (self.points, self.values))
        if xi.shape[-1] != ndim:
            raise ValueError("number of dimensions in xi does not match x")
        xi = as_dtype(xi, np.float64)
        return (np.reshape(xi, (-1, ndim)) - self.offset) / self.scale, xi.shape[:-1]


class _Linear(_Scattered):
    triangulation: Any = None
    """SciPy's of constant points, or None."""

    def __init__(self, points: Any, values: Traced, fill_value: Any = np.nan, rescale: bool = False) -> None:
        if isinstance(points, spatial.Delaunay):
            if rescale:
                raise ValueError(
                    "Rescaling is not supported when passing a Delaunay triangulation as the `points` argument."
                )
            self.triangulation, points = points, points.points
        super().__init__(points, values, rescale)
        self.values = as_dtype(self.values, np.complex128 if self.values.dtype.kind == "c" else np.float64)
        self.fill_value = fill_value

    def __call__(self, *args: ArrayLike) -> Any:
        """Σ b_j v_j over the corners of a simplex, with barycentric coordinates b."""
        xi, shape = self.queried(args)
        if self.triangulation is None:
            corners, inside, weights = self._of_traced_points(xi)
        else:
            simplex = _simplex(wg.stop_gradient(xi), triangulation=self.triangulation)
            inside = simplex >= 0
            corners = array(self.triangulation.simplices, (xi,))[simplex]
            affine = array(self.triangulation.transform, (xi,))[simplex]
            weights = (affine[:, :-1] @ (xi - affine[:, -1])[..., None])[..., 0]
        weights = np.concatenate([weights, 1.0 - np.sum(weights, axis=-1, keepdims=True)], -1)
        columns = np.reshape(self.values, (self.values.shape[0], -1))
        found = np.sum(columns[corners] * weights[..., None], axis=1)
        found = np.where(inside[:, None], found, self.fill_value)
        return np.reshape(found, (*shape, *self.values.shape[1:]))

    def _of_traced_points(self, xi: Traced) -> tuple[Any, Any, Any]:
        points = self.points
        corners = _corners(wg.stop_gradient(points), wg.stop_gradient(xi))
        inside = corners[:, 0] >= 0
        edges = points[corners[:, :-1]] - points[corners[:, -1:]]
        regular = np.where(inside[:, None, None], edges, np.eye(points.shape[1]))
        offset = xi - points[corners[:, -1]]
        return corners, inside, np.linalg.solve(np.swapaxes(regular, -1, -2), offset[..., None])[..., 0]


class _Nearest(_Scattered):
    tree: Any = None
    """SciPy's of constant points, or None."""

    def __call__(self, *args: ArrayLike, **options: Any) -> Any:
        """The value of the nearest point: which that is is flat. NaN, where there is none that is near enough."""
        if holds_traced([*options.values()]) or options.get("k", 1) != 1:
            raise unsupported("NearestNDInterpolator: traced options, and k=, are not there", "scipy.spatial.KDTree")
        xi, shape = self.queried(args)
        points, at = wg.stop_gradient(self.points), wg.stop_gradient(xi)
        index = _nearest(points, at, tree=self.tree, **options)
        n = self.values.shape[0]
        values = self.values if self.values.dtype.kind == "c" else as_dtype(self.values, np.float64)
        found = values[np.minimum(index, n - 1)]
        if "distance_upper_bound" in options:
            found = np.where(np.reshape(index < n, (-1, *[1] * (values.ndim - 1))), found, np.nan)
        return np.reshape(found, (*shape, *values.shape[1:]))


def _of_scipys(made: Any, found: Any) -> Any:
    """Let ``found`` stand for an interpolator that SciPy has made of constants."""
    found.points = np.asarray(made.points)
    found.offset = getattr(made, "offset", 0.0)
    found.scale = 1.0 if made.scale is None else made.scale
    return found


@intercepts(f"{PLACE}:_ndim_coords_from_arrays", AT_OBJECT)
def coordinates(function: Any, points: Any, ndim: int | None = None) -> Any:
    return coordinates_of(points, ndim) if holds_traced(points) else NotImplemented


@intercepts("scipy.interpolate:Rbf._call_norm")
def norm_of(self: Any, x1: Traced, x2: Traced) -> Any:
    """SciPy's own asks for a distance by its name in C."""
    if callable(self.norm):
        return self.norm(x1[..., None], x2[..., None, :])
    if self.norm != "euclidean":
        raise unsupported(f"scipy.interpolate.Rbf: the norm {self.norm!r} is not traced", "norm='euclidean'")
    return _distances(np.swapaxes(array(x1, (x2,)), 0, 1), np.swapaxes(array(x2, (x1,)), 0, 1))


@intercepts(f"{PLACE}:LinearNDInterpolator", AT_ANY)
def make_linear(points: Any, values: Traced, fill_value: float = np.nan, rescale: bool = False) -> Any:
    return _Linear(points, values, fill_value, rescale)


@intercepts(f"{PLACE}:NDInterpolatorBase.__call__", AT_OBJECT)
def call_linear(function: Any, self: Any, *args: ArrayLike) -> Any:
    if not holds_traced(list(args)):
        return NotImplemented
    if not isinstance(self, interpolate.LinearNDInterpolator):
        raise unsupported(f"{type(self).__name__} is not traced", "LinearNDInterpolator")
    found = _of_scipys(self, object.__new__(_Linear))
    values = np.asarray(self.values)
    found.values = np.reshape(values, (values.shape[0], *self.values_shape))
    found.fill_value, found.triangulation = np.asarray(self.fill_value).item(), self.tri
    return found(*args)


@intercepts("scipy.interpolate:NearestNDInterpolator")
def make_nearest(self: Any, x: Any, y: Traced, rescale: bool = False, tree_options: Any = None) -> None:
    """The options of the tree, but for its box, do not change what it finds."""
    if tree_options and "boxsize" in tree_options:
        raise unsupported("NearestNDInterpolator of traced points or values: boxsize= is not there")
    self.nearest = _Nearest(x, y, rescale)


@intercepts("scipy.interpolate:NearestNDInterpolator.__call__", AT_OBJECT)
def call_nearest(self: Any, *args: Any, **query_options: Any) -> Any:
    if "nearest" in vars(self):
        return self.nearest(*args, **query_options)
    if not holds_traced([*args, *query_options.values()]):
        return NotImplemented
    found = _of_scipys(self, object.__new__(_Nearest))
    found.values, found.tree = np.asarray(self.values), self.tree
    return found(*args, **query_options)


refuses(
    "scipy.interpolate",
    ["CloughTocher2DInterpolator"],
    "its gradients are found by an iteration",
    "LinearNDInterpolator, RBFInterpolator",
    looks=AT_ANY,
)
