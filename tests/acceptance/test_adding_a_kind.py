"""A new kind of kernel touches three files: the class with its facts, a row of planning, a row of lowering. An invented
kind is added in those three places, and passes, plans and native code take it. CONTRIBUTING.md has the steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import wengert as wg
from tests.ops.check_op import formula
from wengert.ad.reverse import vjp
from wengert.codegen import lower
from wengert.codegen.calls import Call
from wengert.codegen.nests.build import nest_call
from wengert.codegen.target import Target
from wengert.ops import OPS
from wengert.ops.elementwise import add, exp
from wengert.ops.kernels import Kernel
from wengert.ops.op import Op, linear
from wengert.ops.reduce import sum_
from wengert.passes.plan import kinds
from wengert.passes.plan.places import PlanStep
from wengert.passes.plan.planner import Planner
from wengert.tape import Aval, Instr


class Doubled(Kernel):
    """Place one, in ``ops/kernels.py``: twice each element, which is read before it is written."""

    is_in_step = True


planned: list[Instr] = []


def plan_doubled(planner: Planner, instr: Instr, kernel: Doubled) -> None:
    """Place two, in ``passes/plan/kinds.py``; a kind without a row of its own is planned so too."""
    planned.append(instr)
    planner.run_step(instr)


def lower_doubled(step: PlanStep, instr: Instr, kernel: Doubled, target: Target) -> Call:
    """Place three, in ``codegen/lower.py``: x + x, as a nest of loops."""
    (x,) = instr.ins
    twice = Instr(add, (x, x), instr.outs, {}, instr.source)
    return nest_call(step._replace(instr=twice, ins=step.ins * 2), target)


@pytest.fixture
def op(monkeypatch: pytest.MonkeyPatch) -> Iterator[Op]:
    made = linear(
        lambda x: 2 * x,
        name="doubled",
        type=lambda x: x,
        transpose=lambda ct, x: made(ct),
        kernel=Doubled(),
        batch=lambda args, batched: (made(*args), 0),
    )
    monkeypatch.setitem(kinds.PLANNING, Doubled, plan_doubled)
    monkeypatch.setitem(lower.LOWERING, Doubled, lower_doubled)
    planned.clear()
    yield made
    del OPS["doubled"]


@pytest.mark.machine_code("a kernel is planned")
def test_a_kind_in_three_places_is_planned_lowered_and_differentiated(op: Op) -> None:
    tape = formula(lambda x: sum_(exp(op(op(x * 2))), axis=(0,)), Aval((5,), np.dtype(float)))
    x = np.linspace(-0.2, 0.2, 5)
    both = vjp(tape, [0], [0])
    (value, gradient) = wg.compile(both)(x, np.ones(()))
    np.testing.assert_allclose(value, np.exp(8 * x).sum())
    np.testing.assert_allclose(gradient, 8 * np.exp(8 * x))
    assert len(planned) == 4 and all(instr.op is op for instr in planned)


@pytest.mark.machine_code("the kernels of native programs are counted")
def test_it_is_machine_code_and_may_work_in_place(op: Op) -> None:
    program = wg.compile(formula(lambda x: op(op(exp(x))), Aval((5,), np.dtype(float))))
    assert [k.kind for k in program.kernels] == ["loops"] * 3
    first, second, _ = program.plan.steps
    assert first.outs[0].buffer is second.outs[0].buffer  # exp's result is overwritten


@pytest.mark.machine_code("the kernels of native programs are counted")
def test_without_its_row_of_lowering_it_is_right_and_says_that_it_is_slow(
    op: Op, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(lower.LOWERING, Doubled)
    program = wg.compile(formula(lambda x: exp(op(x)), Aval((5,), np.dtype(float))))
    assert [k.why for k in program.kernels if k.kind == "callback"] == ["no native lowering"]
    np.testing.assert_allclose(program(np.ones(5))[0], np.exp(2 * np.ones(5)))
