"""Formulas in the place of methods of SciPy's continuous distributions whose code is C, loops or masks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special as sc
from scipy.special import _ufuncs as scu
from scipy.stats import chi2, gamma, rv_continuous

import wengert as wg
from wengert.of_scipy.integrate.functions import infinity
from wengert.of_scipy.stats.integrals import above, between
from wengert.of_scipy.stats.known import Slope, known, slope_of, slopes_of
from wengert.of_scipy.stats.methods import (
    FORMULAS,
    Distribution,
    Standard,
    by_scipy,
    call,
    code_of,
    instead_of,
    integrals,
    inverses,
    key_of,
    scalars,
    with_formula,
)
from wengert.tracing.arguments import Traced
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.interception.python_functions import original

EULER, ZETA3 = 0.577215664901532860606, 1.202056903159594285399
LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)

inverses(
    *[
        "beta_gen._ppf",
        "betaprime_gen._ppf",
        "cauchy_gen._ppf",
        "cauchy_gen._isf",
        "cosine_gen._ppf",
        "cosine_gen._isf",
    ],
    *["invgauss_gen._ppf", "invgauss_gen._isf", "rdist_gen._ppf", "semicircular_gen._ppf", "skewnorm_gen._ppf"],
    *["wald_gen._ppf", "wald_gen._isf"],
    *["skewnorm_gen._isf", "landau_gen._ppf", "landau_gen._isf", "ncf_gen._isf", "nct_gen._isf", "ncx2_gen._isf"],
    *[
        "ncx2_gen._ppf",
        "norminvgauss_gen._isf",
        "ksone_gen._ppf",
        "ksone_gen._isf",
        "kstwo_gen._ppf",
        "kstwo_gen._isf",
        "kstwobign_gen._ppf",
    ],
    *["kstwobign_gen._isf", "jf_skew_t_gen._ppf", "truncnorm_gen._ppf", "truncnorm_gen._isf", "gennorm_gen._ppf"],
)
integrals("genhyperbolic_gen._cdf", "genhyperbolic_gen._sf", "geninvgauss_gen._cdf", "norminvgauss_gen._sf")


def log1mexp(x: Traced) -> Any:
    """log(1 − eˣ) for x < 0."""
    return np.where(x > -math.log(2), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def first(f: Callable[..., Any]) -> Callable[..., Any]:
    """∂f/∂x, x being the first argument."""
    return lambda *xs: slope_of(f, 0, *xs)


def from_density(*names: str, why: str = "") -> None:
    """Let distribution functions be SciPy's, with the density as their slope, and in shapes none, for a reason."""
    for name in names:
        method = name.rpartition(".")[2]
        sign = -1.0 if method == "_sf" else 1.0

        def stand_in(dist: Distribution, *xs: Traced, method: str = method, sign: float = sign) -> Any:
            by_x: Slope = lambda *xs_y: sign * call(dist, "_pdf", *xs_y[:-1])
            return by_scipy(dist, method, xs, [by_x, *[why] * (len(xs) - 1)])

        FORMULAS[name] = stand_in


def opaque(*names: str, why: str) -> None:
    """Let methods be SciPy's, without derivatives, for a reason."""
    for name in names:
        method = name.rpartition(".")[2]
        FORMULAS[name] = lambda dist, *xs, method=method: by_scipy(dist, method, xs, [why] * len(xs))


COUNTS = "its n counts samples, and has no derivative"
NOT_WRITTEN = "this derivative was not written: SciPy integrates numerically here, in C"
from_density("ksone_gen._cdf", "ksone_gen._sf", "kstwo_gen._cdf", "kstwo_gen._sf", "irwinhall_gen._cdf", why=COUNTS)
from_density("irwinhall_gen._sf", why=COUNTS)
from_density("kstwobign_gen._cdf", "kstwobign_gen._sf", "landau_gen._cdf", "landau_gen._sf")
from_density("levy_stable_gen._cdf", "studentized_range_gen._cdf", why=NOT_WRITTEN)
opaque("levy_stable_gen._pdf", "studentized_range_gen._pdf", "studentized_range_gen._munp", why=NOT_WRITTEN)
opaque(
    "ksone_gen._pdf", "kstwo_gen._pdf", why="the derivative of the density of a sum over the samples was not written"
)

# ------------------------------------------------------------------------- densities and distribution functions


@with_formula("beta_gen._pdf")
def beta_pdf(x: Traced, a: Traced, b: Traced) -> Any:
    return np.exp(sc.xlog1py(b - 1.0, -x) + sc.xlogy(a - 1.0, x) - sc.betaln(a, b))


@with_formula("cosine_gen._cdf")
def cosine_cdf(x: Traced) -> Any:
    return 0.5 + (x + np.sin(x)) / (2 * math.pi)


