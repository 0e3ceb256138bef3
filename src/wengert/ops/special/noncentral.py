"""The noncentral distributions of χ², t and F: mixtures of central ones, Σ Poisson(j; h) F(a + j).

A mixture of densities, or of derivatives of distribution functions, is summed outward from its largest term, or over
all terms that are not negligible: at most ``MOST_TERMS`` of them, and NaN where that is too few. The derivative of a
weight in the noncentrality is the difference of two neighbouring weights, and F(a + 1) − F(a) is a density: nothing
cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from wengert.ops.elementwise import absolute, exp, power, sqrt
from wengert.ops.kernels import flops
from wengert.ops.op import broadcast_shapes, elementwise, not_implemented
from wengert.ops.special.declare import either, sum_or_nan
from wengert.ops.special.distributions import Slopes, betainc_slope, gammainc_slope, inverse, plain
from wengert.ops.special.gammas import hyp0f1
from wengert.ops.special.usual import gamma_density, gammaln, ive
from wengert.tape import Atom, Aval

MOST_TERMS = 4000
MOST_QUADRATURES = 400
"""The most terms of a derivative in the degrees of freedom, where each term is an integral."""
SECOND = not_implemented("the second derivative of a noncentral distribution in its degrees of freedom was not written")

# ------------------------------------------------------------------------------------------------------- mixtures


def _broadcast(*xs: Aval, **_: Any) -> Aval:
    return Aval(broadcast_shapes("a mixture", *xs), xs[0].dtype)


def _beta_mixture(
    a: np.ndarray[Any, Any],
    b: np.ndarray[Any, Any],
    h: np.ndarray[Any, Any],
    w: np.ndarray[Any, Any],
    rest: np.ndarray[Any, Any],
    *,
    is_over: bool,
) -> Any:
    """Sum the mixture outward from its largest term, whose index solves (j + 1) (a + j) = h w (a + b + j)."""
    dtype = np.result_type(a, b, h, w, rest)
    a, b, h, w, rest = np.broadcast_arrays(*[np.asarray(v, float) for v in (a, b, h, w, rest)])
    with np.errstate(all="ignore"):
        half = 0.5 * (h * w - a - 1)
        top = half + np.sqrt(np.maximum(half * half + h * w * (a + b) - a, 0.0))
        top = np.floor(np.maximum(np.where(np.isfinite(top), top, 0.0), 0.0))
        c = a + top
        by_w = np.where(w > 0.5, sp.xlog1py(c - 1, -rest), sp.xlogy(c - 1, w))  # the larger of the two is rounded
        by_rest = np.where(w > 0.5, sp.xlogy(b - 1, rest), sp.xlog1py(b - 1, -w))
        log_term = sp.xlogy(top, h) - h - sp.gammaln(top + 1) + by_w + by_rest - sp.betaln(c, b)
        total: Any = np.exp(log_term) / (c if is_over else 1.0)
        is_done = True
        for way in (1, -1):
            j, term = top, np.exp(log_term)
            for _ in range(MOST_TERMS):
                if way == 1:
                    term = term * (h / (j + 1) * w * (a + b + j) / (a + j))
                else:
                    term = term * (j / h / w * (a + j - 1) / (a + b + j - 1))
                j = j + way
                term = np.where(j < 0, 0.0, term)
                total = total + np.where(j < 0, 0.0, term / (a + j if is_over else 1.0))
                if not np.any(term > 1e-17 * total):
                    break
            is_done = is_done & ~(term > 1e-17 * total)
    return np.asarray(np.where(is_done, total, np.nan), dtype)[()]


def _beta_mixture_partials(is_over: bool) -> list[Any]:
    def shifted(a: Atom, *rest: Atom) -> Any:
        return beta_mixture(a + 1, *rest, is_over=is_over)

    def by_w(a: Atom, b: Atom, h: Atom, w: Atom, rest: Atom, y: Atom) -> Any:
        if is_over:
            return (beta_mixture(a, b, h, w, rest, is_over=False) - y) / w
        return ((a - 1) * y + h * shifted(a, b, h, w, rest)) / w

    return [
        SECOND,
        SECOND,
        lambda a, b, h, w, rest, y: shifted(a, b, h, w, rest) - y,
        by_w,
        lambda a, b, h, w, rest, y: (b - 1) / rest * y,
    ]


beta_mixture = elementwise(  # Σ Poisson(j; h) w^(a+j−1) r^(b−1) / B(a + j, b), of 1 − w = r, and each over a + j
    _beta_mixture,
    name="beta_mixture",
    type=_broadcast,
    partials=lambda *, is_over: _beta_mixture_partials(is_over),
    cost=flops(5000),
)


def _weights(h: np.ndarray[Any, Any], low: np.ndarray[Any, Any], high: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """Indices and Poisson's weights on a leading axis, from ``low`` to ``high`` with a margin on both sides beyond
    which the weights are negligible; the weights are NaN where these are too many."""
    margin = 20 + 8 * np.sqrt(np.maximum(h, high))
    first = np.floor(np.maximum(low - margin, 0.0))
    length = high + margin - first
    is_known = length <= MOST_QUADRATURES
    count = int(np.max(np.where(is_known, length, 0.0), initial=0.0)) + 1
    j = np.where(is_known, first, 0.0) + np.arange(count).reshape(-1, *[1] * np.ndim(h))
    weights = np.exp(sp.xlogy(j, h) - h - sp.gammaln(j + 1))
    return j, np.where(is_known, weights, np.nan)


def _gamma_mixture_by_a(a: np.ndarray[Any, Any], h: np.ndarray[Any, Any], x: np.ndarray[Any, Any]) -> Any:
    dtype = np.result_type(a, h, x)
    a, h, x = np.broadcast_arrays(*[np.asarray(v, float) for v in (a, h, x)])
    with np.errstate(all="ignore"):
        middle = 0.5 * (np.sqrt(a * a + 4 * h * x) - a)  # where j (a + j) = h x
        j, weights = _weights(h, np.minimum(middle, h), np.maximum(middle, h))
        value = np.sum(weights * gammainc_slope(a + j, x, order=1), axis=0)
    return np.asarray(value, dtype)[()]


gamma_mixture_by_a = elementwise(  # Σ Poisson(j; h) ∂P(a + j, x)/∂a
    _gamma_mixture_by_a,
    name="gamma_mixture_by_a",
    type=_broadcast,
    partials=[SECOND, SECOND, SECOND],
    cost=flops(500_000),
)


def _beta_mixture_by(
    a: np.ndarray[Any, Any],
    b: np.ndarray[Any, Any],
    h: np.ndarray[Any, Any],
    w: np.ndarray[Any, Any],
    rest: np.ndarray[Any, Any],
    *,
    k: int,
) -> Any:
    """The partial of the mixture in a, or in b for ``k`` = 1. Where w > ½ it is that of 1 − I(b, a, 1 − w)."""
    dtype = np.result_type(a, b, h, w, rest)
    a, b, h, w, rest = np.broadcast_arrays(*[np.asarray(v, float) for v in (a, b, h, w, rest)])
    with np.errstate(all="ignore"):
        half = 0.5 * (h * w - a)
        middle = half + np.sqrt(half * half + h * w * (a + b))
        j, weights = _weights(h, np.minimum(middle, h), np.maximum(middle, h))
        is_upper = w > 0.5
        below = betainc_slope(a + j, b + 0 * j, np.where(is_upper, 0.5, w), m=1 - k, n=k)
        above = -betainc_slope(b + 0 * j, a + j, np.where(is_upper, rest, 0.5), m=k, n=1 - k)
        value = np.sum(weights * np.where(is_upper, above, below), axis=0)
    return np.asarray(value, dtype)[()]


beta_mixture_by = elementwise(  # Σ Poisson(j; h) ∂I(a + j, b, w)/∂a, or ∂b for k = 1
    _beta_mixture_by,
    name="beta_mixture_by",
    type=_broadcast,
    partials=lambda *, k: [SECOND] * 5,
    cost=flops(500_000),
)

# ------------------------------------------------------------------------------------------------------------- χ²


def _chi_density(x: Atom, v: Atom, nc: Atom) -> Any:
    """½ e^−(√x − √λ)²/2 (x/λ)^(v/4 − ½) I_{v/2 − 1}(√(λ x)), scaled; where I underflows, which the power makes up for,
    the density of χ² times e^−λ/2 ₀F₁(v/2, λ x/4)."""
    is_central = nc <= 0
    away = either(is_central, 1, nc, like=nc)
    root, shift = sqrt(x), sqrt(away)
    scaled = exp(-0.5 * (root - shift) * (root - shift)) * power(x / away, 0.25 * v - 0.5)
    bessel = ive(0.5 * v - 1, root * shift)
    is_lost = is_central | (absolute(bessel) < 1e-290)
    small = either(is_lost, nc, 0, like=nc)
    lost = 0.5 * gamma_density(0.5 * v, 0.5 * x) * exp(-0.5 * small) * hyp0f1(0.5 * v, 0.25 * small * x)
    return either(is_lost, lost, 0.5 * scaled * bessel, like=x)


_chi: Slopes = [
    _chi_density,
    lambda x, v, nc: 0.5 * gamma_mixture_by_a(0.5 * v, 0.5 * nc, 0.5 * x),
    lambda x, v, nc: -_chi_density(x, v + 2, nc),
]
chndtr = plain(sp.chndtr, _chi)
chndtrix = inverse(sp.chndtrix, _chi, 0, 0)
chndtridf = inverse(sp.chndtridf, _chi, 1, 1)
chndtrinc = inverse(sp.chndtrinc, _chi, 2, 2)

# -------------------------------------------------------------------------------------------------------------- t


def _t_density(v: Atom, nc: Atom, t: Atom) -> Any:
    """v/t (F(v + 2, λ, t √(1 + 2/v)) − F(v, λ, t)); at t = 0 its own value (Johnson, Kotz and Balakrishnan 1995,
    Continuous Univariate Distributions 2, 31.15)."""
    is_zero = t * t <= 0
    away = either(is_zero, 1, t, like=t)
    here, beyond = nctdtr(v, nc, away), nctdtr(v + 2, nc, away * sqrt(1 + 2 / v))
    is_lost = absolute(beyond - here) < 1e-6 * here  # in the tails, and of many degrees of freedom
    general = v / away * either(is_lost, math.nan, beyond - here, like=t)
    at_zero = exp(gammaln(0.5 * (v + 1)) - gammaln(0.5 * v) - 0.5 * nc * nc) / sqrt(math.pi * v)
    return either(is_zero, at_zero, general, like=t)


def _t_by_nc(v: Atom, nc: Atom, t: Atom) -> Any:
    """−E φ(t χ/√v − λ): under s φ the density of χ with v − 1 degrees of freedom is one with v, and so this is the
    distribution's own density, of v − 1, scaled. For v > 1."""
    less = v - 1
    scale = sqrt(0.5 * less) * exp(gammaln(0.5 * less) - gammaln(0.5 * v))
    return -scale * _t_density(less, nc, t * sqrt(less / v))


