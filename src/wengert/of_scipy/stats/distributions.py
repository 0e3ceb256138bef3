"""The public methods of ``scipy.stats``' univariate distributions on traced values, frozen or not.

As in SciPy, ``logpdf(x, *shapes, loc, scale)`` is ``_logpdf(y, *shapes) - log(scale)`` at y = (x − loc) / scale,
where y is in the support, and NaN where an argument is not allowed. SciPy evaluates only what is in the support; here
``np.where`` selects. A method that needs no selection has none: ``norm.logpdf`` is the formula and no more.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rv_continuous

from wengert.of_scipy.stats.methods import Distribution, Standard, call, code_of, is_finite
from wengert.tracing.arguments import Traced, array, as_dtype, holds_traced, is_number, scalar
from wengert.tracing.interception.asking import AT_OBJECT
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.python.frames import calling_frame
from wengert.tracing.tracer import Tracer

PLACE = "scipy.stats._distn_infrastructure:"

NAN_THROUGH = frozenset(
    [
        "norm",
        "logistic",
        "cauchy",
        "gumbel_r",
        "gumbel_l",
        "t",
        "laplace",
        "expon",
        "gamma",
        "chi2",
        "lognorm",
        "halfnorm",
        "halfcauchy",
        "beta",
        "weibull_min",
        "invgamma",
        "rayleigh",
        "maxwell",
        "chi",
        "f",
        "pareto",
        "exponnorm",
    ]
)
"""Distributions of SciPy's whose formulas give NaN at NaN, so that nothing need be selected there."""


class Arguments(NamedTuple):
    """The arguments of a call: arrays, traced unless they are numbers."""

    shapes: tuple[Any, ...]
    loc: Any
    scale: Any
    is_valid: Any
    """Where the shapes and the scale are allowed; True, if all are known to be."""


def as_array(x: Traced) -> Any:
    """``np.asarray(x)``, traced unless it is a number."""
    return np.asarray(x) if is_number(x) else array(x)


def arguments_of(dist: Distribution, args: Sequence[Any], kwds: dict[str, Any], checks_scale: bool = True) -> Arguments:
    shapes, loc, scale = dist._parse_args(*args, **kwds)
    shapes = tuple(map(as_array, shapes))
    checks = [dist._argcheck(*shapes)]
    if checks_scale:
        checks.append(scale > 0 if is_number(scale) else as_array(scale) > 0)
    checks = [check for check in checks if type(check) is Tracer or not np.all(check)]
    is_valid = functools.reduce(np.logical_and, checks) if checks else True
    return Arguments(shapes, loc, scale, is_valid)


def as_double(x: Traced) -> Any:
    return as_dtype(x, np.promote_types(x.dtype, np.float64))


def standardized(x: Traced, loc: Traced, scale: Traced) -> Any:
    """(x − loc) / scale; loc 0 and scale 1 change nothing, but for the dtype."""
    if not (is_number(loc) and loc == 0):
        x = x - as_array(loc)
    if not (is_number(scale) and scale == 1):
        x = x / as_array(scale)
    return as_double(x)


def is_plain(dist: Distribution) -> bool:
    return dist.name in NAN_THROUGH and type(dist).__module__.startswith("scipy.")


def is_open(dist: Distribution) -> bool:
    return code_of(dist, "_support_mask") is rv_continuous._open_support_mask


def ends(dist: Distribution, shapes: Sequence[Any]) -> tuple[Any, Any]:
    """The ends of the support; None where there is none."""
    a, b = Standard(dist)._get_support(*shapes)
    return (a if is_finite(a) else None), (b if is_finite(b) else None)


def selected(found: Traced, y: Traced, cases: Sequence[tuple[Any, Any]], is_valid: Any, is_safe: bool) -> Any:
    """``found``, but the value of the first case whose condition holds, and NaN where an argument is."""
    for condition, value in reversed(cases):
        found = np.where(condition, value, found)
    if not is_safe:
        found = np.where(y != y, np.nan, found)
    if is_valid is not True:
        found = np.where(is_valid, found, np.nan)
    return scalar(found)


