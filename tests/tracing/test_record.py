"""From a call to a tape: what the arguments are, what is lent while the function runs, what it may return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

import wengert as wg
from wengert import config
from wengert.errors import ConcretizationError, MutationError, ShapeError, UnsupportedFunctionError
from wengert.tape import Aval
from wengert.tracing.record import input_of, record_call, shares_memory
from wengert.tracing.tracer import Tracer


def test_the_original_of_an_argument_is_not_written_meanwhile() -> None:
    """The tape is run after the function, and read what the function had written into the array it was called with."""
    a = np.ones(3)

    def f(x: Any) -> Any:
        y = np.sum(x * x)
        a[0] = 100.0
        return y

    with pytest.raises(wg.errors.MutationError, match=r"test_record\.py"):
        wg.value_and_grad(f)(a)
    a[0] = 2.0  # and it is writeable again
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x * x))(a), [4.0, 2.0, 2.0])


def test_an_integer_of_more_than_64_bits_is_no_output_of_a_program() -> None:
    """It has no dtype, which came out as an AttributeError. Python answers in place of a program, with a warning."""
    with pytest.raises(wg.errors.RangeError, match="more than 64 bits"):
        wg.trace(lambda x: (x, 2**70))(1.0)
    with pytest.warns(wg.errors.PerformanceWarning, match="more than 64 bits"):
        assert wg.jit(lambda x: (x, 2**70))(1.0) == (1.0, 2**70)


def test_large_integers() -> None:
    f = wg.jit(lambda y, n: y * n, strict=True)
    assert f(2.0, 2**63 - 1) == 2.0 * (2**63 - 1)
    for n in (2**63, 2**64, -(2**63) - 1):
        with pytest.raises(wg.errors.DTypeError, match="more than 63 bits"):
            f(2.0, n)
    assert f(np.uint64(1), np.uint64(2**63)) == 2**63


def test_memory_that_is_written_is_not_passed_twice() -> None:
    """Only the same object at the first call was seen."""

    def f(a: Any, b: Any) -> Any:
        a += 1.0
        return a * b

    whole = np.arange(8.0)
    shared = [(whole, whole), (whole[:], whole[:]), (whole[:4], whole[3:7]), (whole[::2], whole[::-2])]
    apart = [(whole[:4], whole[4:]), (whole[::2], whole[1::2])]
    g = wg.jit(f)
    for a, b in [*apart, *shared, *apart]:
        want = f(np.copy(a), np.copy(b))
        if np.shares_memory(a, b):
            for run in (g, wg.jit(f), wg.grad(lambda a, b: np.sum(f(a, b)))):
                with pytest.raises(wg.errors.MutationError, match="passed twice"):
                    run(a, b)
        else:
            np.testing.assert_array_equal(g(a, b), want)
    np.testing.assert_array_equal(wg.jit(lambda a, b: a * b)(whole, whole), whole * whole)  # read alone


def test_an_argument_that_is_captured_too() -> None:
    x = np.ones(3)

    def f(a: Any) -> Any:
        a += 1.0
        return a * x

    g = wg.jit(f)
    np.testing.assert_array_equal(g(np.ones(3)), [2, 2, 2])
    for run in (g, wg.jit(f), wg.grad(lambda a: np.sum(f(a)))):
        with pytest.raises(wg.errors.MutationError, match="passed twice"):
            run(x)
    np.testing.assert_array_equal(g(np.ones(3)), [2, 2, 2])


# -------------------------------------------------------------------------------------------------- what an argument is


@pytest.mark.parametrize(
    ("x", "shape", "dtype", "weak", "is_scalar"),
    [
        (np.ones((2, 3), np.float32), (2, 3), "f4", None, False),
        (np.ones(()), (), "f8", None, False),
        (np.float32(1), (), "f4", None, True),
        (1.5, (), "f8", float, True),
        (2, (), "i8", int, True),
        (1j, (), "c16", complex, True),
    ],
    ids=["array", "array of shape ()", "scalar", "float", "int", "complex"],
)
def test_an_input_is_its_type_and_how_python_sees_it(
    x: Any, shape: Any, dtype: str, weak: Any, is_scalar: bool
) -> None:
    given = input_of(x)
    assert given.aval == Aval(shape, np.dtype(dtype)) and np.asarray(given.value).tolist() == np.asarray(x).tolist()
    assert given.weak is weak and given.is_scalar == is_scalar and given.layout is None


def test_the_order_in_memory_of_an_input_is_kept_where_it_is_not_c() -> None:
    assert input_of(np.ones((3, 2)).T).layout.strides == (8, 16)
    assert input_of(np.ones(6)[::2]).layout is None  # of one axis there is one order


def test_the_function_gets_traced_values_in_this_machines_byte_order() -> None:
    seen: list[Any] = []

    def f(x: Any, n: Any) -> Any:
        seen.extend([x, n, x.dtype.isnative])
        return x * n

    tape = record_call(f, [input_of(np.ones(2, ">f8")), input_of(3)], name="f").tape
    assert [type(x) is Tracer for x in seen] == [True, True, False] and seen[2]
    assert [i.op.name for i in tape.instrs] == ["convert", "convert", "multiply"]  # of the bytes, and of the integer
    assert tape.inputs[0].aval.dtype == np.dtype(">f8") and tape.outputs[0].aval.dtype.isnative


# ---------------------------------------------------------------------------------------------------- what was recorded


def test_a_recording_is_a_tape_and_the_structure_of_the_result() -> None:
    c = np.ones(3)
    recording = record_call(lambda x: {"y": [x + c, 2.0]}, [input_of(np.ones(3))], name="f")
    assert recording.tape.name == "f" and len(recording.tape.outputs) == 2
    assert wg.tree.unflatten(recording.out_treedef, [0, 1]) == {"y": [0, 1]}
    assert [a.tolist() for a in recording.captured] == [[1, 1, 1]] and recording.written == ()


def test_the_inputs_that_are_written_are_known() -> None:
    def f(x: Any, y: Any, z: Any) -> Any:
        x += y
        z.T[0] = 1.0
        return x

    args = [np.ones(3), np.ones(3), np.ones((2, 3))]
    assert record_call(f, [input_of(a) for a in args], name="f").written == (0, 2)
    assert all(a.tolist() == np.ones(a.shape).tolist() and a.flags.writeable for a in args)


def test_results_that_are_no_arrays_are_named() -> None:
    with pytest.raises(UnsupportedFunctionError, match=r'f returned a str(.|\n)*result\["b"\](.|\n)*has_aux'):
        record_call(lambda x: {"a": x, "b": "text"}, [input_of(1.0)], name="f")


def test_an_error_of_an_op_gets_the_users_line() -> None:
    with pytest.raises(ShapeError) as raised:
        record_call(lambda x: x @ x, [input_of(np.ones((2, 3)))], name="f")  # here
    assert "test_record.py" in str(raised.value) and "# here" in str(raised.value)


# --------------------------------------------------------------------------------------------------------- what is lent


@pytest.mark.usefixtures("no_other_thread_writes")
def test_arguments_are_lent_for_the_time_of_the_trace() -> None:
    a = np.ones(3)

    def f(x: Any) -> Any:
        assert not a.flags.writeable
        return x

    record_call(f, [input_of(a)], name="f")
    assert a.flags.writeable


def test_a_traced_value_written_outside_is_refused() -> None:
    outside = np.zeros(3)

    def f(x: Any) -> Any:
        outside[0] = x
        return x

    with pytest.raises(MutationError, match="made outside of the traced function"):
        record_call(f, [input_of(1.0)], name="f")
    assert outside.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("a", "b", "share"),
    [
        (slice(0, 4), slice(3, 8), True),
        (slice(0, 4), slice(4, 8), False),
        (slice(0, 8, 2), slice(1, 8, 2), False),
        (slice(0, 0), slice(0, 8), False),
    ],
)
def test_memory_is_shared_where_an_element_is(a: slice, b: slice, share: bool) -> None:
    x = np.zeros(8)
    assert shares_memory(x[a], x[b]) == share
    assert not shares_memory(x, 3.0)


def test_a_bad_tape_is_found_where_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """``config.check`` is on in the tests; that it is asked here is what this says."""
    asked: list[str] = []
    monkeypatch.setattr("wengert.tracing.record.check", lambda tape, after: asked.append(after))
    record_call(np.sin, [input_of(1.0)], name="f")
    monkeypatch.setattr(config, "check", False)
    record_call(np.sin, [input_of(1.0)], name="f")
    assert asked == ["tracing"]


def stepped(p: Any, method: str) -> Any:
    solver = integrate.ode(lambda t, y: -p * y).set_integrator(method)
    return solver.set_initial_value([1.0], 0.0).integrate(1.0)[0]


CALLED_BACK = {method: lambda p, method=method: stepped(p, method) for method in ("vode", "lsoda", "dopri5", "dop853")}


@pytest.mark.parametrize("name", CALLED_BACK)
def test_c_code_that_calls_a_traced_function_back_is_named(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """It went on with our error pending (SystemError), or made one of its own of it."""
    for g in (wg.grad, lambda f: wg.jit(wg.grad(f))):
        with pytest.raises(ConcretizationError, match=r"^scipy.integrate.ode.integrate is not traced") as raised:
            g(CALLED_BACK[name])(1.3)
        assert "test_record.py" in str(raised.value) and "wg.primitive" in str(raised.value)
    assert wg.grad(lambda x: x * x)(3.0) == 6.0  # nothing is left pending
    capfd.readouterr()  # MINPACK prints what it was refused


def test_what_the_user_makes_of_a_refusal_is_the_users() -> None:
    def f(p: Any) -> Any:
        try:
            return stepped(p, "vode")
        except TypeError as error:
            raise KeyError("no integral") from error

    def recovers(p: Any) -> Any:
        try:
            stepped(p, "vode")
        except TypeError:
            return optimize.brentq(lambda t: t, 1, 2) * p

    with pytest.raises(KeyError):
        wg.grad(f)(1.0)
    with pytest.raises(ValueError, match="different signs"):  # of another line
        wg.grad(recovers)(1.0)


@pytest.mark.parametrize("way", [wg.grad, wg.jit, wg.trace])
def test_an_interrupt_while_numpy_asks_for_a_number_became_a_value_error(monkeypatch: Any, way: Any) -> None:
    """NumPy makes "setting an array element with a sequence" of whatever ends ``__float__``."""

    def interrupted(self: Tracer, what: str) -> None:
        raise KeyboardInterrupt

    def f(x: Any) -> Any:
        u: Any = np.ndarray(3, buffer=bytearray(24))  # NumPy's own array
        u[0] = x[0]
        return np.sum(u * x)

    monkeypatch.setattr(Tracer, "_only_one", interrupted)
    with pytest.raises(KeyboardInterrupt):
        way(f)(np.ones(3))


def test_an_error_that_the_users_code_makes_of_an_interrupt_is_its_own() -> None:
    def f(x: Any) -> Any:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise ValueError("stopped by hand") from error

    with pytest.raises(ValueError, match="stopped by hand"):
        wg.grad(f)(1.0)


def test_an_operator_with_something_that_is_no_number_is_told_as_an_operator() -> None:
    """It was told as a function that is not traced, with the advice to wrap it."""
    for f, words in (
        (lambda x: x + None, r"for \+: a traced value and 'NoneType'"),
        (lambda x: x < "a", "a traced value"),
    ):
        with pytest.raises(UnsupportedFunctionError, match=words) as raised:
            wg.grad(f)(1.0)
        assert "numbers or arrays on both sides" in str(raised.value) and "primitive" not in str(raised.value)
