"""Options and methods of ufuncs, and ufuncs that are compositions: each case is run by NumPy and by the tape."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.special

import wengert as wg
from tests.comparisons import as_numpy, same
from tests.tracing.numpy_cases import play
from wengert.errors import DTypeError, MutationError, UnsupportedFunctionError
from wengert.tracing import functions  # noqa: F401  # they fill the tables
from wengert.tracing.functions import ufuncs  # noqa: F401  # they fill the tables
from wengert.tracing.record import Recording, input_of, record_call
from wengert.tracing.trace import WholeRun


def record(f: Callable[..., Any], *args: Any) -> Recording:
    return record_call(f, [input_of(a) for a in args], name="f")


def as_list(y: Any) -> list[Any]:
    return list(y) if isinstance(y, tuple | list) else [y]


def copies(args: Sequence[Any]) -> list[Any]:
    return [np.array(a) if isinstance(a, np.ndarray) else a for a in args]


def assert_same(got: Sequence[Any], want: Any) -> None:
    wanted = as_list(want)
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted, strict=True):
        assert np.shape(g) == np.shape(w)
        assert np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=1e-6 if np.asarray(w).dtype == np.float32 else 1e-13, atol=1e-300)


def check(f: Callable[..., Any], *args: Any) -> None:
    """``f`` gives NumPy's values and dtypes, whichever of its arguments are traced: the others are constants."""
    want = f(*copies(args))
    for traced in itertools.product([True, False], repeat=len(args)):

        def call(*tracers: Any, traced: Any = traced) -> Any:
            given = iter(tracers)
            return f(
                *[
                    next(given) if t else np.array(a) if isinstance(a, np.ndarray) else a
                    for t, a in zip(traced, args, strict=True)
                ]
            )

        inputs = [a for t, a in zip(traced, args, strict=True) if t]
        assert_same(play(record(call, *inputs).tape, inputs), want)


X = np.array([0.5, -1.5, 2.25, 3.0, -0.125])
Y = np.array([2.0, 0.75, -1.0, 0.5, 4.0])
A = np.array([[1.0, -2.0, 3.5], [0.25, 5.0, -6.0]])
GRID = np.arange(12.0).reshape(3, 4) - 4.5
I = np.array([3, 7, -2, 12, 5])
U = np.array([3, 7, 200], np.uint8)
B = np.array([True, False, True, True, False])
F = np.array([0.5, 1.5, -2.0], np.float32)
E = np.zeros((0, 3))

# ------------------------------------------------------------------------------------------------------- options


def written(shape: Any = (5,), dtype: Any = float, fill: float = 9.0) -> Any:
    out = np.empty(shape, dtype)
    out[...] = fill
    return out


def write_part(x: Any, y: Any) -> Any:
    """A view as out=."""
    z = written((2, 5))
    np.multiply(x, y, out=z[1])
    return z


def write_both(x: Any) -> Any:
    quotient, rest = written(), written()
    result = np.divmod(x, 0.7, out=(quotient, rest))
    assert result[0] is quotient and result[1] is rest
    return quotient, rest


def write_one_of_two(x: Any) -> Any:
    rest = written()
    return np.modf(x, out=(None, rest))[0], rest


def write_itself(x: Any) -> Any:
    z = np.array(x)
    assert np.sin(z, out=z) is z
    np.add(z, z[::-1], z)
    return z


def chain_of_writes(x: Any, y: Any) -> Any:
    z = written()
    view = z[::2]
    np.add(x, y, z)
    np.negative(view, out=view)
    z *= 2
    return z, view


