"""B-splines: bases by the recurrence of de Boor, evaluation, and the banded systems of interpolation.

Source: de Boor (2001), A Practical Guide to Splines, chapter X, formula (15), in the order in which FITPACK computes.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import interpolate, linalg

from wengert.of_scipy.interpolate.piecewise import fails
from wengert.tracing.arguments import Traced, array, arrays, as_dtype, concrete, holds_tracer, promote, unsupported
from wengert.tracing.interception.asking import AT_OBJECT
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.interception.python_functions import original


def place(t: Traced, k: int, points: Traced) -> tuple[Any, Any]:
    """The number i of the interval t[i] <= x < t[i + 1] of each point, from k to n − 1, and whether it lies in one."""
    n = t.shape[0] - k - 1
    found = np.searchsorted(t[k + 1 : n], points, side="right") + k
    return found, (points >= t[k]) & (points <= t[n])


def basis(t: Traced, points: Traced, k: int, where: Traced | int, nu: int = 0) -> list[Any]:
    """The k + 1 functions that are not zero in an interval, or their derivatives, at points in it."""
    knots = {shift: t[where + shift] for shift in range(1 - k, k + 1)}
    h: list[Any] = [np.ones_like(points)]
    for j in range(1, k - nu + 1):
        previous, h = h, [np.zeros_like(points)]
        for n in range(1, j + 1):
            high, low = knots[n], knots[n - j]
            w = _quotient(previous[n - 1], high - low)
            h[n - 1] = h[n - 1] + w * (high - points)
            h.append(w * (points - low))
    for j in range(k - nu + 1, k + 1):
        previous, h = h, [np.zeros_like(points)]
        for n in range(1, j + 1):
            w = _quotient(j * previous[n - 1], knots[n] - knots[n - j])
            h[n - 1] = h[n - 1] - w
            h.append(w)
    return h


def _quotient(a: Traced, b: Traced) -> Any:
    """a / b, and 0 where knots coincide."""
    is_zero = b == 0
    return np.where(is_zero, 0.0, a / np.where(is_zero, 1.0, b))


def values(t: Traced, c: Traced, k: int, points: Traced, nu: int, extrapolate: bool | str) -> Any:
    """Σ_a c[i − k + a] B_a(x), float[points, columns] of ``c`` float[n, columns]."""
    if nu < 0:
        raise NotImplementedError(f"Cannot do derivative order nu= {nu}")
    t, points = promote(*arrays(t, points), dtype=np.float64)
    c = array(c, (t, points))
    where, inside = place(t, k, points)
    total: Any = 0.0
    for a, b in enumerate(basis(t, points, k, where, nu) if nu <= k else []):
        total = total + c[where - k + a] * b[:, None]
    is_known = ~np.isnan(points) if extrapolate else inside
    return np.where(is_known[:, None], total, np.nan)


@intercepts("scipy.interpolate._dierckx:evaluate_spline")
def evaluate_spline(t: Traced, c: Traced, k: int, xp: Traced, nu: int, extrapolate: bool) -> Any:
    return values(t, c, int(k), xp, int(nu), extrapolate)


@intercepts("scipy.interpolate._bspl:evaluate_spline")  # until SciPy 1.14
def evaluate_into(t: Traced, c: Traced, k: int, xp: Traced, nu: int, extrapolate: bool, out: Traced) -> None:
    out[...] = values(t, c, int(k), xp, int(nu), extrapolate)


@intercepts("scipy.interpolate:BSpline.__call__", AT_OBJECT)
def call(self: Any, x: Traced, nu: int = 0, extrapolate: bool | str | None = None) -> Any:
    """Complex coefficients, which SciPy's code takes apart in memory, are as good as real ones here."""
    if not holds_tracer([x, self.t, self.c]):
        return NotImplemented
    t, c, k = self.t, self.c, int(self.k)
    points = as_dtype(array(x, (t, c)), np.float64)
    shape, flat = points.shape, np.reshape(points, (-1,))
    t, c = arrays(t, c, points)[:2]
    wanted = self.extrapolate if extrapolate is None else extrapolate
    if isinstance(wanted, str) and wanted == "periodic":
        n = t.shape[0] - k - 1
        flat, wanted = t[k] + (flat - t[k]) % (t[n] - t[k]), False
    found = values(t, np.reshape(c, (c.shape[0], -1)), k, flat, int(nu), wanted)
    found = np.reshape(found, (*shape, *c.shape[1:]))
    if self.axis:
        order = list(range(found.ndim))
        ndim = len(shape)
        found = np.transpose(found, order[ndim : ndim + self.axis] + order[:ndim] + order[ndim + self.axis :])
    return found