@with_formula("cosine_gen._sf")
def cosine_sf(x: Traced) -> Any:
    return 0.5 - (x + np.sin(x)) / (2 * math.pi)


@instead_of("dpareto_lognorm_gen._logsf")
def dpareto_lognorm_logsf(dist: Distribution, *xs: Traced) -> Any:
    return log1mexp(call(dist, "_logcdf", *xs))


# At a parameter where SciPy changes to a limit (c = 0), the limit's formula says nothing of the derivative there. So
# functions that have a limit are computed by their series near it.


def log1p_over(c: Traced, x: Traced) -> Any:
    """log(1 + c x) / c, which is x at c = 0."""
    y = c * x
    is_near = np.abs(y) < 1e-2
    y_near, series = np.where(is_near, y, 0.0), 0.0
    for k in range(12, 0, -1):
        series = 1 / k - y_near * series
    far = np.log1p(np.where(is_near, 1.0, y)) / np.where(is_near, 1.0, c)
    return np.where((c == 0) & np.isinf(x), x, np.where(is_near, x * series, far))


def expm1_over(c: Traced, x: Traced) -> Any:
    """(1 − exp(−c x)) / c, which is x at c = 0."""
    y = c * x
    is_near = np.abs(y) < 1e-2
    y_near, series = np.where(is_near, y, 0.0), 1.0
    for k in range(9, 1, -1):
        series = 1 - y_near * series / k
    far = -np.expm1(-np.where(is_near, 1.0, y)) / np.where(is_near, 1.0, c)
    return np.where((c == 0) & np.isinf(x), x, np.where(is_near, x * series, far))


@instead_of("genpareto_gen._logpdf")
def genpareto_logpdf(dist: Distribution, x: Traced, c: Traced) -> Any:
    return -(c + 1.0) * log1p_over(c, x)


@instead_of("genpareto_gen._logsf")
def genpareto_logsf(dist: Distribution, x: Traced, c: Traced) -> Any:
    return -log1p_over(c, x)


def _loglogcdf(x: Traced, c: Traced) -> Any:
    return -log1p_over(-c, x)


@instead_of("genextreme_gen._logcdf")
def genextreme_logcdf(dist: Distribution, x: Traced, c: Traced) -> Any:
    return -np.exp(_loglogcdf(x, c))


@instead_of("genextreme_gen._logpdf")
def genextreme_logpdf(dist: Distribution, x: Traced, c: Traced) -> Any:
    """The formula of SciPy, whose np.putmask are selections."""
    cx = np.where((c == 0) & np.isinf(x), 0.0, c * x)
    logex2 = np.log1p(-cx)
    logpex2 = _loglogcdf(x, c)
    pex2 = np.exp(logpex2)
    logpex2 = np.where((c == 0) & (x == -np.inf), 0.0, logpex2)
    found = np.where(~((cx == 1) | (cx == -np.inf)), -pex2 + logpex2 - logex2, -np.inf)
    return np.where((c == 1) & (x == 1), 0.0, found)


@instead_of("genextreme_gen._ppf")
def genextreme_ppf(dist: Distribution, q: Traced, c: Traced) -> Any:
    return expm1_over(c, -np.log(-np.log(q)))


@instead_of("genextreme_gen._isf")
def genextreme_isf(dist: Distribution, q: Traced, c: Traced) -> Any:
    return expm1_over(c, -np.log(-np.log1p(-q)))


@instead_of("kappa4_gen._logpdf")
def kappa4_logpdf(dist: Distribution, x: Traced, h: Traced, k: Traced) -> Any:
    log_u = _loglogcdf(x, k)
    return (1.0 - k) * log_u + (1.0 - h) * _loglogcdf(np.exp(log_u), h)


@instead_of("kappa4_gen._logcdf")
def kappa4_logcdf(dist: Distribution, x: Traced, h: Traced, k: Traced) -> Any:
    return _loglogcdf(np.exp(_loglogcdf(x, k)), h)


@instead_of("kappa4_gen._ppf")
def kappa4_ppf(dist: Distribution, q: Traced, h: Traced, k: Traced) -> Any:
    return expm1_over(k, -np.log(expm1_over(h, -np.log(q))))


@instead_of("ncx2_gen._logpdf")
def ncx2_logpdf(dist: Distribution, x: Traced, df: Traced, nc: Traced) -> Any:
    """At nc = 0 by the series log ₀F₁(a; u) = u/a − u²/(2a²(a + 1)) − ..., u = nc x/4."""
    a, u = df / 2.0, nc * x / 4
    at_0 = chi2._logpdf(x, df) - nc / 2 + u / a - u**2 / (2 * a**2 * (a + 1))
    n = np.where(nc == 0, 1.0, nc)
    log_i = np.log(sc.ive(a - 1, np.sqrt(x * n)) / 2.0)
    return np.where(nc == 0, at_0, sc.xlogy((a - 1) / 2.0, x / n) - 0.5 * (np.sqrt(x) - np.sqrt(n)) ** 2 + log_i)


