"""Methods of sparse matrices on traced elements: values against SciPy's, derivatives against differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import wengert as wg
from tests.differences import check, check_derivative, same
from tests.of_scipy.sparse.matrices import FORMATS, A, B, W, X, made, plain


def with_diagonal(a: Any) -> Any:
    a = a.copy()
    a.setdiag(X)
    return a


def with_items(a: Any) -> Any:
    a = a.copy()
    a[1, 2] = a[0, 1] * 2
    a[0, :] = X
    a[3:5, 0:2] = a[0:2, 0:2].toarray()
    return a


MOVING: dict[str, Callable[[Any], Any]] = {
    "toarray": lambda a: a.toarray(),
    "T": lambda a: a.T,
    "tocsr, tocsc, tocoo": lambda a: a.tocsr().tocsc().tocoo(),
    "tobsr, todia": lambda a: a.tobsr().todia(),
    "tolil, todok": lambda a: a.tolil().todok(),
    "copy": lambda a: a.copy(),
    "reshape": lambda a: a.reshape(1, 25),
    "diagonal": lambda a: a.diagonal(),
    "trace": lambda a: a.trace(),
}
INDEXING: dict[str, Callable[[Any], Any]] = {
    "rows": lambda a: a[1:3, :],
    "columns": lambda a: a[:, [0, 3, 3]],
    "both": lambda a: a[[0, 2]][:, 1:4],
    "element": lambda a: a[0, 1] + a[2, 2],
}
ARITHMETIC: dict[str, Callable[[Any], Any]] = {
    "+": lambda a: a + B,
    "-": lambda a: B - a,
    "+ 0": lambda a: 0 + a - 0,
    "+ array": lambda a: a + np.ones((5, 5)),
    "array -": lambda a: np.ones((5, 5)) - a,
    "number": lambda a: 2 * a / 3,
    "negative": lambda a: -a,
    "absolute": lambda a: abs(a),
    "multiply": lambda a: a.multiply(B),
    "multiply by rows": lambda a: a.multiply(X),
    "multiply by columns": lambda a: a.multiply(np.ones((5, 1)) * 2),
    "/": lambda a: a / (1 + X),
    "power": lambda a: a.power(2),
    "maximum": lambda a: a.maximum(2 * B),
    "minimum": lambda a: a.minimum(B) + a.minimum(0) + a.maximum(-1),
    "astype": lambda a: a.astype(complex).real,
    "conj": lambda a: a.conj() + a.real,
}
PRODUCTS: dict[str, Callable[[Any], Any]] = {
    "vector": lambda a: a @ X,
    "matrix": lambda a: a @ W,
    "from left": lambda a: W.T @ a,
    "vector from left": lambda a: X @ a,
    "dot": lambda a: a.dot(X),
    "sparse": lambda a: a @ B,
    "of sparse": lambda a: B @ a,
    "with itself": lambda a: a @ a.T,
}
REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda a: a.sum(),
    "sum of columns": lambda a: a.sum(axis=0),
    "sum of rows": lambda a: a.sum(axis=1),
    "mean": lambda a: a.mean(axis=0),
    "mean of all": lambda a: a.mean(),
    "nonzero": lambda a: np.sum(a.nonzero()[0]) * 1.0,
}
OF_DATA: dict[str, Callable[[Any], Any]] = {
    "sin": lambda a: a.sin() + a.tanh() + a.expm1() + a.log1p(),
    "sqrt": lambda a: a.sqrt(),
    "max": lambda a: a.max() + a.min(),
}
WRITING = {"setdiag": with_diagonal, "items": with_items}
OF_NO_INDEX = ("bsr", "dia", "coo")
"""The formats that have no elements by index, in some SciPy."""


def all_of(rows: Any, name: str, kind: str) -> Callable[[Any], Any]:
    return lambda d: np.concatenate([plain(f(made(d, name, kind))) for f in rows.values()])


@pytest.mark.sampled(25, "each format has the same rows")
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("rows", [MOVING, ARITHMETIC, PRODUCTS, REDUCTIONS], ids=["moving", "+", "@", "sum"])
@pytest.mark.parametrize("name", FORMATS)
def test_methods(name: str, rows: Any, kind: str) -> None:
    f = all_of(rows, name, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
        check(f, A.data)


@pytest.mark.parametrize("name", ["csr", "csc", "coo", "bsr"])
def test_functions_of_the_elements(name: str) -> None:
    check(all_of(OF_DATA, name, "array"), A.data)


@pytest.mark.sampled(3, "half a second each")
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("name", [name for name in FORMATS if name not in OF_NO_INDEX])
def test_indexing_and_writing(name: str) -> None:
    check(all_of({**INDEXING, **WRITING}, name, "array"), A.data)


def test_a_loop_that_fills_a_matrix() -> None:
    for cls in (sp.lil_array, sp.dok_array):

        def f(x: Any, cls: Any = cls) -> Any:
            a = cls((3, 3))
            for k in range(3):
                a[k, k] += x[k]
                a[0, k] += x[k] ** 2
            return a.tocsr() @ X[:3]

        check(f, X[:3])


def test_a_constant_matrix_with_what_is_traced() -> None:
    check(lambda x: A @ x + x @ A + A.dot(x), X)
    check(lambda x: plain(A * x) + plain(x * A) + plain(A + x) + plain(x - A) + plain(A / x), X)
    check(lambda s: plain(s * A + A * s - A / s), np.array(2.0))
    check(lambda d: plain(A.multiply(made(d)) + A - made(d) @ A), A.data)


def test_products_of_all_dtypes() -> None:
    for dtype in (np.float32, complex, np.complex64, int, bool):
        a = A.astype(dtype)
        same(wg.jit(lambda d, a=a: made(d) @ X + made(d).sum(axis=1))(a.data), a @ X + a.sum(axis=1))
    check_derivative(lambda d: made(d) @ (X * (1 + 2j)), A.data * (2 - 1j))
    check_derivative(lambda d: made(d) @ X, A.data * (2 - 1j))


def test_second_order_and_batches() -> None:
    def f(d: Any) -> Any:
        a = made(d)
        return np.sum((a @ np.sin(a @ X)) ** 2) + (a @ a.multiply(a)).sum()

    check_derivative(wg.grad(f), A.data)
    wide = np.stack([A.data, 2 * A.data])
    found = wg.vmap(lambda d, x: made(d) @ x)(wide, np.stack([X, X[::-1]]))
    np.testing.assert_allclose(found, [A @ X, 2 * A @ X[::-1]])
    np.testing.assert_allclose(wg.vmap(lambda x: A @ x)(W.T), (A @ W).T)


def test_empty_matrices() -> None:
    for shape in ((0, 3), (3, 0), (3, 3)):
        empty = np.zeros(0, int)
        a = lambda d, shape=shape, empty=empty: sp.csr_array((d, (empty, empty)), shape=shape)
        same(wg.jit(lambda d, a=a, n=shape[1]: a(d) @ np.ones(n))(np.zeros(0)), np.zeros(shape[0]))
        assert wg.grad(lambda d, a=a: a(d).sum())(np.zeros(0)).shape == (0,)


def test_a_gradient_by_hand() -> None:
    """d (xᵀ A x) / d A_ij = x_i x_j, of duplicates too."""
    rows, columns = np.array([0, 1, 1, 0]), np.array([2, 0, 0, 1])
    gradient = wg.grad(lambda d: X[:3] @ (sp.coo_array((d, (rows, columns)), shape=(3, 3)).tocsr() @ X[:3]))(np.ones(4))
    assert gradient.tolist() == [3, 2, 2, 2]


def test_elements_that_are_zero_keep_their_derivative() -> None:
    def f(d: Any) -> Any:
        a = sp.csr_array((d, ([0, 1], [0, 1])), shape=(2, 2))
        a.eliminate_zeros()
        return (a + a).sum() + (2 * sp.coo_array(a.toarray())).sum()

    assert wg.grad(f)(np.array([0.0, 1.0])).tolist() == [4, 4]


def test_a_matrix_of_the_callers_is_not_written() -> None:
    a = A.copy()

    def f(x: Any) -> Any:
        a[0, 0] = x
        return a.sum()

    with pytest.raises(wg.errors.MutationError, match=r"a csr_array made outside(.|\n)*A.copy\(\), made inside"):
        wg.grad(f)(1.0)
    assert (a != A).nnz == 0


def test_what_is_refused() -> None:
    for f, what in (
        (lambda a: a > 0.5, "a comparison of traced sparse matrices"),
        (lambda a: a.argmax(), "argmax"),
        (lambda a: a.max(axis=0), "axis="),
        (lambda a: a / a, "quotient"),
    ):
        with pytest.raises(wg.errors.UnsupportedFunctionError, match=what):
            wg.grad(lambda d, f=f: f(made(d)).sum())(A.data)
    for f in (lambda a: a + 1.0, lambda a: a @ np.ones(4), lambda a: a @ a[:3], lambda a: a + a[:3], lambda a: a @ 2.0):
        with pytest.raises((ValueError, NotImplementedError)) as expected:
            f(A)
        with pytest.raises(expected.type):
            wg.jit(lambda d, f=f: f(made(d)))(A.data)
