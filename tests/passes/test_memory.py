"""What a plan stores and why: a tape for each reason, and of random ones that the whole arena is accounted for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.passes.random_tapes import random_tape
from tests.passes.tapes import tape
from wengert import extension, passes
from wengert.codegen.lower import supports
from wengert.errors import StructureError
from wengert.ops.elementwise import cos, exp, multiply, sin
from wengert.ops.index import reverse, set_slice
from wengert.ops.linalg import cofactor
from wengert.ops.reduce import cumsum, sum_
from wengert.ops.shape import broadcast_to, concatenate, transpose
from wengert.passes.fuse import fuse
from wengert.passes.memory import Memory, Stored, Why, memory
from wengert.passes.plan.planner import plan
from wengert.passes.rematerialise import CHEAP_FLOPS
from wengert.passes.simplify import drop_dead
from wengert.tape import Aval, Lit, Tape

F64 = np.dtype(float)
VECTOR, LONG = Aval((3,), F64), Aval((5000,), F64)
MATRIX, SQUARE = Aval((60, 50), F64), Aval((4, 4), F64)


def memory_of(f: Callable[..., Any], *avals: Aval) -> Memory:
    return memory(plan(passes.run(tape(f, *avals), passes.BEFORE_KERNELS, supports)))


def reads_of(f: Callable[..., Any], *avals: Aval) -> list[tuple[str, str, Why]]:
    """(what made a value, what reads it, why from memory)."""
    return [(s.op, r.op, r.why) for s in memory_of(f, *avals).stored for r in s.reads]


# ---------------------------------------------------------------------------------------------------- the reasons


def test_a_dear_value_is_a_residual_and_a_cheap_one_is_computed_again() -> None:
    """Between the forward part of z² and its backward part lies a scan, which no kernel reaches across. Of exp(x) and
    z = x exp(x) + 1, which are both read there, exp(x) is kept; so are the sums, which the derivative of their square
    reads."""

    def loss(x: Any) -> Any:
        z = np.exp(x) * x + 1
        return np.sum(np.cumsum(z * z) ** 2)

    program = wg.jit(wg.value_and_grad(loss)).program(np.linspace(0, 1, 5000))
    residuals = [s for s in program.memory().stored if s.is_residual]
    assert [s.op for s in residuals] == ["exp", "cumsum"]
    kept = residuals[0]
    assert kept.flops > CHEAP_FLOPS
    assert kept.reads[-1].why is Why.DEAR
    assert f"{kept.flops:g} flops an element" in kept.why
    assert kept.source is not None and kept.source.where.startswith("test_memory.py:")


@pytest.mark.parametrize(
    ("f", "avals", "expected"),
    [
        (lambda x: cumsum(sin(x), axis=0), [LONG], ("sin", "cumsum", Why.READER)),
        (lambda x: exp(cumsum(x, axis=0)), [LONG], ("cumsum", "exp", Why.MAKER)),
        (lambda x: (cumsum(y := sin(x), axis=0), cos(reverse(y, axis=0))), [LONG], ("sin", "cos", Why.LAYOUT)),
        (
            lambda x: (cumsum(y := sin(x), axis=0), exp(transpose(y, axes=(1, 0)))),
            [MATRIX],
            ("sin", "exp", Why.LAYOUT),
        ),
        (
            lambda x: cumsum(concatenate(sin(x), cos(x), axis=0), axis=0),
            [LONG],
            ("sin", "concatenate", Why.IN_PLACE),
        ),
        (
            lambda x: cumsum(set_slice(sin(x), Lit(0.0), index=((0, 2, 1),)), axis=0),
            [LONG],
            ("sin", "set_slice", Why.IN_PLACE),
        ),
    ],
)
def test_each_reason(f: Callable[..., Any], avals: Sequence[Aval], expected: Any) -> None:
    assert expected in reads_of(f, *avals)


def test_what_costs_next_to_nothing_to_read_back() -> None:
    def f(x: Any) -> Any:
        y = sin(x)
        return y * cumsum(y, axis=0)

    assert ("sin", "multiply", Why.SMALL) in reads_of(f, VECTOR)
    assert ("sin", "multiply", Why.DEAR) in reads_of(f, LONG)


def test_a_value_of_no_more_than_its_operands_is_read() -> None:
    """x + y of two arrays that the later kernel does not read: two reads would replace one."""

    def f(x: Any, y: Any) -> Any:
        total = cumsum(x, axis=0) + cumsum(y, axis=0)
        return total * cumsum(total, axis=0)

    assert ("add", "multiply", Why.CUT) in reads_of(f, LONG, LONG)


def test_a_sum_is_not_computed_again() -> None:
    """What a kernel reduces and another one reads as it is."""

    def f(x: Any) -> Any:
        total = sum_(multiply(x, x), axis=(1,))
        return total * cumsum(total, axis=0)

    assert ("sum", "multiply", Why.REDUCED) in reads_of(f, Aval((5000, 4), F64))


# ------------------------------------------------------------------------------------------------- what is stored


def test_results_copies_and_room() -> None:
    """A result has its array; LAPACK takes matrices in C order, and room."""
    stored = memory_of(lambda a: cofactor(transpose(a, axes=(1, 0))), SQUARE).stored
    by_op = {s.op: s for s in stored}
    assert set(by_op) == {"copy", "room", "cofactor"}
    assert by_op["cofactor"].is_result and by_op["cofactor"].why == "a result"
    assert by_op["copy"].place.aval == SQUARE
    assert (by_op["copy"].first, by_op["copy"].last) == (0, 1)
    assert by_op["copy"].why == by_op["room"].why == "step 1 needs it"
    assert [s.flops for s in stored] == [0.0] * 3, "none of them is computed again element by element"


def test_a_view_is_no_value() -> None:
    """Who reads it reads what is under it, however many views lie between."""
    made = memory_of(lambda x: cumsum(reverse(broadcast_to(cumsum(x, axis=0), shape=(2, 3)), axis=1), axis=0), VECTOR)
    assert [s.op for s in made.stored] == ["cumsum", "cumsum"]
    assert [(r.op, r.step) for r in made.stored[0].reads] == [("cumsum", 1)]


def test_values_that_share_memory_one_after_the_other() -> None:
    made = memory_of(lambda x: cumsum(exp(cumsum(x, axis=0)), axis=0), LONG)
    first, second, _ = made.stored
    assert (first.op, second.op) == ("cumsum", "exp")
    assert first.place.buffer is second.place.buffer
    assert (first.first, first.last, second.first, second.last) == (0, 1, 1, 2)


def test_a_program_without_a_plan_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wg.config, "native", False)
    program = wg.jit(np.sin).program(np.ones(3))
    why = "WENGERT_PURE is " if extension.python_forms() else "it is switched off"
    with pytest.raises(StructureError, match="NumPy runs this program, without a plan: " + why):
        program.memory()


@pytest.mark.parametrize("is_fused", [False, True], ids=["as it is", "fused"])
@given(seed=st.integers(0, 2**32 - 1))
def test_the_whole_arena_is_accounted_for(seed: int, is_fused: bool) -> None:
    """Whatever a step reads or writes, a value is stored there at that time; everything stored has a reason."""
    before: Tape = drop_dead(random_tape(seed))
    made = plan(fuse(before, supports) if is_fused else before)
    found = memory(made)
    lives: dict[int, list[Stored]] = {}
    for s in found.stored:
        lives.setdefault(id(s.place.buffer), []).append(s)
        assert 0 <= s.first <= s.last < len(made.steps)
        assert s.why
    for k, step in enumerate(made.steps):
        for place in (*step.ins, *step.outs, *([step.work] if step.work else [])):
            if place.buffer.kind == "arena" and place.aval.size:
                assert any(s.first <= k <= s.last for s in lives[id(place.buffer)]), (k, step)
    assert str(found).count("\n") == len(found.stored) + 1