OPTIONS = [
    (lambda x, y: np.add(x, y, out=written()), X, Y),
    (lambda x, y: np.add(x, y, out=(written(),)), X, Y),
    (lambda x, y: np.add(x, y, written()), X, Y),
    (lambda x: np.add(x, 1, out=written((2, 5))), X),  # the result is broadcast into out
    (lambda x: np.add(x, 1, out=written(dtype=np.float32)), X),
    (lambda x: np.add(x, 1.0, out=written(3, np.float64)), F),
    (lambda x: np.less(x, 1, out=written(5, bool)), X),
    (lambda x: np.less(x, 1, out=written(5, float)), X),
    (lambda x: np.add(x, 0.5, out=written(5, int), casting="unsafe"), X),
    (lambda x: np.add(X, 1.0, out=np.multiply(x, 0.0)), X),  # only out= is traced
    (lambda x: np.add(1.0, 2.0, out=np.multiply(x, 0.0)), X),
    (write_part, X, Y),
    (write_both, X),
    (write_one_of_two, X),
    (write_itself, X),
    (chain_of_writes, X, Y),
    (lambda x, y: np.divide(x, y, out=written(), where=y > 0), X, Y),
    (lambda x: np.log(np.abs(x), out=written(), where=[True, False, True, False, True]), X),
    (lambda x, b: np.negative(x, out=written(), where=b), X, B),
    (lambda x: np.negative(x, out=written((2, 3)), where=np.array([[True], [False]])), A),
    (lambda x: np.negative(x, out=written(fill=1), where=False), X),
    (lambda x: np.exp(x, dtype=np.float32), X),
    (lambda x: np.add(x, 1, dtype=float), I),
    (lambda x: np.add(x, 2, dtype=np.int64), U),
    (lambda x: np.divide(x, 3, dtype=np.float32), U),
    (lambda x: np.less(x, 3, dtype=bool), U),
    (lambda x: np.add(x, 1.5, dtype=int, casting="unsafe"), X),
    (lambda x: np.add(x, 1, casting="safe", order="C", subok=False), X),
    (lambda x, y: np.matmul(x, y, out=written(2)), A, F.astype(float)),
    (lambda x, y: np.matmul(x, y, dtype=np.float32), A, F),
    (lambda x: np.add(x, [1.0, x[0], 3, 4, 5]), X),  # a list that holds traced values
    (lambda x: np.add([x[1], 2.0], x[:2]), X),
    (lambda x: np.hypot((x, x), x), X),
]


@pytest.mark.parametrize("case", OPTIONS, ids=range(len(OPTIONS)))
def test_options_are_numpys(case: Any) -> None:
    check(*case)


# -------------------------------------------------------------------------------------------------- compositions

COMPOSITIONS = [
    (lambda x, y: np.divmod(x, y), X, Y),
    (lambda x, y: divmod(x, y), X, Y),
    (lambda x: np.divmod(x, 4), I),
    (lambda x: np.modf(x), np.array([0.5, -0.5, 3.0, -2.0, 0.0, -0.0, 1e300, np.inf, -np.inf, np.nan])),
    (lambda x: np.modf(x), I),
    (lambda x: np.modf(x), F),
    (lambda x: np.frexp(x), np.array([0.5, -0.5, 3.0, 1.0, 4.0, -0.0, 1e300, 5e-324, 1e-310, np.inf, np.nan])),
    (lambda x: np.frexp(x), np.ldexp(1 - 2.0**-53, np.arange(-40, 40))),  # just below powers of two
    (lambda x: np.frexp(x), np.ldexp(1.0, np.arange(-40, 40))),
    (lambda x: np.frexp(x), F),
    (lambda x, y: np._core.umath.clip(x, y, 2.0), X, np.float64(-1)),
    (lambda x: np._core.umath.clip(x, 2, 1), F),  # bounds the wrong way round
    (lambda x, y: np.matmul(x, y), A, A.T.copy()),
    (lambda x, y: x @ y, A, F),
    (lambda x: np.vecdot(x, x), A),
    (lambda x: np.vecdot(x, x, axis=0), A),
    (lambda x: np.matvec(x, F), A),
    (lambda x: np.vecmat(np.ones(2), x), A),
    (lambda x: scipy.special.erf(x), X),
    (lambda x: scipy.special.xlogy(x, 2.0), X),
    (lambda x: np.fmod(x, 0.75), X),
    (lambda x, n: np.ldexp(x, n), X, np.array([1, 2, -3, 0, 4])),
]


@pytest.mark.parametrize("case", COMPOSITIONS, ids=range(len(COMPOSITIONS)))
def test_compositions_are_numpys(case: Any) -> None:
    with np.errstate(all="ignore"):  # NumPy raises flags at infinities that a composition need not raise
        check(*case)


def test_signs_of_zero_are_kept() -> None:
    x = np.array([-0.0, 0.0, -2.0, 2.0, np.inf, -np.inf])
    (fraction, whole) = play(record(np.modf, x).tape, [x])
    np.testing.assert_array_equal(np.signbit(fraction), np.signbit(np.modf(x)[0]))
    np.testing.assert_array_equal(np.signbit(whole), np.signbit(np.modf(x)[1]))


# ------------------------------------------------------------------------------------------------------- methods

