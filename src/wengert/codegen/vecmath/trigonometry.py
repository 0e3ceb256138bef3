"""Circular functions and their inverses, within one unit in the last place.

The argument is reduced by multiples of π/2, k of them, to a pair r in [−π/4, π/4]: for |x| up to 2^30 (2^20 without
FMA) by subtracting k times π/2, written as a sum of three (four) floats. The sine and the cosine of r are two
polynomials, and k modulo 4 says which of them, with which sign. Sine and cosine of one argument share all of that.
"""

from __future__ import annotations

import math

from wengert.codegen.ir import Value, absolute, copysign, fma, select, sqrt
from wengert.codegen.vecmath.angles import Angle, reduce_huge, replace_far
from wengert.codegen.vecmath.arithmetic import INF, NAN, format_of
from wengert.codegen.vecmath.doubled import (
    Pair,
    corrected_quotient,
    polynomial,
    quick_two_sum,
    quotient,
    two_product,
    two_sum,
)
from wengert.codegen.vecmath.exponentials import in_double, single

# (sin(√z)/√z − 1)/z and (cos(√z) − 1 + z/2)/z² on z < 0.6175; errors 2^-57.0, 2^-59.4 and 2^-27.4, 2^-32.7
SIN = {
    "f8": [
        -0.16666666666666632, 0.00833333333332237, -0.00019841269829771162, 2.7557313678663577e-06,
        -2.505075596099734e-08, 1.589666648056336e-10,
    ],
    "f4": [-0.16666655242443085, 0.008332176133990288, -0.00019516977772582322],
}  # fmt: skip
COS = {
    "f8": [
        0.041666666666666595, -0.0013888888888872975, 2.480158728880003e-05, -2.755731416397765e-07,
        2.0875698708662505e-09, -1.1358423522672277e-11,
    ],
    "f4": [0.04166664555668831, -0.0013887312961742282, 2.4432785721728578e-05],
}  # fmt: skip
# (arctan(√z)/√z − 1)/z on z < 0.1718, errors 2^-58.5, 2^-28.5
ARCTAN = {
    "f8": [
        -0.33333333333333326, 0.1999999999999767, -0.1428571428538814, 0.11111111088185165, -0.09090908144772378,
        0.07692282763759759, -0.06666226827321631, 0.058770224355471634, -0.05218408206225829, 0.04503563832807768,
        -0.033474767034118995, 0.015195443075070807,
    ],
    "f4": [-0.33333316445350647, 0.1999848335981369, -0.1424373835325241, 0.10595139861106873, -0.06081157177686691],
}  # fmt: skip
# (arcsin(√z)/√z − 1)/z on z < 0.2501, errors 2^-59.0, 2^-30.6
ARCSIN = {
    "f8": [
        0.16666666666666763, 0.07499999999970093, 0.04464285717528995, 0.03038194267511747, 0.022372215909923818,
        0.017351595436319, 0.013981019211889462, 0.011397288139695417, 0.010789345673471815, 0.003672102052395682,
        0.021790829255064627, -0.021116952728834817, 0.032702294759225564,
    ],
    "f4": [
        0.16666659712791443, 0.07500512152910233, 0.044515471905469894, 0.031819820404052734, 0.014393794350326061,
        0.037578172981739044,
    ],
}  # fmt: skip

TWO_OVER_PI = 0.6366197723675814
HALF_PI = {
    "f8": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    "f4": (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
}
HALF_PI_SHORT = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32)
"""π/2 as a sum of parts of 32 bits, whose products with k < 2^21 are exact."""
QUARTER_PI = {"f8": (0.7853981633974483, 3.061616997868383e-17), "f4": (0.7853981852531433, -2.1855694143368964e-08)}


def _reduced(x: Value) -> tuple[Value, Pair]:
    """k modulo 4 as an integer, and r = x − k π/2 as a pair."""
    quadrant, r, low = x.f.shared(
        f"angle {x.typed}", lambda: _reduced_double(x) if x.dtype == "f8" else _reduced_single(x)
    )
    return quadrant, (r, low)


def _reduced_double(x: Value) -> Angle:
    limit = 2.0**30 if x.f.target.has_fma else 2.0**20
    return replace_far(x, limit, _by_subtraction(x), reduce_huge)


def _reduced_single(x: Value) -> Angle:
    """The reduced angle of an "f4" x: by subtraction up to 2^12; above that, and without FMA always, as a double."""
    if not x.f.target.has_fma:
        return _by_way_of_double(x)
    return replace_far(x, 2.0**12, _by_subtraction(x), _by_way_of_double)


def _by_way_of_double(x: Value) -> Angle:
    quadrant, r, low = _reduced_double(x.to("f8"))
    high = r.to("f4")
    return quadrant.to("i4"), high, ((r - high.to("f8")) + low).to("f4")