@instead_of("skewnorm_gen._pdf")
def skewnorm_pdf(dist: Distribution, x: Traced, a: Traced) -> Any:
    return 2.0 * (np.exp(-(x**2) / 2.0) / math.sqrt(2 * math.pi)) * sc.ndtr(a * x)


@instead_of("skewnorm_gen._logpdf")
def skewnorm_logpdf(dist: Distribution, x: Traced, a: Traced) -> Any:
    return math.log(2) + (-(x**2) / 2.0 - LOG_SQRT_2PI) + sc.log_ndtr(a * x)


@instead_of("triang_gen._pdf")
def triang_pdf(dist: Distribution, x: Traced, c: Traced) -> Any:
    return np.where((x < c) | (c == 1), 2 * x / c, 2 * (1 - x) / (1 - c))


@instead_of("triang_gen._cdf")
def triang_cdf(dist: Distribution, x: Traced, c: Traced) -> Any:
    return np.where((x < c) | (c == 1), x * x / c, (x * x - 2 * x + c) / (c - 1))


@with_formula("genhyperbolic_gen._logpdf")
def genhyperbolic_logpdf(x: Traced, p: Traced, a: Traced, b: Traced) -> Any:
    d, s = np.sqrt((a - b) * (a + b)), np.sqrt(1 + x * x)
    by_shape = p * np.log(d) - LOG_SQRT_2PI - (p - 0.5) * np.log(a) - (np.log(sc.kve(p, d)) - d)
    return by_shape + b * x + np.log(sc.kve(p - 0.5, a * s)) - a * s - (0.5 - p) * np.log(s)


@instead_of("genhyperbolic_gen._pdf")
def genhyperbolic_pdf(dist: Distribution, *xs: Traced) -> Any:
    return np.exp(call(dist, "_logpdf", *xs))


@with_formula("geninvgauss_gen._logpdf")
def geninvgauss_logpdf(x: Traced, p: Traced, b: Traced) -> Any:
    return (p - 1) * np.log(x) - b * (x + 1 / x) / 2 - math.log(2) - (np.log(sc.kve(p, b)) - b)


def _gennorm_by_beta(x: Traced, beta: Traced) -> Any:
    c = 0.5 * np.sign(x)
    return 0.5 + c - c * sc.gammaincc(1.0 / beta, np.abs(x) ** beta)


@instead_of("gennorm_gen._cdf")
def gennorm_cdf(dist: Distribution, x: Traced, beta: Traced) -> Any:
    """At 0, where SciPy's formula has a kink, the slope is the density."""

    def by_beta(x: Traced, beta: Traced, y: Traced) -> Any:
        return np.where(x == 0, 0.0, slope_of(_gennorm_by_beta, 1, np.where(x == 0, 1.0, x), beta))

    return by_scipy(dist, "_cdf", (x, beta), [lambda x, beta, y: call(dist, "_pdf", x, beta), by_beta])


@instead_of("irwinhall_gen._pdf")
def irwinhall_pdf(dist: Distribution, x: Traced, n: Traced) -> Any:
    """Its slope is p(x; n − 1) − p(x − 1; n − 1)."""

    def by_x(x: Traced, n: Traced, y: Traced) -> Any:
        less = np.maximum(n - 1, 1)
        steps = [np.where((t >= 0) & (t <= less), call(dist, "_pdf", t, less), 0.0) for t in (x, x - 1)]
        return np.where(n > 1, steps[0] - steps[1], 0.0)

    return by_scipy(dist, "_pdf", (x, n), [by_x, COUNTS])


@instead_of("kappa3_gen._sf")
def kappa3_sf(dist: Distribution, x: Traced, a: Traced) -> Any:
    plain = 1.0 - call(dist, "_cdf", x, a)
    small = -np.expm1(sc.xlog1py(-1.0 / a, a * x**-a))
    return np.where((plain < 0.01) & (small <= 0.01), small, plain)


def kolmogorov_cdf(x: Traced) -> Any:
    """K(x), by the one of two series that converges fast (Marsaglia, Tsang, Wang 2003)."""
    k = np.arange(1.0, 9.0).reshape(8, *[1] * np.ndim(x))
    is_low = x < 0.8
    low, high = np.where(is_low, x, 0.5), np.where(is_low, 1.0, x)
    by_low = math.sqrt(2 * math.pi) / low * np.sum(np.exp(-(((2 * k - 1) * math.pi) ** 2) / (8 * low**2)), axis=0)
    return np.where(is_low, by_low, 1 + 2 * np.sum((-1) ** k * np.exp(-2 * (k * high) ** 2), axis=0))


