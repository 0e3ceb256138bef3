"""Elementwise ops: one entry a ufunc, with its partial derivatives as formulas.

A partial is a formula in the operands and the output ``y``, a number, or ZERO or NONE (see :mod:`wengert.ops.op`).
Operands come with the dtypes of one NumPy loop: tracing converts before it emits. What is chosen at a kink is
listed in ``docs/kinks.md``: at a tie each operand gets half, at a corner the mean of both slopes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.ops.kernels import CompiledLoop, Map, flops
from wengert.ops.op import CONJUGATION, NONE, ZERO, Op, broadcast_shapes, elementwise, operator
from wengert.ops.structured import Masked
from wengert.tape import Atom, Aval, Instr, Lit

LN2, LN10 = math.log(2), math.log(10)


# Margins: zero where an op switches from one smooth piece to another (``Op.switches``).


def at_zero(x: Atom, *others: Atom) -> list[Any]:
    """The margin of an op that switches where its first operand is zero; of complex numbers its size."""
    return [absolute(x) if x.aval.dtype.kind == "c" else x]


def at_equality(x1: Atom, x2: Atom, y: Atom) -> list[Any]:
    """The margin of an op that switches where its two operands are equal."""
    return [subtract(x1, x2) if x1.aval.dtype.kind == "f" else None]


def at_whole_numbers(x: Atom, *others: Atom) -> list[Any]:
    """The signed distance to the nearest whole number."""
    return [x - rint(x)]


def at_whole_numbers_but_zero(x: Atom, *others: Atom) -> list[Any]:
    """The signed distance to the nearest whole number other than zero, at which truncation does not switch."""
    nearest = rint(x)
    return [x - select(equal(nearest, 0), copysign(Lit(1, x.aval.dtype), x), nearest)]


def _at_halves(x: Atom, y: Atom) -> list[Any]:
    return [x - floor(x) - 0.5]


def _at_multiples(x1: Atom, x2: Atom, y: Atom) -> list[Any]:
    """The signed distance of x1 to the nearest multiple of x2."""
    return [x1 - x2 * rint(x1 / x2)] if x1.aval.dtype.kind == "f" else [None]


def _of_conversion(x: Atom, y: Atom, *, dtype: np.dtype[Any]) -> list[Any]:
    """Floats become whole numbers by truncation, and booleans by comparison with zero."""
    if x.aval.dtype.kind != "f" or dtype.kind in "fc":
        return [None]
    return at_zero(x) if dtype.kind == "b" else at_whole_numbers_but_zero(x)


def _at_branch_cut(x1: Atom, x2: Atom, y: Atom) -> list[Any]:
    """The distance of the point (x2, x1) to the half-line x1 = 0, x2 < 0, at which the angle jumps by 2π."""
    return [select(x2 < 0, x1, hypot(x1, x2))]


def is_literal(a: Atom, number: float) -> bool:
    return type(a) is Lit and bool(a.value == number)


# ---------------------------------------------------------------------------------------- selection, conversion


def _select_type(c: Aval, x: Aval, y: Aval) -> Aval:
    return Aval(broadcast_shapes("where", c, x, y), x.dtype)


def _select_shortcut(c: Atom, x: Atom, y: Atom) -> Atom | None:
    return x if x is y and c.aval.shape == () else None


select = elementwise(  # where: selection, so that the derivative of the branch not taken never counts
    np.where,
    name="select",
    type=_select_type,
    shortcut=_select_shortcut,
    partials=[NONE, lambda c, x1, x2, y: Masked(c, 1), lambda c, x1, x2, y: Masked(c, 1, holds=False)],
    output_mask=lambda made, c, x1, x2: _output_mask(made, c, x1, x2),
)


def _convert_partials(dtype: np.dtype[Any]) -> list[Any]:
    return [1 if dtype.kind in "fc" else ZERO]


convert = elementwise(  # astype; the engine projects tangents and cotangents onto the dtype of their primal
    lambda x, *, dtype: np.asarray(x).astype(dtype),
    name="convert",
    type=lambda x, *, dtype: Aval(x.shape, dtype),
    partials=_convert_partials,
    switches=_of_conversion,
    shortcut=lambda x, *, dtype: x if x.aval.dtype == dtype else None,
    magnitude=lambda n: n,
)


# --------------------------------------------------------------------------------------------------- arithmetic


def _multiply_shortcut(x1: Atom, x2: Atom) -> Atom | None:
    """``x * 1`` is x, bit for bit (but for a NaN's payload)."""
    if type(x2) is Lit and x2.value == 1 and x1.aval.dtype == x2.aval.dtype:
        return x1
    if type(x1) is Lit and x1.value == 1 and x1.aval.dtype == x2.aval.dtype:
        return x2
    return None


def _opposite(made: Op, x: Atom) -> Atom | None:
    """The atom of which x is the negative: a literal, or the operand of the instruction that made x; else None."""
    if type(x) is Lit:
        return Lit(np.negative(x.value), x.aval.dtype) if x.aval.dtype.kind == "f" else None
    instr = made(x)
    return instr.ins[0] if instr is not None and instr.op is negative else None


def _add_identity(made: Op, x1: Atom, x2: Atom) -> Any:
    """x₁ + (-x₂) = x₁ - x₂, of one dtype: integers of another size wrap around elsewhere"""
    if x1.aval.dtype != x2.aval.dtype:
        return None
    for a, b in ((x1, x2), (x2, x1)):
        opposite = None if type(b) is Lit else _opposite(made, b)
        if opposite is not None:
            return subtract, (a, opposite)
    return None


def _subtract_identity(made: Op, x1: Atom, x2: Atom) -> Any:
    """x₁ - (-x₂) = x₁ + x₂, of one dtype"""
    opposite = None if type(x2) is Lit or x1.aval.dtype != x2.aval.dtype else _opposite(made, x2)
    return None if opposite is None else (add, (x1, opposite))


def _subtract_shortcut(x1: Atom, x2: Atom) -> Atom | None:
    """``x - 0`` is x, bit for bit; ``x - (-0)`` is not where a part of x is -0."""
    if not is_literal(x2, 0):
        return None
    value = x2.value  # type: ignore[union-attr]
    return None if np.signbit(value.real) or np.signbit(value.imag) else x1


def _multiply_identity(made: Op, x1: Atom, x2: Atom) -> Any:
    """(-x₁) (-x₂) = x₁ x₂, of one dtype, also where one of them is a number"""
    if x1.aval.dtype != x2.aval.dtype:
        return None
    opposites = _opposite(made, x1), _opposite(made, x2)
    if None in opposites or type(x1) is type(x2) is Lit:
        return None
    return multiply, opposites


def _divide_identity(made: Op, x1: Atom, x2: Atom) -> Any:
    """x / 2ᵏ = x 2⁻ᵏ where both powers are normal numbers, so that nothing is rounded"""
    if type(x2) is not Lit or x2.aval.dtype.kind != "f" or x1.aval.dtype != x2.aval.dtype:
        return None
    value, limits = float(x2.value), np.finfo(x2.aval.dtype)
    is_power = abs(math.frexp(value)[0]) == 0.5 and limits.tiny <= abs(value) <= 1 / limits.tiny
    return (multiply, (x1, Lit(1 / value, x2.aval.dtype))) if is_power else None


add = elementwise(
    np.add, partials=[1, 1], identity=_add_identity, is_commutative=True, magnitude=lambda n1, n2: n1 + n2
)
subtract = elementwise(
    np.subtract,
    partials=[1, -1],
    identity=_subtract_identity,
    shortcut=_subtract_shortcut,
    magnitude=lambda n1, n2: n1 + n2,
)
multiply = elementwise(
    np.multiply,
    partials=[lambda x1, x2, y: x2, lambda x1, x2, y: x1],
    fixed_by=(1, 0),
    shortcut=_multiply_shortcut,
    identity=_multiply_identity,
    is_commutative=True,
    magnitude=lambda n1, n2: n1 * n2,
)
divide = elementwise(
    np.divide,
    partials=[lambda x1, x2, y: 1 / x2, lambda x1, x2, y: -y / x2],
    fixed_by=(None, 0),
    shortcut=lambda x1, x2: x1 if is_literal(x2, 1) and x1.aval.dtype == x2.aval.dtype else None,
    identity=_divide_identity,
    cost=flops(4),
)
negative = elementwise(np.negative, partials=[-1], magnitude=lambda n: n)
positive = elementwise(np.positive, partials=[1], shortcut=lambda x: x)
conjugate = elementwise(
    np.conjugate, name="conjugate", partials=[CONJUGATION], shortcut=lambda x: x if x.aval.dtype.kind != "c" else None
)
reciprocal = elementwise(np.reciprocal, partials=[lambda x, y: -y * y], cost=flops(4))
square = elementwise(np.square, partials=[lambda x, y: 2 * x], magnitude=lambda n: n * n)
sqrt = elementwise(np.sqrt, partials=[lambda x, y: 0.5 / y], switches=at_zero, cost=flops(6))
cbrt = elementwise(np.cbrt, partials=[lambda x, y: 1 / (3 * (y * y))], switches=at_zero, cost=flops(20))


def power_partial_base(x: Atom, p: Atom, y: Atom) -> Any:
    """p xᵖ⁻¹, and 0 where p = 0 and x = 0. Where p = 0 alone it is 0 by itself, and moves with p."""
    if type(p) is Lit:
        value = p.value
        if value == 0:
            return 0
        return 2 * x if value == 2 else 0.5 / y if value == 0.5 else p * power(x, p - 1)
    is_zero = equal(p, 0) & equal(x, 0)
    return select(is_zero, Lit(0, p.aval.dtype), p * power(x, select(is_zero, Lit(1, p.aval.dtype), p - 1)))


def power_partial_exponent(x: Atom, p: Atom, y: Atom) -> Any:
    """y log x, and 0 where x = 0: the limit for p > 0."""
    is_zero = equal(x, 0)
    one, zero = Lit(1, x.aval.dtype), Lit(0, x.aval.dtype)
    return select(is_zero, zero, y * log(select(is_zero, one, x)))


def _power_shortcut(x: Atom, p: Atom) -> Atom | None:
    return x if is_literal(p, 1) and x.aval.dtype == p.aval.dtype else None


def _power_identity(made: Op, x: Atom, p: Atom) -> Any:
    """NumPy's ways for a scalar exponent. The values are not all those of pow: √ of −∞ is NaN, of −0 it is −0."""
    if type(p) is not Lit or x.aval.dtype != p.aval.dtype or p.aval.dtype.kind != "f":
        return None
    way = {0.5: sqrt, 2.0: square, -1.0: reciprocal}.get(float(p.value))
    return None if way is None else (way, (x,))


power = elementwise(
    np.power,
    partials=[power_partial_base, power_partial_exponent],
    shortcut=_power_shortcut,
    identity=_power_identity,
    kernel=Map("power", CompiledLoop(np.power, raises_for="i")),  # of a negative exponent
    cost=flops(40),
)
float_power = elementwise(np.float_power, partials=[power_partial_base, power_partial_exponent], cost=flops(40))


def direction(x: Atom) -> Any:
    """x / |x| of complex numbers, and 0 at 0."""
    size = _nonzero(absolute(x))
    return compose(real(x) / size, imag(x) / size)


def complex_sign(x: Atom) -> Any:
    """x / |x|, and 0 at 0, as np.sign of complex numbers; where |x| is infinite, the sign of the part that is."""
    re, im = real(x), imag(x)
    size, way = absolute(x), direction(x)
    zero, one, nan = [Lit(value, re.aval.dtype) for value in (0, 1, np.nan)]
    is_flat = isinf(re)
    of_both = select(isinf(im), nan, zero)
    at_infinity = compose(
        select(is_flat, copysign(one, re) + of_both, zero), select(is_flat, of_both, copysign(one, im))
    )
    at_end = select(isinf(size), at_infinity, Lit(0, x.aval.dtype))
    return select(isinf(size) | equal(size, 0), at_end, way)


def _absolute_partial(x: Atom, y: Atom) -> Any:
    """The sign; of complex numbers the conjugate of x / |x|, since d|x| = Re(x̄ dx) / |x|."""
    return conjugate(direction(x)) if x.aval.dtype.kind == "c" else sign(x)


def _truncated_quotient(x1: Atom, x2: Atom, y: Atom) -> Any:
    return -trunc(x1 / x2)


def _floored_quotient(x1: Atom, x2: Atom, y: Atom) -> Any:
    return -floor_divide(x1, x2)


floor_divide = elementwise(np.floor_divide, partials=[ZERO, ZERO], switches=_at_multiples, cost=flops(6))
remainder = elementwise(np.remainder, partials=[1, _floored_quotient], switches=_at_multiples, cost=flops(8))
fmod = elementwise(np.fmod, partials=[1, _truncated_quotient], switches=_at_multiples, cost=flops(8))
absolute = elementwise(np.absolute, partials=[_absolute_partial], switches=at_zero, magnitude=lambda n: n)
fabs = elementwise(np.fabs, partials=[lambda x, y: sign(x)], switches=at_zero)
copysign = elementwise(
    np.copysign,
    partials=[lambda x1, x2, y: sign(x1) * copysign(Lit(1, x1.aval.dtype), x2), ZERO],
    switches=lambda x1, x2, y: [x1, x2],
)
ldexp = elementwise(np.ldexp, partials=[lambda x, n, y: ldexp(Lit(1, x.aval.dtype), n), NONE])
nextafter = elementwise(np.nextafter, partials=[1, ZERO])


Comparison = Callable[[Any, Any], Any]


def _extreme(wins: Comparison, loses: Comparison, nan_wins: bool) -> list[Callable[[Atom, Atom, Atom], Masked]]:
    """The partials of a maximum or minimum: 1 where the operand is the result, half of it at a tie.

    If one operand is NaN, the result is the NaN if ``nan_wins``, else the other operand; if both are NaN, it is the
    first.
    """

    def where(mask: Atom, x1: Atom, x2: Atom) -> Masked:
        return Masked(mask, select(equal(x1, x2), Lit(0.5, x1.aval.dtype), Lit(1, x1.aval.dtype)))

    def first(x1: Atom, x2: Atom, y: Atom) -> Masked:
        if nan_wins and type(x2) is Lit and x2.value == x2.value:  # one comparison, false of NaN, says it all
            return where(~loses(x1, x2), x1, x2)
        return where(wins(x1, x2) | isnan(x1 if nan_wins else x2), x1, x2)

    def second(x1: Atom, x2: Atom, y: Atom) -> Masked:
        nan, number = (x2, x1) if nan_wins else (x1, x2)
        return where(wins(x2, x1) | (isnan(nan) & equal(number, number)), x1, x2)

    return [first, second]


_MOST: tuple[Comparison, Comparison] = (lambda x1, x2: x1 >= x2, lambda x1, x2: x1 < x2)
_LEAST: tuple[Comparison, Comparison] = (lambda x1, x2: x1 <= x2, lambda x1, x2: x1 > x2)
maximum = elementwise(np.maximum, partials=_extreme(*_MOST, nan_wins=True), switches=at_equality)
minimum = elementwise(np.minimum, partials=_extreme(*_LEAST, nan_wins=True), switches=at_equality)
fmax = elementwise(np.fmax, partials=_extreme(*_MOST, nan_wins=False), switches=at_equality)
fmin = elementwise(np.fmin, partials=_extreme(*_LEAST, nan_wins=False), switches=at_equality)

# ------------------------------------------------------------------------------------- exponentials, logarithms

exp = elementwise(np.exp, partials=[lambda x, y: y], saturates=True, cost=flops(12))
exp2 = elementwise(np.exp2, partials=[lambda x, y: LN2 * y], saturates=True, cost=flops(12))
expm1 = elementwise(np.expm1, partials=[lambda x, y: y + 1], saturates=True, cost=flops(14))
log = elementwise(np.log, partials=[lambda x, y: 1 / x], cost=flops(12))
log2 = elementwise(np.log2, partials=[lambda x, y: (1 / LN2) / x], cost=flops(12))
log10 = elementwise(np.log10, partials=[lambda x, y: (1 / LN10) / x], cost=flops(12))
log1p = elementwise(np.log1p, partials=[lambda x, y: 1 / (1 + x)], cost=flops(14))


def _share(x: Atom, other: Atom, y: Atom, base_exp: Op, log_half: float) -> Any:
    """bˣ⁻ʸ, the share of x in a log-sum. Infinite, x takes all of it, or half where both are the same infinity."""
    zero, half = Lit(0, x.aval.dtype), Lit(log_half, x.aval.dtype)
    return base_exp(select(equal(x, y), select(equal(x, other), half, zero), x - y))


logaddexp = elementwise(
    np.logaddexp,
    partials=[
        lambda x1, x2, y: _share(x1, x2, y, exp, -LN2),
        lambda x1, x2, y: _share(x2, x1, y, exp, -LN2),
    ],
    saturates=True,
    cost=flops(30),
)
logaddexp2 = elementwise(
    np.logaddexp2,
    partials=[
        lambda x1, x2, y: _share(x1, x2, y, exp2, -1),
        lambda x1, x2, y: _share(x2, x1, y, exp2, -1),
    ],
    saturates=True,
    cost=flops(30),
)

# ---------------------------------------------------------------------------------- trigonometry, hyperbolics

sin = elementwise(np.sin, partials=[lambda x, y: cos(x)], cost=flops(15))
cos = elementwise(np.cos, partials=[lambda x, y: -sin(x)], cost=flops(15))
tan = elementwise(np.tan, partials=[lambda x, y: 1 + y * y], cost=flops(20))


def _half_chord(x: Atom) -> Any:
    """√(1 − x²); of complex numbers as a product of roots, which have their cuts where the functions have theirs."""
    return sqrt(1 - x) * sqrt(1 + x) if x.aval.dtype.kind == "c" else sqrt((1 - x) * (1 + x))


arcsin = elementwise(np.arcsin, partials=[lambda x, y: 1 / _half_chord(x)], cost=flops(20))
arccos = elementwise(np.arccos, partials=[lambda x, y: -1 / _half_chord(x)], cost=flops(20))
arctan = elementwise(np.arctan, partials=[lambda x, y: 1 / (1 + x * x)], cost=flops(20))


def _over_squared_radius(x: Atom, x1: Atom, x2: Atom) -> Any:
    """x / (x1² + x2²) without the squares, which overflow and underflow long before the quotient does."""
    r = hypot(x1, x2)
    return x / r / r


arctan2 = elementwise(
    np.arctan2,
    partials=[
        lambda x1, x2, y: _over_squared_radius(x2, x1, x2),
        lambda x1, x2, y: -_over_squared_radius(x1, x1, x2),
    ],
    switches=_at_branch_cut,
    cost=flops(25),
)


def _nonzero(y: Atom) -> Any:
    return select(equal(y, 0), Lit(1, y.aval.dtype), y)


hypot = elementwise(
    np.hypot,
    partials=[lambda x1, x2, y: x1 / _nonzero(y), lambda x1, x2, y: x2 / _nonzero(y)],
    switches=lambda x1, x2, y: [y],
    cost=flops(12),
)
sinh = elementwise(np.sinh, partials=[lambda x, y: cosh(x)], cost=flops(20))
cosh = elementwise(np.cosh, partials=[lambda x, y: sinh(x)], cost=flops(20))
tanh = elementwise(np.tanh, partials=[lambda x, y: 1 - y * y], cost=flops(12))


def _arcsinh_partial(x: Atom, y: Atom) -> Any:
    return 1 / (sqrt(1 - 1j * x) * sqrt(1 + 1j * x) if x.aval.dtype.kind == "c" else hypot(x, 1))


arcsinh = elementwise(np.arcsinh, partials=[_arcsinh_partial], cost=flops(25))
arccosh = elementwise(np.arccosh, partials=[lambda x, y: 1 / (sqrt(x - 1) * sqrt(x + 1))], cost=flops(25))
arctanh = elementwise(np.arctanh, partials=[lambda x, y: 1 / ((1 - x) * (1 + x))], cost=flops(20))
deg2rad = elementwise(np.deg2rad, partials=[math.pi / 180])
rad2deg = elementwise(np.rad2deg, partials=[180 / math.pi])
radians = elementwise(np.radians, partials=[math.pi / 180])
degrees = elementwise(np.degrees, partials=[180 / math.pi])

# ---------------------------------------------------------------------------------------------- complex numbers


def _part_type(x: Aval) -> Aval:
    return Aval(x.shape, real_dtype(x.dtype))


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of complex numbers; of others their own."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of complex numbers with such parts; of complex ones their own."""
    return np.dtype(f"c{2 * dtype.itemsize}") if dtype.kind == "f" else dtype


real = elementwise(
    lambda x: np.real(x).copy(),
    name="real",
    type=_part_type,
    partials=[1],
    shortcut=lambda x: x if x.aval.dtype.kind != "c" else None,
)
imag = elementwise(
    lambda x: np.imag(x).copy(),
    name="imag",
    type=_part_type,
    partials=[lambda x, y: Lit(-1j, x.aval.dtype)],  # y = Re(-i x)
)


def _composed(re: np.ndarray[Any, Any], im: np.ndarray[Any, Any]) -> Any:
    z = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), np.result_type(re, 1j))
    z.real, z.imag = re, im
    return z


