"""Our vector math: in units in the last place against mpmath, at special values against NumPy and SciPy.

The bound of a function is asserted on a few hundred points of each kind: all sizes, ordinary numbers, and the
neighbourhood of what is particular to it (zeros, poles, changes of formula). ``WENGERT_LONG_TESTS=1`` takes many
times as many, and prints the greatest error of each.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp

from tests.codegen.kernel import HOST, compiled, target
from tests.codegen.vecmath import exact
from wengert.codegen import vecmath
from wengert.codegen.vecmath.table import COMPARISONS

IS_LONG = os.environ.get("WENGERT_LONG_TESTS") == "1"
N = 4000 if IS_LONG else 150
PRECISION = 160
"""Bits of the reference: enough for arguments with 53 bits and results that cancel as much again."""


@dataclass(frozen=True)
class Case:
    """A function, its exact value, and where it is tested."""

    name: str
    exact: Callable[..., Any]
    span: float
    """Ordinary arguments are within ± span."""
    near: tuple[float, ...] = ()
    """Points whose neighbourhood is looked at, besides 0."""
    bound: float = 1.0
    only: tuple[float, float] = (-math.inf, math.inf)
    """The (closed) domain of the test."""
    arity: int = 1
    is_relative_to_terms: bool = False
    """The error is measured in units of the greatest operand, as the result may cancel."""


def erfc(x: Any) -> Any:
    """mpmath's, which in pure Python fails for huge arguments, where it is 0 or 2 to any precision asked for here."""
    return mp.erfc(x) if abs(x) < 1e4 else mp.mpf(0 if x > 0 else 2)


def log_erfc(x: Any) -> Any:
    return mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2) if x > 0 else mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def log_sum(x: Any, y: Any, base: Any) -> Any:
    return max(x, y) + mp.log1p(mp.power(base, -abs(x - y))) / mp.log(base)


