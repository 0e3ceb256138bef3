"""Ops in double-double arithmetic: a number is the unevaluated sum of two float64, some 31 decimal digits.

:class:`Doubled` holds arrays of such pairs. :func:`run` does a step of a tape on them: by the table :data:`DOUBLED`, by
moving both halves alike where the op only moves elements, or else to first order, by the op's own derivative: then it
is known to the digits of float64, and says so.

Sources: Dekker (1971), A floating-point technique for extending the available precision, Numer. Math. 18 (two_prod);
Knuth (1969), The Art of Computer Programming 2, 4.2.2 (two_sum); Hida, Li, Bailey (2001), Algorithms for quad-double
precision floating point arithmetic, ARITH-15 (sums, products, quotients, roots, exp, sin and cos by argument reduction
and series, log by Newton's method).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

Floats = np.ndarray[Any, np.dtype[np.float64]]
"""An array of float64."""


class Doubled(NamedTuple):
    """Numbers ``hi + lo``: ``hi`` is their sum, rounded."""

    hi: Floats
    lo: Floats

    @property
    def shape(self) -> tuple[int, ...]:
        return self.hi.shape

    def __add__(self, other: Doubled | float) -> Doubled:
        b = doubled(other)
        first, e = two_sum(self.hi, b.hi)
        t, f = two_sum(self.lo, b.lo)
        s, e = fast_two_sum(first, e + t)
        return made(*fast_two_sum(s, e + f), first)

    def __neg__(self) -> Doubled:
        return Doubled(-self.hi, -self.lo)

    def __sub__(self, other: Doubled | float) -> Doubled:
        return self + -doubled(other)

    def __mul__(self, other: Doubled | float) -> Doubled:
        b = doubled(other)
        p, e = two_prod(self.hi, b.hi)
        return made(*fast_two_sum(p, e + (self.hi * b.lo + self.lo * b.hi)), p)

    def __truediv__(self, other: Doubled | float) -> Doubled:
        b = doubled(other)
        q = self.hi / b.hi
        r = self - b * exact(q)
        q2 = r.hi / b.hi
        r = r - b * exact(q2)
        total = exact(q) + exact(q2) + exact(r.hi / b.hi)
        return made(total.hi, total.lo, q)

    def at(self, index: Any) -> Doubled:
        """Return the pairs at an index of NumPy's."""
        return Doubled(np.asarray(self.hi[index]), np.asarray(self.lo[index]))


def exact(x: Any) -> Doubled:
    """Return numbers of float64 as they are."""
    hi = np.asarray(x, np.float64)
    return Doubled(hi, np.zeros_like(hi))


def doubled(x: Any) -> Doubled:
    return x if isinstance(x, Doubled) else exact(x)


def constant(x: Fraction) -> Doubled:
    """Return the pair nearest to a rational number."""
    hi = float(x)
    return Doubled(np.asarray(hi), np.asarray(float(x - Fraction(hi))))


def made(hi: Any, lo: Any, first: Any) -> Doubled:
    """Return a pair; where the leading term is infinite or NaN, that alone: the other one has become NaN."""
    is_number = np.isfinite(first)
    return Doubled(np.where(is_number, hi, first), np.where(is_number, lo, 0.0))


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b, rounded, and its error. Source: Knuth."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


