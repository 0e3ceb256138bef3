"""Complex numbers: the rules of every op that takes them, and their formulas in real and imaginary parts.

The rules are judged by the checker of ops, whose pairing is Re(ct · dy) = Re(Jᵀ ct · dx) and whose differences go in
complex directions; the formulas by NumPy, at ordinary and at special points, and by mpmath.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.ops.cases import between, booleans, complex_numbers
from tests.ops.check_op import Case, Operand, case, check_op

COMPLEX, FLOAT = np.dtype(complex), np.dtype(float)


def exponent(value: complex) -> Operand:
    return Operand(lambda rng, shape: np.asarray(complex(value)), (), is_literal=True)


ONE = [
    *["negative", "positive", "conjugate", "square", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10"],
    *["log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"],
]
INVERSE = ["arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"]
COMPARISONS = [
    *["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"],
    *["maximum", "minimum", "fmax", "fmin"],
]
TWO = ["add", "subtract", "multiply", "divide", "power", "float_power", *COMPARISONS]
CASES = [
    *[case(name, complex_numbers(), dtypes="DF") for name in (*ONE, *INVERSE, "absolute")],
    *[case(name, complex_numbers(), complex_numbers(), dtypes="DF") for name in TWO],
    case("power", complex_numbers(), exponent(3), dtypes="D", note="cubed"),
    case("power", complex_numbers(), exponent(-2), dtypes="D", note="inverse square"),
    case("power", complex_numbers(), exponent(0.5 + 1j), dtypes="D", note="complex"),
    case("select", booleans(), complex_numbers(), complex_numbers(), dtypes="DF"),
    case("convert", complex_numbers(), kw=dict(dtype=COMPLEX), dtypes="DF", note="complex"),
    case("convert", between(-3, 3), kw=dict(dtype=COMPLEX), dtypes="df", note="of real ones"),
    case("sum", complex_numbers(3, 4), kw=dict(axis=(1,)), dtypes="DF"),
    case("prod", complex_numbers(3, 5), kw=dict(axis=(0, 1)), dtypes="DF", rtol=1e-7),
    case("cumsum", complex_numbers(3, 4), kw=dict(axis=1), dtypes="DF"),
    case("cumprod", complex_numbers(3, 4), kw=dict(axis=0), dtypes="DF", rtol=1e-7),
    case(
        "contract", complex_numbers(3, 4), complex_numbers(4, 2), kw=dict(a=(0, 1), b=(1, 2), out=(0, 2)), dtypes="DF"
    ),
    case("slice", complex_numbers(4, 3), kw=dict(index=((2, 2, -1), 1)), dtypes="DF"),
    case("transpose", complex_numbers(2, 3), kw=dict(axes=(1, 0)), dtypes="DF"),
    case("concatenate", complex_numbers(2, 3), complex_numbers(1, 3), kw=dict(axis=0), dtypes="DF"),
    case("embed_diagonal", complex_numbers(3), dtypes="DF"),
    case("inv", complex_numbers(3, 3), dtypes="D", rtol=1e-6),
    case("det", complex_numbers(3, 3), dtypes="D", rtol=1e-6),
    case("solve", complex_numbers(3, 3), complex_numbers(3, 2), kw=dict(transpose=True), dtypes="D", rtol=1e-6),
]  # fmt: skip


@pytest.mark.sampled(9, "every rule is compiled in two dtypes")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rules(case: Case) -> None:
    check_op(case)


# ---------------------------------------------------------------------------------------------------- formulas

PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, math.inf, -math.inf, math.nan, 1e-300, -1e-160, 1e150, 1e300, 30.0]
POINTS = np.array([complex(x, y) for x, y in itertools.product(PARTS, PARTS)])
OTHERS = {"square"}  # NumPy's own has other infinities with and without fused multiply-add
TO_BOOLEANS = ["isnan", "isinf", "isfinite", "logical_not"]
ROUNDED = [name for name in (*ONE, *INVERSE, "rint", "absolute", "sign", *TO_BOOLEANS) if name not in OTHERS]
TO_A_NAN = {"sin", "cos", "tan", "sinh", "cosh", "tanh", *INVERSE}
"""Where NumPy's C library has a NaN in one part and an infinity in the other, ours may have two NaN."""


def agree(got: Any, want: Any, rtol: float) -> Any:
    """Where both parts are NumPy's: to rounding, with its signs of zeros, infinities and NaN."""
    if got.dtype.kind == "c":
        return agree(got.real, want.real, rtol) & agree(got.imag, want.imag, rtol)
    if got.dtype.kind != "f":
        return got == want
    same = (got == want) & (np.signbit(got) == np.signbit(want))
    with np.errstate(all="ignore"):
        near = np.isfinite(got) & np.isfinite(want) & (np.abs(got - want) <= rtol * np.abs(want) + 1e-307)
    return same | near | (np.isnan(got) & np.isnan(want))


