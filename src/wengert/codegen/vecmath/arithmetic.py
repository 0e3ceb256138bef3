"""Functions that are exact: their value is one IEEE operation, a choice or a few bits, equal to NumPy's bit for bit.

Arithmetic, comparisons, logic, shifts, rounding, division with remainder, conversions. Each takes operand values of
one dtype (but for :func:`select_where`, :func:`ldexp` and :func:`convert`) and any number of lanes. What NumPy leaves
to the processor (a NaN's sign and payload, the sign of ``maximum(0.0, -0.0)``) is left open here too. Nothing traps:
integers divide by zero to 0, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from wengert.codegen.ir import Value, absolute, copysign, fma, replace_where, select
from wengert.codegen.ir import ceil as native_ceil
from wengert.codegen.ir import floor as native_floor
from wengert.codegen.ir import rint as native_rint
from wengert.codegen.ir import trunc as native_trunc

INF, NAN = float("inf"), float("nan")


class Format(NamedTuple):
    """A floating-point format: of the 1 + 11 + 52 bits of "f8", or the 1 + 8 + 23 of "f4"."""

    integer: str
    """The integer dtype of the same size."""
    fraction: int
    bias: int
    magic: float
    """1.5 · 2^fraction: ``x + magic`` rounds x to an integer and keeps it in the low bits."""
    tiny: float
    """The least normal number."""
    largest: float
    sign: int
    """The sign bit, as an integer of that dtype."""


FORMATS = {
    "f8": Format("i8", 52, 1023, 1.5 * 2.0**52, 2.0**-1022, (2 - 2.0**-52) * 2.0**1023, -(1 << 63)),
    "f4": Format("i4", 23, 127, 1.5 * 2.0**23, 2.0**-126, (2 - 2.0**-23) * 2.0**127, -(1 << 31)),
}


def format_of(x: Value) -> Format:
    return FORMATS[x.dtype]


def false(x: Value) -> Value:
    return x.f.constant(False, "b1", x.lanes)


# --------------------------------------------------------------------------------------------------- arithmetic


def add(x: Value, y: Value) -> Value:
    return x | y if x.dtype == "b1" else x + y


def subtract(x: Value, y: Value) -> Value:
    return x - y


def multiply(x: Value, y: Value) -> Value:
    return x & y if x.dtype == "b1" else x * y


def divide(x: Value, y: Value) -> Value:
    return x / y


def negative(x: Value) -> Value:
    return -x


def identity(x: Value) -> Value:
    return x


def square(x: Value) -> Value:
    return x * x


def reciprocal(x: Value) -> Value:
    return 1 / x


def magnitude(x: Value) -> Value:
    """|x|; the least integer stays what it is."""
    if x.is_float:
        return absolute(x)
    return x if x.is_unsigned else select(x < 0, -x, x)


def sign(x: Value) -> Value:
    """1, 0 (never −0), −1, or NaN."""
    if x.is_float:
        return select(x > 0, 1, select(x < 0, -1, select(x.eq(0), 0, x)))
    if x.is_unsigned:
        return select(x.eq(0), x.like(0), x.like(1))
    return select(x > 0, x.like(1), select(x < 0, x.like(-1), x.like(0)))


def heaviside(x: Value, at_zero: Value) -> Value:
    return select(x.eq(0), at_zero, select(x < 0, 0, select(x > 0, 1, x)))


def maximum(x: Value, y: Value) -> Value:
    if x.dtype == "b1":
        return x | y
    larger = select(x > y, x, y)  # NaN in y comes through; it is one instruction
    return select(x.compare("un", x), x, larger) if x.is_float else larger


def minimum(x: Value, y: Value) -> Value:
    if x.dtype == "b1":
        return x & y
    smaller = select(x < y, x, y)
    return select(x.compare("un", x), x, smaller) if x.is_float else smaller


def fmax(x: Value, y: Value) -> Value:
    """The larger one, or the one that is not NaN."""
    if not x.is_float:
        return maximum(x, y)
    return select(y.compare("un", y), x, select(x > y, x, y))


def fmin(x: Value, y: Value) -> Value:
    if not x.is_float:
        return minimum(x, y)
    return select(y.compare("un", y), x, select(x < y, x, y))


def deg2rad(x: Value) -> Value:
    """The factor is π/180 rounded as NumPy has it: in the dtype of x from the start."""
    return x * (0.017453292519943295 if x.dtype == "f8" else 0.01745329238474369)


def rad2deg(x: Value) -> Value:
    return x * (57.29577951308232 if x.dtype == "f8" else 57.2957763671875)


# --------------------------------------------------------------------------------------------- questions, logic


def is_nan(x: Value) -> Value:
    return x.compare("un", x) if x.is_float else false(x)


def is_inf(x: Value) -> Value:
    return absolute(x).eq(INF) if x.is_float else false(x)


def is_finite(x: Value) -> Value:
    return absolute(x) < INF if x.is_float else ~false(x)


def signbit(x: Value) -> Value:
    return x.bits(format_of(x).integer) < 0


def compare(how: str, x: Value, y: Value) -> Value:
    """NumPy also compares int64 with uint64 as the numbers that they are."""
    if x.dtype != y.dtype:
        signed = x if y.is_unsigned else y
        by_bits = x.bits("u8").compare(how, y.bits("u8"))
        below = signed < 0  # then x and y are of different sign and their order is known
        holds = how == "ne" or how in (("lt", "le") if signed is x else ("gt", "ge"))
        return below | by_bits if holds else ~below & by_bits
    return x.compare(how, y)


def logical_and(x: Value, y: Value) -> Value:
    return x.to("b1") & y.to("b1")


def logical_or(x: Value, y: Value) -> Value:
    return x.to("b1") | y.to("b1")


def logical_xor(x: Value, y: Value) -> Value:
    return x.to("b1") ^ y.to("b1")


def logical_not(x: Value) -> Value:
    return ~x.to("b1")


def select_where(c: Value, x: Value, y: Value) -> Value:
    return select(c.to("b1"), x, y)


# --------------------------------------------------------------------------------------------------------- bits


def left_shift(x: Value, n: Value) -> Value:
    """0 where n is negative or not less than the number of bits."""
    bits = 8 * int(x.dtype[1])
    in_range = n.bits("u" + n.dtype[1]) < bits
    return select(in_range, x << select(in_range, n, 0), 0)


def right_shift(x: Value, n: Value) -> Value:
    """x shifted right; if all bits are shifted out, 0, or −1 for a negative x."""
    bits = 8 * int(x.dtype[1])
    in_range = n.bits("u" + n.dtype[1]) < bits
    if x.is_unsigned:
        return select(in_range, x >> select(in_range, n, 0), 0)
    return x >> select(in_range, n, bits - 1)


def bitwise_count(x: Value) -> Value:
    """The number of one bits of |x|, as "u1"."""
    return x.f.intrinsic("ctpop", magnitude(x)).to("u1") if x.dtype != "b1" else x.to("u1")


def ldexp(x: Value, n: Value) -> Value:
    """x · 2ⁿ, rounded once: only the last of three factors can round, or what it makes is zero anyhow.

    The factors downwards stop short of where a fraction is cut (2^-969 for "f8"), so that bits are lost in one step.
    """
    form = format_of(x)
    up, down = form.bias, form.bias - 1 - form.fraction - 1
    limit = 2 * form.bias + 2 * form.fraction
    n = select(n > limit, limit, n)
    n = select(n < -limit, -limit, n).to(form.integer)
    for _ in range(2):
        too_high, too_low = n > form.bias, n < 1 - form.bias
        x = select(too_high, x * 2.0**up, select(too_low, x * 2.0**-down, x))
        n = select(too_high, n - up, select(too_low, n + down, n))
    n = select(n > form.bias, form.bias, n)
    n = select(n < 1 - form.bias, 1 - form.bias, n)
    return x * ((n + form.bias) << form.fraction).bits(x.dtype)


def nextafter(x: Value, y: Value) -> Value:
    form = format_of(x)
    i = x.bits(form.integer)
    away = (x < y) ^ (x < 0)  # does the magnitude grow
    step = select(away, i + 1, i - 1).bits(x.dtype)
    from_zero = copysign(x.like(2.0 ** (1 - form.bias - form.fraction)), y)
    moved = select(x.eq(0), from_zero, step)
    return select(x.compare("un", y), x + y, select(x.eq(y), y, moved))


def spacing(x: Value) -> Value:
    """The distance from x to its neighbour of greater magnitude."""
    form = format_of(x)
    step = (x.bits(form.integer) + 1).bits(x.dtype) - x
    return select(x.eq(0), 2.0 ** (1 - form.bias - form.fraction), select(is_finite(x), step, NAN))


# ----------------------------------------------------------------------------------------------------- rounding


Rounding = Callable[[Value], Value]


def _rounded(x: Value, native: Rounding, correction: Rounding) -> Value:
    """Round x by the processor's instruction ``native``. Without it (SSE2), |x| + 2^fraction has no bits for a
    fraction, so the sum is rounded to an integer, which ``correction`` makes the one that is wanted."""
    if not x.is_float:
        return x
    if x.f.target.has_fma:
        return native(x)
    big = 2.0 ** format_of(x).fraction
    size = absolute(x)
    nearest = copysign((size + big) - big, x)
    return select(size < big, copysign(correction(nearest), x), x)


def floor(x: Value) -> Value:
    return _rounded(x, native_floor, lambda n: n - select(n > x, 1.0, x.like(0.0)))


def ceil(x: Value) -> Value:
    return _rounded(x, native_ceil, lambda n: n + select(n < x, 1.0, x.like(0.0)))


def trunc(x: Value) -> Value:
    return _rounded(x, native_trunc, lambda n: absolute(n) - select(absolute(n) > absolute(x), 1.0, x.like(0.0)))


def rint(x: Value) -> Value:
    return _rounded(x, native_rint, lambda n: n)


# --------------------------------------------------------------------------------------- division with remainder


def _safe_divisor(x: Value, y: Value) -> Value:
    """y, and 1 where the processor would trap."""
    traps = y.eq(0)
    if not x.is_unsigned:
        traps = traps | (x.eq(-(1 << (8 * int(x.dtype[1]) - 1))) & y.eq(-1))
    return select(traps, 1, y)


def _integer_divmod(x: Value, y: Value) -> tuple[Value, Value]:
    """Quotient and remainder towards zero; 0 and 0 for y = 0. The least integer by −1 is itself, as x / 1 has it."""
    d = _safe_divisor(x, y)
    quotient = x / d
    by_zero = y.eq(0)
    return select(by_zero, 0, quotient), select(by_zero, 0, x - quotient * d)


def fmod(x: Value, y: Value) -> Value:
    """The remainder of division towards zero: the sign of x."""
    if x.is_float:
        return x.f.shared(f"fmod {x.typed}, {y.typed}", lambda: _float_fmod(x, y))
    return _integer_divmod(x, y)[1]


def _float_fmod(x: Value, y: Value) -> Value:
    """a − t b with t = ⌊a/b⌋, a = |x|, b = |y|, which is exact as long as t is; beyond that libm's, lane by lane.

    The rounded quotient may be one too large, never too small, as the integers are among the floats.
    """

    def by_libm() -> list[Value]:
        return [x.f.pure(f"frem {x.typed}, {y.text}", x.dtype, x.lanes)]

    if not x.f.target.has_fma:
        return by_libm()[0]
    a, b = absolute(x), absolute(y)
    quotient = a / b
    rest = fma(-trunc(quotient), b, a)
    rest = select(rest < 0, rest + b, rest)
    near = copysign(select((b.eq(INF)) & (a < INF), a, rest), x)
    is_far = (quotient >= 2.0 ** format_of(x).fraction) & (a < INF) & (b > 0)
    return replace_where(is_far, [near], by_libm)[0]


def _float_divmod(x: Value, y: Value) -> tuple[Value, Value]:
    """NumPy's floored division (npy_divmod): the remainder is exact but for the last addition."""
    mod = fmod(x, y)
    quotient = (x - mod) / y
    wrong_side = mod.ne(0) & ((y < 0) ^ (mod < 0))
    quotient = select(wrong_side, quotient - 1, quotient)
    mod = select(wrong_side, mod + y, select(mod.eq(0), copysign(x.like(0.0), y), mod))
    floored = floor(quotient)
    floored = select(quotient - floored > 0.5, floored + 1, floored)
    ratio = x / y
    floored = select(quotient.eq(0), copysign(x.like(0.0), ratio), floored)
    by_zero = y.eq(0)
    return select(by_zero, ratio, floored), select(by_zero, NAN, mod)


