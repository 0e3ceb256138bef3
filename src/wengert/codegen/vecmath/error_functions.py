"""The error function and its kin, within 1.25 units in the last place; "f4" by way of "f8".

erfc(a) = exp(−a²) erfcx(a) for a ≥ 0, and erfcx(a) (½ + a) is a smooth function on the whole half line: one polynomial
in t = (a − 3)/(a + 3). The square, the exponential and the products are pairs, so that the only rounding that counts is
the last. Polynomials: tools/minimax.py.
"""

from __future__ import annotations

from wengert.codegen.ir import Value, absolute, copysign, fma, select
from wengert.codegen.vecmath.arithmetic import INF
from wengert.codegen.vecmath.doubled import (
    Pair,
    multiply,
    polynomial,
    quick_two_sum,
    quotient,
    two_product,
    two_sum,
)
from wengert.codegen.vecmath.exponentials import exp, exp_pair, in_double, log_pair, scale, single

# erfcx(a) (1 + 2 a) in t on [−1, 1], relative error 2^-56.0; the first coefficient is two, high and low
ERFCX = [
    1.2530080582697296, 3.9417931361876104e-17, -0.13562110612458123, -0.04756229435344919, 0.12964515870276666,
    -0.1192736634153869, 0.06830802734378867, -0.023770514917158255, 0.002529391818822428, 0.0018886903448421667,
    -0.0007798322944527084, -0.00010515971853715469, 0.00012509946407469026, 4.949192381238392e-06,
    -2.01009321892428e-05, -7.308169737108739e-07, 3.473211719024812e-06, 3.557416983811387e-07,
    -6.178296446638611e-07, -1.4045510459519994e-07, 1.0303601287365335e-07, 4.1048959470172983e-08,
    -1.4062960219725396e-08, -8.211569906806832e-09, 1.2576130911675392e-09, 8.383250889483902e-10,
    -4.321309090246259e-11,
]  # fmt: skip
# the same, relative error 2^-36.6, interpolated at Chebyshev points: for "f4", without pairs
ERFCX_SHORT = [
    1.253008058267798, -0.13562110611486228, -0.04756229410491439, 0.1296451574568955, -0.11927366876525311,
    0.06830805369625792, -0.02377047004140903, 0.0025291780231242456, 0.00188849969977678, -0.00077897239386715,
    -0.00010469816230340712, 0.00012319209511701956, 4.274592761532858e-06, -1.7686927890281368e-05,
    -1.1793980547736282e-07, 1.7677211872069165e-06,
]  # fmt: skip
# (erf(√z)/√z − 2/√π)/z on z < 0.26, relative error of erf 2^-61.4; the first one is two again
ERF = [
    -0.3761263890318375, -2.302182229144138e-17, 0.11283791670954832, -0.02686617064497588, 0.005223977621402895,
    -0.0008548326428664337, 0.00012055280003845034, -1.4922736589510071e-05, 1.6365132742840864e-06,
    -1.4563366804598275e-07,
]  # fmt: skip
TWO_OVER_ROOT_PI = (1.1283791670955126, 1.533545961316588e-17)
ROOT_HALF = (0.7071067811865476, -4.833646656726457e-17)


def _erfcx_pair(a: Value, low: Value | None = None) -> Pair:
    """erfcx(a + low), a ≥ 0."""
    bounded = select(a > 1e100, 1e100, a)
    t = (bounded - 3) / (bounded + 3)
    g, g_low = quick_two_sum(a.like(0.5 * ERFCX[0]), polynomial(t, [0.5 * c for c in ERFCX[1:]]))
    d, d_low = two_sum(a, a.like(0.5))
    is_far = a.eq(INF)
    d_low = select(is_far, 0, d_low if low is None else d_low + low)
    q, q_low = quotient((g, g_low), (select(is_far, 1, d), d_low))
    return select(is_far, 0, q), q_low


def _gauss(square: Value, low: Value) -> tuple[Pair, Value]:
    """exp(−square − low) = pair · 2ᵏ."""
    is_far = square > 1000
    return exp_pair(-select(is_far, 1000, square), -select(is_far, 0, low))


def _erf_near(x: Value) -> Pair:
    """erf(x) for |x| ≤ ½ as an unnormalised pair: x times a series whose first two coefficients are pairs."""
    z = x * x
    factor, low = quick_two_sum(x.like(TWO_OVER_ROOT_PI[0]), z * (polynomial(z, ERF[1:]) + ERF[0]))
    p, p_low = two_product(x, factor)
    low = fma(x, low + TWO_OVER_ROOT_PI[1], p_low)
    return p, select(absolute(x) < 1e-290, 0, low)  # below that, products of halves are not exact


def _one_minus_erf(x: Value, low: Value | None = None) -> Pair:
    """1 − erf(x + low) for |x| ≤ ½."""
    high, rest = _erf_near(x)
    if low is not None:
        rest = fma(low, TWO_OVER_ROOT_PI[0], rest)
    top, e = quick_two_sum(x.like(1), -high)
    return quick_two_sum(top, e - rest)


