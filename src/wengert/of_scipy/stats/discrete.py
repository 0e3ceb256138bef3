"""``scipy.stats``' discrete distributions on traced values: derivatives in the shapes.

Probabilities are functions of the integer k, which has no derivative, nor has ``loc``, which shifts it. A distribution
function that SciPy sums, or computes in C, has the derivative of a sum of probabilities.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special as sc

import wengert as wg
from wengert.of_scipy.stats.distributions import PLACE, arguments_of, as_array, selected
from wengert.of_scipy.stats.integrals import between
from wengert.of_scipy.stats.known import Slope, known, slope_of, slopes_of
from wengert.of_scipy.stats.methods import (
    FORMULAS,
    Distribution,
    Standard,
    around_median,
    by_scipy,
    call,
    code_of,
    complete,
    count_of,
    instead_of,
    key_of,
    no_slope,
    summed,
)
from wengert.tracing.arguments import Traced, array, unsupported
from wengert.tracing.interception.intercept import intercepts

# ------------------------------------------------------------------------------------------------ public methods


def shifted(k: Traced, loc: Traced) -> Any:
    """k − loc, a constant to derivatives."""
    k = wg.stop_gradient(array(k, (loc,)))
    return k if type(loc) is int and loc == 0 else k - wg.stop_gradient(as_array(loc))


def clipped(p: Traced) -> Any:
    """``np.clip(p, 0, 1)``, whose derivative at 0 and 1 is that of ``p``."""
    return np.where(p > 1, 1.0, np.where(p < 0, 0.0, p))


def probability(
    dist: Distribution, k: Traced, args: Sequence[Any], kwds: dict[str, Any], name: str, outside: float
) -> Any:
    given = arguments_of(dist, args, kwds)
    k = shifted(k, given.loc)
    a, b = Standard(dist)._get_support(*given.shapes)
    is_in = (k >= a) & (k <= b)
    if type(dist).__name__ != "rv_sample":
        is_in = is_in & Standard(dist)._nonzero(k, *given.shapes)
    found = call(dist, name, np.where(is_in, k, a if np.all(np.isfinite(a)) else 0), *given.shapes)
    if name == "_pmf":
        found = clipped(found)
    return selected(np.where(is_in, found, outside), k, [], given.is_valid, False)


@intercepts(PLACE + "rv_discrete.pmf")
def pmf(self: Distribution, k: Traced, *args: Any, **kwds: Any) -> Any:
    return probability(self, k, args, kwds, "_pmf", 0.0)


@intercepts(PLACE + "rv_discrete.logpmf")
def logpmf(self: Distribution, k: Traced, *args: Any, **kwds: Any) -> Any:
    return probability(self, k, args, kwds, "_logpmf", -np.inf)


def cumulated(
    dist: Distribution,
    k: Traced,
    args: Sequence[Any],
    kwds: dict[str, Any],
    name: str,
    below: float,
    above: float,
) -> Any:
    given = arguments_of(dist, args, kwds)
    k = shifted(k, given.loc)
    a, b = Standard(dist)._get_support(*given.shapes)
    is_in = (k >= a) & (k < b) & np.isfinite(k)
    found = call(dist, name, np.where(is_in, k, a if np.all(np.isfinite(a)) else 0), *given.shapes)
    if "log" not in name:
        found = clipped(found)
    found = np.where(is_in, found, np.where(k >= b, above, below))
    return selected(found, k, [], given.is_valid, False)


@intercepts(PLACE + "rv_discrete.cdf")
def cdf(self: Distribution, k: Traced, *args: Any, **kwds: Any) -> Any:
    return cumulated(self, k, args, kwds, "_cdf", 0.0, 1.0)


@intercepts(PLACE + "rv_discrete.logcdf")
def logcdf(self: Distribution, k: Traced, *args: Any, **kwds: Any) -> Any:
    return cumulated(self, k, args, kwds, "_logcdf", -np.inf, 0.0)


@intercepts(PLACE + "rv_discrete.sf")
def sf(self: Distribution, k: Traced, *args: Any, **kwds: Any) -> Any:
    return cumulated(self, k, args, kwds, "_sf", 1.0, 0.0)


@intercepts(PLACE + "rv_discrete.logsf")
def logsf(self: Distribution, k: Traced, *args: Any, **kwds: Any) -> Any:
    return cumulated(self, k, args, kwds, "_logsf", 0.0, -np.inf)


def quantile(dist: Distribution, q: Traced, args: Sequence[Any], kwds: dict[str, Any], name: str) -> Any:
    """A quantile is an integer: SciPy computes it, and its derivative is zero where it has one."""
    shapes, loc, _ = dist._parse_args(*args, **kwds)
    f = getattr(dist, name.removeprefix("_"))
    constants = [wg.stop_gradient(array(x, (q, *shapes, loc))) for x in (q, loc, *shapes)]

    def value(q: Traced, loc: Traced, *shapes: Traced) -> Any:
        return f(q, *_given(dist, shapes), loc=loc)

    return known((*key_of(dist, name), "public"), f"{dist.name}.{name}", value, [no_slope] * len(constants), constants)[
        ()
    ]


def _given(dist: Distribution, shapes: Sequence[Any]) -> Sequence[Any]:
    """The shapes as the public methods take them: those of poisson_binom are one array."""
    return [np.stack(shapes, axis=-1)] if dist.name == "poisson_binom" else shapes


@intercepts(PLACE + "rv_discrete.ppf")
def ppf(self: Distribution, q: Traced, *args: Any, **kwds: Any) -> Any:
    return quantile(self, q, args, kwds, "_ppf")


@intercepts(PLACE + "rv_discrete.isf")
def isf(self: Distribution, q: Traced, *args: Any, **kwds: Any) -> Any:
    return quantile(self, q, args, kwds, "_isf")


# --------------------------------------------------------------------------------------------- private methods


def with_slopes(name: str, slopes: Callable[[Distribution], Sequence[Slope]]) -> None:
    """Let a method be SciPy's, with these slopes."""
    method = name.rpartition(".")[2]
    FORMULAS[name] = lambda dist, *xs: by_scipy(dist, method, xs, list(slopes(dist)))