def _by_subtraction(x: Value) -> Angle:
    form = format_of(x)
    shifted = x * TWO_OVER_PI + form.magic
    k = shifted - form.magic
    quadrant = shifted.bits(form.integer)
    if x.f.target.has_fma:
        high_part, low_part, rest_part = HALF_PI[x.dtype]
        rest = fma(k, -high_part, x)  # exact
        p = k * -low_part
        p_low = fma(k, -low_part, -p)
        r, low = two_sum(rest, p)
        return quadrant, *quick_two_sum(r, low + fma(k, -rest_part, p_low))
    rest = x - k * HALF_PI_SHORT[0]  # exact, like the products below
    a, a_low = two_sum(rest, k * -HALF_PI_SHORT[1])
    b, b_low = two_sum(a, k * -HALF_PI_SHORT[2])
    return quadrant, *quick_two_sum(b, (a_low + b_low) - k * HALF_PI_SHORT[3])


def _sin_cos_pairs(r: Pair) -> tuple[Pair, Pair]:
    """sin r and cos r as unnormalised pairs."""
    x, low = r
    z, z_low = two_product(x, x)
    cubic = z * x
    half = 0.5 * z
    one_less = 1 - half
    sin_low = fma(cubic, polynomial(z, SIN[x.dtype]), fma(-half, low, low))
    cos_low = fma(z * z, polynomial(z, COS[x.dtype]), ((1 - one_less) - half) - fma(x, low, 0.5 * z_low))
    return (x, sin_low), (one_less, cos_low)


def _with_sign(y: Value, bit: Value) -> Value:
    """y, negated where bit 1 of the integer is set."""
    form = format_of(y)
    to_sign = {"f8": 62, "f4": 30}[y.dtype]
    return (y.bits(form.integer) ^ ((bit & 2) << to_sign)).bits(y.dtype)


def sin(x: Value) -> Value:
    quadrant, r = _reduced(x)
    s, c = _sin_cos_pairs(r)
    is_cosine = (quadrant & 1).ne(0)
    y = _with_sign(select(is_cosine, c[0] + c[1], s[0] + s[1]), quadrant)
    return select(x.eq(0), x, y)


def cos(x: Value) -> Value:
    quadrant, r = _reduced(x)
    s, c = _sin_cos_pairs(r)
    is_cosine = (quadrant & 1).eq(0)
    return _with_sign(select(is_cosine, c[0] + c[1], s[0] + s[1]), quadrant + 1)


def tan(x: Value) -> Value:
    """s/c, or −c/s in every second quadrant."""
    if x.dtype == "f4" and not x.f.target.has_fma:  # the angle comes from a double in any case
        return tan(x.to("f8")).to("f4")
    quadrant, r = _reduced(x)
    s, c = _sin_cos_pairs(r)
    s, c = quick_two_sum(*s), quick_two_sum(*c)
    is_swapped = (quadrant & 1).ne(0)
    above = select(is_swapped, c[0], s[0]), select(is_swapped, c[1], s[1])
    below = select(is_swapped, -s[0], c[0]), select(is_swapped, -s[1], c[1])
    return select(absolute(x) < 2.0**-27, x, corrected_quotient(above, below))


@in_double
def cosm1(x: Value) -> Value:
    """cos x − 1 = −2 sin² x/2. Within 1.5 units."""
    quadrant, r = _reduced(0.5 * x)
    s, c = _sin_cos_pairs(r)
    is_cosine = (quadrant & 1).ne(0)
    high, low = quick_two_sum(select(is_cosine, c[0], s[0]), select(is_cosine, c[1], s[1]))
    p, e = two_product(high, high)
    y = -2 * (p + fma(2 * high, low, e))
    return select(absolute(x) < 2.0**-27, (-0.5 * x) * x, y) + 0.0  # not −0


# ----------------------------------------------------------------------------------------------- inverse functions


def _arctan_of_quotient(a: Value, b: Value) -> Pair:
    """The angle of (b, a) in the first quadrant, a, b ≥ 0, as an unnormalised pair: nothing over- or underflows.

    Where tan π/8 < a/b < tan 3π/8 it is π/4 + arctan((a − b)/(a + b)), above that π/2 − arctan(b/a).
    """
    is_low = a <= 0.41421356237309503 * b
    is_high = b < 0.41421356237309503 * a
    zero = a.like(0.0)
    above, above_low = two_sum(a, -b)
    below, below_low = two_sum(a, b)
    above = select(is_low, a, select(is_high, -b, above))
    below = select(is_low, b, select(is_high, a, below))
    is_middle = ~(is_low | is_high)
    t, t_low = quotient((above, select(is_middle, above_low, 0)), (below, select(is_middle, below_low, 0)))
    quarter, quarter_low = QUARTER_PI[a.dtype]
    base = select(is_low, zero, select(is_high, 2 * quarter, a.like(quarter)))
    base_low = select(is_low, zero, select(is_high, 2 * quarter_low, a.like(quarter_low)))
    z = t * t
    tail = fma(z * t, polynomial(z, ARCTAN[t.dtype]), fma(-z, t_low, t_low) + base_low)
    high, low = quick_two_sum(base, t)
    return high, low + tail


