"""LU factors: one for all that is asked of a matrix, and references that are LAPACK's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import passes, tree
from wengert.ops.linalg.factors import lu, lu_inv, lu_slogdet, lu_solve

A = np.random.default_rng(0).normal(size=(5, 5)) + 3 * np.eye(5)
B = np.random.default_rng(1).normal(size=5)

SHARED: dict[str, Callable[[Any, Any], Any]] = {
    "solve and its gradient": wg.value_and_grad(lambda a, b: np.sum(np.linalg.solve(a, b) ** 2), argnums=(0, 1)),
    "slogdet and its gradient": wg.value_and_grad(lambda a, b: np.linalg.slogdet(a)[1]),
    "log density of a normal": wg.value_and_grad(
        lambda a, b: b @ np.linalg.solve(a, b) + np.linalg.slogdet(a)[1] + np.sum(np.linalg.inv(a)), argnums=(0, 1)
    ),
    "forward": lambda a, b: wg.jvp(lambda a: np.linalg.solve(a, b), (a,), (a + 1,)),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_matrix_is_factored_once(name: str) -> None:
    f = SHARED[name]
    tape = passes.run(wg.trace(f)(A, B), (*passes.PIPELINE, passes.expand))
    names = Counter(i.op.name for i in tape.instrs)
    assert names["lu"] == 1 and names["solve"] == names["inv"] == names["slogdet"] == 0
    for x, y in zip(tree.flatten(wg.jit(f)(A, B))[0], tree.flatten(f(A, B))[0], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)


def test_complex_matrices_are_factored_once() -> None:
    f = lambda a, b: np.linalg.solve(a, b) + np.linalg.slogdet(a)[1] + np.linalg.inv(a)[0]
    tape = passes.run(wg.trace(f)(A + 1j, B), (*passes.PIPELINE, passes.expand))
    assert [i.op.name for i in tape.instrs].count("lu") == 1
    np.testing.assert_allclose(wg.jit(f)(A + 1j, B), f(A + 1j, B), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 24, 25, 60])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_references_and_kernels_agree_with_numpy(n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    a = (rng.normal(size=(3, n, n)) + n * np.eye(n)).astype(dtype)
    b = rng.normal(size=(3, n, 4)).astype(dtype)
    factors, pivots = lu.reference(a)
    rtol = 1e-10 if dtype == "f8" else 1e-3
    for transpose in (False, True):
        x = lu_solve.reference(factors, pivots, b, transpose=transpose)
        of = np.swapaxes(a, -1, -2) if transpose else a
        np.testing.assert_allclose(of @ x, b, rtol, rtol)
    gradient = wg.jit(wg.grad(lambda b: np.sum(np.linalg.solve(a, b) * b)))  # by the transpose too
    symmetric = np.linalg.inv(a) + np.swapaxes(np.linalg.inv(a), -1, -2)
    np.testing.assert_allclose(gradient(b), symmetric @ b, rtol, rtol)
    np.testing.assert_allclose(lu_inv.reference(factors, pivots), np.linalg.inv(a), rtol, rtol)
    np.testing.assert_allclose(wg.jit(np.linalg.inv)(a), np.linalg.inv(a), rtol, rtol)
    for got in (lu_slogdet.reference(factors, pivots), wg.jit(np.linalg.slogdet)(a)):
        for x, y in zip(got, np.linalg.slogdet(a), strict=True):
            np.testing.assert_allclose(x, y, rtol)


def test_singular_matrices_are_refused_where_they_are_divided_by() -> None:
    bad = np.stack([np.eye(3), np.diag([1.0, 0.0, 1.0])])
    sign, logarithm = wg.jit(np.linalg.slogdet)(bad)
    assert sign.tolist() == [1, 0] and logarithm.tolist() == [0, -np.inf]
    factors, pivots = lu.reference(bad)
    for refused in (lambda: lu_inv.reference(factors, pivots), lambda: wg.jit(np.linalg.inv)(bad)):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            refused()
