"""Exponentials and logarithms: exp, log and what is made of them, within one unit in the last place.

* exp(x) = 2ᵏ exp(r), r = x − k ln 2 in [−ln 2/2, ln 2/2], a pair: what r loses to rounding comes back in its low part.
  By a table of roots of two, which a register holds, k is a multiple of ⅛ ("f4", with AVX-512 alone: of 1/16), and its
  fraction numbers the root. |r| < 0.0434 then, the polynomial is half as long, and rounding errors of r and of it
  hardly count.
* log(x) = e ln 2 + log(1 + f), 1 + f in [√½, √2], by the odd series in s = f/(2 + f).
* Hyperbolic functions are sums of even and odd polynomials at r, their inverses logarithms of pairs.

Polynomials are minimax for their relative error (tools/minimax.py), which stands beside each table. Where the values of
"f4" have no formula of their own they are those of "f8", rounded.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.codegen.ir import Value, absolute, copysign, floor, fma, replace_where, select, sqrt
from wengert.codegen.vecmath import avx512, tables
from wengert.codegen.vecmath.arithmetic import INF, NAN, Format, format_of
from wengert.codegen.vecmath.doubled import (
    Pair,
    corrected_quotient,
    horner,
    polynomial,
    quick_two_sum,
    quotient,
    two_product,
    two_sum,
)

# (exp(r) − 1 − r)/r² on |r| < 0.3468; error of exp 2^-60.1, 2^-29.8
EXP = {
    "f8": [
        0.5, 0.16666666666666682, 0.04166666666666609, 0.008333333333316973, 0.0013888888889116492,
        0.00019841269896540966, 2.480158692556175e-05, 2.75572347015237e-06, 2.755758234823883e-07,
        2.5112093825155575e-08, 2.082657942330338e-09,
    ],
    "f4": [
        0.5, 0.1666666567325592, 0.04166629537940025, 0.008333497680723667, 0.0013944711536169052,
        0.00019790288934018463,
    ],
}  # fmt: skip
# the coefficients on |r| < 0.0434, 0.0217; error of exp 2^-58.3, 2^-29.2
EXP_NEAR = {
    "f8": [
        0.5000000000000298, 0.16666666666663707, 0.04166666656972607, 0.008333333371268577, 0.0013889782276361039,
        0.0001984056433506086,
    ],
    "f4": [0.5000162124633789, 0.166667178273201],
}  # fmt: skip
# 2^(j/8) and 2^(j/16), and their relative errors; the two halves of the latter's bits are the same number
ROOTS_OF_TWO = {
    "f8": [
        1.0, 1.0905077326652577, 1.189207115002721, 1.2968395546510096, 1.4142135623730951, 1.5422108254079407,
        1.681792830507429, 1.8340080864093424,
    ],
    "f4": [
        1.0, 1.0442737340927124, 1.0905077457427979, 1.1387885808944702, 1.1892070770263672, 1.2418577671051025,
        1.2968395948410034, 1.3542555570602417, 1.4142135381698608, 1.4768261909484863, 1.5422108173370361,
        1.610490322113037, 1.6817928552627563, 1.7562521696090698, 1.8340080976486206, 1.9152065515518188,
    ],
}  # fmt: skip
ROOTS_OF_TWO_LACK = {
    "f8": [
        0.0, -2.793911008809339e-17, 3.348462156016866e-17, 1.9572578726533768e-17, -6.835808599950681e-17,
        5.154831384862164e-17, 4.875159634459399e-17, 1.7901263607203692e-17,
    ],
    "f4": [
        0.0, 4.6285471455576044e-08, -1.199215748926008e-08, 4.7297824323777604e-08, 3.1934181521364735e-08,
        3.621057231839586e-08, -3.0990719324108795e-08, -7.475213337215791e-09, 1.7114270889351246e-08,
        -3.047683350132502e-08, 5.233334210430485e-09, 6.10759176566944e-09, -1.4719605090363075e-08,
        -5.258795177098818e-09, -6.128259677495862e-09, 5.140609271592211e-09,
    ],
}  # fmt: skip
# (cosh(√z) − 1)/z and (sinh(√z)/√z − 1)/z on z < 0.1203; errors 2^-64.5, 2^-59.6 and 2^-30.0, 2^-30.9
COSH = {
    "f8": [
        0.5, 0.04166666666666671, 0.0013888888888864113, 2.4801587363119153e-05, 2.7557242020486145e-07,
        2.092437419464127e-09,
    ],
    "f4": [0.5, 0.041666269302368164, 0.0013946082908660173],
}  # fmt: skip
SINH = {
    "f8": [
        0.16666666666666666, 0.008333333333333337, 0.00019841269841253142, 2.7557319265308035e-06,
        2.5052056690839234e-08, 1.6090850774727488e-10,
    ],
    "f4": [0.1666666716337204, 0.008333289064466953, 0.00019905022054444999],
}  # fmt: skip
# (log((1 + s)/(1 − s))/s − 2)/z with z = s² on s < 0.1716; error of log 2^-58.8, 2^-31.1
LOG = {
    "f8": [
        0.6666666666666734, 0.39999999999413965, 0.28571428742561966, 0.2222219855380251, 0.18183565406410881,
        0.15314021139090234, 0.14796260974577913,
    ],
    "f4": [0.6666666269302368, 0.4000033438205719, 0.28537294268608093, 0.2358243465423584],
}  # fmt: skip
# the series without its first term 2/3, divided by z once more; error 2^-66.3
LOG_LONG = [
    0.3999999999999998, 0.28571428571445123, 0.2222222221753358, 0.18181818870668898, 0.1538455684679095,
    0.1333631835221723, 0.1167479952173765, 0.11989171649629032,
]  # fmt: skip

# (tanh x − x)/x³ in powers of x², interpolated at Chebyshev's nodes up to 0.71, for "f4"; error of tanh 1.2e-10
TANH = [
    -0.33333333302716617, 0.13333327368855813, -0.053966340624248176, 0.02184622741885188,
    -0.008726363666478748, 0.0031658593283818174, -0.0007481202546676307,
]  # fmt: skip

# Constants as high + low; the high part has few bits, so that its product with an exponent is exact.
LN2 = {"f8": (0.6931471805582987, 1.6465949582897082e-12), "f4": (0.693145751953125, 1.428606765330187e-06)}
LOG10_2 = {"f8": (0.30102999566395283, 2.8363394551044964e-14), "f4": (0.301025390625, 4.605039066518657e-06)}
ONE_LN2 = {"f8": (1.4426950408889634, 2.0355273740931033e-17), "f4": (1.4426950216293335, 1.925963033500011e-08)}
ONE_LN10 = {"f8": (0.4342944819032518, 1.098319650216765e-17), "f4": (0.4342944920063019, -1.0103049952192578e-08)}
LN2_PAIR = (0.6931471805599453, 2.3190468138462996e-17)
LN10_PAIR = (2.302585092994046, -2.1707562233822494e-16)


def in_double(function: Callable[..., Value]) -> Callable[..., Value]:
    """The function, with "f4" operands by way of "f8": right but for the rounding at the end."""

    def widened(*xs: Value) -> Value:
        return function(*[x.to("f8") for x in xs]).to(xs[0].dtype)

    return widened


def single(short: Callable[..., Value]) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """The function, with "f4" operands by way of "f8" too, but as ``short`` computes it: 29 bits more than are wanted
    need no pairs."""

    def choose(function: Callable[..., Value]) -> Callable[..., Value]:
        narrow = in_double(short)
        return lambda *xs: narrow(*xs) if xs[0].dtype == "f4" else function(*xs)

    return choose


# ------------------------------------------------------------------------------------------- exponents, as floats


def nearest(x: Value) -> Value:
    """The nearest integer of |x| < 2^(fraction − 1): one addition and one subtraction on any processor."""
    magic = format_of(x).magic
    return (x + magic) - magic


def power_of_two(k: Value) -> Value:
    """2ᵏ for an integer k among the normal exponents, kept as a float."""
    form = format_of(k)
    return ((k + (form.magic + form.bias)).bits(form.integer) << form.fraction).bits(k.dtype)


def scale(y: Value, k: Value) -> Value:
    """y · 2ᵏ for integers |k| up to twice the range of exponents: in two steps, as 2ᵏ itself may not exist."""
    if avx512.is_there(y):
        return avx512.scale(y, k)
    half = nearest(k * 0.5)
    return y * power_of_two(half) * power_of_two(k - half)


def clamp(x: Value, least: float, largest: float) -> Value:
    """x between the bounds, NaN kept."""
    x = select(x < least, least, x)
    return select(x > largest, largest, x)


def split_exponent(x: Value, may_be_subnormal: bool = True) -> tuple[Value, Value]:
    """(e, m) with x = m · 2ᵉ and m in [√½, √2), for positive finite x; e as a float."""
    form: Format = format_of(x)
    offset: Value | float = -float(2**form.fraction + form.bias)
    if may_be_subnormal:
        is_small = x < form.tiny
        x = select(is_small, x * 2.0 ** (form.fraction + 2), x)
        offset = select(is_small, x.like(offset - (form.fraction + 2)), offset)
    sqrt_half = 0x3FE6A09E667F3BCD if x.dtype == "f8" else 0x3F3504F3
    one = form.bias << form.fraction
    i = x.bits(form.integer)
    shifted = i + (one - sqrt_half)
    exponent = shifted & -(1 << form.fraction)
    m = (i - exponent + one).bits(x.dtype)
    biased = shifted.bits("u" + form.integer[1]) >> form.fraction
    two_to_fraction = (form.bias + form.fraction) << form.fraction
    e = (biased | two_to_fraction).bits(x.dtype) + offset
    return e, m


# ---------------------------------------------------------------------------------------------------------- exp


def reduce_exp(x: Value, low: Value | None = None) -> tuple[Value, Pair]:
    """k and r = x + low − k ln 2 as a pair, |r| ≤ ln 2/2, for |x| ≤ 1400 ("f4": 150) and |low| ≤ ulp(x)."""
    high_ln2, low_ln2 = LN2[x.dtype]
    k = nearest(x * ONE_LN2["f8"][0])
    rest = fma(k, -high_ln2, x)  # exact
    r = fma(k, -low_ln2, rest)
    r_low = fma(k, -low_ln2, rest - r)
    return k, (r, r_low) if low is None else quick_two_sum(*_merged(r, low, r_low))


def _merged(r: Value, low: Value, r_low: Value) -> Pair:
    s, e = two_sum(r, low)
    return s, e + r_low


def polynomial_of_reduced(r: Pair) -> Value:
    """exp(r) − 1 − r."""
    return fma(r[0] * r[0], polynomial(r[0], EXP[r[0].dtype]), r[1])


def by_table(shifted: Value, r: Value) -> tuple[Value, Value]:
    """y and e with exp(r + j ln 2/8) = y (1 + e) ("f4": j ln 2/16); j: the last bits of ``shifted``."""
    number = shifted.bits(format_of(r).integer)
    root, lack = [tables.look_up(number, table[r.dtype], r.dtype) for table in (ROOTS_OF_TWO, ROOTS_OF_TWO_LACK)]
    if avx512.is_there(r):
        r = avx512.at_most_one(r)  # r may be anything if the operand is out of bounds: the exponent decides there
    return root, r + fma(r * r, horner(r, EXP_NEAR[r.dtype]), lack)


def fraction_magic(x: Value) -> float:
    """``x + fraction_magic`` rounds x to a multiple of a fraction and keeps the fraction's number in the low bits."""
    return format_of(x).magic / len(ROOTS_OF_TWO[x.dtype])


