"""Incomplete gamma and beta functions in their parameters, and the distribution functions that are made of them.

∂P/∂a of P(a, x) = ∫₀ˣ f(t) dt, f(t) = tᵃ⁻¹ e⁻ᵗ / Γ(a), is ∫₀ˣ f(t) (log t − ψ(a)) dt, and the integral over all t is 0
(DLMF 8.2.1). The integrand changes its sign once, so either it or its negative from x on has one sign, and nothing
cancels: that one is integrated, by the double exponential rules. So for the beta function, in log t and log(1 − t).
The error is that of rounding, some 1e-13 relative, for parameters between 1e-3 and 1e5 and values that do not underflow
(tests/ops/special/test_families.py, against mpmath).

Everything else follows: a distribution function F has the derivatives of these, and what solves F(θ, q) = p for one of
them, the implicit function theorem's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from wengert.ops.elementwise import exp, floor, log, log1p, power, sqrt
from wengert.ops.kernels import flops
from wengert.ops.op import NONE, ZERO, elementwise
from wengert.ops.special.declare import either, function, like, no_formula, normal_density, number
from wengert.ops.special.gammas import hyp1f1
from wengert.ops.special.usual import (
    betainc,
    betaln,
    gamma_density,
    gammainc,
    gammaln,
    ive,
    psi,
    xlog1py,
    xlogy,
    zeta,
)
from wengert.tape import Atom

# ------------------------------------------------------------------------------------------------------- quadrature

STEP = 0.04


def _on_half_line(f: Callable[[Any], Any], scale: Any) -> Any:
    """∫₀^∞ f(s) ds by the exp-sinh rule, s = scale · exp(π/2 sinh u)."""
    total: Any = 0.0
    for u in np.arange(-6.0, 5.0, STEP):
        s = scale * math.exp(math.pi / 2 * math.sinh(u))
        total = total + f(s) * s * (math.pi / 2 * math.cosh(u) * STEP)
    return total


def _on_unit(log_f: Callable[[float, float], Any]) -> Any:
    """∫₀¹ g(τ) dτ by the tanh-sinh rule: ``log_f(log τ, log w)`` gives w g, of a τ that may underflow."""
    total: Any = 0.0
    for u in np.arange(-12.0, 4.0, STEP):
        exponent = math.pi * math.sinh(u)  # τ = 1 / (1 + e^−exponent), dτ = τ (1 − τ) π cosh u du
        log_tau = -math.log1p(math.exp(-exponent)) if exponent > -700 else exponent
        weight = log_tau - (math.log1p(math.exp(exponent)) if exponent < 700 else exponent)
        total = total + log_f(log_tau, weight + math.log(math.pi * math.cosh(u) * STEP))
    return total


def _bell(kappa: Callable[[int, int], Any], m: int, n: int) -> Any:
    """∂ᵐ⁺ⁿf/∂aᵐ∂bⁿ / f, where κ_ij are the derivatives of log f (the complete Bell polynomials, by their recursion)."""
    if m == n == 0:
        return 1.0
    total: Any = 0.0
    p, q = (m - 1, n) if m else (m, n - 1)  # what is left when one derivative has been taken: of f κ, by Leibniz's rule
    for i, j in itertools.product(range(p + 1), range(q + 1)):
        first = kappa(i + (m > 0), j + (m == 0))
        total = total + math.comb(p, i) * math.comb(q, j) * first * _bell(kappa, p - i, q - j)
    return total


def _gammainc_by_a(a: Any, x: Any, *, order: int) -> Any:
    dtype = np.result_type(a, x)
    a, x = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))
    with np.errstate(all="ignore"):
        middle = sp.psi(a)
        higher = [sp.polygamma(j, a) for j in range(1, order)]
        is_lower = np.log(x) < middle
        below = np.where(is_lower, x, 1.0)
        above = np.where(is_lower, 1.0, x)

        def factor(log_t: Any) -> Any:
            return _bell(lambda i, _: log_t - middle if i == 1 else -higher[i - 2], order, 0)

        def lower(log_tau: float, log_weight: float) -> Any:
            log_t = np.log(below) + log_tau
            return np.exp(a * log_t - np.exp(log_t) - sp.gammaln(a) - log_tau + log_weight) * factor(log_t)

        def upper(s: Any) -> Any:
            t = above + s
            return np.exp((a - 1) * np.log(t) - t - sp.gammaln(a)) * factor(np.log(t))

        value = np.where(is_lower, _on_unit(lower), -_on_half_line(upper, np.maximum(1.0, np.sqrt(a))))
        value = np.where(x == 0, 0.0, np.where((a > 0) & (x >= 0), value, np.nan))
        value = np.where((x == np.inf) & (a > 0), 0.0, value)
    return np.asarray(value, dtype)[()]


def _betainc_by(a: Any, b: Any, x: Any, *, m: int, n: int) -> Any:
    dtype = np.result_type(a, b, x)
    a, b, x = np.broadcast_arrays(*[np.asarray(v, float) for v in (a, b, x)])
    k = 0 if m else 1
    with np.errstate(all="ignore"):
        both, beta = sp.psi(a + b), sp.betaln(a, b)
        middles = (sp.psi(a) - both, sp.psi(b) - both)
        logs = (np.log(x), np.log1p(-x))
        is_lower = (logs[k] < middles[k]) == (k == 0)
        higher: dict[tuple[int, int], Any] = {}
        for i, j in itertools.product(range(m + 1), range(n + 1)):
            if i + j > 1:
                own = sp.polygamma(i - 1, a) if j == 0 else sp.polygamma(j - 1, b) if i == 0 else 0.0
                higher[i, j] = sp.polygamma(i + j - 1, a + b) - own

        def part(log_tau: float, log_weight: float) -> Any:
            """From 0 to x, of t = x τ, or from x to 1, of 1 − t = (1 − x) τ."""
            log_near = np.where(is_lower, logs[0], logs[1]) + log_tau
            log_far = np.log1p(-np.exp(log_near))
            log_t, log_rest = np.where(is_lower, log_near, log_far), np.where(is_lower, log_far, log_near)
            first = (log_t - middles[0], log_rest - middles[1])
            factor = _bell(lambda i, j: first[j] if i + j == 1 else higher[i, j], m, n)
            density = (a - 1) * log_t + (b - 1) * log_rest - beta
            return np.exp(density + log_near - log_tau + log_weight) * factor

        value = _on_unit(part) * np.where(is_lower, 1.0, -1.0)
        value = np.where((x == 0) | (x == 1), 0.0, value)
        value = np.where((a > 0) & (b > 0) & (x >= 0) & (x <= 1), value, np.nan)
    return np.asarray(value, dtype)[()]


def beta_density(a: Atom, b: Atom, x: Atom) -> Any:
    """xᵃ⁻¹ (1 − x)ᵇ⁻¹ / B(a, b)."""
    return exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))


def _polygamma(j: int, a: Atom) -> Any:
    return (-1) ** (j + 1) * math.factorial(j) * zeta(number(j + 1, a), a) if j else psi(a)


def _gamma_partials(order: int) -> list[Any]:
    def by_x(a: Atom, x: Atom, y: Atom) -> Any:
        log_x = log(x)
        kappa = lambda i, _: log_x - psi(a) if i == 1 else -_polygamma(i - 1, a)
        return gamma_density(a, x) * _bell(kappa, order, 0)

    return [lambda a, x, y: gammainc_by(a, x, order=order + 1), by_x]


gammainc_by = elementwise(  # ∂ⁿ/∂aⁿ of the lower incomplete gamma function, n = ``order``
    _gammainc_by_a,
    name="gammainc_by_a",
    type=lambda a, x, *, order: gammainc.type(a, x),
    partials=_gamma_partials,
    cost=flops(20_000),
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
    _betainc_by,
    name="betainc_by_parameters",
    type=lambda a, b, x, *, m, n: betainc.type(a, b, x),
    partials=_beta_partials,
    cost=flops(20_000),
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


def _complement(ufunc: Any, slopes: Slopes) -> Any:
    """1 − F."""
    return function(ufunc, *[(lambda *xs, rule=rule: -rule(*xs[:-1])) if callable(rule) else rule for rule in slopes])


def _plain(ufunc: Any, slopes: Slopes) -> Any:
    return function(ufunc, *[(lambda *xs, rule=rule: rule(*xs[:-1])) if callable(rule) else rule for rule in slopes])


def _inverse(ufunc: Any, slopes: Slopes, solved: int, at: int, sign: float = 1) -> Any:
    """What solves F(θ) = p for argument ``solved`` of F; ``at`` is where p stands among its own arguments, which are
    otherwise those of F in their order. ``sign`` −1: 1 − F = p."""

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
gammaincinv = _inverse(sp.gammaincinv, _gamma, 1, 1)
gammainccinv = _inverse(sp.gammainccinv, _gamma, 1, 1, -1)
betaincc = _complement(sp.betaincc, _beta)
betaincinv = _inverse(sp.betaincinv, _beta, 2, 2)
betainccinv = _inverse(sp.betainccinv, _beta, 2, 2, -1)
btdtria = _inverse(sp.btdtria, _beta, 0, 0)
btdtrib = _inverse(sp.btdtrib, _beta, 1, 1)

# of χ²: P(v/2, x/2)
_chi: Slopes = [lambda v, x: 0.5 * gammainc_by_a(0.5 * v, 0.5 * x), lambda v, x: 0.5 * gamma_density(0.5 * v, 0.5 * x)]
chdtr = _plain(sp.chdtr, _chi)
chdtrc = _complement(sp.chdtrc, _chi)
chdtri = _inverse(sp.chdtri, _chi, 1, 1, -1)
chdtriv = _inverse(sp.chdtriv, _chi, 0, 0)

# of the gamma distribution with rate a and shape b: P(b, a x)
_rate: Slopes = [
    lambda a, b, x: x * gamma_density(b, a * x),
    lambda a, b, x: gammainc_by_a(b, a * x),
    lambda a, b, x: a * gamma_density(b, a * x),
]
gdtr = _plain(sp.gdtr, _rate)
gdtrc = _complement(sp.gdtrc, _rate)
gdtria = _inverse(sp.gdtria, _rate, 0, 0)
gdtrib = _inverse(sp.gdtrib, _rate, 1, 1)
gdtrix = _inverse(sp.gdtrix, _rate, 2, 2)

# of Poisson's, k + 1 or more: P(k + 1, m). SciPy takes the floor of k but in what solves for it
_poisson: Slopes = [
    lambda k, m: -gammainc_by_a(k + 1, m),
    lambda k, m: -gamma_density(k + 1, m),
]
_floored_poisson: list[Any] = [ZERO, lambda k, m: -gamma_density(floor(k) + 1, m)]
pdtr = _plain(sp.pdtr, _floored_poisson)
pdtrc = _complement(sp.pdtrc, _floored_poisson)
pdtri = function(sp.pdtri, NONE, lambda k, p, m: -1 / gamma_density(like(k, m) + 1, m))
pdtrik = _inverse(sp.pdtrik, _poisson, 0, 0)

# of the binomial distribution, up to k of n: I(n − k, k + 1, 1 − p)
_binomial: Slopes = [
    lambda k, n, p: betainc_by_b(n - k, k + 1, 1 - p) - betainc_by_a(n - k, k + 1, 1 - p),
    lambda k, n, p: betainc_by_a(n - k, k + 1, 1 - p),
    lambda k, n, p: -beta_density(n - k, k + 1, 1 - p),
]


def _binomial_by_p(k: Atom, n: Atom, p: Atom) -> Any:
    """Of the floor of k; 0 where all of n are counted."""
    whole, most = floor(k), like(n, p)
    is_all = whole >= most
    return either(is_all, 0, -beta_density(either(is_all, 1, most - whole, like=p), whole + 1, 1 - p), like=p)


_floored_binomial: list[Any] = [ZERO, NONE, _binomial_by_p]
bdtr = _plain(sp.bdtr, _floored_binomial)
bdtrc = _complement(sp.bdtrc, _floored_binomial)
bdtri = function(sp.bdtri, ZERO, NONE, lambda k, n, y, p: 1 / _binomial_by_p(k, n, p))
bdtrik = _inverse(sp.bdtrik, _binomial, 0, 0)
bdtrin = _inverse(sp.bdtrin, _binomial, 1, 1)

# of the negative binomial distribution, up to k failures before n successes: I(n, k + 1, p)
_waiting: Slopes = [
    lambda k, n, p: betainc_by_b(n, k + 1, p),
    lambda k, n, p: betainc_by_a(n, k + 1, p),
    lambda k, n, p: beta_density(n, k + 1, p),
]


def _waiting_by_p(k: Atom, n: Atom, p: Atom) -> Any:
    return beta_density(like(n, p), like(k, p) + 1, p)


nbdtr = _plain(sp.nbdtr, [NONE, NONE, _waiting_by_p])  # type: ignore[list-item]  # SciPy's k and n are integers
nbdtrc = _complement(sp.nbdtrc, [NONE, NONE, _waiting_by_p])  # type: ignore[list-item]
nbdtri = function(sp.nbdtri, NONE, NONE, lambda k, n, y, p: 1 / _waiting_by_p(k, n, p))
nbdtrik = _inverse(sp.nbdtrik, _waiting, 0, 0)
nbdtrin = _inverse(sp.nbdtrin, _waiting, 1, 1)


# of Student's t: ½ I(v/2, ½, v/(v + t²)) for t < 0, and 1 less it for t > 0
def student_density(v: Atom, t: Atom) -> Any:
    half = 0.5 * (v + 1)
    return exp(gammaln(half) - gammaln(0.5 * v) - half * log1p(t * t / v)) / sqrt(math.pi * v)


def _student_by_v(v: Atom, t: Atom) -> Any:
    w = v / (v + t * t)
    a, b = 0.5 * v, number(0.5, v)
    is_zero = t * t <= 0
    inside = either(is_zero, 0.5, w, like=w)
    tail = 0.5 * (0.5 * betainc_by_a(a, b, inside) + beta_density(a, b, inside) * (t / (v + t * t)) ** 2)
    return either(is_zero, 0, either(t > 0, -tail, tail, like=t), like=t)


student_slopes: Slopes = [_student_by_v, student_density]
stdtr = _plain(sp.stdtr, student_slopes)
stdtridf = _inverse(sp.stdtridf, student_slopes, 0, 0)
stdtrit = _inverse(sp.stdtrit, student_slopes, 1, 1)


# of Fisher's F: I(m/2, n/2, w), w = m x / (n + m x)
def _fisher(weights: Callable[..., tuple[Any, Any, Any]]) -> Callable[..., Any]:
    def slope(m: Atom, n: Atom, x: Atom) -> Any:
        a, b, w = 0.5 * m, 0.5 * n, m * x / (n + m * x)
        by_a, by_b, by_w = weights(m, n, x)
        total = by_w * beta_density(a, b, w)
        total = total if by_a is None else total + by_a * betainc_by_a(a, b, w)
        return total if by_b is None else total + by_b * betainc_by_b(a, b, w)

    return slope


ratio_slopes: Slopes = [
    _fisher(lambda m, n, x: (0.5, None, n * x / (n + m * x) ** 2)),
    _fisher(lambda m, n, x: (None, 0.5, -m * x / (n + m * x) ** 2)),
    _fisher(lambda m, n, x: (None, None, m * n / (n + m * x) ** 2)),
]
fdtr = _plain(sp.fdtr, ratio_slopes)
fdtrc = _complement(sp.fdtrc, ratio_slopes)
fdtri = _inverse(sp.fdtri, ratio_slopes, 2, 2)
fdtridfd = _inverse(sp.fdtridfd, ratio_slopes, 1, 1)


# ------------------------------------------------------------------------------------------------------- noncentral


def _noncentral_chi_density(x: Atom, v: Atom, nc: Atom) -> Any:
    """½ e^−(√x − √λ)²/2 (x/λ)^(v/4 − ½) I_{v/2 − 1}(√(λ x)), scaled; of λ = 0 that of χ²."""
    is_central = nc <= 0
    away = either(is_central, 1, nc, like=nc)
    root, shift = sqrt(x), sqrt(away)
    scaled = exp(-0.5 * (root - shift) * (root - shift)) * power(x / away, 0.25 * v - 0.5)
    general = 0.5 * scaled * ive(0.5 * v - 1, root * shift)
    return either(is_central, 0.5 * gamma_density(0.5 * v, 0.5 * x), general, like=x)


_noncentral_chi: list[Any] = [
    _noncentral_chi_density,
    no_formula("a noncentral χ² distribution in its degrees of freedom"),
    lambda x, v, nc: 0.5 * (chndtr(x, v + 2, nc) - chndtr(x, v, nc)),
]
chndtr = _plain(sp.chndtr, _noncentral_chi)
chndtrix = _inverse(sp.chndtrix, _noncentral_chi, 0, 0)
chndtrinc = _inverse(sp.chndtrinc, _noncentral_chi, 2, 2)
chndtridf = function(sp.chndtridf, *[_noncentral_chi[1]] * 3)


def _noncentral_t_density(v: Atom, nc: Atom, t: Atom) -> Any:
    """v/t (F(v + 2, λ, t √(1 + 2/v)) − F(v, λ, t)); at t = 0 its own value (Johnson, Kotz and Balakrishnan 1995,
    Continuous Univariate Distributions 2, 31.15)."""
    is_zero = t * t <= 0
    away = either(is_zero, 1, t, like=t)
    general = v / away * (nctdtr(v + 2, nc, away * sqrt(1 + 2 / v)) - nctdtr(v, nc, away))
    at_zero = exp(gammaln(0.5 * (v + 1)) - gammaln(0.5 * v) - 0.5 * nc * nc) / sqrt(math.pi * v)
    return either(is_zero, at_zero, general, like=t)


def _noncentral_t_by_nc(v: Atom, nc: Atom, t: Atom) -> Any:
    """−E φ(t χ/√v − λ): under s φ the density of χ with v − 1 degrees of freedom is one with v, and so this is the
    distribution's own density, of v − 1, scaled. For v > 1."""
    less = v - 1
    scale = sqrt(0.5 * less) * exp(gammaln(0.5 * less) - gammaln(0.5 * v))
    return -scale * _noncentral_t_density(less, nc, t * sqrt(less / v))


