"""The usual functions of scipy.special: one entry each, like :mod:`wengert.ops.elementwise`. Most have machine code.

Partials are chosen for their relative error in the tails as well as in the middle: where
the textbook formula subtracts numbers that are nearly equal, another one takes over, and its function says
which.

Formulas without a source are in the NIST Digital Library of Mathematical Functions (DLMF), dlmf.nist.gov.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from wengert.errors import MissingRuleError
from wengert.ops.elementwise import (
    LN10,
    absolute,
    cbrt,
    convert,
    cos,
    equal,
    exp,
    exp2,
    expm1,
    hypot,
    log,
    log1p,
    maximum,
    minimum,
    negative,
    power,
    rint,
    select,
    sign,
    sin,
    sqrt,
)
from wengert.ops.kernels import MapTape, flops
from wengert.ops.op import OPS, UFUNCS, broadcast_shapes, elementwise, not_implemented
from wengert.ops.special.declare import SQRT_2PI, SQRT_PI, either, series
from wengert.tape import Atom, Aval, Builder, Lit, Tape, Var, building

UFUNCS[sp.log1p] = log1p  # scipy.special has ufuncs of its own for some of NumPy's
UFUNCS[sp.expm1] = expm1
UFUNCS[sp.exp2] = exp2
UFUNCS[sp.cbrt] = cbrt


# -------------------------------------------------------------------------------------------- error functions


def far_bound(x: Atom) -> float:
    """The |x| from which on eight terms of an asymptotic series in x⁻² are better than a difference of numbers near
    1."""
    return 25.0 if x.aval.dtype.itemsize >= 8 else 6.0


def erfcx_partial(x: Atom, y: Atom) -> Any:
    """2 x y − 2/√π; for large x, where the two cancel, the derivative of the asymptotic series (DLMF 7.12.1):

    y ~ 1/√π Σ (−1)ᵏ (2k−1)!!/2ᵏ x⁻²ᵏ⁻¹.
    """
    is_far = x > far_bound(x)
    w = 1 / either(is_far, x, far_bound(x), like=x)
    c = [-(2 * k + 1) * (-0.5) ** k * math.prod(range(1, 2 * k, 2)) / SQRT_PI for k in range(8)]
    w2 = w * w
    return either(is_far, w2 * series(c, w2), 2 * x * y - 2 / SQRT_PI, like=x)


def dawsn_partial(x: Atom, y: Atom) -> Any:
    """1 − 2 x y; for large |x|, where 2 x y tends to 1, −Σ (2k−1)!!/2ᵏ x⁻²ᵏ, k ≥ 1 (DLMF 7.12.1, 7.5.1)."""
    is_far = absolute(x) > far_bound(x)
    w = 1 / either(is_far, x, far_bound(x), like=x)
    w2 = w * w
    c = [-(0.5**k) * math.prod(range(1, 2 * k, 2)) for k in range(1, 9)]
    return either(is_far, w2 * series(c, w2), 1 - 2 * x * y, like=x)


erf = elementwise(sp.erf, partials=[lambda x, y: 2 / SQRT_PI * exp(-(x * x))], cost=flops(20))
erfc = elementwise(sp.erfc, partials=[lambda x, y: -2 / SQRT_PI * exp(-(x * x))], cost=flops(20))
erfcx = elementwise(sp.erfcx, partials=[erfcx_partial], cost=flops(20))
erfinv = elementwise(sp.erfinv, partials=[lambda x, y: SQRT_PI / 2 * exp(y * y)], cost=flops(30))
erfcinv = elementwise(sp.erfcinv, partials=[lambda x, y: -SQRT_PI / 2 * exp(y * y)], cost=flops(30))
dawsn = elementwise(sp.dawsn, partials=[dawsn_partial], cost=flops(20))


def hazard(x: Atom, y: Atom) -> Any:
    """φ(x)/Φ(x) for y = log Φ(x): √(2/π) / erfcx(−x/√2) on the left, exp(−x²/2 − y)/√(2π) on the right.

    On the left the exponent of the second form would be a difference of two numbers of size x²/2.
    """
    is_right = x > 0
    left = math.sqrt(2 / math.pi) / erfcx(either(is_right, 0, x, like=x) * -math.sqrt(0.5))
    right = exp(either(is_right, -0.5 * x * x - y, 0, like=x)) / SQRT_2PI
    return either(is_right, right, left, like=x)


ndtr = elementwise(sp.ndtr, partials=[lambda x, y: exp(-0.5 * (x * x)) / SQRT_2PI], cost=flops(20))
log_ndtr = elementwise(sp.log_ndtr, partials=[hazard], cost=flops(30))
ndtri = elementwise(sp.ndtri, partials=[lambda x, y: SQRT_2PI * exp(0.5 * (y * y))], cost=flops(30))
ndtri_exp = elementwise(sp.ndtri_exp, partials=[lambda x, y: 1 / hazard(y, x)], cost=flops(30))

# --------------------------------------------------------------------------------------- logistic, logarithms

expit = elementwise(sp.expit, partials=[lambda x, y: y * expit(-x)], cost=flops(14))
logit = elementwise(sp.logit, partials=[lambda x, y: 1 / (x * (1 - x))], cost=flops(14))
log_expit = elementwise(sp.log_expit, partials=[lambda x, y: expit(-x)], cost=flops(20))


def xlogy_partial_y(x: Atom, y: Atom, z: Atom) -> Any:
    """x / y, and 0 where both are 0."""
    return x / either(equal(x, 0) & equal(y, 0), 1, y, like=y)


def xlog1py_partial_y(x: Atom, y: Atom, z: Atom) -> Any:
    """x / (1 + y), and 0 where both are 0."""
    return x / either(equal(x, 0) & equal(y, -1), 1, 1 + y, like=y)


xlogy = elementwise(sp.xlogy, partials=[lambda x, y, z: log(y), xlogy_partial_y], cost=flops(14))
xlog1py = elementwise(sp.xlog1py, partials=[lambda x, y, z: log1p(y), xlog1py_partial_y], cost=flops(16))


def log_ratio(x: Atom, y: Atom) -> Any:
    """log(x/y), exact to the last bits where x and y are close, without overflow, and 0 where both are 0."""
    is_near = absolute(x - y) < 0.5 * y
    is_done = is_near | (equal(x, 0) & equal(y, 0))
    near = log1p(either(is_near, (x - y) / either(is_near, y, 1, like=y), 0, like=y))
    far = log(either(is_done, 1, x, like=y)) - log(either(is_done, 1, y, like=y))
    return near + far  # one of the two is zero


entr = elementwise(sp.entr, partials=[lambda x, y: -log(x) - 1], cost=flops(14))
rel_entr = elementwise(
    sp.rel_entr,
    partials=[
        lambda x, y, z: either(equal(x, 0) & equal(y, 0), 0, log_ratio(x, y) + 1, like=y),
        lambda x, y, z: -xlogy_partial_y(x, y, z),
    ],
    cost=flops(16),
)


def kl_div_partial_y(x: Atom, y: Atom, z: Atom) -> Any:
    """1 − x/y without its rounding near 1."""
    return (y - x) / either(equal(x, 0) & equal(y, 0), 1, y, like=y) + either(equal(x, 0) & equal(y, 0), 1, 0, like=y)


kl_div = elementwise(sp.kl_div, partials=[lambda x, y, z: log_ratio(x, y), kl_div_partial_y], cost=flops(18))

# --------------------------------------------------------------------------------------- exponentials, powers

exp10 = elementwise(sp.exp10, partials=[lambda x, y: LN10 * y], saturates=True, cost=flops(12))
cosm1 = elementwise(sp.cosm1, partials=[lambda x, y: -sin(x)], cost=flops(20))


def exprel_partial(x: Atom, y: Atom) -> Any:
    """(eˣ − y)/x for x < 0, y (1 − 1/x) + 1/x for x > 0, where eˣ overflows before y does.

    Near 0, where both cancel, Σ (k+1)/(k+2)! xᵏ.
    """
    is_near = absolute(x) < 0.2
    small = either(is_near, x, 0, like=x)
    large = either(is_near, 1, x, like=x)
    near = series([(k + 1) / math.factorial(k + 2) for k in range(12)], small)
    below = (exp(minimum(large, 0)) - y) / large
    far = either(x > 0, y * (1 - 1 / large) + 1 / large, below, like=x)
    return either(is_near, near, far, like=x)


exprel = elementwise(sp.exprel, partials=[exprel_partial], cost=flops(16))


def _power_of_log(base: Atom, lam: Atom, y: Atom) -> Any:
    """∂/∂λ of (eᵘ − 1)/λ with u = λ L: L² exprel'(u), sound at λ = 0; where L = −∞ the limit 1/λ²."""
    at_zero = equal(base, -np.inf)
    base = either(at_zero, 0, base, like=lam)
    u = lam * base
    return either(at_zero, y * y, base * base * exprel_partial(u, exprel(u)), like=lam)


