"""Sparse equations solved by iteration: SciPy's values, derivatives of the solution against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl

import wengert as wg
from tests.differences import check_derivative

N = 8
RNG = np.random.default_rng(0)
A = sp.csr_array(np.where(RNG.random((N, N)) < 0.3, RNG.uniform(0.2, 1, (N, N)), 0) + np.diag(4 + np.arange(N) * 1.0))
B = RNG.standard_normal(N)
NEAR = sp.diags([1 / A.diagonal()], [0])
CLOSE = {"rtol": 1e-14} if sl.cg.__kwdefaults__ and "rtol" in sl.cg.__kwdefaults__ else {"tol": 1e-14}
TIGHT = {"atol": 1e-14, "btol": 1e-14}


def made(d: Any) -> Any:
    return sp.csr_array((d, A.indices, A.indptr), shape=(N, N))


def symmetric(d: Any) -> Any:
    a = made(d)
    return a + a.T


SOLVERS = [sl.bicg, sl.bicgstab, sl.cgs, sl.gcrotmk, sl.gmres, sl.lgmres, sl.qmr, sl.tfqmr]


@pytest.mark.sampled(3, "all go the same way")
@pytest.mark.parametrize("solve", [*SOLVERS, sl.cg, sl.minres], ids=lambda f: f.__name__)
def test_solvers(solve: Any) -> None:
    of = symmetric if solve in (sl.cg, sl.minres) else made
    f = lambda d, b: solve(of(d), b, **CLOSE)[0]
    assert np.array_equal(wg.jit(f)(A.data, B), f(A.data, B))
    check_derivative(f, A.data, B, rtol=1e-6)


def test_options() -> None:
    f = lambda d, b: sl.gmres(made(d), b, np.ones(N), M=NEAR, **CLOSE)[0] + sl.cg(symmetric(d), b, M=NEAR, **CLOSE)[0]
    assert np.array_equal(wg.jit(f)(A.data, B), f(A.data, B))
    check_derivative(f, A.data, B, rtol=1e-6)
    check_derivative(lambda d, b: sl.gmres(made(d), b, **CLOSE)[0], A.data * (1 + 1j), B, rtol=1e-6)
    check_derivative(lambda m, b: sl.gmres(m, b, **CLOSE)[0], A.toarray(), B, rtol=1e-6)
    assert wg.jit(lambda d: sl.cg(symmetric(d), B)[1])(A.data) == 0


def test_second_order_and_batches() -> None:
    check_derivative(wg.grad(lambda d: np.sum(sl.cg(symmetric(d), B, **CLOSE)[0] ** 2)), A.data, rtol=1e-6)
    found = wg.vmap(lambda b: sl.cg(A + A.T, b, **CLOSE)[0])(np.eye(N)[:2])
    np.testing.assert_allclose(found, np.linalg.inv((A + A.T).toarray())[:2], atol=1e-12)


@pytest.mark.sampled(2, "more than a second each")
@pytest.mark.parametrize("solve", [sl.lsqr, sl.lsmr], ids=["lsqr", "lsmr"])
def test_least_squares(solve: Any) -> None:
    for rows, columns in ((N, 5), (5, N)):
        f = lambda d, b, q, m=rows, n=columns: solve(made(d)[:m, :n], b[:m], q, **TIGHT)[0]
        assert np.array_equal(wg.jit(f)(A.data, B, 0.3), f(A.data, B, 0.3))
        check_derivative(f, A.data, B, np.array(0.3), rtol=1e-6)
        check_derivative(lambda d, b, f=f: f(d, b, 0.0), A.data, B, rtol=1e-6)
    numbers = (3, 4, 8) if solve is sl.lsqr else (3, 7)
    norms = lambda d, b: np.stack([solve(made(d)[:, :5], b, 0.3, **TIGHT)[k] for k in numbers])
    check_derivative(norms, A.data, B, rtol=1e-6)


def test_what_is_not_right_is_heard() -> None:
    with pytest.warns(RuntimeWarning, match="cg has not converged to the derivative"):
        wg.grad(lambda d: sl.cg(symmetric(d), B, maxiter=2, **CLOSE)[0].sum())(A.data)
    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"cg: maxiter= is traced"):
        wg.grad(lambda q: sl.cg(A, B, maxiter=q)[0].sum())(1.0)
    with pytest.raises(ValueError, match="incompatible"):
        wg.jit(lambda b: sl.cg(A, b)[0])(B[:3])