_noncentral_t: list[Any] = [
    no_formula("a noncentral t distribution in its degrees of freedom"),
    _noncentral_t_by_nc,
    _noncentral_t_density,
]
nctdtr = _plain(sp.nctdtr, _noncentral_t)
nctdtrit = _inverse(sp.nctdtrit, _noncentral_t, 2, 2)
nctdtridf = function(sp.nctdtridf, *[_noncentral_t[0]] * 3)
nctdtrinc = _inverse(sp.nctdtrinc, _noncentral_t, 1, 1)


def _noncentral_ratio_density(m: Atom, n: Atom, nc: Atom, x: Atom) -> Any:
    """e^−λ/2 ₁F₁((m + n)/2, m/2, λw/2) times the central one: Σ of those of m + 2j with Poisson's weights."""
    a, b, w = 0.5 * m, 0.5 * n, m * x / (n + m * x)
    mixed = beta_density(a, b, w) * exp(-0.5 * nc) * hyp1f1(a + b, a, 0.5 * nc * w)
    return mixed * m * n / (n + m * x) ** 2


_noncentral_ratio: list[Any] = [  # Σ Poisson(j; λ/2) I(m/2 + j, n/2, w), w = m x / (n + m x): that of m + 2 has j + 1
    no_formula("a noncentral F distribution in its degrees of freedom"),
    no_formula("a noncentral F distribution in its degrees of freedom"),
    lambda m, n, nc, x: 0.5 * (ncfdtr(m + 2, n, nc, x * m / (m + 2)) - ncfdtr(m, n, nc, x)),
    _noncentral_ratio_density,
]
ncfdtr = _plain(sp.ncfdtr, _noncentral_ratio)
ncfdtri = _inverse(sp.ncfdtri, _noncentral_ratio, 3, 3)
ncfdtrinc = _inverse(sp.ncfdtrinc, _noncentral_ratio, 2, 2)
ncfdtridfn, ncfdtridfd = [function(f, *[_noncentral_ratio[0]] * 4) for f in (sp.ncfdtridfn, sp.ncfdtridfd)]