@pytest.mark.parametrize("name", ROUNDED)
def test_special_points_are_numpys(name: str) -> None:
    ufunc = getattr(np, name)
    f = wg.jit(lambda z: ufunc(z))
    with np.errstate(all="ignore"):
        got, want = f(POINTS), ufunc(POINTS)
    assert {k.kind for k in f.program(POINTS).kernels} == {"loops"}
    is_nan = np.isnan(want) if name in TO_A_NAN else False
    assert (agree(got, want, 1e-14) | is_nan).all(), POINTS[~(agree(got, want, 1e-14) | is_nan)]


LOGICAL = ["logical_and", "logical_or", "logical_xor"]


@pytest.mark.parametrize("name", ["add", "subtract", "divide", *COMPARISONS, *LOGICAL])
def test_special_points_of_two_are_numpys(name: str) -> None:
    ufunc = getattr(np, name)
    f = wg.jit(lambda x, y: ufunc(x, y))
    x, y = POINTS[:, None], POINTS[None, ::3]
    with np.errstate(all="ignore"):
        assert agree(f(x, y), ufunc(x, y), 1e-14).all()
    assert {k.kind for k in f.program(x, y).kernels} == {"loops"}


ULPS = {"tan": 4, "tanh": 4, "log10": 3, **dict.fromkeys(INVERSE, 4)}
MPMATH = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
}


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("name", ["exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", *INVERSE])
def test_formulas_are_right_to_the_last_digits(name: str) -> None:
    """Each part to units of its own last place: of a logarithm also where |z| is nearly 1."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=100) + 1j * rng.normal(size=100)
    z = np.concatenate([z, z / np.abs(z), z * 10.0 ** rng.uniform(-8, 1, 100)])
    got = wg.jit(getattr(np, name))(z)
    with mpmath.workdps(40):
        exact = [getattr(mpmath, MPMATH.get(name, name))(mpmath.mpc(x.real, x.imag)) for x in z]
        for part in ("real", "imag"):
            for a, b in zip(getattr(got, part), exact, strict=True):
                want = getattr(b, part)
                assert abs(mpmath.mpf(float(a)) - want) <= ULPS.get(name, 2.5) * np.spacing(abs(float(want)))


@given(st.complex_numbers(max_magnitude=1e3), st.complex_numbers(max_magnitude=5))
def test_powers_are_numpys(x: complex, p: complex) -> None:
    z, q = np.array([x]), np.array([p])
    with np.errstate(all="ignore"):
        got, want = POWER(z, q), z**q
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-300)


POWER = wg.jit(lambda z, p: z**p)


@pytest.mark.parametrize("p", [0.3 + 0.2j, 1 + 1j, -0.3 + 0.2j, 0.2j, 0j, 2.0, -1.0, complex(math.inf, 1)], ids=str)
def test_zero_to_a_complex_power_was_nan_in_machine_code(p: complex) -> None:
    z = np.array([0j, complex(-0.0, 0.0), 1 + 1j])
    for f, args in [(lambda z: z**p, (z,)), (lambda z, p: z**p, (z, np.full(3, p)))]:
        with np.errstate(all="ignore"):
            got, want = wg.compile(wg.trace(f)(*args))(*args), f(*args)
        np.testing.assert_allclose(got, want, rtol=1e-14)


def test_the_sign_of_what_is_infinite_was_nan() -> None:
    z = np.array([complex(math.inf, 0), complex(0, -math.inf), complex(-math.inf, 3), complex(math.inf, math.inf)])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(wg.compile(wg.trace(np.sign)(z))(z), [1, -1j, -1, complex(math.nan, math.nan)])
    derivative = wg.jvp(np.sign, (z[:3],), (np.ones(3, complex),))[1]
    np.testing.assert_array_equal(derivative, np.zeros(3))


@pytest.mark.parametrize("zero", [0, 0.0, 0j, complex(-0.0, 0.0)], ids=str)
def test_a_literal_zero_subtracted_from_a_complex_value_was_a_foreign_error(zero: complex) -> None:
    z = np.array([1 - 2j, complex(-0.0, -0.0)])
    np.testing.assert_array_equal(wg.grad(lambda z: np.sum(np.abs(z - zero) ** 2))(z), np.conj(2 * z))
    got, want = wg.jit(lambda z: z - zero)(z), z - zero
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit([got.real, got.imag]), np.signbit([want.real, want.imag]))