# ------------------------------------------------------------------------------------------ systems of interpolation


@intercepts("scipy.interpolate._dierckx:find_interval")
def find_interval(t: Traced, k: int, xval: Traced, previous: int, extrapolate: bool) -> int:
    """The interval of one point: a number, which is looked at, and guarded."""
    t, point = arrays(t, xval)
    return int(concrete(place(t, int(k), point)[0], "int"))


@intercepts("scipy.interpolate._dierckx:evaluate_all_bspl")
def evaluate_all(t: Traced, k: int, xval: Traced, m: int, nu: int = 0) -> Any:
    t, point = promote(*arrays(t, xval), dtype=np.float64)
    return np.stack(basis(t, point, int(k), int(m), int(nu)))


@intercepts("scipy.interpolate._dierckx:_coloc")
def colocate(x: Traced, t: Traced, k: int, ab: Traced, offset: int = 0) -> None:
    """Write the rows of the matrix of B_j(x_i) into its diagonals: ``ab`` is what LAPACK takes, transposed."""
    x, t = arrays(x, t, ab)[:2]
    k = int(k)
    where, _ = place(t, k, x)
    rows = np.arange(x.shape[0]) + 2 * k + int(offset)
    for a, b in enumerate(basis(t, x, k, where)):
        column = where - k + a
        ab[column, rows - column] = b


def banded_solution(kl: int, ku: int, ab: Traced, b: Traced, **options: Any) -> tuple[Any, Any, Any, int]:
    """LAPACK's gbsv, whose ``ab`` has ``kl`` rows of room above the matrix."""
    found = linalg.solve_banded((int(kl), int(ku)), ab[int(kl) :], b)
    return None, None, found, 0


@intercepts("scipy.interpolate._bsplines:get_lapack_funcs")
def get_lapack_funcs(names: Any, arrays: Any = (), dtype: Any = None, ilp64: Any = False) -> Any:
    """The one routine that ``make_interp_spline`` asks for; SciPy's other code of traced arrays does not get so far."""
    if tuple(names) != ("gbsv",):
        raise unsupported(f"LAPACK's {names} of traced arrays", "the functions of scipy.linalg")
    return [banded_solution]


@intercepts("scipy.interpolate:make_lsq_spline")
def make_lsq_spline(
    x: Traced,
    y: Traced,
    t: Traced,
    k: int = 3,
    w: Traced | None = None,
    axis: int = 0,
    check_finite: bool = True,
    **options: Any,
) -> Any:
    """The spline with these knots that is nearest to the data: weighted least squares, by QR."""
    given = [x, y, t] if w is None else [x, y, t, w]
    xs, ys, t, *weights = (as_dtype(v, v.dtype if v.dtype.kind == "c" else np.float64) for v in arrays(*given))
    k = int(k)
    n = t.shape[0] - k - 1
    rows: Any = np.moveaxis(ys, axis, 0)
    if xs.ndim != 1 or np.any(xs[1:] - xs[:-1] < 0):
        raise ValueError("Expect x to be a 1-D sorted array_like.")
    if xs.shape[0] < k + 1:
        raise ValueError("Need more x points.")
    if t.ndim != 1 or np.any(t[1:] - t[:-1] < 0):
        raise ValueError("Expect t to be a 1D strictly increasing sequence.")
    if xs.shape[0] != rows.shape[0]:
        raise ValueError(f"Shapes of x {xs.shape} and y {rows.shape} are incompatible")
    where, _ = place(t, k, xs)
    matrix = np.zeros_like(xs, shape=(xs.shape[0], n))
    for a, b in enumerate(basis(t, xs, k, where)):
        matrix = matrix + b[:, None] * ((where - k + a)[:, None] == np.arange(n))
    columns = np.reshape(rows, (rows.shape[0], -1))
    if weights:
        matrix, columns = matrix * weights[0][:, None], columns * weights[0][:, None]
    q, r = np.linalg.qr(matrix)
    c = np.linalg.solve(r, q.T @ columns)
    c = np.reshape(c, (n, *rows.shape[1:]))
    return interpolate.BSpline.construct_fast(t, c, k, axis=axis % rows.ndim)