def _inverse_log(y: Atom, lam: Atom) -> Any:
    """log1p(λ y)/λ, near λ y = 0 as the series y Σ (−λ y)ᵏ/(k+1), which can be differentiated there."""
    u = lam * y
    is_near = absolute(u) < 0.03
    near = y * series([(-1) ** k / (k + 1) for k in range(12)], either(is_near, u, 0, like=u))
    return either(is_near, near, log1p(u) / either(is_near, 1, lam, like=lam), like=lam)


def inv_boxcox_partial_lam(y: Atom, lam: Atom, base: Atom, scale: Atom) -> Any:
    """∂x/∂λ = −x^(1−λ) ∂boxcox/∂λ, from the implicit equation boxcox(x, λ) = y; ``base`` is log x.

    x^(1−λ) is x / (1 + λ y): where λ is large x is near 1, and its power would be that of its rounding.
    """
    return -scale * _power_of_log(base, lam, y)


boxcox = elementwise(
    sp.boxcox,
    partials=[lambda x, lam, y: power(x, lam - 1), lambda x, lam, y: _power_of_log(log(x), lam, y)],
    cost=flops(40),
)
boxcox1p = elementwise(
    sp.boxcox1p,
    partials=[
        lambda x, lam, y: exp((lam - 1) * log1p(x)),
        lambda x, lam, y: _power_of_log(log1p(x), lam, y),
    ],
    cost=flops(40),
)
inv_boxcox = elementwise(
    sp.inv_boxcox,
    partials=[
        lambda y, lam, x: x / (1 + lam * y),
        lambda y, lam, x: inv_boxcox_partial_lam(y, lam, _inverse_log(y, lam), x / (1 + lam * y)),
    ],
    cost=flops(40),
)
inv_boxcox1p = elementwise(
    sp.inv_boxcox1p,
    partials=[
        lambda y, lam, x: (1 + x) / (1 + lam * y),
        lambda y, lam, x: inv_boxcox_partial_lam(y, lam, _inverse_log(y, lam), (1 + x) / (1 + lam * y)),
    ],
    cost=flops(40),
)

