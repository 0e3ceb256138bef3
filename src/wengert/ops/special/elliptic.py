"""Elliptic integrals and functions, in every argument.

Where the textbook's derivative is a difference, (E − (1 − m) K) / 2m (1 − m), it is written with Carlson's R_D, which
has none: D = (K − E)/m = R_D(0, 1 − m, 1)/3 (DLMF 19.25.1). Carlson's integrals are ∫ ∏ (t + xₖ)^−pₖ over the positive
numbers, and differentiate into such with one power more (DLMF 19.18): :func:`carlson`, by quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from wengert.ops.elementwise import absolute, cos, equal, log, maximum, minimum, rint, sin, sqrt
from wengert.ops.kernels import flops
from wengert.ops.op import broadcast_shapes, elementwise
from wengert.ops.special.declare import either, function, functions, number, over
from wengert.tape import Atom, Aval

# ----------------------------------------------------------------------------------------------- Carlson's integrals

STEP = 0.4


def _carlson_reference(*xs: Any, powers: tuple[float, ...], of_t: int) -> Any:
    """The trapezoidal rule in log t: the integrand falls off exponentially on both sides, and has its singularities
    where |Im log t| is π, so the error of the rule is exp(−2π²/step), 1e-21, whatever the sizes of the operands. From
    e^−40 of the integrand on, nothing is left out that can be seen."""
    dtype = np.result_type(*xs)
    broadcast = np.broadcast_arrays(*[np.asarray(x, float) for x in xs])
    with np.errstate(all="ignore"):
        logs = [np.log(x) for x in broadcast]
        rising = 1 + of_t - sum([power * (x == 0) for x, power in zip(broadcast, powers, strict=True)])
        falling = sum(powers) - 1 - of_t
        first = np.minimum.reduce([np.where(np.isinf(v), np.inf, v) for v in logs]) - 40 / rising
        last = np.maximum.reduce(logs) + 40 / falling
        is_finite = np.isfinite(first + last) & (rising > 0)
        first, last = np.where(is_finite, first, 0.0), np.where(is_finite, last, 0.0)
        total: Any = 0.0
        for k in range(int(np.max(last - first, initial=0.0) / STEP) + 1):
            log_t = np.minimum(first + STEP * k, last + STEP)
            exponent = (1 + of_t) * log_t
            for v, power in zip(logs, powers, strict=True):
                exponent = exponent - power * np.logaddexp(log_t, v)
            total = total + np.where(first + STEP * k <= last, np.exp(exponent), 0.0) * STEP
    total = np.where(is_finite, total, np.where(np.isnan(sum(logs)), np.nan, np.where(rising > 0, 0.0, np.inf)))
    return np.asarray(total, dtype)[()]


def _carlson_partials(powers: tuple[float, ...], of_t: int) -> list[Any]:
    def by(k: int) -> Any:
        more = tuple(p + (j == k) for j, p in enumerate(powers))
        return lambda *xs_y: -powers[k] * carlson(*xs_y[:-1], powers=more, of_t=of_t)

    return [by(k) for k in range(len(powers))]


carlson = elementwise(  # ∫₀^∞ tⁿ ∏ (t + xₖ)^−pₖ dt, of x float[...]
    _carlson_reference,
    name="carlson",
    type=lambda *xs, powers, of_t: Aval(broadcast_shapes("carlson", *xs), xs[0].dtype),
    partials=_carlson_partials,
    is_variadic=True,
    cost=flops(2000),
)


def _more(k: int, n: int = 3) -> tuple[float, ...]:
    return tuple(1.5 if j == k else 0.5 for j in range(n))


# R_C(x, y) = R_F(x, y, y), R_D(x, y, z) = R_J(x, y, z, z)
rd = function(
    sp.elliprd,
    lambda x, y, z, w: -0.75 * carlson(x, y, z, powers=(1.5, 0.5, 1.5), of_t=0),
    lambda x, y, z, w: -0.75 * carlson(x, y, z, powers=(0.5, 1.5, 1.5), of_t=0),
    lambda x, y, z, w: -2.25 * carlson(x, y, z, powers=(0.5, 0.5, 2.5), of_t=0),
)
rf = function(
    sp.elliprf,
    lambda x, y, z, w: rd(y, z, x) / -6,
    lambda x, y, z, w: rd(z, x, y) / -6,
    lambda x, y, z, w: rd(x, y, z) / -6,
)


def _rc_partial(by: int) -> Any:
    """The partial of R_C in x or y, by R_D. For y < 0 the integral is a principal value, and partial fractions give
    ∂R_C/∂x = (1/√x − R_C) / 2 (x − y) and ∂R_C/∂y = (R_C − √x/y) / 2 (x − y)."""

    def rule(x: Atom, y: Atom, w: Atom) -> Any:
        is_cut = y < 0
        positive, negative = either(is_cut, 1, y, like=y), either(is_cut, y, -1, like=y)
        gap = 2 * (x - negative)
        if by == 0:
            return either(is_cut, (1 / sqrt(x) - w) / gap, rd(positive, positive, x) / -6, like=w)
        return either(is_cut, (w - sqrt(x) / negative) / gap, rd(x, positive, positive) / -3, like=w)

    return rule


rc = function(sp.elliprc, _rc_partial(0), _rc_partial(1))
rg = function(
    sp.elliprg,
    *[lambda x, y, z, w, k=k: 0.125 * carlson(x, y, z, powers=_more(k), of_t=1) for k in range(3)],
)


def _cut_rj_partial(by: int, xs: tuple[Atom, ...], p: Atom, w: Atom) -> Any:
    """∂R_J/∂x = (R_D(y, z, x) − R_J) / 2 (x − p) for p < 0, where the integral is a principal value, by partial
    fractions. The partial in p follows by Euler's equation, since R_J is homogeneous of degree −3/2."""
    x, y, z = xs[by], xs[(by + 1) % 3], xs[(by + 2) % 3]
    return (rd(y, z, x) - w) / (2 * (x - p))