def in_support(
    dist: Distribution, x: Traced, args: Any, kwds: Any, name: str, outside: float, per_scale: Callable[..., Any]
) -> Any:
    """A density: ``outside`` of the support it is that."""
    x = as_array(x)
    is_log_of_scale = is_plain(dist) and name == "_logpdf"  # which is NaN of a scale below 0, and inf − inf of 0
    given = arguments_of(dist, args, kwds, not (is_log_of_scale and dist.a == -np.inf and dist.b == np.inf))
    a, b = ends(dist, given.shapes)
    scale, is_valid = given.scale, given.is_valid
    if is_valid is not True and a is None and b is None:  # an invalid argument is NaN before anything is computed
        scale, is_valid = np.where(is_valid, as_array(scale), np.nan), True
    y = standardized(array(x), given.loc, scale)
    cases: list[tuple[Any, Any]] = []
    if a is not None:
        cases.append(((y <= a) if is_open(dist) else (y < a), outside))
    if b is not None:
        cases.append(((y >= b) if is_open(dist) else (y > b), outside))
    if is_open(dist) and (a is None or b is None):
        cases.append((np.isinf(y), outside))
    if not is_plain(dist) and code_of(dist, "_support_mask") not in (
        rv_continuous._support_mask,
        rv_continuous._open_support_mask,
    ):
        cases.append((~Standard(dist)._support_mask(y, *given.shapes) & (y == y), outside))
    found = call(dist, name, y, *given.shapes)
    if not (is_number(scale) and scale == 1):
        found = per_scale(found, as_array(scale))
    return selected(found, y, cases, is_valid, is_plain(dist))


@intercepts(PLACE + "rv_continuous.pdf")
def pdf(self: Distribution, x: Traced, *args: Any, **kwds: Any) -> Any:
    return in_support(self, x, args, kwds, "_pdf", 0.0, np.divide)


@intercepts(PLACE + "rv_continuous.logpdf")
def logpdf(self: Distribution, x: Traced, *args: Any, **kwds: Any) -> Any:
    return in_support(self, x, args, kwds, "_logpdf", -np.inf, lambda found, scale: found - np.log(scale))


def cumulated(dist: Distribution, x: Traced, args: Any, kwds: Any, name: str, at_a: float, at_b: float) -> Any:
    """A distribution function, with its values at the ends of the support."""
    given = arguments_of(dist, args, kwds)
    y = standardized(array(x), given.loc, given.scale)
    a, b = ends(dist, given.shapes)
    cases: list[tuple[Any, Any]] = []
    for end, value, sign in ((b, at_b, 1), (a, at_a, -1)):
        if end is not None:
            cases.append(((y >= end) if sign > 0 else (y <= end), value))
        elif not is_plain(dist):
            cases.append((y == sign * np.inf, value))
    return selected(call(dist, name, y, *given.shapes), y, cases, given.is_valid, is_plain(dist))


@intercepts(PLACE + "rv_continuous.cdf")
def cdf(self: Distribution, x: Traced, *args: Any, **kwds: Any) -> Any:
    return cumulated(self, x, args, kwds, "_cdf", 0.0, 1.0)


@intercepts(PLACE + "rv_continuous.logcdf")
def logcdf(self: Distribution, x: Traced, *args: Any, **kwds: Any) -> Any:
    return cumulated(self, x, args, kwds, "_logcdf", -np.inf, 0.0)


@intercepts(PLACE + "rv_continuous.sf")
def sf(self: Distribution, x: Traced, *args: Any, **kwds: Any) -> Any:
    return cumulated(self, x, args, kwds, "_sf", 1.0, 0.0)


@intercepts(PLACE + "rv_continuous.logsf")
def logsf(self: Distribution, x: Traced, *args: Any, **kwds: Any) -> Any:
    return cumulated(self, x, args, kwds, "_logsf", 0.0, -np.inf)


def quantile(dist: Distribution, q: Traced, args: Any, kwds: Any, name: str, at_0: int, at_1: int) -> Any:
    """A quantile, with the ends of the support (0 and 1, of which ``at_0`` and ``at_1`` are the numbers) at 0 and 1."""
    given = arguments_of(dist, args, kwds)
    q = as_double(array(q))
    a_b = Standard(dist)._get_support(*given.shapes)
    is_inside = (q > 0) & (q < 1)
    found = call(dist, name, np.where(is_inside, q, 0.5), *given.shapes)
    found = np.where(q == 0, a_b[at_0], np.where(q == 1, a_b[at_1], found))
    if not (is_number(given.scale) and given.scale == 1):
        found = found * as_array(given.scale)
    if not (is_number(given.loc) and given.loc == 0):
        found = found + as_array(given.loc)
    found = np.where((q >= 0) & (q <= 1), found, np.nan)
    if given.is_valid is not True:
        found = np.where(given.is_valid, found, np.nan)
    return scalar(found)


@intercepts(PLACE + "rv_continuous.ppf")
def ppf(self: Distribution, q: Traced, *args: Any, **kwds: Any) -> Any:
    return quantile(self, q, args, kwds, "_ppf", 0, 1)


@intercepts(PLACE + "rv_continuous.isf")
def isf(self: Distribution, q: Traced, *args: Any, **kwds: Any) -> Any:
    return quantile(self, q, args, kwds, "_isf", 1, 0)


# ------------------------------------------------------------------------------------------------------ moments