# ---------------------------------------------------------------------------------------------- robust losses


def pseudo_huber_partial_delta(delta: Atom, r: Atom, y: Atom) -> Any:
    """(h − δ)²/h with h = √(δ² + r²), and h − δ = r²/(h + δ), which does not cancel."""
    h = _nonzero(hypot(delta, r))
    gap = r * (r / (h + delta))
    return gap * (gap / h)


def _nonzero(h: Atom) -> Any:
    return either(equal(h, 0), 1, h, like=h)


huber = elementwise(  # at |r| = δ both pieces have the same derivatives
    sp.huber,
    partials=[
        lambda delta, r, y: maximum(absolute(r) - delta, 0),
        lambda delta, r, y: maximum(minimum(r, delta), negative(delta)),
    ],
    cost=flops(4),
)
pseudo_huber = elementwise(
    sp.pseudo_huber,
    partials=[
        pseudo_huber_partial_delta,
        lambda delta, r, y: delta * (r / _nonzero(hypot(delta, r))),
    ],
    cost=flops(10),
)

# -------------------------------------------------------------------------------------------- gamma functions

TERMS, BERNOULLI = 20, sp.bernoulli(30)[2::2]


def _zeta_by_s(s: np.ndarray[Any, Any], q: np.ndarray[Any, Any]) -> Any:
    """∂/∂s of Σ (k + q)⁻ˢ by the Euler-Maclaurin formula (DLMF 25.11.5), differentiated: to 1e-12 for s from −½ on.

    What follows the sum is nothing where its power underflows, as for any large s: its factors may overflow there.
    """
    dtype = np.result_type(s, q)
    s, q = np.broadcast_arrays(np.asarray(s, float), np.asarray(q, float))
    with np.errstate(all="ignore"):
        total = -sum([np.log(q + k) * (q + k) ** -s for k in range(TERMS)])
        a = q + TERMS
        log_a = np.log(a)
        rest = -(a ** (1 - s)) / (s - 1) * (log_a + 1 / (s - 1)) - 0.5 * log_a * a**-s
        product, slope = s, np.ones_like(s)  # s (s + 1) ... (s + 2 j − 2), and its derivative
        for j, number in enumerate(BERNOULLI, 1):
            rest = rest + number / math.factorial(2 * j) * a ** (1 - s - 2 * j) * (slope - log_a * product)
            for i in (2 * j - 1, 2 * j):
                product, slope = product * (s + i), slope * (s + i) + product
        total = total + np.where((a**-s == 0) & (s > 1), 0.0, rest)
    return np.asarray(np.where((q > 0) & (s >= -0.5), total, np.nan), dtype)[()]


