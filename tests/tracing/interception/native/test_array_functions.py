"""What native/array_functions.cpp does to the calls of NumPy's functions, and that it keeps nothing of them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tracing.interception import _array_functions, _opened
from wengert.tracing.tracer import Tracer


@pytest.mark.needs_extension("a ufunc is called as it is, and refuses a list of traced values")
def test_it_is_set_up_once_and_by_types() -> None:
    with pytest.raises(TypeError):
        _array_functions.setup(1, type(np.sum), Tracer, print, set(), _opened.is_tracing, print)
    again = (np.ufunc, type(np.sum), Tracer, print, set(), _opened.is_tracing, print)
    _array_functions.setup(*again)  # for nothing: it is known
    assert wg.grad(lambda x: np.square([x, x])[0])(2.0) == 4.0


def test_what_begins_twice_ends_once() -> None:
    _array_functions.begin()
    _array_functions.begin()
    assert np.square([3]).tolist() == [9] and np.sum([[1, 2]], axis=1) == 3
    _array_functions.end()
    _array_functions.end()
    assert np.square([3]).tolist() == [9] and np.sum([[1, 2]], axis=1) == 3


def test_errors_of_numpy_are_its_own() -> None:
    def f(x: Any) -> Any:
        with pytest.raises(TypeError, match="unexpected keyword"):
            np.sum([1.0], no_such_argument=1)
        with pytest.raises(TypeError, match="takes from 2 to 3 positional"):
            np.add([1.0])
        with pytest.raises(ValueError, match="broadcast"):
            np.add([1.0, 2.0], [1.0, 2.0, 3.0])
        with pytest.raises(ZeroDivisionError):
            np.add([x, 1.0], [1 // 0])
        return x

    assert wg.grad(f)(1.0) == 1.0


@pytest.mark.needs_extension("a ufunc is called as it is, and refuses a list of traced values")
def test_calls_are_released() -> None:
    """Arguments, keywords and results, of calls that are answered, that go on, and that fail."""
    numbers, keywords = [1.0, 2.0], {"axis": 0}

    def f(x: Any) -> Any:
        values = [x, 1.0, numbers]
        before = [sys.getrefcount(o) for o in (x, values, numbers, keywords)]
        for _ in range(100):
            for given in (numbers, values[:2]):
                np.square(given)
                np.sum(given, **keywords)
                np.add.reduce(given)
                np.add.reduce(given, 0)
            for failing in (np.square, np.sum, np.add.reduce):
                with pytest.raises(wg.errors.ShapeError):
                    failing(values)
        after = [sys.getrefcount(o) for o in (x, values, numbers, keywords)]
        assert before[2:] == after[2:] and after[1] - before[1] <= 1 and after[0] - before[0] <= 400  # steps keep x
        return x

    for _ in range(2):
        answers = sys.getrefcount(NotImplemented)
        wg.grad(f)(1.0)
    assert abs(sys.getrefcount(NotImplemented) - answers) < 50
