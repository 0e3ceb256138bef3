"""Functions that are exact: equal to NumPy's bit for bit, for every dtype that they take."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest

from tests.codegen.kernel import compiled, target
from tests.codegen.vecmath.exact import BINARY, UNARY
from wengert.codegen import vecmath
from wengert.codegen.ir import LLVM_TYPES
from wengert.codegen.target import Target

ZERO_SIGN_OPEN = {"maximum", "minimum", "fmax", "fmin"}
TARGETS = [target(), target(16, has_fma=False)]
KINDS = list(itertools.product(TARGETS, (1, 4)))


def of_every_dtype(names: list[str]) -> list[tuple[str, str]]:
    return [
        (name, dtype) for name in names for dtype in sorted(LLVM_TYPES) if dtype[0] in vecmath.FUNCTIONS[name].kinds
    ]


def values(dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Limits, small numbers, halves, and random ones of every size."""
    if dtype == "b1":
        return np.array([False, True, True, False])
    if dtype[0] == "f":
        info = np.finfo(dtype)
        tiny, big = float(info.tiny), float(info.max)
        special = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 7.0, 0.1, np.inf, np.nan, tiny, tiny / 4, info.smallest_subnormal, big]
        special += [2.0**52, 2.0**52 - 0.5, 2.0**23 - 0.5, 2.0**24 + 2, 1 - float(info.epsneg), 0.49999999999999994]
        every = np.exp(rng.uniform(np.log(tiny), np.log(big) - 1, 30))
        near = rng.uniform(-100, 100, 30)
        positive = np.concatenate([np.array(special, dtype), every.astype(dtype), near.astype(dtype)])
        return np.concatenate([positive, -positive])
    info = np.iinfo(dtype)
    special = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 5, 7, 8, 31, 63, 64]
    special = [n for n in special if n <= info.max] + ([-1, -2, -7] if info.min < 0 else [])
    return np.concatenate([np.array(special, dtype), rng.integers(info.min, info.max, 30, dtype, endpoint=True)])


def same(y: np.ndarray, expected: np.ndarray, zero_sign_open: bool = False) -> np.ndarray:
    if y.dtype.kind != "f":
        return y == expected
    both_nan = np.isnan(y) & np.isnan(expected)
    return both_nan | ((y == expected) & (zero_sign_open | (np.signbit(y) == np.signbit(expected))))


def check(name: str, xs: list[np.ndarray], kinds: Iterable[tuple[Target, int]] = KINDS) -> None:
    ufunc = getattr(np, name)
    with np.errstate(all="ignore"):
        expected = ufunc(*xs)
    dtypes, out = [x.dtype.str[1:] for x in xs], expected.dtype.str[1:]
    assert vecmath.is_supported(name, tuple(dtypes), out)
    for where, lanes in kinds:
        y = compiled(lambda *vs: vecmath.apply(name, list(vs), out), dtypes, out, lanes, where)(*xs)
        wrong = ~same(y, expected, name in ZERO_SIGN_OPEN)
        assert not wrong.any(), (name, lanes, [x[wrong][:5] for x in xs], y[wrong][:5], expected[wrong][:5])


@pytest.mark.parametrize("dtype", ["f8", "i8", "u1", "b1"])
def test_every_function(dtype: str) -> None:
    """Of one dtype of each kind, with the vectors of this machine."""
    x = values(dtype, np.random.default_rng(1))
    xs = [v.ravel() for v in np.meshgrid(x, values(dtype, np.random.default_rng(2)))]
    for names, operands in ((UNARY, [x]), (BINARY, xs)):
        for name, known in of_every_dtype(names):
            if known == dtype:
                check(name, operands, KINDS[1:2])


@pytest.mark.sampled(11, "every function of every dtype")
@pytest.mark.parametrize(("name", "dtype"), of_every_dtype(UNARY))
def test_unary(name: str, dtype: str) -> None:
    check(name, [values(dtype, np.random.default_rng(1))])


@pytest.mark.sampled(15, "every function of every dtype")
@pytest.mark.parametrize(("name", "dtype"), of_every_dtype(BINARY))
def test_binary(name: str, dtype: str) -> None:
    x, y = np.meshgrid(values(dtype, np.random.default_rng(1)), values(dtype, np.random.default_rng(2)))
    check(name, [x.ravel(), y.ravel()])