def _riemann_partial(s: Atom, y: Atom) -> Any:
    """ζ'(s); left of −½ that of ζ(s) = 2 (2π)^(s−1) sin(πs/2) Γ(1 − s) ζ(1 − s) (DLMF 25.4.1)."""
    one = Lit(1, s.aval.dtype)
    is_left = s < -0.5
    t = 1 - either(is_left, s, -1, like=s)
    turns = s - 4 * rint(0.25 * s)  # of which no large multiple of π is taken
    factor = 2 * exp(gammaln(t) - math.log(2 * math.pi) * t)
    across = (math.log(2 * math.pi) - psi(t)) * riemann_zeta(t) - zeta_by_s(t, one)
    left = factor * (0.5 * math.pi * cos(0.5 * math.pi * turns) * riemann_zeta(t) + sin(0.5 * math.pi * turns) * across)
    return either(is_left, left, zeta_by_s(either(is_left, 2, s, like=s), one), like=s)


zeta_by_s = elementwise(
    _zeta_by_s,
    name="zeta_by_s",
    type=lambda s, q: zeta.type(s, q),
    partials=[
        not_implemented("the second derivative of zeta in s was not written"),
        lambda s, q, y: -zeta(s + 1, q) - s * zeta_by_s(s + 1, q),
    ],
    cost=flops(2000),
)
zeta = elementwise(  # of Hurwitz: Σ (k + q)⁻ˢ
    sp._ufuncs._zeta,
    name="zeta",
    partials=[lambda s, q, y: zeta_by_s(s, q), lambda s, q, y: -s * zeta(s + 1, q)],
    cost=flops(60),
)
riemann_zeta = elementwise(
    sp._ufuncs._riemann_zeta,
    name="riemann_zeta",
    partials=[_riemann_partial],
    cost=flops(60),
)
zetac = elementwise(sp.zetac, partials=[_riemann_partial], cost=flops(60))  # ζ(s) − 1
psi = elementwise(sp.psi, partials=[lambda x, y: zeta(Lit(2, x.aval.dtype), x)], cost=flops(40))
gammaln = elementwise(sp.gammaln, partials=[lambda x, y: psi(x)], cost=flops(40))
loggamma = elementwise(sp.loggamma, partials=[lambda x, y: psi(x)], cost=flops(40))
gamma = elementwise(sp.gamma, partials=[lambda x, y: y * psi(x)], cost=flops(40))
FAR = 30.0


def _psi_minus_log(z: Atom) -> Any:
    """ψ(z) − log z for z ≥ 30 (DLMF 5.11.2)."""
    w = 1 / (z * z)
    return -0.5 / z - w * series([1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132], w)


def psi_difference(a: Atom, b: Atom) -> Any:
    """ψ(a) − ψ(a + b), also where the two are close.

    Where both arguments are large, −log(1 + b/a) and a difference of small terms. For b that is small beside the
    distance of a from the poles, −b ψ'(a) − ½ b² ψ''(a) − ...: where b is tiny a beta function is 1/b.
    """
    is_far = (a > FAR) & (a + b > FAR)
    big, step = either(is_far, a, FAR, like=a), either(is_far, b, 1, like=a)
    far = _psi_minus_log(big) - _psi_minus_log(big + step) - log1p(step / big)
    distance = either(a > 0, a, absolute(a - rint(a)), like=a)
    is_close = absolute(b) < 1e-5 * distance
    at, moved = either(is_close, a, 1, like=a), either(is_close, b, 0, like=a)
    close = -moved * series([(-1) ** n * zeta(Lit(n + 2, a.aval.dtype), at) for n in range(3)], moved)
    return either(is_close, close, either(is_far, far, psi(a) - psi(a + b), like=a), like=a)


