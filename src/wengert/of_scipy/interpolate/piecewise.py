"""Piecewise polynomials: evaluation, antiderivatives, integrals, roots. Arrays ``c[degree, interval, column]``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import interpolate

import wengert as wg
from wengert.tracing.arguments import Traced, array, arrays, as_dtype, concrete, holds, unsupported
from wengert.tracing.callers import values_of
from wengert.tracing.interception.asking import AT_OBJECT
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer

compiled: Any = import_module("scipy.interpolate._ppoly")  # Cython, without types


def is_ascending(x: Traced) -> bool:
    """Whether breakpoints ascend. An array of SciPy's own is asked as it is, so that this can be told in a batch."""
    return bool(x[-1] >= x[0])


def place(x: Traced, points: Traced, ascends: bool | None = None) -> tuple[Any, Any]:
    """The interval that each point lies in, or is nearest to, and whether it lies in one. Each contains the breakpoint
    that it begins with, and the last one both. A NaN lies nowhere."""
    if not (is_ascending(x) if ascends is None else ascends):
        x, points = -x, -points
    found = np.searchsorted(x, points, side="right") - 1
    inside = (points >= x[0]) & (points <= x[-1])
    return np.clip(found, 0, x.shape[0] - 2), inside


def _prefactor(power: int, nu: int) -> float:
    """The factor of xᵖ⁻ⁿ in the n-th derivative of xᵖ; for n < 0 in the antiderivative that is zero at 0."""
    if nu >= 0:
        return float(math.prod(range(power - nu + 1, power + 1)))
    return 1.0 / math.prod(range(power + 1, power - nu + 1))


def polynomial(c: Sequence[Any], s: Traced, nu: int = 0) -> Any:
    """Σ c[K − p] s^p, or its derivative, added up from p = 0 as SciPy's Cython does."""
    total, power = None, None
    for p in range(len(c)):
        if p < nu:
            continue
        term = c[len(c) - p - 1]
        if power is not None:
            term = term * power
        if nu:
            term = term * _prefactor(p, nu)
        total = term if total is None else total + term
        if p < len(c) - 1:
            power = s if power is None else power * s
    return c[0] * 0.0 if total is None else total


def _points(points: Traced, *near: Any) -> Any:
    return as_dtype(array(points, near), np.float64)


def _masked(value: Any, inside: Any, points: Traced, extrapolate: bool) -> Any:
    is_known = ~np.isnan(points) if extrapolate else inside
    return np.where(is_known[:, None], value, np.nan)


@intercepts("scipy.interpolate._ppoly:evaluate")
def evaluate(c: Traced, x: Traced, xp: Traced, dx: int, extrapolate: bool, out: Traced) -> None:
    ascends = is_ascending(x)
    c, x, points = arrays(c, x, xp)
    where, inside = place(x, points, ascends)
    s = (points - x[where])[:, None]
    value = polynomial([c[p][where] for p in range(c.shape[0])], s, int(dx))
    out[...] = _masked(value, inside, points, extrapolate)


@intercepts("scipy.interpolate._ppoly:evaluate_bernstein")
def evaluate_bernstein(c: Traced, x: Traced, xp: Traced, nu: int, extrapolate: bool, out: Traced) -> None:
    """Σ_a C(k, a) sᵃ (1 − s)ᵏ⁻ᵃ c_a; derivatives are the basis of lower degree with differences of c."""
    ascends = is_ascending(x)
    c, x, points = arrays(c, x, xp)
    where, inside = place(x, points, ascends)
    width = (x[where + 1] - x[where])[:, None]
    s = (points - x[where])[:, None] / width
    rows = [c[p][where] for p in range(c.shape[0])]
    for _ in range(int(nu)):
        k = len(rows) - 1
        rows = [(b - a) * float(k) / width for a, b in itertools.pairwise(rows)] if k else [rows[0] * 0.0]
    k = len(rows) - 1
    value = rows[0] * (1.0 - s) ** k
    for a in range(1, k + 1):
        value = value + rows[a] * (math.comb(k, a) * s**a * (1.0 - s) ** (k - a))
    out[...] = _masked(value, inside, points, extrapolate)


