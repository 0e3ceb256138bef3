"""Running reductions: native, and what NumPy and the references give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.natively import DTYPES, NAN, check, native, numbers

pytestmark = pytest.mark.usefixtures("no_cache")


RUNNING = {
    "cumsum": lambda x, axis: np.cumsum(x, axis, dtype=x.dtype),
    "cumprod": lambda x, axis: np.cumprod(x, axis, dtype=x.dtype),
    "cummax": lambda x, axis: np.maximum.accumulate(x, axis),
    "cummin": lambda x, axis: np.minimum.accumulate(x, axis),
}
SHAPES = [((1,), 0), ((67,), 0), ((0,), 0), ((40, 33), 0), ((40, 33), 1), ((3, 5, 19), 1), ((5, 1, 3), 0), ((1, 2), 1)]


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("what", RUNNING)
def test_running_reductions(what: str, dtype: str) -> None:
    for shape, axis in SHAPES:
        x = numbers(shape, dtype)
        if x.size:
            check(lambda x, axis=axis: RUNNING[what](x, axis), x)
        else:
            assert native_or_nothing(lambda x, axis=axis: RUNNING[what](x, axis), x).shape == shape


def native_or_nothing(function: Callable[..., Any], x: np.ndarray[Any, Any]) -> Any:
    program = wg.compile(wg.trace(function)(x))
    assert program.kernels == ()
    return program(x)


@pytest.mark.parametrize("what", RUNNING)
def test_running_reductions_of_strided_arrays(what: str) -> None:
    x = numbers((12, 10, 9), "f8")
    for axis in range(3):
        check(lambda x, axis=axis: RUNNING[what](x.T, axis), x)
        check(lambda x, axis=axis: RUNNING[what](x[::-1, ::2, 1::3], axis), x)
        check(lambda x, axis=axis: RUNNING[what](np.broadcast_to(x[:1], x.shape), axis), x)


@pytest.mark.parametrize("what", RUNNING)
def test_running_reductions_of_special_values(what: str) -> None:
    x = np.array([-0.0, -0.0, 0.0, 3.0, np.inf, -np.inf, NAN, 1.0])
    check(lambda x: RUNNING[what](x, 0), x)
    check(lambda x: RUNNING[what](x, 0), x[:2])
    assert np.signbit(native(lambda x: np.cumsum(x), x)(x)[1])
    check(lambda x: RUNNING[what](x, 1), np.stack([x, x[::-1], np.roll(x, 3), x, x]))
    check(lambda x: RUNNING[what](x, 0), np.stack([x, x[::-1], np.roll(x, 3), x, x]))


def test_a_running_reduction_overwrites_what_dies_with_it() -> None:
    x = numbers((40, 33), "f8")
    for axis in (0, 1):
        program = native(lambda x, axis=axis: np.cumsum(np.cumsum(x * 2.0, axis) * 3.0, axis) + 1.0, x)
        assert program.arena_bytes < x.nbytes + 2 * 64
        want = np.cumsum(np.cumsum(x * 2.0, axis) * 3.0, axis) + 1.0
        np.testing.assert_array_equal(program(x), want)


def test_a_running_sum_adds_from_left_to_right() -> None:
    x = np.array([2.0**53, 1.0, 1.0, -(2.0**53)])
    np.testing.assert_array_equal(native(np.cumsum, x)(x), [2.0**53, 2.0**53, 2.0**53, 0.0])


@pytest.mark.parametrize("shape", [(41,), (6, 41), (41, 6), (5, 4, 17)])
def test_the_derivative_of_a_running_product_is_a_native_recurrence(shape: tuple[int, ...]) -> None:
    x = numbers(shape, "f8")
    for axis in range(len(shape)):
        check(wg.grad(lambda x, axis=axis: np.sum(np.cumprod(x, axis) * 3.0)), x)
