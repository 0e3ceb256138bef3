"""Incomplete gamma and beta functions in their parameters, and the distribution functions that are made of them.

∂P/∂a of P(a, x) = ∫₀ˣ f(t) dt, f(t) = tᵃ⁻¹ e⁻ᵗ / Γ(a), is ∫₀ˣ f(t) (log t − ψ(a)) dt, and the integral over all t is 0
(DLMF 8.2.1). The integrand changes its sign once, so it has one sign either on the side below x or on the side above x:
it is integrated over that side, where nothing cancels, by the double exponential rules. The same holds for the beta
function, in log t and log(1 − t).
The error is that of rounding, some 1e-13 relative, for parameters between 1e-3 and 1e5 and values that do not underflow
(tests/ops/special/test_families.py, against mpmath).

Everything else follows from these: distribution functions F are made of them, and a function that solves F(θ) = p for
one of its arguments has the derivatives of the implicit function theorem.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from wengert.ops.elementwise import absolute, exp, exp2, floor, hypot, log, log1p, power, sqrt
from wengert.ops.kernels import CompiledLoop, Map, flops
from wengert.ops.op import NONE, ZERO, elementwise
from wengert.ops.special.declare import either, function, like, no_formula, normal_density, number, sum_or_nan
from wengert.ops.special.usual import (
    beta_density,
    betainc,
    betaln,
    exprel,
    exprel_partial,
    gamma_density,
    gammainc,
    ndtri,
    psi,
    zeta,
)
from wengert.tape import Atom

MOST_NATIVE = 3
"""The order of the derivatives up to which there is native code."""


def _own(name: str, variant: Callable[..., int | None]) -> Map:
    """The kernel of a function that the runtime has code for, in a variant for the parameters."""
    return Map(name, CompiledLoop(name, variant=variant))


# ------------------------------------------------------------------------------------------------------- quadrature

STEP = 0.05
FARTHEST = 1e306
"""The longest step. With parameters of 1e-300 the integrand is zero beyond it, and a longer step would be infinite."""


def _outward(
    f: Callable[[Any], Any], start: np.ndarray[Any, Any], way: np.ndarray[Any, Any], scale: np.ndarray[Any, Any]
) -> Any:
    """∫ f from ``start`` to infinity, upward or downward (``way`` 1 or −1), by the exp-sinh rule. f varies and falls
    off on the length ``scale``."""
    total: Any = 0.0
    for u in np.arange(-3.9, 3.3, STEP):
        step = np.minimum(scale * math.exp(math.pi / 2 * math.sinh(u)), FARTHEST)
        total = total + f(start + way * step) * step * (math.pi / 2 * math.cosh(u) * STEP)
    return total


def _between(f: Callable[[Any], Any], low: np.ndarray[Any, Any], high: np.ndarray[Any, Any]) -> Any:
    """∫ f from ``low`` to ``high`` by the tanh-sinh rule; 0 where they are equal."""
    total: Any = 0.0
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    for u in np.arange(-3.2, 3.2 + STEP / 2, STEP):
        inner = math.pi / 2 * math.sinh(u)
        weight = math.pi / 2 * math.cosh(u) / math.cosh(inner) ** 2 * STEP
        total = total + f(middle + half * math.tanh(inner)) * weight
    return total * half


def _side(
    f: Callable[[Any], Any],
    start: np.ndarray[Any, Any],
    way: np.ndarray[Any, Any],
    scale: np.ndarray[Any, Any],
    knee: np.ndarray[Any, Any],
    rate: np.ndarray[Any, Any],
) -> Any:
    """∫ f from ``start`` to infinity, for an f that varies slowly up to ``knee``, and then falls off at ``rate``."""
    wide = np.maximum(1.0, 1 / rate)
    scale = np.where(scale > 1, np.maximum(scale, wide), scale)
    is_bent = (scale > 1) & (way * (knee - start) > 0)
    corner = np.where(is_bent, knee, start)
    first = np.where(way > 0, _between(f, start, corner), _between(f, corner, start))
    return first + _outward(f, corner, way, np.where(is_bent, wide, scale))


def _scale(slope: np.ndarray[Any, Any], curvature: np.ndarray[Any, Any]) -> Any:
    """The length on which a log-concave function varies, from the slope and curvature of its logarithm."""
    return 1 / np.maximum(np.abs(slope), np.sqrt(curvature))


def _stirling(z: np.ndarray[Any, Any]) -> Any:
    """log Γ(z) − (z − ½) log z + z − ½ log 2π for z ≥ 30 (DLMF 5.11.1)."""
    w = 1 / (z * z)
    return (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w / 1680))) / z


def _psi_rest(z: np.ndarray[Any, Any]) -> Any:
    """ψ(z) − log z."""
    w = 1 / (z * z)
    far = -0.5 / z - w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w / 132))))
    return np.where(z > 30, far, sp.psi(z) - np.log(z))


def _psi_gap(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Any:
    """ψ(a) − ψ(a + b) of arrays, also where the two are close: :func:`~wengert.ops.special.usual.psi_difference`."""
    far = _psi_rest(a) - _psi_rest(a + b) - np.log1p(b / a)
    close = -b * (sp.zeta(2, a) - b * (sp.zeta(3, a) - b * sp.zeta(4, a)))
    return np.where(b < 1e-5 * a, close, np.where(a > 30, far, sp.psi(a) - sp.psi(a + b)))


def _log_ratio(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
    """log(x/y), without the rounding of a ratio near 1."""
    return np.where(np.abs(x - y) < 0.5 * y, np.log1p((x - y) / y), np.log(x) - np.log(y))


def _bell(kappa: Callable[[int, int], Any], m: int, n: int) -> Any:
    """∂ᵐ⁺ⁿf/∂aᵐ∂bⁿ / f, where κ_ij are the derivatives of log f (the complete Bell polynomials, by their recursion)."""
    if m == n == 0:
        return 1.0
    total: Any = 0.0
    p, q = (m - 1, n) if m else (m, n - 1)  # the orders left after one derivative, f κ, to which Leibniz's rule applies
    for i, j in itertools.product(range(p + 1), range(q + 1)):
        first = kappa(i + (m > 0), j + (m == 0))
        total = total + math.comb(p, i) * math.comb(q, j) * first * _bell(kappa, p - i, q - j)
    return total


def gammainc_slope(a: np.ndarray[Any, Any], x: np.ndarray[Any, Any], *, order: int) -> Any:
    """∂ⁿP(a, x)/∂aⁿ of the incomplete gamma function, n the ``order``, by quadrature.

    The variable is d = log(t/a). In it tᵃ e⁻ᵗ / Γ(a) is log-concave with its maximum at 0, and its logarithm is
    a (d − e^d + 1) plus a term of a alone: no two large numbers cancel."""
    dtype = np.result_type(a, x)
    a, x = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))
    with np.errstate(all="ignore"):
        rest = _psi_rest(a)
        higher = [sp.polygamma(j, a) for j in range(1, order)]
        top = np.where(a > 30, 0.5 * np.log(a / (2 * np.pi)) - _stirling(a), a * np.log(a) - a - sp.gammaln(a))
        end = _log_ratio(x, a)
        way = np.where(end < rest, -1.0, 1.0)

        def f(d: np.ndarray[Any, Any]) -> Any:
            factor = _bell(lambda i, _: d - rest if i == 1 else -higher[i - 2], order, 0)
            return np.exp(top + a * (d - np.expm1(d))) * factor

        value = -way * _side(f, end, way, _scale(a - x, x), -np.log(a), np.where(way > 0, 1.0, a))
        value = np.where(x == 0, 0.0, np.where((a > 0) & (x >= 0), value, np.nan))
        value = np.where((x == np.inf) & (a > 0), 0.0, value)
    return np.asarray(value, dtype)[()]


def betainc_slope(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], x: np.ndarray[Any, Any], *, m: int, n: int) -> Any:
    """∂ᵐ⁺ⁿI(a, b, x)/∂aᵐ∂bⁿ of the incomplete beta function, by quadrature.

    The variable is d = log(t/(1 − t)) − log(a/b). In it tᵃ (1 − t)ᵇ / B(a, b) is log-concave with its maximum at 0, and
    its logarithm is a d − (a + b) log(1 + p (e^d − 1)), p = a/(a + b), plus a term of a and b alone."""
    dtype = np.result_type(a, b, x)
    a, b, x = np.broadcast_arrays(*[np.asarray(v, float) for v in (a, b, x)])
    with np.errstate(all="ignore"):
        log_p, log_q, p = -np.log1p(b / a), -np.log1p(a / b), a / (a + b)
        are_large = np.minimum(a, b) > 30
        smooth = 0.5 * (np.log(a) + log_q - np.log(2 * np.pi)) - _stirling(a) - _stirling(b) + _stirling(a + b)
        small, large = np.minimum(a, b), np.maximum(a, b)
        one = (
            (large - 0.5) * np.log1p(small / large) + small * np.log(a + b) - small
        )  # SciPy's loses it where one is large
        log_beta = np.where(large > 30, sp.gammaln(small) - one + _stirling(large) - _stirling(a + b), sp.betaln(a, b))
        top = np.where(are_large, smooth, a * log_p + b * log_q - log_beta)
        both = _psi_rest(a + b)
        rests = [
            np.where(v > 30, both - _psi_rest(v), g - _psi_gap(v, w)) for v, w, g in ((a, b, log_p), (b, a, log_q))
        ]
        higher: dict[tuple[int, int], Any] = {}
        for i, j in itertools.product(range(m + 1), range(n + 1)):
            if i + j > 1:
                own = sp.polygamma(i - 1, a) if j == 0 else sp.polygamma(j - 1, b) if i == 0 else 0.0
                higher[i, j] = sp.polygamma(i + j - 1, a + b) - own

        def firsts(d: np.ndarray[Any, Any]) -> tuple[Any, Any, Any]:
            """The logarithm of 1 + p (e^d − 1), and log t and log (1 − t) less their means."""
            moved = np.where(np.abs(d) < 1, np.log1p(p * np.expm1(d)), np.logaddexp(log_q, log_p + d))
            return moved, d - moved + rests[0], rests[1] - moved

        def f(d: np.ndarray[Any, Any]) -> Any:
            moved, *first = firsts(d)
            factor = _bell(lambda i, j: first[j] if i + j == 1 else higher[i, j], m, n)
            return np.exp(top + a * d - (a + b) * moved) * factor

        end = _log_ratio(x * b, a * (1 - x))
        by_own = firsts(end)[1 if m else 2]
        way = np.where((by_own < 0) == (m > 0), -1.0, 1.0)
        peak = np.log(a) - np.log(b)
        knee = np.where(way > 0, -np.log(np.maximum(b, 1.0)), np.log(np.maximum(a, 1.0))) - peak
        slope = np.where(are_large, b * x - a * (1 - x), a - (a + b) * x)
        value = -way * _side(f, end, way, _scale(slope, (a + b) * x * (1 - x)), knee, np.where(way > 0, b, a))
        value = np.where((x == 0) | (x == 1), 0.0, value)
        value = np.where((a > 0) & (b > 0) & (x >= 0) & (x <= 1), value, np.nan)
    return np.asarray(value, dtype)[()]


def _polygamma(j: int, a: Atom) -> Any:
    return (-1) ** (j + 1) * math.factorial(j) * zeta(number(j + 1, a), a) if j else psi(a)


def _gamma_partials(order: int) -> list[Any]:
    def by_x(a: Atom, x: Atom, y: Atom) -> Any:
        log_x = log(x)
        kappa = lambda i, _: log_x - psi(a) if i == 1 else -_polygamma(i - 1, a)
        return gamma_density(a, x) * _bell(kappa, order, 0)

    return [lambda a, x, y: gammainc_by(a, x, order=order + 1), by_x]


gammainc_by = elementwise(  # ∂ⁿ/∂aⁿ of the lower incomplete gamma function, n = ``order``
    gammainc_slope,
    name="gammainc_by_a",
    type=lambda a, x, *, order: gammainc.type(a, x),
    partials=_gamma_partials,
    kernel=_own("gammainc_by_a", lambda *, order: order if order <= MOST_NATIVE else None),
    cost=flops(2000),
)


def _beta_partials(m: int, n: int) -> list[Any]:
    def by_x(a: Atom, b: Atom, x: Atom, y: Atom) -> Any:
        def kappa(i: int, j: int) -> Any:
            own = _polygamma(i - 1, a) if j == 0 else _polygamma(j - 1, b) if i == 0 else 0
            rest = _polygamma(i + j - 1, a + b) - own
            return rest + (log(x) if j == 0 else log1p(-x)) if i + j == 1 else rest

        return beta_density(a, b, x) * _bell(kappa, m, n)

    return [
        lambda a, b, x, y: betainc_by(a, b, x, m=m + 1, n=n),
        lambda a, b, x, y: betainc_by(a, b, x, m=m, n=n + 1),
        by_x,
    ]


betainc_by = elementwise(  # ∂ᵐ⁺ⁿ/∂aᵐ∂bⁿ of the incomplete beta function
    betainc_slope,
    name="betainc_by_parameters",
    type=lambda a, b, x, *, m, n: betainc.type(a, b, x),
    partials=_beta_partials,
    kernel=_own("betainc_by_parameters", lambda *, m, n: 4 * m + n if m + n <= MOST_NATIVE else None),
    cost=flops(2000),
)


def gammainc_by_a(a: Atom, x: Atom) -> Any:
    return gammainc_by(a, x, order=1)


def betainc_by_a(a: Atom, b: Atom, x: Atom) -> Any:
    return betainc_by(a, b, x, m=1, n=0)


def betainc_by_b(a: Atom, b: Atom, x: Atom) -> Any:
    return betainc_by(a, b, x, m=0, n=1)


# --------------------------------------------------------------------------------------------- distribution functions
#
# A family is the list of the derivatives of F in its arguments; an inverse says which argument it solves for.

Slopes = list[Callable[..., Any]]


def complement(ufunc: np.ufunc, slopes: Slopes) -> Any:
    """1 − F."""
    return function(ufunc, *[(lambda *xs, rule=rule: -rule(*xs[:-1])) if callable(rule) else rule for rule in slopes])


def plain(ufunc: np.ufunc, slopes: Slopes) -> Any:
    return function(ufunc, *[(lambda *xs, rule=rule: rule(*xs[:-1])) if callable(rule) else rule for rule in slopes])


def inverse(ufunc: np.ufunc, slopes: Slopes, solved: int, at: int, sign: float = 1) -> Any:
    """Declare the ufunc that solves F(θ) = p for argument number ``solved`` of F.

    Its arguments are p, as number ``at``, and the other arguments of F in their order. With ``sign`` −1 it solves
    1 − F = p."""

    def rule(k: int) -> Callable[..., Any]:
        def partial(*xs_y: Atom) -> Any:
            *xs, y = xs_y
            theta = [x for j, x in enumerate(xs) if j != at]
            theta.insert(solved, y)
            slope = slopes[solved](*theta)
            if k == at:
                return sign / slope
            j = k - (k > at)  # among the others; and among the arguments of F
            return -slopes[j + (j >= solved)](*theta) / slope

        return partial

    rules: list[Any] = []
    for k in range(ufunc.nin):
        j = k - (k > at)
        j += j >= solved
        rules.append(rule(k) if k == at or callable(slopes[j]) else slopes[j])
    return function(ufunc, *rules)


# P(a, x), I(a, b, x)
_gamma: Slopes = [lambda a, x: gammainc_by_a(a, x), lambda a, x: gamma_density(a, x)]
_beta: Slopes = [
    lambda a, b, x: betainc_by_a(a, b, x),
    lambda a, b, x: betainc_by_b(a, b, x),
    beta_density,
]
gammaincinv = inverse(sp.gammaincinv, _gamma, 1, 1)
gammainccinv = inverse(sp.gammainccinv, _gamma, 1, 1, -1)
betaincc = complement(sp.betaincc, _beta)
betaincinv = inverse(sp.betaincinv, _beta, 2, 2)
betainccinv = inverse(sp.betainccinv, _beta, 2, 2, -1)
btdtria = inverse(sp.btdtria, _beta, 0, 0)
btdtrib = inverse(sp.btdtrib, _beta, 1, 1)

# of χ²: P(v/2, x/2)
_chi: Slopes = [lambda v, x: 0.5 * gammainc_by_a(0.5 * v, 0.5 * x), lambda v, x: 0.5 * gamma_density(0.5 * v, 0.5 * x)]
chdtr = plain(sp.chdtr, _chi)
chdtrc = complement(sp.chdtrc, _chi)
chdtri = inverse(sp.chdtri, _chi, 1, 1, -1)
chdtriv = inverse(sp.chdtriv, _chi, 0, 0)

# of the gamma distribution with rate a and shape b: P(b, a x)
_rate: Slopes = [
    lambda a, b, x: x * gamma_density(b, a * x),
    lambda a, b, x: gammainc_by_a(b, a * x),
    lambda a, b, x: a * gamma_density(b, a * x),
]
gdtr = plain(sp.gdtr, _rate)
gdtrc = complement(sp.gdtrc, _rate)
gdtria = inverse(sp.gdtria, _rate, 0, 0)
gdtrib = inverse(sp.gdtrib, _rate, 1, 1)
gdtrix = inverse(sp.gdtrix, _rate, 2, 2)

# of Poisson's, k + 1 or more: P(k + 1, m). SciPy takes the floor of k but in what solves for it
_poisson: Slopes = [
    lambda k, m: -gammainc_by_a(k + 1, m),
    lambda k, m: -gamma_density(k + 1, m),
]
_floored_poisson: list[Any] = [ZERO, lambda k, m: -gamma_density(floor(k) + 1, m)]
pdtr = plain(sp.pdtr, _floored_poisson)
pdtrc = complement(sp.pdtrc, _floored_poisson)
pdtri = function(sp.pdtri, NONE, lambda k, p, m: -1 / gamma_density(like(k, m) + 1, m))
pdtrik = inverse(sp.pdtrik, _poisson, 0, 0)

# of the binomial distribution, up to k of n: 1 − I(k + 1, n − k, p); in 1 − p a small p would be lost
_binomial: Slopes = [
    lambda k, n, p: betainc_by_b(k + 1, n - k, p) - betainc_by_a(k + 1, n - k, p),
    lambda k, n, p: -betainc_by_b(k + 1, n - k, p),
    lambda k, n, p: -beta_density(k + 1, n - k, p),
]


def _binomial_by_p(k: Atom, n: Atom, p: Atom) -> Any:
    """The partial in p at the floor of k; 0 where k ≥ n, so that all outcomes are counted."""
    whole, most = floor(k), like(n, p)
    is_all = whole >= most
    return either(is_all, 0, -beta_density(whole + 1, either(is_all, 1, most - whole, like=p), p), like=p)


_floored_binomial: list[Any] = [ZERO, NONE, _binomial_by_p]
bdtr = plain(sp.bdtr, _floored_binomial)
bdtrc = complement(sp.bdtrc, _floored_binomial)
bdtri = function(sp.bdtri, ZERO, NONE, lambda k, n, y, p: 1 / _binomial_by_p(k, n, p))
bdtrik = inverse(sp.bdtrik, _binomial, 0, 0)
bdtrin = inverse(sp.bdtrin, _binomial, 1, 1)

# of the negative binomial distribution, up to k failures before n successes: I(n, k + 1, p)
_waiting: Slopes = [
    lambda k, n, p: betainc_by_b(n, k + 1, p),
    lambda k, n, p: betainc_by_a(n, k + 1, p),
    lambda k, n, p: beta_density(n, k + 1, p),
]


def _waiting_by_p(k: Atom, n: Atom, p: Atom) -> Any:
    return beta_density(like(n, p), like(k, p) + 1, p)


nbdtr = plain(sp.nbdtr, [NONE, NONE, _waiting_by_p])  # type: ignore[list-item]  # SciPy's k and n are integers
nbdtrc = complement(sp.nbdtrc, [NONE, NONE, _waiting_by_p])  # type: ignore[list-item]
nbdtri = function(sp.nbdtri, NONE, NONE, lambda k, n, y, p: 1 / _waiting_by_p(k, n, p))
nbdtrik = inverse(sp.nbdtrik, _waiting, 0, 0)
nbdtrin = inverse(sp.nbdtrin, _waiting, 1, 1)


# of Student's t: ½ I(v/2, ½, v/(v + t²)) for t < 0, and 1 less it for t > 0
def student_density(v: Atom, t: Atom) -> Any:
    """(1 + t²/v)^−(v+1)/2 / √v B(v/2, ½)."""
    ratio = absolute(t) / sqrt(v)
    is_large = ratio > 1
    large = either(is_large, ratio, 1, like=ratio)
    inside = either(is_large, 0, ratio, like=ratio)
    logarithm = log1p(inside * inside) + 2 * log(hypot(1, large)) * either(is_large, 1, 0, like=ratio)
    return exp(-0.5 * (v + 1) * logarithm - betaln(0.5 * v, number(0.5, v))) / sqrt(v)


def _student_kappa(v: np.ndarray[Any, Any], ratio: np.ndarray[Any, Any], n: int) -> Any:
    """∂ⁿ/∂vⁿ of the logarithm of the density, for ``ratio`` = t²/v. For n = 1 it is a sum of terms of order v⁻²."""
    if n > 1:
        gap = sp.polygamma(n - 1, 0.5 * (v + 1)) - sp.polygamma(n - 1, 0.5 * v)
        sign, factorial = (-1) ** n, math.factorial(n - 1)
        inner = (v + 1) * (1 - (1 + ratio) ** -n) / v**n * factorial
        outer = n * (1 - (1 + ratio) ** (1 - n)) / v ** (n - 1) * math.factorial(n - 2)
        return (
            gap / 2**n + 0.5 * sign * factorial / v**n - 0.5 * sign * inner + 0.5 * sign * outer
            if n > 2
            else (gap / 4 + 0.5 / v**2 - 0.5 * inner + ratio / (v * (1 + ratio)))
        )
    far = 0.5 / v**2 - 0.25 / v**4 + 0.5 / v**6  # ψ((v + 1)/2) − ψ(v/2) − 1/v
    level = np.where(v > 200, far, -_psi_gap(0.5 * v, 0.5 + 0 * v) - 1 / v)
    share = ratio / (1 + ratio)
    close = -sum([share**k / k for k in range(2, 14)])  # log(1 − s) + s of s = r/(1 + r)
    bend = np.where(share < 0.05, close, share - np.log1p(ratio))
    return 0.5 * (level + bend + share / v)


def _student_by_v(v: np.ndarray[Any, Any], t: np.ndarray[Any, Any], *, order: int) -> Any:
    """∂ⁿF/∂vⁿ, n the ``order``: the integral of the density's derivative, in log |t|.

    It is taken beyond |t|, or from 0 to |t|, whichever side has one sign; from −∞ to 0 the integral is 0. Made of the
    derivatives of the beta function it would be a difference of terms of order 1/v, while it is of order 1/v²."""
    dtype = np.result_type(v, t)
    v, t = np.broadcast_arrays(np.asarray(v, float), np.asarray(t, float))
    with np.errstate(all="ignore"):
        level = -0.5 * np.log(v) - sp.betaln(0.5 * v, 0.5)
        end = np.log(np.abs(t))
        middle = 0.5 * np.log(v)

        def parts(s: np.ndarray[Any, Any]) -> tuple[Any, Any]:
            logarithm = np.logaddexp(0.0, 2 * (s - middle))
            return logarithm, np.exp(np.minimum(2 * (s - middle), 700.0))

        def f(s: np.ndarray[Any, Any]) -> Any:
            logarithm, ratio = parts(s)
            factor = _bell(lambda i, _: _student_kappa(v, ratio, i), order, 0)
            return np.exp(level + s - 0.5 * (v + 1) * logarithm) * factor

        ratio = parts(end)[1]
        way = np.where(_student_kappa(v, ratio, 1) < 0, 1.0, -1.0)
        share = ratio / (1 + ratio)
        value = way * _side(
            f,
            end,
            way,
            _scale(1 - (v + 1) * share, 2 * (v + 1) * share * (1 - share)),
            middle,
            np.where(way > 0, v, 1.0),
        )
        value = np.where(t == 0, 0.0, -np.sign(t) * value)
        value = np.where(v > 0, np.where(np.isinf(t), 0.0, value), np.nan)
    return np.asarray(value, dtype)[()]


def _student_partials(order: int) -> list[Any]:
    def by_t(v: Atom, t: Atom, y: Atom) -> Any:
        square = t * t

        def kappa(n: int, _: int) -> Any:
            both = _polygamma(n - 1, 0.5 * (v + 1)) - _polygamma(n - 1, 0.5 * v)
            powers = lambda k: (-1.0) ** (k - 1) * math.factorial(k - 1) * (power(v + square, -k) - power(v, -k))
            moved = 0.5 * (v + 1) * powers(n) + 0.5 * n * (powers(n - 1) if n > 1 else log1p(square / v))
            return both * 0.5**n + 0.5 * (-1.0) ** n * math.factorial(n - 1) * power(v, -n) - moved

        return student_density(v, t) * _bell(kappa, order, 0)

    return [lambda v, t, y: student_by_v(v, t, order=order + 1), by_t]


student_by_v = elementwise(  # ∂ⁿ/∂vⁿ of Student's distribution, n = ``order``
    _student_by_v,
    name="student_by_v",
    type=lambda v, t, *, order: stdtr.type(v, t),
    partials=_student_partials,
    kernel=_own("student_by_v", lambda *, order: order if order <= MOST_NATIVE else None),
    cost=flops(2000),
)

student_slopes: Slopes = [lambda v, t: student_by_v(v, t, order=1), student_density]
stdtr = plain(sp.stdtr, student_slopes)
stdtridf = inverse(sp.stdtridf, student_slopes, 0, 0)
stdtrit = inverse(sp.stdtrit, student_slopes, 1, 1)


# of Fisher's F: I(m/2, n/2, w), w = m x / (n + m x)
def _fisher(weights: Callable[..., tuple[Any, Any, Any]]) -> Callable[..., Any]:
    def slope(m: Atom, n: Atom, x: Atom) -> Any:
        is_upper = m * x > n  # w is near 1: then 1 − I(n/2, m/2, 1 − w)
        a, b = either(is_upper, 0.5 * n, 0.5 * m, like=x), either(is_upper, 0.5 * m, 0.5 * n, like=x)
        w = either(is_upper, n, m * x, like=x) / (n + m * x)
        by_m, by_n, by_w = weights(m, n, x)
        moved = by_w * beta_density(a, b, w)
        if by_m is None and by_n is None:
            return moved
        first = betainc_by_b(a, b, w) if by_m is None else betainc_by_a(a, b, w)
        second = -betainc_by_a(a, b, w) if by_m is None else -betainc_by_b(a, b, w)
        is_odd = (m > 1e3) | (n > 1e3) | (m < 1e-4) | (n < 1e-4)  # where the two terms may all but cancel
        return sum_or_nan(0.5 * either(is_upper, second, first, like=x), moved, is_odd)

    return slope


ratio_slopes: Slopes = [
    _fisher(lambda m, n, x: (0.5, None, n * x / (n + m * x) ** 2)),
    _fisher(lambda m, n, x: (None, 0.5, -m * x / (n + m * x) ** 2)),
    _fisher(lambda m, n, x: (None, None, m * n / (n + m * x) ** 2)),
]
fdtr = plain(sp.fdtr, ratio_slopes)
fdtrc = complement(sp.fdtrc, ratio_slopes)
fdtri = inverse(sp.fdtri, ratio_slopes, 2, 2)
fdtridfd = inverse(sp.fdtridfd, ratio_slopes, 1, 1)


# ------------------------------------------------------------------------------------------------------- others

nrdtrimn = function(  # the mean, of p, the deviation and x: x − σ Φ⁻¹(p)
    sp.nrdtrimn,
    lambda p, std, x, y: -std / normal_density(ndtri(p)),
    lambda p, std, x, y: -ndtri(p),
    lambda p, std, x, y: number(1, x),
)
nrdtrisd = function(  # the deviation, of the mean, p and x: (x − μ) / Φ⁻¹(p)
    sp.nrdtrisd,
    lambda mean, p, x, y: -1 / ndtri(p),
    lambda mean, p, x, y: -y / (ndtri(p) * normal_density(ndtri(p))),
    lambda mean, p, x, y: 1 / ndtri(p),
)


def _tukey_slope(y: Atom, lam: Atom) -> Any:
    """dF/dx of x = (Fˡ − (1 − F)ˡ)/l."""
    return 1 / (power(y, lam - 1) + power(1 - y, lam - 1))


def _inside_tukey(x: Atom, lam: Atom, inside: Atom, at_end: Atom) -> Any:
    """``inside`` the support, |x| < 1/l for l > 0; the mean of it and 0 at its ends; 0 beyond, where F is constant."""
    share = lam * absolute(x)
    return either(share < 1, inside, either(share > 1, 0, 0.5 * at_end, like=x), like=x)


def _grown(u: Atom, lam: Atom) -> Any:
    """(e^(l u) − 1)/l, also for l = 0."""
    return u * exprel(lam * u)


def _grown_by_lambda(u: Atom, lam: Atom) -> Any:
    return u * u * exprel_partial(lam * u, exprel(lam * u))


def _tukey_by_lambda(x: Atom, lam: Atom, y: Atom) -> Any:
    """−dF/dx d/dl of (Fˡ − (1 − F)ˡ)/l, each power less 1.

    In the middle, F = (1 + w)/2, where the two all but cancel, and SciPy's F has 14 digits after the point but w has
    fewer: of S = ½ ((1 + w)ˡ − (1 − w)ˡ)/l = x 2^(l−1), which gives the last digits of w too.
    """
    is_middle = (absolute(y - 0.5) < 0.25) & (absolute(lam) < 1e3)
    is_end = is_middle | (y <= 0) | (y >= 1)
    f = either(is_end, 0.5, y, like=x)
    tail = -_tukey_slope(f, lam) * (_grown_by_lambda(log(f), lam) - _grown_by_lambda(log1p(-f), lam))
    order, at = either(is_middle, lam, 0, like=x), either(is_middle, x, 0, like=x)
    w = either(is_middle, 2 * y - 1, 0, like=x)
    scaled = at * exp2(order - 1)
    slope = 0.5 * (power(1 + w, order - 1) + power(1 - w, order - 1))
    w = w - (0.5 * (_grown(log1p(w), order) - _grown(log1p(-w), order)) - scaled) / slope
    moved = 0.5 * (_grown_by_lambda(log1p(w), order) - _grown_by_lambda(log1p(-w), order))
    middle = 0.5 * (scaled * math.log(2) - moved) / slope
    return _inside_tukey(x, lam, either(is_middle, middle, tail, like=x), _tukey_slope(y, lam) * x * absolute(x))


def _tukey_by_x(x: Atom, lam: Atom, y: Atom) -> Any:
    slope = _tukey_slope(y, lam)
    return _inside_tukey(x, lam, slope, slope)


tklmbda = function(sp.tklmbda, _tukey_by_x, _tukey_by_lambda)

_kolmogp = elementwise(
    sp._ufuncs._kolmogp, name="kolmogp", partials=[no_formula("the second derivative of kolmogorov")], cost=flops(200)
)
_smirnovp = elementwise(
    sp._ufuncs._smirnovp,
    name="smirnovp",
    partials=[NONE, no_formula("the second derivative of smirnov")],
    cost=flops(200),
)
kolmogorov = function(sp.kolmogorov, lambda x, y: _kolmogp(x))
kolmogi = function(sp.kolmogi, lambda p, y: 1 / _kolmogp(y))
smirnov = function(sp.smirnov, NONE, lambda n, d, y: _smirnovp(n, d))
smirnovi = function(sp.smirnovi, NONE, lambda n, p, y: 1 / _smirnovp(n, y))