def floor_divide(x: Value, y: Value) -> Value:
    if x.is_float:
        return _float_divmod(x, y)[0]
    quotient, rest = _integer_divmod(x, y)
    if x.is_unsigned:
        return quotient
    return select(rest.ne(0) & ((rest ^ y) < 0), quotient - 1, quotient)


def remainder(x: Value, y: Value) -> Value:
    if x.is_float:
        return _float_divmod(x, y)[1]
    rest = _integer_divmod(x, y)[1]
    if x.is_unsigned:
        return rest
    return select(rest.ne(0) & ((rest ^ y) < 0), rest + y, rest)


def unsigned_power(x: Value, n: Value) -> Value:
    """xⁿ modulo 2^bits. The exponents of signed integers may be negative, where NumPy raises: they are not for us."""
    result = x.like(1)
    for bit in range(8 * int(n.dtype[1])):
        result = select((n & (1 << bit)).ne(0), result * x, result)
        x = x * x
    return result


# -------------------------------------------------------------------------------------------------- conversions


def convert(x: Value, dtype: str) -> Value:
    """``astype``; floats that do not fit an integer become what NumPy's C code gives on x86-64.

    That is the least number of the type that the processor converts to ("i8", or "i4" for smaller ones), cut to size.
    """
    if not x.is_float or dtype[0] in "fb":
        return x.to(dtype)
    if dtype == "u8":
        upper = x >= 2.0**63
        lowered = _in_range(select(upper, x - 2.0**63, x), 63).to("i8")
        return select(upper, lowered ^ -(1 << 63), lowered).bits("u8")
    through = "i8" if dtype in ("i8", "u4") else "i4"
    return _in_range(x, 8 * int(through[1]) - 1).to(through).to(dtype)


def _in_range(x: Value, bits: int) -> Value:
    """x where it fits a signed integer, else the least one: LLVM leaves the conversion of others undefined."""
    least = -(2.0**bits)
    lowest = x > least - 1 if x.dtype == "f8" and bits < 52 else x >= least
    return select(lowest & (x < -least), x, least)