def reduce_by_table(x: Value, low: Value | None = None) -> tuple[Value, Value, Value]:
    """k rounded to a fraction, the same as it was ``shifted``, and r."""
    high_ln2, low_ln2 = LN2[x.dtype]
    shifted = fma(x, ONE_LN2["f8"][0], fraction_magic(x))
    k = shifted - fraction_magic(x)
    r = fma(k, -low_ln2, fma(k, -high_ln2, x))
    return k, shifted, r if low is None else r + low


def exp_rounded(x: Value, low: Value | None = None) -> tuple[Value, Value]:
    """y, k with exp(x + low) = y · 2^⌊k⌋, for |low| ≤ ulp(x) and, without AVX-512, |x| ≤ 1400 ("f4": 150)."""
    if tables.are_there(x):
        k, shifted, r = reduce_by_table(x, low)
        root, e = by_table(shifted, r)
        return fma(root, e, root), k if avx512.is_there(x) else floor(k)
    k, r = reduce_exp(x, low)
    return 1 + (r[0] + polynomial_of_reduced(r)), k


def exp_pair(x: Value, low: Value | None = None) -> tuple[Pair, Value]:
    """y as a pair with a relative error of 2^-57 ("f8"), and an integer k, with exp(x + low) = y · 2ᵏ."""
    if tables.are_there(x):
        k, shifted, r = reduce_by_table(x, low)
        root, e = by_table(shifted, r)
        return quick_two_sum(root, root * e), floor(k)
    k, r = reduce_exp(x, low)
    high, e = quick_two_sum(x.like(1), r[0])
    return quick_two_sum(high, e + polynomial_of_reduced(r)), k