beta = elementwise(
    sp.beta,
    partials=[lambda a, b, y: y * psi_difference(a, b), lambda a, b, y: y * psi_difference(b, a)],
    cost=flops(120),
)
betaln = elementwise(
    sp.betaln,
    partials=[lambda a, b, y: psi_difference(a, b), lambda a, b, y: psi_difference(b, a)],
    cost=flops(120),
)


def _stirling(z: Atom) -> Any:
    """log Γ(z) − (z − ½) log z + z − ½ log 2π for z ≥ 30 (DLMF 5.11.1)."""
    w = 1 / (z * z)
    return series([1 / 12, -1 / 360, 1 / 1260, -1 / 1680], w) / z


def gamma_density(a: Atom, x: Atom) -> Any:
    """xᵃ⁻¹ e⁻ˣ / Γ(a).

    Near the peak of a large ``a`` the three logarithms are large and all but cancel: there the exponent is
    a (log(1 + r) − r) with r = (x − a)/a, by Stirling's series (Loader 2000, Fast and accurate computation of binomial
    probabilities).
    """
    gap = x - a
    is_near = (a > FAR) & (absolute(gap) < 0.5 * a)
    at, moved, peak = either(is_near, x, FAR, like=x), either(is_near, gap, 0, like=x), either(is_near, a, FAR, like=x)
    near = exp(peak * log1p(moved / peak) - moved - _stirling(peak)) * sqrt(peak) / (SQRT_2PI * at)
    return either(is_near, near, exp(xlogy(a - 1, x) - x - gammaln(a)), like=x)


def _log_beta(a: Atom, b: Atom) -> Any:
    """log B(a, b). Where one of the two is large SciPy's is a difference of larger numbers."""
    small, large = minimum(a, b), maximum(a, b)
    is_far = large > FAR
    top = either(is_far, large, FAR, like=a)
    ratio = (top - 0.5) * log1p(small / top) + small * log(top + small) - small
    far = gammaln(small) - ratio + _stirling(top) - _stirling(top + small)
    return either(is_far, far, betaln(a, b), like=a)


def beta_density(a: Atom, b: Atom, x: Atom) -> Any:
    """xᵃ⁻¹ (1 − x)ᵇ⁻¹ / B(a, b).

    Near the peak of a large ``a`` and ``b`` as :func:`gamma_density`: the exponent is a log(1 + e/a) + b log(1 − e/b)
    with e = (a + b) x − a.
    """
    gap = b * x - a * (1 - x)
    least = minimum(a, b)
    is_near = (least > FAR) & (absolute(gap) < 0.5 * least)
    c, d, moved = [either(is_near, v, w, like=x) for v, w in ((a, FAR), (b, FAR), (gap, 0))]
    at = either(is_near, x, 0.5, like=x)
    exponent = c * log1p(moved / c) + d * log1p(-moved / d) - _stirling(c) - _stirling(d) + _stirling(c + d)
    near = exp(exponent) * sqrt(c / (c + d) * d) / (SQRT_2PI * at * (1 - at))
    return either(is_near, near, exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - _log_beta(a, b)), like=x)


gammainc = elementwise(
    sp.gammainc,
    partials=[
        lambda a, x, y: OPS["gammainc_by_a"](a, x, order=1),  # distributions.py has it
        lambda a, x, y: gamma_density(a, x),
    ],
    cost=flops(100),
)
gammaincc = elementwise(
    sp.gammaincc,
    partials=[
        lambda a, x, y: -OPS["gammainc_by_a"](a, x, order=1),
        lambda a, x, y: -gamma_density(a, x),
    ],
    cost=flops(100),
)
betainc = elementwise(
    sp.betainc,
    partials=[
        lambda a, b, x, y: OPS["betainc_by_parameters"](a, b, x, m=1, n=0),
        lambda a, b, x, y: OPS["betainc_by_parameters"](a, b, x, m=0, n=1),
        lambda a, b, x, y: beta_density(a, b, x),
    ],
    cost=flops(150),
)
exp1 = elementwise(sp.exp1, partials=[lambda x, y: -exp(-x) / x], cost=flops(40))
expi = elementwise(sp.expi, partials=[lambda x, y: exp(x) / x], cost=flops(40))

