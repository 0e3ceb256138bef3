"""The traced array against NumPy's: every operator and every special method gives what an ndarray gives.

A function is compared with itself, called on arrays and compiled: values, dtypes, shapes and whether it raises.
"""

from __future__ import annotations

import array
import cmath
import collections
import copy
import math
import numbers
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import same
from wengert.errors import (
    ConcretizationError,
    DTypeError,
    EscapedTracerError,
    MutationError,
    UnsupportedFunctionError,
    WengertError,
)
from wengert.tracing.tracer import Tracer

X = np.array([1.5, -2.0, 0.25])
N = np.array([3, -4, 7])
A = np.arange(6.0).reshape(2, 3) - 2.5
GRID = np.arange(12.0).reshape(3, 4) - 4.5


def as_numpy(f: Callable[..., Any], *args: Any, rtol: float = 1e-12) -> None:
    """``f`` compiled is ``f``, when it is traced and when its program runs again."""
    with np.errstate(all="ignore"):
        want = f(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in args])
        compiled = wg.jit(f)
        for _ in range(2):
            same(compiled(*args), want, rtol)


def run_traced(f: Callable[..., Any], x: Any) -> None:
    """Run ``f`` on traced arrays, once; it may write what it likes outside."""
    wg.jvp(f, (x,), (x,))


# ----------------------------------------------------------------------------------------------------- operators

ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
BITS = {"&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift}
OTHERS: dict[str, Any] = {
    "a float": 2.5,
    "an int": 3,
    "a bool": True,
    "a list": [1.0, 2.0, 4.0],
    "a tuple of ints": (1, 2, 4),
    "a column": [[1.0], [2.0]],
    "an array": np.array([2.0, 0.5, 3.0]),
    "an array of shape ()": np.array(2.0),
    "float32": np.array([2.0, 0.5, 3.0], np.float32),
    "np.float32": np.float32(1.5),
    "np.float64": np.float64(1.5),
    "np.int8": np.int8(2),
    "ints": np.array([2, 1, 3]),
    "uint8": np.array([2, 1, 3], np.uint8),
    "bools": np.array([True, False, True]),
}


def both_sides(op: Any, x: Any, y: Any) -> None:
    """``y`` is no argument, so that Python's containers and numbers may stand there."""
    rtol = 1e-12 if np.asarray(x).dtype != np.float32 else 1e-6  # NumPy's own scalars and arrays are 1 ulp apart
    as_numpy(lambda x: op(x, y), x, rtol=rtol)
    as_numpy(lambda x: op(y, x), x, rtol=rtol)
    if not isinstance(y, list | tuple):
        as_numpy(op, x, y, rtol=rtol)


@pytest.mark.sampled(29, "all pairs of dtypes")
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("sign", ARITHMETIC)
def test_operators_on_both_sides(sign: str, other: str) -> None:
    op, y = ARITHMETIC[sign], OTHERS[other]
    for x in (np.abs(X), np.abs(X).astype(np.float32)):
        both_sides(op, x, y)
    if not isinstance(y, list | tuple):  # Python's numbers know no lists, and NumPy's do not always
        for x in (1.5, np.float64(1.5), np.float32(1.5)):
            both_sides(op, x, y)


@pytest.mark.sampled(4, "all pairs of dtypes")
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.bool_])
@pytest.mark.parametrize("sign", ["+", "*", "/", "<", "=="])
def test_operators_of_integers(sign: str, dtype: Any) -> None:
    x = np.array([1, 0, 1], dtype)
    for y in (1, 2.5, True, np.int16(3), np.float32(2), np.array([1, 2, 3], np.uint8), x):
        both_sides(ARITHMETIC[sign], x, y)


@pytest.mark.parametrize("sign", BITS)
def test_bits(sign: str) -> None:
    op = BITS[sign]
    n = np.array([1, 6, 3])
    for y in (2, np.array([1, 0, 2]), np.int64(1)):
        both_sides(op, n, y)
    if sign in "&|^":
        as_numpy(lambda x: op(x > 0, x < 1), X)
        as_numpy(lambda x: op(True, x < 1), X)