# ------------------------------------------------------------------------------------------------ several dimensions


@intercepts("scipy.interpolate:NdBSpline.__call__", AT_OBJECT)
def call_nd(self: Any, xi: Traced, *, nu: ArrayLike | None = None, extrapolate: bool | str | None = None) -> Any:
    """Σ c[i + a, j + b, ...] B_a(x) B_b(y) ..."""
    knots = list(self.t)
    if not holds_tracer([xi, self.c, *knots]):
        return NotImplemented
    points = as_dtype(array(xi, (self.c, *knots)), np.float64)
    degrees = np.broadcast_to(np.asarray(self.k), (len(knots),)).tolist()
    orders = [0] * len(knots) if nu is None else np.asarray(nu).tolist()
    if min(orders) < 0:
        raise ValueError(f"derivatives must be positive, got {nu = }")
    shape = points.shape
    points = np.reshape(points, (-1, shape[-1]))
    c = array(self.c, (points,))
    known: Any = True
    sides = []
    wanted = self.extrapolate if extrapolate is None else extrapolate
    for d, (t, k) in enumerate(zip(knots, degrees, strict=True)):
        t, x = arrays(t, points[:, d])
        where, inside = place(t, k, x)
        known = known & (~np.isnan(x) if wanted else inside)
        sides.append([(where - k + a, b) for a, b in enumerate(basis(t, x, k, where, orders[d]))])
    trailing = (slice(None), *[None] * (c.ndim - len(knots)))
    total: Any = 0.0
    for corner in itertools.product(*sides):
        weight = corner[0][1]
        for _, b in corner[1:]:
            weight = weight * b
        total = total + c[tuple([index for index, _ in corner])] * weight[trailing]
    return np.reshape(np.where(known[trailing], total, np.nan), (*shape[:-1], *c.shape[len(knots) :]))


@intercepts("scipy.interpolate._ndbspline:make_ndbspl")
def make_ndbspl(points: Traced, values: Traced, k: Any = 3, *, solver: Any = None, **solver_args: ArrayLike) -> Any:
    """The spline through values on a grid, axis by axis: SciPy solves for all coefficients at once, by iteration."""
    degrees = np.broadcast_to(np.asarray(k), (len(points),)).tolist()
    knots, c = [], array(values, tuple(points))
    for d, x in enumerate(points):
        one = interpolate.make_interp_spline(x, c, degrees[d], axis=d)
        knots.append(one.t)
        c = np.moveaxis(one.c, 0, d)
    found = object.__new__(interpolate.NdBSpline)
    longest = max(t.shape[0] for t in knots)
    table = [np.concatenate([t, np.repeat(t[-1:], longest - t.shape[0])]) for t in knots]
    attributes = {"_t": np.stack(table), "_len_t": [t.shape[0] for t in knots], "_k": tuple(degrees), "_c": c}
    for name, value in {**attributes, "extrapolate": None, "_asarray": lambda x: x}.items():
        setattr(found, name, value)
    return found