def _rj_partial(by: int) -> Any:
    def rule(x: Atom, y: Atom, z: Atom, p: Atom, w: Atom) -> Any:
        is_cut = p < 0
        positive, negative = either(is_cut, 1, p, like=p), either(is_cut, p, -1, like=p)
        powers = (*_more(by), 1.0) if by < 3 else (0.5, 0.5, 0.5, 2.0)
        plain = (-1.5 if by == 3 else -0.75) * carlson(x, y, z, positive, powers=powers, of_t=0)
        if by < 3:
            cut = _cut_rj_partial(by, (x, y, z), negative, w)
        else:
            total = -1.5 * w
            for k, factor in enumerate((x, y, z)):  # √x of it is left where x is 0
                total = total - over(factor, 1 / _cut_rj_partial(k, (x, y, z), negative, w))
            cut = total / negative
        return either(is_cut, cut, plain, like=w)

    return rule


rj = function(sp.elliprj, *[_rj_partial(k) for k in range(4)])

# --------------------------------------------------------------------------------------- Legendre's integrals


def _complete_d(p: Atom) -> Any:
    """(K − E)/m, of p = 1 − m."""
    return rd(number(0, p), p, number(1, p)) / 3


def _complete_by_m(p: Atom) -> Any:
    """∂K/∂m of p = 1 − m: of K = R_F(0, 1 − m, 1), where the textbook has (K − D) / 2 (1 − m)."""
    return rd(number(0, p), number(1, p), p) / 6


ellipk = function(sp.ellipk, lambda m, k: _complete_by_m(1 - m))
ellipkm1 = function(sp.ellipkm1, lambda p, k: -_complete_by_m(p))
ellipe = function(sp.ellipe, lambda m, e: -0.5 * _complete_d(1 - m))