EXP_BOUND = {"f8": 1000.0, "f4": 150.0}


def exp(x: Value) -> Value:
    if x.dtype == "f4" and not avx512.is_there(x):
        bound = EXP_BOUND["f4"]
        return scale(*exp_rounded(clamp(x, -bound, bound)))
    return scaled_root(x, (-746.0, 710.0), *reduce_by_table(x))


def scaled_root(x: Value, ends: tuple[float, float], k: Value, shifted: Value, r: Value) -> Value:
    """2^⌊k⌋ times what :func:`by_table` has; 0 or ∞ where x is beyond the ends.

    Without an instruction that scales it is added to the root's exponent, where the result is a normal number.
    """
    root, e = by_table(shifted, r)
    if avx512.is_there(x):
        return scale(fma(root, e, root), k)
    exponent = shifted.bits("i8") >> 3 << format_of(x).fraction
    high = (root.bits("i8") + exponent).bits("f8")

    def far() -> list[Value]:
        y = scale(fma(root, e, root), floor(k))
        return [select(x > ends[1], INF, select(x < ends[0], 0, y))]

    return replace_where(~(absolute(k) < 1021), [fma(high, e, high)], far)[0]


def exp_short(x: Value) -> Value:
    """exp of a double |x| ≤ 700, or NaN, with a relative error of 2^-29."""
    k, (r, _) = reduce_exp(x)
    return (1 + fma(r * r, polynomial(r, EXP["f4"]), r)) * power_of_two(k)


