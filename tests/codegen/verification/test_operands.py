"""What counts as the same, and what a kernel writes beside its results."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tests.codegen.verification.made import address_in_python, nothing
from wengert.codegen.verification.operands import OperandMaker, difference, mismatch


def test_last_digits_of_what_is_transcendental_may_differ_and_no_more() -> None:
    x = np.array([1.0, 2.0, 0.0])
    near, far = x + 4 * np.spacing(x), x + 40 * np.spacing(x)
    references = [x, x + 4 * np.spacing(x), x - 4 * np.spacing(x)]
    assert not mismatch(near, references) and mismatch(far, references)
    assert mismatch(near, [x])
    assert mismatch(np.array([-0.0]), [np.array([0.0])])
    assert mismatch(np.array([np.nan]), [np.array([1.0])])
    assert not mismatch(np.array([np.nan]), [np.array([np.nan])])


def writing(*where: int) -> int:
    """A kernel that writes zeros to such elements of its operand."""

    def kernel(pointers: Any, sizes: Any, begin: int, end: int) -> int:
        base = np.ctypeslib.as_array((ctypes.c_int64 * 8).from_address(pointers[0] - 16))
        for k in where:
            base[2 + k] = 0
        return 0

    return address_in_python(kernel)


def test_what_is_written_beside_the_results_is_found() -> None:
    def found(*where: int) -> str:
        x = OperandMaker(np.random.default_rng(0), is_tame=True).dense(np.dtype("i8"), (3,))
        x.block[...] = 7
        return difference(writing(*where), [x], [], [[(0, 3)]], {0: [np.zeros(3, "i8")]})

    assert found(0, 1, 2) == ""
    assert "near operand 0" in found(0, 1, 2, 3)
    assert "near operand 0" in found(-1, 0, 1, 2)
    assert "at (2,)" in found(0, 1)


def test_a_refusal_that_is_missing_is_found() -> None:
    assert "status" in difference(address_in_python(nothing), [], [], [[(0, 1)]], {}, status=1)


def test_two_parts_that_differ_from_the_whole_are_found() -> None:
    x = OperandMaker(np.random.default_rng(0), is_tame=True).dense(np.dtype("i8"), (1,))

    def kernel(pointers: Any, sizes: Any, begin: int, end: int) -> int:
        ctypes.c_int64.from_address(pointers[0]).value = end - begin
        return 0

    found = difference(address_in_python(kernel), [x], [], [[(0, 4)], [(0, 2), (2, 4)]], {0: []})
    assert "in two parts" in found


def test_parts_may_differ_in_the_sign_of_nan_and_in_no_other() -> None:
    def found(whole: float, part: float) -> str:
        x = OperandMaker(np.random.default_rng(0), is_tame=True).dense(np.dtype("f8"), (1,))

        def kernel(pointers: Any, sizes: Any, begin: int, end: int) -> int:
            ctypes.c_double.from_address(pointers[0]).value = whole if end - begin == 4 else part
            return 0

        return difference(address_in_python(kernel), [x], [], [[(0, 4)], [(0, 2), (2, 4)]], {0: []})

    assert found(np.nan, -np.nan) == ""
    assert "in two parts" in found(0.0, -0.0)
    assert "in two parts" in found(np.nan, 0.0)
