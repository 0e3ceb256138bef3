"""Functions of Fortran's that write into arrays of constants: the write is seen, or refused."""

from __future__ import annotations

import functools
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
@pytest.mark.needs_extension("what Fortran's code writes is found out when the trace ends")
def test_what_compiled_code_writes_into_an_array_made_inside_was_lost(f: Any) -> None:
    differences = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    for transform in (wg.value_and_grad, lambda f: wg.jit(wg.value_and_grad(f))):
        value, gradient = transform(f)(X)
        assert value == f(X)
        np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)


@pytest.mark.needs_extension("what Fortran's code writes is found out when the trace ends")
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


TABLE = {"scale": blas.dscal}


def in_a_partial(x: Any) -> Any:
    y = arange(3.0)
    functools.partial(blas.dscal, 2.0)(y)
    return (y * x).sum()


def by_map(x: Any) -> Any:
    y = arange(3.0)
    list(map(blas.dscal, [2.0], [y]))
    return (y * x).sum()


def by_a_name_made(x: Any) -> Any:
    y = arange(3.0)
    getattr(blas, "d" + "scal")(2.0, y)
    return (y * x).sum()


def in_a_table_outside(x: Any) -> Any:
    y = arange(3.0)
    TABLE["scale"](2.0, y)
    return (y * x).sum()


WAYS = [scaled, in_a_table, in_a_table_outside, in_a_partial, by_map, by_a_name_made]


@pytest.mark.parametrize("f", WAYS)
@pytest.mark.needs_extension("what Fortran's code writes is found out when the trace ends")
def test_what_fortran_wrote_was_lost_where_it_was_not_called_by_a_name(f: Any) -> None:
    for transform in (wg.grad, lambda f: wg.jit(wg.grad(f), strict=True)):
        assert transform(f)(X).tolist() == [0.0, 2.0, 4.0]


def test_functions_of_every_module_that_f2py_has_made_are_known() -> None:
    pytest.importorskip("scipy.interpolate._dfitpack", reason="of SciPy before 1.18, which no function here needs")
    wg.grad(lambda x: x)(1.0)
    assert {"scipy.linalg._fblas.fortran", "scipy.interpolate._dfitpack.fortran"} <= {*wg.interceptions()}


LARGE = np.ones(20_000)


@pytest.mark.parametrize("f", [blas.dscal, TABLE["scale"], functools.partial(blas.dscal)])
@pytest.mark.needs_extension("what Fortran's code writes is found out when the trace ends")
def test_what_fortran_wrote_into_an_array_that_is_read_at_the_end_was_read(f: Any) -> None:
    def captures(x: Any) -> Any:
        y = (LARGE * x).sum()
        f(2.0, LARGE)
        return y

    def is_given(x: Any, c: Any) -> Any:
        y = (c * x).sum()
        f(2.0, c)
        return y

    for call in (lambda: wg.grad(captures)(np.ones(20_000)), lambda: wg.grad(is_given)(np.ones(20_000), LARGE)):
        with pytest.raises(wg.errors.WrittenMeanwhileError, match=r"of Fortran's[^\n]*\n  at .*test_fortran"):
            call()


def test_fortran_reads_an_array_that_is_read_at_the_end() -> None:
    assert wg.grad(lambda x: blas.ddot(LARGE, LARGE) * (LARGE * x).sum())(np.ones(20_000)).shape == (20_000,)
