"""Airy, Bessel, Hankel, Kelvin, Struve, Mathieu and parabolic cylinder functions, and integrals of them, in their
argument: by recurrences and differential equations (DLMF 9, 10, 11, 12, 28)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from wengert.ops.elementwise import absolute, cos, cosh, sqrt
from wengert.ops.kernels import flops
from wengert.ops.op import NONE, Op, elementwise
from wengert.ops.special.declare import SQRT_PI, either, function, functions, like, no_formula, number, over, series
from wengert.ops.special.usual import i0, in_order, j0, k0, kv, of_real, scaled_partial, with_tail, y0, yv
from wengert.tape import Atom

# ------------------------------------------------------------------------------------------------- Bessel, Hankel


NO_ORDER = no_formula("a function of Bessel's kind in its order")


def _between(of: Op, sign: float) -> Any:
    """½ (C_{v−1} + sign C_{v+1})."""
    return lambda v, x: 0.5 * (of(v - 1, x) + sign * of(v + 1, x))


jve = function(sp.jve, of_real(in_order("j")), of_real(lambda v, x, y: _between(jve, -1)(v, x)))
yve = function(sp.yve, of_real(in_order("y")), of_real(lambda v, x, y: _between(yve, -1)(v, x)))
kve = function(sp.kve, in_order("k"), scaled_partial("k", lambda v, x, y: y - _between(kve, 1)(v, x)))
k0e = function(sp.k0e, with_tail(0, "k", lambda x, y: y - k1e(x)))
k1e = function(sp.k1e, with_tail(1, "k", lambda x, y: y - k0e(x) - y / x))
kn = function(sp.kn, NONE, lambda n, x, y: -_between(kv, 1)(like(n, x), x))
yn = function(sp.yn, NONE, lambda n, x, y: _between(yv, -1)(like(n, x), x))
hankel1 = function(sp.hankel1, NO_ORDER, lambda v, z, y: _between(hankel1, -1)(v, z))
hankel2 = function(sp.hankel2, NO_ORDER, lambda v, z, y: _between(hankel2, -1)(v, z))
hankel1e = function(sp.hankel1e, NO_ORDER, lambda v, z, y: _between(hankel1e, -1)(v, z) - 1j * y)
hankel2e = function(sp.hankel2e, NO_ORDER, lambda v, z, y: _between(hankel2e, -1)(v, z) + 1j * y)
besselpoly = function(
    sp.besselpoly,
    lambda a, p, v, y: besselpoly(a, p + 1, v - 1) - besselpoly(a, p + 1, v + 1),
    no_formula("besselpoly in its power"),
    no_formula("besselpoly in its order"),
)

# --------------------------------------------------------------------------------------------------------- Airy

ai, aip, bi, bip = functions(
    sp.airy,
    airy_ai=[lambda x, y: aip(x)],
    airy_aip=[lambda x, y: x * ai(x)],
    airy_bi=[lambda x, y: bip(x)],
    airy_bip=[lambda x, y: x * bi(x)],
)


def _root(x: Atom) -> Any:
    """√x, and 0 for x < 0, where nothing is scaled."""
    return sqrt(either(x > 0, x, 0, like=x))


FAR_AIRY = 30.0


def _scaled_airy(near: Any, is_first: bool, is_slope: bool) -> Any:
    """``near``, and where x is large, and its terms cancel, the derivative of the asymptotic series in ζ = ⅔ x^(3/2):
    x^∓¼ Σ (∓1)ᵏ uₖ ζ⁻ᵏ, of the slope with −(6k + 1)/(6k − 1) uₖ (DLMF 9.7.5 to 9.7.8)."""
    terms, u = [], 1.0
    for k in range(12):
        c = -(6 * k + 1) / (6 * k - 1) * u if is_slope else u
        power_ = (0.25 if is_slope else -0.25) - 1.5 * k
        terms.append((-1) ** k * c * power_ if is_first else c * power_)
        u *= (6 * k + 5) * (6 * k + 3) * (6 * k + 1) / (216 * (k + 1) * (2 * k + 1))
    scale = (0.5 if is_first else 1) * (-1 if is_first and is_slope else 1) / SQRT_PI

    def rule(x: Atom, y: Atom) -> Any:
        is_far = x > FAR_AIRY
        far = either(is_far, x, FAR_AIRY, like=x)
        root = sqrt(far)
        tail = scale * series(terms, 1.5 / (far * root)) / far * (sqrt(root) if is_slope else 1 / sqrt(root))
        return either(is_far, tail, near(x, y), like=x)

    return of_real(rule)


eai, eaip, ebi, ebip = functions(  # scaled by exp(±⅔ x^(3/2))
    sp.airye,
    airye_ai=[_scaled_airy(lambda x, y: eaip(x) + sqrt(x) * y, True, False)],
    airye_aip=[_scaled_airy(lambda x, y: x * eai(x) + sqrt(x) * y, True, True)],
    airye_bi=[_scaled_airy(lambda x, y: ebip(x) - _root(x) * y, False, False)],
    airye_bip=[_scaled_airy(lambda x, y: x * ebi(x) - _root(x) * y, False, True)],
)
functions(
    sp.itairy,
    itairy_ai=[lambda x, y: ai(x)],
    itairy_bi=[lambda x, y: bi(x)],
    itairy_ai_back=[lambda x, y: ai(-x)],
    itairy_bi_back=[lambda x, y: bi(-x)],
)

# ------------------------------------------------------------------------------ Kelvin: be'' = i be − be'/x

ber = function(sp.ber, lambda x, y: berp(x))
bei = function(sp.bei, lambda x, y: beip(x))
berp = function(sp.berp, lambda x, y: -bei(x) - over(y, x))
beip = function(sp.beip, lambda x, y: ber(x) - over(y, x, 0.5))
ker = function(sp.ker, lambda x, y: kerp(x))
kei = function(sp.kei, lambda x, y: keip(x))
kerp = function(sp.kerp, lambda x, y: -kei(x) - y / x)
keip = function(sp.keip, lambda x, y: ker(x) - y / x)


def _by_equation(of: Callable[..., Any]) -> Any:
    """i w − w'/x, of w' real in x and complex in value."""

    def rule(x: Atom, y: Atom) -> Any:
        z = like(x, y)
        return 1j * of(x) - over(y, z, 0.5j)

    return rule


be, ke, bep, kep = functions(
    sp.kelvin,
    kelvin_be=[lambda x, y: bep(x)],
    kelvin_ke=[lambda x, y: kep(x)],
    kelvin_bep=[_by_equation(lambda x: be(x))],
    kelvin_kep=[_by_equation(lambda x: ke(x))],
)

# ------------------------------------------------------------------------------------------------------- Struve


def _struve_rule(of: Callable[..., Any]) -> Any:
    """w_{v−1} − v w/x (DLMF 11.4.27, 11.4.29); half the neighbours' difference would lose x² where x is large."""
    return lambda v, x, y: of(v - 1, x) - over(like(v, x) * y, x)


