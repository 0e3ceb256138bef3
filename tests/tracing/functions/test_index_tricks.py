"""``np.r_``, ``np.c_``, ``np.mgrid`` and ``np.ogrid`` of traced values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.differences import assert_gradient

A = np.array([0.5, 1.5, 3.0])
B = np.ones((3, 2))
S = np.float32(1.5)

EXPRESSIONS = """
    np.r_[a, 1]; np.r_[a.astype(np.float32), 1.5]; np.r_[a, [a[0], 2.0]]; np.r_[[1, 2], a]; np.r_[True, a > 1]
    np.r_[a.astype(np.int8), 3]; np.r_[s, 2.5]; np.r_[s, np.float32(1)]; np.r_[s, 1]; np.r_[2, 3] * a[0]; np.r_[a]
    np.r_[0:3, 5]; np.r_[0:3:2, a, 7, 8]; np.r_[0:1:5j, a]; np.r_[a[0]:a[2]:3j]; np.r_[a[0]:a[2]]; np.r_[:3] * a
    np.r_["0,2", a, a]; np.r_["0,2,0", a, a]; np.r_["1,3,0", a, a]; np.r_["0,3,1", a, a]; np.r_["0,3,-2", a, a]
    np.r_["-1", a[None], a[None]]; np.r_["0,2,0", a, 0:2]; np.r_["1", b, b]
    np.c_[a]; np.c_[a, a]; np.c_[a, b]; np.c_[0:3, a]; np.c_[a[:, None], a]; np.c_[1, 2] * a[0]; np.c_[a[0], s]
    np.mgrid[0 : a[2] : 3j]; np.mgrid[0 : a[2], 0:2]; np.ogrid[0 : a[2] : 3j, 0:2][0]; np.mgrid[0:2, 0:1:4j] * a[0]
    np.mgrid[0:3, 0:2] * a[0]; np.mgrid[0:1:4j] + a[1]; np.ogrid[0:3, 0:2][0] * a; np.mgrid[: len(a)] - a
"""

REFUSED = ['np.r_["0,2,5", a, a]', 'np.r_["x", a]', 'np.r_[a, "0"]', "np.r_[()]", "np.c_[s, a]", "np.r_[a, b]"]


@pytest.mark.parametrize("expression", [e.strip() for e in EXPRESSIONS.replace("\n", ";").split(";") if e.strip()])
def test_values_and_dtypes_are_numpys(expression: str) -> None:
    f = eval(f"lambda a, b, s: {expression}")
    want, got = f(A, B, S), wg.jit(f)(A, B, S)
    assert (want.shape, want.dtype) == (got.shape, got.dtype)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("expression", REFUSED)
def test_what_numpy_refuses_is_refused(expression: str) -> None:
    f = eval(f"lambda a, b, s: {expression}")
    for run in (f, wg.jit(f)):
        with pytest.raises(ValueError):
            run(A, B, S)


def test_text_is_numpys() -> None:
    labels = np.array(["x", "y"])

    def f(a: Any) -> Any:
        joined, columns = np.r_[labels, np.array(["z"])], np.c_[labels, labels]
        assert joined.tolist() == ["x", "y", "z"] and columns.tolist() == [["x", "x"], ["y", "y"]]
        return a * len(joined) + len(columns)

    np.testing.assert_array_equal(wg.jit(f)(A), f(A))


def test_a_matrix_is_refused() -> None:
    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"np\.matrix"):
        wg.jit(lambda a: np.r_["r", a], strict=True)(A)


def test_their_results_can_be_written() -> None:
    def f(a: Any) -> Any:
        y, grid, columns = np.r_[0:4.0], np.mgrid[0:2, 0:2].astype(float), np.c_[0:2, 1:3] * 1.0
        y[1], grid[0, 0, 0], columns[0] = a[0], a[1], a[2]
        return y, grid, columns

    wg.tree.map(np.testing.assert_array_equal, f(A), wg.jit(f)(A))


def test_a_captured_array_is_read_again() -> None:
    captured = np.array([1.0, 2.0])
    f = wg.jit(lambda a: np.r_[a, captured])
    f(A)
    captured[0] = 10
    np.testing.assert_array_equal(f(A), [*A, 10, 2])


def test_the_gradient_goes_through() -> None:
    def f(a: Any) -> Any:
        return np.sum(np.r_[a, 2 * a[::-1], 1.0] ** 2) + np.sum(np.c_[a, a**2, 0:3] ** 2)

    assert_gradient(wg.grad(f)(A), f, A)


def test_libraries_get_numpys_own() -> None:
    from scipy.signal import zpk2tf

    def f(a: Any) -> Any:
        return a * zpk2tf([1.0], [0.5, 0.25], 2.0)[1]

    np.testing.assert_array_equal(wg.jit(f)(A), f(A))