BINARY = [
    np.add,
    np.multiply,
    np.maximum,
    np.minimum,
    np.subtract,
    np.divide,
    np.fmax,
    np.fmin,
    np.logaddexp,
    np.logaddexp2,
    np.hypot,
    np.logical_and,
    np.logical_or,
    np.logical_xor,
]
INTEGER = [np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd, np.lcm]


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda u: u.__name__)
def test_reduce_and_accumulate(ufunc: Any) -> None:
    for axis in (0, 1, -1):
        check(lambda x, axis=axis: ufunc.reduce(x, axis), A)
        check(lambda x, axis=axis: ufunc.reduce(x, axis, keepdims=True), A)
        check(lambda x, axis=axis: ufunc.accumulate(x, axis), A)
    for n in range(1, 9):
        check(ufunc.reduce, np.linspace(-1.5, 2.1, n))
        check(ufunc.accumulate, np.linspace(0.25, 2.0, n))
    check(lambda x: ufunc.reduce(x, initial=1.5), A)
    check(lambda x: ufunc.reduce(x, axis=()), A)
    check(lambda x: ufunc.reduce(x), X[2])
    check(lambda x: ufunc.reduce(x, initial=2), E)
    check(lambda x: ufunc.reduce(x, axis=1, initial=2), E)
    check(lambda x, m: ufunc.reduce(x, where=m, initial=1.0), X, B)
    check(lambda x: ufunc.reduce(x, axis=1, where=[[True], [False]], initial=1.0), A)
    check(lambda x: ufunc.reduce(x, 1), F.reshape(1, 3))
    check(ufunc.reduce, I)
    check(ufunc.accumulate, I)
    if ufunc not in (np.subtract, np.divide):
        check(lambda x: ufunc.reduce(x, axis=None), A)
        check(lambda x: ufunc.reduce(x, axis=(0, -1), keepdims=True), A)
        check(lambda x: ufunc.reduce(x, (2, 0)), np.linspace(-1, 1, 24).reshape(2, 3, 4))
    if ufunc.identity is not None:
        check(ufunc.reduce, E)
        check(lambda x, m: ufunc.reduce(x, where=m), X, B)


@pytest.mark.parametrize("ufunc", INTEGER, ids=lambda u: u.__name__)
def test_reduce_and_accumulate_of_integers(ufunc: Any) -> None:
    for n in range(1, 7):
        check(ufunc.reduce, np.arange(3, 3 + n))
        check(ufunc.accumulate, np.arange(3, 3 + n))
    check(ufunc.reduce, U)
    if ufunc is np.lcm:
        refused(lambda x: ufunc.reduce(x, axis=None), np.ones((2, 3), int), error=ValueError, match="not reorderable")
    else:
        check(lambda x: ufunc.reduce(x, axis=None), np.arange(6).reshape(2, 3))


REDUCTIONS = [
    (lambda x: np.add.reduce(x), U),
    (lambda x: np.add.reduce(x), B),
    (lambda x: np.add.accumulate(x), B),
    (lambda x: np.multiply.accumulate(x), U),
    (lambda x: np.add.reduce(x, dtype=np.float32), X),
    (lambda x: np.add.reduce(x, dtype=int), X),
    (lambda x: np.add.accumulate(x, dtype=np.float32), X),
    (lambda x: np.maximum.reduce(x, dtype=np.float32), X),
    (lambda x: np.add.reduce(x, out=written(())), X),
    (lambda x: np.add.reduce(x, 1, out=written(2)), A),
    (lambda x: np.add.reduce(x, out=written(3, int)), A),
    (lambda x: np.maximum.reduce(x, out=written(3)), A),
    (lambda x: np.logaddexp.reduce(x, out=written(3, np.float32)), A),
    (lambda x: np.add.accumulate(x, 1, out=written((2, 3))), A),
    (lambda x: np.hypot.reduce(x, 0), np.array([[-1.5, 2.0]])),
    (lambda x: np.gcd.reduce(x), np.array([-4])),
    (lambda x: np.bitwise_and.reduce(x), np.zeros((0, 2), np.uint8)),
    (lambda x, m: np.bitwise_and.reduce(x, where=m), U, B[:3]),
    (lambda x: np.add.reduce(x, out=written((), np.int8)), B),
    (lambda x: np.logical_or.reduce(x, out=written(3)), A),
    (lambda x, y: np.add.reduce(x, initial=y), X, np.float64(2)),
    (lambda x, y: np.maximum.reduce(x, initial=y), X, np.float64(2)),
    (lambda x: np.add.reduce(x, initial=None), X),
    (lambda x: np.logical_and.reduce(x, initial=False), X),
    (lambda x: np.add.outer(x, x), A),
    (lambda x, y: np.subtract.outer(x, y), X, A),
    (lambda x: np.add.outer(x, 2.0), F),
    (lambda x: np.add.outer(2, x), X),
    (lambda x: np.multiply.outer(x, [1.0, x[0]]), X),
    (lambda x: np.less.outer(x, Y), X),
    (lambda x: np.multiply.outer(x, x, out=written((5, 5))), X),
    (lambda x: np.multiply.outer(x, x, dtype=np.float32), X),
    (lambda x: np.add.reduceat(x, [0, 2, 1, 4]), X),
    (lambda x: np.add.reduceat(x, np.array([0, 1]), axis=1), A),
    (lambda x: np.add.reduceat(x, [1, 0, 1, 0]), A),
    (lambda x: np.add.reduceat(x, [0, 2], dtype=np.float32), X),
    (lambda x: np.add.reduceat(x, [0, 2]), B),
    (lambda x: np.add.reduceat(x, [0, 2], out=written(2)), X),
    (lambda x: np.add.reduceat(x, np.arange(2)), X),
    (lambda x: np.add.reduceat(x, np.zeros(0, int)), X),
    (lambda x: np.maximum.reduceat(x, [0, 2, 1, 4]), X),
    (lambda x: np.multiply.reduceat(x, [0, 1], -1), A),
    (lambda x: np.logaddexp.reduceat(x, [0, 1], -1), A),
    (lambda x: np.multiply.reduceat(x, np.zeros(0, int)), X),
]


