"""Powers and roots: functions made of log and exp as pairs, and the lengths of vectors."""

from __future__ import annotations

from wengert.codegen.ir import Value, absolute, copysign, fma, select, sqrt
from wengert.codegen.vecmath.arithmetic import INF, NAN, format_of, trunc
from wengert.codegen.vecmath.doubled import corrected_quotient, polynomial, quick_two_sum, two_product
from wengert.codegen.vecmath.exponentials import (
    clamp,
    exp_rounded,
    exp_short,
    expm1_parts,
    in_double,
    log_long,
    log_short,
    nearest,
    power_of_two,
    scale,
    single,
    split_exponent,
)


def _power_short(x: Value, y: Value) -> Value:
    a = absolute(x)
    p = y * select(a.eq(0), -INF, log_short(select(a.eq(0), 1, a)))
    return _with_powers_signs(exp_short(clamp(p, -200.0, 200.0)), x, y)


@single(_power_short)
def power(x: Value, y: Value) -> Value:
    """exp(y log |x|) and the sign: NaN for a negative x unless y is an integer."""
    a = absolute(x)
    high, low = log_long(a)
    high = select(a.eq(0), -INF, select(a < INF, high, a))
    low = select(a.eq(0) | ~(a < INF), 0, low)
    p, p_low = two_product(y, high)
    p_low = fma(y, low, p_low)
    inside = absolute(p) < 2000
    result = scale(*exp_rounded(clamp(p, -1400.0, 1400.0), select(inside, p_low, 0)))
    return _with_powers_signs(result, x, y)


def _with_powers_signs(result: Value, x: Value, y: Value) -> Value:
    """xʸ from |x|ʸ, or from anything where that is not defined."""
    a = absolute(x)
    is_integer = trunc(y).eq(y)
    half = 0.5 * y
    is_odd = is_integer & trunc(half).ne(half)
    is_negative = x.bits(format_of(x).integer) < 0
    result = select(a.eq(1) & is_integer, 1, result)  # also 1^∞, (−1)^∞
    result = select((x < 0) & ~is_integer & (a < INF), NAN, result)
    result = select(is_odd & is_negative, -result, result)
    return select(y.eq(0) | x.eq(1), 1, result)


# z⁻¹ᐟ³ on [√½, √2], relative error 2^-14.7
CBRT = [1.8745206621376893, -1.8618261351015772, 1.5612821957908467, -0.7023612866188313, 0.12836111066697764]


@single(lambda x: _cbrt(x, is_short=True))
def cbrt(x: Value) -> Value:
    return _cbrt(x)


def _cbrt(x: Value, is_short: bool = False) -> Value:
    """y = a z² with z = a⁻¹ᐟ³, which needs no division, then, if not short, one Newton step from the exact a − y³."""
    a = absolute(x)
    is_ordinary = (a > 0) & (a < INF)
    e, m = split_exponent(select(is_ordinary, a, 1), may_be_subnormal=not is_short)
    third = nearest(e * (1 / 3))
    rest = e - 3 * third  # −1, 0 or 1
    z = polynomial(m, CBRT)
    z = z * select(rest > 0, 0.7937005259840998, select(rest < 0, 1.2599210498948732, x.like(1.0)))
    m = m * power_of_two(rest)
    h = 1 - m * z * z * z
    z = fma(z * h, polynomial(h, [1 / 3, 2 / 9, 14 / 81]), z)
    square = z * z
    y = m * square
    if not is_short:
        p, p_low = two_product(y, y)
        q, q_low = two_product(p, y)
        residual = (m - q) - fma(p_low, y, q_low)
        y = fma(residual * (1 / 3), square, y)
    return select(is_ordinary, copysign(scale(y, third), x), x)


def _hypot_short(x: Value, y: Value) -> Value:
    a, b = absolute(x), absolute(y)
    return select(a.eq(INF) | b.eq(INF), INF, sqrt(fma(a, a, b * b)))


@single(_hypot_short)
def hypot(x: Value, y: Value) -> Value:
    """√(a² + b²), of the sum of the squares as a pair; scaled by a power of two where squares leave the range."""
    a, b = absolute(x), absolute(y)
    large, small = select(a > b, a, b), select(a > b, b, a)
    is_huge, is_tiny = large > 2.0**500, large < 2.0**-400
    down = select(is_huge, 2.0**-600, select(is_tiny, 2.0**600, x.like(1.0)))
    up = select(is_huge, 2.0**600, select(is_tiny, 2.0**-600, x.like(1.0)))
    large, small = large * down, small * down
    small = select(small < large * 2.0**-60, 0, small)  # its square might underflow, and is not seen
    p, p_low = two_product(large, large)
    q, q_low = two_product(small, small)
    s, rest = quick_two_sum(p, q)
    rest = rest + (p_low + q_low)
    is_usual = (s > 0) & (s < INF)
    root = sqrt(select(is_usual, s, 1))
    t, t_low = two_product(root, root)
    root = root + ((s - t) - t_low + rest) / (2 * root)
    length = select(is_usual, root, s) * up
    length = select(x.compare("un", y), NAN, length)
    return select(a.eq(INF) | b.eq(INF), INF, length)


# ------------------------------------------------------------------------------------------------------ (eˣ − 1)/x


@in_double
def exprel(x: Value) -> Value:
    """(eˣ − 1)/x as a quotient of pairs, and 1 at 0."""
    bounded = clamp(x, -38.0, 1000.0)
    p, k = expm1_parts(bounded)
    is_small = absolute(x) < 2.0**-60
    y = scale(corrected_quotient(quick_two_sum(*p), (select(is_small, 1, x), x.like(0.0))), k)
    y = select(is_small, 1, y)
    return select(x > 720, INF, select(x.eq(-INF), 0, y))


# ------------------------------------------------------------------------------------------------- robust losses


def huber(delta: Value, r: Value) -> Value:
    """½ r² where |r| ≤ δ, else δ (|r| − ½ δ), as SciPy computes it; ∞ for δ < 0."""
    a = absolute(r)
    y = select(a <= delta, 0.5 * r * r, delta * (a - 0.5 * delta))
    return select(delta < 0, INF, y)


@in_double
def pseudo_huber(delta: Value, r: Value) -> Value:
    """δ (h − δ) with h = √(δ² + r²) and h − δ = r²/(h + δ), which does not cancel. Within 3 units for "f8"."""
    a = absolute(r)
    h = hypot(delta, r)
    y = select(delta > a, a * (a / (h / delta + 1)), (delta * a) * (a / (h + delta)))
    y = select(a.eq(INF) & (delta < INF), a, y)
    return select(delta < 0, INF, select(delta.eq(0) | r.eq(0), 0, y))