@pytest.mark.parametrize("f", [operator.neg, operator.pos, operator.abs])
def test_unary_operators(f: Any) -> None:
    for x in (X, N, X.astype(np.float32), np.float32(-2), -1.5, -3, N.astype(np.uint8)):
        as_numpy(f, x)
    as_numpy(operator.invert, N)
    as_numpy(lambda x: ~(x > 0), X)


def test_divmod_and_pow() -> None:
    as_numpy(lambda x: divmod(x, 0.75), X)
    as_numpy(lambda x: divmod(5.0, x), X)
    as_numpy(lambda n: divmod(n, 3), N)
    as_numpy(lambda x: 2**x, X)
    as_numpy(lambda x: pow(x, 2), X)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, 2.0, 1.0, -1.0, 2.5])
def test_powers_that_numpy_takes_the_short_way_for(exponent: Any) -> None:
    as_numpy(lambda x: np.abs(x) ** exponent, X)
    as_numpy(lambda x: x**exponent, X.astype(np.float32) ** 2)
    as_numpy(lambda x: x**exponent, 2.0)
    if isinstance(exponent, int) and exponent >= 0:
        as_numpy(lambda n: n**exponent, N)


def test_the_square_of_booleans_is_boolean() -> None:
    as_numpy(lambda b: b**2, np.array([True, False, True]))


def test_matmul_on_both_sides() -> None:
    B = np.arange(12.0).reshape(3, 4)
    as_numpy(lambda a: a @ B, A)
    as_numpy(lambda b: A @ b, B)
    as_numpy(lambda x: (x @ x, A @ x, x @ B, x @ B.tolist(), [1.0, 2.0] @ (A @ x)), X)
    with pytest.raises(ValueError):
        wg.jit(lambda x: x @ 2.0)(X)


def test_an_operator_that_another_class_defines_is_its_own() -> None:
    class Other:
        def __radd__(self, x: Any) -> str:
            return "radd"

        def __mul__(self, x: Any) -> str:
            return "mul"

        __array_ufunc__ = None

    seen = []

    def f(x: Any) -> Any:
        seen.append((x + Other(), Other() * x))
        return x

    run_traced(f, X)
    assert seen == [("radd", "mul")]


@pytest.mark.parametrize("other", [None, "text", object(), {}, {1.0}])
def test_operands_that_are_no_arrays(other: Any) -> None:
    for f in (lambda x: x + other, lambda x: other * x, lambda x: x < other):
        with pytest.raises((TypeError, WengertError)):
            wg.jit(f)(X)


def test_comparison_with_none_is_never_equal() -> None:
    assert wg.jit(lambda x: 1.0 if x is None else 2.0)(3.0) == 2
    assert wg.jit(lambda x: 1.0 if np.any(x == None) else 2.0)(3.0) == 2  # noqa: E711


# -------------------------------------------------------------------------------------------------------- in place


@pytest.mark.sampled(2, "a quarter of a second each")
@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "//", "%", "**", "@"])
def test_operators_in_place(sign: str) -> None:
    op = {
        "+": operator.iadd,
        "-": operator.isub,
        "*": operator.imul,
        "/": operator.itruediv,
        "//": operator.ifloordiv,
        "%": operator.imod,
        "**": operator.ipow,
        "@": operator.imatmul,
    }[sign]
    others = [np.eye(3)] if sign == "@" else [2, 1.5, [1.0, 2.0, 3.0], np.array([1.0, 2.0, 3.0]), np.float32(2)]
    for other in others:

        def f(x: Any, other: Any = other) -> Any:
            y = np.abs(x) if x.ndim else x  # a copy
            alias, z = y, y[..., ::-1] if y.ndim else y
            y = op(y, other)
            assert (y is alias) == bool(y.ndim)
            return y, alias, z

        as_numpy(f, X)
        as_numpy(f, X.astype(np.float32))
        as_numpy(f, A @ A.T @ A)
        if not isinstance(other, list) and np.ndim(other) == 0 and sign != "@":
            as_numpy(f, np.float64(1.5))