@pytest.mark.parametrize("case", REDUCTIONS, ids=range(len(REDUCTIONS)))
def test_methods_are_numpys(case: Any) -> None:
    check(*case)


def at(ufunc: Any, key: Any, start: Any = A) -> Callable[..., Any]:
    def f(*values: Any) -> Any:
        z = np.array(start)
        assert ufunc.at(z, key, *values) is None
        return z

    return f


REPEATED = np.array([0, 1, 1, 0, 1])
AT = [
    (at(np.add, REPEATED, X), Y),
    (at(np.subtract, REPEATED, X), Y),
    (at(np.add, -REPEATED, X), 2.0),
    (at(np.add, REPEATED), np.arange(15.0).reshape(5, 3)),
    (at(np.add, (slice(None), REPEATED)), np.arange(10.0).reshape(2, 5)),
    (at(np.add, (slice(None, None, -1), REPEATED)), np.arange(10.0).reshape(2, 5)),
    (at(np.add, (REPEATED, 1)), Y),
    (at(np.add, (1, REPEATED)), Y),
    (at(np.add, ([0, 1, 1], [2, 2, 2])), F),
    (at(np.add, ([[0], [1]], [2, 2, 2])), F.astype(float)),
    (at(np.add, (None, REPEATED)), 3.0),
    (at(np.add, A > 0), np.arange(4.0)),
    (at(np.add, 1), F.astype(float)),
    (at(np.add, (Ellipsis, slice(0, 2))), 1.0),
    (at(np.add, [1, 1], I), 3),
    (at(np.add, [1, 1], F), 1.5),
    (at(np.multiply, REPEATED, X), Y),
    (at(np.maximum, REPEATED, X), Y),
    (at(np.divide, REPEATED), np.arange(1.0, 4.0)),
    (at(np.divide, (slice(None), REPEATED)), np.arange(1.0, 11.0).reshape(2, 5)),
    (at(np.multiply, (1, slice(None))), F.astype(float)),
    (at(np.logaddexp, [0, 0, 0, 3], X), 1.0),
    (at(np.multiply, np.zeros(0, int), X), 2.0),
]


@pytest.mark.parametrize("case", AT, ids=range(len(AT)))
def test_at_is_numpys(case: Any) -> None:
    check(*case)


def test_at_writes_through_views_and_with_one_operand() -> None:
    def f(x: Any) -> Any:
        z = np.array(x)
        np.add.at(z.T, [0, 0], x[:, 0])
        np.negative.at(z, ([1, 1, 1], [0, 1, 1]))
        np.sin.at(z[0], [2])
        return z

    check(f, A)


def test_an_index_that_is_traced_can_add() -> None:
    def f(x: Any, i: Any) -> Any:
        z = np.zeros(3)
        np.add.at(z, i, x)
        np.subtract.at(z, i[:2], 1.0)
        return z

    check(f, X, REPEATED)
    recording = record(f, X, REPEATED)
    other = np.array([2, 2, 0, 1, -1])
    np.testing.assert_allclose(play(recording.tape, [X, other])[0], f(X, other))