def fast_two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b, rounded, and its error, for |a| >= |b|. Source: Dekker."""
    s = a + b
    return s, b - (s - a)


def two_prod(a: Any, b: Any) -> tuple[Any, Any]:
    """a b, rounded, and its error, by halves of 26 bits. Source: Dekker."""
    p = a * b
    a1, a2 = _split(a)
    b1, b2 = _split(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def _split(a: Any) -> tuple[Any, Any]:
    t = 134217729.0 * a  # 2**27 + 1
    high = t - (t - a)
    return high, a - high


def where(mask: Any, x: Doubled | float, y: Doubled | float) -> Doubled:
    a, b = doubled(x), doubled(y)
    return Doubled(np.where(mask, a.hi, b.hi), np.where(mask, a.lo, b.lo))


def _is_less(a: Doubled, b: Doubled) -> Any:
    return (a.hi < b.hi) | ((a.hi == b.hi) & (a.lo < b.lo))


# ------------------------------------------------------------------------------------------------------ elementary


PI_DIGITS = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534")
LN2_DIGITS = Fraction("0.69314718055994530941723212145817656807550013436025525412068000949339362196969471560586332699")
LN10_DIGITS = Fraction("2.30258509299404568401799145468436420760110148862877297603332790096757260967735248023599720508")
LN2, LN10 = constant(LN2_DIGITS), constant(LN10_DIGITS)


def sqrt(x: Doubled) -> Doubled:
    """√x ≈ s + (x - s²) / 2s for the rounded root s (Karp's trick)."""
    s = np.sqrt(x.hi)
    is_number = (s > 0) & np.isfinite(s)
    safe = np.where(is_number, s, 1.0)
    fixed = exact(safe) + exact((x - exact(safe) * exact(safe)).hi / (2 * safe))
    return where(is_number, fixed, exact(s))


def _expm1_series(x: Doubled) -> Doubled:
    """exp(x) - 1 = x + x²/2 + ..., of |x| < 0.0015, to 1e-32 of x."""
    total = exact(np.zeros(x.shape))
    for k in range(12, 1, -1):
        total = (total + constant(Fraction(1, math.factorial(k)))) * x
    return (total + 1.0) * x


def expm1(x: Doubled) -> Doubled:
    """exp(x) - 1: e^(k ln 2 + 512 r) by the series of r, squared nine times, (1 + p)² - 1 = 2 p + p²."""
    k = np.where(np.isfinite(x.hi), np.clip(np.rint(x.hi / LN2.hi), -1100, 1100), 0.0)
    k = np.where(np.abs(x.hi) < 0.35, 0.0, k)
    r = x - LN2 * exact(k)
    p = _expm1_series(Doubled(r.hi / 512, r.lo / 512))
    for _ in range(9):
        p = Doubled(2 * p.hi, 2 * p.lo) + p * p
    whole = p + 1.0
    n = k.astype(np.int64)
    half = n // 2
    scaled = Doubled(np.ldexp(np.ldexp(whole.hi, half), n - half), np.ldexp(np.ldexp(whole.lo, half), n - half))
    result = where(k == 0, p, scaled - 1.0)
    return where((np.abs(x.hi) < 745) & np.isfinite(x.hi), result, exact(np.expm1(x.hi)))


def exp(x: Doubled) -> Doubled:
    y = expm1(x) + 1.0
    return where(x.hi < -1, _small_exp(x), y)


def _small_exp(x: Doubled) -> Doubled:
    """exp(x) of negative x, where exp(x) - 1 has no digits of it: 1 / exp(-x), and subnormal numbers as they are."""
    y = exact(np.ones(x.shape)) / (expm1(-where(x.hi < -700, exact(-1.0), x)) + 1.0)
    return where(x.hi < -700, exact(np.exp(x.hi)), y)


def log1p(x: Doubled) -> Doubled:
    """log(1 + x) by one step of Newton's method on exp(y) - 1 = x."""
    y = exact(np.log1p(x.hi))
    e = expm1(y)
    fixed = y + (x - e) / (e + 1.0)
    return where(np.isfinite(y.hi) & (x.hi < 1e300), fixed, y)


def log(x: Doubled) -> Doubled:
    """log(x): the logarithm of 1 + (x - 1) near 1, else log(m) + k log 2 for x = m 2ᵏ."""
    m, k = np.frexp(np.where((x.hi > 0) & np.isfinite(x.hi), x.hi, 1.0))
    k = np.where(m < math.sqrt(0.5), k - 1, k)
    scaled = Doubled(np.ldexp(x.hi, -k), np.ldexp(x.lo, -k))
    y = log1p(scaled - 1.0) + LN2 * exact(k.astype(np.float64))
    return where((x.hi > 0) & np.isfinite(x.hi), y, exact(np.log(x.hi)))


def _sin_cos(x: Doubled) -> tuple[Doubled, Doubled]:
    """sin and cos: x - k π/2 exactly by fractions, then series of a sixteenth of it, doubled four times."""
    k = np.rint(np.where(np.isfinite(x.hi), x.hi, 0.0) / (math.pi / 2))
    flat = np.array(
        [_reduced(float(h), float(low), int(n)) for h, low, n in zip(x.hi.flat, x.lo.flat, k.flat, strict=True)]
    )
    r = Doubled(flat[:, 0].reshape(x.shape), flat[:, 1].reshape(x.shape)) if flat.size else x
    t = Doubled(r.hi / 16, r.lo / 16)
    t2 = t * t
    s = exact(np.zeros(x.shape))
    v = exact(np.zeros(x.shape))  # 1 - cos, which keeps its digits
    for j in range(9, 0, -1):
        s = (s + constant(Fraction((-1) ** j, math.factorial(2 * j + 1)))) * t2
        v = (v + constant(Fraction((-1) ** (j + 1), math.factorial(2 * j)))) * t2
    s = (s + 1.0) * t
    for _ in range(4):
        s, v = (s * (exact(np.ones(x.shape)) - v)) * 2.0, (s * s) * 2.0
    c = exact(np.ones(x.shape)) - v
    turn = (k % 4).astype(int)
    sin_ = where(turn == 0, s, where(turn == 1, c, where(turn == 2, -s, -c)))
    cos_ = where(turn == 0, c, where(turn == 1, -s, where(turn == 2, -c, s)))
    is_far = ~(np.abs(x.hi) < 1e40)  # as many digits of π are not at hand
    return where(is_far, exact(np.sin(x.hi)), sin_), where(is_far, exact(np.cos(x.hi)), cos_)


def _reduced(hi: float, lo: float, k: int) -> tuple[float, float]:
    if k == 0 or not math.isfinite(hi):
        return hi, lo
    r = Fraction(hi) + Fraction(lo) - k * PI_DIGITS / 2
    return float(r), float(r - Fraction(float(r)))


def sin(x: Doubled) -> Doubled:
    return _sin_cos(x)[0]


def cos(x: Doubled) -> Doubled:
    return _sin_cos(x)[1]


def tan(x: Doubled) -> Doubled:
    s, c = _sin_cos(x)
    return s / c


def arctan2(y: Doubled, x: Doubled) -> Doubled:
    """The angle a of (x, y): a ≈ a₀ + (y cos a₀ - x sin a₀) / (x cos a₀ + y sin a₀), whose error is of third order."""
    rough = exact(np.arctan2(y.hi, x.hi))
    s, c = _sin_cos(rough)
    size = np.maximum(np.abs(x.hi), np.abs(y.hi))
    scale = np.where((size > 0) & np.isfinite(size), 2.0 ** -np.clip(np.frexp(size)[1], -1000, 1000), 1.0)
    x, y = Doubled(x.hi * scale, x.lo * scale), Doubled(y.hi * scale, y.lo * scale)
    better = rough + (y * c - x * s) / (x * c + y * s)
    return where((size > 0) & np.isfinite(size), better, rough)


def arctan(x: Doubled) -> Doubled:
    return arctan2(x, exact(np.ones(x.shape)))


def arcsin(x: Doubled) -> Doubled:
    one = exact(np.ones(x.shape))
    return arctan2(x, sqrt((one - x) * (one + x)))


def arccos(x: Doubled) -> Doubled:
    one = exact(np.ones(x.shape))
    return arctan2(sqrt((one - x) * (one + x)), x)


def sinh(x: Doubled) -> Doubled:
    e = expm1(absolute(x))
    y = (e + e / (e + 1.0)) * 0.5
    return where(np.isfinite(e.hi), where(x.hi < 0, -y, y), exact(np.sinh(x.hi)))


def cosh(x: Doubled) -> Doubled:
    e = exp(x)
    return (e + exact(np.ones(x.shape)) / e) * 0.5


def tanh(x: Doubled) -> Doubled:
    e = expm1(absolute(x) * -2.0)
    y = -e / (e + 2.0)
    return where(x.hi < 0, -y, y)


def arcsinh(x: Doubled) -> Doubled:
    a = absolute(x)
    y = log1p(a + a * a / (sqrt(a * a + 1.0) + 1.0))
    return where(x.hi < 0, -y, y)


def arccosh(x: Doubled) -> Doubled:
    t = x - 1.0
    return log1p(t + sqrt(t * (t + 2.0)))


def arctanh(x: Doubled) -> Doubled:
    a = absolute(x)
    y = log1p((a * 2.0) / (exact(np.ones(x.shape)) - a)) * 0.5
    return where(x.hi < 0, -y, y)


def absolute(x: Doubled) -> Doubled:
    return where((x.hi < 0) | ((x.hi == 0) & (x.lo < 0)), -x, x)


def cbrt(x: Doubled) -> Doubled:
    y = exact(np.cbrt(x.hi))
    fixed = y - (y * y * y - x) / (y * y * 3.0)
    fixed = fixed - (fixed * fixed * fixed - x) / (fixed * fixed * 3.0)
    return where((y.hi != 0) & np.isfinite(y.hi), fixed, y)


def power(x: Doubled, p: Doubled) -> Doubled:
    """xᵖ, by repeated squaring for whole p up to 64 and else by exp(p log x)."""
    whole = (p.lo == 0) & (p.hi == np.rint(p.hi)) & (np.abs(p.hi) <= 64)
    shape = np.broadcast_shapes(x.shape, p.shape)
    n = np.broadcast_to(np.where(whole, np.abs(p.hi), 0), shape).astype(int)
    square, by_squares = x, exact(np.ones(shape))
    for bit in range(7):
        by_squares = where((n >> bit) & 1, by_squares * square, by_squares)
        square = square * square
    by_squares = where(p.hi < 0, exact(np.ones(shape)) / by_squares, by_squares)
    odd = np.rint(p.hi) % 2 == 1
    smooth = exp(log(absolute(x)) * p)
    smooth = where((x.hi < 0) & odd, -smooth, smooth)
    smooth = where((x.hi == 0) | ((x.hi < 0) & (p.hi != np.rint(p.hi))), exact(np.power(x.hi, p.hi)), smooth)
    return where(whole, by_squares, smooth)


def hypot(x: Doubled, y: Doubled) -> Doubled:
    return sqrt(x * x + y * y)


def logaddexp(x: Doubled, y: Doubled) -> Doubled:
    high = where(_is_less(x, y), y, x)
    low = where(_is_less(x, y), x, y)
    return where(x.hi == -np.inf, y, where(y.hi == -np.inf, x, high + log1p(exp(low - high))))


def expit(x: Doubled) -> Doubled:
    e = exp(-absolute(x))
    one = exact(np.ones(x.shape))
    return where(x.hi < 0, e / (e + 1.0), one / (e + 1.0))


def log_expit(x: Doubled) -> Doubled:
    return -log1p(exp(-absolute(x))) + where(x.hi < 0, x, exact(np.zeros(x.shape)))


def xlogy(x: Doubled, y: Doubled) -> Doubled:
    return where(x.hi == 0, exact(np.zeros(np.broadcast_shapes(x.shape, y.shape))), x * log(y))


def copysign(x: Doubled, y: Doubled) -> Doubled:
    return where(np.signbit(y.hi), -absolute(x), absolute(x))


def remainder(x: Doubled, y: Doubled) -> Doubled:
    """x - y ⌊x / y⌋; the quotient is that of float64, so that what is compared is on the same piece."""
    return x - y * exact(np.floor_divide(x.hi, y.hi))


# --------------------------------------------------------------------------------------------------- along axes


def _total(x: Doubled, axis: int, combine: Callable[[Doubled, Doubled], Doubled], neutral: float) -> Doubled:
    """Combine along an axis by pairs, then pairs of pairs."""
    hi, lo = np.moveaxis(x.hi, axis, 0), np.moveaxis(x.lo, axis, 0)
    if len(hi) == 0:
        return exact(np.full(hi.shape[1:], neutral))
    x = Doubled(hi, lo)
    while len(x.hi) > 1:
        n = len(x.hi) // 2
        pairs = combine(x.at(slice(n)), x.at(slice(n, 2 * n)))
        rest = x.at(slice(2 * n, None))
        x = Doubled(np.concatenate([pairs.hi, rest.hi]), np.concatenate([pairs.lo, rest.lo]))
    return x.at(0)


def sum_(x: Doubled, *, axis: Sequence[int]) -> Doubled:
    for k in sorted(axis, reverse=True):
        x = _total(x, k, Doubled.__add__, 0.0)
    return x


def prod(x: Doubled, *, axis: Sequence[int]) -> Doubled:
    for k in sorted(axis, reverse=True):
        x = _total(x, k, Doubled.__mul__, 1.0)
    return x


def _running(x: Doubled, axis: int, combine: Callable[[Doubled, Doubled], Doubled]) -> Doubled:
    x = Doubled(np.moveaxis(x.hi, axis, 0), np.moveaxis(x.lo, axis, 0))
    rows: list[Doubled] = []
    for k in range(len(x.hi)):
        rows.append(combine(rows[-1], x.at(k)) if rows else x.at(k))
    if not rows:
        return x
    return Doubled(
        np.moveaxis(np.stack([r.hi for r in rows]), 0, axis), np.moveaxis(np.stack([r.lo for r in rows]), 0, axis)
    )


MOST_TERMS = 1 << 20
"""The number of products that are held at a time."""


def contract(x: Doubled, y: Doubled, *, a: Sequence[int], b: Sequence[int], out: Sequence[int]) -> Doubled:
    """Sums of products over the labels that are not in ``out``."""
    lengths = {**dict(zip(a, x.shape, strict=True)), **dict(zip(b, y.shape, strict=True))}
    inner = [k for k in lengths if k not in out]
    labels = [*out, *inner]

    def laid(z: Doubled, mine: Sequence[int]) -> Doubled:
        order = [list(mine).index(k) for k in labels if k in mine]
        shape = [*[lengths[k] if k in mine else 1 for k in out], *[lengths[k] if k in mine else 1 for k in inner]]
        wide = [
            np.broadcast_to(h.transpose(order).reshape(shape), [*shape[: len(out)], *[lengths[k] for k in inner]])
            for h in z
        ]
        return Doubled(*[h.reshape([*shape[: len(out)], -1]) for h in wide])

    p, q = laid(x, a), laid(y, b)
    n = math.prod([lengths[k] for k in inner])
    size = max(1, math.prod([lengths[k] for k in out]))
    step = max(1, MOST_TERMS // size)
    total = exact(np.zeros([lengths[k] for k in out]))
    for first in range(0, n, step):
        chosen = (..., slice(first, first + step))
        terms = p.at(chosen) * q.at(chosen)
        total = total + _total(terms, -1, Doubled.__add__, 0.0)
    return total


def solve(a: Doubled, b: Doubled, *, transpose: bool = False) -> Doubled:
    """a⁻¹ b by elimination with partial pivoting."""
    if transpose:
        a = Doubled(np.swapaxes(a.hi, -1, -2), np.swapaxes(a.lo, -1, -2))
    if a.hi.ndim > 2:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        wide = [Doubled(*[np.broadcast_to(h, lead + h.shape[-2:]) for h in z]) for z in (a, b)]
        parts = [solve(wide[0].at(at), wide[1].at(at)) for at in np.ndindex(*lead)]
        return Doubled(*[np.array(halves).reshape(wide[1].shape) for halves in zip(*parts, strict=True)])
    n = a.shape[0]
    hi, lo = np.hstack([a.hi, b.hi]), np.hstack([a.lo, b.lo])
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(hi[k:, k])))
        for h in (hi, lo):
            h[[k, pivot]] = h[[pivot, k]]
        factor = Doubled(hi[k + 1 :, k : k + 1], lo[k + 1 :, k : k + 1]) / Doubled(hi[k, k], lo[k, k])
        rest = Doubled(hi[k + 1 :, k:], lo[k + 1 :, k:]) - factor * Doubled(hi[k, k:], lo[k, k:])
        hi[k + 1 :, k:], lo[k + 1 :, k:] = rest
    x = Doubled(hi[:, n:].copy(), lo[:, n:].copy())
    for k in reversed(range(n)):
        row = x.at(k)
        if k + 1 < n:
            terms = Doubled(hi[k, k + 1 : n, None], lo[k, k + 1 : n, None]) * x.at(slice(k + 1, None))
            row = row - _total(terms, 0, Doubled.__add__, 0.0)
        row = row / Doubled(hi[k, k], lo[k, k])
        x.hi[k], x.lo[k] = row
    return x