@intercepts(PLACE + "rv_generic.stats")
def stats(self: Distribution, *args: Any, moments: str = "mv", **kwds: Any) -> Any:
    """Mean, variance, skew and kurtosis, as far as ``moments`` names them."""
    given = arguments_of(self, args, kwds)
    near = (*given.shapes, given.loc, given.scale)
    options = {"moments": moments} if self._stats_has_moments else {}
    found = call(self, "_stats", *given.shapes, **options)
    known: dict[str, Any] = {m: value for m, value in zip("mvsk", found, strict=True) if value is not None}

    def munp(n: int) -> Any:
        return call(self, "_munp", n, *given.shapes)

    def moment(m: str) -> Any:
        """Mean, variance, skew or kurtosis: of _stats, or by moments about 0."""
        if m not in known:
            known[m] = by_moments(m)
        return known[m]

    def by_moments(m: str) -> Any:
        if m == "m":
            return munp(1)
        mu = moment("m")
        if m == "v":
            return np.where(np.isinf(mu), np.inf, munp(2) - mu**2)
        mu2 = moment("v")
        if m == "s":
            return ((-mu * mu - 3 * mu2) * mu + munp(3)) / np.power(mu2, 1.5)
        mu3 = moment("s") * np.power(mu2, 1.5)
        return (((-(mu**2) - 6 * mu2) * mu - 4 * mu3) * mu + munp(4)) / mu2**2.0 - 3.0

    loc, scale = as_array(given.loc), as_array(given.scale)
    shape = np.broadcast_shapes(*[np.shape(x) for x in near])
    results = []
    for m in [m for m in "mvsk" if m in moments]:
        value = moment(m)
        value = value * scale + loc if m == "m" else value * scale * scale if m == "v" else value
        value = np.where(given.is_valid & (loc == loc), as_double(array(value, near)), np.nan)
        results.append(scalar(np.broadcast_to(value, shape)))
    return results[0] if len(results) == 1 else tuple(results)


@intercepts(PLACE + "rv_generic.moment")
def moment(self: Distribution, order: int, *args: Any, **kwds: Any) -> Any:
    """E Xⁿ = Σ_k (n over k) locⁿ⁻ᵏ scaleᵏ m_k, of the moments m_k of the standard distribution."""
    if int(order) != order:
        raise ValueError("Moment must be an integer.")
    if order < 0:
        raise ValueError("Moment must be positive.")
    n, given = int(order), arguments_of(self, args, kwds)
    near = (*given.shapes, given.loc, given.scale)
    loc, scale = as_array(given.loc), as_array(given.scale)
    standard = [1.0, *_standard_moments(self, given.shapes, n)]
    value: Any = sum(math.comb(n, k) * loc ** (n - k) * scale**k * m for k, m in enumerate(standard))
    value = np.where(given.is_valid & (loc == loc), as_double(array(value, near)), np.nan)
    return scalar(np.broadcast_to(value, np.broadcast_shapes(*[np.shape(x) for x in near])))


def _standard_moments(self: Distribution, shapes: Sequence[Any], n: int) -> list[Any]:
    """The moments about 0 up to the n-th: up to the fourth of mean, variance, skew and kurtosis, as SciPy's."""
    if n == 0:
        return []
    found = stats(self, *shapes, moments="mvsk"[:n])
    mean, variance, skew, kurtosis = [*(found if n > 1 else [found]), 0.0, 0.0, 0.0][:4]
    third = skew * variance**1.5
    fourth = (kurtosis + 3) * variance**2
    known = [
        mean,
        variance + mean**2,
        third + 3 * mean * variance + mean**3,
        fourth + 4 * mean * third + 6 * mean**2 * variance + mean**4,
    ]
    return [*known[:n], *[call(self, "_munp", k, *shapes) for k in range(5, n + 1)]]


@intercepts(PLACE + "rv_generic.entropy")
def entropy(self: Distribution, *args: Any, **kwds: Any) -> Any:
    given = arguments_of(self, args, kwds)
    near = (*given.shapes, given.loc, given.scale)
    found = as_double(array(call(self, "_entropy", *given.shapes), near))
    if not (is_number(given.scale) and given.scale == 1):
        found = found + np.log(as_array(given.scale))
    found = np.broadcast_to(found, np.broadcast_shapes(*[np.shape(x) for x in near]))
    return selected(found, found, [(as_array(given.loc) != as_array(given.loc), np.nan)], given.is_valid, True)


# ------------------------------------------------------------------------------- distributions of SciPy 1.15 and later


@intercepts("scipy.stats._distribution_infrastructure:UnivariateDistribution.cache_policy.fget", AT_OBJECT)
def cache_policy(self: Any) -> Any:
    """A distribution of constants, which the traced function may have captured, keeps nothing that is computed in a
    trace: the function would write it, and a compiled one would do so once. SciPy asks for the policy before it keeps
    anything."""
    caller = calling_frame(2)  # 1 is the one that runs the code which asks
    is_scipys = str(caller.f_globals.get("__name__")).startswith("scipy.stats.")
    return "no_cache" if is_scipys and not holds_traced([*self._parameters.values()]) else NotImplemented
