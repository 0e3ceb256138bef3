"""The scalar functions of kernels: the name of a ``Map`` -> instructions, for vectors of any number of lanes.

All that codegen knows about a function is its row in :data:`FUNCTIONS`: a new one is a row, and nothing elsewhere.

Arithmetic is NumPy's bit for bit (:mod:`arithmetic`). What is transcendental is our own, inlined and without branches
but for huge angles, at most one unit in the last place from the true value where a docstring does not say otherwise
(:mod:`exponentials`, :mod:`trigonometry`, :mod:`powers`, :mod:`error_functions`, :mod:`logistic`). What
:func:`is_supported` denies is for NumPy to compute, in a callback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from wengert.codegen.ir import LLVM_TYPES, Value, copysign, sqrt
from wengert.codegen.vecmath import arithmetic, error_functions, exponentials, fast, logistic, powers, trigonometry

Scalar = Callable[..., Value]


class Weight(IntEnum):
    """The length of a function's code, which decides how often a kernel may repeat it if it does not call it."""

    LIGHT = 0
    """A few instructions: a loop of them is unrolled, and takes several vectors at once."""
    MEDIUM = 1
    """Some tens of instructions: there is one copy for whole vectors, and one for the rest."""
    HEAVY = 2
    """More instructions: there is one loop, all of it masked. A second copy would take more time to compile than it
    saves."""


LIGHT, MEDIUM, HEAVY = Weight


class Row(NamedTuple):
    """One function of the table: its code and what codegen must know about it."""

    function: Scalar
    kinds: str
    """The kinds of dtype ("f", "i", "u", "b") that the function takes; all its operands have one dtype."""
    weight: Weight
    fast: Scalar | None = None
    """A version that a kernel may use instead when a few units in the last place do not matter."""


def power(x: Value, y: Value) -> Value:
    return powers.power(x, y) if x.is_float else arithmetic.unsigned_power(x, y)


