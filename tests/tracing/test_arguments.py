"""What NumPy's functions take: arrays to write results into, dtypes, axes, and values that are looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import MutationError, UnsupportedFunctionError
from wengert.tape import Aval
from wengert.tracing import arguments
from wengert.tracing.trace import Trace, WholeRun
from wengert.tracing.tracer import Tracer

X = np.array([1.25, -0.5, 2.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.copyto(x[0], 1.0),
        lambda x: np.putmask(x[0], True, 1.0),
        lambda x: np.place(x[0], True, 1.0),
        lambda x: np.sum(x, out=x[0]),
    ],
)
def test_scalars_are_not_written(f: Any) -> None:
    for run in (f, wg.jit(f)):
        with pytest.raises(TypeError):
            run(X)


def test_what_is_put_into_an_argument_is_seen_inside_alone() -> None:
    """The other arguments are traced then, too; what the function captured is another's."""

    def f(x: Any, w: Any) -> Any:
        np.put(w, [0], np.ones(1))
        return np.sum(w * x)

    w = np.arange(2.0, 2.0 + X.size).reshape(X.shape)
    expected = w.copy()
    np.put(expected, [0], 1.0)
    np.testing.assert_array_equal(wg.grad(f)(X, w), expected)
    assert w.flat[0] == 2.0
    with pytest.raises(wg.errors.WengertError, match=r"outside|captured"):
        wg.grad(lambda x: f(x, w))(X)


# ------------------------------------------------------------------------------------------------- arrays, dtypes, axes


def argument(trace: Trace, value: Any) -> Tracer:
    aval = Aval(np.shape(value), np.asarray(value).dtype)
    return Tracer(trace, trace.lifted.new_input(aval, np.asarray(value)), aval)


def test_an_array_of_the_users_is_captured_and_what_we_make_is_a_constant() -> None:
    """Its identity says which capture it is: a converted copy would go stale."""
    w = np.ones(3)
    with Trace("f", run=WholeRun({id(w): (w, "w", False)})).opened() as trace:
        assert arguments.array(w).constant() is None and arguments.array(2.0).constant() == 2.0
        assert arguments.array([1.0, 2.0]).constant().tolist() == [1, 2]
        x = argument(trace, np.ones(3))
        assert arguments.array(x) is x
        with pytest.raises(UnsupportedFunctionError, match="object is neither an array nor a number"):
            arguments.array(object())
        assert [c.array is w for c in trace.tape(()).captures] == [True]


def test_what_is_a_number_what_is_traced_and_what_holds_a_traced_value() -> None:
    with Trace("f").opened() as trace:
        x = argument(trace, 1.0)
        c = arguments.constant(trace, 1.0)
        assert [arguments.is_number(v) for v in (1, True, [1.0], np.float64(1), x)] == [True, True, False, False, False]
        numbers = (1, [1.0, (2, True)], [1.0, np.float64(1)], x)
        assert [arguments.holds_only_numbers(v) for v in numbers] == [True, True, False, False]
        assert [arguments.is_traced(v) for v in (x, c, 1.0)] == [True, False, False]
        assert [arguments.holds_tracer(v) for v in ([1, [x]], [c], [1.0], 1.0)] == [True, True, False, False]
        assert [arguments.holds_traced(v) for v in ([1, [x]], [c], x)] == [True, False, True]


def test_python_numbers_take_the_dtype_of_the_arrays_beside_them() -> None:
    with Trace("f").opened() as trace:
        x, n = argument(trace, np.ones(2, np.float32)), argument(trace, np.ones(2, int))
        assert arguments.common_dtype(x, 2.0) == np.float32 and arguments.common_dtype(x, n) == np.float64
        same, other = arguments.promote(x, 2.0)
        assert same is x and other.dtype == np.float32
        assert arguments.inexact(x) is x and arguments.inexact(n).dtype == np.float64
        assert arguments.as_dtype(x, np.float32) is x
    assert [i.op.name for i in trace.builder.instrs] == ["convert"]  # of n, by inexact


def test_axes_are_counted_from_the_front() -> None:
    assert arguments.axes_of(None, 3) == (0, 1, 2) and arguments.axes_of((-1, 0), 3) == (0, 2)
    assert arguments.axes_of(-1, 0) == () and arguments.axis_of(-1, 3) == 2
    for axis in (3, -4, (0, 0)):
        with pytest.raises(ValueError):  # AxisError is one, and so is an axis named twice
            arguments.axes_of(axis, 3)
    assert np.arange(6).reshape(2, 3)[arguments.along(1, 2)].tolist() == [2, 5]


# -------------------------------------------------------------------------------------------- values that are looked at


def test_what_decides_a_shape_is_looked_at_once_and_guarded() -> None:
    with Trace("f").opened() as trace:
        n = argument(trace, 3)
        assert arguments.concrete(4, "repeats") == 4 and arguments.concrete([1, 2], "repeats").tolist() == [1, 2]
        assert not trace.builder.instrs
        assert arguments.concrete(n, "repeats") == 3
    assert [i.params["kind"] for i in trace.builder.instrs if i.op.name == "guard"] == ["repeats"]


def test_in_a_batch_nothing_holds_and_nothing_does_not() -> None:
    with Trace("batch", concrete=False, why_abstract="of many").opened() as batch:
        assert arguments.holds(argument(batch, 1.0) > 0) is None
    with Trace("f").opened() as trace:
        assert arguments.holds(argument(trace, 1.0) > 0) is True


# ----------------------------------------------------------------------------------------------------------------- out=


def test_a_result_goes_where_out_says_if_it_fits() -> None:
    outside = np.zeros(3)
    with Trace("f").opened() as trace:
        x, out = argument(trace, np.ones(3)), arguments.constant(trace, np.zeros(3))
        assert arguments.into(None, x) is x
        assert arguments.into((out,), x) is out and out.constant() is None
        with pytest.raises(ValueError, match="wrong shape"):
            arguments.into(arguments.constant(trace, np.zeros(4)), x)
        with pytest.raises(TypeError, match="cannot cast the result from float64 to int64"):
            arguments.into(arguments.constant(trace, np.zeros(3, int)), x)
        with pytest.raises(MutationError, match="made outside of the traced function"):
            arguments.into(outside, x)


def test_an_option_that_is_not_traced_is_refused_with_the_line() -> None:
    with Trace("f").opened():
        error = arguments.refuse("sum", "order", "K", "order='C'")
    first, at, last = str(error).splitlines()
    assert first == "np.sum: order='K' is not traced" and "test_arguments.py" in at and last == "  try    order='C'"