with_formula("kstwobign_gen._pdf")(first(kolmogorov_cdf))


@with_formula("landau_gen._pdf")
def landau_pdf(x: Traced) -> Any:
    """1/π ∫ exp(−t log t − λ t) sin(π t) dt of λ = π x/2 + log(π/2), times π/2."""
    lam = 0.5 * math.pi * x + math.log(0.5 * math.pi)
    return 0.5 * above(lambda t: np.exp(-t * np.log(t) - lam * t) * np.sin(math.pi * t), 0.0, 1.0, np.ndim(x))


@instead_of("rv_continuous._logpdf")
def logpdf(dist: Distribution, *xs: Traced) -> Any:
    return np.log(call(dist, "_pdf", *xs))


# For |skew| < 1.6e-5 SciPy computes the normal distribution. Derivatives there are those of expansions in the skew
# (Edgeworth's and Cornish and Fisher's), of which the value is taken away again.


def _only_slope(x: Traced) -> Any:
    return x - wg.stop_gradient(x)


def _pearson3(x: Traced, skew: Traced) -> tuple[Any, Any, Any, Any, Any]:
    is_normal = np.abs(skew) < 0.000016
    beta = 2.0 / np.where(is_normal, 1.0, skew)
    alpha = beta**2
    zeta = -alpha / beta
    return is_normal, beta, alpha, zeta, beta * (x - zeta)


def _edgeworth(x: Traced, s: Traced) -> Any:
    """The terms of s and s² of the distribution function."""
    he2, he3, he5 = x**2 - 1, x**3 - 3 * x, x**5 - 10 * x**3 + 15 * x
    return -np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) * (s * he2 / 6 + s**2 * (he3 / 16 + he5 / 72))


@instead_of("pearson3_gen._logpdf")
def pearson3_logpdf(dist: Distribution, x: Traced, skew: Traced) -> Any:
    is_normal, beta, alpha, _, y = _pearson3(x, skew)
    terms = skew * (x**3 - 3 * x) / 6 - skew**2 * (3 * x**4 - 6 * x**2 + 1) / 48
    normal = -(x**2) / 2 - LOG_SQRT_2PI + _only_slope(terms)
    return np.where(is_normal, normal, np.log(np.abs(beta)) + gamma.logpdf(y, alpha))


@instead_of("pearson3_gen._pdf")
def pearson3_pdf(dist: Distribution, x: Traced, skew: Traced) -> Any:
    found = np.exp(pearson3_logpdf(dist, x, skew))
    return np.where(np.isnan(found), 0.0, found)


@instead_of("pearson3_gen._cdf")
def pearson3_cdf(dist: Distribution, x: Traced, skew: Traced) -> Any:
    is_normal, _, alpha, _, y = _pearson3(x, skew)
    normal = sc.ndtr(x) + _only_slope(_edgeworth(x, skew))
    return np.where(is_normal, normal, np.where(skew > 0, gamma.cdf(y, alpha), gamma.sf(y, alpha)))


@instead_of("pearson3_gen._sf")
def pearson3_sf(dist: Distribution, x: Traced, skew: Traced) -> Any:
    is_normal, _, alpha, _, y = _pearson3(x, skew)
    normal = sc.ndtr(-x) - _only_slope(_edgeworth(x, skew))
    return np.where(is_normal, normal, np.where(skew > 0, gamma.sf(y, alpha), gamma.cdf(y, alpha)))


@instead_of("pearson3_gen._ppf")
def pearson3_ppf(dist: Distribution, q: Traced, skew: Traced) -> Any:
    is_normal, beta, alpha, zeta, _ = _pearson3(q, skew)
    z = sc.ndtri(q)
    normal = z + _only_slope(skew * (z**2 - 1) / 6 + skew**2 * ((z**3 - 3 * z) / 16 - (2 * z**3 - 5 * z) / 36))
    return np.where(is_normal, normal, sc.gammaincinv(alpha, np.where(beta < 0, 1 - q, q)) / beta + zeta)


@instead_of("skewnorm_gen._cdf")
def skewnorm_cdf(dist: Distribution, x: Traced, a: Traced) -> Any:
    """Φ(x) − 2 T(x, a), whose slope in a is −exp(−x² (1 + a²) / 2) / (π (1 + a²))."""

    def by_a(x: Traced, a: Traced, y: Traced) -> Any:
        square = 1 + a * a
        return -np.exp(-0.5 * x * x * square) / (math.pi * square)

    return by_scipy(dist, "_cdf", (x, a), [lambda x, a, y: call(dist, "_pdf", x, a), by_a])


