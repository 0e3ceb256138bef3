"""The methods of a distribution's standard form (``_logpdf``, ``_cdf``, ``_ppf`` ...), called with traced arrays.

SciPy's own code runs, if it is NumPy and special functions: that is most of it. Where it is C, loops or numerical
integration, what stands in its place is found in :data:`FORMULAS`, by the name of the function that SciPy would call:
``"beta_gen._pdf"``. What no distribution overrides (``_logsf``, the integral ``_cdf``, the root ``_ppf``) is here.

SciPy's code gets a :class:`Standard` for ``self``, so the methods that it calls in turn come back here.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from scipy.stats import rv_discrete

import wengert as wg
from wengert.of_scipy.stats.integrals import above, below, between
from wengert.of_scipy.stats.known import Slope, known, slope_of, slopes_of
from wengert.tracing.arguments import Traced, concrete
from wengert.tracing.interception.python_functions import original
from wengert.tracing.looking import has_values
from wengert.tracing.tracer import Tracer


class Distribution(Protocol):
    """A distribution of SciPy's, or the user's, of a class like theirs."""

    name: str
    a: float
    b: float

    def __getattr__(self, name: str) -> Any: ...


FORMULAS: dict[str, Callable[..., Any]] = {}
"""The formulas that stand in the place of SciPy's functions, by their qualified names: ``f(dist, *xs)``."""

INNER = frozenset(
    [
        "_pdf",
        "_logpdf",
        "_cdf",
        "_logcdf",
        "_sf",
        "_logsf",
        "_ppf",
        "_isf",
        "_pmf",
        "_logpmf",
        "_entropy",
        "_munp",
        "_stats",
        "_rvs",
        "_logpxf",
    ]
)


