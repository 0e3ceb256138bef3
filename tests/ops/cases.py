"""Every op with ordinary operands and the special points: one line a form of an op. See :mod:`tests.ops.check_op`."""

# ruff: noqa: E501  (a table: what belongs to one case stands on one line)

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.sparse.linalg

from tests.ops.check_op import Operand, case, formula
from wengert.higher.mapped import map_scalar
from wengert.ops import elementwise as e
from wengert.ops import linalg, random, special
from wengert.ops.control import Expected
from wengert.ops.linalg.sparse import Pattern, Settings
from wengert.tape import Aval

inf, nan = np.inf, np.nan
FLOAT, INT = np.dtype(float), np.dtype(np.intp)

# ------------------------------------------------------------------------------------------------ operands


def between(low: float, high: float, *shape: int) -> Operand:
    return Operand(lambda rng, shape: rng.uniform(low, high, shape), shape or (3, 4))


def signed(low: float, high: float) -> Operand:
    """Of size between ``low`` and ``high``, of either sign: away from a kink at zero."""
    return Operand(lambda rng, shape: rng.uniform(low, high, shape) * rng.choice([-1, 1], shape))


def complex_numbers(*shape: int) -> Operand:
    """Of some size, in all quadrants, off the axes."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        angle = rng.uniform(0.1, math.pi / 2 - 0.1, shape) + rng.integers(0, 4, shape) * math.pi / 2
        return rng.uniform(0.5, 2, shape) * np.exp(1j * angle)

    return Operand(draw, shape or (3, 4))


def sections(*shape: int) -> Operand:
    """Rows of stable second-order filters, each with a 1 at its fourth place."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        rows = rng.uniform(-0.4, 0.4, shape)
        rows[..., 3] = 1
        return rows

    return Operand(draw, (*shape, 6))


def integers(low: int, high: int, *shape: int) -> Operand:
    return Operand(lambda rng, shape: rng.integers(low, high, shape, INT), shape or (3, 4))


def booleans(*shape: int) -> Operand:
    return Operand(lambda rng, shape: rng.integers(0, 2, shape).astype(bool), shape or (3, 4))


def shapes(*shape: int) -> Operand:
    """Any numbers, of this shape."""
    return Operand(lambda rng, shape: rng.standard_normal(shape), shape)


def literal(value: Any) -> Operand:
    return Operand(lambda rng, shape: np.asarray(value), (), is_literal=True)


def exactly(value: Any) -> Operand:
    array = np.asarray(value)
    return Operand(lambda rng, shape: array.copy(), array.shape)


def ascending(*shape: int) -> Operand:
    return Operand(lambda rng, shape: np.sort(rng.standard_normal(shape)), shape)


def with_zeros(*shape: int) -> Operand:
    """About a third of the elements are zero: where a product of the others must not be a quotient."""
    return Operand(lambda rng, shape: rng.standard_normal(shape) * (rng.random(shape) < 0.7), shape)


def well_conditioned(*shape: int) -> Operand:
    return Operand(lambda rng, shape: rng.standard_normal(shape) + 4 * np.eye(shape[-1]), shape)


