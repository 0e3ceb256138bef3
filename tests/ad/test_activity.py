"""Which values matter to a derivative: those on a differentiable way from an input to an output, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.ops.check_op import formula
from wengert.ad.activity import (
    active_operands,
    active_values,
    before_saturation,
    dependent,
    first_not_holomorphic,
    has_derivative,
)
from wengert.higher.mapped import map_scalar
from wengert.ops.control import stop_gradient
from wengert.ops.elementwise import absolute, conjugate, convert, exp, greater, multiply, real, select, sign, sin
from wengert.ops.index import gather
from wengert.ops.kernels import Callback, flops
from wengert.ops.op import OPS, ZERO, Op
from wengert.ops.reduce import sum_
from wengert.ops.shape import reshape
from wengert.tape import Aval, Instr, Tape, Var

F64, I64 = np.dtype(float), np.dtype(int)
S, V3 = Aval((), F64), Aval((3,), F64)


def active_ops(tape: Tape, wrt: list[int], outputs: list[int]) -> list[str]:
    active = active_values(tape, [tape.inputs[k] for k in wrt], [tape.outputs[k] for k in outputs])
    return [i.op.name for i in tape.instrs if not active.isdisjoint(i.outs)]


def test_forward_reach_and_backward_need_are_both_asked() -> None:
    def f(x: Any, y: Any) -> Any:
        needed = sin(x)
        _unneeded = exp(x)
        constant = exp(y)
        return needed * constant, _unneeded

    tape = formula(f, S, S)
    assert active_ops(tape, [0], [0]) == ["sin", "multiply"]
    assert active_ops(tape, [0], [1]) == ["exp"]
    assert active_ops(tape, [1], [0]) == ["exp", "multiply"]
    assert active_ops(tape, [1], [1]) == []
    assert active_ops(tape, [], [0, 1]) == []


@pytest.mark.parametrize(
    "f",
    [
        lambda x: sign(x) * 2.0,
        lambda x: stop_gradient(sin(x)),
        lambda x: convert(greater(x, 0.0), dtype=F64),
        lambda x: convert(convert(x, dtype=I64), dtype=F64),
    ],
)
def test_a_way_without_a_derivative_is_no_way(f: Any) -> None:
    tape = formula(f, S)
    assert tape.outputs[0] not in dependent(tape, tape.inputs)
    assert active_ops(tape, [0], [0]) == []
    assert active_values(tape, tape.inputs, tape.outputs) == set()


def test_indices_and_conditions_are_not_active() -> None:
    tape = formula(lambda x, i: gather(x, i), V3, Aval((2,), I64))
    (instr,) = tape.instrs
    assert active_operands(instr, set(tape.inputs)) == [0]
    tape = formula(lambda c, x, y: select(c, x, y), Aval((3,), np.dtype(bool)), V3, V3)
    assert active_operands(tape.instrs[0], set(tape.inputs)) == [1, 2]
    assert active_operands(tape.instrs[0], {tape.inputs[2]}) == [2]


def test_has_derivative_asks_the_operand() -> None:
    assert has_derivative(sin, 0, {}) and has_derivative(multiply, 1, {})
    assert not has_derivative(sign, 0, {}) and not has_derivative(stop_gradient, 0, {})
    assert has_derivative(gather, 0, {}) and not has_derivative(gather, 1, {})
    assert not has_derivative(OPS["argmax"], 0, {"axis": 0})
    assert has_derivative(sum_, 0, {"axis": (0,)})
    assert has_derivative(OPS["cholesky"], 0, {})
    facts: Any = {"reference": abs, "type": lambda x: x, "kernel": Callback("a test"), "cost": flops(1)}
    assert has_derivative(Op(name="forward", pushforward=lambda xs, dxs, y: dxs[0], **facts), 0, {})
    assert not has_derivative(Op(name="constant", pushforward=ZERO, **facts), 0, {})
    assert not has_derivative(Op(name="nothing", **facts), 0, {})


def test_integers_are_never_active() -> None:
    tape = formula(lambda k: convert(k, dtype=F64) * 2.0, Aval((), I64))
    assert dependent(tape, tape.inputs) == set()


def test_a_complex_value_on_the_way_is_active() -> None:
    tape = formula(lambda x: multiply(convert(x, dtype=np.dtype(complex)), 2.0), S)
    assert dependent(tape, tape.inputs) == {*tape.inputs, *tape.outputs, tape.instrs[0].outs[0]}


# ------------------------------------------------------------------------------------- without a complex derivative

C, C3 = Aval((), np.dtype(complex)), Aval((3,), np.dtype(complex))
Z = np.array([1 + 2j, 0.5j, -1.0])
W = np.array([2.0 - 1j, 1.0, 1j])


def refused(f: Any, *avals: Aval, wrt: int = 1) -> str | None:
    """The first step of ``f`` that has no complex derivative in its first ``wrt`` operands."""
    tape = formula(f, *avals)
    found = first_not_holomorphic(tape, tape.inputs[:wrt])
    return found and found.op.name


def test_steps_without_a_complex_derivative_are_found() -> None:
    assert refused(lambda z: multiply(exp(z), z), C3) is None
    assert refused(lambda z: multiply(conjugate(z), z), C3) == "conjugate"
    assert refused(lambda z: multiply(real(exp(z)), 2.0), C3) == "real"
    assert refused(lambda z: absolute(reshape(z, shape=(3, 1))), C3) == "absolute"
    assert refused(lambda z: OPS["cholesky"](z), Aval((3, 3), C.dtype)) == "cholesky"
    assert refused(lambda z: OPS["inv"](z), Aval((3, 3), C.dtype)) is None


def test_steps_that_the_derivative_does_not_go_through_are_no_reason_to_refuse() -> None:
    assert refused(lambda z, w: multiply(z, conjugate(w)), C3, C3) is None
    assert refused(lambda z, w: multiply(z, conjugate(w)), C3, C3, wrt=2) == "conjugate"
    assert refused(lambda z: multiply(z, conjugate(stop_gradient(z))), C3) is None
    assert refused(lambda z: (conjugate(z), multiply(z, z))[1], C3) is None
    assert refused(lambda z, x: multiply(z, sin(x)), C3, V3, wrt=2) is None


def test_steps_within_a_scalar_function_without_a_complex_derivative_are_found() -> None:
    holomorphic, not_so = formula(lambda z: multiply(exp(z), z), C), formula(lambda z: multiply(conjugate(z), z), C)
    assert refused(lambda z: map_scalar(z, body=holomorphic), C3) is None
    assert refused(lambda z: map_scalar(z, body=not_so), C3) == "conjugate"
    assert refused(lambda z: conjugate(map_scalar(z, body=holomorphic)), C3) == "conjugate"


def test_an_integer_beside_a_complex_result_is_no_reason_to_refuse() -> None:
    pair = Op(
        name="pair",
        reference=lambda z: (z, 1),
        type=lambda z: (z, I64),
        kernel=Callback("a test"),
        cost=flops(1),
        pullback=(lambda ct, z, y: ct[0],),
    )
    z, number, twice = Var(C), Var(Aval((), I64)), Var(C)
    instr = Instr(pair, (z,), (twice, number), {}, None)
    tape = Tape((z,), (), (instr,), (twice, number))
    assert first_not_holomorphic(tape, [z]) is None
    assert dependent(tape, [z]) == {z, twice}


LOOPS: dict[str, tuple[Any, bool]] = {
    "of the second carry, beside a constant": (
        lambda z: wg.fori_loop(0, 3, lambda k, c: (c[1] * W, c[0], np.conj(c[1])), (z, W * 0, W * 0))[2],
        False,
    ),
    "of the carry": (lambda z: wg.scan(lambda c, x: (np.conj(c) * x, None), z, Z)[0], False),
    "of a carry that moves later": (
        lambda z: wg.fori_loop(0, 3, lambda k, c: (c[1], np.conj(c[0])), (Z, z))[1],
        False,
    ),
    "of a constant": (lambda z: wg.scan(lambda c, x: (c * np.conj(x), None), z, Z)[0], True),
    "of a carry that does not move": (
        lambda z: wg.fori_loop(0, 3, lambda k, c: (c[0] * c[1], np.conj(c[1])), (z, Z))[0],
        True,
    ),
    "of a result that does not move": (
        lambda z: np.conj(wg.fori_loop(0, 3, lambda k, c: (c[0] * 2, c[1] + 1), (z, Z))[1]) + z,
        True,
    ),
    "of the slices": (lambda z: wg.scan(lambda c, x: (c, np.conj(x)), 0.0, np.stack([z, z]))[1], False),
    "of one branch": (lambda z: wg.cond(np.abs(z[0]) > 1, lambda z: z, lambda z: np.conj(z), z), False),
    "of no branch": (lambda z: wg.cond(np.abs(z[0]) > 1, lambda z: z, lambda z: z * z, z), True),
    "after a loop": (lambda z: np.conj(wg.scan(lambda c, x: (c * x, None), z, Z)[0]), False),
}


@pytest.mark.parametrize("case", LOOPS)
def test_bodies_are_followed_for_as_many_iterations_as_change_what_moves(case: str) -> None:
    f, is_holomorphic = LOOPS[case]
    tape = wg.trace(f)(Z)
    found = first_not_holomorphic(tape, tape.inputs[:1])
    assert (found is None) == is_holomorphic
    assert found is None or found.op.name == "conjugate"


# ------------------------------------------------------------------------------------------------ before saturation


def test_the_way_to_a_step_that_saturates_is_of_elements_and_their_sums() -> None:
    tape = formula(lambda x, y, z: (exp(sum_(multiply(x, sin(y)), axis=(0,))), multiply(z, z)), V3, V3, V3)
    found = before_saturation(tape)
    x, y, z = tape.inputs
    assert {x, y} < found and z not in found
    assert not found.isdisjoint([o for i in tape.instrs if i.op.name == "sum" for o in i.outs])
    none = formula(lambda x: multiply(sin(x), x), V3)
    assert before_saturation(none) == set()
    blocked = formula(lambda a, x: exp(OPS["sort"](x, axis=0)), V3, V3)
    assert blocked.inputs[1] not in before_saturation(blocked)