def _turned(z: Traced) -> Any:
    """|z| − z, which is 0 for z ≥ 0: at 0 the derivative of ``i0e(z)`` is taken as 0, and is −1 from above."""
    return np.abs(z) - z


@instead_of("rice_gen._pdf")
def rice_pdf(dist: Distribution, x: Traced, b: Traced) -> Any:
    return x * np.exp(-(x - b) * (x - b) / 2.0 + _turned(x * b)) * sc.i0e(x * b)


@instead_of("vonmises_gen._pdf")
def vonmises_pdf(dist: Distribution, x: Traced, kappa: Traced) -> Any:
    return np.exp(vonmises_logpdf(dist, x, kappa))


@instead_of("vonmises_gen._logpdf")
def vonmises_logpdf(dist: Distribution, x: Traced, kappa: Traced) -> Any:
    return kappa * sc.cosm1(x) - np.log(2 * np.pi) - np.log(sc.i0e(kappa)) - _turned(kappa)


@instead_of("vonmises_gen._cdf")
def vonmises_cdf(dist: Distribution, x: Traced, kappa: Traced) -> Any:
    def by_kappa(x: Traced, kappa: Traced, y: Traced) -> Any:
        end = x - 2 * math.pi * np.round(x / (2 * math.pi))
        ndim = max(np.ndim(x), np.ndim(kappa))
        return slope_of(lambda k: between(lambda t: call(dist, "_pdf", t, k), -math.pi, end, ndim), 0, kappa)

    return by_scipy(dist, "_cdf", (x, kappa), [lambda x, kappa, y: call(dist, "_pdf", x, kappa), by_kappa])


# ----------------------------------------------------------------------------------------------- noncentral ones


def _ncx2_cdf(x: Traced, df: Traced, nc: Traced) -> Any:
    return sc.chndtr(x, df, nc)


def _ncf_cdf(x: Traced, dfn: Traced, dfd: Traced, nc: Traced) -> Any:
    return sc.ncfdtr(dfn, dfd, nc, x)


def _nct_cdf(x: Traced, df: Traced, nc: Traced) -> Any:
    return sc.nctdtr(df, nc, x)


for _name, _cdf in (("ncx2", _ncx2_cdf), ("ncf", _ncf_cdf), ("nct", _nct_cdf)):
    with_formula(f"{_name}_gen._pdf")(first(_cdf))
    with_formula(f"{_name}_gen._cdf")(_cdf)
    with_formula(f"{_name}_gen._sf")(lambda *xs, cdf=_cdf: 1.0 - cdf(*xs))


MOST_TERMS = 300


@with_formula("ncf_gen._pdf")
def ncf_pdf(x: Traced, dfn: Traced, dfd: Traced, nc: Traced) -> Any:
    """Σⱼ Poisson(j; nc/2) of central densities; NaN where the terms are too few."""
    j = np.arange(float(MOST_TERMS)).reshape(MOST_TERMS, *[1] * max(map(np.ndim, (x, dfn, dfd, nc))))
    a, b, ratio = dfn / 2 + j, dfd / 2, dfn / dfd
    weight = sc.xlogy(j, nc / 2) - nc / 2 - sc.gammaln(j + 1)
    log_f = a * np.log(ratio) + (a - 1) * np.log(x) - (a + b) * np.log1p(ratio * x) - sc.betaln(a, b)
    return np.where(nc < MOST_TERMS / 2, np.sum(np.exp(weight + log_f), axis=0), np.nan)


def _ncf_raw(k: int, dfn: Traced, dfd: Traced, nc: Traced) -> Any:
    """E xᵏ = (n/m)ᵏ Γ(n/2 − k) / Γ(n/2) Σ_j C(k, j) (nc/2)ʲ (m/2 + j)_{k−j}."""
    a, h = dfn / 2, nc / 2
    total: Any = 0.0
    for j in range(k + 1):
        rising: Any = 1.0
        for i in range(j, k):
            rising = rising * (a + i)
        total = total + math.comb(k, j) * h**j * rising
    falling: Any = 1.0
    for i in range(1, k + 1):
        falling = falling * (dfd / 2 - i)
    return (dfd / dfn) ** k * total / falling


def _nct_raw(k: int, df: Traced, nc: Traced) -> Any:
    """E xᵏ = (df/2)^{k/2} Γ((df − k)/2) / Γ(df/2) Heₖ(nc), with positive signs."""
    hermite = [1.0, nc, nc**2 + 1, nc**3 + 3 * nc, nc**4 + 6 * nc**2 + 3][k]
    return hermite * (df / 2) ** (k / 2) * np.exp(sc.gammaln((df - k) / 2) - sc.gammaln(df / 2))