compose = elementwise(  # re + i im, bit for bit
    _composed,
    name="compose",
    type=lambda re, im: Aval(broadcast_shapes("compose", re, im), complex_dtype(re.dtype)),
    partials=[1, lambda re, im, y: Lit(1j, y.aval.dtype)],
)


def cast(x: Atom, dtype: np.dtype[Any]) -> Any:
    """``x`` in a dtype; of complex numbers in a real one the real part, without the warning that NumPy gives."""
    if x.aval.dtype is dtype:  # what the shortcuts of both ops would find: most casts are of this kind
        return x
    return convert(x if dtype.kind == "c" else real(x), dtype=dtype)


# -------------------------------------------------------------------- flat: the derivative is zero, where it exists

sign = elementwise(
    np.sign, partials=[ZERO], switches=at_zero
)  # of complex numbers, for which it is not flat, tracing writes x / |x|
heaviside = elementwise(np.heaviside, partials=[ZERO, lambda x1, x2, y: Masked(equal(x1, 0), 1)], switches=at_zero)
floor = elementwise(np.floor, partials=[ZERO], switches=at_whole_numbers)
ceil = elementwise(np.ceil, partials=[ZERO], switches=at_whole_numbers)
rint = elementwise(np.rint, partials=[ZERO], switches=_at_halves)
trunc = elementwise(np.trunc, partials=[ZERO], switches=at_whole_numbers_but_zero)
spacing = elementwise(np.spacing, partials=[ZERO])