def exp2(x: Value) -> Value:
    """2ᵏ exp(r ln 2) with x = k + r exactly."""
    if tables.are_there(x):
        shifted = x + fraction_magic(x)
        k = shifted - fraction_magic(x)
        return scaled_root(x, (-1076.0, 1024.5), k, shifted, (x - k) * LN2_PAIR[0])
    x = clamp(x, -200.0, 200.0)
    k = nearest(x)
    rest = x - k
    r, e = two_product(rest, x.like(0.6931471824645996))
    return scale(1 + (r + polynomial_of_reduced((r, fma(rest, -1.9046542121259336e-09, e)))), k)


@in_double
def exp10(x: Value) -> Value:
    x = clamp(x, -400.0, 400.0)
    k = nearest(x * 3.321928094887362)
    rest = fma(k, -LOG10_2["f8"][0], x)
    t, t_low = two_sum(rest, k * -LOG10_2["f8"][1])
    r, e = two_product(t, x.like(LN10_PAIR[0]))
    r_low = e + fma(t, LN10_PAIR[1], t_low * LN10_PAIR[0])
    return scale(1 + (r + polynomial_of_reduced((r, r_low))), k)


def expm1_parts(x: Value) -> tuple[Pair, Value]:
    """(exp(x) − 1)/2ᵏ as an unnormalised pair, and k; −38 ≤ x."""
    k, r = reduce_exp(x)
    unit, unit_low = quick_two_sum(x.like(1), -power_of_two(-select(k > 100, 100, k)))
    s, e = quick_two_sum(unit, r[0])
    square, square_low = two_product(r[0], r[0])  # half of it is added exactly: for k = 1 it cancels a part of s
    s, e2 = two_sum(s, 0.5 * square)
    cubic = fma(square * r[0], polynomial(r[0], EXP[x.dtype][1:]), fma(square_low, 0.5, r[1]))
    return (s, (e + unit_low) + (e2 + cubic)), k


