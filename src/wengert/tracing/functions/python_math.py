"""The functions of Python's module ``math`` on traced numbers, by :mod:`~wengert.tracing.interception`.

They take what ``float`` takes, an array of one element too, and give Python's floats. Where Python raises
``ValueError: math domain error``, so do they: that an argument is inside of the domain is looked at, and guarded, as a
branch is. In a batch, whose values cannot be looked at, the result is NumPy's, NaN or an infinity, as it is everywhere
where Python raises OverflowError.

Of whole numbers (``factorial``, ``comb``, ``gcd``), and where Python goes by protocols (``floor``, ``prod``),
nothing is done here: they are what ``int(n)``, ``x * y`` and the like are.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.ops.control import stop_gradient
from wengert.tracing import hooks
from wengert.tracing.arguments import Traced, array, holds, unsupported
from wengert.tracing.emit import record
from wengert.tracing.functions.python_numbers import python_float
from wengert.tracing.interception.asking import AT_ARGUMENTS, INTO_ALL, INTO_LISTS
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer

# Of numbers that are not traced nothing is asked of NumPy: what it gives would be a constant of an unknown origin.
# scipy.special is imported by the first call of a function that needs it: it would be most of wengert's own import.

Real = float | Traced
"""A value that Python's functions take for a number: an array of one element counts as one."""


def _is_constant(x: object) -> bool:
    return type(x) is Tracer and x.constant() is not None


def _plain(x: Any) -> Any:
    """An argument that is, or holds, constants of the trace, with the numbers that they are."""
    if type(x) in (list, tuple):
        return type(x)(map(_plain, x))
    if _is_constant(x):
        return x.item() if x.size == 1 else [_plain(y) for y in x]
    return x


def _holds_traced(x: Any) -> bool:
    return any(map(_holds_traced, x)) if type(x) in (list, tuple) else type(x) is Tracer


def of_python(name: str, looks: int = AT_ARGUMENTS) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the decorated function what ``math.name`` does where an argument is traced, and is no constant.

    What this Python does not have yet, ``fma`` before 3.13, is left out.
    """

    def register(traced: Callable[..., Any]) -> Callable[..., Any]:
        own = getattr(math, name, None)
        if own is None:
            return traced

        @intercepts(own, looks)
        def replacement(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = tuple(map(_plain, args)), {key: _plain(x) for key, x in kwargs.items()}
            is_traced = any(map(_holds_traced, args)) or any(map(_holds_traced, kwargs.values()))
            return (traced if is_traced else own)(*args, **kwargs)

        return traced

    return register


def numbers(*xs: Any) -> list[Any]:
    """Arguments as Python's floats."""
    return [x if type(x) is float else _number(x, xs) for x in xs]


def _number(x: Real, near: Sequence[Any]) -> Any:
    if isinstance(x, np.ndarray | np.generic):
        x = array(x, near)  # the user's, so it is read again at every call
    return python_float(x) if type(x) is Tracer else float(x)


def python_number(x: Any) -> Any:
    return hooks.python_number(x)


def is_known(condition: Real) -> bool:
    """Whether a condition holds, under a guard; where values cannot be looked at, in a batch, it is said not to."""
    return bool(holds(condition))


def must_not(outside: Real) -> None:
    """Raise as Python does if an argument is outside of the domain."""
    if is_known(outside):
        raise ValueError("math domain error")


# ------------------------------------------------------------------------------------------------- of one number


def _ufunc(name: str, ufunc: np.ufunc, outside: Callable[[Any], Any] | None = None) -> None:
    @of_python(name)
    def traced(x: Real) -> Any:
        (x,) = numbers(x)
        if outside is not None:
            must_not(outside(x))
        return python_number(ufunc(x))


for _name, _function in {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "atan": np.arctan, "asinh": np.arcsinh,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "cbrt": np.cbrt,
    "fabs": np.fabs, "degrees": np.degrees, "radians": np.radians,
}.items():  # fmt: skip
    _ufunc(_name, _function)

_ufunc("sqrt", np.sqrt, lambda x: x < 0)
_ufunc("log2", np.log2, lambda x: x <= 0)
_ufunc("log10", np.log10, lambda x: x <= 0)
_ufunc("log1p", np.log1p, lambda x: x <= -1)
_ufunc("asin", np.arcsin, lambda x: np.abs(x) > 1)
_ufunc("acos", np.arccos, lambda x: np.abs(x) > 1)
_ufunc("acosh", np.arccosh, lambda x: x < 1)
_ufunc("atanh", np.arctanh, lambda x: np.abs(x) >= 1)