def test_remainders_of_far_quotients() -> None:
    """x/y beyond 2^53, and remainders that are subnormal."""
    rng = np.random.default_rng(3)
    for dtype, spread in (("f8", 700), ("f4", 80)):
        x, y = np.exp(rng.uniform(-spread, spread, (2, 400))).astype(dtype) * rng.choice([-1, 1], (2, 400)).astype(
            dtype
        )
        for name in ("fmod", "remainder", "floor_divide"):
            check(name, [x, y])


@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
def test_int64_beside_uint64_are_compared_as_numbers(name: str) -> None:
    rng = np.random.default_rng(4)
    x, y = np.meshgrid(values("i8", rng), values("u8", rng))
    check(name, [x.ravel(), y.ravel()])
    check(name, [y.ravel(), x.ravel()])


@pytest.mark.parametrize("count", ["i4", "i8"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_ldexp(dtype: str, count: str) -> None:
    rng = np.random.default_rng(5)
    far = [-(2**31), 2**31 - 1, -2200, -1100, -1075, -1074, -1023, -150, -127, -1, 0, 1, 127, 1024, 2100]
    n = np.concatenate([far, rng.integers(-1100, 1100, 40)]).astype(count)
    x, n = np.meshgrid(values(dtype, rng), n)
    check("ldexp", [x.ravel(), n.ravel()])


@pytest.mark.sampled(11, "all pairs of dtypes")
@pytest.mark.parametrize("old", sorted(LLVM_TYPES))
@pytest.mark.parametrize("new", sorted(LLVM_TYPES))
def test_convert(old: str, new: str) -> None:
    x = values(old, np.random.default_rng(6))
    if old[0] == "f" and new[0] in "iu":  # what does not fit is the processor's business
        info = np.iinfo(new)
        x = x[(x > float(info.min) - 1) & (x < float(info.max)) & np.isfinite(x)]
        x = x[x >= 0] if new[0] == "u" else x
    with np.errstate(all="ignore"):
        expected = x.astype(new)
    for where, lanes in itertools.product(TARGETS, (1, 4)):
        y = compiled(lambda v: vecmath.apply("convert", [v], new), [old], new, lanes, where)(x)
        assert same(y, expected).all(), (lanes, x[~same(y, expected)])


def test_convert_of_what_does_not_fit() -> None:
    """NaN and the far become the least integer that the processor converts to, cut to size."""
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9])
    for new, lowest in (("i8", -(2**63)), ("i4", -(2**31)), ("i2", 0), ("i1", 0)):
        y = compiled(lambda v, new=new: vecmath.apply("convert", [v], new), ["f8"], new)(x)
        assert (y[:5] == lowest).all()
        assert y[5] == (3_000_000_000 if new == "i8" else lowest)


@pytest.mark.sampled(3, "long loops of every dtype")
@pytest.mark.parametrize("dtype", ["u1", "u4", "u8"])
def test_power_of_unsigned_integers(dtype: str) -> None:
    x, n = np.meshgrid(values(dtype, np.random.default_rng(7)), np.arange(70).astype(dtype))
    check("power", [x.ravel(), n.ravel()])


def test_select() -> None:
    rng = np.random.default_rng(8)
    c = rng.integers(0, 2, 37).astype(bool)
    for dtype in sorted(LLVM_TYPES):
        x, y = rng.integers(0, 2, 37).astype(dtype), rng.integers(0, 2, 37).astype(dtype)
        z = compiled(lambda *vs, d=dtype: vecmath.apply("select", list(vs), d), ["b1", dtype, dtype], dtype)(c, x, y)
        assert (z == np.where(c, x, y)).all()


def test_what_is_not_supported() -> None:
    assert not vecmath.is_supported("power", ("i8", "i8"), "i8")  # a negative exponent raises
    assert not vecmath.is_supported("gammaln", ("f8",), "f8")
    assert not vecmath.is_supported("exp", ("f2",), "f2")
    assert not vecmath.is_supported("add", ("f8", "f4"), "f8")
