"""What operators do with their operands: the dtypes of NumPy's loop, numbers that are weak but must fit."""

from __future__ import annotations

import array
import collections
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, RangeError, UnsupportedFunctionError
from wengert.tape import Aval
from wengert.tracing import operators
from wengert.tracing.operators import check_within, is_within, kind_of, loop_dtypes
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer


def argument(trace: Trace, value: Any) -> Tracer:
    aval = Aval(np.shape(value), np.asarray(value).dtype)
    x = Tracer(trace, trace.lifted.new_input(aval, np.asarray(value)), aval)
    x.weak = type(value) if type(value) in (int, float) else None
    return x


F4, F8, I8, U1, B1 = map(np.dtype, ("f4", "f8", "i8", "u1", "?"))


@pytest.mark.parametrize(
    ("ufunc", "kinds", "want"),
    [
        (np.add, (F4, float), (F4, F4)),
        (np.add, (F4, F8), (F8, F8)),
        (np.add, (U1, int), (U1, U1)),
        (np.add, (U1, float), (F8, F8)),
        (np.add, (int, float), (F8, F8)),
        (np.add, (bool, B1), (B1, B1)),
        (np.divide, (I8, I8), (F8, F8)),
        (np.sin, (U1,), (np.dtype("f2"),)),
    ],
)
def test_the_loop_is_the_one_that_numpy_runs(ufunc: Any, kinds: Any, want: Any) -> None:
    assert loop_dtypes(ufunc, kinds) == want


def test_a_loop_that_does_not_exist_names_the_dtypes() -> None:
    with pytest.raises(DTypeError, match="bitwise_and is not defined for float64, int"):
        loop_dtypes(np.bitwise_and, (F8, int))


def test_what_decides_the_dtype_of_a_result() -> None:
    class Real(float):
        pass

    with Trace("f").opened() as trace:
        assert kind_of(argument(trace, 2.0)) is float and kind_of(argument(trace, np.float32(2))) == F4
    assert [kind_of(x) for x in (True, 1, 1.0, Real(1))] == [bool, int, float, float]
    assert [kind_of(x) for x in (np.int64(1), np.ones(2, "f4"))] == [I8, F4]
    with pytest.raises(UnsupportedFunctionError, match="str is neither an array nor a number"):
        kind_of("text")


@pytest.mark.parametrize(
    ("n", "dtype", "fits"),
    [(255, U1, True), (256, U1, False), (-1, U1, False), (2**63 - 1, I8, True), (2**63, I8, False), (300, F4, True)],
)
def test_pythons_integers_must_fit(n: int, dtype: Any, fits: bool) -> None:
    assert is_within(n, dtype) == fits and is_within(float(n), dtype)
    if not fits:
        with pytest.raises(OverflowError, match=f"{n} is out of bounds for {dtype.name}"):
            check_within(n, dtype)


def test_whether_a_traced_integer_fits_is_a_guard() -> None:
    with Trace("f").opened() as trace:
        n = argument(trace, 300)
        assert is_within(n, I8) and is_within(n, F4) and not trace.builder.instrs  # of int64 there is nothing to ask
        assert not is_within(n, U1)
    assert [i.op.name for i in trace.builder.instrs].count("guard") == 1


def test_a_step_on_equal_dtypes_needs_no_conversion_and_others_one_each() -> None:
    names = lambda f, *args: [i.op.name for i in wg.trace(f)(*args).instrs]
    x, n = np.ones(3, np.float32), np.ones(3, int)
    assert names(lambda x: x * x, x) == names(lambda x: x * 2.5, x) == ["multiply"]
    assert names(lambda x, n: x * n, x, n) == ["convert", "convert", "multiply"]
    assert names(lambda n: np.sin(n), n) == ["convert", "sin"]


def test_the_short_way_is_taken_for_types_that_were_met() -> None:
    """What one step was found to be it is again; it asks each time whether the operands are plain arrays."""
    x = np.ones((5, 7))
    operators.DIRECT_STEPS.pop((np.multiply, Aval((5, 7), F8), Aval((5, 7), F8)), None)
    with Trace("f").opened() as trace:
        a, b = argument(trace, x), argument(trace, x)
        first = a * b
        assert (np.multiply, a.aval, b.aval) in operators.DIRECT_STEPS
        second, third = a * b, a.T.T * b
        assert [v.aval for v in (first, second, third)] == [a.aval] * 3
    assert [i.op.name for i in trace.builder.instrs if i.op.name == "multiply"] == ["multiply"] * 3


def test_what_another_class_may_answer_is_left_to_it() -> None:
    class Unit:
        __array_ufunc__ = None

        def __rmul__(self, x: Any) -> str:
            return "mine"

    with Trace("f").opened() as trace:
        x = argument(trace, 2.0)
        assert operators.binary(np.multiply, x, Unit()) is NotImplemented
        assert operators.binary(np.multiply, x, object()) is NotImplemented
        assert x * Unit() == "mine"


