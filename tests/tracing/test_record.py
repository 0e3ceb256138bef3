"""From a call to a tape: what the arguments are, what is lent while the function runs, what it may return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg


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


def test_an_integer_of_more_than_64_bits_cannot_be_returned() -> None:
    """It has no dtype, which came out as an AttributeError."""
    with pytest.raises(OverflowError, match="more than 64 bits"):
        wg.jit(lambda x: (x, 2**70))(1.0)


def test_large_integers() -> None:
    f = wg.jit(lambda y, n: y * n)
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