def _central(raw: Callable[..., Any], k: int) -> Callable[..., Any]:
    """Mean, variance, skew, or excess kurtosis, for k = 1, 2, 3, 4, by raw moments."""

    def formula(*shapes: Traced) -> Any:
        m = [raw(j, *shapes) for j in range(k + 1)]
        if k == 1:
            return m[1]
        var = m[2] - m[1] ** 2
        if k == 2:
            return var
        if k == 3:
            return (m[3] - 3 * m[1] * m[2] + 2 * m[1] ** 3) / var**1.5
        return (m[4] - 4 * m[1] * m[3] + 6 * m[1] ** 2 * m[2] - 3 * m[1] ** 4) / var**2 - 3

    return formula


def _noncentral_stats(raw: Callable[..., Any]) -> Callable[..., Any]:
    def stats(dist: Distribution, *shapes: Traced, moments: str = "mv") -> Any:
        found: list[Any] = []
        f = code_of(dist, "_stats")
        for k, m in enumerate("mvsk", 1):
            value = lambda *vs, k=k, m=m: f(dist, *vs, moments=m if k > 2 else "mv")[k - 1]
            slopes = slopes_of(_central(raw, k), len(shapes))
            is_asked = k <= 2 or m in moments
            found.append(
                known(key_of(dist, f"_stats {m}"), f"{dist.name}._stats", value, slopes, shapes) if is_asked else None
            )
        return tuple(found)

    return stats


FORMULAS["ncf_gen._stats"] = _noncentral_stats(_ncf_raw)
FORMULAS["nct_gen._stats"] = _noncentral_stats(_nct_raw)

# ------------------------------------------------------------------------------------------- truncated normal


def log_mass(a: Traced, b: Traced) -> Any:
    """log(Φ(b) − Φ(a)), where each is small if both are on one side."""
    is_left, is_right = b <= 0, a > 0
    low, high = np.where(is_right, -b, a), np.where(is_right, -a, b)  # both to the left
    has_low = low > -np.inf
    upper = sc.log_ndtr(np.where(is_left | is_right, high, 0.0))
    lower = sc.log_ndtr(np.where(has_low & (is_left | is_right), low, -1.0))
    one_side = upper + np.where(has_low, log1mexp(np.minimum(lower - upper, 0.0)), 0.0)
    return np.where(is_left | is_right, one_side, np.log1p(-sc.ndtr(a) - sc.ndtr(-b)))


@instead_of("truncnorm_gen._logpdf")
def truncnorm_logpdf(dist: Distribution, x: Traced, a: Traced, b: Traced) -> Any:
    return -(x**2) / 2.0 - LOG_SQRT_2PI - log_mass(a, b)


def _truncnorm_logs(x: Traced, a: Traced, b: Traced) -> tuple[Any, Any]:
    whole = log_mass(a, b)
    return log_mass(a, x) - whole, log_mass(x, b) - whole


@instead_of("truncnorm_gen._logcdf")
def truncnorm_logcdf(dist: Distribution, x: Traced, a: Traced, b: Traced) -> Any:
    lower, upper = _truncnorm_logs(x, a, b)
    return np.where(lower > -0.1, np.log1p(-np.exp(upper)), lower)


@instead_of("truncnorm_gen._logsf")
def truncnorm_logsf(dist: Distribution, x: Traced, a: Traced, b: Traced) -> Any:
    lower, upper = _truncnorm_logs(x, a, b)
    return np.where(upper > -0.1, np.log1p(-np.exp(lower)), upper)


def _at_ends(dist: Distribution, a: Traced, b: Traced) -> tuple[Any, Any, Any, Any]:
    """The ends and the densities there, an end at infinity being 0."""
    p_a, p_b = [np.exp(truncnorm_logpdf(dist, np.where(np.isinf(x), 0.0, x), a, b)) for x in (a, b)]
    p_a, p_b = np.where(np.isinf(a), 0.0, p_a), np.where(np.isinf(b), 0.0, p_b)
    return np.where(np.isinf(a), 0.0, a), np.where(np.isinf(b), 0.0, b), p_a, p_b


@instead_of("truncnorm_gen._stats")
def truncnorm_stats(dist: Distribution, a: Traced, b: Traced, moments: str = "mv") -> Any:
    low, high, p_a, p_b = _at_ends(dist, a, b)
    m1 = p_a - p_b
    m2 = 1 + p_a * low - p_b * high
    mu2 = 1 + p_a * (low - m1) - p_b * (high - m1)
    m3 = 2 * m1 + p_a * low**2 - p_b * high**2
    m4 = 3 * m2 + p_a * low**3 - p_b * high**3
    mu3 = m3 + m1 * (-3 * m2 + 2 * m1**2)
    mu4 = m4 + m1 * (-4 * m3 + 3 * m1 * (2 * m2 - m1**2))
    return m1, mu2, mu3 / np.power(mu2, 1.5), mu4 / mu2**2 - 3


