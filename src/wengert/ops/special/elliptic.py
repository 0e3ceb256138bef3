"""Elliptic integrals and functions, in every argument.

Where the textbook's derivative is a difference, (E − (1 − m) K) / 2m (1 − m), it is written with Carlson's R_D, which
has none: D = (K − E)/m = R_D(0, 1 − m, 1)/3 (DLMF 19.25.1). Carlson's integrals are ∫ ∏ (t + xₖ)^−pₖ over the positive
numbers, and differentiate into such with one power more (DLMF 19.18): :func:`carlson`, by quadrature.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from wengert.ops.elementwise import cos, rint, sin, sqrt
from wengert.ops.kernels import flops
from wengert.ops.op import broadcast_shapes, elementwise
from wengert.ops.special.declare import function, functions, number
from wengert.tape import Atom, Aval

# ----------------------------------------------------------------------------------------------- Carlson's integrals

STEP, REACH = 0.04, 4.6


def _carlson_reference(*xs: Any, powers: tuple[float, ...], of_t: int) -> Any:
    """The exp-sinh rule, t = s exp(π/2 sinh u): its error is that of rounding, to some 1e-14, for operands that are
    zero or have sizes within 1e30 of each other. Source: Takahasi and Mori (1974), Publ. RIMS 9, 721."""
    dtype = np.result_type(*xs)
    xs = tuple([np.asarray(x, np.result_type(dtype, np.float64)) for x in xs])
    scale = np.maximum.reduce(np.broadcast_arrays(*[np.abs(x) for x in xs]))
    scale = np.where(scale == 0, 1, scale)
    total: Any = 0.0
    for u in np.arange(-REACH, REACH + STEP / 2, STEP):
        r = math.exp(math.pi / 2 * math.sinh(u))
        t = scale * r
        term = t * (math.pi / 2 * math.cosh(u) * STEP) * t**of_t
        for x, power in zip(xs, powers, strict=True):
            term = term * (t + x) ** -power
        total = total + term
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
rc = function(
    sp.elliprc,
    lambda x, y, w: rd(y, y, x) / -6,
    lambda x, y, w: rd(x, y, y) / -3,
)
rg = function(
    sp.elliprg,
    *[lambda x, y, z, w, k=k: 0.125 * carlson(x, y, z, powers=_more(k), of_t=1) for k in range(3)],
)
rj = function(
    sp.elliprj,
    *[lambda x, y, z, p, w, k=k: -0.75 * carlson(x, y, z, p, powers=(*_more(k), 1.0), of_t=0) for k in range(3)],
    lambda x, y, z, p, w: -1.5 * carlson(x, y, z, p, powers=(0.5, 0.5, 0.5, 2.0), of_t=0),
)

# --------------------------------------------------------------------------------------- Legendre's integrals


def _complete_d(p: Atom) -> Any:
    """(K − E)/m, of p = 1 − m."""
    return rd(number(0, p), p, number(1, p)) / 3


ellipk = function(sp.ellipk, lambda m, k: (k - _complete_d(1 - m)) / (2 * (1 - m)))
ellipkm1 = function(sp.ellipkm1, lambda p, k: (k - _complete_d(p)) / (-2 * p))
ellipe = function(sp.ellipe, lambda m, e: -0.5 * _complete_d(1 - m))


def _incomplete_d(phi: Atom, m: Atom) -> Any:
    """(F − E)/m at an angle: of its distance from the nearest multiple of π, and twice the complete one for each."""
    turns = rint(phi / math.pi)
    s, c = sin(phi - turns * math.pi), cos(phi - turns * math.pi)
    return 2 * turns * _complete_d(1 - m) + s * s * s * rd(c * c, 1 - m * s * s, number(1, m)) / 3


def _by_parameter(phi: Atom, m: Atom, f: Atom) -> Any:
    """∂F/∂m = (F − D − sin φ cos φ / Δ) / 2 (1 − m) (DLMF 19.4.5)."""
    s, c = sin(phi), cos(phi)
    return (f - _incomplete_d(phi, m) - s * c / sqrt(1 - m * s * s)) / (2 * (1 - m))


ellipkinc = function(sp.ellipkinc, lambda phi, m, f: 1 / sqrt(1 - m * sin(phi) * sin(phi)), _by_parameter)
ellipeinc = function(
    sp.ellipeinc,
    lambda phi, m, e: sqrt(1 - m * sin(phi) * sin(phi)),
    lambda phi, m, e: -0.5 * _incomplete_d(phi, m),
)

# ------------------------------------------------------------------------------------------- Jacobi's functions


def _amplitude_by_m(u: Atom, m: Atom) -> Any:
    """∂φ/∂m where F(φ, m) = u."""
    return -dn(u, m) * _by_parameter(phi(u, m), m, u)


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
agm = function(  # (DLMF 19.8.5) a M' = 2 M²/π · a² R_D(0, b², a²)/3
    sp.agm,
    lambda a, b, y: y * y * (2 / (3 * math.pi)) * a * rd(number(0, a), b * b, a * a),
    lambda a, b, y: y * y * (2 / (3 * math.pi)) * b * rd(number(0, a), a * a, b * b),
)