def _t_mixture_by_v(v: np.ndarray[Any, Any], nc: np.ndarray[Any, Any], t: np.ndarray[Any, Any]) -> Any:
    """The partial in v, with w held fixed, of
    Φ(−λ) + ½ Σ Poisson(j; λ²/2) (I(j + ½, v/2, w) + λ/√2 Γ(j + 1)/Γ(j + 3/2) I(j + 1, v/2, w)), w = t²/(v + t²).
    For t < 0 it is that of 1 − F(v, −λ, −t)."""
    dtype = np.result_type(v, nc, t)
    v, nc, t = np.broadcast_arrays(*[np.asarray(x, float) for x in (v, nc, t)])
    with np.errstate(all="ignore"):
        sign = np.where(t < 0, -1.0, 1.0)
        nc, h, b = sign * nc, 0.5 * nc * nc, 0.5 * v
        w, rest = t * t / (v + t * t), v / (v + t * t)
        j, weights = _weights(h, 0.5 * h, 2 * h)
        total: Any = 0.0
        for shift, factor in ((0.5, 1.0), (1.0, nc * math.sqrt(0.5) * np.exp(sp.gammaln(j + 1) - sp.gammaln(j + 1.5)))):
            below = betainc_slope(j + shift, b + 0 * j, np.where(w > 0.5, 0.5, w), m=0, n=1)
            above = -betainc_slope(b + 0 * j, j + shift, np.where(w > 0.5, rest, 0.5), m=1, n=0)
            total = total + np.sum(weights * factor * np.where(w > 0.5, above, below), axis=0)
    return np.asarray(sign * 0.25 * total, dtype)[()]


