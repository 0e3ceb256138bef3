"""Solutions of linear equations and inverses: every rule by the checker of ops, batches, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from tests.ops.cases import complex_numbers, shapes, well_conditioned
from tests.ops.check_op import Case, case, check_op, evaluate, formula
from wengert.ad.forward import jvp
from wengert.ad.reverse import vjp
from wengert.errors import ShapeError
from wengert.ops.linalg.solutions import inv, solve, triangular_solve
from wengert.tape import Aval

F64 = np.dtype(float)


def triangular(a: Any, b: Any, *, lower: bool, transpose: bool) -> Any:
    a = np.tril(a) if lower else np.triu(a)
    return np.linalg.solve(a.swapaxes(-1, -2) if transpose else a, b)


CASES = [
    case("solve", well_conditioned(4, 4), shapes(4, 3), kw=dict(transpose=False), numpy=np.linalg.solve, analytic=True),
    case(
        "solve",
        well_conditioned(2, 3, 3),
        shapes(2, 3, 1),
        kw=dict(transpose=False),
        numpy=np.linalg.solve,
        note="stack",
    ),
    case(
        "solve", well_conditioned(2, 3, 3), shapes(2, 3, 2), kw=dict(transpose=True), note="transposed", analytic=True
    ),
    case("solve", well_conditioned(0, 0), shapes(0, 2), kw=dict(transpose=False), numpy=np.linalg.solve, note="empty"),
    case("inv", well_conditioned(4, 4), numpy=np.linalg.inv, analytic=True),
    case("inv", well_conditioned(2, 3, 3), numpy=np.linalg.inv, note="stack"),
    case("pinv", shapes(4, 3), kw={"rcond": 1e-15}, numpy=np.linalg.pinv, rtol=1e-7),
    case("pinv", shapes(2, 2, 4), kw={"rcond": 1e-15}, numpy=np.linalg.pinv, note="stack", rtol=1e-7),
    case("pinv", complex_numbers(4, 3), kw={"rcond": 1e-15}, dtypes="DF", note="complex", rtol=1e-6),
    case("pinv", complex_numbers(2, 2, 4), kw={"rcond": 1e-15}, dtypes="DF", note="complex stack", rtol=1e-6),
    case(
        "triangular_solve",
        complex_numbers(3, 3),
        complex_numbers(3, 2),
        kw={"lower": True, "transpose": True},
        dtypes="DF",
        note="complex",
    ),
    *[
        case(
            "triangular_solve",
            well_conditioned(*shape),
            shapes(*shape[:-1], 2),
            kw={"lower": lower, "transpose": transpose},
            numpy=lambda a, b, lower=lower, transpose=transpose: triangular(a, b, lower=lower, transpose=transpose),
            note=f"lower={lower}, transpose={transpose}, {shape}",
        )
        for lower in (True, False)
        for transpose in (True, False)
        for shape in ((3, 3), (2, 3, 3))
    ],
]


@pytest.mark.sampled(5, "every triangle is compiled, in both orders of derivatives")
@pytest.mark.parametrize("one", CASES, ids=str)
def test_rules(one: Case) -> None:
    check_op(one)


def test_inverse_of_a_diagonal_matrix_worked_by_hand() -> None:
    """y = diag(1/2, 1/4); moving x₁₂ by one moves y₁₂ by −1/8."""
    tape = jvp(formula(lambda x: inv(x), Aval((2, 2), F64)), [0])
    dx = np.array([[0.0, 1.0], [0.0, 0.0]])
    _, dy = evaluate(tape, [np.diag([2.0, 4.0]), dx])
    assert dy.tolist() == [[0, -0.125], [0, 0]]


# -------------------------------------------------------------------------------------------------- structure


def test_the_matrix_is_not_differentiated_for_a_right_hand_side() -> None:
    """Pullback of b alone: one more solve, no product."""
    tape = formula(lambda a, b: solve(a, b, transpose=False), Aval((3, 3), F64), Aval((3, 2), F64))
    names = [i.op.name for i in vjp(tape, [1], [0]).instrs]
    assert names == ["solve", "solve"]


def test_a_batch_of_right_hand_sides_is_solved_at_once() -> None:
    batch: Any = solve.batch
    tape = formula(
        lambda a, b: batch((a, b), (False, True), 5, transpose=False), Aval((3, 3), F64), Aval((5, 3, 2), F64)
    )
    (instr,) = [i for i in tape.instrs if i.op is solve]
    assert [a.aval.shape for a in instr.ins] == [(3, 3), (3, 10)]
    rng = np.random.default_rng(1)
    a, b = well_conditioned(3, 3).draw(rng, (3, 3)), rng.standard_normal((5, 3, 2))
    np.testing.assert_allclose(evaluate(tape, [a, b])[0], np.linalg.solve(a, b))


def test_costs_are_those_of_the_textbook() -> None:
    a, b = Aval((100, 100), F64), Aval((100, 10), F64)
    assert solve.cost(a, b) == pytest.approx(2 / 3 * 1e6 + 2e5)
    assert triangular_solve.cost(a, b, lower=True, transpose=False) == pytest.approx(1e5)


# ---------------------------------------------------------------------------------------- singular, complex, shapes


def test_singular_matrices_raise_as_in_numpy() -> None:
    square, column = Aval((2, 2), F64), Aval((2, 1), F64)
    with pytest.raises(np.linalg.LinAlgError):
        evaluate(formula(lambda x: inv(x), square), [np.zeros((2, 2))])
    with pytest.raises(np.linalg.LinAlgError):
        evaluate(
            formula(lambda a, b: solve(a, b, transpose=False), square, column), [np.zeros((2, 2)), np.ones((2, 1))]
        )
    lower = formula(lambda a, b: triangular_solve(a, b, lower=True, transpose=False), square, column)
    with pytest.raises(scipy.linalg.LinAlgError):
        evaluate(lower, [np.zeros((2, 2)), np.ones((2, 1))])


def test_right_hand_sides_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match="rows"):
        formula(solve, Aval((3, 3), F64), Aval((2, 1), F64))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 2, 3)])
def test_matrices_that_are_not_square_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="square"):
        formula(lambda x: inv(x), Aval(shape, F64))