@pytest.mark.parametrize("sign", BITS)
def test_bits_in_place(sign: str) -> None:
    op = {"&": operator.iand, "|": operator.ior, "^": operator.ixor, "<<": operator.ilshift, ">>": operator.irshift}

    def f(n: Any) -> Any:
        m = n + 0
        alias = m[1:]
        m = op[sign](m, 1)
        return m, alias

    as_numpy(f, np.array([4, 5, 6]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: operator.iadd(n, x),  # float64 into int64
        lambda x, n: operator.itruediv(n, 2),
        lambda x, n: operator.iadd(n.astype(np.uint8), n),
        lambda x, n: operator.iadd(x, np.ones((2, 3))),  # the shape would grow
        lambda x, n: operator.imul(x, 1j),
    ],
)
def test_what_does_not_fit_in_place_is_refused_as_by_numpy(f: Any) -> None:
    refused = (TypeError, ValueError)
    with pytest.raises(refused) as numpys:
        f(X + 0, N + 0)
    with pytest.raises(refused) as ours:
        wg.jit(lambda x, n: f(x + 0, n + 0))(X, N)
    assert [isinstance(ours.value, kind) for kind in refused] == [isinstance(numpys.value, kind) for kind in refused]


# ------------------------------------------------------------------------------------------------- weak and strong


def test_python_numbers_are_weak_and_numpys_are_not() -> None:
    x32, x8 = np.ones(2, np.float32), np.ones(2, np.int8)
    for number in (2.0, np.float64(2.0), np.float32(2.0), 2, np.int64(2), True):
        as_numpy(lambda t, x: (t * x, x * t), number, x32)
        if not isinstance(number, float):
            as_numpy(lambda t, x: t + x, number, x8)


def test_arithmetic_on_python_numbers_stays_weak() -> None:
    x32 = np.ones(2, np.float32)
    as_numpy(lambda t, x: (t + 1) * x, 2.0, x32)
    as_numpy(lambda t, x: (2 * t - t / 3) * x, 2.0, x32)
    as_numpy(lambda t, x: t**2 * x, 2.0, x32)
    as_numpy(lambda t, x: -t * x, 2.0, x32)
    as_numpy(lambda k, x: (k + 1) * x, 2, np.ones(2, np.int8))
    as_numpy(lambda t, x: np.sin(t) * x, 2.0, x32)  # np.sin gives np.float64, which is strong
    as_numpy(lambda t, x: abs(t) * x, -2.0, x32)


def test_integers_that_do_not_fit_are_refused() -> None:
    for f in (lambda n: n + 300, lambda n: np.add(n, 300)):
        with pytest.raises(OverflowError):
            f(np.ones(2, np.int8))
        with pytest.raises((OverflowError, WengertError)):
            wg.jit(f)(np.ones(2, np.int8))


def test_a_ufunc_that_is_not_defined_for_the_dtypes() -> None:
    with pytest.raises(DTypeError, match=r"bitwise_and is not defined for float64, float64(.|\n)*test_tracer\.py"):
        wg.jit(lambda x: x & x)(X)


# ------------------------------------------------------------------------------------------------ concrete questions


def guards(f: Any, *args: Any) -> list[Any]:
    return [i.params["expected"].value for i in wg.trace(f)(*args).instrs if i.op.name == "guard"]


def test_bool_is_a_guard() -> None:
    assert guards(lambda x: x * 2 if x[0] > 0 else x, X) == [True]
    assert guards(lambda x: x if x else -x, 0.0) == [False]
    assert guards(lambda x: x if x[:1] else -x, X) == [True]
    assert guards(lambda x: (x and 2 * x) or 3 * x, 1.0) == [True, True]
    assert guards(lambda x: x if not x > 2 else -x, 1.0) == [False]
    assert guards(lambda x: x if 0 < x < 2 else -x, 1.0) == [True, True]