# ------------------------------------------------------------------------------------------- Bessel functions
#
# In the order by quadrature: orders.py. In x (DLMF 10.6.1, 10.29.1) order 1 uses order 2 rather than y/x, which is 0/0
# at 0.


def in_order(kind: str, scale: Any = None) -> Any:
    """∂/∂v of J, Y, I or K, of a real argument; ``scale`` is the function over the one that orders.py integrates."""

    def rule(v: Atom, x: Atom, y: Atom) -> Any:
        if x.aval.dtype.kind == "c":
            raise MissingRuleError("a Bessel function of a complex argument has no rule for its order")
        slope = OPS["bessel_by_order"](v, x, kind=kind, order=1)
        return slope if scale is None else scale(x) * slope

    return rule


def _order(v: float, x: Atom) -> Lit:
    return Lit(v, x.aval.dtype)


jv = elementwise(
    sp.jv,
    partials=[in_order("j"), lambda v, x, y: 0.5 * (jv(v - 1, x) - jv(v + 1, x))],
    cost=flops(200),
)
yv = elementwise(
    sp.yv,
    partials=[in_order("y"), lambda v, x, y: 0.5 * (yv(v - 1, x) - yv(v + 1, x))],
    cost=flops(200),
)


def iv_partial(v: Atom, x: Atom, y: Atom) -> Any:
    """I_{v+1} + v I_v/x; for |x| < 1e-8, where SciPy has I_v = 0 though its slope is not, two terms of the series
    Σ (x/2)^(v+2k) / k! Γ(v + k + 1)."""
    if x.aval.dtype.kind == "c":
        return 0.5 * (iv(v - 1, x) + iv(v + 1, x))
    order = convert(v, dtype=x.aval.dtype)
    order = either((order < 0) & equal(order, rint(order)), -order, order, like=x)  # I₋ₙ = Iₙ
    is_near, is_zero = absolute(x) < 1e-8, equal(order, 0)
    half = 0.5 * either(is_near, x, 1, like=x)
    first = order * power(half, either(is_zero, 0, order - 1, like=x))
    second = power(half, order + 1) * ((order + 2) / (order + 1))
    near = 0.5 * OPS["rgamma"](order + 1) * (first + second)
    return either(is_near, near, iv(order + 1, x) + order * y / either(is_near, 1, x, like=x), like=x)


iv = elementwise(
    sp.iv,
    partials=[in_order("i", lambda x: exp(absolute(x))), iv_partial],
    cost=flops(200),
)
kv = elementwise(
    sp.kv,
    partials=[in_order("k", lambda x: exp(-x)), lambda v, x, y: -0.5 * (kv(v - 1, x) + kv(v + 1, x))],
    cost=flops(200),
)


def scaled_partial(kind: str, near: Any) -> Any:
    """The rule in x of e⁻ˡˣˡ I_v(x) or eˣ K_v(x): ``near``, and for x > v² and 50 that of the asymptotic series."""

    def rule(v: Atom, x: Atom, y: Atom) -> Any:
        order, size = convert(v, dtype=x.aval.dtype), absolute(x) if kind == "i" else x
        is_far = (absolute(x) > FAR_SCALED) & (v * v < absolute(x))
        order, size = either(is_far, order, 0, like=order), either(is_far, size, FAR_SCALED, like=size)
        tail = scaled_bessel_tail(order, size, kind)
        return either(is_far, sign(x) * sign(y) * tail if kind == "i" else tail, near(v, x, y), like=y)

    return rule


def of_real(rule: Callable[..., Any]) -> Any:
    """``rule``, of a function of a real argument: scaled by exp(−|Im z|) or the like, it has no complex derivative."""

    def real_rule(*xs_y: Atom) -> Any:
        if xs_y[-1].aval.dtype.kind == "c":
            raise MissingRuleError("for complex numbers it is scaled by a factor without a complex derivative")
        return rule(*xs_y)

    return real_rule


