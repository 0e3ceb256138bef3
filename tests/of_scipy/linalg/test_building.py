"""Matrices made of vectors and blocks by ``scipy.linalg``, on traced arrays."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.of_scipy.checking import case, four_tests, same
from tests.of_scipy.linalg.matrices import TALL, WIDE, A, S, X, Y, sl

CASES = [
    case("toeplitz", sl.toeplitz, Y, exact=True),
    case("toeplitz c r", sl.toeplitz, Y + 1j, Y[:3], exact=True),
    case("circulant", sl.circulant, Y, exact=True),
    case("hankel", sl.hankel, Y, exact=True),
    case("hankel c r", sl.hankel, Y, Y[:3], exact=True),
    case("leslie", sl.leslie, Y, Y[:3], exact=True),
    case("block_diag", lambda *xs: sl.block_diag(*xs), A, Y, WIDE, exact=True),
    case("companion", sl.companion, Y, exact=True),
    case("fiedler", sl.fiedler, Y, exact=True),
    *[case(f"fiedler_companion {n}", sl.fiedler_companion, TALL.ravel()[:n], exact=True) for n in (2, 3, 6, 7)],
    *[
        case(f"convolution_matrix {mode} {n}", lambda a, o=(n, mode): sl.convolution_matrix(a, *o), Y, exact=True)
        for mode in ("full", "same", "valid")
        for n in (3, 6)
    ],
    case("khatri_rao", sl.khatri_rao, A, S, exact=True),
    case("diagsvd wide", lambda s: sl.diagsvd(s, 4, 6), Y, exact=True),
    case("diagsvd tall", lambda s: sl.diagsvd(s, 6, 4), Y, exact=True),
]


def test_gradient_of_a_toeplitz_matrix_sums_along_diagonals():
    gradient = wg.grad(lambda c: np.sum(np.arange(9.0).reshape(3, 3) * sl.toeplitz(c)))(Y[:3])
    assert gradient.tolist() == [12, 1 + 3 + 5 + 7, 2 + 6]


def test_roots_of_a_polynomial_by_its_companion_matrix():
    """The largest root of x² − 3x + 2 is 2, and its derivative in the last coefficient −1 / (2·2 − 3)."""
    assert wg.grad(lambda c: np.max(np.real(np.linalg.eigvals(sl.companion([1.0, -3.0, c])))))(2.0) == pytest.approx(-1)


def test_dtypes_and_kinds():
    for f in (sl.toeplitz, sl.circulant, sl.fiedler, lambda c: sl.block_diag(c, 1.0)):
        same(wg.jvp(f, (Y.astype("f"),), (Y.astype("f"),))[0], f(Y.astype("f")), True)
    assert wg.jvp(lambda c: sl.toeplitz(c, [1, 2]), (Y,), (Y,))[0].shape == (4, 2)


def test_errors_are_scipys():
    for f in (
        lambda c: sl.leslie(c, c),
        lambda c: sl.companion(c[:1]),
        lambda c: sl.companion(c * 0),
        lambda c: sl.convolution_matrix(c, 0),
        lambda c: sl.convolution_matrix(c, 3, mode="half"),
        lambda c: sl.khatri_rao(A, X * c[0]),
        lambda c: sl.diagsvd(c, 2, 3),
    ):
        with pytest.raises(ValueError):
            f(Y)
        with pytest.raises(ValueError):
            wg.grad(lambda c, f=f: np.sum(f(c)))(Y)


test_value_and_derivative, test_second_derivative, test_batch, test_compiled = four_tests(CASES)