greater = elementwise(np.greater, partials=[ZERO, ZERO], switches=at_equality)
greater_equal = elementwise(np.greater_equal, partials=[ZERO, ZERO], switches=at_equality)
less = elementwise(np.less, partials=[ZERO, ZERO], switches=at_equality)
less_equal = elementwise(np.less_equal, partials=[ZERO, ZERO], switches=at_equality)
equal = elementwise(np.equal, partials=[ZERO, ZERO], switches=at_equality)
not_equal = elementwise(np.not_equal, partials=[ZERO, ZERO], switches=at_equality)
logical_and = elementwise(np.logical_and, partials=[ZERO, ZERO])
logical_or = elementwise(np.logical_or, partials=[ZERO, ZERO])
logical_xor = elementwise(np.logical_xor, partials=[ZERO, ZERO])
logical_not = elementwise(np.logical_not, partials=[ZERO])
isnan = elementwise(np.isnan, partials=[ZERO])
isinf = elementwise(np.isinf, partials=[ZERO])
isfinite = elementwise(np.isfinite, partials=[ZERO])
signbit = elementwise(np.signbit, partials=[ZERO], switches=at_zero)

bitwise_and = elementwise(np.bitwise_and, partials=[NONE, NONE])
bitwise_or = elementwise(np.bitwise_or, partials=[NONE, NONE])
bitwise_xor = elementwise(np.bitwise_xor, partials=[NONE, NONE])
bitwise_count = elementwise(np.bitwise_count, partials=[NONE])
invert = elementwise(np.invert, partials=[NONE])
left_shift = elementwise(np.left_shift, partials=[NONE, NONE])
right_shift = elementwise(np.right_shift, partials=[NONE, NONE])
gcd = elementwise(np.gcd, partials=[NONE, NONE])
lcm = elementwise(np.lcm, partials=[NONE, NONE])

