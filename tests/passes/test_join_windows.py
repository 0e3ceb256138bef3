"""Contractions of windows before derivatives are taken: of functions, and of the bodies of loops and branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.passes.tapes import tape
from wengert.ops.contract import contract
from wengert.ops.windows import contract_windows, windows
from wengert.passes.join_windows import join_windows
from wengert.tape import Aval, Tape, tapes_in

KERNEL, LINE = np.array([0.5, -1.0, 0.25]), np.linspace(-1.0, 1.0, 12)


def smoothed(x: Any, w: Any) -> Any:
    return np.tanh(np.lib.stride_tricks.sliding_window_view(x, 3) @ w)


def plainly(x: Any, w: Any) -> Any:
    return np.sum(smoothed(x, w))


def in_a_loop(x: Any, w: Any) -> Any:
    def step(c: Any, k: Any) -> Any:
        inner = smoothed(c, w)
        return np.concatenate([c[:1], inner, c[-1:]]), np.sum(inner)

    return np.sum(wg.scan(step, x, np.arange(3))[1])


def in_a_branch(x: Any, w: Any) -> Any:
    return wg.cond(np.sum(x) < 100, lambda x: np.sum(smoothed(x, w)), lambda x: np.sum(x), x)


def all_ops(tape: Tape) -> set[str]:
    inner = [all_ops(t) for i in tape.instrs for t in tapes_in(tuple(i.params.values()))]
    return {i.op.name for i in tape.instrs}.union(*inner)


@pytest.mark.parametrize("f", [plainly, in_a_loop, in_a_branch])
def test_the_derivative_of_windows_writes_no_window_out(f: Callable[..., Any]) -> None:
    program = wg.jit(wg.grad(f, argnums=(0, 1)), reroll=False).program(LINE, KERNEL)
    assert "contract_windows" in all_ops(program.tape)
    assert not any(name.startswith(("scatter", "windows_t")) for name in all_ops(program.tape))
    assert wg.check_derivatives(f, LINE, KERNEL) is None


def test_a_contraction_of_a_view_of_windows_is_joined_and_any_other_is_not() -> None:
    def of(x: Any, y: Any) -> Any:
        w = windows(x, shape=(10, 3), axes=(0, 0), steps=(1, 1), start=(0,))
        return contract(w, y, a=(0, 1), b=(1,), out=(0,)), contract(x, x, a=(0,), b=(0,), out=())

    made = tape(of, Aval((12,), np.dtype(float)), Aval((3,), np.dtype(float)))
    joined = join_windows(made)
    assert [i.op for i in joined.instrs] == [windows, contract_windows, contract]
    assert joined.instrs[1].ins == (made.inputs[0], made.inputs[1])
    assert join_windows(joined).instrs == joined.instrs