def with_formula(name: str, f: Callable[..., Any], *, fixed: Sequence[int] = ()) -> None:
    """Let a method be SciPy's, with the derivatives of ``f``; in k, and in the arguments ``fixed``, there are none."""
    method = name.rpartition(".")[2]

    def stand_in(dist: Distribution, *xs: Traced) -> Any:
        slopes = slopes_of(f, len(xs))
        slopes[0] = no_slope
        for k in fixed:
            slopes[k] = COUNTS
        return by_scipy(dist, method, xs, slopes)

    FORMULAS[name] = stand_in


COUNTS = "it counts, and has no derivative"


def binom_logpmf(k: Traced, n: Traced, p: Traced) -> Any:
    by_count = sc.gammaln(n + 1) - sc.gammaln(k + 1) - sc.gammaln(n - k + 1)
    return by_count + sc.xlogy(k, p) + sc.xlog1py(n - k, -p)


def binom_cdf(k: Traced, n: Traced | float, p: Traced) -> Any:
    return sc.betainc(n - np.floor(k), np.floor(k) + 1, 1 - p)


def _power(x: Traced, n: Traced) -> Any:
    """xⁿ, whose derivative at x = 0 is finite for n ≥ 0."""
    return np.where(n == 0, 1.0, x ** np.where(n == 0, 1.0, n))


def binom_pmf(k: Traced, n: Traced | float, p: Traced) -> Any:
    by_count = np.exp(sc.gammaln(n + 1) - sc.gammaln(k + 1) - sc.gammaln(n - k + 1))
    return by_count * _power(p, k) * _power(1 - p, n - k)