def expm1(x: Value) -> Value:
    bound, floor = (1000.0, -38.0) if x.dtype == "f8" else (150.0, -18.0)
    p, k = expm1_parts(clamp(x, floor, bound))
    y = scale(p[0] + p[1], k)
    return select(x.eq(0), x, y)


# --------------------------------------------------------------------------------------------------- hyperbolic


def _hyperbolic(x: Value, largest: float) -> tuple[Pair, Pair, Value]:
    """sinh and cosh of x ≥ 0 as unnormalised pairs divided by 2^(k−1), and k.

    With e^±r = C ± S: sinh = 2^(k−1) ((1 − w) C + (1 + w) S), cosh = 2^(k−1) ((1 + w) C + (1 − w) S), w = 4⁻ᵏ.
    """
    k, (r, r_low) = reduce_exp(select(x > largest, largest, x))
    half_range = 30.0 if x.dtype == "f8" else 15.0
    w = power_of_two(-2 * select(k > half_range, half_range, k))
    z = r * r
    c = z * polynomial(z, COSH[x.dtype])  # C − 1
    s = fma(z * r, polynomial(z, SINH[x.dtype]), r_low)  # S − r
    less, less_low = quick_two_sum(x.like(1), -w)
    more, more_low = quick_two_sum(x.like(1), w)
    return _linear(less, more, less_low, c, r, w * r, s), _linear(more, less, more_low, c, r, -w * r, s), k


def _linear(a: Value, b: Value, a_low: Value, c: Value, r: Value, wr: Value, s: Value) -> Pair:
    """a (1 + c) + b (r + s) + a_low with b r = r + wr, as an unnormalised pair: the greatest terms summed exactly."""
    br, br_low = quick_two_sum(r, wr)
    high, e = quick_two_sum(a, br)
    return high, (e + br_low + a_low) + fma(a, c, b * s)


def sinh(x: Value) -> Value:
    y, _, k = _hyperbolic(absolute(x), EXP_BOUND[x.dtype])
    return copysign(scale(y[0] + y[1], k - 1), x)


def cosh(x: Value) -> Value:
    _, y, k = _hyperbolic(absolute(x), EXP_BOUND[x.dtype])
    return scale(y[0] + y[1], k - 1)


def tanh(x: Value) -> Value:
    """sinh over cosh, both as pairs; of "f4" a polynomial below 0.7, and above it 1 − 2/(e²ˣ + 1).

    The latter at a fifth of the time: it is half of a dense layer's elementwise work. What the denominator d and the
    difference lose to rounding is put back, without which the result is up to 1.07 units off: 2/(d + δ) = q − δ q²/2.
    """
    if x.dtype == "f4":
        a = absolute(x)
        z = x * x
        near = fma(x * z, polynomial(z, TANH), x)
        (e, e_low), k = exp_pair(2 * clamp(a, 0.0, 10.0))
        unit = power_of_two(k)
        d, d_low = quick_two_sum(e * unit, x.like(1))
        q = 2 / d
        y, rest = quick_two_sum(x.like(1), -q)
        y = y + fma(0.5 * q * q, fma(e_low, unit, d_low), rest)
        return copysign(select(a >= 0.7, y, near), x)  # NaN is near
    s, c, _ = _hyperbolic(absolute(x), 22.0)
    return copysign(corrected_quotient(quick_two_sum(*s), quick_two_sum(*c)), x)


