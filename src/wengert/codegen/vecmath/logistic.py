"""Logistic functions, sums of exponentials, entropies: small formulas over exp and log, as pairs where they cancel."""

from __future__ import annotations

from collections.abc import Callable

from wengert.codegen.ir import Value, absolute, fma, select
from wengert.codegen.vecmath.arithmetic import INF, NAN
from wengert.codegen.vecmath.doubled import (
    Pair,
    corrected_quotient,
    polynomial,
    quick_two_sum,
    quotient,
    two_product,
    two_sum,
)
from wengert.codegen.vecmath.exponentials import (
    LN2,
    LN2_PAIR,
    ONE_LN2,
    exp,
    exp_pair,
    in_double,
    log,
    log1p,
    log_pair,
    power_of_two,
    scale,
    single,
    split_exponent,
)


def expit(x: Value) -> Value:
    """1/(1 + e⁻ˣ) = E/(1 + E) with E = exp(−|x|), or 1/(1 + E) for x ≥ 0; scaled last, so that it may be subnormal."""
    bound = 1000.0 if x.dtype == "f8" else 150.0
    is_right = x >= 0
    size = absolute(x)
    (e, e_low), k = exp_pair(-select(size > bound, bound, size))
    least = -100.0 if x.dtype == "f8" else -60.0
    unit = power_of_two(select(k < least, least, k))
    d, d_low = quick_two_sum(x.like(1), e * unit)
    above: Pair = select(is_right, 1, e), select(is_right, 0, e_low)
    q = corrected_quotient(above, (d, fma(e_low, unit, d_low)))
    return scale(q, select(is_right, 0, k))


def _log1p_exp(x: Value, low: Value) -> Pair:
    """log(1 + exp(x + low)) for x ≤ 0, as an unnormalised pair."""
    (e, e_low), k = exp_pair(select(x < -1000, -1000, x), select(x < -1000, 0, low))
    e, e_low = scale(e, k), scale(e_low, k)
    u, u_low = two_sum(x.like(1), e)
    return log_pair(u, u_low + e_low, may_be_subnormal=False)


# 2 artanh(√z)/√z on 0 ≤ z ≤ 1/9, relative error 2^-38.5, interpolated at Chebyshev points
ARTANH_SHORT = [
    2.0000000000048663, 0.666666662378809, 0.40000061425592925, 0.28568145593177613, 0.22305130190628114,
    0.17122514574445596, 0.21860633878545085,
]  # fmt: skip


def _log_expit_short(x: Value) -> Value:
    """``log_expit`` of a double that is to be rounded to "f4", by log(1 + e) = 2 artanh(e/(2 + e))."""
    e = exp(-absolute(x))
    s = e / (2 + e)
    return -(absolute(select(x < 0, x, 0)) + s * polynomial(s * s, ARTANH_SHORT))


@single(_log_expit_short)
def log_expit(x: Value) -> Value:
    """log(1/(1 + e⁻ˣ)) = min(x, 0) − log(1 + e^−|x|)."""
    high, low = _log1p_exp(-absolute(x), x.like(0.0))
    top, rest = two_sum(select(x < 0, x, 0), -high)
    y = top + (rest - low)
    return select(x.eq(-INF), x, -absolute(y))  # it may be −0


@in_double
def logaddexp(x: Value, y: Value) -> Value:
    """max + log(1 + e^−|x − y|): within a unit of the greater of max and the result, like NumPy where they cancel."""
    largest = select(x > y, x, y)
    d, d_low = two_sum(x, -y)
    is_infinite = absolute(d).eq(INF)
    d_low = select(is_infinite, 0, select(d > 0, -d_low, d_low))
    high, low = _log1p_exp(-absolute(d), d_low)
    top, rest = two_sum(largest, high)
    total = top + (rest + low)
    total = select(is_infinite | absolute(largest).eq(INF), largest + 0.0, total)
    return select(x.compare("un", y), NAN, total)