@instead_of("truncnorm_gen._munp")
def truncnorm_munp(dist: Distribution, n: int, a: Traced, b: Traced) -> Any:
    low, high, p_a, p_b = _at_ends(dist, a, b)
    moments: list[Any] = [0.0, 1.0]
    for k in range(1, int(n) + 1):
        moments.append(p_a * low ** (k - 1) - p_b * high ** (k - 1) + (k - 1) * moments[-2])
    return moments[-1]


# ----------------------------------------------------------------------------------------------------- expectations


class _Expecting(Standard):
    """A distribution as SciPy's ``expect`` sees it: at infinity its distribution function is constant, and the
    quantiles, at which ``expect`` splits the integral, are constants to derivatives."""

    def cdf(self, limits: Sequence[Traced | float], *shapes: Traced, **kwds: Any) -> list[Any]:
        is_infinite = [type(x) is float and math.isinf(x) for x in limits]
        at = lambda x: self._dist.cdf(x, *shapes, **kwds)
        return [float(x > 0) if known else at(x) for x, known in zip(limits, is_infinite, strict=True)]

    def _ppf(self, *xs: Traced) -> Any:
        return wg.stop_gradient(call(self._dist, "_ppf", *map(wg.stop_gradient, xs)))


@intercepts("scipy.stats:rv_continuous.expect")
def expect(
    self: Distribution,
    func: Callable[..., Any] | None = None,
    args: tuple[Any, ...] = (),
    loc: Traced | float = 0,
    scale: Traced | float = 1,
    lb: Traced | float | None = None,
    ub: Traced | float | None = None,
    conditional: bool = False,
    **kwds: Any,
) -> Any:
    """SciPy's own, whose limits at infinity stay there: loc − inf * scale has no derivative."""
    limits: list[Any] = [lb, ub]
    for k, end in enumerate(self._get_support(*args)):
        found = infinity(end if limits[k] is None else limits[k])
        limits[k] = limits[k] if found is None else found
    return original(rv_continuous.expect)(_Expecting(self), func, args, loc, scale, *limits, conditional, **kwds)


# ------------------------------------------------------------------------------------------ moments and entropies


def scaled_exp1(x: Traced) -> Any:
    """x eˣ E₁(x), whose slope is y/x + y − 1."""
    return known("scaled_exp1", "scaled_exp1", scu._scaled_exp1, [lambda x, y: y / x + y - 1], (x,))


if hasattr(scu, "_scaled_exp1"):

    @instead_of("invgauss_gen._entropy")
    def invgauss_entropy(dist: Distribution, mu: Traced) -> Any:
        r = 2 / mu
        return 0.5 * (1.0 + math.log(2 * math.pi) + 3 * np.log(mu)) - 1.5 * (scaled_exp1(r) / r)

    @instead_of("gompertz_gen._entropy")
    def gompertz_entropy(dist: Distribution, c: Traced) -> Any:
        return 1.0 - np.log(c) - scaled_exp1(c) / c


@instead_of("argus_gen._stats")
def argus_stats(dist: Distribution, chi: Traced) -> Any:
    phi = sc.gammainc(1.5, chi**2 / 2) / 2
    m = math.sqrt(math.pi / 8) * chi * sc.ive(1, chi**2 / 4) / phi
    c = np.where(chi > 0.1, chi, 1.0)
    far = 1 - 3 / c**2 + c * np.exp(-(c**2) / 2) / math.sqrt(2 * math.pi) / np.where(chi > 0.1, phi, 1.0)
    coef = [-358 / 65690625, 0, -94 / 1010625, 0, 2 / 2625, 0, 6 / 175, 0, 0.4]
    near: Any = 0.0
    for one in coef:
        near = near * chi + one
    return m, np.where(chi > 0.1, far, near) - m**2, None, None


@instead_of("crystalball_gen._munp")
def crystalball_munp(dist: Distribution, n: int, beta: Traced, m: Traced) -> Any:
    n = int(n)
    tail = m / beta / (m - 1) * np.exp(-(beta**2) / 2.0)
    whole = 1.0 / (tail + math.sqrt(2 * math.pi) * sc.ndtr(beta))
    a, b = (m / beta) ** m * np.exp(-(beta**2) / 2.0), m / beta - beta
    right = 2 ** ((n - 1) / 2.0) * sc.gamma((n + 1) / 2) * (1.0 + (-1) ** n * sc.gammainc((n + 1) / 2, beta**2 / 2))
    left: Any = 0.0
    for k in range(n + 1):
        left = left + math.comb(n, k) * b ** (n - k) * (-1) ** k / (m - k - 1) * (m / beta) ** (-m + k + 1)
    return whole * np.where(n + 1 < m, a * left + right, np.inf)