def test_a_python_number_of_a_traced_value_is_weak_and_of_full_precision() -> None:
    with Trace("f").opened() as trace:
        number = operators.python_number(argument(trace, np.float32(0.5)))
        assert number.weak is float and number.is_scalar and number.aval.dtype == F8
        assert operators.python_number(argument(trace, np.uint8(3))).weak is int


def test_in_place_keeps_the_dtype_or_raises() -> None:
    ones, integers = np.ones(3, np.float32), np.ones(3, int)
    with Trace("f").opened() as trace:
        x = argument(trace, ones)
        same = x
        x += np.ones(3, np.float64)
        assert x is same and x.aval.dtype == F4
        n = argument(trace, integers)
        with pytest.raises(TypeError, match="add in place cannot cast the result from float64 to int64"):
            n += 0.5
        with pytest.raises(ValueError, match="does not fit"):
            x += np.ones((2, 3), np.float32)


REPEATED = {
    "a list": lambda n, x: np.array([x] * n),
    "from the left": lambda n, x: np.array(n * [x]),
    "a tuple": lambda n, x: np.array((x, 1.0) * n),
    "a nested list": lambda n, x: np.array([[x, 1.0]] * n),
    "a computed count": lambda n, x: np.array([x] * (2 * n - 1)),
    "an integer of NumPy's": lambda n, x: np.array([x] * np.abs(n)),
    "a text": lambda n, x: x * len("ab" * n),
    "bytes": lambda n, x: x * len(n * b"ab"),
    "an array of Python's": lambda n, x: x * np.array(list(array.array("d", [1.0, 2.0]) * n)),
    "a deque": lambda n, x: x * len(collections.deque([1, 2]) * n),
}


@pytest.mark.parametrize("f", REPEATED.values(), ids=list(REPEATED))
def test_a_list_times_a_traced_count_was_an_array_of_one_element(f: Any) -> None:
    compiled = wg.jit(f)
    for n in (3, 4, 3, 0):
        np.testing.assert_array_equal(compiled(n, 2.0), f(n, 2.0))
    np.testing.assert_array_equal(compiled(np.int64(5), 2.0), f(np.int64(5), 2.0))


def test_a_list_is_repeated_in_place_by_a_traced_count() -> None:
    @wg.jit
    def f(n: Any, x: Any) -> Any:
        values = [x]
        values *= n
        return np.array(values)

    assert f(3, 2.0).tolist() == [2.0] * 3


def test_a_list_is_repeated_by_the_counter_of_a_loop_of_any_count() -> None:
    def f(n: Any, x: Any) -> Any:
        total = 0.0
        for i in range(n):
            total = total + sum([x] * i)
        return total

    compiled = wg.jit(f)
    assert [compiled(n, 2.0) for n in (3, 4, 5, 6, 3)] == [f(n, 2.0) for n in (3, 4, 5, 6, 3)]


@pytest.mark.parametrize("value", [np.array(3), np.array([1, 2])], ids=["0-d", "1-d"])
def test_an_array_times_a_list_is_an_array(value: Any) -> None:
    np.testing.assert_array_equal(wg.jit(lambda n: n * [1.5])(value), value * [1.5])
    np.testing.assert_array_equal(wg.jit(lambda n: (1.5,) * n)(value), (1.5,) * value)


def test_a_truth_of_python_numbers_repeats_a_list() -> None:
    compiled = wg.jit(lambda n, x: np.array([x] * (n > 3) + [x]))
    assert [compiled(n, 2.0).tolist() for n in (3, 4)] == [[2.0], [2.0, 2.0]]


def test_a_python_number_never_equals_a_list() -> None:
    assert wg.jit(lambda n, x: x if n == [3] or n in ([3], (3,)) else -x)(3, 2.0) == -2.0


def test_an_integer_of_more_bits_than_the_dtype_is_refused_in_our_words() -> None:
    for f in (lambda n: n + 2**63, lambda n: 2**64 - n, lambda n: n * 10**400):
        with pytest.raises(RangeError, match=r"out of bounds for int64\n  at .*test_operators.py(.|\n)*  try "):
            wg.trace(f)(3)
        with pytest.warns(wg.PerformanceWarning, match="out of bounds"):
            assert wg.jit(f)(3) == f(3)  # Python's number, as without jit
        with pytest.raises(OverflowError):
            f(np.arange(3))
        with pytest.raises(RangeError):
            wg.jit(f)(np.arange(3))
    with pytest.raises(RangeError, match="an integer of 401 digits is out of bounds for float64"):
        wg.grad(lambda x: x * 10**400)(3.0)
