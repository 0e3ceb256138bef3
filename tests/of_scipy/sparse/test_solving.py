"""Solutions of sparse equations: SciPy's bits, derivatives against differences, one factorisation for all."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from scipy.sparse.csgraph import laplacian

import wengert as wg
from tests.differences import check_derivative, same
from tests.of_scipy.checking import OF_COMPILED
from wengert.ops.linalg.sparse import FACTORS

N = 6
RNG = np.random.default_rng(0)
A = sp.csr_array(np.where(RNG.random((N, N)) < 0.4, RNG.uniform(0.2, 1, (N, N)), 0) + 4 * np.eye(N))
B, D = RNG.standard_normal((N, 3)), A.data * (1 + 1j * RNG.standard_normal(A.nnz))
V = B[:, 0].copy()
LU = sl.splu(A.tocsc())


def made(d: Any, name: str = "csr") -> Any:
    return sp.csr_array((d, A.indices, A.indptr), shape=(N, N)).asformat(name)


SOLVERS: dict[str, Callable[..., Any]] = {
    "spsolve": lambda a, b: sl.spsolve(a, b),
    "spsolve in an order": lambda a, b: sl.spsolve(a, b, permc_spec="MMD_AT_PLUS_A"),
    "splu": lambda a, b: sl.splu(a.tocsc()).solve(b),
    "splu transposed": lambda a, b: sl.splu(a.tocsc(), diag_pivot_thresh=0.5).solve(b, "T"),
    "splu adjoint": lambda a, b: sl.splu(a.tocsc()).solve(b, "H"),
    "factorized": lambda a, b: sl.factorized(a.tocsc())(b),
}


@pytest.mark.sampled(7, "each solver has the same operands")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["csr", "csc"])
@pytest.mark.parametrize(("d", "b"), [(A.data, V), (A.data, B), (D, V), (D, 1j * B)], ids=["v", "b", "cv", "cb"])
def test_solvers_give_scipys_bits(d: Any, b: Any, name: str, solver: str) -> None:
    f = lambda d, b: SOLVERS[solver](made(d, name), b)
    assert np.array_equal(wg.jit(f)(d, b), f(d, b))
    check_derivative(f, d, b)


@pytest.mark.parametrize("name", ["csr", "csc"])
def test_triangular_matrices(name: str) -> None:
    for lower in (True, False):
        for is_unit in (True, False):

            def f(d: Any, b: Any, lower: bool = lower, is_unit: bool = is_unit) -> Any:
                a = (sp.tril if lower else sp.triu)(made(d, name), format=name)
                return sl.spsolve_triangular(a, b, lower=lower, unit_diagonal=is_unit)

            same(wg.jit(f)(A.data, B), f(A.data, B), rtol=1e-13)
            check_derivative(f, A.data, B)
    with pytest.raises(np.linalg.LinAlgError, match="zero entry on diagonal"):
        wg.jit(lambda b: sl.spsolve_triangular(sp.csr_array(np.eye(N, k=-1)), b))(V)


def test_other_functions_of_matrices() -> None:
    def f(d: Any) -> Any:
        a = made(d, "csc")
        norms = [sl.norm(a), sl.norm(2 * a)]
        operator = sl.aslinearoperator(a)
        vectors = [sl.norm(a, axis=1), operator.matvec(V), operator.rmatvec(V)]
        matrices = [
            sl.inv(a).toarray(),
            sl.matrix_power(made(d), 3).toarray(),
            sl.spsolve(a, sp.csc_array(B)).toarray(),
        ]
        return np.concatenate([np.array(norms), *vectors, *[x.ravel() for x in matrices]])

    same(wg.jit(f)(A.data), f(A.data))
    check_derivative(f, A.data)


def test_norms_along_axes() -> None:
    f = lambda d: np.stack([sl.norm(made(d, "csc"), order) for order in (1, np.inf)])
    try:
        f(A.data)
    except (IndexError, ValueError):
        pytest.skip("an older SciPy has no such norm of sparse arrays")
    same(wg.jit(f)(A.data), f(A.data))
    check_derivative(f, A.data)


def test_scipys_own_code() -> None:
    f = lambda d, b: np.concatenate([
        sl.expm_multiply(made(d) * 0.1, b), sl.expm(made(d, "csc") * 0.1).toarray().ravel(),
        laplacian(made(d), normed=True).toarray().ravel(), laplacian(np.outer(b, b) + 5).ravel(),
    ])  # fmt: skip
    same(wg.jit(f)(A.data, V), f(A.data, V))
    check_derivative(f, A.data, V)


@OF_COMPILED
def test_factors_that_are_constant() -> None:
    solve = sl.factorized(A.tocsc())
    f = lambda b: LU.solve(b) + LU.solve(b, "T") + solve(b) + sl.splu(A.tocsc()).solve(b) + sl.spsolve(A, b)
    for b in (V, B):
        same(wg.jit(f)(b), f(b))
        check_derivative(f, b)
    same(wg.vmap(f)(B.T), np.stack([f(b) for b in B.T]), rtol=1e-13)


def test_float32() -> None:
    f = lambda d, b: sl.spsolve(made(d), b)
    d, b = A.data.astype(np.float32), V.astype(np.float32)
    found = wg.jit(f)(d, b)
    assert found.dtype == np.float32
    assert np.array_equal(found, f(d, b))


def test_second_order_and_batches() -> None:
    check_derivative(wg.grad(lambda d: np.sum(sl.spsolve(made(d), V) ** 2)), A.data)
    found = wg.vmap(lambda d, b: sl.spsolve(made(d), b))(np.stack([A.data, 2 * A.data]), np.stack([V, V]))
    x = np.linalg.solve(A.toarray(), V)
    np.testing.assert_allclose(found, [x, x / 2])
    np.testing.assert_allclose(wg.vmap(lambda b: sl.spsolve(A, b))(B.T), np.linalg.solve(A.toarray(), B).T)


def test_the_derivative_by_hand() -> None:
    """d (cᵀ A⁻¹ b) / d A_ij = −(A⁻ᵀ c)_i (A⁻¹ b)_j."""
    c = B[:, 1]
    gradient = wg.grad(lambda a: c @ sl.spsolve(a, V))(A)
    dense = A.toarray()
    expected = -np.outer(np.linalg.solve(dense.T, c), np.linalg.solve(dense, V))
    np.testing.assert_allclose(gradient.toarray(), np.where(dense != 0, expected, 0))


def test_a_matrix_is_factorised_once() -> None:
    f = wg.jit(wg.value_and_grad(lambda a: np.sum(sl.spsolve(a, V) ** 2)))
    for k in (3.0, 5.0):
        before = FACTORS.made
        f(k * A)
        f(k * A)
        assert FACTORS.made == before + 1


def test_threads_share_factors() -> None:
    f = wg.jit(wg.grad(lambda a: np.sum(sl.spsolve(a, V) ** 2)))
    expected = [f(k * A).data for k in (1.0, 2.0)]
    wrong: list[int] = []

    def run(k: int) -> None:
        for _ in range(10):
            if not np.array_equal(f((1.0 + k) * A).data, expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k % 2,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_singular_matrices() -> None:
    with pytest.warns(sl.MatrixRankWarning, match="exactly singular"):
        gradient = wg.grad(lambda d: sl.spsolve(made(d), V).sum())(0 * A.data)
    assert np.isnan(gradient).all()
    with pytest.raises(RuntimeError, match="exactly singular"):
        wg.jit(lambda d: sl.splu(made(d, "csc")).solve(V))(0 * A.data)


def test_what_is_refused() -> None:
    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"spilu(.|\n)*splu"):
        wg.grad(lambda d: sl.spilu(made(d, "csc")).solve(V).sum())(A.data)
    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"SuperLU\.L"):
        wg.grad(lambda d: sl.splu(made(d, "csc")).L.sum())(A.data)
    for f in (
        lambda a: sl.spsolve(a[:3], V),
        lambda a: sl.spsolve(a, V[:3]),
        lambda a: sl.splu(a.tocsc()).solve(V, "?"),
        lambda a: sl.splu(a.tocsc()).solve(V[:3]),
        lambda a: sl.splu(a.tocsc()).solve(1j * V),
        lambda a: sl.splu(a[:3].tocsc()),
    ):
        with pytest.raises((ValueError, TypeError)) as expected, warnings.catch_warnings():
            f(A)
        with pytest.raises(expected.type):
            wg.jit(lambda a, f=f: f(a))(A)