with_formula("binom_gen._pmf", binom_pmf, fixed=[1])
with_formula("binom_gen._cdf", binom_cdf, fixed=[1])
with_formula("binom_gen._sf", lambda k, n, p: 1 - binom_cdf(k, n, p), fixed=[1])


@instead_of("binom_gen._logpmf")
def binom_log(dist: Distribution, k: Traced, n: Traced, p: Traced) -> Any:
    return binom_logpmf(np.floor(k), n, p)


for _method, _f in (
    ("_pmf", binom_pmf),
    ("_cdf", binom_cdf),
    ("_sf", lambda k, n, p: 1 - binom_cdf(k, n, p)),
):
    with_formula(f"bernoulli_gen.{_method}", lambda k, p, f=_f: f(k, 1.0, p))


def nbinom_logpmf(k: Traced, n: Traced, p: Traced) -> Any:
    return sc.gammaln(n + k) - sc.gammaln(k + 1) - sc.gammaln(n) + n * np.log(p) + sc.xlog1py(k, -p)


def nbinom_cdf(k: Traced, n: Traced, p: Traced) -> Any:
    return sc.betainc(n, np.floor(k) + 1, p)


with_formula("nbinom_gen._pmf", lambda k, n, p: np.exp(nbinom_logpmf(k, n, p)))
with_formula("nbinom_gen._cdf", nbinom_cdf)
with_formula("nbinom_gen._sf", lambda k, n, p: 1 - nbinom_cdf(k, n, p))
with_formula("nbinom_gen._logcdf", lambda k, n, p: np.log(nbinom_cdf(k, n, p)))


@instead_of("nbinom_gen._stats")
def nbinom_stats(dist: Distribution, n: Traced, p: Traced) -> Any:
    q = 1 - p
    return n * q / p, n * q / p**2, (1 + q) / np.sqrt(n * q), 6.0 / n + p**2 / (n * q)


def _no_slopes(dist: Distribution, count: int) -> list[Slope]:
    return [no_slope, *[COUNTS] * (count - 1)]


for _method in ("_pmf", "_cdf", "_sf", "_logcdf", "_logsf", "_logpmf"):
    with_slopes(f"hypergeom_gen.{_method}", lambda dist: _no_slopes(dist, 4))
with_slopes("nhypergeom_gen._logpmf", lambda dist: _no_slopes(dist, 4))
FORMULAS["hypergeom_gen._stats"] = lambda dist, *xs: _tuple_of(dist, xs, [[COUNTS] * 3] * 4)


def _tuple_of(dist: Distribution, xs: Sequence[Traced], slopes: Sequence[Sequence[Slope] | None]) -> tuple[Any, ...]:
    """SciPy's mean, variance, skew and kurtosis, each with its slopes; None where SciPy gives None."""
    f = code_of(dist, "_stats")
    found: list[Any] = []
    for k, rules in enumerate(slopes):
        value = lambda *vs, k=k: f(dist, *vs)[k]
        key = key_of(dist, f"_stats {k}")
        found.append(None if rules is None else known(key, f"{dist.name}._stats", value, rules, xs))
    return tuple(found)


def skellam_pmf(k: Traced, a: Traced, b: Traced) -> Any:
    """exp(−a − b) (a/b)^{k/2} I_|k|(2 √(ab))."""
    z = 2 * np.sqrt(a * b)
    return np.exp(-((np.sqrt(a) - np.sqrt(b)) ** 2) + k / 2 * (np.log(a) - np.log(b))) * sc.ive(np.abs(k), z)


def skellam_cdf(k: Traced, a: Traced, b: Traced) -> Any:
    k = np.floor(k)
    is_low = k < 0
    low = sc.chndtr(2 * b, np.where(is_low, -2 * k, 2.0), 2 * a)
    return np.where(is_low, low, 1 - sc.chndtr(2 * a, np.where(is_low, 2.0, 2 * (k + 1)), 2 * b))


with_formula("skellam_gen._pmf", skellam_pmf)
with_formula("skellam_gen._cdf", skellam_cdf)


