"""Arrays that are made while a trace is open, and what they hold. Who gets them is tests/tracing/test_patch.py's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy
from tests.tracing.numpy_cases import play
from wengert.errors import UnsupportedFunctionError
from wengert.runtime import paths as guards  # noqa: F401  # they fill the tables
from wengert.tracing import functions  # noqa: F401  # they fill the tables
from wengert.tracing.functions import creation, ufuncs  # noqa: F401  # they fill the tables
from wengert.tracing.record import Recording, input_of, record_call
from wengert.tracing.trace import WholeRun
from wengert.tracing.tracer import Tracer


def record(f: Callable[..., Any], *args: Any, **options: Any) -> Recording:
    return record_call(f, [input_of(a) for a in args], name="f", **options)


def check(f: Callable[..., Any], *args: Any) -> Recording:
    """``f`` gives NumPy's values, shapes and dtypes."""
    want = f(*args)
    want = list(want) if isinstance(want, tuple | list) else [want]
    recording = record(f, *args)
    got = play(recording.tape, args)
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert np.shape(g) == np.shape(w)
        assert np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=1e-6 if np.asarray(w).dtype == np.float32 else 1e-14)
    return recording


X = np.array([0.5, -1.5, 2.25])
A = np.array([[1.0, -2.0, 3.5], [0.25, 5.0, -6.0]])
F = np.array([0.5, 1.5, -2.0], np.float32)
I = np.array([3, 1, 2])
S, T, N = np.float64(1.5), 0.25, np.int64(3)
OUTSIDE = np.arange(6.0).reshape(2, 3)

# ----------------------------------------------------------------------------------------- nothing traced goes in

CONSTANTS = [
    lambda: np.zeros(3),
    lambda: np.zeros((2, 3), np.float32, "F"),
    lambda: np.zeros(()),
    lambda: np.zeros(shape=[2, 2], dtype=bool),
    lambda: np.ones((2, 3), int),
    lambda: np.full(3, 2),
    lambda: np.full((2, 3), [1.0, 2, 3]),
    lambda: np.full(3, fill_value=1.5, dtype=int),
    lambda: np.array([1, 2.5, 3]),
    lambda: np.array([[1, 2], [3, 4]], dtype=np.float32),
    lambda: np.array(3.0),
    lambda: np.array([1.0, 2.0], ndmin=3),
    lambda: np.array(OUTSIDE),
    lambda: np.array([OUTSIDE, OUTSIDE]),
    lambda: np.array(range(4)),
    lambda: np.array([]),
    lambda: np.array([[], []]),
    lambda: np.asarray([1, 2]),
    lambda: np.asarray(2.5),
    lambda: np.asanyarray([1, 2]),
    lambda: np.ascontiguousarray(3.0),
    lambda: np.asfortranarray([[1, 2], [3, 4]]),
    lambda: np.copy(OUTSIDE),
    lambda: np.arange(5),
    lambda: np.arange(2, 5, 0.5),
    lambda: np.arange(5, dtype=np.float32),
    lambda: np.linspace(0, 1, 5),
    lambda: np.linspace(0, 1, 5, retstep=True),
    lambda: np.linspace([0, 1], [1, 2], num=3, endpoint=False, axis=1),
    lambda: np.logspace(0, 2, 5, base=2),
    lambda: np.geomspace(1, 1000, 4),
    lambda: np.eye(3),
    lambda: np.eye(2, 3, k=1, dtype=int),
    lambda: np.identity(3),
    lambda: np.tri(3, 4, -1),
    lambda: np.indices((2, 3)),
    lambda: np.indices((2, 3), sparse=True),
    lambda: np.diag([1.0, 2.0]),
    lambda: np.fromiter((k * k for k in range(4)), float),
    lambda: np.fromfunction(lambda i, j: i - 2 * j, (2, 3)),
    lambda: np.fromfunction(lambda i, j: i == j, (2, 3), dtype=int),
    lambda: np.zeros_like(OUTSIDE),
    lambda: np.zeros_like([1, 2]),
    lambda: np.ones_like(OUTSIDE, dtype=int, shape=4),
    lambda: np.full_like(OUTSIDE, 1.5, int),
    lambda: np.full_like(OUTSIDE, [1, 2, 3]),
]