INV_E = math.exp(-1)
CASES = [
    Case("exp", mp.exp, 700, (709.78, -708.4, -745.1)),
    Case("exp2", lambda x: mp.power(2, x), 1000, (1024.0, -1022.0, -1075.0)),
    Case("exp10", lambda x: mp.power(10, x), 300, (308.25, -307.6)),
    Case("expm1", mp.expm1, 700, (0.35, -0.35, 37.0, -37.0)),
    Case("log", mp.log, 100, (1.0, 0.7071, 1.4142), only=(0, math.inf)),
    Case("log2", lambda x: mp.log(x) / mp.log(2), 100, (1.0, 0.7071), only=(0, math.inf)),
    Case("log10", mp.log10, 100, (1.0, 0.7071, 1000.0), only=(0, math.inf)),
    Case("log1p", mp.log1p, 100, (-1.0, 0.4142, -0.2929), only=(-1, math.inf)),
    Case("cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), 1000, (1.0, 8.0)),
    Case("sin", mp.sin, 1000, tuple(math.pi * k / 4 for k in (1, 2, 3, 4, 8, 710, 10**6, 3 * 10**9))),
    Case("cos", mp.cos, 1000, tuple(math.pi * k / 4 for k in (1, 2, 3, 4, 8, 710, 10**6, 3 * 10**9))),
    Case("tan", mp.tan, 1000, tuple(math.pi * k / 4 for k in (1, 2, 3, 4, 8, 710, 10**6, 3 * 10**9))),
    Case("cosm1", lambda x: -2 * mp.sin(x / 2) ** 2, 100, (math.pi, 2 * math.pi), 1.5),
    Case("arcsin", mp.asin, 1, (0.5, 1.0), only=(-1, 1)),
    Case("arccos", mp.acos, 1, (0.5, -0.5, 1.0, -1.0), only=(-1, 1)),
    Case("arctan", mp.atan, 10, (0.4142, 2.4142, 1.0)),
    Case("sinh", mp.sinh, 700, (0.3466, 710.47)),
    Case("cosh", mp.cosh, 700, (0.3466, 710.47)),
    Case("tanh", mp.tanh, 20, (0.3466, 0.7, 18.0)),
    Case("arcsinh", mp.asinh, 10, (2.0**30,)),
    Case("arccosh", mp.acosh, 10, (1.0, 2.0**30), only=(1, math.inf)),
    Case("arctanh", mp.atanh, 1, (1.0, -1.0, 0.17), only=(-1, 1)),
    Case("erf", mp.erf, 6, (0.5, 1.0)),
    Case("erfc", erfc, 27, (0.5, 26.5), 1.25),
    Case("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), 26, (-26.6,), only=(-27, 100)),
    Case("ndtr", lambda x: erfc(-x / mp.sqrt(2)) / 2, 37, (-38.0,)),
    Case("log_ndtr", log_erfc, 37, (-38.0, 5.0), 1.25, only=(-100, 100)),
    Case("expit", lambda x: 1 / (1 + mp.exp(-x)), 700, (-709.0, -744.0)),
    Case("log_expit", lambda x: -mp.log1p(mp.exp(-x)), 700, (1.0,)),
    Case("logit", lambda x: mp.log(x / (1 - x)), 1, (0.5, 1.0), only=(0, 0.999)),
    Case("entr", lambda x: -x * mp.log(x), 10, (1.0,), 1.5, only=(0, math.inf)),
    Case("exprel", lambda x: mp.expm1(x) / x if x else mp.mpf(1), 700, (0.35, 715.0)),
    Case("arctan2", mp.atan2, 10, (1.0,), arity=2),
    Case("hypot", lambda x, y: mp.sqrt(x * x + y * y), 10, (1.0,), arity=2),
    Case("power", mp.power, 30, (1.0,), only=(0, math.inf), arity=2),
    Case("float_power", mp.power, 30, (1.0,), only=(0, math.inf), arity=2),
    Case("logaddexp", lambda x, y: log_sum(x, y, mp.e), 10, (1.0,), arity=2, is_relative_to_terms=True),
    Case("logaddexp2", lambda x, y: log_sum(x, y, mp.mpf(2)), 10, (1.0,), arity=2, is_relative_to_terms=True),
    Case("xlogy", lambda x, y: x * mp.log(y), 10, (1.0,), 1.5, only=(0, math.inf), arity=2),
    Case("xlog1py", lambda x, y: x * mp.log1p(y), 10, (1.0,), 1.5, only=(0, math.inf), arity=2),
    Case("rel_entr", lambda x, y: x * mp.log(x / y), 10, (1.0,), only=(0, math.inf), arity=2),
    Case("pseudo_huber", lambda d, r: r * r * d / (mp.sqrt(d * d + r * r) + d), 10, (1.0,), 3.0, (0, math.inf), 2),
]
CASE = {case.name: case for case in CASES}


def points(case: Case, dtype: str, n: int, rng: np.random.Generator) -> np.ndarray:
    info = np.finfo(dtype)
    least, largest = math.log(float(info.smallest_subnormal)), math.log(float(info.max))
    signs = rng.choice([-1, 1], n)
    parts = [
        rng.uniform(-case.span, case.span, n),
        rng.uniform(-1, 1, n) * min(case.span, 1),
        np.exp(rng.uniform(least, largest, n)) * signs,
        np.exp(rng.uniform(math.log(case.span) - 20, math.log(case.span), n)) * signs,
    ]
    for centre in case.near:
        parts.append(
            centre + rng.normal(size=n // 2) * np.exp(rng.uniform(-36, -2, n // 2)) * max(1, abs(centre) ** 0.5)
        )
        parts.append(np.full(1, centre))
    x = np.concatenate(parts).astype(dtype)
    return x[(x >= case.only[0]) & (x <= case.only[1]) & np.isfinite(x) & (x != 0)]


def arguments(case: Case, dtype: str, n: int) -> list[np.ndarray]:
    with np.errstate(over="ignore"):
        return _arguments(case, dtype, n)


def _arguments(case: Case, dtype: str, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(len(case.name) + n)
    xs = [points(case, dtype, n, rng) for _ in range(case.arity)]
    if case.name.endswith("power"):
        size = np.minimum(1.5 * float(np.log(np.finfo(dtype).max)) / np.abs(np.log(xs[0].astype("f8")) + 1e-300), 1e30)
        return [xs[0], (rng.uniform(-1, 1, xs[0].size) * size).astype(dtype)]
    if case.arity == 2:  # also of like size
        like = np.abs(xs[0][: n * 2] * rng.uniform(0.5, 2, n * 2)) if case.only[0] == 0 else xs[0][: n * 2] + 1
        xs[1] = np.concatenate([rng.permutation(xs[1][: xs[0].size - n * 2]), like.astype(dtype)])
        n = min(x.size for x in xs)
        xs = [x[-n:] for x in xs]
        ok = np.isfinite(xs[0]) & np.isfinite(xs[1])
        return [x[ok] for x in xs]
    return xs


def error_in_ulp(y: Any, exact: Any, dtype: str, least_size: float = 0.0) -> float:
    """|y − exact| in units in the last place of the exact value; ∞ for a wrong overflow."""
    info = np.finfo(dtype)
    if exact == 0:
        return 0.0 if y == 0 else math.inf
    largest = mp.mpf(float(info.max))
    if not np.isfinite(y):
        return 0.0 if not np.isnan(y) and abs(exact) > largest and (y > 0) == (exact > 0) else math.inf
    if abs(exact) > largest:
        exact = largest * mp.sign(exact)
    size = max(abs(exact), mp.mpf(least_size))
    exponent = max(mp.frexp(size)[1] - 1 - info.nmant, int(info.minexp) - info.nmant)
    return float(abs(mp.mpf(float(y)) - exact) / mp.ldexp(1, exponent))


def greatest_error(case: Case, dtype: str, xs: list[np.ndarray], y: np.ndarray) -> tuple[float, list[float]]:
    worst, where = 0.0, []
    with mp.workprec(PRECISION + (1100 if dtype == "f8" and case.name in ("arctan2", "rel_entr") else 0)):
        for operands in zip(*xs, y, strict=True):
            numbers = [mp.mpf(float(v)) for v in operands[:-1]]
            if case.name == "logaddexp2" and abs(numbers[0] - numbers[1]) > 2000:
                exact = max(numbers)
            else:
                exact = case.exact(*numbers)
            least = max(abs(float(v)) for v in operands[:-1]) if case.is_relative_to_terms else 0.0
            error = error_in_ulp(operands[-1], exact, dtype, least)
            if not error <= worst:
                worst, where = error, [float(v) for v in operands]
    return worst, where


@cache
def kernel(name: str, dtype: str, arity: int, lanes: int = 4, where: Any = None, fast: bool = False) -> Any:
    return compiled(
        lambda *vs: vecmath.apply(name, list(vs), dtype, fast), [dtype] * arity, dtype, lanes, where or target()
    )


KINDS = {"no FMA": target(has_fma=False)}
if HOST.has_fma:
    KINDS["FMA"] = target()
if HOST.vector_bytes == 64:
    KINDS["AVX-512"] = target(64)
"""Processors for which there are formulas of their own."""
every_kind = pytest.mark.parametrize("kind", KINDS)


HERE = list(KINDS)[min(1, len(KINDS) - 1)]
"""The processor on which every function is tested in every run; on the others a sample is."""


CLOSE = {
    **dict.fromkeys(("cbrt", "hypot", "power", "float_power", "logaddexp", "logaddexp2", "arctan2"), 0.6),
    **dict.fromkeys(("arcsin", "arccos", "arctan", "arccosh", "logit", "cosh", "log2"), 0.7),
    **dict.fromkeys(("arctanh", "arcsinh", "cosm1", "erf", "exprel", "log_expit", "rel_entr", "sin", "cos"), 0.8),
    **dict.fromkeys(("exp", "exp2", "exp10", "expm1", "log", "log10", "log1p", "expit", "erfcx", "tanh", "tan"), 0.85),
    "log_ndtr": 0.85,
}
"""How close results of float64 come at the points of every run: nearer than without the second number of a pair."""


@pytest.mark.sampled(7, "many that are alike")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_within_its_bound(case: Case, dtype: str) -> None:
    is_close = dtype == "f8" and not IS_LONG
    assert_within_its_bound(case, dtype, HERE, CLOSE.get(case.name, case.bound) if is_close else case.bound)


@pytest.mark.sampled(15, "every function against many digits, on every processor")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != HERE])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_within_its_bound_on_other_processors(case: Case, dtype: str, kind: str) -> None:
    assert_within_its_bound(case, dtype, kind, case.bound)


def assert_within_its_bound(case: Case, dtype: str, kind: str, bound: float) -> None:
    if case.name == "float_power" and dtype == "f4":
        return  # NumPy's is of double
    xs = arguments(case, dtype, N)
    with np.errstate(all="ignore"):
        y = kernel(case.name, dtype, case.arity, where=KINDS[kind])(*xs)
    worst, where = greatest_error(case, dtype, xs, y)
    if IS_LONG:
        print(f"{case.name:12s} {dtype} {kind:7s} {worst:.3f} at {where}")
    assert worst <= bound, (worst, where)


@pytest.mark.parametrize(
    ("name", "least", "largest", "bound"),
    [
        ("erfc", -6, -1e-3, 0.56),
        ("ndtr", 1e-3, 8, 0.56),
        ("erf", 0.5, 6, 0.53),
        ("erfcx", -26, -0.5, 0.6),
        ("log_ndtr", -37, -0.7, 0.53),
        ("log_ndtr", 1e-3, 8, 0.65),
    ],
)
def test_what_is_taken_from_one_or_two_is_a_pair(name: str, least: float, largest: float, bound: float) -> None:
    """Where the tail is small beside 1 the result is rounded once."""
    x = np.random.default_rng(0).uniform(least, largest, 300)
    worst, where = greatest_error(CASE[name], "f8", [x], kernel(name, "f8", 1, where=KINDS[HERE])(x))
    assert worst <= bound, (worst, where)


@every_kind
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_angles_up_to_where_subtraction_ends(name: str, kind: str) -> None:
    """Multiples of π/2, and what lies beside them: all bits of a result there are those of the reduction."""
    k = np.rint(np.exp(np.random.default_rng(1).uniform(np.log(2.0**8), np.log(2.0**34), 120)))
    x = np.concatenate([k * (np.pi / 2), k + 0.5])
    worst, where = greatest_error(CASE[name], "f8", [x], kernel(name, "f8", 1, where=KINDS[kind])(x))
    assert worst <= 1, (worst, where)


def errors_of_f4(name: str, x: np.ndarray, where: Any) -> np.ndarray:
    """Those of float32 results in units in the last place, 0 where they overflow: float64's stand for the true ones."""
    with np.errstate(all="ignore"):
        y = kernel(name, "f4", 1, 16, where)(x).astype("f8")
        true = kernel(name, "f8", 1, 8)(x.astype("f8"))
        unit = np.maximum((true.view("i8") & 0x7FF0000000000000).view("f8") * 2.0**-23, 2.0**-149)
        return np.where(np.abs(true) < 3.4028235e38, np.abs(y - true) / unit, 0)


def f4_between(least: float, largest: float) -> np.ndarray:
    """Every float32 between two positive ones."""
    first, last = np.array([least, largest], "f4").view("i4")
    return np.arange(first, last + 1, dtype="i4").view("f4")


@pytest.mark.sampled(11, "every function over all float32, sampled")
@every_kind
@pytest.mark.parametrize("name", [case.name for case in CASES if case.arity == 1])
def test_float32_of_every_size_within_its_bound(name: str, kind: str) -> None:
    """One in 4099 of all; of the others, which take minutes, the greatest errors are hardly greater."""
    x = np.arange(0, 2**32, 37 if IS_LONG else 4099, dtype="i8").astype("u4").view("f4")
    assert np.max(errors_of_f4(name, x, KINDS[kind])) <= 1


@every_kind
def test_float32_tanh_was_more_than_a_unit_off_above_the_polynomial(kind: str) -> None:
    x = f4_between(0.69, 0.76)
    assert np.max(errors_of_f4("tanh", np.concatenate([x, -x]), KINDS[kind])) < 0.92


@every_kind
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_fast_exp_flushed_the_smallest_normal_results(dtype: str, kind: str) -> None:
    tiny = np.finfo(dtype).tiny
    with mp.workprec(PRECISION):
        least = np.array(mp.log(mp.mpf(float(tiny)))).astype(dtype)
    units = 1 + np.arange(20)  # the first results that are normal, and some of those above them
    x = (least.view(f"i{dtype[1]}") - units).astype(f"i{dtype[1]}").view(dtype)
    for name, operand in (("exp", x), ("log_expit", -x)):
        y = kernel(name, dtype, 1, where=KINDS[kind], fast=True)(operand)
        worst, where = greatest_error(CASE[name], dtype, [operand], y)
        assert worst <= FAST_BOUNDS[name], (name, where)


SPECIAL = [0.0, 1.0, 0.5, 2.0, 3.0, 1.5, 10.0, 100.0, 1e4, 1e300, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-30]
SPECIAL = np.array([*SPECIAL, np.inf, *[-x for x in SPECIAL], -np.inf, np.nan])


def special_values(dtype: str, arity: int) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(dtype)
    return [x] if arity == 1 else [v.ravel() for v in np.meshgrid(x, x)]


WITH_SPECIAL_VALUES = [*(n for n in CASE if n != "pseudo_huber"), "kl_div", "huber"]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", WITH_SPECIAL_VALUES)
def test_special_values(name: str, dtype: str) -> None:
    assert_special_values(name, dtype, HERE)


@pytest.mark.sampled(5, "every function on every processor")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != HERE])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", WITH_SPECIAL_VALUES)
def test_special_values_on_other_processors(name: str, dtype: str, kind: str) -> None:
    assert_special_values(name, dtype, kind)


