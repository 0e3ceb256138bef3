"""Functions of SciPy's BLAS and LAPACK that write into arrays of constants: the write is seen, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy import arange, ones
from scipy.linalg import blas, lapack

import wengert as wg

X = np.array([1.0, 2.0, 3.0])
W = np.array([1.0, 2.0, 4.0])


def scaled(x: Any) -> Any:
    y = arange(3.0)
    blas.dscal(2.0, y)
    return (y * x).sum()


def added(x: Any) -> Any:
    y = np.zeros(3)
    blas.daxpy(ones(3), y)
    return (y * x).sum()


def swapped(x: Any) -> Any:
    y, z = np.zeros(3), arange(3.0)
    blas.dswap(y, z)
    return (y * x).sum() + 10 * (z * x).sum()


def returned(x: Any) -> Any:
    y = arange(3.0)
    z = blas.dscal(2.0, y)
    z[0] = 5.0  # which is the array that was given
    return (y * x).sum()


def in_a_table(x: Any) -> Any:
    y = arange(3.0)
    {"scale": blas.dscal}["scale"](2.0, x=y)
    return (y * x).sum()


def read_alone(x: Any) -> Any:
    lu, _, info = lapack.dgetrf(np.eye(3) + 1)
    return blas.ddot(arange(3.0), ones(3)) * x.sum() + lu[0, 0] * x[1] + info


@pytest.mark.parametrize("f", [scaled, added, swapped, returned, in_a_table, read_alone])
def test_what_compiled_code_writes_into_an_array_made_inside_was_lost(f: Any) -> None:
    differences = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    for transform in (wg.value_and_grad, lambda f: wg.jit(wg.value_and_grad(f))):
        value, gradient = transform(f)(X)
        assert value == f(X)
        np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)


def test_a_captured_array_is_not_written_by_compiled_code() -> None:
    def f(x: Any) -> Any:
        blas.dscal(2.0, W)
        return (W * x).sum()

    with pytest.raises(wg.errors.MutationError, match="captured"):
        wg.jit(f, strict=True)(X)
    assert W.tolist() == [1.0, 2.0, 4.0]


def test_traced_values_are_refused() -> None:
    with pytest.raises(wg.errors.ConcretizationError, match=r"scipy\.linalg\.blas\.ddot is not traced"):
        wg.grad(lambda x: blas.ddot(x, x))(X)


def test_what_f2py_has_made_elsewhere_is_refused() -> None:
    """Of SciPy's, the interception is switched off: it is as a module of the user's, which nobody has named."""
    one = wg.interceptions()["scipy.linalg.blas.ddot.__class__"]
    wg.grad(lambda x: x)(1.0)
    one.is_on = False
    try:
        with pytest.raises(wg.errors.ConcretizationError, match="f2py"):
            wg.grad(scaled)(X)
    finally:
        one.is_on = True