def _erfc_pair(a: Value) -> tuple[Pair, Value]:
    """erfc(a) for a ≥ 0 as pair · 2ᵏ; by erf near 0, where t is near −1 and the polynomial loses bits."""
    a = select(a > 40, 40, a)
    is_near = a <= 0.5
    near, near_low = _one_minus_erf(select(is_near, a, 0))
    e, k = _gauss(*two_product(a, a))
    far, far_low = multiply(e, _erfcx_pair(a))
    return (select(is_near, near, far), select(is_near, near_low, far_low)), select(is_near, 0, k)


def _erfc_short(a: Value) -> Value:
    """erfc(a), a ≥ 0, of a double that is to be rounded to "f4"."""
    a = select(a > 40, 40, a)
    return exp(-(a * a)) * polynomial((a - 3) / (a + 3), ERFCX_SHORT) / fma(a, 2, 1)


def _erf_short(x: Value) -> Value:
    a, z = absolute(x), x * x
    near = x * fma(z, polynomial(z, ERF[2:]) * z + ERF[0], TWO_OVER_ROOT_PI[0])
    return select(a <= 0.5, near, copysign(1 - _erfc_short(a), x))


def _erfc_of_any_short(x: Value) -> Value:
    tail = _erfc_short(absolute(x))
    return select(x < 0, 2 - tail, tail)


def _ndtr_short(x: Value) -> Value:
    tail = 0.5 * _erfc_short(absolute(x) * ROOT_HALF[0])
    return select(x > 0, 1 - tail, tail)


@single(_erf_short)
def erf(x: Value) -> Value:
    a = absolute(x)
    high, low = _erf_near(select(a > 0.5, 0.5, a))
    e, k = _gauss(*two_product(*[select(a > 40, 40, a)] * 2))
    h, h_low = multiply(e, _erfcx_pair(a))
    top, rest = quick_two_sum(x.like(1), -scale(h, k))
    return copysign(select(a <= 0.5, high + low, top + (rest - scale(h_low, k))), x)


@single(_erfc_of_any_short)
def erfc(x: Value) -> Value:
    (h, h_low), k = _erfc_pair(absolute(x))
    top, rest = two_sum(x.like(2), -scale(h, k))
    return select(x < 0, top + (rest - scale(h_low, k)), scale(h + h_low, k))


@in_double
def erfcx(x: Value) -> Value:
    """exp(x²) (1 − erf(x)) near 0; for x < 0 it is 2 exp(x²) − erfcx |x|."""
    a = absolute(x)
    is_near = a <= 0.5
    q, q_low = _erfcx_pair(a)
    bounded = select(a > 30, 30, a)
    square, square_low = two_product(bounded, bounded)
    (e, e_low), k = exp_pair(square, square_low)
    near, near_low = multiply((e, e_low), _one_minus_erf(select(is_near, x, 0)))
    twice = scale(2 * e, k)
    top, rest = quick_two_sum(twice, -q)
    left = select(twice < INF, top + (rest + (scale(2 * e_low, k) - q_low)), twice)
    return select(is_near, scale(near + near_low, k), select(x < 0, left, q + q_low))


def _half_erfc(x: Value) -> tuple[Pair, Value, Pair, Pair]:
    """Φ(−|x|) = pair · 2ᵏ; also erfcx(|x|/√2), for |x| > 0.7, and x²/2."""
    a = absolute(x)
    a = select(a > 1e150, 1e150, a)
    is_near = a <= 0.7
    y, y_low = two_product(a, a.like(ROOT_HALF[0]))
    y_low = fma(a, ROOT_HALF[1], y_low)
    y_low = select(a < 1e-290, 0, y_low)
    near, near_low = _one_minus_erf(select(is_near, y, 0), select(is_near, y_low, 0))
    p, p_low = two_product(a, a)
    square = 0.5 * p, 0.5 * p_low
    q = _erfcx_pair(y, y_low)
    e, k = _gauss(*square)
    far, far_low = multiply(e, q)
    h = select(is_near, near, far), select(is_near, near_low, far_low)
    return h, select(is_near, 0, k) - 1, q, square


@single(_ndtr_short)
def ndtr(x: Value) -> Value:
    (h, h_low), k, _, _ = _half_erfc(x)
    top, rest = quick_two_sum(x.like(1), -scale(h, k))
    y = select(x > 0, top + (rest - scale(h_low, k)), scale(h + h_low, k))
    return select(x.compare("un", x), x, y)


@in_double
def log_ndtr(x: Value) -> Value:
    """log(erfcx(|x|/√2)/2) − x²/2 on the left, log(1 − Φ(−x)) on the right, log Φ(x) in between."""
    (h, h_low), k, (q, q_low), (square, square_low) = _half_erfc(x)
    h, h_low = scale(h, k), scale(h_low, k)
    is_left, is_far = x < 0, x < -0.7
    top, rest = quick_two_sum(x.like(1), -h)
    u = select(is_far, 0.5 * q, select(is_left, h, top))
    u_low = select(is_far, 0.5 * q_low, select(is_left, h_low, rest - h_low))
    high, low = log_pair(u, u_low, may_be_subnormal=False)
    top, rest = two_sum(-select(is_far, square, 0), high)
    y = top + (rest + (low - select(is_far, square_low, 0)))
    y = select(x < -1e150, -(0.5 * x * x), -absolute(y))
    return select(x.compare("un", x), x, y)