def arctan(x: Value) -> Value:
    a = absolute(x)
    bounded = select(a > 2.0**60, 2.0**60, a)
    high, low = _arctan_of_quotient(bounded, x.like(1.0))
    return copysign(select(a < 2.0**-28, a, high + low), x)


def _arctan2_short(y: Value, x: Value) -> Value:
    a, b = absolute(y), absolute(x)
    is_infinite = a.eq(INF) | b.eq(INF)
    a, b = [select(is_infinite, select(v.eq(INF), v.like(1), 0), v) for v in (a, b)]
    b = select(a.eq(0) & b.eq(0), 1, b)
    is_low, is_high = a <= 0.41421356237309503 * b, b < 0.41421356237309503 * a
    above = select(is_low, a, select(is_high, -b, a - b))
    below = select(is_low, b, select(is_high, a, a + b))
    t = above / below
    z = t * t
    base = select(is_low, 0, select(is_high, t.like(math.pi / 2), math.pi / 4))
    angle = base + fma(z * t, polynomial(z, ARCTAN["f4"]), t)
    angle = copysign(select(x.bits("i8") < 0, math.pi - angle, angle), y)
    return select(x.compare("un", y), NAN, angle)


@single(_arctan2_short)
def arctan2(y: Value, x: Value) -> Value:
    """The angle of the point (x, y) in (−π, π], in the first quadrant and then mirrored."""
    a, b = absolute(y), absolute(x)
    largest = select(a > b, a, b)
    is_huge, is_tiny = largest > 2.0**1000, largest < 2.0**-900
    factor = select(is_huge, 2.0**-100, select(is_tiny, 2.0**100, x.like(1.0)))
    is_infinite = largest.eq(INF)
    a, b = [select(is_infinite, select(v.eq(INF), v.like(1), 0), v * factor) for v in (a, b)]
    is_origin = a.eq(0) & b.eq(0)
    divisor = select(is_origin, 1, b)
    tiny_quotient = a < b * 2.0**-60
    high, low = _arctan_of_quotient(a, divisor)
    high, low = select(tiny_quotient, a / divisor, high), select(tiny_quotient, 0, low)
    is_left = x.bits("i8") < 0
    high, low = quick_two_sum(high, low)
    mirrored, rest = quick_two_sum(x.like(math.pi), -high)
    mirrored = mirrored + (rest + (2 * HALF_PI["f8"][1] - low))
    angle = copysign(select(is_left, mirrored, high + low), y)
    return select(x.compare("un", y), NAN, angle)


def _arcsin_small(s: Value, low: Value) -> Pair:
    """arcsin(s + low), 0 ≤ s ≤ ½, as an unnormalised pair."""
    z = s * s
    return s, fma(z * s, polynomial(z, ARCSIN[s.dtype]), fma(0.5 * z, low, low))


def _arcsin_parts(x: Value) -> tuple[Value, Pair]:
    """The mask of |x| > ½, and arcsin of √((1 − |x|)/2) where it holds, of |x| elsewhere."""
    a = absolute(x)
    is_large = a > 0.5
    z = (1 - a) * 0.5  # exact for a ≥ ½
    z = select(is_large, z, 0.25)
    root = sqrt(z)
    p, e = two_product(root, root)
    root_low = ((z - p) - e) / (2 * select(z.eq(0), 1, root))
    return is_large, _arcsin_small(select(is_large, root, a), select(is_large, root_low, 0))


def arcsin(x: Value) -> Value:
    is_large, (high, low) = _arcsin_parts(x)
    top, rest = quick_two_sum(x.like(HALF_PI[x.dtype][0]), -2 * high)
    large = top + (rest + (HALF_PI[x.dtype][1] - 2 * low))
    y = select(is_large, large, high + low)
    return select(absolute(x) <= 1, copysign(y, x), NAN)


def arccos(x: Value) -> Value:
    """2 arcsin √((1 − x)/2) near 1, its mirror image near −1, π/2 − arcsin x between."""
    is_large, (high, low) = _arcsin_parts(x)
    is_left = x < 0
    signed_high, signed_low = select(is_left, -high, high), select(is_left, -low, low)
    top, rest = quick_two_sum(x.like(HALF_PI[x.dtype][0]), -signed_high)
    middle = top + (rest + (HALF_PI[x.dtype][1] - signed_low))
    top, rest = quick_two_sum(x.like(2 * HALF_PI[x.dtype][0]), -2 * high)
    left = top + (rest + (2 * HALF_PI[x.dtype][1] - 2 * low))
    y = select(is_large, select(is_left, left, 2 * (high + low)), middle)
    return select(absolute(x) <= 1, y, NAN)
