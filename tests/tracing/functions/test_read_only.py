"""Methods that write arrays of which NumPy does not ask whether they may be written: the caller's stay as they are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tracing import ways


def adds_at(b: Any) -> None:
    np.add.at(b, [0, 0], 5.0)


def negates_at(b: Any) -> None:
    np.negative.at(b, [1])


def multiplies_at_a_view(b: Any) -> None:
    np.multiply.at(b[1:], [0], 3.0)


def calls_the_method_of_the_class(b: Any) -> None:
    np.ufunc.at(np.add, b, [0], 5.0)


def sets_flags(b: Any) -> None:
    b.setflags(write=True)
    b[0] = 9.0


def sets_a_flag(b: Any) -> None:
    b.flags.writeable = True
    b[0] = 9.0


def sets_a_flag_by_its_key(b: Any) -> None:
    b.flags["WRITEABLE"] = True
    b[0] = 9.0


def sets_a_flag_of_a_view(b: Any) -> None:
    view = b[:2]
    view.flags.writeable = True
    view[0] = 9.0


WRITES = [
    adds_at, negates_at, multiplies_at_a_view, calls_the_method_of_the_class,
    sets_flags, sets_a_flag, sets_a_flag_by_its_key, sets_a_flag_of_a_view,
]  # fmt: skip

X, B = np.array([1.0, 2.0, 3.0]), np.array([3.0, 1.0, 2.0])


def function_of(write: Callable[[Any], None]) -> Callable[[Any, Any], Any]:
    """``b`` is read by a step before it is written, and after."""

    def f(x: Any, b: Any) -> Any:
        y = x * b
        write(b)
        return np.sum(y + x**2 * b)

    ways._traced.clear()  # code that has once been run with everything traced is run so at once
    return f


def expected_of(write: Callable[[Any], None]) -> tuple[Any, Any]:
    """The gradient and the value, by hand."""
    after = B.copy()
    write(after)
    return B + 2 * X * after, np.sum(X * B + X**2 * after)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.needs_extension("that NumPy writes a read-only array is found out when the trace ends")
def test_an_argument_that_is_not_differentiated_was_written_without_a_word(write: Callable[[Any], None]) -> None:
    b = B.copy()
    gradient, value = expected_of(write)
    np.testing.assert_allclose(wg.grad(function_of(write))(X, b), gradient)
    np.testing.assert_allclose(wg.vmap(function_of(write), in_axes=(0, None))(X[None], b), [value])
    in_a_tree = function_of(write)
    np.testing.assert_allclose(wg.grad(lambda x, t: in_a_tree(x, t["b"]))(X, {"b": b}), gradient)
    within = function_of(write)
    np.testing.assert_allclose(wg.jit(lambda x, b: wg.grad(within)(x, b))(X, b), gradient)
    np.testing.assert_array_equal(b, B)
    assert b.flags.writeable


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.needs_extension("that NumPy writes a read-only array is found out when the trace ends")
def test_a_large_captured_array_was_written_without_a_word(write: Callable[[Any], None]) -> None:
    """It is read at the end of the call, so what was read before the write would change."""
    b = np.zeros(wg.config.snapshot_bytes // 8 + 1)
    f = function_of(write)
    with pytest.raises(ValueError, match=r"read-only|cannot set WRITEABLE flag"):  # a MutationError, or NumPy's own
        wg.grad(lambda x: f(x, b))(np.ones(b.size))
    assert not b.any()
    assert b.flags.writeable


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.needs_extension("that NumPy writes a read-only array is found out when the trace ends")
def test_it_was_written_beside_other_threads(write: Callable[[Any], None]) -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        b = B.copy()
        np.testing.assert_allclose(wg.grad(function_of(write))(X, b), expected_of(write)[0])
        np.testing.assert_array_equal(b, B)
    finally:
        done.set()
        other.join()


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.needs_extension("that NumPy writes a read-only array is found out when the trace ends")
def test_one_that_is_read_only_for_its_caller_was_written(write: Callable[[Any], None]) -> None:
    b = B.copy()
    b.flags.writeable = False
    np.testing.assert_allclose(wg.grad(function_of(write))(X, b), expected_of(write)[0])
    np.testing.assert_array_equal(b, B)
    assert not b.flags.writeable


@pytest.mark.parametrize(
    "replace",
    [lambda b: b.resize((2,), refcheck=False), lambda b: b.__setstate__((1, (3,), b.dtype, False, bytes(24)))],
)
@pytest.mark.needs_extension("that NumPy writes a read-only array is found out when the trace ends")
def test_an_argument_was_given_other_memory(replace: Callable[[Any], None]) -> None:
    b = B.copy()
    with pytest.raises((wg.errors.MutationError, AttributeError), match=r"cannot be replaced|__setstate__"):
        wg.grad(function_of(replace))(X, b)
    np.testing.assert_array_equal(b, B)


@pytest.mark.usefixtures("no_other_thread_writes")
@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")  # by the NumPys that deprecate it
@pytest.mark.parametrize(("name", "new"), [("shape", (3, 1)), ("strides", (0,)), ("dtype", np.dtype(np.int64))])
@pytest.mark.needs_extension("that NumPy writes a read-only array is found out when the trace ends")
def test_an_argument_was_given_another_shape(name: str, new: Any) -> None:
    """And what looks at its memory so; a view is the function's own."""
    b = B.copy()
    before = getattr(b, name)
    with pytest.raises(wg.errors.MutationError, match="shape, strides and dtype are read-only"):
        wg.grad(function_of(lambda b: setattr(b, name, new)))(X, b)
    assert getattr(b, name) == before
    np.testing.assert_array_equal(b, B)
    seen: list[Any] = []

    def f(x: Any, b: Any) -> Any:
        view, own = b[:], B.copy()
        for y in (view, own):
            setattr(y, name, new)
            seen.append(getattr(y, name))
        with pytest.raises(AttributeError):
            delattr(own, name)
        return np.sum(x * b)

    np.testing.assert_array_equal(wg.grad(f)(X, b), B)
    assert seen == [new, new]
    setattr(b, name, new)
    assert getattr(b, name) == new


def test_arrays_of_ones_own_are_written_as_ever() -> None:
    """Those of NumPy's that a function makes, and all where nothing is traced in the thread."""
    seen: list[Any] = []

    def f(x: Any) -> Any:
        own = B.copy()
        own[...] = B
        np.add.at(own, [0], 1.0)
        own.setflags(write=False)
        own.setflags(1)
        own.flags.writeable = True
        own.resize(2, refcheck=False)
        seen.append(own.tolist())
        b = B.copy()
        b.flags.writeable = False
        thread = threading.Thread(target=lambda: seen.append((b.setflags(write=True), np.add.at(b, [0], 1.0))))
        thread.start()
        thread.join()
        return np.sum(x)

    wg.grad(f)(X)
    assert seen == [[4.0, 1.0], (None, None)]
    with pytest.raises(TypeError):
        np.add.at()
    with pytest.raises(TypeError):
        wg.grad(lambda x: (np.ufunc.at(np.add), x)[1])(1.0)
    with pytest.raises(TypeError):
        wg.grad(lambda x: (B.copy().setflags(nothing=1), x)[1])(1.0)