def triangular_solve(a: Doubled, b: Doubled, *, lower: bool, transpose: bool) -> Doubled:
    keep = np.tril if lower else np.triu
    return solve(Doubled(keep(a.hi), keep(a.lo)), b, transpose=transpose)


def inv(a: Doubled) -> Doubled:
    return solve(a, exact(np.broadcast_to(np.eye(a.shape[-1]), a.shape)))


def add_slice(x: Doubled, v: Doubled, *, index: Any) -> Doubled:
    """x with v added at an index: x and zeros with v at the index, as pairs."""
    placed = wg.ops.OPS["embed"].reference
    return x + Doubled(*[placed(h, shape=x.shape, index=index) for h in v])


def _select(c: Any, x: Doubled, y: Doubled) -> Doubled:
    return where(c, x, y)


def _extreme(x: Doubled, y: Doubled, is_first: Any) -> Doubled:
    is_nan = np.isnan(x.hi) | np.isnan(y.hi)
    return where(is_nan, exact(x.hi + y.hi), where(is_first, x, y))


def _extreme_along(reference: Any) -> Callable[..., Doubled]:
    def along(x: Doubled, *, axis: Sequence[int]) -> Doubled:
        return _total(_flat(x, axis), 0, reference, np.nan)

    return along


def _flat(x: Doubled, axis: Sequence[int]) -> Doubled:
    rest = [k for k in range(x.hi.ndim) if k not in axis]
    return Doubled(
        *[h.transpose([*axis, *rest]).reshape((-1, *[h.shape[k] for k in rest])) if h.size else h for h in x]
    )