@intercepts("scipy.interpolate._ppoly:evaluate_nd")
def evaluate_nd(
    c: Traced, xs: Sequence[Traced], ks: ArrayLike, xp: Traced, dx: ArrayLike, extrapolate: bool, out: Traced
) -> None:
    """A polynomial in each axis, of the coefficients of the box that the point lies in."""
    orders, derivatives = np.asarray(concrete(ks, "int")).tolist(), np.asarray(concrete(dx, "int")).tolist()
    points = _points(xp, c, *xs)
    if points.shape[1] != len(xs):
        raise ValueError("xp has incompatible shape")
    breaks = [array(x, (c, xp)) for x in xs]
    c = np.reshape(array(c, (xp, *xs)), (*orders, *[x.shape[0] - 1 for x in breaks], c.shape[-1]))
    found = [place(x, points[:, d]) for d, x in enumerate(breaks)]
    value = c[(*[slice(None)] * len(orders), *[where for where, _ in found])]
    inside: Any = True
    is_number: Any = True
    for d, (where, is_in) in enumerate(found):
        s = points[:, d] - breaks[d][where]
        shift = s[(*[None] * (len(orders) - 1 - d), slice(None), None)]
        value = polynomial([value[p] for p in range(orders[d])], shift, derivatives[d])
        inside, is_number = inside & is_in, is_number & ~np.isnan(s)
    out[...] = np.where((is_number if extrapolate else inside)[:, None], value, np.nan)


def _antiderivative(c: Traced, x: Traced) -> Any:
    """The coefficients of the antiderivative that is zero at the first breakpoint, and continuous."""
    count = c.shape[0]
    rows = [c[p] / float(count - p) for p in range(count)]
    width = (x[1:] - x[:-1])[:, None]
    steps = polynomial([*rows, rows[0] * 0.0], width)
    start = np.concatenate([steps[:1] * 0.0, np.cumsum(steps[:-1], axis=0)])
    return np.stack([*rows, start])


@intercepts("scipy.interpolate._ppoly:fix_continuity")
def fix_continuity(c: Traced, x: Traced, order: int) -> None:
    """Let each of the ``order`` + 1 lowest coefficients continue that of the interval before: a_p of interval i is that
    of i − 1, and what the coefficients above it add over its width."""
    x = array(x, (c,))
    width = (x[1:-1] - x[:-2])[:, None]
    count = c.shape[0]
    for p in range(int(order), -1, -1):
        if c.shape[1] < 2:
            break
        above: Any = 0.0
        for j in range(p + 1, count):
            above = above + c[count - j - 1, :-1] * (math.comb(j, p) * width ** (j - p))
        first = c[count - p - 1, :1]
        c[count - p - 1, 1:] = first + np.cumsum(above, axis=0)


@intercepts("scipy.interpolate._ppoly:integrate")
def integrate(c: Traced, x: Traced, a: Traced, b: Traced, extrapolate: bool, out: Traced) -> None:
    c, x = arrays(c, x)
    rows = _antiderivative(c, x)
    ends = np.stack([_points(a, c), _points(b, c)])
    where, inside = place(x, ends)
    value = polynomial([rows[p][where] for p in range(rows.shape[0])], (ends - x[where])[:, None])
    value = _masked(value, inside, ends, extrapolate)
    out[...] = value[1] - value[0]


@wg.primitive
def _roots(c: Traced, x: Traced, y: Traced, discontinuity: bool, extrapolate: bool) -> Any:
    """The roots, and whether there is one, of as many places as there can be."""
    found = compiled.real_roots(np.ascontiguousarray(c), x, float(y), bool(discontinuity), bool(extrapolate))[0]
    places = c.shape[1] * (c.shape[0] + 2)
    values, is_root = np.zeros(places), np.zeros(places, dtype=bool)
    values[: len(found)], is_root[: len(found)] = found, True
    return values, is_root


@intercepts("scipy.interpolate._ppoly:real_roots")
def real_roots(c: Traced, x: Traced, y: Traced | float, report_discont: bool, extrapolate: bool) -> list[Any]:
    """The roots of each column: solutions of p(r) = y, whose number is looked at, and guarded."""
    c, x, y = arrays(c, x, y)
    found = []
    for column in range(c.shape[2]):
        one = c[:, :, column : column + 1]
        fixed, fixed_x, fixed_y = wg.stop_gradient((one, x, y))
        values, is_root = _roots(fixed, fixed_x, fixed_y, bool(report_discont), bool(extrapolate))
        at = values[np.nonzero(is_root)[0]]
        if not at.shape[0]:
            found.append(at)
            continue
        if np.any(np.isnan(at)):
            raise unsupported("PPoly.roots of traced coefficients: the polynomial is zero in a whole interval")
        where, _ = place(fixed_x, at)
        starts = x[where]
        pieces = [one[p, :, 0][where] for p in range(one.shape[0])]
        fixed_pieces = [wg.stop_gradient(v) for v in pieces]
        is_start = at == wg.stop_gradient(starts)
        is_jump = is_start & (polynomial(fixed_pieces, at * 0.0) != fixed_y)  # the sign changes there, from −y to y
        equation = _equation(pieces, starts, is_jump, y)
        found.append(wg.known_root(equation[0], at, equation[1]))
    return found