def assert_special_values(name: str, dtype: str, kind: str) -> None:
    """NaN, infinities, and the signs of zeros are NumPy's and SciPy's; other values are close.

    But not of ``pseudo_huber``, where SciPy's square overflows.
    """
    if name == "float_power" and dtype == "f4":
        return
    reference = getattr(np, name, None) or getattr(sp, name)
    arity = reference.nin
    xs = special_values(dtype, arity)
    with np.errstate(all="ignore"):
        expected = reference(*xs)
        y = kernel(name, dtype, arity, where=KINDS[kind])(*xs)
        tolerance = {"f8": 2e-13, "f4": 1e-5}[dtype]
        absolute = tolerance if name in ("kl_div", "rel_entr") else float(np.finfo(dtype).tiny)
        close = np.isclose(y, expected, rtol=tolerance, atol=absolute)
        signed = (expected != 0) | (np.signbit(y) == np.signbit(expected)) | (y != 0)
    if name == "kl_div":  # SciPy takes the logarithm of a ratio that has become 0 or ∞
        with np.errstate(all="ignore"):
            ratio = xs[0] / xs[1]
        lost = (xs[0] > 0) & (xs[1] > 0) & ((ratio < np.finfo(dtype).tiny) | np.isinf(ratio))
        signed |= lost
        close |= lost
    nan = np.isnan(expected)
    wrong = np.where(nan, ~np.isnan(y), ~(close & signed))
    assert not wrong.any(), [(*v,) for v in zip(*[x[wrong] for x in xs], y[wrong], expected[wrong], strict=True)][:8]


