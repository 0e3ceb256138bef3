"""Which values matter to a derivative: those on a differentiable way from an input to an output, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.check_op import formula
from wengert.ad.activity import active_operands, active_values, dependent, has_derivative
from wengert.ops.control import stop_gradient
from wengert.ops.elementwise import convert, exp, greater, multiply, select, sign, sin
from wengert.ops.index import gather
from wengert.ops.op import OPS
from wengert.ops.reduce import sum_
from wengert.tape import Aval, Tape

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


def test_integers_are_never_active() -> None:
    tape = formula(lambda k: convert(k, dtype=F64) * 2.0, Aval((), I64))
    assert dependent(tape, tape.inputs) == set()


def test_a_complex_value_on_the_way_is_active() -> None:
    tape = formula(lambda x: multiply(convert(x, dtype=np.dtype(complex)), 2.0), S)
    assert dependent(tape, tape.inputs) == {*tape.inputs, *tape.outputs, tape.instrs[0].outs[0]}