def test_the_truth_of_a_number_is_whether_it_is_zero() -> None:
    """The value itself used to be guarded, so that every new one was a path of its own."""
    f = wg.jit(lambda x: 2 * x if x else x - 1)
    assert [f(1.5), f(2.5), f(-3.5), f(0.0), f(-0.0)] == [3, 5, -7, -1, -1]
    assert np.isnan(f(np.nan))
    assert f.stats()["traces"] == 2
    g = wg.jit(lambda x: 2 * x if x[:1] else x)
    assert [g(np.array([t]))[0] for t in (1.0, 2.0, 0.0)] == [2, 4, 0]
    assert g.stats()["traces"] == 2


def test_the_truth_of_several_elements_is_ambiguous() -> None:
    for f in (lambda x: 1.0 if x else 2.0, lambda x: 1.0 if x > 0 else 2.0):
        with pytest.raises(ValueError, match=r"ambiguous(.|\n)*np\.any"):
            wg.jit(f)(X)


def test_int_looks_at_the_integer_part_alone() -> None:
    """And at whether there is an int64 of it: what is beyond is a Python integer, or raises as Python does."""
    assert guards(lambda x: x * int(x), 2.7) == [True, 2]
    assert guards(lambda x: x * int(x), -2.7) == [True, -2]
    f = wg.jit(lambda x: x * int(x))
    assert [f(2.5), f(2.75), f(-0.5), f(3.0)] == [5, 5.5, 0, 9]
    assert f.stats()["traces"] == 3
    assert wg.grad(lambda x: x * int(x))(2.5) == 2
    assert f(2e30) == 2e30 * int(2e30)
    with pytest.raises(ValueError, match="NaN"):
        f(np.nan)
    with pytest.raises(OverflowError, match="infinity"):
        f(-np.inf)
    assert f(2.5) == 5


@pytest.mark.parametrize("f", [round, math.floor, math.ceil, math.trunc, int])
def test_rounding_to_an_integer(f: Any) -> None:
    compiled = wg.jit(lambda x: x * f(x))
    seen: list[Any] = []
    for x in (2.5, -2.5, 3.5, 0.2, -0.2, 7.0):
        assert compiled(x) == x * f(x)
        run_traced(lambda x: (seen.append(f(x)), x)[1], x)
        assert seen[-1] == f(x) and type(seen[-1]) is int


def test_round_to_digits_is_an_array() -> None:
    as_numpy(lambda x: round(x, 1), np.float64(1.26))
    as_numpy(lambda x: (x[0].round(1), x.round(1)), X)


def test_an_integer_may_index_and_count() -> None:
    f = wg.jit(lambda x, n: sum([x[k] for k in range(n)], 0.0) * [1.0, 2.0, 3.0][n])
    assert [f(X, 1), f(X, 2), f(X, 0)] == [3.0, -1.5, 0.0]
    assert guards(lambda x, n: x[: operator.index(n)], X, 2) == [2]
    for index in (1.0, X):
        with pytest.raises(TypeError, match="only an integer scalar"):
            wg.jit(lambda x, t: [1.0, 2.0][t] * x, strict=True)(X, index)


def test_the_number_of_a_traced_value_is_refused() -> None:
    for f in (lambda x: x.__float__() * x, lambda x: abs(complex(x)) * x, lambda x: abs(cmath.sin(x)) * x):
        with pytest.raises(ConcretizationError, match="the same in later calls"):
            wg.grad(f)(1.0)
    with pytest.raises(ConcretizationError, match="a function of NumPy or of math"):
        wg.grad(lambda x: array.array("d", [x])[0] * x)(1.0)
    assert wg.jit(lambda n: complex(n).real * 0.5)(3) == 1.5  # an integer is looked at