def maximum(x: Doubled, y: Doubled) -> Doubled:
    return _extreme(x, y, ~_is_less(x, y))


def minimum(x: Doubled, y: Doubled) -> Doubled:
    return _extreme(x, y, ~_is_less(y, x))


def sort(x: Doubled, *, axis: int) -> Doubled:
    order = np.lexsort((x.lo, x.hi), axis=axis)
    return Doubled(*[np.take_along_axis(h, order, axis) for h in x])


def _same(x: Doubled, *others: Any, **params: Any) -> Doubled:
    return x


def _times(factor: Fraction) -> Callable[[Doubled], Doubled]:
    return lambda x: x * constant(factor)


_DEGREE = PI_DIGITS / 180
DOUBLED: dict[str, Callable[..., Doubled]] = {
    "add": Doubled.__add__,
    "subtract": Doubled.__sub__,
    "multiply": Doubled.__mul__,
    "divide": Doubled.__truediv__,
    "negative": Doubled.__neg__,
    "positive": _same,
    "convert": _same,
    "stop_gradient": _same,
    "only_where": _same,
    "reciprocal": lambda x: exact(np.ones(x.shape)) / x,
    "square": lambda x: x * x,
    "sqrt": sqrt,
    "cbrt": cbrt,
    "power": power,
    "float_power": power,
    "absolute": absolute,
    "fabs": absolute,
    "copysign": copysign,
    "remainder": remainder,
    "exp": exp,
    "exp2": lambda x: exp(x * LN2),
    "expm1": expm1,
    "log": log,
    "log2": lambda x: log(x) / LN2,
    "log10": lambda x: log(x) / LN10,
    "log1p": log1p,
    "logaddexp": logaddexp,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "arcsin": arcsin,
    "arccos": arccos,
    "arctan": arctan,
    "arctan2": arctan2,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "arcsinh": arcsinh,
    "arccosh": arccosh,
    "arctanh": arctanh,
    "hypot": hypot,
    "deg2rad": _times(_DEGREE),
    "radians": _times(_DEGREE),
    "rad2deg": _times(1 / _DEGREE),
    "degrees": _times(1 / _DEGREE),
    "exp_minus": lambda x, m, *, body: where(x.hi == m.hi, 1.0, exp(x - m)),
    "expit": expit,
    "log_expit": log_expit,
    "xlogy": xlogy,
    "maximum": maximum,
    "minimum": minimum,
    "fmax": maximum,
    "fmin": minimum,
    "max": _extreme_along(maximum),
    "min": _extreme_along(minimum),
    "select": _select,
    "sort": sort,
    "sum": sum_,
    "prod": prod,
    "cumsum": lambda x, *, axis: _running(x, axis, Doubled.__add__),
    "cumprod": lambda x, *, axis: _running(x, axis, Doubled.__mul__),
    "add_slice": add_slice,
    "contract": contract,
    "solve": solve,
    "triangular_solve": triangular_solve,
    "inv": inv,
}
"""The ops of which there is more than float64, by name. Operands that are no floats come as they are."""