struve = function(sp.struve, NO_ORDER, _struve_rule(lambda v, x: struve(v, x)))
modstruve = function(sp.modstruve, NO_ORDER, _struve_rule(lambda v, x: modstruve(v, x)))

# ------------------------------------------------------------------------------------------------------ integrals

_ZERO_ORDER = lambda x: number(0, x)


def _less_one(of: Op, sign: float) -> Any:
    """±(w(x) − 1)/x of w = I₀ or J₀; for |x| < 1, where the two cancel, ½ Σ (±1)ᵏ⁻¹ (x/2)²ᵏ⁻¹/(k!)², k ≥ 1."""
    c = [0.25 * (0.25 * sign) ** k / math.factorial(k + 1) ** 2 for k in range(9)]

    def rule(x: Atom, y: Atom) -> Any:
        is_near = absolute(x) < 1
        small, large = either(is_near, x, 0, like=x), either(is_near, 1, x, like=x)
        return either(is_near, small * series(c, small * small), sign * (of(large) - 1) / large, like=x)

    return rule


functions(sp.itj0y0, itj0=[lambda x, y: j0(x)], ity0=[lambda x, y: y0(x)])
functions(sp.iti0k0, iti0=[lambda x, y: i0(x)], itk0=[lambda x, y: k0(x)])
functions(sp.it2j0y0, it2j0=[_less_one(j0, -1)], it2y0=[lambda x, y: -y0(x) / x])
functions(sp.it2i0k0, it2i0=[_less_one(i0, 1)], it2k0=[lambda x, y: -k0(x) / x])
itstruve0 = function(sp.itstruve0, lambda x, y: struve(_ZERO_ORDER(x), x))
it2struve0 = function(sp.it2struve0, lambda x, y: over(-struve(_ZERO_ORDER(x), x), x, -2 / math.pi))
itmodstruve0 = function(sp.itmodstruve0, lambda x, y: modstruve(_ZERO_ORDER(x), x))