@pytest.mark.parametrize("make", CONSTANTS, ids=range(len(CONSTANTS)))
def test_constants_are_numpys_and_need_no_step(make: Any) -> None:
    seen: list[Any] = []

    def f() -> Any:
        out = make()
        seen.extend(out if isinstance(out, tuple) else [out])
        return out

    recording = check(f)
    assert len(recording.tape) == 0
    del seen[: len(seen) // 2]  # what check itself made outside of the trace
    assert all(type(one) is Tracer for one in seen[:1])
    assert make().__class__ is not Tracer


def test_an_empty_array_has_zeros_in_it() -> None:
    def f() -> Any:
        return np.empty((2, 3)), np.empty(2, int), np.empty_like(OUTSIDE), np.empty_like(OUTSIDE, shape=(1,))

    got = play(record(f).tape, [])
    assert all(not np.any(one) for one in got)
    assert [one.shape for one in got] == [(2, 3), (2,), (2, 3), (1,)]


def test_constants_take_traced_values() -> None:
    def f(x: Any) -> Any:
        arrays = [
            np.zeros(3),
            np.empty(3),
            np.ones(3),
            np.array([1.0, 2, 3]),
            np.arange(3.0),
            np.zeros_like(X),
            np.copy(X),
        ]
        for a in arrays:
            a[0] = x[0]
            a[1:] *= x[1:]
        arrays[1][:] = arrays[0]
        return arrays

    check(f, X)


def test_what_is_made_of_a_callers_array_is_a_copy() -> None:
    before = OUTSIDE.copy()

    def f(x: Any) -> Any:
        a, b = np.array(OUTSIDE), np.copy(OUTSIDE)
        a[0, 0] = 7.0
        b[0] = x
        return a, b

    record(f, X)
    np.testing.assert_array_equal(OUTSIDE, before)


def test_arrays_that_numpy_would_not_copy_are_the_same_object() -> None:
    def f(x: Any) -> Any:
        for convert in (np.asarray, np.asanyarray, np.ascontiguousarray):
            assert convert(OUTSIDE) is OUTSIDE
            assert convert(x) is x
        zeros = np.zeros(3)
        assert np.asarray(zeros) is zeros
        assert np.asarray(x, float) is x
        assert np.asarray(x, np.float32) is not x
        assert np.array(x, copy=None) is x
        assert np.array(x) is not x
        return x

    record(f, X)


def test_integers_that_are_constants_count() -> None:
    def f(x: Any) -> Any:
        total, names = 0.0, ["a", "b", "c"]
        for i in np.arange(3):
            if i > 0:
                total = total + x[i] + len(names[i])
            for _ in range(i):
                total = total + x[-i]
        n = np.array([2, 3])
        out = np.zeros(n[0])
        return total, x[np.array([2, 0])], np.zeros((n[0], n[1])), out, np.zeros(n), np.eye(n[1]), np.arange(n[1])

    recording = check(f, X)
    assert not any(i.op.name == "guard" for i in recording.tape.instrs)


def test_lengths_that_are_traced_are_guarded() -> None:
    recording = check(lambda n: (np.zeros(n), np.ones((2, n)), np.arange(n), np.eye(n), np.full(n, 1.0)), N)
    assert {i.op.name for i in recording.tape.instrs} == {"guard"}
    with pytest.raises(TypeError, match="integer"):
        record(lambda x: np.zeros(x), S)


# --------------------------------------------------------------------------------------------- traced values go in

TRACED = [
    (lambda x, y: np.array([x, y]), S, T),
    (lambda x, y: np.array([[x, 1.0], [y, 2]]), S, T),
    (lambda x, y: np.array(((x, 1), (y, x * y))), S, T),
    (lambda x, y: np.array([[[x], [0]], [[y], [True]]]), S, T),
    (lambda x: np.array([x, x]), X),
    (lambda x: np.array([x, [1, 2, 3], X]), X),
    (lambda x: np.array([[x[0], x[1]], x[1:], OUTSIDE[0, :2]]), X),
    (lambda x: np.array([x[:0], []]), X),
    (lambda x: np.array([x, 1.0]), F[0]),  # in np.array a Python number is not weak
    (lambda x: np.array([x, np.float32(1)]), F[0]),
    (lambda x: np.array([x, True]), F[0]),
    (lambda x: np.array([x, 1]), N),
    (lambda x: np.array([x, 2**63]), N),
    (lambda x: np.array([x, 1j]), S),
    (lambda x: np.array([x, -0.0, 0.0, 0.0]), S),
    (lambda x: np.array([x, 1], dtype=np.float32), S),
    (lambda x: np.array([x, 1.7], dtype=int), S),
    (lambda x: np.array([x], ndmin=3), S),
    (lambda x: np.array(x), S),
    (lambda x: np.array(x), T),
    (lambda x: np.array(x, np.float32), X),
    (lambda x: np.array(x, ndmin=2), X),
    (lambda x: np.asarray([x, x]), S),
    (lambda x: np.asarray(x, dtype=np.float32), T),
    (lambda x: np.ascontiguousarray(x), S),
    (lambda x: np.asfortranarray([x, x]), X),
    (lambda x: np.copy([x, 1.0]), S),
    (lambda x: np.copy(x), A),
    (lambda x: np.full((2, 2), x), S),
    (lambda x: np.full((2, 2), x), T),
    (lambda x: np.full((2, 3), x, np.float32), X),
    (lambda x: np.full(2, [x, 1.0]), S),
    (lambda x: np.zeros_like(x), A),
    (lambda x: np.ones_like(x, dtype=int), A),
    (lambda x: np.ones_like(x), S),
    (lambda x: np.zeros_like([x, 1]), S),
    (lambda x: np.full_like(x, 2.5), I),
    (lambda x: np.full_like(x, x[0], shape=(2, 2)), X),
    (lambda x: np.full_like([0, 0], x), S),
    (lambda x, y: np.linspace(x, y, 7), S, T),
    (lambda x, y: np.linspace(x, y, 4, endpoint=False), S, T),
    (lambda x, y: np.linspace(x, y, num=3, axis=1), X, 2 * X),
    (lambda x: np.linspace(0, x, 1), S),
    (lambda x: np.linspace(0, x, 0), S),
    (lambda x: np.linspace(0, x, 5, retstep=True), S),
    (lambda x: np.linspace(0, x, 5, dtype=int), np.float64(9.7)),
    (lambda x: np.linspace(0, x, 3), F[1]),
    (lambda x: np.linspace(0, x, 3), N),
    (lambda x: np.linspace([x, 0], 1, 3), S),
    (lambda x: np.logspace(0, x, 4), S),
    (lambda x: np.logspace(0, 1, 4, base=x), S),
    (lambda x: np.logspace(0, [1, 2], 4, base=[x, 2 * x]), S),
    (lambda x: np.geomspace(x, 100, 4), S),
    (lambda x: np.geomspace(-1, -x, 3, endpoint=False), S),
    (lambda x: np.geomspace([1, 2], x, 3, axis=1), S),
    (lambda x: np.geomspace(1, x, 3), F[1]),
    (lambda x: np.geomspace(x, 8, 3, dtype=int), N),
    (lambda x: np.logspace(0, x, 3, dtype=np.float32), F[1]),
    (lambda x: np.logspace(0, x, 3), F[1]),
    (lambda x: np.arange(0, x, 0.25), S),
    (lambda x: np.arange(x), np.float64(3.5)),
    (lambda x: np.arange(1, 2, x), T),
    (lambda x: np.arange(x, x - 2, -0.5, dtype=np.float32), S),
    (lambda x: np.arange(x, 0), S),
    (lambda x: np.fromiter((v * v for v in x), float), X),
    (lambda x: np.fromiter((v for v in x), np.float32, count=2), X),
    (lambda x: np.fromfunction(lambda i, j: x * i + j, (2, 3)), S),
    (lambda x: np.diag([x, 1.0]), S),
    (lambda x: np.diag(x), A),
]


@pytest.mark.parametrize("case", TRACED, ids=range(len(TRACED)))
def test_traced_values_are_numpys(case: Any) -> None:
    check(*case)


@pytest.mark.parametrize("case", TRACED[:-1], ids=range(len(TRACED) - 1))  # np.diag of a matrix is read-only
def test_results_can_be_written_into(case: Any) -> None:
    f, *args = case

    def write(*xs: Any) -> Any:
        out = f(*xs)
        out = out[0] if isinstance(out, tuple) else out
        out[...] = xs[0] if out.dtype.kind == "f" and np.shape(xs[0]) == () else 1
        return out

    check(write, *args)


def test_stacking_is_one_join() -> None:
    def f(x: Any) -> Any:
        return np.array([[v, 0.0, 0.0, 0.0] for v in x])

    tape = check(f, np.linspace(1, 2, 50)).tape
    names = [i.op.name for i in tape.instrs]
    assert names.count("concatenate") == 1
    assert not tape.captures  # a row of zeros is a number, not an array


def test_a_constant_may_stand_beside_traced_values() -> None:
    def f(x: Any) -> Any:
        row = np.zeros(3)
        out = np.array([row, x, np.arange(3)])
        row[0] = 5.0  # too late to be seen
        return out, row

    check(f, X)


def test_a_view_that_numpy_would_copy_is_copied() -> None:
    def f(x: Any) -> Any:
        z = np.array(x)
        same, other = np.asarray(z.T), np.ascontiguousarray(z.T)
        fortran = np.asfortranarray(z.T)
        same[0, 0] = 1.0
        other[1, 1] = 2.0
        fortran[2, 1] = 3.0
        return z, same, other

    check(f, A)


def test_scalars_become_arrays_that_can_be_written() -> None:
    def f(x: Any) -> Any:
        a, b = np.array(x), np.asarray(x)
        a[()] = 2.0
        b += 1.0
        return a, b, x

    check(f, S)


def test_a_prototype_may_reach_numpy_through_a_name_of_its_own() -> None:
    zeros_like, full_like, linspace, like = np.zeros_like, np.full_like, np.linspace, np.zeros

    def f(x: Any) -> Any:
        z = zeros_like(x)
        z[0] = x[0]
        w = like(2, like=x)
        w[1] = x[1]
        return z, w, full_like(x, x[1]), linspace(x[0], 1, 3)

    got = play(record(f, X).tape, [X])
    np.testing.assert_allclose(got[0], [0.5, 0, 0])
    np.testing.assert_allclose(got[1], [0, -1.5])
    np.testing.assert_allclose(got[2], [-1.5] * 3)
    np.testing.assert_allclose(got[3], [0.5, 0.75, 1])


# ------------------------------------------------------------------------------------------------------ refusals

REFUSALS = [
    (
        lambda x: np.array([[x, 1.0], [x]]),
        ValueError,
        "inhomogeneous.*element 0 has shape .2,., element 1 has shape .1,.",
    ),
    (lambda x: np.array([x, [x]]), ValueError, "inhomogeneous"),
    (lambda x: np.array([x, "a"]), UnsupportedFunctionError, "dtype <U1"),
    (lambda x: np.array([x, None]), UnsupportedFunctionError, "dtype object"),
    (lambda x: np.array([x, 1], dtype=object), UnsupportedFunctionError, "dtype object"),
    *[
        (lambda x, f=f: f(x, 2**64), UnsupportedFunctionError, "dtype object")  # no integer of NumPy's is so large
        for f in (np.append, np.dot, np.searchsorted, np.kron)
    ],
    (lambda x: np.array(x, dtype="U3"), UnsupportedFunctionError, "dtype <U3"),
    (lambda x: np.array([x, x], copy=False), ValueError, "Unable to avoid copy"),
    (lambda x: np.asarray(x, np.float32, copy=False), ValueError, "Unable to avoid copy"),
    (lambda x: np.array([x, 1.0], ndmax=1), UnsupportedFunctionError, "ndmax= is not traced"),
    (lambda x: np.asarray(x, device="cuda"), ValueError, "Device not understood"),
    (lambda x: np.full((2, 3), np.array([x, x])), ValueError, "broadcast"),
    (lambda x: np.fromiter((x for _ in range(2)), float, count=5), ValueError, "iterator too short"),
    (lambda x: np.linspace(0, x, -1), ValueError, "non-negative"),
    (lambda x: np.geomspace(0, x), ValueError, "zero"),
]


@pytest.mark.parametrize("case", REFUSALS, ids=range(len(REFUSALS)))
def test_refusals(case: Any) -> None:
    f, error, match = case
    with pytest.raises(error, match=match):
        record(f, S)


def test_other_kinds_of_arrays_stay_numpys() -> None:
    def f() -> Any:
        assert type(np.array(["a", "b"])) is np.ndarray
        assert type(np.zeros(2, object)) is np.ndarray
        assert type(np.array([None, 1])) is np.ndarray
        assert type(np.array(["2020-01-01"], "M8[D]")) is np.ndarray
        assert type(np.asanyarray(np.ma.array([1.0]))) is np.ma.MaskedArray
        return 0.0

    record(f)


# ----------------------------------------------------------------------------------------- programs that run again


def known(*arrays: Any, constant: bool = False) -> WholeRun:
    return WholeRun({id(a): (a, f"a{k}", constant) for k, a in enumerate(arrays)})


def test_a_copy_of_a_captured_array_is_read_again() -> None:
    """A compiled program sees an edit in place, also through np.array, and in lists."""
    data = np.array([1.0, 2.0, 3.0])
    recording = record(
        lambda x: (
            np.array(data) * x,
            np.array([data, x]),
            np.asarray(data, np.float32),
            np.linspace(data, 1, 2),
            np.full(3, data),
        ),
        X,
        whole=known(data),
    )
    assert not recording.unrepeatable
    data[0] = 10.0
    got = play(recording.tape, [X])
    assert got[0][0] == 5.0
    assert [y.flat[0] for y in got[1:]] == [10.0] * 4


def test_what_never_changes_is_a_constant() -> None:
    data = np.array([1.0, 2.0, 3.0])
    recording = record(lambda: (np.array(data), np.array([data, data])), whole=known(data, constant=True))
    assert not recording.unrepeatable
    assert len(recording.tape) == 0


def names_in(f: Any) -> set[str]:
    """What a function makes or reads of NumPy's that has no known origin."""
    return {"OUTSIDE"} & set(f.__code__.co_names) | ({"np.float32"} if "np.float32(" in inspect.getsource(f) else set())


def test_an_array_of_unknown_origin_is_not_repeated() -> None:
    hidden = np.array([1.0, 2.0, 3.0])
    assert record(lambda x: np.array(hidden) * x, X, whole=WholeRun({})).unrepeatable
    assert record(lambda x: np.array([hidden, x]), X, whole=WholeRun({})).unrepeatable
    assert record(lambda x: np.array(memoryview(b"12")) * x[0], X, whole=WholeRun({})).unrepeatable
    assert not record(lambda x: np.zeros_like(hidden) + x, X, whole=WholeRun({})).unrepeatable


REPEATABLE = [c for c in TRACED if len(c) == 2 and not {"OUTSIDE", "np.float32"} & names_in(c[0])]


@pytest.mark.parametrize("case", REPEATABLE, ids=range(len(REPEATABLE)))
def test_what_we_make_ourselves_can_be_repeated(case: Any) -> None:
    f, x = case
    assert not record(f, x, whole=known(X)).unrepeatable


def test_linspace_takes_the_dtype_of_what_is_traced() -> None:
    as_numpy(lambda x: np.linspace(np.int8(1), x[0], 5), np.ones(1, np.float32))


def test_an_array_of_empty_rows() -> None:
    as_numpy(lambda x: np.array([x[:0], np.zeros(0)]), X)


def test_conversions_of_arrays_that_are_not_traced_are_views() -> None:
    """``np.asfortranarray`` of an array of shape () is a view of one element, and was a copy."""

    def f(x: Any, w: Any) -> Any:
        w = np.copy(w)
        view = np.asfortranarray(w[0, ...])
        w[0] = 7.0
        return x * view

    w = np.array([1.0, 2.0])
    for run in (wg.vmap(lambda x: f(x, w)), wg.jit(lambda x: f(x[0], w)[None])):
        np.testing.assert_array_equal(run(X[:1]), [[7.0 * X[0]]])


@pytest.mark.parametrize("requirements", [None, "C", "F", ["C", "W"], ["F", "A"], ["E"], "W"])
def test_require(requirements: Any) -> None:
    a = np.arange(12.0).reshape(3, 4)

    def f(x: Any) -> Any:
        y = x * 2
        np.require(y, requirements=requirements)[0] = 1.0  # y itself, or a copy
        np.require(y.T, requirements=requirements)[1] = 3.0
        wide = np.require(np.broadcast_to(x, (2, 3, 4)), requirements=requirements)
        return y, np.require(x.T, np.float32, requirements) * 2, np.require([1, x[0, 0]], float, requirements), wide + 1

    as_numpy(f, a)


def test_what_require_refuses() -> None:
    for requirements, error in ((["C", "F"], ValueError), (["Q"], KeyError), (["O"], UnsupportedFunctionError)):
        with pytest.raises(error):
            wg.jit(lambda x, r=requirements: np.require(x, requirements=r), strict=True)(np.ones(3))


class Held:
    """An object that NumPy asks for its array, which is given as it is."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.x


class HeldOfOld(Held):
    """One of before NumPy 2."""

    def __array__(self, dtype: Any = None) -> Any:
        return self.x if dtype is None else self.x.astype(dtype)


CONVERSIONS = {
    "asarray": np.asarray,
    "array": np.array,
    "asanyarray": np.asanyarray,
    "ascontiguousarray": np.ascontiguousarray,
    "dtype": lambda x: np.asarray(x, np.float32),
    "copy": lambda x: np.array(x, copy=True),
    "ndmin": lambda x: np.array(x, ndmin=2),
}


@pytest.mark.filterwarnings("ignore:__array__ implementation")
@pytest.mark.parametrize("cls", [Held, HeldOfOld])
@pytest.mark.parametrize("convert", CONVERSIONS)
@pytest.mark.needs_extension("a function that was kept elsewhere than in a module is called as it is")
def test_an_object_whose_array_is_traced_was_refused(convert: str, cls: type[Held]) -> None:
    def f(x: Any) -> Any:
        y = x * 2
        z = CONVERSIONS[convert](cls(y))
        w = z * 3
        z.reshape(-1)[0] = 1.0  # seen in y where NumPy shares memory
        return np.sum(w) + 10 * np.sum(z) + 100 * np.sum(y), np.array([z.dtype == np.float32, z.ndim == 2])

    at = np.arange(3.0)
    value, seen = f(at)
    got, got_seen = wg.jit(f, strict=True)(at)
    assert got == value and got_seen.tolist() == seen.tolist()
    differences = [f(at + e)[0] - value for e in np.eye(3)]
    np.testing.assert_allclose(wg.grad(lambda x: f(x)[0])(at), differences)