ADDING = frozenset({"scatter_add", "recurrence", "contract_windows"})
"""Linear ops whose kernels say that they only add, and that do add: their halves may not be added by themselves."""


class DoubledStep(NamedTuple):
    """The results of a step in double-double arithmetic."""

    results: tuple[Any, ...]
    is_known: bool
    """Whether it is known to more than the digits of float64."""


def only_moves(instr: wg.edit.Instr) -> bool:
    """Whether the step moves elements and computes nothing, so that both halves can move alike."""
    op = instr.op
    return op.is_view or op.rearranges or (op.only_adds and op.name not in ADDING and op.name not in DOUBLED)


def run(instr: wg.edit.Instr, operands: Sequence[Any], in_float: Sequence[Any]) -> DoubledStep:
    """Return what a step gives for operands of which those that are floats are :class:`Doubled`.

    ``in_float`` are its results in the program's own arithmetic: results that are no floats (decisions, indices) are
    taken from there, so that both take the same path.
    """
    op, _, outs, params, _ = instr
    if not any(v.aval.dtype.kind == "f" for v in outs) or not any(isinstance(x, Doubled) for x in operands):
        return DoubledStep(
            tuple([exact(y) if v.aval.dtype.kind == "f" else y for y, v in zip(in_float, outs, strict=True)]), True
        )
    rule = DOUBLED.get(op.name)
    with np.errstate(all="ignore"):
        if rule is not None and all(v.aval.dtype.kind == "f" for v in outs):
            given = [x if isinstance(x, Doubled) or op.name == "select" else exact(x) for x in operands]
            y = rule(*given, **params)
            shape = outs[0].aval.shape
            return DoubledStep((Doubled(*[np.broadcast_to(h, shape) for h in y]),), True)
        if only_moves(instr):
            halves = [[_half(x, k) for x in operands] for k in (0, 1)]
            return DoubledStep((Doubled(*[np.asarray(op.reference(*h, **params), np.float64) for h in halves]),), True)
        return DoubledStep(_to_first_order(instr, operands, in_float), False)