def _equation(pieces: list[Any], starts: Any, is_jump: Any, y: Traced) -> tuple[Any, Any]:
    """p(r) = y with its derivative; where the polynomial jumps over y, the root is the breakpoint."""

    def residual(r: Any) -> Any:
        return np.where(is_jump, r - starts, polynomial(pieces, r - starts) - y)

    def slope(r: Any) -> Any:
        return np.diag(np.where(is_jump, 1.0, polynomial(pieces, r - starts, 1)))

    return residual, slope


@intercepts("scipy.interpolate:PPoly.solve")
def solve(self: Any, y: Any = 0.0, discontinuity: bool = True, extrapolate: bool | str | None = None) -> Any:
    """SciPy's own takes the value of ``y``."""
    return _solve(self, y, discontinuity, extrapolate)


@intercepts("scipy.interpolate:PPoly.roots", AT_OBJECT)
def roots(self: Any, discontinuity: bool = True, extrapolate: bool | str | None = None) -> Any:
    return _solve(self, 0.0, discontinuity, extrapolate) if is_traced_object(self) else NotImplemented


def _solve(self: Any, y: Traced | float, discontinuity: bool, extrapolate: bool | str | None) -> Any:
    c = array(self.c, (self.x, y))
    if c.dtype.kind == "c":
        raise ValueError("Root finding is only for real-valued polynomials")
    if c.ndim > 2:
        raise unsupported("PPoly.solve of several polynomials at once", "one at a time")
    wanted = self.extrapolate if extrapolate is None else extrapolate
    return real_roots(np.reshape(c, (*c.shape[:2], -1)), self.x, y, discontinuity, bool(wanted))[0]


def is_traced_object(found: Any) -> bool:
    """Whether an object of SciPy's was made from traced values."""
    return any(type(v) is Tracer for v in values_of(found))


def ensure_order(self: Any) -> Any:
    """Nothing is to be done for traced coefficients, whose order in memory nobody asks for."""
    return None if is_traced_object(self) else NotImplemented


intercepts("scipy.interpolate._interpolate:_PPolyBase._ensure_c_contiguous", AT_OBJECT)(ensure_order)
intercepts("scipy.interpolate:BSpline._ensure_c_contiguous", AT_OBJECT)(ensure_order)


# ---------------------------------------------------------------------------------------------- checks of what is given


def fails(condition: Any) -> bool:
    """Whether a condition on values does not hold: of the examples of a batch nobody can say, and it is not checked."""
    return holds(condition) is False


@intercepts("scipy.interpolate._cubic:prepare_input")
def prepare_input(x: Traced, y: Traced, axis: int, dydx: Traced | None = None, xp: Any = None) -> Any:
    given = arrays(x, y) if dydx is None else arrays(x, y, dydx)
    points = given[0]
    if points.dtype.kind == "c":
        raise ValueError("`x` must contain real values.")
    dtype = np.complex128 if any(v.dtype.kind == "c" for v in given) else np.float64
    points, values, *slopes = as_dtype(points, np.float64), *[as_dtype(v, dtype) for v in given[1:]]
    if any(d.shape != values.shape for d in slopes):
        raise ValueError("The shapes of `y` and `dydx` must be identical.")
    axis = axis % values.ndim
    if points.ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    if points.shape[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    if points.shape[0] != values.shape[axis]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    for name, v in zip(("x", "y", "dydx"), (points, values, *slopes), strict=False):
        if fails(np.all(np.isfinite(v))):
            raise ValueError(f"`{name}` must contain only finite values.")
    steps = points[1:] - points[:-1]
    if fails(np.all(steps > 0)):
        raise ValueError("`x` must be strictly increasing sequence.")
    first = np.moveaxis(slopes[0], axis, 0) if slopes else None
    return points, steps, np.moveaxis(values, axis, 0), axis, first


@intercepts("scipy.interpolate:barycentric_interpolate")
def barycentric_interpolate(xi: Traced, yi: Traced, x: Traced, axis: int = 0, *, der: int = 0, rng: Any = None) -> Any:
    """SciPy's own hands on a generator, of which the order of rounding errors depends, and which has no seed."""
    found = interpolate.BarycentricInterpolator(xi, yi, axis=axis)
    if np.ndim(der):
        return found.derivatives(x, der=np.amax(der) + 1)[np.asarray(der)]
    return found.derivative(x, der=der) if der else found(x)