FUNCTIONS: dict[str, Row] = {
    # For floats
    "divide": Row(arithmetic.divide, "f", LIGHT),
    "reciprocal": Row(arithmetic.reciprocal, "f", LIGHT),
    "sqrt": Row(sqrt, "f", LIGHT),
    "fabs": Row(arithmetic.magnitude, "f", LIGHT),
    "copysign": Row(copysign, "f", LIGHT),
    "heaviside": Row(arithmetic.heaviside, "f", LIGHT),
    "deg2rad": Row(arithmetic.deg2rad, "f", LIGHT),
    "radians": Row(arithmetic.deg2rad, "f", LIGHT),
    "rad2deg": Row(arithmetic.rad2deg, "f", LIGHT),
    "degrees": Row(arithmetic.rad2deg, "f", LIGHT),
    "rint": Row(arithmetic.rint, "f", LIGHT),
    "signbit": Row(arithmetic.signbit, "f", LIGHT),
    "nextafter": Row(arithmetic.nextafter, "f", MEDIUM),
    "spacing": Row(arithmetic.spacing, "f", MEDIUM),
    "exp": Row(exponentials.exp, "f", MEDIUM, fast.exp),
    "exp2": Row(exponentials.exp2, "f", MEDIUM),
    "exp10": Row(exponentials.exp10, "f", HEAVY),
    "expm1": Row(exponentials.expm1, "f", MEDIUM),
    "log": Row(exponentials.log, "f", MEDIUM),
    "log2": Row(exponentials.log2, "f", MEDIUM),
    "log10": Row(exponentials.log10, "f", MEDIUM),
    "log1p": Row(exponentials.log1p, "f", MEDIUM),
    "cbrt": Row(powers.cbrt, "f", HEAVY),
    "sinh": Row(exponentials.sinh, "f", HEAVY),
    "cosh": Row(exponentials.cosh, "f", HEAVY),
    "tanh": Row(exponentials.tanh, "f", MEDIUM, fast.tanh),
    "arcsinh": Row(exponentials.arcsinh, "f", HEAVY),
    "arccosh": Row(exponentials.arccosh, "f", HEAVY),
    "arctanh": Row(exponentials.arctanh, "f", HEAVY),
    "float_power": Row(powers.power, "f", HEAVY),
    "sin": Row(trigonometry.sin, "f", HEAVY),
    "cos": Row(trigonometry.cos, "f", HEAVY),
    "tan": Row(trigonometry.tan, "f", HEAVY),
    "arcsin": Row(trigonometry.arcsin, "f", HEAVY),
    "arccos": Row(trigonometry.arccos, "f", HEAVY),
    "arctan": Row(trigonometry.arctan, "f", HEAVY),
    "arctan2": Row(trigonometry.arctan2, "f", HEAVY),
    "logaddexp": Row(logistic.logaddexp, "f", HEAVY, fast.logaddexp),
    "logaddexp2": Row(logistic.logaddexp2, "f", HEAVY),
    "expit": Row(logistic.expit, "f", MEDIUM, fast.expit),
    "log_expit": Row(logistic.log_expit, "f", HEAVY, fast.log_expit),
    "xlogy": Row(logistic.xlogy, "f", HEAVY),
    "xlog1py": Row(logistic.xlog1py, "f", HEAVY),
    "entr": Row(logistic.entr, "f", HEAVY),
    "rel_entr": Row(logistic.rel_entr, "f", HEAVY),
    "kl_div": Row(logistic.kl_div, "f", HEAVY),
    "logit": Row(logistic.logit, "f", HEAVY),
    "hypot": Row(powers.hypot, "f", HEAVY),
    "exprel": Row(powers.exprel, "f", HEAVY),
    "huber": Row(powers.huber, "f", MEDIUM),
    "pseudo_huber": Row(powers.pseudo_huber, "f", HEAVY),
    "cosm1": Row(trigonometry.cosm1, "f", HEAVY),
    "erf": Row(error_functions.erf, "f", HEAVY),
    "erfc": Row(error_functions.erfc, "f", HEAVY),
    "erfcx": Row(error_functions.erfcx, "f", HEAVY),
    "ndtr": Row(error_functions.ndtr, "f", HEAVY),
    "log_ndtr": Row(error_functions.log_ndtr, "f", HEAVY),
    # For floats and integers
    "subtract": Row(arithmetic.subtract, "fiu", LIGHT),
    "negative": Row(arithmetic.negative, "fiu", LIGHT),
    "positive": Row(arithmetic.identity, "fiu", LIGHT),
    "conjugate": Row(arithmetic.identity, "fiu", LIGHT),
    "sign": Row(arithmetic.sign, "fiu", LIGHT),
    "floor_divide": Row(arithmetic.floor_divide, "fiu", HEAVY),
    "remainder": Row(arithmetic.remainder, "fiu", HEAVY),
    "fmod": Row(arithmetic.fmod, "fiu", HEAVY),
    "square": Row(arithmetic.square, "fiu", LIGHT),
    # For floats, integers and booleans
    "add": Row(arithmetic.add, "fiub", LIGHT),
    "multiply": Row(arithmetic.multiply, "fiub", LIGHT),
    "absolute": Row(arithmetic.magnitude, "fiub", LIGHT),
    "maximum": Row(arithmetic.maximum, "fiub", LIGHT),
    "minimum": Row(arithmetic.minimum, "fiub", LIGHT),
    "fmax": Row(arithmetic.fmax, "fiub", LIGHT),
    "fmin": Row(arithmetic.fmin, "fiub", LIGHT),
    "floor": Row(arithmetic.floor, "fiub", LIGHT),
    "ceil": Row(arithmetic.ceil, "fiub", LIGHT),
    "trunc": Row(arithmetic.trunc, "fiub", LIGHT),
    "less": Row(partial(arithmetic.compare, "lt"), "fiub", LIGHT),
    "less_equal": Row(partial(arithmetic.compare, "le"), "fiub", LIGHT),
    "greater": Row(partial(arithmetic.compare, "gt"), "fiub", LIGHT),
    "greater_equal": Row(partial(arithmetic.compare, "ge"), "fiub", LIGHT),
    "equal": Row(partial(arithmetic.compare, "eq"), "fiub", LIGHT),
    "not_equal": Row(partial(arithmetic.compare, "ne"), "fiub", LIGHT),
    "logical_and": Row(arithmetic.logical_and, "fiub", LIGHT),
    "logical_or": Row(arithmetic.logical_or, "fiub", LIGHT),
    "logical_xor": Row(arithmetic.logical_xor, "fiub", LIGHT),
    "logical_not": Row(arithmetic.logical_not, "fiub", LIGHT),
    "isnan": Row(arithmetic.is_nan, "fiub", LIGHT),
    "isinf": Row(arithmetic.is_inf, "fiub", LIGHT),
    "isfinite": Row(arithmetic.is_finite, "fiub", LIGHT),
    "select": Row(arithmetic.select_where, "fiub", LIGHT),
    # For integers and booleans
    "bitwise_and": Row(lambda x, y: x & y, "iub", LIGHT),
    "bitwise_or": Row(lambda x, y: x | y, "iub", LIGHT),
    "bitwise_xor": Row(lambda x, y: x ^ y, "iub", LIGHT),
    "invert": Row(lambda x: ~x, "iub", LIGHT),
    # For integers
    "left_shift": Row(arithmetic.left_shift, "iu", LIGHT),
    "right_shift": Row(arithmetic.right_shift, "iu", LIGHT),
    "bitwise_count": Row(arithmetic.bitwise_count, "iu", MEDIUM),
    # For dtypes that :func:`is_supported` restricts further
    "power": Row(power, "fu", HEAVY),
    "ldexp": Row(arithmetic.ldexp, "f", HEAVY),
    "convert": Row(arithmetic.convert, "fiub", LIGHT),
}
"""Every function by name; "convert" also takes the dtype."""

FAST = tuple([name for name, row in FUNCTIONS.items() if row.fast is not None])
"""The functions that have a fast version."""

COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})


def is_supported(function: str, in_dtypes: tuple[str, ...], out_dtype: str) -> bool:
    """Whether :func:`apply` knows the function for these dtypes."""
    if function not in FUNCTIONS or not {*in_dtypes, out_dtype} <= LLVM_TYPES.keys():
        return False
    if function == "convert":
        return True
    if function == "ldexp":
        return in_dtypes[0][0] == "f" and in_dtypes[1] in ("i4", "i8")
    if function == "select":
        return in_dtypes[1] == in_dtypes[2]
    if function in COMPARISONS and set(in_dtypes) == {"i8", "u8"}:
        return True
    return in_dtypes[0][0] in FUNCTIONS[function].kinds and len(set(in_dtypes)) == 1


def apply(function: str, xs: list[Value], out_dtype: str, is_fast: bool = False) -> Value:
    """The function of the operands; ``is_fast`` allows its fast version."""
    if function == "convert":
        return arithmetic.convert(xs[0], out_dtype)
    if function == "float_power":  # float32 is computed in float64 too
        xs = [arithmetic.convert(x, out_dtype) for x in xs]
    row = FUNCTIONS[function]
    y = (row.fast if is_fast and row.fast is not None else row.function)(*xs)
    assert y.dtype == out_dtype, f"{function}: {y.dtype}, expected {out_dtype}"
    return y


def weight_of(functions: Iterable[str]) -> Weight:
    """The weight of code that computes all of these functions: that of the heaviest."""
    return max([FUNCTIONS[f].weight for f in functions], default=LIGHT)
