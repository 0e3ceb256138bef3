"""Cheaper versions of a few functions, for kernels that allow an error of some units in the last place.

They leave out what the others do for the last bit, and for subnormal results, which become 0. Special values are right.
"""

from __future__ import annotations

from wengert.codegen.ir import Value, absolute, copysign, fma, select
from wengert.codegen.vecmath import exponentials, tables
from wengert.codegen.vecmath.arithmetic import INF, NAN, format_of
from wengert.codegen.vecmath.doubled import polynomial
from wengert.codegen.vecmath.exponentials import LN2, ONE_LN2, clamp, log1p, nearest, power_of_two

# (exp(r) − 1 − r)/r² on |r| < 0.3468, a degree lower than elsewhere; error of exp 2^-56.3, 2^-27.7
EXP = {
    "f8": [
        0.5000000000000011, 0.1666666666666641, 0.04166666666652965, 0.008333333333495072, 0.0013888888943784869,
        0.0001984126950562703, 2.4801492921035534e-05, 2.755758688009942e-06, 2.763031732720733e-07,
        2.5000012433741868e-08,
    ],
    "f4": [0.4999999403953552, 0.1666651964187622, 0.04166839271783829, 0.008368750102818012, 0.0013814528938382864],
}  # fmt: skip

RANGE = {"f8": (-708.396418532264, 709.782712893384), "f4": (-87.33654022216797, 88.72283172607422)}
"""The least and the largest x for which exp(x) is a normal number."""


def _reduced(x: Value) -> tuple[Value, Value]:
    high_ln2, low_ln2 = LN2[x.dtype]
    k = nearest(x * ONE_LN2["f8"][0])
    return k, fma(k, -low_ln2, fma(k, -high_ln2, x))


def _expm1_reduced(r: Value) -> Value:
    return fma(r * r, polynomial(r, EXP[r.dtype]), r)


def exp(x: Value) -> Value:
    """eˣ within 1.5 units: the exponent is added to the bits of exp(r). If there is a table, the exact function is as
    fast, and is used."""
    if tables.are_there(x):
        return exponentials.exp(x)
    form = format_of(x)
    least, largest = RANGE[x.dtype]
    k, r = _reduced(clamp(x, least, largest))
    exponent = (k + form.magic).bits(form.integer) << form.fraction
    y = ((1 + _expm1_reduced(r)).bits(form.integer) + exponent).bits(x.dtype)
    y = select(x < least, 0, select(x > largest, INF, y))
    return select(x.compare("un", x), x, y)


def tanh(x: Value) -> Value:
    """tanh x within 4 units: t/(t + 2) with t = exp(2 |x|) − 1."""
    size = 2 * absolute(x)
    bound = 44.0 if x.dtype == "f8" else 20.0
    k, r = _reduced(select(size > bound, bound, size))
    unit = power_of_two(k)
    t = fma(unit, _expm1_reduced(r), unit - 1)
    return copysign(t / (t + 2), x)


def expit(x: Value) -> Value:
    """1/(1 + e⁻ˣ) within 4 units."""
    return 1 / (1 + exp(-x))


def log_expit(x: Value) -> Value:
    """log(1/(1 + e⁻ˣ)) within 4 units."""
    return select(x < 0, x, 0) - log1p(exp(-absolute(x)))


def logaddexp(x: Value, y: Value) -> Value:
    """log(eˣ + eʸ) within 4 units of the greatest of the operands and the result."""
    largest, smallest = select(x > y, x, y), select(x > y, y, x)
    total = largest + log1p(exp(smallest - largest))
    total = select(x.eq(y) & absolute(x).eq(INF), x, total)
    return select(x.compare("un", y), NAN, total)