@pytest.mark.parametrize("method", ["hex", "as_integer_ratio"])
def test_the_digits_of_a_traced_float_are_refused(method: str) -> None:
    with pytest.raises(ConcretizationError, match=method):
        wg.grad(lambda x: x * len(getattr(x, method)()))(0.5)


def test_whether_a_float_is_whole_is_a_guard() -> None:
    f = wg.jit(lambda x: x * 2 if x.is_integer() else x * 3)
    assert [f(2.0), f(2.5), f(np.float64(4.0))] == [4.0, 7.5, 8.0]
    assert [bool(wg.jit(lambda x: x.is_integer())(v)) for v in (np.inf, np.nan, -0.0)] == [False, False, True]
    with pytest.raises(AttributeError):
        wg.jit(lambda x: x.is_integer())(X)


def test_what_integers_alone_have_is_asked_of_their_values() -> None:
    assert wg.jit(lambda n: n.bit_length() + n.numerator)(5) == 8
    assert wg.jit(lambda n: n.bit_count() + n.denominator)(np.int64(7)) == 4
    with pytest.raises(AttributeError):
        wg.jit(lambda n: n.bit_length())(5.0)
    assert wg.jit(lambda n: pow(n, 3, 5))(2) == 3


def test_a_rounded_python_number_is_one() -> None:
    assert wg.jit(lambda x: np.float32(1) * round(x, 1))(0.12).dtype == np.float32


def test_constants_may_be_looked_at_freely() -> None:
    def f(x: Any) -> Any:
        c = np.arange(3.0) * 2
        assert float(c[1]) == 2.0 and int(c[2]) == 4 and bool(c[1]) and c.tolist() == [0, 2, 4]
        assert f"{c[1]:.2f}" == "2.00" and math.sin(c[0]) == 0
        return x * float(c[1])

    assert guards(f, X) == []
    as_numpy(f, X)


def test_several_elements_are_no_number() -> None:
    for f in (lambda x: x * int(x), lambda x: x * float(x)):
        with pytest.raises(TypeError, match="takes an array of one element"):
            wg.jit(f, strict=True)(X)
    as_numpy(lambda x: x * int(x[:1].sum()), X)


# ------------------------------------------------------------------------------------------------------- containers


def test_iteration_unpacking_and_length() -> None:
    as_numpy(lambda x: sum(v * v for v in x), X)
    as_numpy(lambda a: [row.sum() for row in a], A)

    def f(x: Any) -> Any:
        a, *rest = x
        first, second = rest
        return a + len(x) * first, second, list(reversed(x))[1:], [k * v for k, v in enumerate(x)]

    as_numpy(f, X)
    as_numpy(lambda a: dict(zip("ab", a, strict=True)), A)
    as_numpy(lambda x: max(x) - min(x), X)
    as_numpy(lambda x: sorted(x)[1], X)


def test_a_scalar_has_no_length_and_no_elements() -> None:
    for f in (len, iter, list, lambda x: x[0], lambda x: x[1:]):
        for call in (f, wg.jit(f)):
            with pytest.raises((TypeError, IndexError)):
                call(np.float64(1.0))


def test_contains() -> None:
    assert wg.jit(lambda x: x[0] if 0.25 in x else x[1])(X) == 1.5
    assert wg.jit(lambda x: x[0] if 7.0 in x else x[1])(X) == -2.0


def test_attributes() -> None:
    def f(a: Any) -> Any:
        for b, want in ((a, A), (a.T, A.T), (a[0], A[0]), (a[0, 0], A[0, 0]), (a[:0], A[:0])):
            for name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes"):
                assert getattr(b, name) == getattr(want, name), name
        assert np.shape(a) == (2, 3) and np.ndim(a) == 2 and np.size(a) == 6 and np.size(a, 1) == 3
        return a.T, a.mT, a.real, a.imag, list(a.flat)[3]

    as_numpy(f, A)


