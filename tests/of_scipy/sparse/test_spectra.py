"""Some eigenvalues and singular values: SciPy's values, derivatives against differences."""

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
D = A.data * (1 + 0.3j * RNG.standard_normal(A.nnz))
START = np.ones(N)
MASS = sp.diags([1 + np.arange(N) * 0.1], [0], format="csc")


def made(d: Any) -> Any:
    return sp.csr_array((d, A.indices, A.indptr), shape=(N, N))


def symmetric(d: Any) -> Any:
    a = made(d)
    return a + a.conj().T


def both(found: Any) -> Any:
    """Values, and what does not depend on the sign of vectors."""
    values, vectors = found
    return np.concatenate([values, np.reshape(abs(vectors) ** 2, (-1,))])


def of_singular(found: Any) -> Any:
    u, s, vh = found
    return np.concatenate([s, np.reshape(abs(u) ** 2, (-1,)), np.reshape(abs(vh) ** 2, (-1,))])


CASES = {
    "eigsh": lambda d: both(sl.eigsh(symmetric(d), 3, v0=START)),
    "eigsh near": lambda d: both(sl.eigsh(symmetric(d), k=2, sigma=0.0, v0=START)),
    "eigsh with a mass": lambda d: both(sl.eigsh(symmetric(d), k=2, M=MASS, v0=START)),
    "eigs": lambda d: both(sl.eigs(made(d), k=2, v0=START)),
    "svds": lambda d: of_singular(sl.svds(made(d)[:, :6], k=2, v0=START[:6])),
}


@pytest.mark.sampled(3, "a quarter of a second each")
@pytest.mark.parametrize("name", CASES)
def test_values_and_vectors(name: str) -> None:
    f = CASES[name]
    assert np.array_equal(wg.jit(f)(A.data), f(A.data))
    check_derivative(f, A.data, rtol=1e-6)
    if "mass" not in name:
        check_derivative(f, D, rtol=1e-6)


def test_values_alone() -> None:
    f = lambda d: np.concatenate([
        sl.eigsh(symmetric(d), k=2, v0=START, return_eigenvectors=False),
        sl.svds(made(d), k=2, v0=START, return_singular_vectors=False),
        abs(sl.eigs(made(d), k=2, v0=START, return_eigenvectors=False)),
    ])  # fmt: skip
    np.testing.assert_allclose(wg.jit(f)(A.data), f(A.data), rtol=1e-12)
    check_derivative(f, A.data, rtol=1e-6)


@pytest.mark.deep("second derivatives of iterations")
def test_second_order() -> None:
    f = lambda d: np.sum(sl.eigsh(symmetric(d), k=1, v0=START)[1][:3] ** 2)
    check_derivative(wg.grad(f), A.data, rtol=1e-5)


def test_a_value_by_hand() -> None:
    """The gradient of the largest eigenvalue is v vᵀ."""
    a = A + A.T
    _, v = sl.eigsh(a, k=1, v0=START)
    gradient = wg.grad(lambda a: sl.eigsh(a, k=1, v0=START)[0][0])(a)
    np.testing.assert_allclose(gradient.toarray(), (v @ v.T) * (a.toarray() != 0), atol=1e-12)


@pytest.mark.filterwarnings("ignore::scipy.sparse.linalg.MatrixRankWarning")
def test_vectors_of_a_multiple_value_have_no_derivative() -> None:
    x, start = np.array([1.0, 3.0, 3.0, 2.0, 0.5, 0.1]), np.arange(1.0, 7.0)
    for k in (1, 2):
        f = lambda d, k=k: sl.eigsh(sp.diags([d], [0], format="csr"), k=k, v0=start, which="LA")
        assert np.isnan(wg.grad(lambda d, f=f: f(d)[1][1, -1] ** 2)(x)).all()
        assert np.isfinite(wg.grad(lambda d, f=f: f(d)[0].sum())(x)).all()


def test_what_is_refused() -> None:
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="sigma= is traced"):
        wg.grad(lambda s: sl.eigsh(A + A.T, k=1, sigma=s)[0][0])(0.1)
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="mode='buckling'"):
        wg.grad(lambda d: sl.eigsh(symmetric(d), k=1, sigma=0.1, mode="buckling")[0][0])(A.data)