# ------------------------------------------------------------------------------------- parabolic cylinder, Mathieu


def _cylinder(ufunc: np.ufunc, name: str, factor: Callable[..., Any]) -> Any:
    """w and w' of w'' = factor(v, x) w."""
    in_order = no_formula(f"{name} in its order")
    w, slope = functions(
        ufunc,
        **{
            name: [in_order, lambda v, x, y: slope(v, x)],
            f"{name}_slope": [in_order, lambda v, x, y: factor(v, x) * w(v, x)],
        },
    )
    return w, slope


pbdv = _cylinder(sp.pbdv, "pbdv", lambda v, x: 0.25 * x * x - v - 0.5)
pbvv = _cylinder(sp.pbvv, "pbvv", lambda v, x: 0.25 * x * x - v - 0.5)
pbwa = _cylinder(sp.pbwa, "pbwa", lambda a, x: a - 0.25 * x * x)


def _eigenvalue_slope(function_of: np.ufunc, m: np.ndarray[Any, Any], q: np.ndarray[Any, Any]) -> Any:
    """∂a/∂q = ∫ 2 cos 2x y² dx / ∫ y² dx over a period: first-order perturbation of Mathieu's equation, by the
    trapezoidal rule, which is exact for a trigonometric polynomial. SciPy's y is good to some 1e-12, and NaN beyond
    the m and q that are known here."""
    dtype = np.result_type(m, q)
    m, q = np.broadcast_arrays(np.asarray(m, float), np.asarray(q, float))
    is_known = (np.abs(m) < 1e3) & (np.abs(q) < 1e4)
    m, q = np.where(is_known, m, np.nan), np.where(is_known, q, np.nan)
    most = [np.fmax.reduce(np.abs(v), None, initial=0.0) for v in (m, q)]
    count = 128 + 4 * int(most[0] + math.sqrt(most[1]))
    above: Any = 0.0
    below: Any = 0.0
    for x in np.arange(count) * (360.0 / count):
        square = function_of(m, q, x)[0] ** 2
        above, below = above + 2 * math.cos(2 * DEGREE * x) * square, below + square
    return np.asarray(above / below, dtype)[()]


SMALL_Q: dict[tuple[str, int], tuple[float, ...]] = {
    ("a", 0): (0, -1, 0, 7 / 32),
    ("a", 1): (1, -1 / 4, -3 / 64, 1 / 384),
    ("b", 1): (-1, -1 / 4, 3 / 64, 1 / 384),
    ("a", 2): (0, 5 / 6, 0, -763 / 3456),
    ("b", 2): (0, -1 / 6, 0, 5 / 3456),
    ("a", 3): (0, 1 / 8, 3 / 64, 13 / 5120),
    ("b", 3): (0, 1 / 8, -3 / 64, 13 / 5120),
    ("a", 4): (0, 1 / 15, 0, 433 / 216000),
    ("b", 4): (0, 1 / 15, 0, -317 / 216000),
}
"""∂a/∂q and ∂b/∂q in powers of q (the derivatives of https://dlmf.nist.gov/28.6.E1 and those that follow)."""