def test_attributes_that_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="no attribute 'shap'"):
        wg.jit(lambda x: x.shap, strict=True)(X)
    for name in ("data", "base", "ctypes"):
        with pytest.raises(UnsupportedFunctionError, match=rf"ndarray\.{name} is not traced"):
            wg.jit(lambda x, name=name: getattr(x, name), strict=True)(X)
    with pytest.raises(MutationError, match="reshape"):
        wg.jit(lambda x: setattr(x, "shape", (3, 1)), strict=True)(X)
    assert wg.jit(lambda x: x if hasattr(x, "dtype") and not hasattr(x, "todense") else -x)(np.float64(1)) == 1
    assert wg.jit(lambda x: x if hasattr(x, "dtype") else -x)(1.0) == -1  # as of Python's float


# -------------------------------------------------------------------------------------------- copies, text, identity


@pytest.mark.parametrize(
    "how", [copy.copy, copy.deepcopy, np.copy, lambda x: x.copy(), lambda x: np.array(x), lambda x: +x]
)
def test_a_copy_shares_nothing(how: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 2
        z = how(y)
        z[0] = 100.0
        y[1] = 50.0
        return y, z

    as_numpy(f, X)


def test_deepcopy_of_a_structure() -> None:
    def f(x: Any) -> Any:
        p = {"a": [x * 2, 3], "b": "text"}
        q = copy.deepcopy(p)
        q["a"][0][0] = 0.0
        return p["a"][0], q["a"][0]

    as_numpy(f, X)


def test_pickle_and_hash_are_refused() -> None:
    with pytest.raises(TypeError, match="cannot be pickled"):
        wg.jit(lambda x: pickle.dumps(x), strict=True)(X)
    with pytest.raises(TypeError, match="unhashable"):
        wg.jit(lambda x: {x: 1}, strict=True)(X)
    with pytest.raises(TypeError, match="unhashable"):
        hash(X)


def test_a_value_that_escaped_says_so() -> None:
    kept: list[Any] = []
    run_traced(lambda x: (kept.append(x * 2), x)[1], X)
    (y,) = kept
    assert "escaped" in repr(y)
    for use in (lambda: y + 1, lambda: np.sin(y), lambda: bool(y[0]), lambda: y.copy(), lambda: np.asarray(y)):
        with pytest.raises(EscapedTracerError, match=r"after the function that made it(.|\n)*has_aux"):
            use()
    with pytest.raises(EscapedTracerError):
        wg.grad(lambda x: np.sum(x * y))(X)
    with pytest.raises(EscapedTracerError):
        y[0] = 1.0


def test_scalars_are_not_written() -> None:
    def f(x: Any) -> Any:
        x[0][...] = 1.0
        return x

    for call in (f, wg.jit(f)):
        with pytest.raises(TypeError, match="does not support item assignment"):
            call(X.copy())


def test_isinstance_and_numpys_questions() -> None:
    def f(x: Any) -> Any:
        assert np.isscalar(x[0]) == np.isscalar(X[0])
        assert np.iscomplexobj(x) is False and np.isrealobj(x)
        assert np.result_type(x, 1.0) == np.float64 and np.can_cast(x.dtype, float)
        assert np.broadcast_shapes(x.shape, (2, 1)) == (2, 3)
        return x

    as_numpy(f, X)


def test_astype_item_tolist_fill() -> None:
    as_numpy(lambda x: (x.astype(np.float32), x.astype(int), x.astype(bool), x.astype("f4", copy=False)), X)
    as_numpy(lambda x: x.item(1) * x[0].item(), X)
    as_numpy(lambda a: a.tolist()[1][2] + a[0, 0].tolist(), A)

    def filled(x: Any) -> Any:
        y, z = x * 1, x * 1
        y.fill(x[0])
        z[1:].fill(3)
        return y, z

    as_numpy(filled, X)
    with pytest.raises(TypeError, match="Cannot cast"):
        wg.jit(lambda x: x.astype(int, casting="safe"))(X)


def test_item_and_tolist_give_python_numbers() -> None:
    """Of a float32 array they gave float32 values: an array of them was float32, not float64."""
    x = GRID.astype(np.float32)
    as_numpy(lambda x: (np.array(x.tolist()), np.array([x[0, 0].item()])), x)
    as_numpy(lambda x: x[0, 0].item() * x[1], x)  # and weak: float32 stays
    as_numpy(lambda x: x.item(5) * np.ones(2, np.float32), GRID)


def test_fill_of_a_scalar_does_nothing() -> None:
    """NumPy's scalars have the method too; it changed the value."""

    def f(x: Any) -> Any:
        s = x.sum()
        s.fill(2.0)
        return s * x

    as_numpy(f, GRID)


def test_one_element_by_a_traced_number_from_the_end() -> None:
    as_numpy(lambda x, k: x.T.item(k) * 2 + x.item(k, 0), GRID, np.int64(-2))


# ------------------------------------------------------------------------------------------- integers out of bounds


def _set(x: Any, k: Any) -> Any:
    x = x.copy()
    x[0] = k
    return x


def _copied(x: Any, k: Any) -> Any:
    y = np.empty_like(x)
    np.copyto(y, k)
    return y


def _masked(x: Any, k: Any) -> Any:
    y = x.copy()
    np.putmask(y, y > 1, k)
    return y


def _set_list(x: Any, k: Any, other: Any = 1) -> Any:
    x = x.copy()
    x[:2] = [k, other]
    return x


def _put(x: Any, k: Any) -> Any:
    x = x.copy()
    np.put(x, [0], k)
    return x


def _placed(x: Any, k: Any) -> Any:
    x = x.copy()
    np.place(x, x > 1, [k])
    return x


PYTHON_INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, k: x + k,
    "radd": lambda x, k: k + x,
    "maximum": np.maximum,
    "full_like": np.full_like,
    "array": lambda x, k: np.array([k, 1], x.dtype),
    "set": _set,
    "set a list": _set_list,
    "set a list with a traced value": lambda x, k: _set_list(x, k, x[1]),
    "put": _put,
    "place": _placed,
    "dot": np.dot,
    "outer": np.outer,
    "inner": np.inner,
    "kron": np.kron,
    "copyto": _copied,
    "putmask": _masked,
    "clip": lambda x, k: np.clip(x, 0, k),
    "clip from below": lambda x, k: np.clip(x, k, 7),
    "initial": lambda x, k: np.sum(x, initial=k),
    "searchsorted": np.searchsorted,
    "<": lambda x, k: x < k,
    "<=": lambda x, k: x <= k,
    ">": lambda x, k: k > x,
    ">=": np.greater_equal,
    "==": lambda x, k: x == k,
    "!=": lambda x, k: k != x,
}


