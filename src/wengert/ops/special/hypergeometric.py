"""Hypergeometric functions in their parameters, by their series, differentiated term by term.

The series has at most ``MOST_TERMS`` terms. The result is NaN where that is too few (₂F₁ beyond some 0.98), and where
so much cancels that fewer than ten digits would be left. By Kummer's and Pfaff's transformations (DLMF 13.2.39,
15.8.1) an argument below 0 becomes one above, where little cancels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.errors import MissingRuleError
from wengert.ops.elementwise import absolute, exp, log1p
from wengert.ops.kernels import flops
from wengert.ops.op import broadcast_shapes, elementwise, not_implemented
from wengert.ops.special.declare import either, like
from wengert.tape import Atom, Aval

MOST_TERMS = 2000
SECOND = not_implemented("the second derivative of a hypergeometric function in a parameter was not written")


def _series_by(*xs: Any, upper: int, lower: int, by: int) -> Any:
    """The partial of Σ ∏ (aᵢ)ₖ / ∏ (bⱼ)ₖ xᵏ/k! in parameter number ``by``, term by term.

    A term is the one before times a rational function of k, and its derivative follows by the product rule; a factor
    of 0 is left out rather than divided by."""
    dtype = np.result_type(*xs)
    *parameters, x = np.broadcast_arrays(*[np.asarray(v, float) for v in xs])
    term, slope = np.ones(np.shape(x)), np.zeros(np.shape(x))
    total, size = np.zeros(np.shape(x)), np.zeros(np.shape(x))
    with np.errstate(all="ignore"):
        is_done: Any = False
        for k in range(MOST_TERMS):
            factors = [p + k for p in parameters]
            over = x / (k + 1) / np.prod(factors[upper:], axis=0)
            ratio = over * np.prod(factors[:upper], axis=0)
            if by < upper:
                moved = over * np.prod([f for i, f in enumerate(factors[:upper]) if i != by], axis=0)
            else:
                moved = -ratio / factors[by]
            slope, term = slope * ratio + term * moved, term * ratio
            total, size = total + slope, size + np.abs(slope)
            least = 1e-17 * np.abs(total)
            is_done = (np.abs(slope) <= least) & (np.abs(term) <= least + 1e-300) & (np.abs(ratio) < 0.999) & (k > 20)
            is_done = is_done | (x == 0)
            if np.all(is_done | ~np.isfinite(total)):
                break
        total = np.where(is_done & (size < 1e6 * np.abs(total)) | (size == 0), total, np.nan)
    return np.asarray(total, dtype)[()]


series_by = elementwise(  # ∂/∂p of the series of the parameters before the last operand, p = ``by``
    _series_by,
    name="hypergeometric_by",
    type=lambda *xs, upper, lower, by: Aval(broadcast_shapes("a hypergeometric function", *xs), xs[-1].dtype),
    partials=lambda *, upper, lower, by: [SECOND] * (upper + lower + 1),
    is_variadic=True,
    cost=flops(20_000),
)


def _of_reals(*xs: Atom) -> tuple[Any, ...]:
    if any(x.aval.dtype.kind == "c" for x in xs):
        raise MissingRuleError("a hypergeometric function of a complex argument has no rule for its parameters")
    return tuple([like(x, xs[-1]) for x in xs])


def by_0f1(v: Atom, z: Atom) -> Any:
    return series_by(*_of_reals(v, z), upper=0, lower=1, by=0)


def by_1f1(a: Atom, b: Atom, x: Atom, by: int) -> Any:
    """The partial of ₁F₁(a; b; x) in a or b. For x < 0 it is that of exp(x) ₁F₁(b − a; b; −x), unless little cancels
    in the series as it is."""
    a, b, x = _of_reals(a, b, x)
    reach = (1 + absolute(a)) * absolute(x)
    is_left = (x < 0) & (reach > 4) & (reach > 1e-2 * absolute(b))
    size = either(is_left, -x, x, like=x)
    first = either(is_left, b - a, a, like=x)
    in_a = series_by(first, b, size, upper=1, lower=1, by=0)
    scale = exp(either(is_left, x, 0, like=x))
    if by == 0:
        return scale * either(is_left, -in_a, in_a, like=x)
    in_b = series_by(first, b, size, upper=1, lower=1, by=1)
    return scale * (in_b + either(is_left, in_a, 0, like=x))


def by_2f1(a: Atom, b: Atom, c: Atom, x: Atom, y: Atom, by: int) -> Any:
    """The partial of ₂F₁(a, b; c; x) in a, b or c. For x < 0 it is that of (1 − x)⁻ᵃ ₂F₁(a, c − b; c; x/(x − 1)),
    unless c is so large that the terms of the series fall by themselves.

    Where b is small the derivatives in a and c are as small, but the terms of this formula are not, and cancel. There
    a and b are exchanged, which gives the same function. Far below 0 that series does not converge."""
    a, b, c, x = _of_reals(a, b, c, x)
    is_left = (x < 0) & ((1 + absolute(a)) * (1 + absolute(b)) * absolute(x) > 1e-2 * absolute(c))
    left = either(is_left, x, 0, like=x)
    z, logarithm = either(is_left, left / (left - 1), x, like=x), log1p(-left)
    is_exchanged = (absolute(b) < 1e-3) & (x > -10)
    p, q = (a, b) if by == 1 else (either(is_exchanged, b, a, like=x), either(is_exchanged, a, b, like=x))
    rest = either(is_left, c - q, q, like=x)
    scale = exp(-p * logarithm)
    series = lambda p, q, k: scale * series_by(p, q, c, z, upper=2, lower=1, by=k)
    if by == 0:
        first, second = either(is_exchanged, rest, p, like=x), either(is_exchanged, p, rest, like=x)
        sign = either(is_exchanged & is_left, -1, 1, like=x)
        return sign * series(first, second, 0) - either(is_exchanged, 0, logarithm * y, like=x)
    if by == 1:
        return series(p, rest, 1) * either(is_left, -1, 1, like=x)
    return series(p, rest, 2) + either(is_left, series(p, rest, 1), 0, like=x)
