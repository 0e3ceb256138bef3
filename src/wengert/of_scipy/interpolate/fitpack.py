"""FITPACK's routines on traced arrays: splines as ``(t, c, k)``, and on rectangles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import interpolate

import wengert as wg
from wengert.of_scipy.interpolate.bsplines import basis, place, values
from wengert.of_scipy.interpolate.piecewise import real_roots
from wengert.tracing.arguments import Traced, array, arrays, as_dtype, concrete, holds_traced, promote, unsupported
from wengert.tracing.interception.intercept import intercepts


def _curves(c: Traced) -> Any:
    """The coefficients of each coordinate of a curve, or None where there is one alone."""
    if isinstance(c, list | tuple):
        return list(c) if c and np.ndim(c[0]) else None
    return list(c) if np.ndim(c) > 1 else None


@intercepts("scipy.interpolate._fitpack_impl:splev")
def splev(x: Traced, tck: tuple[Any, Any, int], der: int = 0, ext: int = 0) -> Any:
    """Values or derivatives; beyond the ends by ``ext``: 0 the last pieces, 1 zero, 2 an error, 3 the value there."""
    t, c, k = tck
    if (curves := _curves(c)) is not None:
        return [splev(x, (t, one, k), der, ext) for one in curves]
    if not 0 <= der <= k:
        raise ValueError(f"0<=der={der}<=k={k} must hold")
    if ext not in (0, 1, 2, 3):
        raise ValueError(f"ext = {ext} not in (0, 1, 2, 3) ")
    points = as_dtype(array(x, (t, c)), np.float64)
    t, c = arrays(t, c, points)[:2]
    flat = np.reshape(points, (-1,))
    inside = place(t, k, flat)[1]
    if ext == 2 and not np.all(inside):
        raise ValueError("Found x value not in the domain")
    if ext == 3 and der == 0:  # FITPACK's derivatives go on as with 0
        flat = np.clip(flat, t[k], t[t.shape[0] - k - 1])
    found = values(t, c[:, None], k, flat, der, True)[:, 0]
    return np.reshape(np.where(inside, found, 0.0) if ext == 1 else found, points.shape)


@intercepts("scipy.interpolate._fitpack_impl:splint")
def splint(a: Traced, b: Traced, tck: tuple[Any, Any, int], full_output: int = 0) -> Any:
    """The integral from a to b of the spline, which is zero outside of its knots."""
    t, c, k = tck
    if (curves := _curves(c)) is not None:
        return [splint(a, b, (t, one, k)) for one in curves]
    if full_output:
        raise unsupported("splint of traced values: full_output is not there")
    t, c, a, b = promote(*arrays(t, c, a, b), dtype=np.float64)
    n = t.shape[0] - k - 1
    whole = np.concatenate([np.zeros_like(c[:1]), np.cumsum(c[:n] * (t[k + 1 :] - t[:n]) / float(k + 1))])
    wide = np.concatenate([t[:1], t, t[-1:]])
    ends = np.clip(np.stack([a, b]), t[k], t[n])
    found = values(wide, whole[:, None], k + 1, ends, 0, True)[:, 0]
    return found[1] - found[0]


@intercepts("scipy.interpolate._fitpack_impl:splder")
def splder(tck: tuple[Any, Any, int], n: int = 1, xp: Traced | None = None) -> Any:
    """The spline of degree k − 1 with coefficients k (cᵢ₊₁ − cᵢ) / (tᵢ₊ₖ₊₁ − tᵢ₊₁), and zeros after them."""
    if n < 0:
        return interpolate.splantider(tck, -n)
    t, c, k = tck
    t, c = arrays(t, c)
    if n > k:
        raise ValueError(f"Order of derivative (n = {n!r}) must be <= order of spline (k = {k!r})")
    for _ in range(n):
        width = t[k + 1 : -1] - t[1 : -k - 1]
        if np.any(width == 0):
            raise ValueError(f"The spline has internal repeated knots and is not differentiable {n} times")
        width = np.reshape(width, (-1, *[1] * (c.ndim - 1)))
        c = (c[1 : -1 - k] - c[: -2 - k]) * k / width
        c = np.concatenate([c, np.zeros((k, *c.shape[1:]))])
        t, k = t[1:-1], k - 1
    return t, c, k


@intercepts("scipy.interpolate._fitpack_impl:spalde")
def spalde(x: Traced, tck: tuple[Any, Any, int]) -> Any:
    t, c, k = tck
    if (curves := _curves(c)) is not None:
        return [spalde(x, (t, one, k)) for one in curves]
    points = np.atleast_1d(array(x, (t, c)))
    found = np.stack([splev(points, tck, nu) for nu in range(k + 1)], -1)
    return found[0] if points.shape[0] == 1 else list(found)


@intercepts("scipy.interpolate._fitpack_impl:sproot")
def sproot(tck: tuple[Any, Any, int], mest: int = 10) -> Any:
    """The roots of a cubic spline within its knots."""
    t, c, k = tck
    if k != 3:
        raise ValueError("sproot works only for cubic (k=3) splines")
    if (curves := _curves(c)) is not None:
        return [sproot((t, one, k), mest) for one in curves]
    t, c = promote(*arrays(t, c), dtype=np.float64)
    breaks = t[3 : t.shape[0] - 3]
    where = 3 + np.flatnonzero(concrete(breaks[1:] > breaks[:-1], "bool"))
    starts = t[where]
    rows = []
    for nu in range(3, -1, -1):
        terms = [c[where - 3 + a] * b for a, b in enumerate(basis(t, starts, 3, where, nu))]
        rows.append(sum(terms[1:], terms[0]) / float(math.factorial(nu)))
    ends = np.concatenate([starts, breaks[-1:]])
    return real_roots(np.stack(rows)[:, :, None], ends, 0.0, False, False)[0][:mest]


@intercepts("scipy.interpolate._fitpack_impl:insert")
def insert(x: Traced, tck: tuple[Any, Any, int], m: int = 1, per: int = 0) -> Any:
    """Insert a knot ``m`` times, by Boehm's rule: cᵢ becomes a cᵢ + (1 − a) cᵢ₋₁, a = (x − tᵢ) / (tᵢ₊ₖ − tᵢ)."""
    t, c, k = tck
    if per:
        raise unsupported("scipy.interpolate.insert of a traced periodic spline")
    if (curves := _curves(c)) is not None:
        found = [insert(x, (t, one, k), m) for one in curves]
        return found[0][0], [one for _, one, _ in found], k
    t, c, x = promote(*arrays(t, c, x), dtype=np.float64)
    c = c[: t.shape[0] - k - 1]
    for _ in range(m):
        n = c.shape[0]
        where = int(wg.stop_gradient(place(t, k, x)[0]))
        low, high = t[where - k + 1 : where + 1], t[where + 1 : where + k + 1]
        a = (x - low) / (high - low)
        middle = a * c[where - k + 1 : where + 1] + (1.0 - a) * c[where - k : where]
        c = np.concatenate([c[: where - k + 1], middle, c[where:n]])
        t = np.concatenate([t[: where + 1], np.reshape(x, (1,)), t[where + 1 :]])
    return t, np.concatenate([c, np.zeros(k + 1)]), k  # as many numbers as knots, as FITPACK has them