@pytest.mark.sampled(43, "every function compiled for every number of lanes")
@pytest.mark.parametrize("name", list(CASE))
def test_the_same_for_any_number_of_lanes(name: str) -> None:
    """Down to one and up to two registers, which operands of float32 fill in float64; and for registers of any size,
    but where AVX-512 has formulas of its own."""
    for dtype, targets in itertools.product(("f8", "f4"), ((target(16), target(32)), *[(w,) for w in KINDS.values()])):
        xs = arguments(CASE[name], dtype, 16)
        expected = kernel(name, dtype, CASE[name].arity, 1, targets[0])(*xs)
        for where in targets:
            lanes = 2 * where.vector_bytes // int(dtype[1])
            while lanes > 1:
                y = kernel(name, dtype, CASE[name].arity, lanes, where)(*xs)
                assert np.array_equal(y, expected, equal_nan=True), (dtype, lanes, where.vector_bytes)
                lanes //= 2


FAST_BOUNDS = {"exp": 1.5, "tanh": 4.0, "expit": 4.0, "log_expit": 4.0, "logaddexp": 4.0}


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", vecmath.FAST)
def test_fast_versions(name: str, dtype: str) -> None:
    """Within their bound where the result is a normal number; 0 below; the special values of the others."""
    case, tiny = CASE[name], float(np.finfo(dtype).tiny)
    xs = arguments(case, dtype, N)
    y = kernel(name, dtype, case.arity, fast=True)(*xs)
    exact = kernel(name, dtype, case.arity)(*xs)
    normal = (np.abs(exact) >= 2 * tiny) | (np.abs(xs[0]) < 2 * tiny)
    assert (np.abs(y[~normal]) <= 2 * tiny).all()
    worst, where = greatest_error(case, dtype, [x[normal] for x in xs], y[normal])
    if IS_LONG:
        print(f"fast {name:12s} {dtype} {worst:.3f} at {where}")
    assert worst <= FAST_BOUNDS[name], (worst, where)
    xs = special_values(dtype, case.arity)
    y, exact = [kernel(name, dtype, case.arity, fast=is_fast)(*xs) for is_fast in (True, False)]
    np.testing.assert_allclose(y, exact, rtol=1e-14 if dtype == "f8" else 1e-6, atol=2 * tiny)