def instead_of(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate what is called in the place of SciPy's functions of these qualified names."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            FORMULAS[name] = f
        return f

    return register


class Standard:
    """A distribution as SciPy's own code sees it: its methods are called by :func:`call`, all else is SciPy's."""

    def __init__(self, dist: Distribution) -> None:
        self._dist = dist

    def __getattr__(self, name: str) -> Any:
        if name in INNER:
            return functools.partial(call, self._dist, name)
        return getattr(self._dist, name)


def code_of(dist: Distribution, name: str) -> Callable[..., Any]:
    """The function that SciPy calls for a method, with its own code."""
    return original(getattr(type(dist), name))


def call(dist: Distribution, name: str, *xs: Traced | int, **options: Any) -> Any:
    """``dist.name(*xs)`` for traced arrays."""
    f = code_of(dist, name)
    if not str(getattr(f, "__module__", "")).startswith("scipy."):  # the user's own distribution
        return getattr(dist, name)(*xs, **options)
    formula = FORMULAS.get(f.__qualname__)
    if formula is not None:
        return formula(dist, *xs, **options)
    return f(Standard(dist), *xs, **options)


# --------------------------------------------------------------------------- steps whose values SciPy computes


def key_of(dist: Distribution, name: str) -> Any:
    """A key that tells a method from others: of SciPy's distributions their class and support, of others the object."""
    if type(dist).__module__.startswith("scipy.") and type(dist).__name__ not in ("rv_histogram", "rv_sample"):
        return type(dist), dist.name, float(dist.a), float(dist.b), name
    return dist, name


def by_scipy(dist: Distribution, name: str, xs: Sequence[Traced], slopes: list[Slope]) -> Any:
    """The value of SciPy's method, with these slopes."""
    f = code_of(dist, name)
    return known(key_of(dist, name), f"{dist.name}.{name}", lambda *vs: f(dist, *vs), slopes, xs)


def as_formula(dist: Distribution, name: str, xs: Sequence[Traced], f: Callable[..., Any]) -> Any:
    """The value of SciPy's method, with the derivatives of ``f``, which computes the same in NumPy."""
    return by_scipy(dist, name, xs, slopes_of(f, len(xs)))


def with_formula(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a formula ``f(*xs)`` for the derivatives of SciPy's methods, whose values SciPy computes."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            method = name.rpartition(".")[2]
            FORMULAS[name] = lambda dist, *xs, method=method: as_formula(dist, method, xs, f)
        return f

    return register


def inverse(dist: Distribution, name: str, *xs: Traced) -> Any:
    """A quantile as SciPy computes it: y with F(y, θ) = q has dy = (dq − ∂F/∂θ dθ) / f(y, θ)."""
    outer, sign = ("_cdf", 1.0) if name == "_ppf" else ("_sf", -1.0)

    def by_q(*xs_y: Traced) -> Any:
        _, *theta, y = xs_y
        return sign / call(dist, "_pdf", y, *theta)

    def by_shape(k: int) -> Slope:
        def slope(*xs_y: Traced) -> Any:
            _, *theta, y = xs_y
            rate = slope_of(functools.partial(call, dist, outer), k, y, *theta)
            return -sign * rate / call(dist, "_pdf", y, *theta)

        return slope

    return by_scipy(dist, name, xs, [by_q, *[by_shape(k) for k in range(1, len(xs))]])


def inverses(*names: str) -> None:
    """Let quantiles of these names be those of SciPy, with the derivatives of an inverse function."""
    for name in names:
        method = name.rpartition(".")[2]
        FORMULAS[name] = lambda dist, *xs, method=method: inverse(dist, method, *xs)


# ------------------------------------------------------------------------------------ what SciPy integrates


def is_finite(x: Traced) -> bool:
    """Whether an end of a support is a finite number, or a traced one, which may be."""
    return not (np.ndim(x) == 0 and not hasattr(x, "aval") and not np.isfinite(x))


def spread_of(dist: Distribution, shapes: Sequence[Traced], name: str, value: Callable[..., Any]) -> Any:
    """A constant to derivatives that SciPy's quantiles give: where a distribution lies."""
    f = code_of(dist, "_ppf")

    def silently(*vs: Traced) -> Any:
        with np.errstate(all="ignore"):
            return value(lambda q: f(dist, np.full(len(vs[0]), q), *vs))

    if not shapes:
        return float(value(lambda q: f(dist, np.full(1, q)))[0])
    constants = [wg.stop_gradient(s) for s in shapes]
    return known(key_of(dist, name), f"{dist.name}.{name}", silently, ["a constant"] * len(shapes), constants)


def scale_of(dist: Distribution, shapes: Sequence[Traced]) -> Any:
    """The distance of the quartiles."""
    return spread_of(dist, shapes, "scale", lambda quantile: quantile(0.75) - quantile(0.25))


def middle_of(dist: Distribution, shapes: Sequence[Traced]) -> Any:
    return spread_of(dist, shapes, "median", lambda quantile: quantile(0.5))


def integral(dist: Distribution, f: Callable[..., Any], shapes: Sequence[Traced]) -> Any:
    """∫ f(x, *shapes) dx over the support."""
    a, b = dist._get_support(*shapes)
    at = lambda x: f(x, *shapes)
    ndim = max([np.ndim(s) for s in shapes], default=0)
    scale, middle = scale_of(dist, shapes), middle_of(dist, shapes)
    points = [*BREAKS.get(dist.name, lambda *_: ())(*shapes), middle]
    total = between(at, a, points[0], ndim) if is_finite(a) else below(at, points[0], scale, ndim)
    for low, high in itertools.pairwise(points):
        total = total + between(at, low, high, ndim)
    return total + (between(at, points[-1], b, ndim) if is_finite(b) else above(at, points[-1], scale, ndim))


BREAKS: dict[str, Callable[..., Any]] = {"crystalball": lambda beta, m: (-beta,)}
"""Points below the median at which a density is not smooth, by the name of the distribution."""


def mass(dist: Distribution, x: Traced, shapes: Sequence[Traced], is_above: bool) -> Any:
    """∫ of the density from x upward, or up to x."""
    a, b = dist._get_support(*shapes)
    at = lambda t: call(dist, "_pdf", t, *shapes)
    ndim = max([np.ndim(s) for s in (x, *shapes)])
    if is_above:
        return between(at, x, b, ndim) if is_finite(b) else above(at, x, scale_of(dist, shapes), ndim)
    return between(at, a, x, ndim) if is_finite(a) else below(at, x, scale_of(dist, shapes), ndim)


def integrated(dist: Distribution, name: str, *xs: Traced) -> Any:
    """A distribution function that SciPy integrates: in x its slope is the density, in a shape the integral of the
    density's (Leibniz)."""
    is_above = name == "_sf"
    sign = -1.0 if is_above else 1.0

    def by_x(*xs_y: Traced) -> Any:
        return sign * call(dist, "_pdf", *xs_y[:-1])

    def by_shape(k: int) -> Slope:
        def slope(*xs_y: Traced) -> Any:
            return slope_of(lambda x, *shapes: mass(dist, x, shapes, is_above), k, *xs_y[:-1])

        return slope

    return by_scipy(dist, name, xs, [by_x, *[by_shape(k) for k in range(1, len(xs))]])


def integrals(*names: str) -> None:
    """Let distribution functions of these names be SciPy's, with the derivatives of an integral."""
    for name in names:
        method = name.rpartition(".")[2]
        FORMULAS[name] = lambda dist, *xs, method=method: integrated(dist, method, *xs)


# -------------------------------------------------------------------------- what distributions do not override


integrals("rv_continuous._cdf")
inverses("rv_generic._ppf")


@instead_of("rv_continuous._logcdf")
def logcdf(dist: Distribution, x: Traced, *shapes: Traced) -> Any:
    lower, upper = call(dist, "_cdf", x, *shapes), call(dist, "_sf", x, *shapes)
    return np.where(lower < 0.5, np.log(lower), np.log1p(-upper))


@instead_of("rv_continuous._logsf")
def logsf(dist: Distribution, x: Traced, *shapes: Traced) -> Any:
    lower, upper = call(dist, "_cdf", x, *shapes), call(dist, "_sf", x, *shapes)
    return np.where(upper < 0.5, np.log(upper), np.log1p(-lower))


@instead_of("rv_continuous._pdf")
def pdf(dist: Distribution, x: Traced, *shapes: Traced) -> Any:
    """∂F/∂x. SciPy takes differences of _cdf, of an error of some 1e-11."""
    return slope_of(functools.partial(call, dist, "_cdf"), 0, x, *shapes)


@instead_of("rv_continuous._entropy")
def entropy(dist: Distribution, *shapes: Traced) -> Any:
    """−∫ p log p: SciPy's value, with the derivative under the integral."""

    def formula(*shapes: Traced) -> Any:
        def integrand(x: Traced, *shapes: Traced) -> Any:
            log_p = call(dist, "_logpdf", x, *shapes)
            p = np.exp(log_p)
            return np.where(p > 0, -p * log_p, 0.0)

        return integral(dist, integrand, shapes)

    return scalars(dist, "_entropy", shapes, formula)


@instead_of("rv_generic._munp")
def moment(dist: Distribution, n: Traced, *shapes: Traced) -> Any:
    """E xⁿ: SciPy's value, with the derivative under the integral or the sum."""

    def formula(*shapes: Traced) -> Any:
        if isinstance(dist, rv_discrete):
            k, is_in = around_median(dist, shapes)
            p = np.where(is_in, call(dist, "_pmf", k, *shapes), 0.0)
            return complete(np.sum(k**n * p, axis=0), np.sum(p, axis=0))
        return integral(dist, lambda x, *shapes: x**n * call(dist, "_pdf", x, *shapes), shapes)

    f = code_of(dist, "_munp")
    value = lambda *vs: f(dist, n, *vs)
    return known((*key_of(dist, "_munp"), int(n)), f"{dist.name}._munp", value, slopes_of(formula, len(shapes)), shapes)


def scalars(dist: Distribution, name: str, shapes: Sequence[Traced], formula: Callable[..., Any]) -> Any:
    """The value of a method that SciPy calls with numbers, one after another, with the derivatives of a formula."""
    f = code_of(dist, name)
    value = np.vectorize(lambda *vs: f(dist, *vs), otypes=[np.float64])
    return known(key_of(dist, name), f"{dist.name}.{name}", value, slopes_of(formula, len(shapes)), shapes)


# ----------------------------------------------------------------------------------------------- discrete ones


@instead_of("rv_discrete._pmf")
def pmf(dist: Distribution, k: Traced, *shapes: Traced) -> Any:
    if code_of(dist, "_logpmf") is not original(rv_discrete._logpmf):
        return np.exp(call(dist, "_logpmf", k, *shapes))
    return call(dist, "_cdf", k, *shapes) - call(dist, "_cdf", k - 1, *shapes)


def summed(dist: Distribution, name: str, *xs: Traced) -> Any:
    """A distribution function that SciPy sums: its slope in a shape is the sum of those of the probabilities."""
    a = dist._get_support(*xs[1:])[0]
    count = count_of(xs[0] - a)

    def sums(x: Traced, *shapes: Traced) -> Any:
        assert count is not None
        start, _ = dist._get_support(*shapes)
        steps = np.arange(float(count)).reshape(count, *[1] * np.ndim(x))
        return np.sum(np.where(start + steps <= x, call(dist, "_pmf", start + steps, *shapes), 0.0), axis=0)

    why = "the derivative needs to know how many terms there are; here k has no value"
    shapes = range(1, len(xs))
    slopes: list[Slope] = [why for _ in shapes] if count is None else slopes_of(sums, len(xs))[1:]
    f = code_of(dist, name)
    key = (*key_of(dist, name), count)
    return known(key, f"{dist.name}.{name}", lambda *vs: f(dist, *vs), [no_slope, *slopes], xs)


MOST_TERMS = 1000


def around_median(dist: Distribution, shapes: Sequence[Traced]) -> tuple[Any, Any]:
    """Integers around the median, on a further axis, the first; and which of them are in the support."""
    a, b = dist._get_support(*shapes)
    first = np.maximum(np.floor(middle_of(dist, shapes)) - MOST_TERMS // 2, a)
    k = first + np.arange(float(MOST_TERMS)).reshape(MOST_TERMS, *[1] * max([np.ndim(s) for s in shapes], default=0))
    is_in = k <= b
    return np.where(is_in, k, first), is_in


def complete(total: Traced, mass: Traced) -> Any:
    """A sum over the integers around the median; NaN if they are not nearly all that count."""
    return np.where(mass > 1 - 1e-9, total, np.nan)


def no_slope(*xs_y: Traced) -> Any:
    """The slope of what is constant between jumps."""
    return 0.0 * xs_y[-1]


def count_of(k: Traced) -> int | None:
    """One more than the largest of some integers; rounded up, so that few programs do for all. None: not known."""
    if type(k) is Tracer and k.constant() is None and not has_values(k._trace):
        return None
    values = concrete(k, "number of terms")
    largest = np.max(values, initial=0.0, where=np.isfinite(values))
    return 1 << int(largest + 1).bit_length()