@pytest.mark.sampled(11, "all pairs of dtypes")
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64, np.int64])
@pytest.mark.parametrize("name", PYTHON_INTEGERS)
def test_python_integers_beside_narrow_arrays_are_as_in_numpy(name: str, dtype: Any) -> None:
    """Traced or not: compared they may be of any size, an array they become part of must have such a number."""
    f, x = PYTHON_INTEGERS[name], np.arange(5, dtype=dtype)
    traced = wg.jit(f)
    for k in (3, -1, 300, 0, 2**31, -(2**31)):
        try:
            want = f(x, k)
        except OverflowError:
            for g in (traced, wg.jit(lambda x, k=k: f(x, k))):
                with pytest.raises(OverflowError, match=r"out of bounds for u?int\d+"):
                    g(x) if g is not traced else g(x, k)
            continue
        for got in (traced(x, k), wg.jit(lambda x, k=k: f(x, k))(x)):
            np.testing.assert_array_equal(got, want)
            assert np.asarray(got).dtype == np.asarray(want).dtype


def test_comparisons_with_integers_of_more_than_64_bits() -> None:
    x = np.arange(3)
    np.testing.assert_array_equal(wg.jit(lambda x: x < 2**70)(x), [True] * 3)
    assert wg.jit(lambda k: k < 2**70)(3) and not wg.jit(lambda k: k < -(2**70))(3)
    np.testing.assert_array_equal(wg.jit(lambda x: x == -(2**70))(x), [False] * 3)