@instead_of("jf_skew_t_gen._munp")
def jf_skew_t_munp(dist: Distribution, n: int, a: Traced, b: Traced) -> Any:
    n = int(n)
    total: Any = 0.0
    for k in range(n + 1):
        total = total + math.comb(n, k) * (-1) ** k * sc.beta(a + 0.5 * n - k, b - 0.5 * n + k)
    found = (a + b) ** (0.5 * n) / (2**n * sc.beta(a, b)) * total
    return np.where((a > 0.5 * n) & (b > 0.5 * n) & (n >= 0), found, np.nan)


@instead_of("reciprocal_gen._munp")
def reciprocal_munp(dist: Distribution, n: int, a: Traced, b: Traced) -> Any:
    return 1.0 if n == 0 else (b**n - a**n) / (np.log(b) - np.log(a)) / n


@instead_of("pareto_gen._stats")
def pareto_stats(dist: Distribution, b: Traced, moments: str = "mv") -> Any:
    mu = np.where(b > 1, b / (b - 1.0), np.inf)
    mu2 = np.where(b > 2, b / (b - 2.0) / (b - 1.0) ** 2, np.inf)
    g1 = np.where(b > 3, 2 * (b + 1.0) * np.sqrt(b - 2.0) / ((b - 3.0) * np.sqrt(b)), np.nan)
    g2 = np.where(b > 4, 6.0 * (((b + 1.0) * b - 6) * b - 2) / (((b - 7.0) * b + 12.0) * b), np.nan)
    return mu, mu2, g1, g2


def _truncpareto(method: str) -> None:
    @instead_of(f"truncpareto_gen._log{method}")
    def log(dist: Distribution, x: Traced, b: Traced, c: Traced) -> Any:
        direct = np.log(call(dist, f"_{method}", x, b, c))
        return np.where(b > 0, getattr(dist, f"_log{method}_pos_b")(x, np.where(b > 0, b, 1.0), c), direct)


if hasattr(scu, "_scaled_exp1"):  # in the SciPy that has them, these methods call those of the base class
    for _method in ("pdf", "cdf", "sf"):
        _truncpareto(_method)


@instead_of("truncexpon_gen._munp")
def truncexpon_munp(dist: Distribution, n: int, b: Traced) -> Any:
    return n * sc.gamma(n) * sc.gammainc(n + 1, b) / -np.expm1(-b)


@instead_of("t_gen._entropy")
def t_entropy(dist: Distribution, df: Traced) -> Any:
    def formula(df: Traced) -> Any:
        half, half1 = df / 2, (df + 1) / 2
        return half1 * (sc.digamma(half1) - sc.digamma(half)) + 0.5 * np.log(df) + sc.betaln(half, 0.5)

    return scalars(dist, "_entropy", (df,), formula)


def _tukeylambda_quantile(p: Traced, lam: Traced) -> Any:
    return sc.boxcox(p, lam) - sc.boxcox1p(-p, lam)


@instead_of("tukeylambda_gen._entropy")
def tukeylambda_entropy(dist: Distribution, lam: Traced) -> Any:
    def formula(lam: Traced) -> Any:
        return between(lambda p: np.log(p ** (lam - 1) + (1 - p) ** (lam - 1)), 0.0, 1.0, np.ndim(lam))

    return scalars(dist, "_entropy", (lam,), formula)


@instead_of("tukeylambda_gen._stats")
def tukeylambda_stats(dist: Distribution, lam: Traced) -> Any:
    """SciPy's variance and kurtosis, with the derivatives of ∫ Q(p)² dp and ∫ Q(p)⁴ dp."""

    def variance(lam: Traced) -> Any:
        return between(lambda p: _tukeylambda_quantile(p, lam) ** 2, 0.0, 1.0, np.ndim(lam))

    def kurtosis(lam: Traced) -> Any:
        fourth = between(lambda p: _tukeylambda_quantile(p, lam) ** 4, 0.0, 1.0, np.ndim(lam))
        return fourth / variance(lam) ** 2 - 3

    f = code_of(dist, "_stats")
    found = []
    for k, formula in ((1, variance), (3, kurtosis)):
        value = lambda v, k=k: f(dist, v)[k]
        found.append(known(key_of(dist, f"_stats {k}"), f"{dist.name}._stats", value, slopes_of(formula, 1), (lam,)))
    return 0.0, found[0], 0.0, found[1]
