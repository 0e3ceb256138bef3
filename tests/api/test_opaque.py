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


def test_a_derivative_is_made_once_and_reads_the_rule_at_every_call() -> None:
    f = lambda x: x * 2.0
    gradient = wg.grad(lambda x: opaque.called(f, f, (x,), {}))
    for factor in (2.0, 3.0, 4.0):
        opaque.primitive_vjps[f] = lambda argnums, ans, args, kwargs, factor=factor: lambda g: [g * factor]
        assert gradient(1.0) == factor and gradient(1.5) == factor
    opaque.primitive_jvps[f] = lambda argnums, gs, ans, args, kwargs: 10.0 * gs[0]
    assert wg.jvp(lambda x: opaque.called(f, f, (x,), {}), (1.0,), (1.0,))[1] == 10.0
    del opaque.primitive_vjps[f], opaque.primitive_jvps[f]


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
