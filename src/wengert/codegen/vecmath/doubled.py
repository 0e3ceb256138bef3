"""Pairs of floats whose unevaluated sum is a number of twice the precision, and polynomials.

What is exact is exact with and without a fused multiply-add (``target.has_fma``): the product of two floats is then
split into halves of 26 bits. A pair is (high, low) with |low| ≤ ulp(high), if not said otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.codegen.ir import Value, fma
from wengert.codegen.vecmath.arithmetic import format_of

Pair = tuple[Value, Value]


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Σ cₖ xᵏ by Estrin's scheme: pairs, then pairs of pairs; the chain is as long as the logarithm of the degree."""
    terms: list[Value | float] = list(coefficients)
    while len(terms) > 1:
        paired: list[Value | float] = []
        for k in range(0, len(terms) - 1, 2):
            paired.append(fma(x, terms[k + 1], terms[k]))
        if len(terms) % 2:
            paired.append(terms[-1])
        terms = paired
        if len(terms) > 1:
            x = x * x
    return x.like(terms[0])


def horner(x: Value, coefficients: Sequence[float]) -> Value:
    """Σ cₖ xᵏ by Horner's scheme, for short polynomials, for which Estrin's further products cost more than they
    save."""
    total = x.like(coefficients[-1])
    for c in coefficients[-2::-1]:
        total = fma(total, x, c)
    return total


def quick_two_sum(a: Value, b: Value) -> Pair:
    """a + b exactly, where |a| ≥ |b| or a = 0."""
    s = a + b
    return s, b - (s - a)


def two_sum(a: Value, b: Value) -> Pair:
    """a + b exactly."""
    s = a + b
    b_seen = s - a
    return s, (a - (s - b_seen)) + (b - b_seen)


def halves(a: Value) -> Pair:
    """a exactly as a sum of its upper half of the bits and the rest."""
    form = format_of(a)
    high = (a.bits(form.integer) & -(1 << (form.fraction + 3) // 2)).bits(a.dtype)
    return high, a - high


def two_product(a: Value, b: Value) -> Pair:
    """a · b exactly (without FMA but for 2^-104 of it), if nothing under- or overflows."""
    p = a * b
    if a.f.target.has_fma:
        return p, fma(a, b, -p)
    a1, a2 = halves(a)
    b1, b2 = halves(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def multiply(a: Pair, b: Pair) -> Pair:
    p, e = two_product(a[0], b[0])
    return quick_two_sum(p, e + fma(a[0], b[1], a[1] * b[0]))


def quotient(a: Pair, b: Pair) -> Pair:
    """a / b: the quotient of the high parts, and the remainder divided by the same reciprocal."""
    q = a[0] / b[0]
    p, e = two_product(q, b[0])
    rest = ((a[0] - p) - e) + (a[1] - q * b[1])
    return q, rest / b[0]


def corrected_quotient(a: Pair, b: Pair) -> Value:
    """a / b rounded nearly right, with one division."""
    inverse = 1 / b[0]
    q = a[0] * inverse
    p, e = two_product(q, b[0])
    rest = ((a[0] - p) - e) + (a[1] - q * b[1])
    return fma(rest, inverse, q)