# ------------------------------------------------------------------------------------------------------- others

nrdtrimn = function(  # the mean, of p, the deviation and x: x − σ Φ⁻¹(p)
    sp.nrdtrimn,
    lambda p, std, x, y: -std / normal_density((x - y) / std),
    lambda p, std, x, y: (y - x) / std,
    lambda p, std, x, y: number(1, x),
)
nrdtrisd = function(  # the deviation, of the mean, p and x: (x − μ) / Φ⁻¹(p)
    sp.nrdtrisd,
    lambda mean, p, x, y: -y / (x - mean),
    lambda mean, p, x, y: -y * y / ((x - mean) * normal_density((x - mean) / y)),
    lambda mean, p, x, y: y / (x - mean),
)


def _tukey_slope(y: Atom, lam: Atom) -> Any:
    """dF/dx of x = (Fˡ − (1 − F)ˡ)/l."""
    return 1 / (power(y, lam - 1) + power(1 - y, lam - 1))


def _tukey_by_lambda(x: Atom, lam: Atom, y: Atom) -> Any:
    """At l = 0 the limit, of x = log(F/(1 − F)), ½ (log² F − log² (1 − F))."""
    u, v = log(y), log1p(-y)
    is_zero = lam * lam <= 0
    away = either(is_zero, 1, lam, like=lam)
    moved = (power(y, lam) * u - power(1 - y, lam) * v - x) / away
    return -_tukey_slope(y, lam) * either(is_zero, 0.5 * (u * u - v * v), moved, like=x)


tklmbda = function(sp.tklmbda, lambda x, lam, y: _tukey_slope(y, lam), _tukey_by_lambda)

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