def _logser_sf(dist: Distribution, k: Traced, p: Traced) -> Any:
    """SciPy's value; ∂/∂p is that of 1 less the sum of the probabilities."""
    return by_scipy(dist, "_sf", (k, p), [no_slope, lambda k, p, y: logser_sf_slope(k, p)])


def logser_sf_slope(k: Traced, p: Traced) -> Any:
    """Slope by p, from S = Σ_{j>k} pʲ/j = −L sf and S' = pᵏ/(1 − p), L = log(1 − p): (sf − pᵏ) / ((1 − p) L)."""
    log = np.log1p(-p)
    tiny = 1e-100
    found = -sc.betainc(k + 1, tiny, p) * sc.beta(k + 1, tiny) / log
    return (found - p**k) / ((1 - p) * log)


FORMULAS["logser_gen._sf"] = _logser_sf
FORMULAS["logser_gen._cdf"] = lambda dist, k, p: 1 - _logser_sf(dist, np.floor(k), p)


def _harmonic(n: Traced, a: Traced, count: int) -> Any:
    j = np.arange(1.0, count + 1).reshape(count, *[1] * max(np.ndim(n), np.ndim(a)))
    return np.sum(np.where(j <= n, j**-a, 0.0), axis=0)


def _zipfian(method: str, f: Callable[..., Any]) -> None:
    def stand_in(dist: Distribution, k: Traced, a: Traced, n: Traced) -> Any:
        count = count_of(n)

        def formula(a: Traced, k: Traced, n: Traced) -> Any:
            assert count is not None
            return f(np.floor(k), a, np.floor(n), functools.partial(_harmonic, count=count))

        by_a: Slope = lambda k, a, n, y: slope_of(formula, 0, a, k, n)
        why = "the derivative needs to know how many terms there are; here n has no value"
        slopes = [no_slope, by_a if count else why, COUNTS]
        value = functools.partial(code_of(dist, method), dist)
        return known((*key_of(dist, method), count), f"{dist.name}.{method}", value, slopes, (k, a, n))

    FORMULAS[f"zipfian_gen.{method}"] = stand_in


_zipfian("_pmf", lambda k, a, n, harmonic: k**-a / harmonic(n, a))
_zipfian("_cdf", lambda k, a, n, harmonic: harmonic(k, a) / harmonic(n, a))
_zipfian("_sf", lambda k, a, n, harmonic: 1 - harmonic(k, a) / harmonic(n, a))


@instead_of("zipfian_gen._stats")
def zipfian_stats(dist: Distribution, a: Traced, n: Traced) -> Any:
    n, count = np.floor(n), count_of(n)
    if count is None:
        return _tuple_of(dist, (a, n), [["the number of terms has no value here", COUNTS]] * 4)
    h = [_harmonic(n, a - j, count) for j in range(5)]
    mean, m2, m3, m4 = [x / h[0] for x in h[1:]]
    var = m2 - mean**2
    skew = (m3 - 3 * mean * m2 + 2 * mean**3) / var**1.5
    return mean, var, skew, (m4 - 4 * mean * m3 + 6 * mean**2 * m2 - 3 * mean**4) / var**2 - 3


def _biased(k: Traced, total: Traced, good: Traced, drawn: Traced, odds: Traced, count: int) -> Any:
    """Fisher's noncentral hypergeometric probability: C(m, k) C(N − m, n − k) ωᵏ over its sum."""

    def log_weight(j: Traced) -> Any:
        bad = total - good
        first = sc.gammaln(j + 1) + sc.gammaln(good - j + 1)
        second = sc.gammaln(drawn - j + 1) + sc.gammaln(bad - drawn + j + 1)
        return j * np.log(odds) - first - second

    low, high = np.maximum(0.0, drawn - total + good), np.minimum(drawn, good)
    j = low + np.arange(float(count)).reshape(count, *[1] * max(map(np.ndim, (k, total, good, drawn, odds))))
    is_in = j <= high
    inside = np.clip(k, low, high)
    ratios = np.exp(log_weight(np.where(is_in, j, low)) - log_weight(inside))
    return np.where(k == inside, 1.0 / np.sum(np.where(is_in, ratios, 0.0), axis=0), 0.0)