# -------------------------------------------------------------------------------------------------------- curve fits


@intercepts("scipy.interpolate._fitpack_impl:splrep")
def splrep(
    x: Traced,
    y: Traced,
    w: Traced | None = None,
    xb: Traced | None = None,
    xe: Traced | None = None,
    k: int = 3,
    task: int = 0,
    s: float | None = None,
    t: Traced | None = None,
    full_output: int = 0,
    per: int = 0,
    quiet: int = 1,
) -> Any:
    """An interpolating spline, or the nearest one with given knots. How many knots a smoothing spline has depends on
    the values, by an iteration: it is not traced."""
    if full_output or per or not (xb is None and xe is None):
        raise unsupported("splrep of traced values: full_output, per, xb and xe are not traced")
    if t is not None:
        inner, xs = arrays(t, array(x, (y,)))
        ends = [np.repeat(xs[:1], k + 1), inner, np.repeat(xs[-1:], k + 1)]
        spline = interpolate.make_lsq_spline(x, y, np.concatenate(ends), k, w)
    elif s == 0 or (s is None and w is None):
        spline = interpolate.make_interp_spline(x, y, k)
    else:
        raise unsupported(
            "splrep of traced values: a smoothing spline chooses its knots by the values",
            "make_smoothing_spline",
            "t=, the knots",
            "s=0",
        )
    return spline.t, np.concatenate([spline.c, np.zeros(k + 1)]), k