ive = elementwise(  # e⁻ˡˣˡ I_v(x)
    sp.ive,
    partials=[
        in_order("i"),
        of_real(
            scaled_partial("i", lambda v, x, y: 0.5 * (ive(v - 1, x) + ive(v + 1, x)) - sign(x) * y),
        ),
    ],
    cost=flops(200),
)
j0 = elementwise(sp.j0, partials=[lambda x, y: -j1(x)], cost=flops(40))
j1 = elementwise(sp.j1, partials=[lambda x, y: 0.5 * (j0(x) - jv(_order(2, x), x))], cost=flops(40))
y0 = elementwise(sp.y0, partials=[lambda x, y: -y1(x)], cost=flops(40))
y1 = elementwise(sp.y1, partials=[lambda x, y: y0(x) - y / x], cost=flops(40))
i0 = elementwise(sp.i0, partials=[lambda x, y: i1(x)], cost=flops(40))
i1 = elementwise(sp.i1, partials=[lambda x, y: 0.5 * (i0(x) + iv(_order(2, x), x))], cost=flops(40))
k0 = elementwise(sp.k0, partials=[lambda x, y: -k1(x)], cost=flops(40))
k1 = elementwise(sp.k1, partials=[lambda x, y: -k0(x) - y / x], cost=flops(40))


FAR_SCALED = 50.0


def scaled_bessel_tail(order: Any, size: Atom, kind: str) -> Any:
    """d/dx of e⁻ˣ I_v(x) or eˣ K_v(x) for x > 50 and v² < x: of the asymptotic series √(2πx)⁻¹ Σ (−1)ᵏ aₖ(v) x⁻ᵏ of I,
    √(π/2x) Σ aₖ(v) x⁻ᵏ of K (DLMF 10.40.1, 10.40.2). What they are made of in general, a function less its neighbour,
    is nothing but rounding where x is large."""
    four, sign = 4 * order * order, -1.0 if kind == "i" else 1.0
    a: Any = 1.0
    terms: list[Any] = []
    for k in range(14):
        terms.append(-(k + 0.5) * a)
        a = a * (four - (2 * k + 1) ** 2) * (sign / (8 * (k + 1)))
    scale = 1 / SQRT_2PI if kind == "i" else math.sqrt(math.pi / 2)
    return scale * series(terms, 1 / size) / (size * sqrt(size))


def with_tail(order: Any, kind: str, near: Any) -> Any:
    """The rule of e⁻ˡˣˡ I or eˣ K of a fixed order: ``near``, and where x is large that of the asymptotic series."""

    def rule(x: Atom, y: Atom) -> Any:
        size = absolute(x) if kind == "i" else x
        is_far = size > FAR_SCALED
        tail = scaled_bessel_tail(order, either(is_far, size, FAR_SCALED, like=x), kind)
        even = kind == "i" and order % 2 == 0
        return either(is_far, sign(x) * tail if even else tail, near(x, y), like=x)

    return rule


i0e = elementwise(sp.i0e, partials=[with_tail(0, "i", lambda x, y: i1e(x) - sign(x) * y)], cost=flops(40))
i1e = elementwise(
    sp.i1e,
    partials=[with_tail(1, "i", lambda x, y: 0.5 * (i0e(x) + ive(_order(2, x), x)) - sign(x) * y)],
    cost=flops(40),
)

# ---------------------------------------------------------------------------------- the exponential in logsumexp


@functools.cache
def exp_minus_body(dtype: np.dtype[Any]) -> Tape:
    """exp(x − m), and 1 where x = m, as the scalar tape that the kernel runs."""
    x, m = Var(Aval((), dtype)), Var(Aval((), dtype))
    with building(Builder()) as builder:
        y = exp(select(equal(x, m), Lit(0, dtype), x - m))
    return Tape((x, m), (), builder.instrs, (y,), name="exp_minus")


def _exp_minus_reference(x: np.ndarray[Any, Any], m: np.ndarray[Any, Any], *, body: Tape) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):  # ∞ − ∞, which is not chosen; −∞ is right
        return np.exp(np.where(np.equal(x, m), np.zeros((), x.dtype), x - m))


exp_minus = elementwise(  # exp(x − m), where ∞ − ∞ = 0; its derivative in x is the value, also there
    _exp_minus_reference,
    name="exp_minus",
    type=lambda x, m, *, body: Aval(broadcast_shapes("exp_minus", x, m), x.dtype),
    partials=[lambda x, m, y: y, lambda x, m, y: -y],
    saturates=True,
    kernel=MapTape(),
    cost=flops(14),
)
