"""Factorisations: every rule by the checker of ops, and that one triangle is read, by derivatives too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.ops.cases import complex_numbers, positive_definite, shapes, well_conditioned
from tests.ops.check_op import Case, Operand, case, check_op, evaluate, formula
from wengert.ad.reverse import vjp
from wengert.errors import ShapeError
from wengert.ops.contract import matmul
from wengert.ops.elementwise import log
from wengert.ops.linalg.determinants import slogdet
from wengert.ops.linalg.factorisations import cholesky
from wengert.ops.linalg.matrices import swap
from wengert.ops.linalg.solutions import solve, triangular_solve
from wengert.ops.reduce import sum_
from wengert.ops.shape import diagonal
from wengert.tape import Aval

F64 = np.dtype(float)


def hermitian_definite(*shape: int) -> Operand:
    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        a = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
        return a @ a.conj().swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])

    return Operand(draw, shape)  # of other directions than Hermitian ones the lower triangle is read


CASES = [
    case("cholesky", positive_definite(4, 4), numpy=np.linalg.cholesky),
    case("cholesky", positive_definite(2, 3, 3), numpy=np.linalg.cholesky, note="stack"),
    case("qr", well_conditioned(4, 4), kw=dict(complete=False), numpy=lambda x: tuple(np.linalg.qr(x)), rtol=1e-7),
    case(
        "qr", shapes(2, 4, 2), kw=dict(complete=False), numpy=lambda x: tuple(np.linalg.qr(x)), note="stack", rtol=1e-7
    ),
    case(
        "qr",
        shapes(4, 3),
        kw=dict(complete=True),
        numpy=lambda x: tuple(np.linalg.qr(x, "complete")),
        note="complete",
        rtol=1e-7,
    ),
    case("qr", shapes(2, 3, 2), kw=dict(complete=True), note="complete stack", rtol=1e-7),
    case("cholesky", hermitian_definite(4, 4), numpy=np.linalg.cholesky, dtypes="DF", note="complex"),
    case("cholesky", hermitian_definite(2, 3, 3), dtypes="DF", note="complex stack"),
    case(
        "qr",
        complex_numbers(3, 3),
        kw=dict(complete=False),
        numpy=lambda x: tuple(np.linalg.qr(x)),
        dtypes="DF",
        note="complex",
        rtol=1e-6,
    ),
    case("qr", complex_numbers(2, 4, 2), kw=dict(complete=False), dtypes="DF", note="complex stack", rtol=1e-6),
]


def positive(seed: int, n: int) -> Any:
    return positive_definite(n, n).draw(np.random.default_rng(seed), (n, n))


@pytest.mark.sampled(9, "a second each, of stacks and of complex matrices")
@pytest.mark.parametrize("one", CASES, ids=str)
def test_rules(one: Case) -> None:
    check_op(one)


def test_cholesky_cotangent_is_of_the_triangle_that_is_read() -> None:
    """For x = [[4, 2], [2, 2]], y = [[2, 0], [1, 1]]; y₁₁ = √x₁₁ has derivative 1/4, y₂₁ = x₂₁/y₁₁."""
    tape = vjp(formula(lambda x: cholesky(x), Aval((2, 2), F64)), [0], [0])
    x = np.array([[4.0, 2.0], [2.0, 2.0]])
    y, ct_x = evaluate(tape, [x, np.array([[0.0, 0.0], [1.0, 0.0]])])
    assert y.tolist() == [[2, 0], [1, 1]]
    np.testing.assert_allclose(ct_x, [[-1 / 8, 0], [1 / 2, 0]])  # ∂y₂₁/∂x₂₁ = 1/2, and x₁₂ is not read


def test_cholesky_ignores_the_cotangent_of_the_upper_triangle() -> None:
    tape = vjp(formula(lambda x: cholesky(x), Aval((3, 3), F64)), [0], [0])
    upper = np.triu(np.ones((3, 3)), 1)
    assert not evaluate(tape, [positive(0, 3), upper])[1].any()


def test_gaussian_log_likelihood_through_cholesky_agrees_with_slogdet() -> None:
    """½ log det x + ½ |y⁻¹ b|², two ways: the gradients agree where x moves among the symmetric matrices."""
    x, b = positive(2, 4), np.random.default_rng(3).standard_normal((4, 1))
    avals = Aval((4, 4), F64), Aval((4, 1), F64)

    def by_cholesky(x: Any, b: Any) -> Any:
        y = cholesky(x)
        r = triangular_solve(y, b, lower=True, transpose=False)
        return sum_(log(diagonal(y)), axis=(0,)) + 0.5 * sum_(r * r, axis=(0, 1))

    def by_solve(x: Any, b: Any) -> Any:
        return 0.5 * slogdet(x)[1] + 0.5 * sum_(matmul(swap(b), solve(x, b, transpose=False)), axis=(0, 1))

    left, right = [evaluate(vjp(formula(f, *avals), [0, 1], [0], seed="one"), [x, b]) for f in (by_cholesky, by_solve)]
    for l_k, r_k in zip(left, right, strict=True):
        if l_k.shape == (4, 4):  # along symmetric tangents: the first is lower triangular
            l_k, r_k = l_k + l_k.T, r_k + r_k.T
        np.testing.assert_allclose(l_k, r_k, rtol=1e-10, atol=1e-12)


def test_what_is_not_positive_definite_raises_as_in_numpy() -> None:
    tape = formula(lambda x: cholesky(x), Aval((2, 2), F64))
    for x in (np.zeros((2, 2)), np.diag([1.0, -1.0])):
        with pytest.raises(np.linalg.LinAlgError):
            evaluate(tape, [x])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 2, 3)])
def test_matrices_that_are_not_square_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="square"):
        formula(lambda x: cholesky(x), Aval(shape, F64))


def test_the_cost_is_that_of_the_textbook() -> None:
    assert cholesky.cost(Aval((100, 100), F64)) == pytest.approx(1e6 / 3)


def test_the_factors_of_a_matrix_of_less_than_full_rank_have_no_derivative() -> None:
    """Never a large wrong number; in a stack the others have theirs."""
    deficient = np.outer(np.arange(1.0, 5.0), [1.0, 2.0, -1.0])
    other = np.random.default_rng(0).normal(size=(4, 3))
    ct = wg.grad(lambda x: np.sum(np.linalg.qr(x)[0] ** 3))(np.stack([deficient, other]))
    assert np.isnan(ct[0]).all() and np.isfinite(ct[1]).all() and np.abs(ct[1]).max() < 100
    _, tangent = wg.jvp(lambda x: np.linalg.qr(x).R, (deficient,), (other,))
    assert np.isnan(tangent).all()


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("column", [0, 1])
def test_a_column_of_zeros_made_the_derivative_of_qr_raise(mode: Any, column: int) -> None:
    """The triangle with an exact zero on its diagonal was solved with before the result became NaN."""
    deficient = np.arange(1.0, 7).reshape(3, 2)
    deficient[:, column] = 0

    def size(x: Any) -> Any:
        factors: Any = np.linalg.qr(x, mode=mode)
        return np.sum((factors if mode == "r" else factors[1]) ** 2)

    for x in (deficient, np.stack([deficient, np.eye(3)[:, :2] + 0.1])):
        expected = np.zeros(x.shape, bool)
        expected[0 if x.ndim == 3 else ...] = True
        for gradient in (wg.grad(size)(x), wg.compile(wg.trace(wg.grad(size))(x))(x)):
            np.testing.assert_array_equal(np.isnan(gradient), expected)
        assert np.isnan(wg.jvp(size, (x,), (np.ones(x.shape),))[1])
    wide = np.array([[0.0, 1, 1], [0, 2, 1]] if column == 0 else [[1.0, 2, 1], [2, 4, 1]])
    assert np.isnan(wg.grad(size)(wide)[:, :2]).all()