def test_constants_are_written_by_numpy_itself() -> None:
    def f() -> Any:
        z = np.zeros(3)
        np.add.at(z, [0, 0, 2], 1.5)
        np.multiply(z, np.arange(3), out=z[::-1])
        np.negative(z, out=z, where=np.array([True, False, True]))
        return z

    recording = record(f)
    assert len(recording.tape) == 0
    assert_same(play(recording.tape, []), f())


OWN = [
    lambda x: np.frexp(x),
    lambda x: np.modf(x),
    lambda x: np.divmod(x, 2.0),
    lambda x: np._core.umath.clip(x, -1.0, 1.0),
    lambda x: np.logaddexp.reduce(x, initial=0.0, where=[True, False, True, True, True]),
    lambda x: np.subtract.accumulate(x),
    lambda x: np.hypot.accumulate(x),
    lambda x: np.multiply.reduceat(x, [0, 3, 1]),
    lambda x: np.add.outer(x, 2.0),
    lambda x: np.negative(x, out=np.zeros(5), where=x > 0),
]


@pytest.mark.parametrize("f", OWN, ids=range(len(OWN)))
def test_what_we_make_ourselves_can_be_repeated(f: Any) -> None:
    """A compiled program may run again, unless it met an array of unknown origin: none may be ours."""
    assert not record_call(f, [input_of(X)], name="f", whole=WholeRun({})).unrepeatable


# -------------------------------------------------------------------------------------------------------- costs


@pytest.mark.parametrize("ufunc", [np.logaddexp, np.hypot, np.gcd], ids=lambda u: u.__name__)
def test_a_fold_takes_few_steps(ufunc: Any) -> None:
    x = np.arange(1, 1025) if ufunc is np.gcd else np.linspace(0, 1, 1024)
    assert len(record(ufunc.reduce, x).tape) <= 40
    assert len(record(ufunc.accumulate, x).tape) <= 60


def test_sums_over_segments_are_one_scatter() -> None:
    recording = record(lambda x: np.add.reduceat(x, np.arange(0, 1000, 3)), np.ones(1000))
    assert [i.op.name for i in recording.tape.instrs].count("scatter_add") == 1
    assert len(recording.tape) <= 4


def test_an_option_costs_no_further_step() -> None:
    assert len(record(lambda x: np.sin(x, out=np.empty(5)), X).tape) == 1
    assert len(record(lambda x: np.add.reduce(x), X).tape) == 1


# ------------------------------------------------------------------------------------------------------- errors


def refused(f: Callable[..., Any], *args: Any, error: Any = UnsupportedFunctionError, match: str | None = None) -> None:
    with pytest.raises(error, match=match) as info:
        record(f, *args)
    if isinstance(info.value, UnsupportedFunctionError | MutationError | DTypeError):
        assert "test_ufuncs.py" in str(info.value)


OUTSIDE = np.zeros(5)

