"""What traced values are to ``isinstance``: what they would be in NumPy."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tracing.tracer import Tracer

CLASSES = (np.ndarray, np.generic, np.floating, np.integer, np.float64, np.float32, np.int64, np.bool, float, int, bool)
ABSTRACT = (numbers.Number, numbers.Real, numbers.Integral, list, tuple, str, type(None))

VALUES = {
    "array": np.ones(3),
    "integers": np.arange(3),
    "no_axes": np.array(2.0),
    "scalar": np.float64(2.0),
    "single": np.float32(2.0),
    "integer": np.int64(2),
    "bool": np.True_,
    "float": 2.0,
    "int": 2,
}


@pytest.mark.parametrize("x", VALUES.values(), ids=VALUES.keys())
def test_isinstance_is_numpys(x: Any) -> None:
    def seen(x: Any) -> dict[Any, bool]:
        return {c: isinstance(x, c) for c in (*CLASSES, *ABSTRACT)} | {"scalar": np.isscalar(x)}

    expected = seen(x)

    def f(x: Any) -> Any:
        assert type(x) is Tracer
        assert seen(x) == expected
        return x

    wg.jit(f)(x)


def test_results_too() -> None:
    def f(x: Any) -> Any:
        assert isinstance(x * 2, np.ndarray) and not isinstance(x * 2, np.float64)
        assert isinstance(np.sum(x), np.float64) and isinstance(x[0], float) and np.isscalar(x[0])
        assert isinstance(x[:1].squeeze(), np.ndarray)
        assert isinstance(np.argmax(x), np.integer) and isinstance(x > 0, np.ndarray)
        return x

    wg.jit(f)(np.ones(3))
    wg.grad(lambda x: np.sum(f(x)))(np.ones(3))
    wg.vmap(f)(np.ones((2, 3)))


def test_functions_that_ask_take_the_same_way() -> None:
    """``x`` is made an array of one element only if it is a number: an array got one axis more, silently."""

    def as_array(x: Any) -> Any:
        return x if isinstance(x, np.ndarray) else np.array([x])

    def f(x: Any) -> Any:
        match x:
            case np.ndarray():
                return as_array(x) * 2
            case float() | int():
                return as_array(x) + 100
        return None

    for x in (np.ones(3), 2.0, 2, np.ones((2, 2))):
        np.testing.assert_array_equal(wg.jit(f)(x), f(x))
    assert wg.grad(lambda x: as_array(x)[0] ** 2)(3.0) == 6.0