def _reduced(phi: Atom, m: Atom, complete: Callable[..., Any]) -> tuple[Any, Any, Any, Any]:
    """Sine and cosine of an angle's distance from the nearest multiple of π, 1 − m sin², and what twice the
    ``complete`` integral is for each multiple."""
    turns = rint(phi / math.pi)
    s, c = sin(phi - turns * math.pi), cos(phi - turns * math.pi)
    is_whole = equal(turns, 0)
    rest = either(is_whole, 0, 2 * turns * complete(either(is_whole, 1, 1 - m, like=m)), like=phi)
    return s, c, c * c + (1 - m) * (s * s), rest


def _incomplete_d(phi: Atom, m: Atom) -> Any:
    """(F − E)/m at an angle."""
    s, c, delta, rest = _reduced(phi, m, _complete_d)
    return rest + s * s * s * rd(c * c, delta, number(1, m)) / 3


def _by_parameter(phi: Atom, m: Atom) -> Any:
    """∂F/∂m of F = s R_F(c², 1 − m s², 1)."""
    s, c, delta, rest = _reduced(phi, m, _complete_by_m)
    return rest + s * s * s * rd(c * c, number(1, m), delta) / 6


ellipkinc = function(
    sp.ellipkinc, lambda phi, m, f: 1 / sqrt(1 - m * sin(phi) * sin(phi)), lambda phi, m, f: _by_parameter(phi, m)
)
ellipeinc = function(
    sp.ellipeinc,
    lambda phi, m, e: sqrt(1 - m * sin(phi) * sin(phi)),
    lambda phi, m, e: -0.5 * _incomplete_d(phi, m),
)

# ------------------------------------------------------------------------------------------- Jacobi's functions


def _amplitude_by_m(u: Atom, m: Atom) -> Any:
    """∂φ/∂m where F(φ, m) = u."""
    return -dn(u, m) * _by_parameter(phi(u, m), m)


def _dn_by_m(u: Atom, m: Atom, y: Atom) -> Any:
    s, c = sn(u, m), cn(u, m)
    return -(0.5 * s * s + m * s * c * _amplitude_by_m(u, m)) / y


sn, cn, dn, phi = functions(
    sp.ellipj,
    ellipj_sn=[lambda u, m, y: cn(u, m) * dn(u, m), lambda u, m, y: cn(u, m) * _amplitude_by_m(u, m)],
    ellipj_cn=[lambda u, m, y: -sn(u, m) * dn(u, m), lambda u, m, y: -sn(u, m) * _amplitude_by_m(u, m)],
    ellipj_dn=[lambda u, m, y: -m * sn(u, m) * cn(u, m), _dn_by_m],
    ellipj_ph=[lambda u, m, y: dn(u, m), lambda u, m, y: _amplitude_by_m(u, m)],
)


def _agm_partial(by: int) -> Any:
    """M(a, b) = l g(s/l), of the larger operand l and the smaller s: ∂M/∂s = g² (2/3π) r R_D(0, 1, r²) and ∂M/∂l =
    g² (2/3π) R_D(0, r², 1) of r = s/l (DLMF 19.8.5), and where r² underflows its limits. Both are even in the sign that
    the operands share."""

    def rule(a: Atom, b: Atom, y: Atom) -> Any:
        mine, other = (absolute(a), absolute(b)) if by == 0 else (absolute(b), absolute(a))
        large, small = maximum(mine, other), minimum(mine, other)
        ratio, g = over(small, large), absolute(over(y, large))
        is_tiny, is_none = ratio < 1e-100, equal(ratio, 0)
        r = either(is_tiny, 1, ratio, like=y)
        tiny = either(is_none | ~is_tiny, 1, ratio, like=y)
        zero, one = number(0, y), number(1, y)
        by_small = either(is_tiny, 3 / tiny, r * rd(zero, one, r * r), like=y)
        by_large = either(is_tiny, 3 * (math.log(4) - 1 - log(tiny)), rd(zero, r * r, one), like=y)
        slope = g * g * (2 / (3 * math.pi)) * either(mine < other, by_small, by_large, like=y)
        return either(is_none, either(mine < other, math.inf, 0, like=y), slope, like=y)

    return rule


agm = function(sp.agm, _agm_partial(0), _agm_partial(1))
