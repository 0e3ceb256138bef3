"""Forward mode, as short tapes: each step is followed by its tangent, and a tangent that is zero costs nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.check_op import evaluate, formula
from wengert.ad.forward import jvp, tangent_source
from wengert.errors import MissingRuleError
from wengert.ops.contract import matmul
from wengert.ops.control import stop_gradient
from wengert.ops.elementwise import convert, copysign, divide, exp, greater, multiply, select, sign, sin, sqrt
from wengert.ops.index import slice_
from wengert.ops.kernels import Callback, flops
from wengert.ops.linalg.solutions import solve
from wengert.ops.op import Op
from wengert.ops.reduce import sum_
from wengert.ops.shape import concatenate, transpose
from wengert.source import Source
from wengert.tape import Aval, Instr, Lit, Tape, Var

F64 = np.dtype(float)
S, V3, M23 = Aval((), F64), Aval((3,), F64), Aval((2, 3), F64)
X, DX = np.array([0.5, 1.0, 2.0]), np.array([1.0, -1.0, 0.25])


def names(tape: Tape) -> list[str]:
    return [i.op.name for i in tape.instrs]


def test_a_product_prints_as_by_hand() -> None:
    joint = jvp(formula(lambda x, y: sin(x) * y, S, S), (0, 1))
    assert str(joint) == (
        "jvp of tape(v0: float64[], v1: float64[], v2: float64[], v3: float64[]):\n"
        "  v4: float64[] = sin(v0)\n"
        "  v5: float64[] = cos(v0)\n"
        "  v6: float64[] = multiply(v2, v5)\n"
        "  v7: float64[] = multiply(v4, v1)\n"
        "  v8: float64[] = multiply(v6, v1)\n"
        "  v9: float64[] = multiply(v3, v4)\n"
        "  v10: float64[] = add(v8, v9)\n"
        "  return v7, v10"
    )


def test_only_what_depends_on_the_inputs_chosen_has_a_tangent() -> None:
    joint = jvp(formula(lambda x, y: exp(sin(y)) * x, S, S), (0,))
    assert names(joint) == ["sin", "exp", "multiply", "multiply"]
    assert len(joint.inputs) == 3


def test_only_the_outputs_chosen_have_a_tangent() -> None:
    tape = formula(lambda x: (sin(x), x, Lit(2.0)), S)
    joint = jvp(tape, (0,), outputs=(1,))
    assert len(joint.outputs) == 4
    assert joint.outputs[3] is joint.inputs[1]
    every = evaluate(jvp(tape, (0,)), [np.float64(0), np.float64(5)])
    assert every == [0, 0, 2, 5, 5, 0]


def test_a_linear_op_acts_on_the_tangent_as_on_the_primal() -> None:
    joint = jvp(formula(lambda x: transpose(x, axes=(1, 0)), M23), (0,))
    first, second = joint.instrs
    assert first.op is second.op and first.params == second.params and second.ins == (joint.inputs[1],)
    joint = jvp(formula(lambda x: sum_(slice_(x, index=((1, 2, 1),)), axis=(0,)), V3), (0,))
    assert names(joint) == ["slice", "slice", "sum", "sum"]


def test_a_product_of_matrices_has_a_term_for_each_operand_that_varies() -> None:
    f = lambda a, x: matmul(a, x)
    both, one = jvp(formula(f, M23, V3), (0, 1)), jvp(formula(f, M23, V3), (1,))
    assert names(both).count("contract") == 3 and names(one).count("contract") == 2
    A, dA = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    np.testing.assert_allclose(evaluate(both, [A, X, dA, DX])[1], dA @ X + A @ DX)
    np.testing.assert_allclose(evaluate(one, [A, X, DX])[1], A @ DX)


def test_a_tangent_that_is_zero_costs_nothing() -> None:
    for f in (sign, stop_gradient, lambda x: greater(x, 0.0)):
        tape = formula(f, V3)
        joint = jvp(tape, (0,))
        assert joint.instrs[: len(tape)] == tape.instrs
        assert not np.any(evaluate(joint, [X, DX])[1])
        assert joint.out_avals[1] is tape.out_avals[0]


def test_a_term_that_is_zero_is_no_step() -> None:
    """copysign(x, y) has no derivative in y."""
    both, one = [jvp(formula(copysign, V3, V3), wrt) for wrt in ((0, 1), (0,))]
    assert names(both) == names(one)


def test_an_integer_has_no_tangent() -> None:
    INT = np.dtype(np.int64)
    joint = jvp(formula(lambda n, x: multiply(convert(n, dtype=F64), x), Aval((3,), INT), V3), (0, 1))
    n, dn = np.array([2, 3, 4]), np.array([7, 7, 7])
    np.testing.assert_array_equal(evaluate(joint, [n, X, dn, DX])[1], n * DX)


def test_a_rule_is_not_given_zeros_for_what_does_not_vary() -> None:
    """a⁻¹ db is one more solution; with zeros for da there would be a product too."""
    M33, M31 = Aval((3, 3), F64), Aval((3, 1), F64)
    joint = jvp(formula(lambda a, b: solve(a, b, transpose=False), M33, M31), (1,))
    assert names(joint) == ["solve", "solve"]


def test_a_branch_not_taken_does_not_leak() -> None:
    f = lambda x: select(greater(x, 0.0), sqrt(x), 0.0 * x)
    x = np.array([0.0, 1.0, 4.0])
    np.testing.assert_array_equal(evaluate(jvp(formula(f, V3), (0,)), [x, np.ones(3)])[1], [0, 0.5, 0.25])


def test_nan_safe() -> None:
    f = lambda x: sqrt(multiply(x, 0.0))
    safe, plain = jvp(formula(f, V3), (0,), nan_safe=True), jvp(formula(f, V3), (0,))
    np.testing.assert_array_equal(evaluate(safe, [X, DX])[1], np.zeros(3))
    assert np.isnan(evaluate(plain, [X, DX])[1]).all()


def test_nan_safe_holds_where_a_mask_does() -> None:
    f = lambda x: sqrt(select(greater(x, -1.0), multiply(x, 0.0), Lit(0.0)))
    safe, plain = jvp(formula(f, V3), (0,), nan_safe=True), jvp(formula(f, V3), (0,))
    x = np.array([1.0, 0.0, -2.0])
    np.testing.assert_array_equal(evaluate(safe, [x, DX])[1], np.zeros(3))
    np.testing.assert_array_equal(evaluate(plain, [x, DX])[1], [np.nan, np.nan, 0])


def test_integers_among_the_inputs_have_no_tangent() -> None:
    tape = formula(lambda x, k: (x * 2.0, k), S, Aval((), np.dtype(int)))
    joint = jvp(tape, (0,))
    assert joint.out_avals[3] is Aval((), np.dtype(int))
    assert evaluate(joint, [np.float64(3), np.int64(4), np.float64(1)]) == [6, 4, 2, 0]


def test_what_forward_mode_adds_has_the_line_it_belongs_to() -> None:
    line = Source("m.py", 7, "f")
    tape = formula(sin, S)
    tape = tape.replace(instrs=tuple(i._replace(source=line) for i in tape.instrs))
    roles = [i.source.role for i in jvp(tape, (0,)).instrs if i.source]
    assert roles == ["", "tangent", "tangent"]
    assert tangent_source(tape.instrs[0]._replace(source=None)) is None


def test_the_tape_is_linear_in_the_tape() -> None:
    def chain(n: int) -> int:
        def f(x: Any) -> Any:
            for _ in range(n):
                x = sin(x) * x
            return x

        return len(jvp(formula(f, S), (0,)))

    assert chain(40) - chain(20) == 2 * (chain(20) - chain(10))


def test_an_integer_that_is_returned_has_the_tangent_zero_whatever_is_given() -> None:
    tape = formula(lambda x, k: (x * 2.0, k), S, Aval((), np.dtype(int)))
    assert evaluate(jvp(tape, (0, 1)), [np.float64(3), np.int64(4), np.float64(1), np.int64(7)]) == [6, 4, 2, 0]


def test_the_tangents_of_two_branches_are_selected_once() -> None:
    """They are neither made dense one by one nor added."""
    f = lambda x, y: select(greater(x, 0.0), sin(x), y)
    joint = jvp(formula(f, V3, V3), (0, 1))
    assert names(joint).count("select") == 2 and "add" not in names(joint)
    np.testing.assert_array_equal(evaluate(joint, [X - 1, X, DX, DX + 5])[1], [6, 4, np.cos(1) * DX[2]])


def test_a_branch_within_the_other_branch_has_no_tangent_and_is_no_step() -> None:
    def f(x: Any, y: Any) -> Any:
        mask = greater(x, 0.0)
        return select(mask, y, select(mask, sqrt(x), Lit(0.0)))

    joint = jvp(formula(f, V3, V3), (0, 1))
    assert "add" not in names(joint) and "broadcast_to" not in names(joint)
    np.testing.assert_array_equal(evaluate(joint, [X - 1, X, DX, DX + 5])[1], [0, 0, DX[2] + 5])


def test_a_masked_tangent_keeps_its_mask_on_the_way() -> None:
    """Through steps of one operand and of two, and views: what is not selected meets no infinite slope."""

    def f(x: Any, y: Any) -> Any:
        kept = select(greater(x, 0.0), x, Lit(0.0))
        return transpose(sqrt(multiply(kept, y)), axes=(1, 0))

    m, dm = np.array([[1.0, -1.0, 4.0], [-2.0, 1.0, 9.0]]), np.ones((2, 3))
    with np.errstate(all="ignore"):
        got = evaluate(jvp(formula(f, M23, M23), (0,)), [m, dm, dm])[1]
    np.testing.assert_array_equal(got, np.where(m > 0, 0.5 / np.sqrt(np.abs(m)), 0).T)


def test_what_is_infinite_whatever_the_operand_has_no_tangent_before_it_saturates() -> None:
    q, t = np.array([1.0, -np.inf, 2.0]), np.float64(2)
    joint = jvp(formula(lambda q, t: exp(divide(q, t)), V3, S), (1,))
    with np.errstate(all="ignore"):
        got = evaluate(joint, [q, t, np.float64(1)])[1]
        np.testing.assert_allclose(got, [-np.exp(0.5) / 4, 0, -np.exp(1) / 2], rtol=1e-15)
        plain = evaluate(jvp(formula(divide, V3, S), (1,)), [q, t, np.float64(1)])[1]
    np.testing.assert_array_equal(plain, [-0.25, np.inf, -0.5])


def test_linear_in_all_operands_together_zeros_stand_for_what_does_not_vary() -> None:
    joint = jvp(formula(lambda x, y: concatenate(x, y, axis=0), V3, V3), (1,))
    np.testing.assert_array_equal(evaluate(joint, [X, X, DX])[1], [0, 0, 0, *DX])
    both = jvp(formula(lambda x, y: concatenate(x, y, axis=0), V3, V3), (0, 1))
    np.testing.assert_array_equal(evaluate(both, [X, X, X, DX])[1], [*X, *DX])


def test_an_op_without_a_pushforward_is_named_and_what_depends_on_nothing_is_left_out() -> None:
    bare = Op(
        name="bare",
        reference=np.sin,
        type=lambda x: x,
        kernel=Callback("a test"),
        cost=flops(1),
        pullback=(lambda ct, x, y: ct,),
    )
    x, y = Var(S), Var(S)
    tape = Tape((x,), (), (Instr(bare, (x,), (y,), {}, Source("model.py", 12, "loss")),), (y,))
    with pytest.raises(MissingRuleError, match=r"bare has no pushforward(?s:.*)model.py:12"):
        jvp(tape, (0,))
    assert len(jvp(tape, ())) == 1