@in_double
def logaddexp2(x: Value, y: Value) -> Value:
    """log₂(2ˣ + 2ʸ), as ``logaddexp`` but to base 2."""
    largest = select(x > y, x, y)
    d, d_low = two_sum(x, -y)
    is_equal = d.eq(0)
    d, d_low = select(d > 0, -d, d), select(d > 0, -d_low, d_low)
    is_infinite = d.eq(-INF) | absolute(largest).eq(INF)
    d, d_low = select(d < -2000, -2000, d), select(d < -2000, 0, d_low)
    p, p_low = two_product(d, x.like(LN2_PAIR[0]))
    high, low = _log1p_exp(p, p_low + fma(d, LN2_PAIR[1], d_low * LN2_PAIR[0]))
    high, low = quick_two_sum(high, low)
    q, q_low = two_product(high, x.like(ONE_LN2["f8"][0]))
    top, rest = two_sum(largest, q)
    total = top + (rest + (q_low + fma(low, ONE_LN2["f8"][0], high * ONE_LN2["f8"][1])))
    total = select(is_infinite, largest + 0.0, select(is_equal, largest + 1, total))
    return select(x.compare("un", y), NAN, total)


def _times_log(x: Value, y: Value, logarithm: Callable[[Value], Value]) -> Value:
    """x · logarithm(y), and 0 where x = 0 and y is not NaN. Within 1.5 units for "f8": two roundings."""
    return select(x.eq(0) & y.eq(y), 0, x * logarithm(y))


@in_double
def xlogy(x: Value, y: Value) -> Value:
    return _times_log(x, y, log)


@in_double
def xlog1py(x: Value, y: Value) -> Value:
    return _times_log(x, y, log1p)


@in_double
def entr(x: Value) -> Value:
    """−x log x; −∞ below 0. Within 1.5 units for "f8"."""
    return select(x.eq(0), 0, select(x < 0, -INF, -x * log(x)))


@in_double
def logit(x: Value) -> Value:
    """log of the pair x/(1 − x), which is exact enough where it is near 1."""
    is_inside = (x > 0) & (x < 1)
    a = select(is_inside, x, 0.5)
    d, d_low = quick_two_sum(x.like(1), -a)
    q, q_low = quotient((a, x.like(0.0)), (d, d_low))
    high, low = log_pair(q, q_low)
    return select(is_inside, high + low, select(x.eq(0), -INF, select(x.eq(1), INF, x.like(NAN))))


def _log_ratio(x: Value, y: Value) -> Pair:
    """log(x/y) of positive finite x, y, as an unnormalised pair: of the pair x/y, scaled so that nothing overflows."""
    ex, mx = split_exponent(x)
    ey, my = split_exponent(y)
    q, q_low = quotient((mx, x.like(0.0)), (my, x.like(0.0)))
    high, low = log_pair(q, q_low, may_be_subnormal=False)
    e = ex - ey
    high_ln2, low_ln2 = LN2["f8"]
    top, rest = two_sum(e * high_ln2, high)
    return quick_two_sum(top, rest + fma(e, low_ln2, low))


@in_double
def rel_entr(x: Value, y: Value) -> Value:
    """x log(x/y); 0 at x = 0 ≤ y, ∞ where it is not defined."""
    high, low = _log_ratio(*_positive(x, y))
    p, p_low = two_product(high, _inside(x))
    value = select(absolute(p).eq(INF), p, p + fma(low, _inside(x), p_low))
    return _entropy(x, y, value, x * log(x / y), x.like(0.0))


@in_double
def kl_div(x: Value, y: Value) -> Value:
    """x log(x/y) − x + y; absolute error within a unit of the greatest term, as in SciPy: it cancels near x = y."""
    high, low = _log_ratio(*_positive(x, y))
    p, p_low = two_product(high, _inside(x))
    p_low = fma(low, _inside(x), p_low)
    d, d_low = two_sum(y, -x)
    total, rest = two_sum(p, d)
    total = select(absolute(total) < INF, total + (rest + (p_low + d_low)), total)
    return _entropy(x, y, total, x * log(x / y) - x + y, y)


def _inside(x: Value) -> Value:
    return select(x > 0, select(x < INF, x, 1), 1)


def _positive(x: Value, y: Value) -> tuple[Value, Value]:
    return _inside(x), _inside(y)


def _entropy(x: Value, y: Value, value: Value, at_infinity: Value, at_zero: Value) -> Value:
    """The value inside of x, y > 0, and the limit of the function at the border."""
    value = select((x < INF) & (y < INF), value, at_infinity)
    value = select((x > 0) & (y > 0), value, select(x.eq(0) & (y >= 0), at_zero, INF))
    return select(x.compare("un", y), NAN, value)
