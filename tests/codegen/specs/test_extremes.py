"""The places of extremes: native, and what NumPy and the references give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.natively import DTYPES, NAN, check, numbers

pytestmark = pytest.mark.usefixtures("no_cache")


@pytest.mark.sampled(3, "a tenth of a second each")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [np.argmax, np.argmin])
def test_the_first_extreme(function: Callable[..., Any], dtype: str) -> None:
    for shape in [(1,), (7,), (16,), (300,), (40, 33), (33, 4), (3, 50, 6), (2, 1, 20)]:
        x = numbers(shape, dtype)  # integers and booleans have many ties
        for axis in range(len(shape)):
            check(lambda x, axis=axis: function(x, axis), x)
            check(lambda x, axis=axis: function(x.T, axis), x)
            check(lambda x, axis=axis: function(x[::-1, ...], axis), x)
        check(lambda x: function(x), x)


@pytest.mark.parametrize("function", [np.argmax, np.argmin])
def test_a_nan_is_the_first_extreme(function: Callable[..., Any]) -> None:
    for n in (5, 40, 133):
        for at in ([], [0], [n - 1], [3, 4], [n // 2, 2, n - 1]):
            x = np.full(n, -np.inf)
            x[1::7] = np.inf
            x[at] = NAN
            check(lambda x: function(x), x)
            check(lambda x: function(x, 0), np.stack([x] * 11, 1))
            check(lambda x: function(x, 0), np.stack([x] * 3, 1))


def test_extremes_of_equal_elements_are_the_first() -> None:
    for n in (1, 9, 32, 100):
        for value in (0.0, np.inf, -np.inf, NAN):
            check(lambda x: np.argmax(x), np.full(n, value))
            check(lambda x: np.argmin(x), np.full(n, value))
    check(lambda x: np.argmax(x), np.array([-0.0, 0.0] * 20))


def test_an_extreme_of_nothing_raises() -> None:
    with pytest.raises(ValueError, match="empty"):
        np.argmax(np.zeros((3, 0)), 1)
    with pytest.raises(ValueError, match="empty"):
        wg.jit(lambda x: np.argmax(x, 1))(np.zeros((3, 0)))