# ---------------------------------------------------------------------------------------------------- logarithm


def log_of_fraction(f: Value, low: Value | None = None) -> tuple[Value, Value]:
    """log(1 + f + low) − f for f in [√½ − 1, √2 − 1], and half f², which is the greatest part of it (with sign −)."""
    s = f / (2 + f)
    z = s * s
    half_square = 0.5 * f * f
    tail = s * (half_square + z * polynomial(z, LOG[f.dtype]))
    if low is not None:
        tail = fma(low, (1 - s) * (1 - s + z), tail)  # low/(1 + f), as 1/(1 + f) = (1 − s)/(1 + s)
    return tail, half_square


def log_pair(x: Value, low: Value | None = None, may_be_subnormal: bool = True, doubled: Value | None = None) -> Pair:
    """log(x + low) for x > 0 as an unnormalised pair, absolute error 2^-57 of log(1 + f) ("f8").

    Where ``doubled`` holds, log(2 x).
    """
    high_ln2, low_ln2 = LN2[x.dtype]
    e, m = split_exponent(x, may_be_subnormal)
    if low is not None:
        low = low * power_of_two(-clamp(e, -100, 100))  # beyond 100 it is no longer seen
    if doubled is not None:
        e = e + select(doubled, 1.0, e.like(0.0))
    f = m - 1
    tail, half_square = log_of_fraction(f, low)
    high, rest = quick_two_sum(e * high_ln2, f)
    return high, rest + (fma(e, low_ln2, tail) - half_square)


def at_borders(x: Value, y: Value) -> Value:
    """y, but for what a logarithm is at 0 (−∞), ∞ and NaN (x), and below 0 (NaN)."""
    y = select(x < INF, y, x)
    return select(x.eq(0), -INF, select(x < 0, NAN, y))


def log(x: Value) -> Value:
    high, low = log_pair(x)
    return at_borders(x, high + low)


def log_short(x: Value) -> Value:
    """log of a double x > 0, not subnormal, ∞ or NaN, with an absolute error of 2^-52 or so of log(1 + f)."""
    high, low = log_pair(x, may_be_subnormal=False)
    return select(x < INF, high + low, x)


def _log_in_base(x: Value, unit: tuple[float, float], base_2: tuple[float, float]) -> Value:
    """e · log_b 2 + log(1 + f) · log_b e."""
    e, m = split_exponent(x)
    f = m - 1
    tail, half_square = log_of_fraction(f)
    high, low = quick_two_sum(f, tail - half_square)
    p, p_low = two_product(high, x.like(unit[0]))
    p_low = p_low + fma(low, unit[0], high * unit[1])
    s, rest = quick_two_sum(e * base_2[0], p)
    return at_borders(x, s + (rest + fma(e, base_2[1], p_low)))


def log2(x: Value) -> Value:
    return _log_in_base(x, ONE_LN2[x.dtype], (1.0, 0.0))


def log10(x: Value) -> Value:
    return _log_in_base(x, ONE_LN10[x.dtype], LOG10_2[x.dtype])


def log1p(x: Value) -> Value:
    u, low = two_sum(x.like(1), x)
    high, rest = log_pair(u, low, may_be_subnormal=False)
    y = select(x < INF, high + rest, x)
    y = select(x.eq(-1), -INF, select(x < -1, NAN, y))
    return select(absolute(x) < format_of(x).tiny, x, y)