def _slope_where_q_is_small(name: str, m: np.ndarray[Any, Any], q: np.ndarray[Any, Any]) -> Any:
    """The series in q; from m = 5 it is the same for a and b (https://dlmf.nist.gov/28.6.E14)."""
    with np.errstate(all="ignore"):
        k = m * m
        found = q / (k - 1) + (5 * k + 7) * q**3 / (8 * (k - 1) ** 3 * (k - 4))
    for (kind, order), coefficients in SMALL_Q.items():
        if kind == name:
            found = np.where(m == order, np.polynomial.polynomial.polyval(q, coefficients), found)
    return found


def _eigenvalue(ufunc: np.ufunc, name: str, function_of: np.ufunc) -> Any:
    def by_q(m: np.ndarray[Any, Any], q: np.ndarray[Any, Any]) -> Any:
        """The integral is right to 1e-16, and of even m to 1e-9: too little where the slope is about q / m²."""
        slope = np.asarray(_eigenvalue_slope(function_of, m, q))
        is_small = np.isfinite(slope) & (np.abs(q) < 3e-3 * (1 + m * m / 10))
        return np.where(is_small, _slope_where_q_is_small(name, m, q), slope).astype(slope.dtype)[()]

    slope = elementwise(
        by_q,
        name=f"{ufunc.__name__}_by_q",
        type=lambda m, q: op.type(m, q),
        partials=[no_formula(f"{ufunc.__name__} in m"), no_formula(f"the second derivative of {ufunc.__name__}")],
        cost=flops(50_000),
    )
    op = function(ufunc, no_formula(f"{ufunc.__name__} in m"), lambda m, q, y: slope(m, q))
    return op


DEGREE = math.pi / 180
mathieu_a = _eigenvalue(sp.mathieu_a, "a", sp.mathieu_cem)
mathieu_b = _eigenvalue(sp.mathieu_b, "b", sp.mathieu_sem)


def _mathieu(ufunc: np.ufunc, name: str, eigenvalue: Op, is_modified: bool, unit: float) -> Any:
    """y and y' of Mathieu's equation y'' = (2 q cos 2x − a) y, or the modified one, y'' = (a − 2 q cosh 2x) y; ``unit``
    is that of x in radians."""

    def factor(m: Atom, q: Atom, x: Atom) -> Any:
        twice = 2 * unit * x
        return eigenvalue(m, q) - 2 * q * cosh(twice) if is_modified else 2 * q * cos(twice) - eigenvalue(m, q)

    rest = [no_formula(f"{name} in m"), no_formula(f"{name} in q")]
    w, slope = functions(
        ufunc,
        **{
            name: [*rest, lambda m, q, x, y: unit * slope(m, q, x)],
            f"{name}_slope": [*rest, lambda m, q, x, y: unit * factor(m, q, x) * w(m, q, x)],
        },
    )
    return w, slope


_mathieu(sp.mathieu_cem, "mathieu_cem", mathieu_a, False, DEGREE)
_mathieu(sp.mathieu_sem, "mathieu_sem", mathieu_b, False, DEGREE)
_mathieu(sp.mathieu_modcem1, "mathieu_modcem1", mathieu_a, True, 1)
_mathieu(sp.mathieu_modcem2, "mathieu_modcem2", mathieu_a, True, 1)
_mathieu(sp.mathieu_modsem1, "mathieu_modsem1", mathieu_b, True, 1)
_mathieu(sp.mathieu_modsem2, "mathieu_modsem2", mathieu_b, True, 1)