# ------------------------------------------------------------------------------------------------- what isinstance says


CLASSES = (np.ndarray, np.generic, np.floating, np.integer, np.float64, np.float32, np.int64, np.bool, float, int, bool)
ABSTRACT = (numbers.Number, numbers.Real, numbers.Integral, list, tuple, str, type(None))
VALUES = {
    "array": np.ones(3),
    "integers": np.arange(3),
    "no_axes": np.array(2.0),
    "scalar": np.float64(2.0),
    "single": np.float32(2.0),
    "integer": np.int64(2),
    "bool": np.True_,
    "float": 2.0,
    "int": 2,
}


@pytest.mark.parametrize("x", VALUES.values(), ids=VALUES.keys())
def test_isinstance_is_numpys(x: Any) -> None:
    def seen(x: Any) -> dict[Any, bool]:
        return {c: isinstance(x, c) for c in (*CLASSES, *ABSTRACT)} | {"scalar": np.isscalar(x)}

    expected = seen(x)

    def f(x: Any) -> Any:
        assert type(x) is Tracer
        assert seen(x) == expected
        return x

    wg.jit(f)(x)


def test_isinstance_of_results_is_numpys() -> None:
    def f(x: Any) -> Any:
        assert isinstance(x * 2, np.ndarray) and not isinstance(x * 2, np.float64)
        assert isinstance(np.sum(x), np.float64) and isinstance(x[0], float) and np.isscalar(x[0])
        assert isinstance(x[:1].squeeze(), np.ndarray)
        assert isinstance(np.argmax(x), np.integer) and isinstance(x > 0, np.ndarray)
        return x

    wg.jit(f)(np.ones(3))
    wg.grad(lambda x: np.sum(f(x)))(np.ones(3))
    wg.vmap(f)(np.ones((2, 3)))


def test_functions_that_ask_take_the_same_way() -> None:
    """``x`` is made an array of one element only if it is a number: an array got one axis more, silently."""

    def as_array(x: Any) -> Any:
        return x if isinstance(x, np.ndarray) else np.array([x])

    def f(x: Any) -> Any:
        match x:
            case np.ndarray():
                return as_array(x) * 2
            case float() | int():
                return as_array(x) + 100
        return None

    for x in (np.ones(3), 2.0, 2, np.ones((2, 2))):
        np.testing.assert_array_equal(wg.jit(f)(x), f(x))
    assert wg.grad(lambda x: as_array(x)[0] ** 2)(3.0) == 6.0


# ----------------------------------------------------------------------------------------------- in the hands of others


def test_functions_of_libraries_that_are_not_traced_are_named() -> None:
    """What the error said was to write np.array instead of an import."""
    qmc = pytest.importorskip("scipy.stats.qmc")
    errors = wg.errors.ConcretizationError, wg.errors.UnsupportedFunctionError  # by where SciPy's version gets to
    with pytest.raises(
        errors, match=r"scipy\.stats\.qmc\.discrepancy is not traced(.|\n)*test_tracer\.py(.|\n)*wg\.primitive"
    ):
        wg.jit(lambda a: qmc.discrepancy(a), strict=True)(np.eye(2))


def test_sequences_of_traced_values_that_are_no_lists_are_named() -> None:
    """NumPy takes any sequence; lists and tuples of traced values are taken too."""
    values = lambda x: collections.deque([x[0], 0.0])
    with pytest.raises(wg.errors.ConcretizationError, match=r"np\.max takes(.|\n)*try +np\.max\(list\(\.\.\.\)\)"):
        wg.jit(lambda x: np.max(values(x)), strict=True)(X)
    assert wg.jit(lambda x: np.max(list(values(x))))(X) == np.max(values(X))