def is_pole(x: Real) -> Any:
    """Whether Γ has a pole there: at 0, -1, -2, …"""
    return (x <= 0) & (np.floor(x) == x)


@of_python("erf")
def erf(x: Real) -> Any:
    from scipy import special

    return python_number(special.erf(*numbers(x)))


@of_python("erfc")
def erfc(x: Real) -> Any:
    from scipy import special

    return python_number(special.erfc(*numbers(x)))


@of_python("gamma")
def gamma(x: Real) -> Any:
    from scipy import special

    (x,) = numbers(x)
    must_not(is_pole(x))
    return python_number(special.gamma(x))


@of_python("lgamma")
def lgamma(x: Real) -> Any:
    """log |Γ(x)|; of -inf, where Γ is said to have a pole too, Python's is inf."""
    from scipy import special

    (x,) = numbers(x)
    must_not(is_pole(x) & np.isfinite(x))
    y: Any = np.where(x == -np.inf, np.inf, special.gammaln(x))
    return python_number(y)


@of_python("log")
def log(x: Real, base: Real = math.e) -> Any:
    """log x / log base."""
    if base is math.e:
        (x,) = numbers(x)
        must_not(x <= 0)
        return python_number(np.log(x))
    x, base = numbers(x, base)
    must_not((x <= 0) | (base <= 0))
    if is_known(base == 1):
        raise ZeroDivisionError("float division by zero")
    over, under = [hooks.unary(np.log, v) if type(v) is Tracer else math.log(v) for v in (x, base)]
    return python_number(over / under)


@of_python("ulp")
def ulp(x: Real) -> Any:
    (x,) = numbers(x)
    return python_number(np.spacing(np.abs(x)))


@of_python("modf")
def modf(x: Real) -> Any:
    """The fractional part, of x's sign, and the whole one; of an infinity 0 and itself."""
    (x,) = numbers(x)
    whole = np.trunc(x)
    part: Any = np.copysign(np.where(np.isinf(x), 0.0, x - whole), x)
    return python_number(part), python_number(whole)


@of_python("frexp")
def frexp(x: Real) -> Any:
    (x,) = numbers(x)
    mantissa, exponent = hooks.call_ufunc(np.frexp, "__call__", (x,), {})
    return python_number(mantissa), python_number(exponent)


@of_python("isnan")
def isnan(x: Real) -> Any:
    """A traced answer, guarded where it decides something."""
    return np.isnan(*numbers(x))


@of_python("isinf")
def isinf(x: Real) -> Any:
    return np.isinf(*numbers(x))


@of_python("isfinite")
def isfinite(x: Real) -> Any:
    return np.isfinite(*numbers(x))


# ------------------------------------------------------------------------------------------------ of two and three


@of_python("atan2")
def atan2(y: Real, x: Real) -> Any:
    return python_number(np.arctan2(*numbers(y, x)))


@of_python("copysign")
def copysign(x: Real, y: Real) -> Any:
    return python_number(np.copysign(*numbers(x, y)))


@of_python("nextafter")
def nextafter(x: Real, y: Real, *, steps: int | None = None) -> Any:
    if steps is not None:
        raise unsupported("math.nextafter: steps= is not traced", "math.nextafter(x, y), several times")
    return python_number(np.nextafter(*numbers(x, y)))


@of_python("pow")
def pow(x: Real, y: Any) -> Any:
    """xʸ in floats. Outside: a root of a negative number, a negative power of 0."""
    x, y = numbers(x, y)
    is_negative, is_zero = (x < 0) & (x > -math.inf), x == 0
    if type(y) is Tracer:
        is_root = np.floor(y) != y
        must_not(((is_negative & is_root) | (is_zero & (y < 0))) & (abs(y) < math.inf))
        x = np.where((x == -math.inf) & is_root, math.inf, x)
    elif math.isfinite(y) and not y.is_integer():
        must_not(is_negative | is_zero if y < 0 else is_negative)
        if y == 0.5:  # of which NumPy takes the square root, NaN at -inf; C's power is that of inf
            x = np.where(x == -math.inf, math.inf, x)
    elif math.isfinite(y) and y < 0:
        must_not(is_zero)
    return python_number(np.power(x, y))


def is_no_quotient(x: Real, y: Real) -> Any:
    """Whether x/y has no remainder: by 0, of an infinity; NaN is handed on."""
    return ((y == 0) & (x == x)) | ((abs(x) == math.inf) & (y == y))


@of_python("fmod")
def fmod(x: Real, y: Real) -> Any:
    x, y = numbers(x, y)
    must_not(is_no_quotient(x, y))
    return python_number(np.fmod(x, y))


