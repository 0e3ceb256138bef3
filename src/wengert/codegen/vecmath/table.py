"""The scalar functions of kernels: the name of a ``Map`` -> instructions, for vectors of any number of lanes.

Arithmetic is NumPy's bit for bit (:mod:`arithmetic`). What is transcendental is our own, inlined and without branches
but for huge angles, at most one unit in the last place from the true value where a docstring does not say otherwise
(:mod:`exponentials`, :mod:`trigonometry`, :mod:`powers`, :mod:`error_functions`, :mod:`logistic`). What
:func:`is_supported` denies is for NumPy to compute, in a callback.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from wengert.codegen.ir import DTYPES, Value, copysign, sqrt
from wengert.codegen.vecmath import arithmetic, error_functions, exponentials, fast, logistic, powers, trigonometry

Scalar = Callable[..., Value]

FLOAT: dict[str, Scalar] = {
    "divide": arithmetic.divide,
    "reciprocal": arithmetic.reciprocal,
    "sqrt": sqrt,
    "fabs": arithmetic.magnitude,
    "copysign": copysign,
    "heaviside": arithmetic.heaviside,
    "deg2rad": arithmetic.deg2rad,
    "radians": arithmetic.deg2rad,
    "rad2deg": arithmetic.rad2deg,
    "degrees": arithmetic.rad2deg,
    "rint": arithmetic.rint,
    "signbit": arithmetic.signbit,
    "nextafter": arithmetic.nextafter,
    "spacing": arithmetic.spacing,
    "exp": exponentials.exp,
    "exp2": exponentials.exp2,
    "exp10": exponentials.exp10,
    "expm1": exponentials.expm1,
    "log": exponentials.log,
    "log2": exponentials.log2,
    "log10": exponentials.log10,
    "log1p": exponentials.log1p,
    "cbrt": powers.cbrt,
    "sinh": exponentials.sinh,
    "cosh": exponentials.cosh,
    "tanh": exponentials.tanh,
    "arcsinh": exponentials.arcsinh,
    "arccosh": exponentials.arccosh,
    "arctanh": exponentials.arctanh,
    "float_power": powers.power,
    "sin": trigonometry.sin,
    "cos": trigonometry.cos,
    "tan": trigonometry.tan,
    "arcsin": trigonometry.arcsin,
    "arccos": trigonometry.arccos,
    "arctan": trigonometry.arctan,
    "arctan2": trigonometry.arctan2,
    "logaddexp": logistic.logaddexp,
    "logaddexp2": logistic.logaddexp2,
    "expit": logistic.expit,
    "log_expit": logistic.log_expit,
    "xlogy": logistic.xlogy,
    "xlog1py": logistic.xlog1py,
    "entr": logistic.entr,
    "rel_entr": logistic.rel_entr,
    "kl_div": logistic.kl_div,
    "logit": logistic.logit,
    "hypot": powers.hypot,
    "exprel": powers.exprel,
    "huber": powers.huber,
    "pseudo_huber": powers.pseudo_huber,
    "cosm1": trigonometry.cosm1,
    "erf": error_functions.erf,
    "erfc": error_functions.erfc,
    "erfcx": error_functions.erfcx,
    "ndtr": error_functions.ndtr,
    "log_ndtr": error_functions.log_ndtr,
}
"""Of float operands; also in the tables below where integers have an answer of their own."""

NUMBER: dict[str, Scalar] = {
    "subtract": arithmetic.subtract,
    "negative": arithmetic.negative,
    "positive": arithmetic.identity,
    "conjugate": arithmetic.identity,
    "sign": arithmetic.sign,
    "floor_divide": arithmetic.floor_divide,
    "remainder": arithmetic.remainder,
    "fmod": arithmetic.fmod,
    "square": arithmetic.square,
}
"""Of floats and integers."""

ANY: dict[str, Scalar] = {
    "add": arithmetic.add,
    "multiply": arithmetic.multiply,
    "absolute": arithmetic.magnitude,
    "maximum": arithmetic.maximum,
    "minimum": arithmetic.minimum,
    "fmax": arithmetic.fmax,
    "fmin": arithmetic.fmin,
    "floor": arithmetic.floor,
    "ceil": arithmetic.ceil,
    "trunc": arithmetic.trunc,
    "less": partial(arithmetic.compare, "lt"),
    "less_equal": partial(arithmetic.compare, "le"),
    "greater": partial(arithmetic.compare, "gt"),
    "greater_equal": partial(arithmetic.compare, "ge"),
    "equal": partial(arithmetic.compare, "eq"),
    "not_equal": partial(arithmetic.compare, "ne"),
    "logical_and": arithmetic.logical_and,
    "logical_or": arithmetic.logical_or,
    "logical_xor": arithmetic.logical_xor,
    "logical_not": arithmetic.logical_not,
    "isnan": arithmetic.is_nan,
    "isinf": arithmetic.is_inf,
    "isfinite": arithmetic.is_finite,
    "select": arithmetic.select_where,
}
"""Of floats, integers and booleans."""

BITS: dict[str, Scalar] = {
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "invert": lambda x: ~x,
}
"""Of integers and booleans."""

INTEGER: dict[str, Scalar] = {
    "left_shift": arithmetic.left_shift,
    "right_shift": arithmetic.right_shift,
    "bitwise_count": arithmetic.bitwise_count,
}


def power(x: Value, y: Value) -> Value:
    return powers.power(x, y) if x.is_float else arithmetic.unsigned_power(x, y)


FUNCTIONS: dict[str, Scalar] = {
    **FLOAT,
    **NUMBER,
    **ANY,
    **BITS,
    **INTEGER,
    "power": power,
    "ldexp": arithmetic.ldexp,
    "convert": arithmetic.convert,
}
"""Every function by name; "convert" also takes the dtype."""

FAST: dict[str, Scalar] = {
    "exp": fast.exp,
    "tanh": fast.tanh,
    "expit": fast.expit,
    "log_expit": fast.log_expit,
    "logaddexp": fast.logaddexp,
}
"""What a kernel may use instead when a few units in the last place do not matter."""

ACCEPTED = {
    name: kinds
    for kinds, table in {"f": FLOAT, "fiu": NUMBER, "fiub": ANY, "iub": BITS, "iu": INTEGER}.items()
    for name in table
} | {"power": "fu"}
"""The kinds of dtype ("f", "i", "u", "b") that a function of operands of one dtype takes."""

COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})


def is_supported(function: str, in_dtypes: tuple[str, ...], out_dtype: str) -> bool:
    """Whether :func:`apply` knows the function for these dtypes."""
    if not {*in_dtypes, out_dtype} <= DTYPES:
        return False
    if function == "convert":
        return True
    if function == "ldexp":
        return in_dtypes[0][0] == "f" and in_dtypes[1] in ("i4", "i8")
    if function == "select":
        return in_dtypes[1] == in_dtypes[2]
    if function in COMPARISONS and set(in_dtypes) == {"i8", "u8"}:
        return True
    return in_dtypes[0][0] in ACCEPTED.get(function, "") and len(set(in_dtypes)) == 1


def apply(function: str, xs: list[Value], out_dtype: str, is_fast: bool = False) -> Value:
    """The function of the operands; ``is_fast`` allows the version in :data:`FAST`."""
    if function == "convert":
        return arithmetic.convert(xs[0], out_dtype)
    if function == "float_power":  # of float32 too in float64
        xs = [arithmetic.convert(x, out_dtype) for x in xs]
    y = (FAST[function] if is_fast and function in FAST else FUNCTIONS[function])(*xs)
    assert y.dtype == out_dtype, f"{function}: {y.dtype}, expected {out_dtype}"
    return y