def rank_one_less(*shape: int) -> Operand:
    """Singular matrices."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        a = rng.standard_normal(shape)
        a[..., 0, :] = a[..., 1, :]
        return a

    return Operand(draw, shape)


def symmetric(dx: Any) -> Any:
    return (dx + np.swapaxes(dx, -1, -2)) / 2


def positive_definite(*shape: int) -> Operand:
    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        a = rng.standard_normal(shape)
        return a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])

    return Operand(draw, shape, symmetric)


class Repeating:
    """A generator that draws the same numbers at every call."""

    def __getattr__(self, method: str) -> Any:
        return getattr(np.random.default_rng(0), method)


REPEATING = Repeating()


MATRIX = np.array([[1.0, 5.0, 2.0], [4.0, 1.0, 0.5], [0.3, 2.0, 6.0]])
FACTORS = linalg.factors.lu.reference(MATRIX)


def sine_plus_product() -> Any:
    """The scalar function (x, w) -> sin(x w) + x, as the tape that ``map`` carries."""
    return formula(lambda x, w: e.sin(x * w) + x, Aval((), FLOAT), Aval((), FLOAT))


PATTERN = Pattern((3, 4), np.array([0, 2, 3, 0, 1]), np.array([0, 2, 2, 5]))  # with an empty row
SQUARE = Pattern((3, 3), np.array([0, 2, 1, 0, 2]), np.array([0, 2, 3, 5]))


def dense(data: Any, pattern: Pattern) -> Any:
    out = np.zeros(pattern.shape, data.dtype)
    out[pattern.rows, pattern.indices] = data
    return out


SUPERLU = scipy.sparse.linalg.splu(scipy.sparse.csc_array(dense(np.arange(1.0, 6.0), SQUARE)))


def pivot(a: Any, b: Any, lower: bool, transpose: bool) -> Any:
    return scipy.linalg.solve_triangular(a, b, lower=lower, trans=int(transpose))


# -------------------------------------------------------------------------------------------------- the table


# fmt: off
def convolved(x: Any, w: Any, step: int, dilation: int) -> Any:
    """A convolution by its definition, place by place."""
    span = [dilation * (n - 1) + 1 for n in w.shape[2:]]
    places = [(n - m) // step + 1 for n, m in zip(x.shape[2:], span, strict=True)]
    out = np.zeros((x.shape[0], w.shape[0], *places), x.dtype)
    for i, j in np.ndindex(*places):
        rows, columns = [slice(k * step, k * step + m, dilation) for k, m in zip((i, j), span, strict=True)]
        out[:, :, i, j] = np.tensordot(x[:, :, rows, columns], w, axes=((1, 2, 3), (1, 2, 3)))
    return out


CASES = [
    # selection, conversion
    case("select",        booleans(), signed(1, 3), signed(1, 3), numpy=lambda c, x, y: np.where(c, x, y), dtypes="?bilfdD"),
    case("convert",       between(-3, 3), kw=dict(dtype=FLOAT), dtypes="?bilfd", numpy=lambda x: x.astype(float)),
    case("convert",       between(-3, 3), kw=dict(dtype=INT), dtypes="?bilfd", numpy=lambda x: x.astype(int), note="to int"),
    case("convert",       integers(0, 9), kw=dict(dtype=FLOAT), numpy=lambda x: x.astype(float), note="from int"),

    # arithmetic
    case("add",           between(-3, 3), between(-3, 3), numpy=lambda x, y: x + y),
    case("add",           between(-3, 3), literal(2.0), note="literal"),
    case("subtract",      between(-3, 3), between(-3, 3), at=[((inf, inf), (1, -1))]),
    case("subtract",      between(-3, 3), literal(0.0), numpy=lambda x, y: x, note="zero"),
    case("multiply",      between(-3, 3), between(-3, 3), at=[((0, 2), (2, 0)), ((0, 0), (0, 0))], numpy=lambda x, y: x * y),
    case("multiply",      between(-3, 3), literal(1.0), numpy=lambda x, y: x, note="by one"),
    case("multiply",      literal(1.0), between(-3, 3), numpy=lambda x, y: y, note="one by"),
    case("divide",        between(-3, 3), signed(1, 3), at=[((0, 2), (0.5, 0)), ((1, inf), (0, 0)), ((1, 0), (inf, -inf))]),
    case("divide",        between(-3, 3), literal(1.0), numpy=lambda x, y: x, note="by one"),
    case("negative",      between(-3, 3), numpy=lambda x: -x if x.dtype.kind != "?" else x, analytic=True),
    case("positive",      between(-3, 3), numpy=lambda x: x),
    case("conjugate",     between(-3, 3), numpy=lambda x: x.real - 1j * x.imag if x.dtype.kind == "c" else x),
    case("reciprocal",    signed(1, 3), at=[(inf, 0), (0, -inf)], analytic=True),
    case("square",        between(-3, 3), at=[(0, 0), (-2, -4)], numpy=lambda x: x * x, analytic=True),
    case("sqrt",          between(0.5, 9), at=[(0, inf), (4, 0.25), (inf, 0), (-1, nan)], analytic=True),
    case("cbrt",          signed(1, 9), at=[(8, 1 / 12), (-8, 1 / 12), (0, inf), (inf, 0)]),
    case("power",         between(0.5, 3), between(-2, 2), at=[((0, 2), (0, 0)), ((0, 0), (0, 0)), ((0, 1), (1, 0)), ((2, 0), (0, math.log(2))), ((-2, 3), (12, nan)), ((0, 0.5), (inf, 0))]),
    case("power",         between(-3, 3), literal(3.0), numpy=lambda x, p: x * x * x, dtypes="d", note="cube"),
    case("power",         between(-3, 3), literal(2.0), numpy=lambda x, p: x * x, dtypes="d", note="square"),
    case("power",         between(-3, 3), literal(1.0), numpy=lambda x, p: x, dtypes="d", note="one"),
    case("power",         between(-3, 3), literal(0.0), numpy=lambda x, p: np.ones_like(x), dtypes="d", note="zero"),
    case("power",         between(0.5, 3), literal(-0.5), numpy=lambda x, p: 1 / np.sqrt(x), dtypes="d", note="fraction"),
    case("power",         between(0.5, 3), literal(0.5), numpy=lambda x, p: np.sqrt(x), dtypes="d", note="root"),
    case("power",         between(0.5, 3), literal(-1.0), numpy=lambda x, p: 1 / x, dtypes="d", note="inverse"),
    case("power",         literal(2.0), between(-3, 3), dtypes="d", note="literal base"),
    case("float_power",   between(0.5, 3), between(-2, 2), at=[((0, 2), (0, 0)), ((0, 0), (0, 0))]),
    case("floor_divide",  between(-9, 9), signed(1, 3)),
    case("remainder",     between(4, 4.5), between(1.2, 1.3), at=[((-5.5, 2), (1, 3)), ((5.5, -2), (1, 3)), ((1, inf), (1, 0))]),
    case("fmod",          between(4, 4.5), between(1.2, 1.3), at=[((-5.5, 2), (1, 2)), ((5.5, -2), (1, 2))]),
    case("absolute",      signed(1, 3), at=[(0, 0), (-0.0, 0), (-2, -1), (inf, 1), (-inf, -1), (nan, nan)], numpy=lambda x: abs(x)),
    case("fabs",          signed(1, 3), at=[(0, 0), (-2, -1), (inf, 1)]),
    case("copysign",      signed(1, 3), signed(1, 3), at=[((2, -1), (-1, 0)), ((-2, -1), (1, 0)), ((2, -0.0), (-1, 0)), ((0, 1), (0, 0))]),
    case("ldexp",         between(-3, 3), integers(-3, 4), dtypes="fd", numpy=lambda x, n: x * 2.0**n),
    case("nextafter",     between(-3, 3), between(4, 5), rtol=1e-6),
    case("maximum",       between(-3, 3), between(-3, 3), at=[((1, 1), (0.5, 0.5)), ((2, 1), (1, 0)), ((0.0, -0.0), (0.5, 0.5)), ((inf, inf), (0.5, 0.5)), ((inf, 1), (1, 0))], numpy=lambda x, y: np.where(x > y, x, y)),
    case("minimum",       between(-3, 3), between(-3, 3), at=[((1, 1), (0.5, 0.5)), ((2, 1), (0, 1)), ((-inf, 1), (1, 0))], numpy=lambda x, y: np.where(x < y, x, y)),
    case("maximum",       signed(1, 3), literal(0.0), note="relu", numpy=lambda x, y: (x + abs(x)) / 2, dtypes="d"),
    case("fmax",          between(-3, 3), between(-3, 3), at=[((1, 1), (0.5, 0.5)), ((2, 1), (1, 0)), ((nan, 1), (0, 1)), ((1, nan), (1, 0))]),
    case("fmin",          between(-3, 3), between(-3, 3), at=[((1, 1), (0.5, 0.5)), ((2, 1), (0, 1)), ((nan, 1), (0, 1)), ((1, nan), (1, 0))]),

    # exponentials, logarithms
    case("exp",           between(-3, 3), at=[(0, 1), (-inf, 0), (inf, inf), (1e3, inf), (nan, nan)], analytic=True),
    case("exp2",          between(-3, 3), at=[(0, math.log(2)), (-inf, 0)], analytic=True, numpy=lambda x: np.power(x.dtype.type(2), x) if x.dtype.char in "dD" else np.exp2(x)),
    case("expm1",         between(-3, 3), at=[(0, 1), (-inf, 0), (1e-20, 1)], analytic=True),
    case("log",           between(0.5, 9), at=[(1, 1), (0, inf), (inf, 0), (1e-300, 1e300)], analytic=True),
    case("log2",          between(0.5, 9), at=[(1, 1 / math.log(2)), (0, inf)], analytic=True),
    case("log10",         between(0.5, 9), at=[(1, 1 / math.log(10)), (0, inf)], analytic=True),
    case("log1p",         between(-0.5, 9), at=[(0, 1), (-1, inf), (inf, 0)], analytic=True),
    case("logaddexp",     between(-3, 3), between(-3, 3), at=[((1, 1), (0.5, 0.5)), ((1e3, 0), (1, 0)), ((-inf, 1), (0, 1)), ((inf, 1), (1, 0)), ((-inf, -inf), (0.5, 0.5))]),
    case("logaddexp2",    between(-3, 3), between(-3, 3), at=[((1, 1), (0.5, 0.5)), ((-inf, 1), (0, 1))]),

    # trigonometry, hyperbolics
    case("sin",           between(-3, 3), at=[(0, 1), (math.pi, -1), (inf, nan)], analytic=True),
    case("cos",           between(-3, 3), at=[(0, 0), (math.pi / 2, -1)], analytic=True),
    case("tan",           between(-1, 1), at=[(0, 1), (math.pi / 4, 2)], analytic=True),
    case("arcsin",        between(-0.9, 0.9), at=[(0, 1), (1, inf), (-1, inf)], analytic=True),
    case("arccos",        between(-0.9, 0.9), at=[(0, -1), (1, -inf), (-1, -inf)], analytic=True),
    case("arctan",        between(-3, 3), at=[(0, 1), (1, 0.5), (inf, 0), (1e200, 0)], analytic=True),
    case("arctan2",       signed(1, 3), signed(1, 3), at=[((0, 1), (1, 0)), ((0, -1), (-1, 0)), ((1, 0), (0, -1)), ((1e200, 1e200), (5e-201, -5e-201)), ((3e-200, 4e-200), (1.6e199, -1.2e199))]),
    case("hypot",         signed(1, 3), signed(1, 3), at=[((0, 0), (0, 0)), ((3, 4), (0.6, 0.8)), ((3e200, 4e200), (0.6, 0.8)), ((0, 1), (0, 1))]),
    case("sinh",          between(-3, 3), at=[(0, 1)], analytic=True),
    case("cosh",          between(-3, 3), at=[(0, 0)], analytic=True),
    case("tanh",          between(-3, 3), at=[(0, 1), (20, 0), (1e3, 0), (inf, 0), (-inf, 0), (nan, nan)], analytic=True),
    case("arcsinh",       between(-3, 3), at=[(0, 1), (inf, 0), (1e200, 1e-200)], analytic=True),
    case("arccosh",       between(1.5, 9), at=[(1, inf), (inf, 0), (1e200, 1e-200)], analytic=True),
    case("arctanh",       between(-0.9, 0.9), at=[(0, 1), (1, inf)], analytic=True),
    case("deg2rad",       between(-3, 3), at=[(1, math.pi / 180)]),
    case("rad2deg",       between(-3, 3), at=[(1, 180 / math.pi)]),
    case("radians",       between(-3, 3), numpy=lambda x: x * (math.pi / 180) if x.dtype == "d" else np.deg2rad(x)),
    case("degrees",       between(-3, 3), numpy=lambda x: x * (180 / math.pi) if x.dtype == "d" else np.rad2deg(x)),

    # flat
    case("sign",          signed(1, 3), numpy=lambda x: (x > 0) * 1.0 - (x < 0) if x.dtype == "d" else np.sign(x)),
    case("heaviside",     signed(1, 3), between(0, 1), at=[((0, 0.3), (0, 1)), ((1, 0.3), (0, 0)), ((-1, 0.3), (0, 0))]),
    case("floor",         between(-3, 3)),
    case("ceil",          between(-3, 3)),
    case("rint",          between(-3, 3)),
    case("trunc",         between(-3, 3)),
    case("spacing",       between(-3, 3)),
    case("greater",       between(-3, 3), between(-3, 3)),
    case("greater_equal", integers(0, 3), integers(0, 3)),
    case("less",          between(-3, 3), between(-3, 3)),
    case("less_equal",    integers(0, 3), integers(0, 3)),
    case("equal",         integers(0, 3), integers(0, 3)),
    case("not_equal",     integers(0, 3), integers(0, 3)),
    case("logical_and",   booleans(), booleans()),
    case("logical_or",    booleans(), booleans()),
    case("logical_xor",   booleans(), booleans()),
    case("logical_not",   booleans()),
    case("isnan",         exactly([1.0, nan, inf, -inf])),
    case("isinf",         exactly([1.0, nan, inf, -inf])),
    case("isfinite",      exactly([1.0, nan, inf, -inf])),
    case("signbit",       exactly([1.0, -1.0, 0.0, -0.0])),
    case("bitwise_and",   integers(0, 99), integers(0, 99)),
    case("bitwise_or",    integers(0, 99), integers(0, 99)),
    case("bitwise_xor",   integers(0, 99), integers(0, 99)),
    case("bitwise_count", integers(0, 99)),
    case("invert",        integers(0, 99)),
    case("left_shift",    integers(0, 9), integers(0, 5)),
    case("right_shift",   integers(0, 99), integers(0, 5)),
    case("gcd",           integers(1, 99), integers(1, 99)),
    case("lcm",           integers(1, 9), integers(1, 9)),

    # moving and repeating elements
    case("reshape",       shapes(3, 4), kw=dict(shape=(2, 6)), dtypes="?ilfdD", numpy=lambda x: x.reshape(2, 6)),
    case("reshape",       shapes(4, 4), kw=dict(shape=(16,)), note="flat"),
    case("reshape",       shapes(9), kw=dict(shape=(3, 3)), note="square"),
    case("reshape",       shapes(1, 1), kw=dict(shape=()), note="scalar"),
    case("reshape",       shapes(0, 3), kw=dict(shape=(3, 0, 2)), note="empty"),
    case("reshape",       shapes(3, 4), kw=dict(shape=(3, 4)), note="same"),
    case("transpose",     shapes(2, 3, 4), kw=dict(axes=(2, 0, 1)), dtypes="?ilfdD", numpy=lambda x: np.moveaxis(x, 2, 0)),
    case("transpose",     shapes(3, 3), kw=dict(axes=(1, 0)), note="square"),
    case("transpose",     shapes(3, 4), kw=dict(axes=(0, 1)), note="same"),
    case("transpose",     shapes(0, 4), kw=dict(axes=(1, 0)), note="empty"),
    case("broadcast_to",  shapes(3, 1), kw=dict(shape=(2, 3, 4)), dtypes="?ilfdD", numpy=lambda x: np.ones((2, 3, 4), x.dtype) * x),
    case("broadcast_to",  shapes(), kw=dict(shape=(3, 3)), note="scalar"),
    case("broadcast_to",  shapes(1, 4), kw=dict(shape=(1, 4)), note="same"),
    case("broadcast_to",  shapes(3, 1), kw=dict(shape=(3, 0)), note="to nothing"),
    case("broadcast_to",  shapes(0, 1), kw=dict(shape=(2, 0, 3)), note="of nothing"),
    case("concatenate",   shapes(3, 1), shapes(3, 2), shapes(3, 0), kw=dict(axis=1), dtypes="?ilfdD", numpy=lambda x, y, z: np.hstack([x, y, z])),
    case("concatenate",   shapes(2, 3), shapes(1, 3), kw=dict(axis=0), note="square"),
    case("concatenate",   shapes(2, 3), kw=dict(axis=0), note="one"),
    case("iota",          kw=dict(size=5, dtype=INT), numpy=lambda: np.array([0, 1, 2, 3, 4])),
    case("iota",          kw=dict(size=0, dtype=FLOAT), numpy=lambda: np.zeros(0), note="empty"),
    case("diagonal",      shapes(4, 4), dtypes="?ilfdD", numpy=lambda x: np.array([x[k, k] for k in range(4)])),
    case("diagonal",      shapes(2, 3, 3), note="stack"),
    case("diagonal",      shapes(0, 0), note="empty"),
    case("embed_diagonal", shapes(4), dtypes="?ilfdD", numpy=np.diag),
    case("embed_diagonal", shapes(2, 3), note="stack"),
    case("embed_diagonal", shapes(0), note="empty"),

    # parts of arrays
    case("slice",         shapes(4, 5), kw=dict(index=(2, (0, 5, 1))), dtypes="?ilfdD", numpy=lambda x: x[2]),
    case("slice",         shapes(4, 5), kw=dict(index=((1, 3, 1), (4, 3, -2))), numpy=lambda x: x[1:4, ::-2], note="steps"),
    case("slice",         shapes(4, 5), kw=dict(index=(3, 1)), numpy=lambda x: x[3, 1], note="element"),
    case("slice",         shapes(4, 5), kw=dict(index=((0, 4, 1), (0, 5, 1))), note="everything"),
    case("slice",         shapes(4, 5), kw=dict(index=((2, 0, 1), (0, 5, 1))), note="nothing"),
    case("slice",         shapes(4, 5), kw=dict(index=((3, 4, -1), (1, 4, 1))), numpy=lambda x: x[::-1, 1:], note="square"),
    case("slice",         shapes(0, 5), kw=dict(index=((0, 0, 1), 2)), note="of nothing"),
    case("set_slice",     shapes(4, 4), shapes(4), kw=dict(index=(2, (0, 4, 1))), dtypes="?ilfdD"),
    case("set_slice",     shapes(4, 5), shapes(3, 1), kw=dict(index=((1, 3, 1), (4, 3, -2))), note="broadcast"),
    case("set_slice",     shapes(4, 5), shapes(), kw=dict(index=(3, 1)), note="element"),
    case("set_slice",     shapes(4, 4), shapes(), kw=dict(index=(3, 3)), note="last element"),
    case("set_slice",     shapes(4, 4), shapes(), kw=dict(index=((3, 2, -2), (3, 2, -2))), note="every other"),
    case("set_slice",     shapes(4, 5), shapes(4, 5), kw=dict(index=((0, 4, 1), (0, 5, 1))), numpy=lambda x, v: v, note="everything"),
    case("set_slice",     shapes(4, 5), shapes(5), kw=dict(index=((2, 0, 1), (0, 5, 1))), numpy=lambda x, v: x, note="nothing"),
    case("embed",         shapes(3, 1), kw=dict(shape=(4, 5), index=((1, 3, 1), (4, 3, -2))), dtypes="?ilfdD", numpy=lambda v: np.pad(v * np.array([1, 0, 1, 0, 1], v.dtype), ((1, 0), (0, 0)))),
    case("embed",         shapes(), kw=dict(shape=(4, 4), index=(3, 1)), note="element"),
    case("embed",         shapes(5), kw=dict(shape=(4, 5), index=((2, 0, 1), (0, 5, 1))), numpy=lambda v: np.zeros((4, 5), v.dtype), note="nothing"),
    case("add_slice",     shapes(4, 4), shapes(4), kw=dict(index=(2, (0, 4, 1))), dtypes="ilfdD"),
    case("add_slice",     shapes(4, 5), shapes(3, 1), kw=dict(index=((1, 3, 1), (4, 3, -2))), note="broadcast"),
    case("add_slice",     shapes(4, 5), shapes(), kw=dict(index=(3, 1)), note="element"),
    case("add_slice",     shapes(4, 5), shapes(5), kw=dict(index=((2, 0, 1), (0, 5, 1))), numpy=lambda x, v: x, note="nothing"),
    case("gather",        shapes(4, 5), integers(-4, 4, 3, 2), dtypes="?ilfdD", numpy=lambda x, i: np.take(x, i, 0)),
    case("gather",        shapes(4, 5), integers(-4, 4, 3, 1), integers(0, 5, 3), numpy=lambda x, i, j: x[i, j], note="pairs"),
    case("gather",        shapes(4), integers(0, 4), note="vector"),
    case("gather",        shapes(4, 5), integers(0, 4, 0), note="nothing"),
    case("gather",        shapes(4, 4), integers(0, 1, 4), note="one row often"),
    case("gather",        shapes(4, 5), exactly(2), numpy=lambda x, i: x[2], note="scalar"),
    case("gather",        shapes(4, 5), integers(0, 4, 2), exactly(2), note="array and scalar"),
    case("scatter_set",   shapes(4, 4), shapes(3, 4), exactly([1, -1, 0]), dtypes="?ilfdD"),
    case("scatter_set",   shapes(4, 5), shapes(3, 5), exactly([2, 1, 2]), note="twice the same"),
    case("scatter_set",   shapes(4, 5), shapes(3, 5), exactly([2, 1, -2]), note="the same, once negative"),
    case("scatter_set",   shapes(4, 5), shapes(3, 1), exactly([[2], [0], [1]]), exactly([1, 2]), note="broadcast pairs"),
    case("scatter_set",   shapes(4), shapes(), exactly([1, 3]), note="one value"),
    case("scatter_set",   shapes(4), shapes(0), exactly(np.zeros(0, INT)), numpy=lambda x, v, i: x, note="nothing"),
    case("scatter_once",  shapes(4, 4), shapes(3, 4), exactly([1, -1, 0]), dtypes="?ilfdD"),
    case("gather_moving", shapes(5, 3), exactly([[4, 0], [-1, 2]]), dtypes="?ilfdD"),
    case("scatter_add",   shapes(4, 4), shapes(3, 4), exactly([1, -1, 0]), dtypes="ilfdD"),
    case("scatter_add",   shapes(4, 5), shapes(3, 5), exactly([2, 1, 2]), note="twice the same"),
    case("scatter_add",   shapes(4, 5), shapes(3, 1), exactly([[2], [0], [1]]), exactly([1, 2]), note="broadcast pairs"),
    case("scatter_add",   shapes(4), shapes(), exactly([1, 1]), numpy=lambda x, v, i: x + np.array([0, 2, 0, 0]).astype(x.dtype) * v, note="one value"),
    case("scatter_add",   shapes(4), shapes(0), exactly(np.zeros(0, INT)), numpy=lambda x, v, i: x, note="nothing"),

    # where things are
    case("nonzero",       exactly([[True, False], [True, True]]), kw=dict(size=3), batchable=False, numpy=lambda m: (np.array([0, 1, 1]), np.array([0, 0, 1]))),
    case("argmax",        shapes(4, 5), kw=dict(axis=1), dtypes="?ilfd", numpy=lambda x: np.argmax(x, 1)),
    case("argmin",        shapes(4, 5), kw=dict(axis=0), dtypes="?ilfd", numpy=lambda x: np.argmin(x, 0)),
    case("argsort",       exactly([[3.0, 1.0, 2.0, 1.0]]), kw=dict(axis=1), dtypes="ilfd", numpy=lambda x: np.array([[1, 3, 2, 0]])),
    case("argselect",     exactly([[3.0, 1.0, 2.0, 1.0]]), kw=dict(axis=1, ranks=(1, 2)), dtypes="ilfd", numpy=lambda x: np.array([[3, 2]])),
    case("argselect",     exactly([[3.0, 1.0], [np.nan, 0.0]]), kw=dict(axis=0, ranks=(0,)), numpy=lambda x: np.array([[1, 1]]), note="NaN"),
    case("sort",          shapes(4, 5), kw=dict(axis=1), dtypes="?ilfd"),
    case("sort",          shapes(4, 5), kw=dict(axis=0), note="columns"),
    case("searchsorted",  ascending(6), shapes(3, 2), kw=dict(side="left")),
    case("searchsorted",  exactly([1.0, 2, 2, 3]), exactly([0.0, 2, 4]), kw=dict(side="left"), numpy=lambda t, v: np.array([0, 1, 4]), note="tie left"),
    case("searchsorted",  exactly([1.0, 2, 2, 3]), exactly([0.0, 2, 4]), kw=dict(side="right"), numpy=lambda t, v: np.array([0, 3, 4]), note="tie right"),
    case("searchsorted",  ascending(6), shapes(), kw=dict(side="right"), note="scalar"),

    # reductions
    case("sum",           shapes(2, 3, 4), kw=dict(axis=(0, 2)), dtypes="?bilfdD", numpy=lambda x: np.einsum("ijk->j", x)),
    case("sum",           shapes(3, 4), kw=dict(axis=(0, 1)), note="full"),
    case("sum",           shapes(3, 3, 4), kw=dict(axis=(2,)), note="square"),
    case("sum",           shapes(0, 4), kw=dict(axis=(0,)), numpy=lambda x: np.zeros(4, x.dtype), note="empty"),
    case("sum",           shapes(3), kw=dict(axis=()), numpy=lambda x: x, note="nothing"),
    case("prod",          shapes(2, 3, 4), kw=dict(axis=(0, 2)), dtypes="ilfdD", numpy=lambda x: np.multiply.reduce(np.multiply.reduce(x, 2), 0)),
    case("prod",          with_zeros(3, 4), kw=dict(axis=(1,)), note="zeros"),
    case("prod",          exactly([2.0, 0.0, 0.0, 3.0]), kw=dict(axis=(0,)), note="two zeros"),
    case("prod",          shapes(3), kw=dict(axis=(0,)), note="full"),
    case("prod",          shapes(3, 1), kw=dict(axis=(1,)), numpy=lambda x: x[:, 0], note="of one"),
    case("prod",          shapes(0, 4), kw=dict(axis=(0,)), numpy=lambda x: np.ones(4, x.dtype), note="empty"),
    case("prod",          shapes(3, 0), kw=dict(axis=(0,)), note="of nothing"),
    case("max",           shapes(2, 3, 4), kw=dict(axis=(0, 2)), dtypes="?ilfd", numpy=lambda x: np.sort(np.moveaxis(x, 1, 0).reshape(3, 8))[:, -1]),
    case("max",           shapes(3, 4), kw=dict(axis=(0, 1)), note="full"),
    case("max",           shapes(3, 0), kw=dict(axis=(0,)), note="of nothing"),
    case("min",           shapes(2, 3, 4), kw=dict(axis=(0, 2)), dtypes="?ilfd", numpy=lambda x: np.sort(np.moveaxis(x, 1, 0).reshape(3, 8))[:, 0]),
    case("min",           shapes(3, 4), kw=dict(axis=(0, 1)), note="full"),
    case("any",           booleans(3, 4), kw=dict(axis=(1,)), numpy=lambda x: x.sum(1) > 0),
    case("all",           booleans(3, 4), kw=dict(axis=(0,)), numpy=lambda x: x.sum(0) == 3),
    case("any",           booleans(3, 0), kw=dict(axis=(1,)), numpy=lambda x: np.zeros(3, bool), note="empty"),
    case("all",           booleans(3, 0), kw=dict(axis=(1,)), numpy=lambda x: np.ones(3, bool), note="empty"),

    # running
    case("cumsum",        shapes(3, 4), kw=dict(axis=1), dtypes="ilfdD", numpy=lambda x: np.add.accumulate(x, 1)),
    case("cumsum",        shapes(0, 4), kw=dict(axis=0), note="empty"),
    case("cumprod",       shapes(3, 4), kw=dict(axis=0), dtypes="ilfdD", numpy=lambda x: np.multiply.accumulate(x, 0)),
    case("cumprod",       with_zeros(3, 4), kw=dict(axis=1), note="zeros"),
    case("cumprod",       shapes(0, 4), kw=dict(axis=0), note="empty"),
    case("cummax",        shapes(3, 4), kw=dict(axis=1), dtypes="ilfd", numpy=lambda x: np.maximum.accumulate(x, 1)),
    case("cummin",        shapes(3, 4), kw=dict(axis=0), dtypes="ilfd", numpy=lambda x: np.minimum.accumulate(x, 0)),
    case("recurrence",    shapes(3, 4), shapes(3, 4), kw=dict(axis=1), dtypes="fd"),
    case("recurrence",    exactly([7.0, 2, 3]), exactly([1.0, 10, 100]), kw=dict(axis=0), numpy=lambda a, b: np.array([1, 12, 136.0]), note="by hand"),
    case("recurrence",    shapes(0), shapes(0), kw=dict(axis=0), note="empty"),

    # contractions
    case("contract",      shapes(3, 4), shapes(4, 5), kw=dict(a=(0, 1), b=(1, 2), out=(0, 2)), dtypes="ilfdD", numpy=lambda x, y: np.einsum("ij,jk", x, y)),
    case("contract",      shapes(3, 4), shapes(4, 3), kw=dict(a=(0, 1), b=(1, 2), out=(0, 2)), note="square"),
    case("contract",      shapes(3, 4), shapes(4, 3), kw=dict(a=(0, 1), b=(1, 2), out=(2, 0)), numpy=lambda x, y: np.einsum("ij,jk->ki", x, y), note="flipped"),
    case("contract",      shapes(4, 3), shapes(5, 4), kw=dict(a=(1, 0), b=(2, 1), out=(0, 2)), numpy=lambda x, y: np.einsum("ji,kj->ik", x, y), note="both transposed"),
    case("contract",      shapes(3, 4), shapes(3, 4), kw=dict(a=(0, 1), b=(2, 1), out=(0, 2)), numpy=lambda x, y: np.einsum("ij,kj->ik", x, y), note="gram"),
    case("contract",      shapes(3, 4), shapes(4), kw=dict(a=(0, 1), b=(1,), out=(0,)), numpy=lambda x, y: np.einsum("ij,j", x, y), note="matrix, vector"),
    case("contract",      shapes(4), shapes(4, 3), kw=dict(a=(0,), b=(0, 1), out=(1,)), numpy=lambda x, y: np.einsum("i,ij", x, y), note="vector, matrix"),
    case("contract",      shapes(4), shapes(4), kw=dict(a=(0,), b=(0,), out=()), numpy=lambda x, y: np.einsum("i,i", x, y), note="inner"),
    case("contract",      shapes(4), shapes(4), kw=dict(a=(0,), b=(1,), out=(0, 1)), numpy=lambda x, y: np.einsum("i,j->ij", x, y), note="outer"),
    case("contract",      shapes(4), shapes(3), kw=dict(a=(0,), b=(1,), out=(1, 0)), numpy=lambda x, y: np.einsum("i,j->ji", x, y), note="outer flipped"),
    case("contract",      shapes(4), shapes(4), kw=dict(a=(0,), b=(0,), out=(0,)), numpy=lambda x, y: x * y, note="elementwise"),
    case("contract",      shapes(4), shapes(4, 3), kw=dict(a=(0,), b=(0, 1), out=(0, 1)), numpy=lambda x, y: x[:, None] * y, note="scaled rows"),
    case("contract",      shapes(3), shapes(3, 3), kw=dict(a=(0,), b=(0, 1), out=(1, 0)), numpy=lambda x, y: (x[:, None] * y).T, note="scaled columns"),
    case("contract",      shapes(3, 4), shapes(3, 4), kw=dict(a=(0, 1), b=(0, 1), out=()), numpy=lambda x, y: np.sum(x * y), note="full"),
    case("contract",      shapes(3, 4), shapes(4, 3), kw=dict(a=(0, 1), b=(1, 0), out=()), numpy=lambda x, y: np.trace(x @ y), note="trace of product"),
    case("contract",      shapes(2, 3, 4), shapes(2, 4, 5), kw=dict(a=(0, 1, 2), b=(0, 2, 3), out=(0, 1, 3)), numpy=lambda x, y: x @ y, note="stack"),
    case("contract",      shapes(2, 3, 4), shapes(4, 3, 5), kw=dict(a=(0, 1, 2), b=(2, 1, 3), out=(3, 0)), numpy=lambda x, y: np.einsum("ijk,kjl->li", x, y), note="tensordot"),
    case("contract",      shapes(), shapes(3), kw=dict(a=(), b=(0,), out=(0,)), numpy=lambda x, y: x * y, note="scalar"),
    case("contract",      shapes(0, 4), shapes(4, 3), kw=dict(a=(0, 1), b=(1, 2), out=(0, 2)), note="no rows"),
    case("contract",      shapes(3, 0), shapes(0, 3), kw=dict(a=(0, 1), b=(1, 2), out=(0, 2)), numpy=lambda x, y: np.zeros((3, 3), x.dtype), note="nothing to sum"),

    # filters
    case("filter_",       shapes(3), between(-0.4, 0.4, 2), shapes(2, 9), shapes(2, 2), dtypes="fdD"),
    case("filter_",       shapes(2, 3), between(-0.4, 0.4, 2), shapes(2, 5), shapes(2, 2), note="of its own for each"),
    case("filter_",       shapes(4), between(-0.4, 0.4, 3), shapes(2), shapes(3), note="longer than its signal"),
    case("filter_",       shapes(1), shapes(0), shapes(4), shapes(0), note="of order zero"),
    case("cascade",       sections(2), shapes(2, 6), shapes(2, 2, 2), dtypes="fdD", unwritten=()),
    case("cascade",       sections(2, 3), shapes(2, 4), shapes(2, 3, 2), note="of its own for each"),
    # windows
    case("windows",       shapes(7), kw=dict(shape=(5, 3), axes=(0, 0), steps=(1, 1), start=(0,)), dtypes="?ilfdD", numpy=lambda x: np.lib.stride_tricks.sliding_window_view(x, 3)),
    case("windows",       shapes(2, 9), kw=dict(shape=(4, 2, 3), axes=(1, 0, 1), steps=(2, 1, 1), start=(0, 0)), numpy=lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, 1)[:, ::2].swapaxes(0, 1), note="strided"),
    case("windows",       shapes(4, 8), kw=dict(shape=(3, 2, 2), axes=(1, 1, 0), steps=(-1, 2, 3), start=(0, 3)), numpy=lambda x: np.array([[x[::3, 3 - i + 2 * j] for j in range(2)] for i in range(3)]), note="backwards"),
    case("windows",       shapes(3, 6, 5), kw=dict(shape=(4, 2, 3, 3), axes=(1, 2, 1, 2), steps=(1, 2, 1, 1), start=(2, 0, 0)), numpy=lambda x: np.lib.stride_tricks.sliding_window_view(x[2], (3, 3))[:, ::2], note="of one matrix"),
    case("windows",       shapes(200), kw=dict(shape=(101, 100), axes=(0, 0), steps=(1, 1), start=(0,)), numpy=lambda x: np.lib.stride_tricks.sliding_window_view(x, 100), note="long"),
    case("windows",       shapes(3, 4), kw=dict(shape=(3, 4), axes=(0, 1), steps=(1, 1), start=(0, 0)), note="everything"),
    case("windows",       shapes(0, 4), kw=dict(shape=(0, 3, 2), axes=(0, 1, 1), steps=(1, 1, 1), start=(0, 0)), note="of nothing"),
    *[
        case("contract_windows", x, w, kw=dict(a=(0, 1, 4, 5, 6, 7), b=(3, 1, 6, 7), out=(0, 3, 4, 5), shape=shape, axes=(0, 1, 2, 3, 2, 3), steps=(1, 1, s, s, d, d), start=(0, 0, 0, 0)), numpy=lambda x, w, s=s, d=d: convolved(x, w, s, d), note=note)
        for x, w, s, d, shape, note in [
            (shapes(2, 3, 5, 6), shapes(4, 3, 3, 2), 1, 1, (2, 3, 3, 5, 3, 2), "convolution"),
            (shapes(2, 1, 7, 6), shapes(2, 1, 3, 2), 2, 1, (2, 1, 3, 3, 3, 2), "every other place"),
            (shapes(1, 2, 7, 8), shapes(2, 2, 2, 3), 1, 3, (1, 2, 4, 2, 2, 3), "every third element"),
            (shapes(0, 2, 4, 4), shapes(3, 2, 2, 2), 1, 1, (0, 2, 3, 3, 2, 2), "of no pictures"),
        ]
    ],
    case("contract_windows", shapes(6), shapes(4), kw=dict(a=(0, 1), b=(0,), out=(0, 1), shape=(4, 3), axes=(0, 0), steps=(1, 1), start=(0,)), numpy=lambda x, y: np.lib.stride_tricks.sliding_window_view(x, 3) * y[:, None], note="with a place of its own for each"),
    case("contract_windows", shapes(2, 9), shapes(3), kw=dict(a=(0, 1, 2), b=(2,), out=(1, 0), shape=(2, 3, 3), axes=(0, 1, 1), steps=(1, 2, -1), start=(0, 3)), numpy=lambda x, y: np.array([[sum(r[3 + 2 * i - j] * y[j] for j in range(3)) for r in x] for i in range(3)]), note="backwards"),

    # steering
    case("guard",         exactly(2.0), kw=dict(expected=Expected(2.0), position=0, kind="float"), dtypes="d", batchable=False, numpy=lambda x: ()),
    case("stop_gradient", shapes(3, 4), dtypes="?ilfdD", numpy=lambda x: x, is_detached=True),
    case("only_where",    shapes(3, 4), exactly([[True], [True], [True]]), dtypes="fdD", numpy=lambda x, mask: x, moving=(0,)),

    # random numbers (what moves with a parameter is no difference of values: tests/ops/test_random.py)
    case("draw",          kw=dict(generator=REPEATING, drawing=random.Drawing("normal", (), {"size": (2, 3)}), out=Aval((2, 3), np.dtype(float))), dtypes="d", numpy=lambda: np.random.default_rng(0).normal(size=(2, 3)), note="of no parameter"),
    case("draw",          exactly([1.5, 2.5]), kw=dict(generator=REPEATING, drawing=random.Drawing("poisson", (random.OperandRef(0),), {}), out=Aval((2,), np.dtype(int))), dtypes="d", numpy=lambda a: np.random.default_rng(0).poisson(a), batchable=False, note="of a parameter"),
    case("implicit",      between(0.2, 3, 3, 4), between(0.5, 3, 4), kw=dict(family="standard_gamma"), dtypes="d", numpy=lambda z, a: z, moving=(1,), note="gamma"),
    case("implicit",      between(0.1, 0.9, 3), between(0.5, 3, 3), between(0.5, 3, 3), kw=dict(family="beta"), dtypes="d", numpy=lambda z, a, b: z, moving=(1, 2), note="beta"),
    case("implicit",      shapes(3), between(0.5, 3, 3), kw=dict(family="standard_t"), dtypes="d", numpy=lambda z, v: z, moving=(1,), note="t"),
    case("implicit",      between(0.2, 3, 3), between(0.5, 3, 3), between(0.5, 3, 3), kw=dict(family="f"), dtypes="d", numpy=lambda z, m, n: z, moving=(1, 2), note="F"),

    # linear algebra
    case("solve",         well_conditioned(4, 4), shapes(4, 2), kw=dict(transpose=False), numpy=lambda a, b: np.linalg.inv(a) @ b, dtypes="d"),
    case("solve",         well_conditioned(2, 3, 3), shapes(2, 3, 1), kw=dict(transpose=True), dtypes="fdD", note="stack"),
    case("solve",         shapes(0, 0), shapes(0, 2), kw=dict(transpose=False), note="empty"),
    case("sparse_matmul", shapes(5), shapes(4, 2), kw=dict(pattern=PATTERN, transpose=False), numpy=lambda d, x: dense(d, PATTERN) @ x, dtypes="fdD"),
    case("sparse_matmul", shapes(2, 5), shapes(2, 3, 1), kw=dict(pattern=PATTERN, transpose=True), dtypes="dD", note="stack transposed"),
    case("sparse_sampled", shapes(3, 2), shapes(4, 2), kw=dict(pattern=PATTERN), numpy=lambda u, v: (u @ v.T)[PATTERN.rows, PATTERN.indices], dtypes="fdD"),
    case("sparse_sampled", shapes(2, 3, 0), shapes(2, 4, 0), kw=dict(pattern=PATTERN), dtypes="d", note="no column"),
    case("sparse_solve",  between(1, 2, 5), shapes(3, 2), kw=dict(pattern=SQUARE, transpose=False, settings=Settings()), numpy=lambda d, b: np.linalg.solve(dense(d, SQUARE), b), dtypes="fdD"),
    case("sparse_solve",  between(1, 2, 2, 5), shapes(2, 3, 1), kw=dict(pattern=SQUARE, transpose=True, settings=Settings()), dtypes="dD", note="stack transposed"),
    case("superlu_solve", shapes(3, 2), kw=dict(factor=SUPERLU, trans="N"), numpy=lambda b: np.linalg.solve(dense(np.arange(1.0, 6.0), SQUARE), b), dtypes="d"),
    case("superlu_solve", shapes(3, 1), kw=dict(factor=SUPERLU, trans="H"), numpy=lambda b: np.linalg.solve(dense(np.arange(1.0, 6.0), SQUARE).T, b), dtypes="d", note="transposed"),
    case("lu",            well_conditioned(2, 3, 3), unwritten=(0,), rtol=1e-7),
    case("lu_solve",      exactly(FACTORS[0]), exactly(FACTORS[1]), shapes(3, 2), kw=dict(transpose=True), numpy=lambda f, p, b: np.linalg.solve(MATRIX.T, b), dtypes="d", unwritten=(0, 2)),
    case("lu_inv",        exactly(FACTORS[0]), exactly(FACTORS[1]), numpy=lambda f, p: np.linalg.inv(MATRIX), dtypes="d", unwritten=(0,)),
    case("lu_slogdet",    exactly(FACTORS[0]), exactly(FACTORS[1]), numpy=lambda f, p: tuple(np.linalg.slogdet(MATRIX)), dtypes="d", unwritten=(0,)),
    case("triangular_solve", well_conditioned(4, 4), shapes(4, 2), kw=dict(lower=True, transpose=False), numpy=lambda a, b: pivot(a, b, True, False)),
    case("triangular_solve", well_conditioned(4, 4), shapes(4, 2), kw=dict(lower=False, transpose=True), numpy=lambda a, b: pivot(a, b, False, True), note="upper transposed"),
    case("triangular_solve", well_conditioned(2, 3, 3), shapes(2, 3, 1), kw=dict(lower=True, transpose=True), note="stack"),
    case("cholesky",      positive_definite(4, 4), rtol=1e-7),
    case("cholesky",      positive_definite(2, 3, 3), rtol=1e-7, note="stack"),
    case("eigh",          well_conditioned(4, 4), kw=dict(lower=True, any_vectors=False), rtol=1e-7),
    case("eig",           shapes(4, 4), rtol=1e-7),
    case("eig",           complex_numbers(3, 3), dtypes="DF", rtol=1e-6, note="complex"),
    case("roots",         shapes(5), rtol=1e-6),
    case("roots",         complex_numbers(2, 4), dtypes="DF", rtol=1e-6, note="complex stack"),
    case("svd",           shapes(4, 3), kw=dict(full=False), rtol=1e-7),
    case("qr",            shapes(4, 3), kw=dict(complete=False), rtol=1e-7),
    case("pinv",          shapes(4, 3), kw={"rcond": 1e-15}, rtol=1e-7),
    case("inv",           well_conditioned(4, 4), numpy=lambda a: np.linalg.solve(a, np.eye(4, dtype=a.dtype)), dtypes="dD"),
    case("inv",           well_conditioned(2, 3, 3), note="stack"),
    case("slogdet",       well_conditioned(4, 4), dtypes="dD", numpy=lambda a: (np.linalg.det(a) / abs(np.linalg.det(a)), np.log(abs(np.linalg.det(a))))),
    case("slogdet",       well_conditioned(2, 3, 3), note="stack"),
    case("det",           well_conditioned(4, 4), dtypes="dD", numpy=lambda a: np.prod(np.linalg.eigvals(a)) if a.dtype == "D" else np.prod(np.linalg.eigvals(a)).real),
    case("det",           rank_one_less(2, 3, 3), note="singular"),
    case("cofactor",      well_conditioned(4, 4), numpy=lambda a: np.linalg.det(a) * np.linalg.inv(a).T, dtypes="d"),
    case("cofactor",      well_conditioned(2, 3, 3), note="stack"),
    case("cofactor",      shapes(2, 2), note="two by two"),
    case("cofactor_along", well_conditioned(4, 4), shapes(4, 4), rtol=1e-7),
    case("cofactor_along", shapes(3, 3), shapes(3, 3), rtol=1e-7, note="three by three"),

    # scipy.special; its derivatives are compared with mpmath, also in the tails, in special/test_usual.py
    case("erf",           between(-3, 3)),
    case("erfc",          between(-3, 3)),
    case("erfcx",         between(-1, 3)),
    case("erfinv",        between(-0.9, 0.9)),
    case("erfcinv",       between(0.1, 1.9)),
    case("dawsn",         between(-3, 3)),
    case("ndtr",          between(-3, 3)),
    case("log_ndtr",      signed(0.1, 3), rtol=1e-7),
    case("ndtri",         between(0.1, 0.9)),
    case("ndtri_exp",     between(-3, -0.2)),
    case("expit",         between(-3, 3), at=[(0, 0.25), (800, 0), (-800, 0)]),
    case("logit",         between(0.1, 0.9)),
    case("log_expit",     between(-3, 3)),
    case("xlogy",         between(1, 3), between(1, 3), at=[((0, 0), (-inf, 0))]),
    case("xlog1py",       between(1, 3), between(1, 3)),
    case("entr",          between(0.5, 3)),
    case("rel_entr",      between(0.5, 3), between(0.5, 3)),
    case("kl_div",        between(0.5, 3), between(0.5, 3)),
    case("exp10",         between(-1, 1)),
    case("cosm1",         between(-3, 3)),
    case("exprel",        signed(0.5, 3)),
    case("boxcox",        between(0.5, 3), signed(0.5, 2), rtol=1e-7),
    case("boxcox1p",      between(0.5, 3), signed(0.5, 2), rtol=1e-7),
    case("inv_boxcox",    between(0.5, 2), between(0.5, 2), rtol=1e-7),
    case("inv_boxcox1p",  between(0.5, 2), between(0.5, 2), rtol=1e-7),
    case("huber",         between(1, 2), signed(0.3, 0.9), note="inside"),
    case("huber",         between(1, 2), signed(3, 4), at=[((1, 1), (0, 1)), ((1, -1), (0, -1))], note="outside"),
    case("pseudo_huber",  between(1, 2), signed(1, 3)),
    case("zeta",          between(2, 4), between(1, 3), has_second=False),
    case("zeta_by_s",     between(2, 4), between(1, 3), unwritten=(0,), dtypes="d"),
    case("riemann_zeta",  between(2, 4), has_second=False),
    case("zetac",         between(2, 4), has_second=False),
    case("psi",           between(1, 4)),
    case("gammaln",       between(1, 4)),
    case("loggamma",      between(1, 4), dtypes="fd"),
    case("gamma",         between(1, 4)),
    case("beta",          between(1, 3), between(1, 3)),
    case("betaln",        between(1, 3), between(1, 3)),
    case("gammainc",      between(1, 3), between(1, 3)),
    case("gammaincc",     between(1, 3), between(1, 3)),
    case("betainc",       between(1, 3), between(1, 3), between(0.2, 0.8)),
    case("exp1",          between(0.5, 3)),
    case("expi",          between(0.5, 3)),
    case("jv",            between(1, 3), between(1, 5)),
    case("yv",            between(1, 3), between(2, 5)),
    case("iv",            between(1, 3), between(1, 3)),
    case("kv",            between(1, 3), between(1, 3)),
    case("ive",           between(1, 3), between(1, 3)),
    case("j0",            between(1, 5)),
    case("j1",            between(1, 5)),
    case("y0",            between(1, 5)),
    case("y1",            between(1, 5)),
    case("i0",            between(-3, 3)),
    case("i1",            between(-3, 3)),
    case("k0",            between(1, 3)),
    case("k1",            between(1, 3)),
    case("i0e",           signed(0.5, 3)),
    case("i1e",           signed(0.5, 3)),
    case("exp_minus",     between(-3, 3), between(-3, 3), kw=dict(body=special.exp_minus_body(FLOAT)), dtypes="d", numpy=lambda x, m: np.exp(x - m)),

    # complex numbers; tests/ops/test_complex.py has more
    case("real",          complex_numbers(), dtypes="DF", numpy=np.real),
    case("imag",          complex_numbers(), dtypes="DF", numpy=np.imag),
    case("compose",       between(-3, 3), between(-3, 3), numpy=lambda re, im: re + 1j * im),

    # transforms; tests/ops/test_fourier.py has more
    case("fft",           complex_numbers(3, 4), kw=dict(axes=(1,), forward=True, norm=0), dtypes="DF", numpy=np.fft.fft),
    case("rfft",          shapes(2, 6), kw=dict(axis=1, forward=True, norm=0), numpy=np.fft.rfft),
    case("irfft",         complex_numbers(2, 4), kw=dict(axis=1, n=6, forward=False, norm=2), dtypes="DF", numpy=np.fft.irfft),
    case("real_transform", shapes(5, 2), kw=dict(kind="dct", type=2, axis=0, norm=0, orthogonal=False), numpy=lambda x: scipy.fft.dct(x, axis=0)),

    # splines; tests/ops/test_splines.py has more
    case("spline_filter", shapes(6, 3), kw=dict(order=3, axis=0, mode="mirror", is_transposed=False)),

    # a function of the user's, of numbers
    case(map_scalar.name, between(-3, 3), between(-1, 1), kw=dict(body=sine_plus_product()), dtypes="d", numpy=lambda x, w: np.sin(x * w) + x),
]
# fmt: on