for _symbol, _op in {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "power": power,
    "negative": negative,
    "greater": greater,
    "greater_equal": greater_equal,
    "less": less,
    "less_equal": less_equal,
    "logical_and": logical_and,
    "logical_or": logical_or,
    "logical_not": logical_not,
}.items():
    operator(_symbol, _op)


# ------------------------------------------------------------------------------------------------ masks of selections


def _output_mask(made: Op, mask: Atom, x1: Atom, x2: Atom) -> tuple[Op, Lit] | None:
    """The comparison of y = where(mask, x1, x2) with a number that is true where ``mask`` is: of a rectifier, leaky or
    not. NaN compares as false on both sides, and is where x is."""
    found = made(mask)
    if found is None or found.op not in (less, less_equal, greater, greater_equal):
        return None
    x, limit = found.ins
    if type(limit) is not Lit or limit.aval.shape != () or limit.aval.dtype.kind != "f":
        return None
    is_limit = lambda a: type(a) is Lit and a.aval.dtype == limit.aval.dtype and a.value == limit.value
    holds_at_limit = found.op in (less_equal, greater_equal)
    if (x1 is x and is_limit(x2) and not holds_at_limit) or (x2 is x and is_limit(x1) and holds_at_limit):
        return found.op, limit
    if found.op is greater and x1 is x and limit.value == 0 and _is_positive_multiple(made(x2), x):
        return found.op, limit
    return None


def _is_positive_multiple(instr: Instr, x: Atom) -> bool:
    """Whether an instruction multiplies ``x`` with a number that is not negative."""
    if instr is None or instr.op is not multiply or x not in instr.ins:
        return False
    factors = [a for a in instr.ins if a is not x]
    if len(factors) != 1 or type(factors[0]) is not Lit or factors[0].aval.shape != ():
        return False
    return bool(np.real(factors[0].value) >= 0)
