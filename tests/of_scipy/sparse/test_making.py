"""Sparse matrices made of traced values: constructors, blocks, diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import wengert as wg
from tests.differences import check, same
from tests.of_scipy.sparse.matrices import FORMATS, A, B, X, made, plain

I, J = np.array([0, 2, 0, 2, 0]), np.array([1, 1, 1, 0, 0])  # a place twice


@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_constructors(kind: str) -> None:
    classes = {name: getattr(sp, f"{name}_{kind}") for name in FORMATS}

    def f(x: Any) -> Any:
        of = lambda name: classes[name]
        found = [of(name)((x, (I, J)), shape=(3, 4)) for name in ("coo", "csr", "csc", "bsr")]
        found += [of("csr")((x, J, [0, 3, 3, 5]), shape=(3, 4)), of("csc")((x, J, [0, 3, 5])), of("coo")((x, (I, J)))]
        found += [
            of("dia")((np.stack([x, 2 * x]), [0, -1]), shape=(4, 5)),
            of("bsr")((x[:4].reshape(1, 2, 2), [0], [0, 1])),
        ]
        found += [of(name)(np.outer(x, x)) for name in ("csr", "coo", "lil", "dok", "dia")]
        found += [of(name)(found[0]) for name in ("csr", "csc", "lil", "dia")]
        found += [of("csr")([[x[0], 0.0], [1.0, x[1]]])]
        return np.concatenate([plain(a) for a in found])

    check(f, X)


@pytest.mark.deep("more than a second")
def test_functions_that_make_matrices() -> None:
    def f(d: Any) -> Any:
        a = made(d)
        found = [sp.kron(a, B), sp.kron(np.ones((2, 2)), a), sp.kronsum(a, B), sp.kron(a, a, format="csr")]
        found += [sp.hstack([a, B]), sp.vstack([a, B, a]), sp.block_diag([a, B, X[None]]), sp.bmat([[a, None], [B, a]])]
        found += [sp.tril(a), sp.triu(a, 1), sp.find(a)[2]]
        found += [sp.diags([a.diagonal(), a.diagonal()[1:]], [0, 1]), sp.diags([a[0, 0], 2.0], [0, 1], shape=(3, 3))]
        found += [sp.spdiags(a.diagonal(), 0, 5, 5), a + sp.eye(5)]
        return np.concatenate([plain(x) for x in found])

    check(f, A.data)
    if hasattr(sp, "diags_array"):  # SciPy 1.11
        check(lambda x: plain(sp.diags_array(x, offsets=1) @ sp.diags_array([x, x], offsets=[1, -1], shape=(6, 6))), X)
    if hasattr(sp, "block_array"):
        check(lambda d: plain(sp.block_array([[made(d), B], [None, made(d)]], format="csc")), A.data)


def test_matrices_with_one_axis() -> None:
    try:
        sp.coo_array(np.ones(2))
    except ValueError:
        pytest.skip("an older SciPy has none")
    check(lambda x: sp.coo_array((x, (np.array([0, 2, 1, 2, 4]),))).toarray() * 2, X)


def test_places_are_guarded() -> None:
    at = I.copy()
    f = wg.jit(lambda x: sp.csr_array((x, (at, J)), shape=(3, 4)).toarray())
    for _ in range(3):
        same(f(X), sp.csr_array((X, (at, J)), shape=(3, 4)).toarray())
    at[0] = 1
    same(f(X), sp.csr_array((X, (at, J)), shape=(3, 4)).toarray())
    assert f.stats()["traces"] == 2
    g = wg.jit(lambda x, at: sp.csr_array((x, (at, J)), shape=(3, 4)).toarray())
    for at in (I, I, np.array([0, 1, 2, 0, 0])):
        same(g(X, at), sp.csr_array((X, (at, J)), shape=(3, 4)).toarray())


def test_constructors_refuse_what_scipy_refuses() -> None:
    for f in (
        lambda x: sp.csr_array((x, (I[:3], J))),
        lambda x: sp.coo_array((x, (I, J)), shape=(2, 2)),
        lambda x: sp.csr_array((x, (I, J, I, J))),
        lambda x: sp.csr_array((x, J, [0, 9])),
    ):
        with pytest.raises((ValueError, TypeError)) as expected:
            f(X)
        with pytest.raises(expected.type):
            wg.jit(lambda x, f=f: f(x).toarray())(X)
