"""Eigenvalues and singular values: every rule by the checker of ops, and what equal values leave of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.ops.cases import shapes, well_conditioned
from tests.ops.check_op import Case, case, check_op

CASES = [
    case("eigh", well_conditioned(4, 4), numpy=lambda x: tuple(np.linalg.eigh(x)), rtol=1e-7),
    case("eigh", shapes(2, 3, 3), numpy=lambda x: tuple(np.linalg.eigh(x)), note="stack", rtol=1e-7),
    case("svd", well_conditioned(4, 4), numpy=lambda x: tuple(np.linalg.svd(x)), rtol=1e-7),
    case("svd", shapes(5, 3), numpy=lambda x: tuple(np.linalg.svd(x, full_matrices=False)), note="tall", rtol=1e-7),
    case("svd", shapes(2, 2, 4), numpy=lambda x: tuple(np.linalg.svd(x, full_matrices=False)), note="wide", rtol=1e-7),
]
RNG = np.random.default_rng(0)
TURN, _ = np.linalg.qr(RNG.normal(size=(4, 4)))
M = RNG.normal(size=(4, 4))


@pytest.mark.parametrize("one", CASES, ids=str)
def test_rules(one: Case) -> None:
    check_op(one)


@pytest.fixture(
    params=[np.diag([1.0, 1.0, 1.0, 3.0]), TURN @ np.diag([2.0, 2.0, 5.0, 5.0]) @ TURN.T], ids=["axes", "turned"]
)
def degenerate(request: Any) -> Any:
    """A symmetric matrix with eigenvalues that are equal."""
    return (request.param + request.param.T) / 2


def by_differences(f: Any, x: Any, step: float = 1e-6) -> Any:
    """Along symmetric directions: what the lower triangle means."""
    out = np.zeros_like(x)
    for i, j in zip(*np.tril_indices(len(x)), strict=True):
        d = np.zeros_like(x)
        d[i, j] = d[j, i] = step
        out[i, j] = (f(x + d) - f(x - d)) / (2 * step)
    return out


def test_a_sum_over_equal_eigenvalues(degenerate: Any) -> None:
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(np.linalg.eigvalsh(x)))(degenerate), np.eye(4), atol=1e-12)
    cubes = lambda x: np.sum(np.linalg.eigvalsh(x) ** 3)
    np.testing.assert_allclose(wg.grad(cubes)(degenerate), by_differences(cubes, degenerate), atol=1e-6)


def test_a_projector_onto_the_space_of_equal_eigenvalues(degenerate: Any) -> None:
    low = degenerate[0, 0] if np.count_nonzero(degenerate) == 4 else 2.0
    count = int(np.sum(np.abs(np.linalg.eigvalsh(degenerate) - low) < 1e-9))

    def f(x: Any) -> Any:
        v = np.linalg.eigh(x)[1][:, :count]
        return np.sum((v @ v.T) * M)

    np.testing.assert_allclose(wg.grad(f)(degenerate), by_differences(f, degenerate), atol=1e-6)


def test_a_vector_of_several_is_not_determined(degenerate: Any) -> None:
    """Never a large wrong number."""
    one = lambda x: np.sum(np.linalg.eigh(x)[1][:, 0] * np.arange(4.0))
    assert np.isnan(wg.grad(one)(degenerate)).any()
    tangent = np.arange(16.0).reshape(4, 4)
    assert np.isnan(wg.jvp(lambda x: np.linalg.eigh(x)[1], (degenerate,), (tangent,))[1]).any()


def test_the_triangle_that_is_read() -> None:
    x = RNG.normal(size=(3, 3))
    for triangle, kept in (("L", np.tril), ("U", np.triu)):
        f = lambda x, triangle=triangle: np.sum(np.linalg.eigvalsh(x, triangle) ** 2)
        ct = wg.grad(f)(x)
        np.testing.assert_array_equal(ct, kept(ct))
        np.testing.assert_allclose(f(kept(x)), f(x), rtol=1e-12)


def test_equal_singular_values() -> None:
    norm = lambda x: np.sum(np.linalg.svdvals(x) ** 2)
    for x in (np.eye(3), 2 * TURN, np.zeros((3, 2))):
        np.testing.assert_allclose(wg.grad(norm)(x), 2 * x, atol=1e-12)
    polar = lambda x: (lambda u, s, vh: np.sum((u @ vh) * M[:3, :3]))(*np.linalg.svd(x))
    x = np.eye(3)
    np.testing.assert_allclose(wg.grad(polar)(x), (M[:3, :3] - M[:3, :3].T) / 2, atol=1e-12)  # u vᵀ of 1 + ε
    assert np.isnan(wg.grad(lambda x: np.sum(np.linalg.svd(x)[0][:, 0] * np.arange(3.0)))(x)).any()


def test_vectors_of_a_singular_value_of_zero_are_not_determined() -> None:
    x = np.outer(np.arange(1.0, 4.0), [1.0, 2.0])
    f = lambda x, k: np.sum(np.linalg.svd(x, full_matrices=False)[0][:, k] * np.arange(3.0))
    assert np.isfinite(wg.grad(f)(x, 0)).all()
    assert np.isnan(wg.grad(f)(x, 1)).any()


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (1, 1)])
def test_empty_and_single(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 3.0)
    for f in (np.linalg.eigvalsh, np.linalg.svdvals):
        assert wg.grad(lambda x, f=f: np.sum(f(x)))(x).tolist() == np.ones(shape).tolist()
