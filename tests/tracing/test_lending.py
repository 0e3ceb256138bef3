"""Compiled code that writes into what it is given of an array made inside: found out, however the code was called."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy import arange, ones
from scipy.linalg import blas
from scipy.spatial.distance import pdist

import wengert as wg
from wengert.tracing.stack import current_trace

X = np.array([1.0, 2.0, 3.0])
TABLE = {"scale": blas.dscal, "dot": blas.ddot}


@pytest.fixture
def unknown() -> Iterator[None]:
    """SciPy's functions of Fortran's are as any compiled code, of which nothing is known."""
    wg.grad(lambda x: x)(1.0)
    one = wg.interceptions()["scipy.linalg._fblas.fortran"]
    one.is_on = False
    yield
    one.is_on = True


def by_name(x: Any) -> Any:
    y = arange(3.0)
    blas.dscal(2.0, y)
    return (y * x).sum()


def in_a_table(x: Any) -> Any:
    y = arange(3.0)
    TABLE["scale"](2.0, y)
    return (y * x).sum()


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


UNNAMED = pytest.mark.needs_extension("a value that is given to compiled code without a name may be refused before")


@pytest.mark.parametrize(
    "f", [by_name, *[pytest.param(f, marks=UNNAMED) for f in (in_a_table, in_a_partial, by_map, by_a_name_made)]]
)
def test_what_unknown_compiled_code_writes_into_an_array_made_inside_was_lost(f: Any, unknown: None) -> None:
    for transform in (wg.grad, lambda f: wg.jit(wg.grad(f), strict=True)):
        with pytest.raises(wg.errors.MutationError, match=r"has written into it[^\n]*\n  at .*test_lending"):
            transform(f)(X)


@UNNAMED
def test_compiled_code_that_only_reads_an_array_made_inside_was_refused(unknown: None) -> None:
    def f(x: Any) -> Any:
        return TABLE["dot"](arange(3.0), ones(3)) * x.sum()

    assert wg.grad(f)(X).tolist() == [3.0, 3.0, 3.0]


def test_an_address_that_was_taken_of_an_array_made_inside() -> None:
    def f(x: Any) -> Any:
        y = arange(3.0)
        a = np.asarray_chkfinite(y)
        ctypes.memset(a.ctypes.data, 0, 8 * 3)
        return (y * x).sum()

    with pytest.raises(wg.errors.MutationError, match="has written into it"):
        wg.grad(f)(X)


@pytest.mark.needs_extension("a function of C that was kept elsewhere than in a module is called as it is")
def test_what_is_written_into_an_array_for_the_call_alone_is_the_functions(unknown: None) -> None:
    def f(x: Any) -> Any:
        y = arange(3.0)
        z = TABLE["scale"](2.0, y.copy())
        return (y * x).sum() + z[1] * x[0]

    assert wg.grad(f)(X).tolist() == [2.0, 1.0, 2.0]


def test_results_that_scipy_writes_into_an_array_made_inside() -> None:
    points = np.array([[0.0], [1.0], [3.0]])

    def returned(x: Any) -> Any:
        return (pdist(points, out=np.zeros(3)) * x).sum()

    def read(x: Any) -> Any:
        y = np.zeros(3)
        pdist(points, out=y)
        return (y * x).sum()

    for f in (returned, read):
        assert wg.grad(f)(X).tolist() == wg.jit(wg.grad(f))(X).tolist() == [1.0, 3.0, 2.0]


def test_what_nobody_has_any_more_is_let_go_of() -> None:
    def f(x: Any) -> Any:
        y, kept = arange(3.0), []
        for k in range(20):
            z = np.asarray_chkfinite(y)
            kept += [z] * (k == 7)
        trace = current_trace()
        assert trace is not None and len(trace.read_only.given_away) == 3  # kept, the last, the last but one
        return (z * x).sum()

    assert wg.grad(f)(X).tolist() == [0.0, 1.0, 2.0]
