"""C code is given functions: these tests say which there are, what they are handed, and how SciPy hears of failures."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

import wengert as wg
from wengert.runtime import _native
from wengert.runtime.c_function import CFunction

X = np.array([3.0, 4.0])
_NUMBERS = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_int, ctypes.POINTER(ctypes.c_double), ctypes.c_void_p)
_NUMBER = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_void_p)
_WINDOW = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_double), ctypes.c_ssize_t, ctypes.POINTER(ctypes.c_double), ctypes.c_void_p
)


def compiled(f: object, *example: object) -> CFunction:
    return wg.compile(wg.trace(f)(*example)).c_function()


def doubles(*xs: float) -> ctypes.Array[ctypes.c_double]:
    return (ctypes.c_double * len(xs))(*xs)


def test_a_function_that_there_is_not_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="of_numberz"):
        _native.c_function("of_numberz")


@pytest.mark.parametrize(
    "given", [(None, []), (3, []), ("executable", None), ("executable", (X,)), ("executable", [3])]
)
def test_what_is_no_executable_or_array_is_refused(given: tuple[object, object]) -> None:
    executable = wg.compile(wg.trace(np.sin)(X)).executable
    with pytest.raises(TypeError):
        _native.for_c(executable if given[0] == "executable" else given[0], given[1])


def test_references_are_given_back() -> None:
    executable = wg.compile(wg.trace(np.sin)(X)).executable
    assert executable is not None
    before = sys.getrefcount(executable), sys.getrefcount(X)
    made = [_native.for_c(executable, [X]) for _ in range(10)]
    assert (sys.getrefcount(executable), sys.getrefcount(X)) == (before[0] + 10, before[1] + 10)
    del made
    assert (sys.getrefcount(executable), sys.getrefcount(X)) == before


def test_a_function_of_a_number() -> None:
    given = compiled(lambda x: x * 2, 0.5)
    assert _NUMBER(given.of_number)(0.75, given.data) == 1.5


def test_functions_of_several_numbers_and_of_a_vector_ask_how_many_there_are() -> None:
    for given, function in [
        (compiled(lambda x, y: x - y, 1.0, 2.0), "of_numbers"),
        (compiled(lambda x: x[0] - x[1], X), "of_array"),
    ]:
        call = _NUMBERS(getattr(given, function))
        assert call(2, doubles(5, 3), given.data) == 2
        for wrong in (doubles(5), doubles(5, 3, 1)):
            with pytest.raises(RuntimeError, match="another number of values"):
                call(len(wrong), wrong, given.data)


def test_a_function_of_a_window_says_whether_it_went_well() -> None:
    given = compiled(lambda w: w[0] if w[0] > 0 else w[1], X)
    call, y = _WINDOW(given.of_window), doubles(0)
    assert call(doubles(2, 3), 2, y, given.data) == 1 and y[0] == 2
    with pytest.raises(RuntimeError, match="a branch goes another way"):
        call(doubles(-2, 3), 2, y, given.data)
    with pytest.raises(RuntimeError, match="another number of values"):
        call(doubles(1, 2, 3), 3, y, given.data)


def test_runs_are_counted() -> None:
    program = wg.compile(wg.trace(np.sin)(0.5))
    given = program.c_function()
    assert program.executable is not None
    before = program.executable.runs
    call = _NUMBER(given.of_number)
    for _ in range(3):
        call(0.5, given.data)
    assert program.executable.runs == before + 3