def _made(self: Any, x: Traced, y: Traced, k: int, ext: Any, tck: tuple[Any, Any, int]) -> None:
    """Let ``self``, one of the classes of univariate splines, be the spline ``tck``."""
    modes = {0: 0, "extrapolate": 0, 1: 1, "zeros": 1, 2: 2, "raise": 2, 3: 3, "const": 3}
    if ext not in modes:
        raise ValueError(f"Unknown extrapolation mode {ext}.")
    self.ext, self._eval_args = modes[ext], tck
    t, c, _ = tck
    self._data = (x, y, None, t[k], t[t.shape[0] - k - 1], k, None, t.shape[0], t, c, None, None, None, None, 0)


@intercepts("scipy.interpolate:UnivariateSpline.__init__")
def make_univariate(
    self: Any,
    x: Traced,
    y: Traced,
    w: Traced | None = None,
    bbox: tuple[float | None, float | None] = (None, None),
    k: int = 3,
    s: float | None = None,
    ext: int | str = 0,
    check_finite: bool = False,
) -> None:
    if any(end is not None for end in bbox):
        raise unsupported("UnivariateSpline of traced values: bbox= is not traced")
    _made(self, x, y, k, ext, splrep(x, y, w if s is None else None, k=k, s=np.inf if s is None else s))


@intercepts("scipy.interpolate:InterpolatedUnivariateSpline.__init__")
def make_interpolated(
    self: Any,
    x: Traced,
    y: Traced,
    w: Traced | None = None,
    bbox: tuple[float | None, float | None] = (None, None),
    k: int = 3,
    ext: int | str = 0,
    check_finite: bool = False,
) -> None:
    make_univariate(self, x, y, None, bbox, k, 0, ext)


@intercepts("scipy.interpolate:LSQUnivariateSpline.__init__")
def make_with_knots(
    self: Any,
    x: Traced,
    y: Traced,
    t: Traced,
    w: Traced | None = None,
    bbox: tuple[float | None, float | None] = (None, None),
    k: int = 3,
    ext: int | str = 0,
    check_finite: bool = False,
) -> None:
    if any(end is not None for end in bbox):
        raise unsupported("LSQUnivariateSpline of traced values: bbox= is not traced")
    _made(self, x, y, k, ext, splrep(x, y, w, k=k, t=t))


# -------------------------------------------------------------------------------------------------------- rectangles


def vector(x: Traced) -> Any:
    """``x`` as f2py takes it for a vector: a number too, and what is longer than 1 in one direction alone."""
    if sum(n != 1 for n in x.shape) > 1:
        raise ValueError(f"too many axes: {x.ndim}, expected rank=1")
    return np.reshape(x, (-1,))