def test_every_function_is_tested() -> None:
    known = {*CASE, *exact.UNARY, *exact.BINARY, "kl_div", "huber", "ldexp", "select", "convert", "power"}
    assert set(vecmath.FUNCTIONS) == known


def test_which_dtypes_a_function_takes() -> None:
    takes = vecmath.is_supported
    assert takes("ldexp", ("f8", "i4"), "f8") and takes("ldexp", ("f4", "i8"), "f4")
    assert not takes("ldexp", ("f8", "i2"), "f8") and not takes("ldexp", ("f8", "f8"), "f8")
    assert not takes("ldexp", ("i8", "i4"), "i8")
    assert takes("select", ("b1", "f4", "f4"), "f4") and not takes("select", ("b1", "f4", "f8"), "f8")
    assert takes("convert", ("f4", "f4"), "f4") and takes("convert", ("f8",), "b1")
    assert not takes("convert", ("c8",), "f8") and not takes("convert", ("f8",), "c8")
    for name in COMPARISONS:
        assert takes(name, ("i8", "u8"), "b1") and takes(name, ("u8", "i8"), "b1") and takes(name, ("f4", "f4"), "b1")
        assert not takes(name, ("i4", "u8"), "b1") and not takes(name, ("i8", "u4"), "b1")
    assert takes("exp", ("f8",), "f8") and not takes("exp", ("i8",), "f8") and not takes("nothing", ("f8",), "f8")


