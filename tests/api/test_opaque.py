"""Steps that are run with plain values: what is an operand, what a setting, and that each is one step of the tape."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from wengert.api import opaque


def test_calls_of_one_kind_are_one_op() -> None:
    f = lambda x, n: x * n
    opaque.primitive_vjps[f] = lambda argnums, ans, args, kwargs: lambda g: [g * args[1]]
    called = lambda x, n: opaque.called(f, f, (x, n), {})
    tape = wg.trace(lambda x: called(called(x, 2), 2) + called(x, 3))(np.ones(3))
    ops = [instr.op for instr in tape.instrs if instr.op.name == "<lambda>"]
    assert len(ops) == 3 and len(set(ops)) == 2
    assert wg.grad(lambda x: np.sum(called(x, 2)))(np.ones(2)).tolist() == [2.0, 2.0]
    del opaque.primitive_vjps[f]


def test_the_cache_of_calls_is_bounded() -> None:
    f = lambda x, n: x * n
    for n in range(opaque.MOST_CALLS + 10):
        opaque.called(f, f, (2.0, n), {})
    assert len(opaque._calls) <= opaque.MOST_CALLS


def test_a_step_without_traced_values_is_a_call() -> None:
    def f(x: Any) -> Any:
        seen: list[Any] = []
        opaque.called(seen.append, seen.append, (np.zeros(2),), {})
        assert type(seen[0]) is np.ndarray
        return x

    assert wg.grad(f)(1.0) == 1.0