def on_rectangle(
    tx: Traced,
    ty: Traced,
    c: Traced,
    kx: int,
    ky: int,
    x: Traced,
    y: Traced,
    dx: int = 0,
    dy: int = 0,
    is_grid: bool = False,
) -> Any:
    """Σ c_ij B_i(x) B_j(y), at points, or on the grid of all pairs; beyond the rectangle as at its margin."""
    tx, ty, c, x, y = promote(*arrays(tx, ty, c, x, y), dtype=np.float64)
    x, y = vector(x), vector(y)
    nx, ny = tx.shape[0] - kx - 1, ty.shape[0] - ky - 1
    c = np.reshape(c[: nx * ny], (nx, ny))
    sides = []
    for t, k, points, nu, n in ((tx, kx, x, dx, nx), (ty, ky, y, dy, ny)):
        points = np.clip(points, t[k], t[n])
        where, _ = place(t, k, points)
        sides.append([(where - k + a, b) for a, b in enumerate(basis(t, points, k, where, nu))])
    total: Any = 0.0
    for i, a in sides[0]:
        for j, b in sides[1]:
            if is_grid:
                total = total + c[i[:, None], j] * (a[:, None] * b)
            else:
                total = total + c[i, j] * (a * b)
    return total


@intercepts("scipy.interpolate._dfitpack:bispev")
def bispev(tx: Traced, ty: Traced, c: Traced, kx: int, ky: int, x: Traced, y: Traced) -> Any:
    return on_rectangle(tx, ty, c, kx, ky, x, y, is_grid=True), 0


@intercepts("scipy.interpolate._dfitpack:bispeu")
def bispeu(tx: Traced, ty: Traced, c: Traced, kx: int, ky: int, x: Traced, y: Traced) -> Any:
    return on_rectangle(tx, ty, c, kx, ky, x, y), 0


@intercepts("scipy.interpolate._dfitpack:parder")
def parder(tx: Traced, ty: Traced, c: Traced, kx: int, ky: int, nux: int, nuy: int, x: Traced, y: Traced) -> Any:
    return on_rectangle(tx, ty, c, kx, ky, x, y, nux, nuy, is_grid=True), 0


@intercepts("scipy.interpolate._dfitpack:pardeu")
def pardeu(tx: Traced, ty: Traced, c: Traced, kx: int, ky: int, nux: int, nuy: int, x: Traced, y: Traced) -> Any:
    return on_rectangle(tx, ty, c, kx, ky, x, y, nux, nuy), 0


@intercepts("scipy.interpolate._dfitpack:dblint")
def dblint(tx: Traced, ty: Traced, c: Traced, kx: int, ky: int, xb: Traced, xe: Traced, yb: Traced, ye: Traced) -> Any:
    """∫∫ Σ c_ij B_i(x) B_j(y): the integral of each basis function, in both directions."""
    tx, ty, c = promote(*arrays(tx, ty, c, xb, xe, yb, ye)[:3], dtype=np.float64)
    nx, ny = tx.shape[0] - kx - 1, ty.shape[0] - ky - 1
    weights = []
    for t, k, n, low, high in ((tx, kx, nx, xb, xe), (ty, ky, ny, yb, ye)):
        unit = [splint(low, high, (t, np.eye(n)[i], k)) for i in range(n)]
        weights.append(np.stack(unit))
    return weights[0] @ np.reshape(c[: nx * ny], (nx, ny)) @ weights[1]


@intercepts("scipy.interpolate._dfitpack:regrid_smth")
def regrid_smth(x: Traced, y: Traced, z: Traced, *limits: Any, **options: Any) -> Any:
    """The spline on a rectangle through values on a grid, s = 0, axis by axis; FITPACK takes the same knots."""
    xb, xe, yb, ye, kx, ky, s = limits[:7]
    if s is None or s != 0 or holds_traced([xb, xe, yb, ye]):
        raise unsupported("RectBivariateSpline of traced values: smoothing is not traced", "s=0")
    x, y, z = arrays(x, y, z)
    z = np.reshape(z, (x.shape[0], y.shape[0]))
    along = interpolate.make_interp_spline(x, z, kx)
    across = interpolate.make_interp_spline(y, along.c, ky, axis=1)
    c = np.reshape(np.moveaxis(across.c, 0, 1), (-1,))
    return along.t.shape[0], along.t, across.t.shape[0], across.t, c, 0.0, -1
