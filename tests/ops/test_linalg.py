"""The ops of linear algebra: every rule by the checker of ops, and what happens at singular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from tests.ops.check_op import Operand, case, check_op, evaluate, formula
from wengert.ad.forward import jvp
from wengert.ad.reverse import vjp
from wengert.errors import MissingRuleError, ShapeError
from wengert.ops import linalg as ops
from wengert.ops.contract import matmul
from wengert.ops.linalg.matrices import swap
from wengert.ops.reduce import sum_
from wengert.tape import Aval

F64 = np.dtype(float)


def invertible(rng, shape):
    return rng.standard_normal(shape) + 3 * np.eye(shape[-1])


def positive(rng, shape):
    a = rng.standard_normal(shape)
    return a @ a.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])


def normal(rng, shape):
    return rng.standard_normal(shape)


def symmetric(dx):
    return (dx + dx.swapaxes(-1, -2)) / 2


def triangular(a, b, *, lower, transpose):
    a = np.tril(a) if lower else np.triu(a)
    return np.linalg.solve(a.swapaxes(-1, -2) if transpose else a, b)


def cofactors(x):
    return np.linalg.det(x)[..., None, None] * np.linalg.inv(x).swapaxes(-1, -2)


CASES = [
    case("solve", Operand(invertible, (4, 4)), Operand(normal, (4, 3)), numpy=np.linalg.solve, analytic=True),
    case(
        "solve",
        Operand(invertible, (2, 3, 3)),
        Operand(normal, (2, 3, 1)),
        numpy=np.linalg.solve,
        note="stack",
    ),
    case("solve", Operand(invertible, (0, 0)), Operand(normal, (0, 2)), numpy=np.linalg.solve, note="empty"),
    case("inv", Operand(invertible, (4, 4)), numpy=np.linalg.inv, analytic=True),
    case("inv", Operand(invertible, (2, 3, 3)), numpy=np.linalg.inv, note="stack"),
    case("det", Operand(invertible, (2, 4, 4)), numpy=np.linalg.det, analytic=True),
    *[case("det", Operand(normal, (n, n)), numpy=np.linalg.det, note=f"{n}x{n}") for n in (0, 1, 2, 3, 5)],
    *[case("cofactor", Operand(invertible, (2, n, n)), numpy=cofactors, note=f"{n}x{n}") for n in (1, 2, 3, 4, 5)],
    *[
        case("cofactor_along", Operand(invertible, (n, n)), Operand(normal, (n, n)), rtol=1e-7, note=f"{n}x{n}")
        for n in (1, 2, 3, 4, 5)
    ],
    case("slogdet", Operand(invertible, (4, 4)), numpy=lambda x: tuple(np.linalg.slogdet(x))),
    case("slogdet", Operand(normal, (2, 3, 3)), numpy=lambda x: tuple(np.linalg.slogdet(x)), note="stack"),
    case("cholesky", Operand(positive, (4, 4), symmetric), numpy=np.linalg.cholesky),
    case("cholesky", Operand(positive, (2, 3, 3), symmetric), numpy=np.linalg.cholesky, note="stack"),
    *[
        case(
            "triangular_solve",
            Operand(invertible, shape),
            Operand(normal, (*shape[:-1], 2)),
            kw={"lower": lower, "transpose": transpose},
            numpy=lambda a, b, lower=lower, transpose=transpose: triangular(a, b, lower=lower, transpose=transpose),
            note=f"lower={lower}, transpose={transpose}, {shape}",
        )
        for lower in (True, False)
        for transpose in (True, False)
        for shape in ((3, 3), (2, 3, 3))
    ],
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_rules(one):
    check_op(one)


# --------------------------------------------------------------------------------------------- worked by hand


def test_inverse_of_a_diagonal_matrix_worked_by_hand():
    """y = diag(1/2, 1/4); moving x₁₂ by one moves y₁₂ by −1/8."""
    tape = jvp(formula(lambda x: ops.inv(x), Aval((2, 2), F64)), [0])
    dx = np.array([[0.0, 1.0], [0.0, 0.0]])
    _, dy = evaluate(tape, [np.diag([2.0, 4.0]), dx])
    assert dy.tolist() == [[0, -0.125], [0, 0]]


def test_cholesky_cotangent_is_symmetric():
    """For x = [[4, 2], [2, 2]], y = [[2, 0], [1, 1]]; y₁₁ = √x₁₁ has derivative 1/4, y₂₁ = x₂₁/y₁₁."""
    tape = vjp(formula(lambda x: ops.cholesky(x), Aval((2, 2), F64)), [0], [0])
    x = np.array([[4.0, 2.0], [2.0, 2.0]])
    y, ct_x = evaluate(tape, [x, np.array([[0.0, 0.0], [1.0, 0.0]])])
    assert y.tolist() == [[2, 0], [1, 1]]
    np.testing.assert_allclose(ct_x, [[-1 / 8, 1 / 4], [1 / 4, 0]])  # ∂y₂₁/∂x₂₁ = 1/2, shared by x₂₁ and x₁₂


def test_cholesky_ignores_the_cotangent_of_the_upper_triangle():
    tape = vjp(formula(lambda x: ops.cholesky(x), Aval((3, 3), F64)), [0], [0])
    x = positive(np.random.default_rng(0), (3, 3))
    upper = np.triu(np.ones((3, 3)), 1)
    assert not evaluate(tape, [x, upper])[1].any()


# --------------------------------------------------------------------------------------------------- singular


def det_derivatives(n, order):
    """det of x, and its derivatives in the directions of the further inputs."""
    tape = formula(lambda x: ops.det(x), Aval((n, n), F64))
    for _ in range(order):
        tape = jvp(tape, [0], outputs=[len(tape.outputs) - 1])
    return tape


def rank(n, r, rng):
    return rng.standard_normal((n, r)) @ rng.standard_normal((r, n))


def polynomial_derivative(x, vs):
    """∂ᵏ det(x + Σ tᵢ vᵢ)/∂t₁…∂tₖ at 0: the determinant is multilinear in rows; exact up to rounding."""
    n = len(x)
    if len(vs) == 0:
        return np.linalg.det(x)
    first, *rest = vs
    total = 0.0
    for i in range(n):
        moved = x.copy()
        moved[i] = first[i]
        masked = [np.where(np.arange(n)[:, None] == i, 0, v) for v in rest]
        total += polynomial_derivative(moved, masked)
    return total


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("deficiency", [1, 2, 3])
@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_det_at_singular_matrices(n, deficiency, order):
    rng = np.random.default_rng(n)
    x = rank(n, max(n - deficiency, 0), rng)
    vs = [rng.standard_normal((n, n)) for _ in range(order)]
    *_, value = evaluate(det_derivatives(n, order), [x, *vs])
    assert value == pytest.approx(polynomial_derivative(x, vs), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize(("n", "singular"), [(1, True), (2, True), (3, True), (4, False), (5, False)])
def test_third_derivative_of_det(n, singular):
    rng = np.random.default_rng(n)
    x = rank(n, n - 1, rng) if singular else invertible(rng, (n, n))
    vs = [rng.standard_normal((n, n)) for _ in range(3)]
    *_, value = evaluate(det_derivatives(n, 3), [x, *vs])
    assert value == pytest.approx(polynomial_derivative(x, vs), rel=1e-9, abs=1e-11)


def test_gradient_of_det_of_zeros_is_zero_and_of_rank_two_is_the_adjugate():
    tape = vjp(formula(lambda x: ops.det(x), Aval((3, 3), F64)), [0], [0], seed="one")
    assert not evaluate(tape, [np.zeros((3, 3))])[1].any()
    np.testing.assert_array_equal(evaluate(tape, [np.diag([2.0, 3.0, 0.0])])[1], np.diag([0.0, 0.0, 6.0]))


def test_gradient_of_det_of_a_matrix_with_nan_is_nan():
    tape = vjp(formula(lambda x: ops.det(x), Aval((2, 4, 4), F64)), [0], [0])
    x = np.stack([np.eye(4), np.eye(4)])
    x[0, 1, 2] = np.nan
    gradient = evaluate(tape, [x, np.ones(2)])[1]
    assert np.isnan(gradient[0]).all()
    np.testing.assert_allclose(gradient[1], np.eye(4))


@pytest.mark.parametrize("op", [ops.inv, ops.cholesky])
def test_singular_matrices_raise_as_in_numpy(op):
    tape = formula(lambda x: op(x), Aval((2, 2), F64))
    with pytest.raises(np.linalg.LinAlgError):
        evaluate(tape, [np.zeros((2, 2))])


def test_singular_solve_raises_as_in_numpy():
    with pytest.raises(np.linalg.LinAlgError):
        evaluate(formula(ops.solve, Aval((2, 2), F64), Aval((2, 1), F64)), [np.zeros((2, 2)), np.ones((2, 1))])
    triangular_tape = formula(
        lambda a, b: ops.triangular_solve(a, b, lower=True, transpose=False),
        Aval((2, 2), F64),
        Aval((2, 1), F64),
    )
    with pytest.raises(scipy.linalg.LinAlgError):
        evaluate(triangular_tape, [np.zeros((2, 2)), np.ones((2, 1))])


# -------------------------------------------------------------------------------------------------- structure


def test_the_matrix_is_not_differentiated_for_a_right_hand_side():
    """Pullback of b alone: one more solve, no product."""
    tape = formula(ops.solve, Aval((3, 3), F64), Aval((3, 2), F64))
    names = [i.op.name for i in vjp(tape, [1], [0]).instrs]
    assert names == ["solve", "transpose", "solve"]


def test_a_batch_of_right_hand_sides_is_solved_at_once():
    batch: Any = ops.solve.batch
    tape = formula(lambda a, b: batch((a, b), (False, True), 5), Aval((3, 3), F64), Aval((5, 3, 2), F64))
    (solve,) = [i for i in tape.instrs if i.op is ops.solve]
    assert [a.aval.shape for a in solve.ins] == [(3, 3), (3, 10)]
    rng = np.random.default_rng(1)
    a, b = invertible(rng, (3, 3)), rng.standard_normal((5, 3, 2))
    np.testing.assert_allclose(evaluate(tape, [a, b])[0], np.linalg.solve(a, b))


def test_gaussian_log_likelihood_through_cholesky_agrees_with_slogdet():
    """½ log det x + ½ |y⁻¹ b|², two ways: the gradients agree where x moves among the symmetric matrices."""
    rng = np.random.default_rng(2)
    x, b = positive(rng, (4, 4)), rng.standard_normal((4, 1))
    avals = Aval((4, 4), F64), Aval((4, 1), F64)

    def by_cholesky(x, b):
        from wengert.ops.elementwise import log
        from wengert.ops.shape import diagonal

        y = ops.cholesky(x)
        r = ops.triangular_solve(y, b, lower=True, transpose=False)
        return sum_(log(diagonal(y)), axis=(0,)) + 0.5 * sum_(r * r, axis=(0, 1))

    def by_solve(x, b):
        return 0.5 * ops.slogdet(x)[1] + 0.5 * sum_(matmul(swap(b), ops.solve(x, b)), axis=(0, 1))

    results = []
    for f in (by_cholesky, by_solve):
        results.append(evaluate(vjp(formula(f, *avals), [0, 1], [0], seed="one"), [x, b]))
    for left, right in zip(*results, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-12)


# -------------------------------------------------------------------------------------------- complex, shapes


@pytest.mark.parametrize("op", [ops.cholesky, ops.slogdet, ops.det, ops.inv])
def test_complex_rules_that_nobody_wrote_say_so(op):
    tape = formula(lambda x: op(x), Aval((2, 2), np.dtype(complex)))
    with pytest.raises(MissingRuleError, match="complex"):
        vjp(tape, [0], [0])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 2, 3)])
def test_matrices_that_are_not_square_are_refused(shape):
    for op in (ops.inv, ops.det, ops.cholesky, ops.slogdet, ops.cofactor):
        with pytest.raises(ShapeError, match="square"):
            formula(lambda x, op=op: op(x), Aval(shape, F64))


def test_right_hand_sides_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="rows"):
        formula(ops.solve, Aval((3, 3), F64), Aval((2, 1), F64))


def test_costs_are_those_of_the_textbook():
    a, b = Aval((100, 100), F64), Aval((100, 10), F64)
    assert ops.solve.cost(a, b) == pytest.approx(2 / 3 * 1e6 + 2e5)
    assert ops.cholesky.cost(a) == pytest.approx(1e6 / 3)
    assert ops.triangular_solve.cost(a, b, lower=True, transpose=False) == pytest.approx(1e5)
    assert ops.det.cost(Aval((7, 10, 10), F64)) == pytest.approx(7 * 2 / 3 * 1e3)