@intercepts("scipy.interpolate:make_smoothing_spline")
def make_smoothing_spline(
    x: Traced, y: Traced, w: Traced | None = None, lam: float | Traced | None = None, *, axis: int = 0
) -> Any:
    """The natural cubic spline f that has the least Σ w (y − f)² + λ ∫ f''².

    Its second derivatives γ at the inner points solve (R + λ Qᵀ W⁻¹ Q) γ = Qᵀ y, a system of five diagonals, and its
    values are y − λ W⁻¹ Q γ.
    Source: Green and Silverman (1994), Nonparametric Regression and Generalized Linear Models, section 2.3.
    """
    if lam is None:
        raise unsupported("make_smoothing_spline of traced values: λ is chosen by the values", "lam=, a number")
    given = [x, y, lam] if w is None else [x, y, lam, w]
    xs, ys, rate, *weights = (as_dtype(v, np.float64) for v in arrays(*given))
    rows: Any = np.moveaxis(ys, axis, 0)
    n = xs.shape[0]
    if xs.ndim != 1 or rows.shape[0] != n:
        raise ValueError("``x`` should be one-dimensional and as long as ``y``")
    if n <= 4:
        raise ValueError("``x`` and ``y`` length must be at least 5")
    h = xs[1:] - xs[:-1]
    if np.any(h <= 0):
        raise ValueError("``x`` should be an ascending array")
    if rate < 0:
        raise ValueError("Regularization parameter should be non-negative")
    inverse = 1.0 / weights[0] if weights else np.ones_like(xs)
    before, after = 1.0 / h[:-1], 1.0 / h[1:]
    middle = -before - after
    columns = np.reshape(rows, (n, -1))
    bends = before[:, None] * columns[:-2] + middle[:, None] * columns[1:-1] + after[:, None] * columns[2:]
    zero = np.zeros_like(xs[:1])
    diagonal = (h[:-1] + h[1:]) / 3 + rate * (
        before**2 * inverse[:-2] + middle**2 * inverse[1:-1] + after**2 * inverse[2:]
    )
    mixed = middle[:-1] * before[1:] * inverse[1:-2] + after[:-1] * middle[1:] * inverse[2:-1]
    first = np.concatenate([h[1:-1] / 6 + rate * mixed, zero])
    second = np.concatenate([rate * after[:-2] * before[2:] * inverse[2:-2], zero, zero])
    bands = np.stack([np.roll(second, 2), np.roll(first, 1), diagonal, first, second])
    gamma = linalg.solve_banded((2, 2), bands, bends)
    inner = np.pad(middle[:, None] * gamma, ((1, 1), (0, 0)))
    pulls = np.pad(after[:, None] * gamma, ((2, 0), (0, 0))) + np.pad(before[:, None] * gamma, ((0, 2), (0, 0)))
    pulls = pulls + inner
    found = columns - rate * inverse[:, None] * pulls
    found = np.reshape(found, rows.shape)
    return interpolate.make_interp_spline(xs, np.moveaxis(found, 0, axis), 3, bc_type="natural", axis=axis)


@intercepts("scipy.interpolate._bsplines:_as_float_array")
def as_float_array(x: Traced, check_finite: bool = False) -> Any:
    x = array(x)
    x = x if x.dtype.kind == "c" else as_dtype(x, np.float64)
    if check_finite and fails(np.all(np.isfinite(x))):
        raise ValueError("Array must not contain infs or nans.")
    return x


@intercepts("scipy.interpolate:make_interp_spline")
def make_interp_spline(
    x: Traced,
    y: Traced,
    k: int = 3,
    t: Traced | None = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> Any:
    """SciPy's own, which checks once more that all is finite, in memory."""
    given = [array(v, (x, y)) for v in (x, y, t) if v is not None]
    if check_finite and any(fails(np.all(np.isfinite(v))) for v in given):
        raise ValueError("Array must not contain infs or nans.")
    return original(interpolate.make_interp_spline)(x, y, k, t, bc_type, axis, False)