def _wallenius(k: Traced, total: Traced, good: Traced, drawn: Traced, odds: Traced) -> Any:
    """C(m, k) C(N − m, n − k) ∫₀¹ (1 − t^{ω/d})ᵏ (1 − t^{1/d})^{n − k} dt, d = ω (m − k) + (N − m − n + k)."""
    bad = total - good
    left = drawn - k
    log_c = sc.gammaln(good + 1) - sc.gammaln(k + 1) - sc.gammaln(good - k + 1)
    log_c = log_c + sc.gammaln(bad + 1) - sc.gammaln(left + 1) - sc.gammaln(bad - left + 1)
    d = odds * (good - k) + (bad - left)
    ndim = max(map(np.ndim, (k, total, good, drawn, odds)))

    def integrand(t: Traced) -> Any:
        log_t = np.log(t)
        one = k * np.log(-np.expm1(odds / d * log_t)) + left * np.log(-np.expm1(log_t / d))
        return np.exp(one + log_c)

    return np.where(d > 0, between(integrand, 0.0, 1.0, ndim), 1.0)


def _noncentral_pmf(dist: Distribution, *xs: Traced) -> Any:
    name = type(dist).__name__
    count = count_of(xs[3])
    if "wallenius" in name:
        formula: Callable[..., Any] = _wallenius
    elif count is None:
        formula = _unknown_count
    else:
        formula = functools.partial(_biased, count=count)
    slopes: list[Slope] = [no_slope, COUNTS, COUNTS, COUNTS, lambda *xs_y: slope_of(formula, 4, *xs_y[:-1])]
    value = functools.partial(code_of(dist, "_pmf"), dist)
    return known((*key_of(dist, "_pmf"), count), f"{dist.name}._pmf", value, slopes, xs)


def _unknown_count(*xs: Traced) -> Any:
    return np.nan * xs[-1]


FORMULAS["_nchypergeom_gen._pmf"] = _noncentral_pmf


@instead_of("_nchypergeom_gen._stats")
def _noncentral_stats(dist: Distribution, *shapes: Traced, moments: str = "mv") -> Any:
    """SciPy's mean and variance, with the derivatives of sums over the probabilities."""
    count = count_of(shapes[2])
    if count is None:
        slopes: list[Slope] = [COUNTS, COUNTS, COUNTS, "the number of terms has no value here"]
        return (*_tuple_of(dist, shapes, [slopes] * 2), None, None)

    def raw(n: int, *shapes: Traced) -> Any:
        low, high = dist._get_support(*shapes)
        j = low + np.arange(float(count)).reshape(count, *[1] * max(map(np.ndim, shapes)))
        is_in = j <= high
        j = np.where(is_in, j, low)
        return np.sum(np.where(is_in, j**n * call(dist, "_pmf", j, *shapes), 0.0), axis=0)

    mean, second = raw(1, *shapes), raw(2, *shapes)
    values = _tuple_of(dist, [wg.stop_gradient(x) for x in shapes], [[COUNTS] * 4] * 2)
    found = [v + x - wg.stop_gradient(x) for v, x in zip(values, (mean, second - mean**2), strict=True)]
    return (*found, None, None)


def _noncentral_cdf(dist: Distribution, k: Traced, *shapes: Traced) -> Any:
    count = count_of(shapes[2])
    if count is None:
        raise unsupported(f"scipy.stats.{dist.name}: the number of terms has no value here")
    low, high = dist._get_support(*shapes)
    j = low + np.arange(float(count)).reshape(count, *[1] * max(map(np.ndim, (k, *shapes))))
    is_in = j <= np.minimum(np.floor(k), high)
    return np.sum(np.where(is_in, call(dist, "_pmf", np.where(is_in, j, low), *shapes), 0.0), axis=0)


