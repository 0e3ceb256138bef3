"""Determinants: every rule by the checker of ops, and their derivatives at singular matrices, up to the third."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.cases import complex_numbers, shapes, well_conditioned
from tests.ops.check_op import Case, case, check_op, evaluate, formula
from wengert.ad.forward import jvp
from wengert.ad.reverse import vjp
from wengert.errors import ShapeError
from wengert.ops.linalg.determinants import cofactor, det, slogdet
from wengert.tape import Aval, Tape

F64 = np.dtype(float)


def cofactors(x: Any) -> Any:
    return np.linalg.det(x)[..., None, None] * np.linalg.inv(x).swapaxes(-1, -2)


CASES = [
    case("det", well_conditioned(2, 4, 4), numpy=np.linalg.det, analytic=True),
    *[case("det", shapes(n, n), numpy=np.linalg.det, note=f"{n}x{n}") for n in (0, 1, 2, 3, 5)],
    *[case("cofactor", well_conditioned(2, n, n), numpy=cofactors, note=f"{n}x{n}") for n in (1, 2, 3, 4, 5)],
    *[
        case("cofactor_along", well_conditioned(n, n), shapes(n, n), rtol=1e-7, note=f"{n}x{n}")
        for n in (1, 2, 3, 4, 5)
    ],
    case("slogdet", well_conditioned(4, 4), numpy=lambda x: tuple(np.linalg.slogdet(x))),
    case("slogdet", shapes(2, 3, 3), numpy=lambda x: tuple(np.linalg.slogdet(x)), note="stack"),
    case("slogdet", complex_numbers(3, 3), numpy=lambda x: tuple(np.linalg.slogdet(x)), dtypes="DF", note="complex"),
    case("slogdet", complex_numbers(2, 3, 3), dtypes="DF", note="complex stack", rtol=1e-7),
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_rules(one: Case) -> None:
    check_op(one)


# --------------------------------------------------------------------------------------------------- singular


def det_derivatives(n: int, order: int) -> Tape:
    """det of x, and its derivatives in the directions of the further inputs."""
    tape = formula(lambda x: det(x), Aval((n, n), F64))
    for _ in range(order):
        tape = jvp(tape, [0], outputs=[len(tape.outputs) - 1])
    return tape


def rank(n: int, r: int, rng: np.random.Generator) -> Any:
    return rng.standard_normal((n, r)) @ rng.standard_normal((r, n))


def polynomial_derivative(x: Any, vs: list[Any]) -> Any:
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
def test_derivatives_of_det_at_singular_matrices(n: int, deficiency: int, order: int) -> None:
    rng = np.random.default_rng(n)
    x = rank(n, max(n - deficiency, 0), rng)
    vs = [rng.standard_normal((n, n)) for _ in range(order)]
    *_, value = evaluate(det_derivatives(n, order), [x, *vs])
    assert value == pytest.approx(polynomial_derivative(x, vs), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize(("n", "singular"), [(1, True), (2, True), (3, True), (4, False), (5, False)])
def test_third_derivative_of_det(n: int, singular: bool) -> None:
    rng = np.random.default_rng(n)
    x = rank(n, n - 1, rng) if singular else well_conditioned(n, n).draw(rng, (n, n))
    vs = [rng.standard_normal((n, n)) for _ in range(3)]
    *_, value = evaluate(det_derivatives(n, 3), [x, *vs])
    assert value == pytest.approx(polynomial_derivative(x, vs), rel=1e-9, abs=1e-11)


def test_gradient_of_det_of_zeros_is_zero_and_of_rank_two_is_the_adjugate() -> None:
    tape = vjp(formula(lambda x: det(x), Aval((3, 3), F64)), [0], [0], seed="one")
    assert not evaluate(tape, [np.zeros((3, 3))])[1].any()
    np.testing.assert_array_equal(evaluate(tape, [np.diag([2.0, 3.0, 0.0])])[1], np.diag([0.0, 0.0, 6.0]))


def test_gradient_of_det_of_a_matrix_with_nan_is_nan() -> None:
    tape = vjp(formula(lambda x: det(x), Aval((2, 4, 4), F64)), [0], [0])
    x = np.stack([np.eye(4), np.eye(4)])
    x[0, 1, 2] = np.nan
    gradient = evaluate(tape, [x, np.ones(2)])[1]
    assert np.isnan(gradient[0]).all()
    np.testing.assert_allclose(gradient[1], np.eye(4))


# ------------------------------------------------------------------------------------------ complex, shapes, costs


@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 2, 3)])
def test_matrices_that_are_not_square_are_refused(shape: tuple[int, ...]) -> None:
    for op in (det, slogdet, cofactor):
        with pytest.raises(ShapeError, match="square"):
            formula(lambda x, op=op: op(x), Aval(shape, F64))


def test_the_cost_is_that_of_the_textbook() -> None:
    assert det.cost(Aval((7, 10, 10), F64)) == pytest.approx(7 * 2 / 3 * 1e3)