def _half(x: Any, k: int) -> Any:
    if isinstance(x, Doubled):
        return (x.hi, x.lo)[k]
    return x if np.asarray(x).dtype.kind != "f" else (x, np.zeros_like(x))[k]


def _to_first_order(instr: wg.edit.Instr, operands: Sequence[Any], in_float: Sequence[Any]) -> tuple[Any, ...]:
    """f(hi) + J lo: what was lost before is followed, and what this step loses by itself is not seen."""
    op, _, outs, params, _ = instr
    moving = [k for k, x in enumerate(operands) if isinstance(x, Doubled)]

    def f(*xs: Any) -> Any:
        every = list(operands)
        for k, x in zip(moving, xs, strict=True):
            every[k] = x
        results = op(*every, **params)
        results = (results,) if len(outs) == 1 else tuple(results)
        return tuple([r for r, v in zip(results, outs, strict=True) if v.aval.dtype.kind == "f"])

    dtypes = [instr.ins[k].aval.dtype for k in moving]
    his = tuple([np.asarray(operands[k].hi, d)[()] for k, d in zip(moving, dtypes, strict=True)])
    los = tuple(
        [np.asarray(operands[k].lo + (operands[k].hi - h), d)[()] for k, h, d in zip(moving, his, dtypes, strict=True)]
    )
    try:
        ys, dys = wg.jvp(f, his, los)
    except wg.errors.WengertError:  # a rule is missing: then the step is taken as it is
        ys = tuple([y for y, v in zip(in_float, outs, strict=True) if v.aval.dtype.kind == "f"])
        dys = tuple([np.zeros_like(y) for y in ys])
    pairs = iter(
        [
            Doubled(*fast_two_sum(np.asarray(y, np.float64), np.asarray(dy, np.float64)))
            for y, dy in zip(ys, dys, strict=True)
        ]
    )
    return tuple([next(pairs) if v.aval.dtype.kind == "f" else y for y, v in zip(in_float, outs, strict=True)])
