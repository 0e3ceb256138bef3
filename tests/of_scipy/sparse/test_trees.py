"""Sparse matrices as arguments, results and parts of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import wengert as wg
from tests.of_scipy.sparse.matrices import FORMATS, A, X

CLASSES = [f"{name}_{kind}" for name in FORMATS for kind in ("array", "matrix")]


@pytest.mark.sampled(5, "all classes go the same way")
@pytest.mark.parametrize("name", CLASSES)
def test_a_gradient_has_the_class_and_the_pattern(name: str) -> None:
    a = getattr(sp, name)(A)
    f = lambda a, x: (a @ x).sum() + a.sum() ** 2
    expected = (2 * A.sum() + np.ones((5, 1)) * X) * (A.toarray() != 0)
    gradient = wg.jit(wg.grad(f))
    for found in (wg.grad(f)(a, X), gradient(a, X), gradient(2 * a / 2, X)):
        assert type(found) is type(a)
        np.testing.assert_allclose(found.toarray() * (A.toarray() != 0), expected)
    assert gradient.stats()["traces"] == 1


@pytest.mark.sampled(3, "all classes go the same way")
@pytest.mark.parametrize("name", CLASSES)
def test_results(name: str) -> None:
    a = getattr(sp, name)(A)
    found = wg.jit(lambda a, s: {"twice": s * a})(a, 2.0)["twice"]
    assert type(found) is type(a)
    np.testing.assert_allclose(found.toarray(), 2 * A.toarray())


def test_the_structure_keeps_a_copy() -> None:
    a = A.copy()
    leaves, treedef = wg.tree.flatten({"a": a})
    assert wg.tree.paths({"a": a}) == ['["a"].data']
    a.indices[:] = a.indices[::-1]
    b = wg.tree.unflatten(treedef, leaves)["a"]
    b.indices[0] += 1
    assert wg.tree.flatten({"a": A})[1] == treedef != wg.tree.flatten({"a": a})[1]
    assert hash(wg.tree.flatten({"a": A})[1]) == hash(treedef)


def test_another_pattern_is_another_program() -> None:
    f = wg.jit(lambda a, x: a @ x)
    b = sp.csr_array(np.diag(X) + np.eye(5, k=1))
    for a in (A, b, A, b, 2 * b):
        np.testing.assert_allclose(f(a, X), a @ X)
    assert f.stats()["traces"] == 2


def test_a_captured_matrix_is_never_stale() -> None:
    a = A.copy()
    f = wg.jit(lambda x: a @ x)
    np.testing.assert_allclose(f(X), a @ X)
    a.data[0] *= 2
    np.testing.assert_allclose(f(X), a @ X)
    a.indices[0] = (a.indices[0] + 1) % 5
    np.testing.assert_allclose(f(X), a @ X)


def test_an_argument_may_be_written() -> None:
    def f(a: Any) -> Any:
        a.data = a.data * 2
        a.setdiag(0.0)
        return a.sum()

    a = A.copy()
    expected = np.where(np.eye(5, dtype=bool), 0.0, 2.0) * (A.toarray() != 0)
    np.testing.assert_allclose(wg.grad(f)(a).toarray(), expected)
    assert (a != A).nnz == 0


def test_the_index_arrays_of_an_argument() -> None:
    f = wg.jit(lambda a, x: x[a.indices] * a.data)
    for _ in range(2):
        np.testing.assert_allclose(f(A, X), X[A.indices] * A.data)
    assert f.stats()["traces"] == 1


def test_a_matrix_is_a_carry_and_goes_through_branches() -> None:
    def f(x: Any) -> Any:
        diagonal = sp.csr_array((x, (np.arange(5), np.arange(5))), shape=(5, 5))
        a, _ = wg.scan(lambda a, _: (0.5 * a + a.T * 0.5, None), diagonal, None, length=3)
        b = wg.cond(x[0] > 0, lambda: a, lambda: 2 * a)
        return (b @ x).sum()

    np.testing.assert_allclose(wg.jit(wg.grad(f))(X), 2 * X)
    np.testing.assert_allclose(wg.grad(wg.checkpoint(f))(X), 2 * X)


@pytest.mark.parametrize("name", CLASSES)
def test_anything_may_stand_for_the_elements(name: str) -> None:
    leaves, treedef = wg.tree.flatten(getattr(sp, name)(A))
    for leaf in ("text", 1.0, object()):
        again, structure = wg.tree.flatten(wg.tree.unflatten(treedef, [leaf]))
        assert structure == treedef
        assert again[0] is leaf
    assert wg.tree.flatten(wg.tree.unflatten(treedef, leaves))[1] == treedef
