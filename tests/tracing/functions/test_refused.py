"""What compiled code cannot do is refused where it is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy


def test_errors_of_arithmetic_cannot_be_asked_for() -> None:
    """``np.errstate`` said nothing to compiled code, which went on with an infinity."""

    def f(x: Any) -> Any:
        try:
            with np.errstate(divide="raise"):
                return np.log(x)
        except FloatingPointError:
            return -x

    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"errstate: divide='raise'(.|\n)*test_refused\.py"):
        wg.jit(f, strict=True)(np.zeros(2))

    def quiet(x: Any) -> Any:
        with np.errstate(divide="ignore", invalid="warn"):
            return np.log(x)

    with np.errstate(divide="ignore"):
        as_numpy(quiet, np.zeros(2))


def test_switches_of_arithmetic_are_set_as_ever() -> None:
    def f(x: Any) -> Any:
        before = np.seterr(over="ignore")
        assert np.geterr()["over"] == "ignore"
        np.seterr(**before)
        with pytest.raises(wg.errors.UnsupportedFunctionError, match="seterr: all='raise'"):
            np.seterr("raise")
        assert np.geterr() == {**before}
        return x

    wg.jvp(f, (1.0,), (1.0,))


FILTERS: list[Callable[[], Any]] = [
    lambda: warnings.simplefilter("error"),
    lambda: warnings.simplefilter("error", RuntimeWarning),
    lambda: warnings.filterwarnings("error", "divide", RuntimeWarning),
    lambda: warnings.filterwarnings("error", category=Warning),
    lambda: warnings.catch_warnings(action="error").__enter__(),
]
OTHERS: list[Callable[[], Any]] = [
    lambda: warnings.simplefilter("ignore"),
    lambda: warnings.simplefilter("error", DeprecationWarning),
    lambda: warnings.filterwarnings("error", "of something else"),
    lambda: warnings.catch_warnings(record=True).__enter__(),
]


def five_for_no_logarithm(x: Any, say: Any) -> Any:
    with warnings.catch_warnings():
        say()
        try:
            y = np.log(x)
        except RuntimeWarning:
            y = 5 * x
    return np.sum(y)


@pytest.mark.parametrize("say", FILTERS)
def test_warnings_of_floats_are_not_made_errors(say: Any) -> None:
    """Compiled code gives none, so the function went on with a NaN where Python's own run had caught the warning."""
    f = lambda x: five_for_no_logarithm(x, say)
    words = r"warnings\.\w+: 'error' is not traced(.|\n)*test_refused\.py(.|\n)*isfinite"
    for transform in (wg.grad, wg.trace):
        with pytest.raises(wg.errors.UnsupportedFunctionError, match=words):
            transform(f)(np.array([0.0, 2.0]))
    with pytest.warns(wg.PerformanceWarning, match=words):
        assert wg.jit(f)(np.array([0.0, 2.0])) == 10.0


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("say", OTHERS)
def test_other_warnings_are_filtered_as_they_were(say: Any) -> None:
    f = lambda x: five_for_no_logarithm(x, say)
    assert wg.jit(wg.grad(f), strict=True)(np.array([1.0, 2.0])).tolist() == wg.grad(f)(np.array([1.0, 2.0])).tolist()
    assert wg.grad(f)(np.array([1.0, 2.0])).tolist() == [1.0, 0.5]