@of_python("remainder")
def remainder(x: Real, y: Real) -> Any:
    """x - n y, n the whole number next to x/y, the even one of two; exact, as Python's.

    With r = |x| mod |y| it is r or r - |y|, whichever is nearer to 0. Of r = |y|/2 the sign says whether n is even.
    """
    x, y = numbers(x, y)
    must_not(is_no_quotient(x, y))
    size, step = abs(x), abs(y)
    rest = np.fmod(size, step)
    other = step - rest
    is_even = np.fmod(0.5 * (size - rest), step) == 0
    nearest = np.where((rest < other) | ((rest == other) & is_even) | (step == math.inf), rest, -other)
    return python_number(np.copysign(1.0, x) * nearest)


@of_python("ldexp")
def ldexp(x: Real, i: Any) -> Any:
    """x 2ⁱ; i is an integer, as Python asks."""
    is_whole = type(i) is Tracer and i.aval.dtype.kind in "iu"
    (x,) = numbers(x)
    scaled: Any = np.ldexp(x, i if is_whole else operator.index(i))
    return python_number(scaled)


@of_python("fma")
def fma(x: Real, y: Real, z: Real) -> Any:
    """x y + z, rounded as if it were rounded once: with what both roundings lost, a constant to derivatives."""
    x, y, z = numbers(x, y, z)
    product = x * y
    total = product + z
    lost = _lost_by_product(x, y, product) + _lost_by_sum(product, z, total)
    return python_number(total + _correction(lost))


@of_python("isclose")
def isclose(a: Real, b: Real, *, rel_tol: Real = 1e-09, abs_tol: Real = 0.0) -> Any:
    """|a - b| ≤ max(rel_tol max(|a|, |b|), abs_tol); infinities are close to themselves alone."""
    a, b, rel_tol, abs_tol = numbers(a, b, rel_tol, abs_tol)
    if is_known(rel_tol < 0) or is_known(abs_tol < 0):
        raise ValueError("tolerances must be non-negative")
    nearness = np.maximum(rel_tol * np.maximum(abs(a), abs(b)), abs_tol)
    return (a == b) | ((abs(a) < math.inf) & (abs(b) < math.inf) & (abs(a - b) <= nearness))


# ----------------------------------------------------------------------------------------------- of many


@of_python("hypot")
def hypot(*coordinates: Any) -> Any:
    """√Σ x², without overflow of the squares."""
    first, *others = numbers(*coordinates)
    return python_number(functools.reduce(_hypot, others, abs(first)))


def _hypot(x: Real, y: Real) -> Any:
    return np.hypot(x, y) if type(x) is Tracer or type(y) is Tracer else math.hypot(x, y)


@of_python("dist", INTO_LISTS)
def dist(p: Iterable[Real], q: Iterable[Real]) -> Any:
    p, q = tuple(p), tuple(q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    coordinates = numbers(*p, *q)
    return hypot(*[a - b for a, b in zip(coordinates[: len(p)], coordinates[len(p) :], strict=True)])


def fsum(seq: Iterable[Any]) -> Any:
    """Σ x as if with twice the digits: what each partial sum lost is added at the end, a constant to derivatives.

    Source: Knuth, TAOCP 2, 4.2.2, theorem B; Ogita, Rump, Oishi (2005), Accurate sum and dot product, algorithm Sum2.
    """
    items = [_plain(x) for x in seq]
    if not _holds_traced(items):
        return math.fsum(items)
    terms = np.stack(numbers(*items))
    if len(items) == 1:
        return python_number(terms[0])
    partial = np.cumsum(terms)
    lost = np.sum(_lost_by_sum(partial[:-1], terms[1:], partial[1:]))
    return python_number(partial[-1] + _correction(lost))


intercepts(math.fsum, INTO_ALL)(fsum)  # its argument may be a generator, so it is asked for its items once


def _lost_by_sum(a: Real, b: Real, total: Real) -> Any:
    """a + b - total, exactly, for total = a + b rounded."""
    added = total - a
    return (a - (total - added)) + (b - added)


def _lost_by_product(a: Real, b: Real, product: Real) -> Any:
    """a b - product, exactly, for product = a b rounded.  Source: Dekker (1971), with Veltkamp's halves."""
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)


def _halves(x: Real) -> tuple[Any, Any]:
    scaled = x * 134217729.0  # 2²⁷ + 1
    upper = scaled - (scaled - x)
    return upper, x - upper


def _correction(lost: Real) -> Any:
    """Return what rounding lost; of sums that are not finite nothing, where it is NaN."""
    return record(stop_gradient, (np.where(np.isfinite(lost), lost, 0.0),), {})
