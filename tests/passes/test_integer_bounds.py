"""Integers that are computed of a counter: whether they stay within int64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.ops.check_op import formula
from wengert.ops.control import Expected, guard
from wengert.ops.elementwise import (
    absolute,
    add,
    convert,
    less,
    maximum,
    multiply,
    negative,
    sign,
    square,
    subtract,
)
from wengert.ops.index import gather
from wengert.passes import integer_bounds
from wengert.tape import Aval, Tape


@pytest.mark.parametrize(
    ("op", "known", "bound"),
    [
        (add, [3, 4], 7),
        (subtract, [3, 4], 7),
        (multiply, [3, 4], 12),
        (square, [5], 25),
        (negative, [5], 5),
        (absolute, [5], 5),
        (convert, [5], 5),
        (sign, [5], None),
        (maximum, [3, 4], None),
        (add, [3, None], None),
        (multiply, [None, 4], None),
        (negative, [None], None),
    ],
    ids=str,
)
def test_how_large_the_result_of_a_step_can_be(op: Any, known: list[int | None], bound: int | None) -> None:
    assert integer_bounds._bound_of_step(op, known) == bound


INT, F64 = np.dtype(np.int64), np.dtype(float)


def of_a_counter(f: Callable[..., Any]) -> Tape:
    """A tape with what ``f`` computes of a counter that is compared with where it stops."""

    def look(k: Any, stop: Any, x: Any) -> Any:
        guard(less(k, stop), expected=Expected(True), position=0, kind="iteration")
        return f(k, stop, x)

    return formula(look, Aval((), INT), Aval((), INT), Aval((5,), F64))


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda k, stop, x: (multiply(k, 1000), x), True),
        (lambda k, stop, x: multiply(multiply(k, k), k), True),
        (lambda k, stop, x: multiply(multiply(multiply(k, k), k), k), False),
        (lambda k, stop, x: subtract(multiply(multiply(k, k), k), add(k, 5)), True),
        (lambda k, stop, x: multiply(square(square(k)), 1), False),
        (lambda k, stop, x: add(k, stop), False),
        (lambda k, stop, x: multiply(convert(k, dtype=F64), x), True),
        (lambda k, stop, x: convert(k, dtype=np.dtype(np.int32)), False),
        (lambda k, stop, x: maximum(k, 3), False),
        (lambda k, stop, x: (maximum(k, 3), x)[1], True),
        (lambda k, stop, x: gather(x, k), True),
        (lambda k, stop, x: multiply(multiply(multiply(stop, stop), stop), stop), True),
        (lambda k, stop, x: multiply(k, 2**43), False),
        (lambda k, stop, x: multiply(k, -(2**41)), True),
    ],
)
def test_what_is_computed_of_a_counter_stays_within_int64(f: Callable[..., Any], expected: bool) -> None:
    assert integer_bounds.are_small(of_a_counter(f)) is expected


def test_without_a_counter_every_integer_is_small() -> None:
    tape = formula(lambda k: multiply(square(square(k)), 7), Aval((), INT))
    assert integer_bounds.are_small(tape)