@instead_of("rv_discrete._cdf")
def summed_cdf(dist: Distribution, *xs: Traced) -> Any:
    return _noncentral_cdf(dist, *xs) if dist.name.startswith("nchypergeom_") else summed(dist, "_cdf", *xs)


def _poisson_binomial(probabilities: Sequence[Traced]) -> list[Any]:
    """The probabilities of 0 to n successes, by adding one trial after another."""
    found: list[Any] = [1.0 + 0.0 * probabilities[0]]
    for p in probabilities:
        shifted_up = [0.0, *found]
        found = [x * (1 - p) + y * p for x, y in zip([*found, 0.0], shifted_up, strict=True)]
    return found


@instead_of("poisson_binom_gen._pmf")
def poisson_binom_pmf(dist: Distribution, k: Traced, *ps: Traced) -> Any:
    found: Any = 0.0
    for j, one in enumerate(_poisson_binomial(ps)):
        found = np.where(np.floor(k) == j, one, found)
    return found


@instead_of("poisson_binom_gen._cdf")
def poisson_binom_cdf(dist: Distribution, k: Traced, *ps: Traced) -> Any:
    found: Any = 0.0
    for j, one in enumerate(_poisson_binomial(ps)):
        found = found + np.where(np.floor(k) >= j, one, 0.0)
    return found


def _scalars(dist: Distribution, name: str) -> Callable[..., Any]:
    """A method that SciPy calls with numbers."""
    f = code_of(dist, name)
    return np.vectorize(lambda *vs: f(dist, *vs), otypes=[np.float64])


def _entropy_of(log_p: Traced, is_in: Traced) -> Any:
    p = np.where(is_in, np.exp(log_p), 0.0)
    return np.sum(np.where(p > 0, -p * log_p, 0.0), axis=0)


def _entropy_by_sum(dist: Distribution, *shapes: Traced) -> Any:
    """−Σ p log p: SciPy's value, with the derivative of the sum over the integers where SciPy sums."""

    def formula(*shapes: Traced) -> Any:
        k, is_in = around_median(dist, shapes)
        log_p = call(dist, "_logpmf", k, *shapes)
        return complete(_entropy_of(log_p, is_in), np.sum(np.where(is_in, np.exp(log_p), 0.0), axis=0))

    slopes = slopes_of(formula, len(shapes))
    return known(key_of(dist, "_entropy"), f"{dist.name}._entropy", _scalars(dist, "_entropy"), slopes, shapes)


FORMULAS["binom_gen._entropy"] = _entropy_by_sum


@instead_of("hypergeom_gen._entropy")
def hypergeom_entropy(dist: Distribution, *shapes: Traced) -> Any:
    return known(key_of(dist, "_entropy"), "hypergeom._entropy", _scalars(dist, "_entropy"), [COUNTS] * 3, shapes)


def _bounded_entropy(dist: Distribution, *shapes: Traced) -> Any:
    """The entropy of a distribution whose largest integer is no more than one of its shapes."""
    count = count_of(shapes[1] if dist.name == "zipfian" else shapes[2])
    if count is None:
        raise unsupported(f"scipy.stats.{dist.name}.entropy: the number of terms has no value here")
    a, b = dist._get_support(*shapes)
    k = a + np.arange(float(count)).reshape(count, *[1] * max(map(np.ndim, shapes)))
    is_in = k <= b
    return _entropy_of(call(dist, "_logpmf", np.where(is_in, k, a), *shapes), is_in)


@instead_of("rv_discrete._entropy")
def entropy(dist: Distribution, *shapes: Traced) -> Any:
    is_bounded = dist.name == "zipfian" or dist.name.startswith("nchypergeom_")
    return _bounded_entropy(dist, *shapes) if is_bounded else _entropy_by_sum(dist, *shapes)
