"""Some functions of ``scipy.linalg`` are refused, by an error of ours that says what to write instead."""

from __future__ import annotations

from types import FunctionType

import numpy as np
import pytest

import wengert as wg
from tests.of_scipy.linalg.matrices import sl
from wengert.errors import ConcretizationError, UnsupportedFunctionError
from wengert.of_scipy.linalg.refused import REFUSED
from wengert.tracing.interception.intercept import TABLE

A = np.arange(9.0).reshape(3, 3) + np.eye(3)
OF_NUMBERS = {"dft", "hadamard", "helmert", "hilbert", "invhilbert", "invpascal", "pascal"}
"""They take no arrays."""
OF_DTYPES = {"find_best_blas_type", "get_blas_funcs", "get_lapack_funcs"}
"""They look at dtypes alone."""
OTHERS = {"solve_lyapunov"}
"""It is another name of ``solve_continuous_lyapunov``."""


@pytest.mark.parametrize("name", [name for name in REFUSED if hasattr(sl, name)])
def test_refused(name):
    with pytest.raises(UnsupportedFunctionError, match=f"scipy.linalg.{name} is not traced"):
        wg.grad(lambda a: np.sum(getattr(sl, name)(a, A)[0]))(A)


def test_every_public_function_is_answered():
    public = {name for name in sl.__all__ if isinstance(getattr(sl, name), FunctionType)}
    answered = {name.rpartition(".")[2] for name in TABLE if name.startswith("scipy.linalg.")}
    assert public - answered <= OF_NUMBERS | OF_DTYPES | OTHERS


def test_routines_are_refused_in_our_words():
    with pytest.raises(ConcretizationError):
        wg.grad(lambda a: np.sum(sl.get_lapack_funcs("gesv", (A,))(a, A)[2]))(A)


@pytest.mark.parametrize("name", ["solve", "inv", "det", "cholesky", "eigvalsh", "lstsq", "qr", "svdvals", "lu_factor"])
def test_infinities_and_nan_are_no_matrix(name):
    """Compiled code gave finite numbers for them."""
    more = (np.ones(2),) if name in ("solve", "lstsq") else ()
    f = lambda a: getattr(sl, name)(a, *more)
    good = np.array([[3.0, 1.0], [1.0, 2.0]])
    compiled = wg.jit(lambda a: f(a)[0] if isinstance(f(a), tuple) else f(a))
    compiled(good)
    for wrong in (np.nan, np.inf):
        bad = good.copy()
        bad[0, 0] = wrong
        for g in (f, compiled, wg.jit(compiled)):
            with pytest.raises(ValueError, match="infs or NaNs"):
                g(bad)
    unchecked = wg.jit(lambda a: sl.solve_triangular(a, np.ones(2), check_finite=False))
    assert np.isnan(unchecked(np.array([[np.nan, 1.0], [0.0, 2.0]]))[0])