def test_sine_and_cosine_share_their_reduction() -> None:
    from tests.codegen.kernel import text_of

    def both(x: Any) -> Any:
        return vecmath.apply("sin", [x], "f8") + vecmath.apply("cos", [x], "f8")

    one = text_of(lambda x: vecmath.apply("sin", [x], "f8"), ["f8"], "f8", 4, target(), "f")
    two = text_of(both, ["f8"], "f8", 4, target(), "f")
    assert one.count("call void @wengert") == two.count("call void @wengert") == 1
    assert len(two.splitlines()) - len(one.splitlines()) < 12


def test_power_has_the_sign_of_an_odd_exponent() -> None:
    x, p = [
        v.ravel() for v in np.meshgrid([-2.0, -1.0, -0.5, -3e100, -1e-300], [3, 2, -3, 2.5, 2.0**53, 2.0**53 - 1, 1e20])
    ]
    with np.errstate(all="ignore"):
        expected = np.power(x, p)
    y = kernel("power", "f8", 2)(x, p)
    np.testing.assert_allclose(y, expected, rtol=1e-15)


@pytest.mark.deep("every power of two against 1400 bits")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_huge_angles(dtype: str) -> None:
    """Every power of two, and the double that comes nearest to a multiple of π/2."""
    top = 1024 if dtype == "f8" else 128
    x = np.array([float(m) * 2.0**k for m, k in itertools.product((1, 3, 1.1), range(15, top - 2))], dtype)
    x = np.concatenate(
        [x, -x, np.array([6381956970095103.0 * 2.0**797 if dtype == "f8" else 16367173.0 * 2.0**72], dtype)]
    )
    for name in ("sin", "cos", "tan"):
        for kind, where in KINDS.items():
            y = kernel(name, dtype, 1, where=where)(x)
            with mp.workprec(1400):
                worst = max(
                    error_in_ulp(b, CASE[name].exact(mp.mpf(float(a))), dtype) for a, b in zip(x, y, strict=True)
                )
            assert worst <= 1, (name, kind, worst)