t_mixture_by_v = elementwise(
    _t_mixture_by_v,
    name="t_mixture_by_v",
    type=_broadcast,
    partials=[SECOND, SECOND, SECOND],
    cost=flops(500_000),
)

_t: Slopes = [
    lambda v, nc, t: sum_or_nan(t_mixture_by_v(v, nc, t), -0.5 * t / v * _t_density(v, nc, t), v > 1e3),
    _t_by_nc,
    _t_density,
]
nctdtr = plain(sp.nctdtr, _t)
nctdtrit = inverse(sp.nctdtrit, _t, 2, 2)
nctdtridf = inverse(sp.nctdtridf, _t, 0, 0)
nctdtrinc = inverse(sp.nctdtrinc, _t, 1, 1)

# -------------------------------------------------------------------------------------------------------------- F


def _ratio_parts(m: Atom, n: Atom, nc: Atom, x: Atom) -> tuple[Any, ...]:
    """The arguments m/2, n/2, λ/2, w and 1 − w of the mixture Σ Poisson(j; λ/2) I(m/2 + j, n/2, w),
    w = m x / (n + m x)."""
    total = n + m * x
    return 0.5 * m, 0.5 * n, 0.5 * nc, m * x / total, n / total


def _ratio_by(weight: Callable[..., Any], by: int | None) -> Any:
    def slope(m: Atom, n: Atom, nc: Atom, x: Atom) -> Any:
        parts = _ratio_parts(m, n, nc, x)
        moved = weight(m, n, x) * beta_mixture(*parts, is_over=False)
        return (
            moved
            if by is None
            else sum_or_nan(0.5 * beta_mixture_by(*parts, k=by), moved, (m > 1e3) | (n > 1e3) | (m < 1e-4) | (n < 1e-4))
        )

    return slope


def _ratio_by_nc(m: Atom, n: Atom, nc: Atom, x: Atom) -> Any:
    """I(a + 1, b, w) − I(a, b, w) = −wᵃ (1 − w)ᵇ / a B(a, b)."""
    a, b, h, w, rest = _ratio_parts(m, n, nc, x)
    return -0.5 * w * rest * beta_mixture(a, b, h, w, rest, is_over=True)


_ratio: Slopes = [
    _ratio_by(lambda m, n, x: n * x / (n + m * x) ** 2, 0),
    _ratio_by(lambda m, n, x: -m * x / (n + m * x) ** 2, 1),
    _ratio_by_nc,
    _ratio_by(lambda m, n, x: m * n / (n + m * x) ** 2, None),
]
ncfdtr = plain(sp.ncfdtr, _ratio)
ncfdtri = inverse(sp.ncfdtri, _ratio, 3, 3)
ncfdtrinc = inverse(sp.ncfdtrinc, _ratio, 2, 2)
ncfdtridfn = inverse(sp.ncfdtridfn, _ratio, 0, 0)
ncfdtridfd = inverse(sp.ncfdtridfd, _ratio, 1, 1)