def log_long(x: Value, low: Value | None = None) -> Pair:
    """log(x + low) of x > 0 as a pair with a relative error of about 2^-65, for "f8"."""
    e, m = split_exponent(x, may_be_subnormal=low is None)
    f, f_low = m - 1, m.like(0.0)
    if low is not None:
        f, f_low = quick_two_sum(f, low * power_of_two(-clamp(e, -100, 100)))
    d, d_low = quick_two_sum(f.like(2), f)
    s, s_low = quotient((f, f_low), (d, d_low + f_low))
    z, z_low = two_product(s, s)
    z_low = fma(2 * s, s_low, z_low)
    # log(1 + f) = 2 s + s z (2/3 + z P(z)): the factor of s z as a pair
    tail = z * polynomial(z, LOG_LONG)
    c, c_low = quick_two_sum(f.like(0.6666666666666666), tail)
    c_low = c_low + 3.700743415417189e-17
    w, w_low = two_product(s, z)
    w_low = w_low + fma(s, z_low, s_low * z)
    p, p_low = two_product(w, c)
    p_low = p_low + fma(w, c_low, w_low * c)
    high, low = quick_two_sum(2 * s, p)
    low = low + fma(s_low, 2.0, p_low)
    total, rest = quick_two_sum(e * LN2["f8"][0], high)
    t, t_low = two_sum(rest, e * LN2["f8"][1])
    return quick_two_sum(total, t + (t_low + low))


# ---------------------------------------------------------------------------------- inverse hyperbolic functions


def _root(s: Value, s_low: Value) -> Pair:
    """√(s + s_low) as a pair, s > 0."""
    r = sqrt(s)
    p, e = two_product(r, r)
    return r, ((s - p) - e + s_low) / (2 * r)


def _arcsinh_short(x: Value) -> Value:
    a = absolute(x)
    y = log_short(a + sqrt(fma(a, a, 1)))
    return copysign(select(a < 2.0**-12, fma(a * a, a * (-1 / 6), a), y), x)


def _arccosh_short(x: Value) -> Value:
    b = select(x < 1, 1, x)
    return select(x < 1, NAN, log_short(b + sqrt(b * b - 1)))


def _arctanh_short(x: Value) -> Value:
    a = absolute(x)
    y = 0.5 * log_short((1 + a) / (1 - a))
    y = select(a < 2.0**-12, fma(a * a, a * (1 / 3), a), y)
    return copysign(select(a > 1, NAN, y), x)


@single(_arcsinh_short)
def arcsinh(x: Value) -> Value:
    """log(a + √(a² + 1)), a = |x|: as a pair it is exact enough where it is near 1."""
    a = absolute(x)
    is_large = a > 2.0**30  # the root is a
    b = select(is_large, 1, a)
    p, p_low = two_product(b, b)
    s, s_low = two_sum(p, p.like(1))
    r, r_low = _root(s, s_low + p_low)
    u, u_low = two_sum(r, b)
    high, low = log_pair(
        select(is_large, a, u), select(is_large, 0, u_low + r_low), may_be_subnormal=False, doubled=is_large
    )
    y = select(a < 2.0**-28, a, select(a < INF, high + low, a))
    return copysign(y, x)


@single(_arccosh_short)
def arccosh(x: Value) -> Value:
    """log(x + √(x² − 1))."""
    is_large = x > 2.0**30
    b = select(is_large, 2, x)
    p, p_low = two_product(b, b)
    s, s_low = two_sum(p, p.like(-1))
    s, s_low = quick_two_sum(s, s_low + p_low)
    is_one = x.eq(1)
    r, r_low = _root(select(is_one, 1, s), s_low)
    u, u_low = two_sum(b, r)
    high, low = log_pair(
        select(is_large, x, u), select(is_large, 0, u_low + r_low), may_be_subnormal=False, doubled=is_large
    )
    y = select(x < INF, high + low, x)
    return select(is_one, 0, select(x < 1, NAN, y))


@single(_arctanh_short)
def arctanh(x: Value) -> Value:
    """½ log(1 + 2 a/(1 − a)), a = |x|."""
    a = absolute(x)
    d, d_low = quick_two_sum(x.like(1), -a)
    q, q_low = quotient((2 * a, x.like(0.0)), (d, d_low))
    u, u_low = two_sum(x.like(1), q)
    high, low = log_pair(u, u_low + q_low, may_be_subnormal=False)
    y = select(a < 2.0**-28, a, 0.5 * (high + low))
    y = select(a.eq(1), INF, select(a > 1, NAN, y))
    return copysign(y, x)