REFUSALS = [
    (lambda x: np.add(x, 1, where=x > 0), X, UnsupportedFunctionError, "where= without out="),
    (lambda x: np.add(x, 1, out=OUTSIDE), X, MutationError, "np.add: out= is a concrete ndarray"),
    (lambda x: np.add.reduce(x, out=OUTSIDE), A, MutationError, "concrete"),
    (lambda x: np.add.at(OUTSIDE, [0], x[0]), X, MutationError, "concrete"),
    (lambda x: np.add(x, 1, out=np.zeros(5, int)), X, DTypeError, "cannot cast the result from float64 to int64"),
    (lambda x: np.add(x, 1, out=np.zeros(4)), X, ValueError, "shape"),
    (lambda x: np.add(x, 1, out=x[0]), X, TypeError, "ArrayType"),
    (lambda x: np.add(x, 1, out=np.zeros(5), where=[0.0, 1, 1, 1, 1]), X, TypeError, "boolean"),
    (lambda x: np.add(x, 1, signature="dd->d"), X, UnsupportedFunctionError, "signature"),
    (lambda x: np.matmul(x, x, axes=[(0, 1), (1, 0), (0, 1)]), A, UnsupportedFunctionError, "axes"),
    (lambda x: np.add(x, 1.5, dtype=int), X, DTypeError, "np.add"),
    (lambda x: np.isnat(x), X, DTypeError, "only defined for np.datetime64"),
    (lambda x: np.strings.str_len(x), X, UnsupportedFunctionError, "np.strings.str_len"),
    (lambda x: np.frompyfunc(lambda a: a, 1, 1)(x), X, UnsupportedFunctionError, "np.frompyfunc of <lambda>"),
    (lambda x: scipy.special.obl_rad2(1.0, 2.0, 1.5, x), X, UnsupportedFunctionError, "special.obl_rad2"),
    (lambda x: np.power.reduce(x), X, UnsupportedFunctionError, "np.power.reduce"),
    (lambda x: np.arctan2.accumulate(x), X, UnsupportedFunctionError, "np.arctan2.accumulate"),
    (lambda x: np.sin.reduce(x), X, ValueError, "only supported for binary"),
    (lambda x: np.subtract.reduce(x, axis=None), A, ValueError, "not reorderable"),
    (lambda x: np.maximum.reduce(x), E, ValueError, "no element|no identity"),
    (lambda x: np.fmax.reduce(x), E, ValueError, "no identity"),
    (lambda x: np.subtract.reduce(x), E, ValueError, "no identity"),
    (lambda x: np.maximum.reduce(x, where=x > 0), X, ValueError, "initial"),
    (lambda x: np.fmax.reduce(x, where=x > 0), X, ValueError, "initial"),
    (lambda x: np.add.reduce(x, axis=2), A, ValueError, "out of bounds"),
    (lambda x: np.add.accumulate(x[0]), X, TypeError, "scalar"),
    (lambda x: np.add.accumulate(x, axis=None), A, ValueError, "multiple axes"),
    (lambda x: np.add.reduceat(x, [0, 5]), X, IndexError, "out-of-bounds in add.reduceat"),
    (lambda x, i: np.add.reduceat(x, i), X, REPEATED, UnsupportedFunctionError, "traced indices"),
    (lambda x, i: np.multiply.at(np.array(x), i, x), X, REPEATED, UnsupportedFunctionError, "np.multiply.at"),
    (lambda x: np.add.at(np.zeros(5, int), [0], x[0]), X, DTypeError, "cannot cast"),
    (lambda x: np.add.at(np.array(x), [0]), X, ValueError, "operand"),
    (lambda x: np.divmod.at(np.array(x), [0], 1.0), X, ValueError, "single output"),
]


@pytest.mark.parametrize("case", REFUSALS, ids=range(len(REFUSALS)))
def test_refusals_say_what(case: Any) -> None:
    f, *args, error, match = case
    refused(f, *args, error=error, match=match)


def test_nothing_is_left_of_a_refused_write() -> None:
    before = OUTSIDE.copy()
    refused(lambda x: np.add(x, 1, out=OUTSIDE), X, error=MutationError)
    np.testing.assert_array_equal(OUTSIDE, before)


def test_a_numpy_scalar_alone_into_a_traced_out() -> None:
    """``np.sin(np.float64(0.3), out=x)`` raised AttributeError: np.float64 is a float to isinstance."""
    number = np.float64(0.3)

    def f(x: Any) -> Any:
        x = x * 1.0
        np.sin(number, out=x[0])
        np.add(number, 1, out=x[1])
        return x

    as_numpy(f, GRID)
    as_numpy(f, GRID.astype(np.float32))
    same(wg.grad(lambda x: np.sum(f(x)))(GRID), np.array([[0.0] * 4, [0.0] * 4, [1.0] * 4]))


def at_overlapping(ufunc: np.ufunc) -> Any:
    def f(x: Any) -> Any:
        x = x * 1.0
        ufunc.at(x, [0, 0, 1], x[:3])
        return x

    return f


def reduced_over_no_axes(x: Any) -> Any:
    a = np.array(x[0])
    y = np.subtract.reduce(a)
    y += 1.0
    return a, y


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(at_overlapping(np.multiply), id="multiply.at"),
        pytest.param(at_overlapping(np.maximum), id="maximum.at"),
        pytest.param(reduced_over_no_axes, id="reduce_over_no_axes"),
    ],
)
def test_methods_write_what_they_are_given_and_no_more(f: Any) -> None:
    as_numpy(f, X)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "f4"])
def test_accumulate_of_differences_widened_small_integers(dtype):
    x = np.array([[5, 2, 1], [9, 3, 200]]).astype(dtype)
    got = wg.jit(lambda x: np.subtract.accumulate(x, axis=1))(x)
    expected = np.subtract.accumulate(x, axis=1)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
