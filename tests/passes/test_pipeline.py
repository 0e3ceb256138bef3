"""The lists of passes: who runs which, and what is looked at after each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import config, passes
from wengert.codegen.lower import supports
from wengert.errors import InternalError
from wengert.tape import Tape

X = np.array([0.5, 1.0, 2.0])


@pytest.mark.parametrize("is_checked", [True, False])
def test_a_pass_that_breaks_a_tape_is_named(monkeypatch: pytest.MonkeyPatch, is_checked: bool) -> None:
    def forget_the_first(tape: Tape) -> Tape:
        return tape.replace(instrs=tape.instrs[1:])

    monkeypatch.setattr(config, "check", is_checked)
    tape = wg.trace(lambda x: np.sin(np.cos(x)))(X)
    if not is_checked:
        assert len(passes.run(tape, [forget_the_first])) == 1
        return
    with pytest.raises(InternalError, match="after forget_the_first"):
        passes.run(tape, [*passes.PIPELINE, forget_the_first])


def test_every_pass_has_a_name_and_stands_in_one_list() -> None:
    every = [*passes.ONCE, *passes.PIPELINE, *passes.BEFORE_KERNELS]
    assert len({p.__name__ for p in every}) == len(every)
    assert passes.ASK_WHAT_IS_NATIVE.issubset(passes.BEFORE_KERNELS)


def test_what_is_native_is_told_to_those_who_ask() -> None:
    tape = passes.run(wg.trace(lambda x: np.sum(np.sin(x) * np.cos(x)))(X))
    assert len(passes.run(tape, passes.BEFORE_KERNELS, supports)) == 1
    nothing = passes.run(tape, passes.BEFORE_KERNELS, lambda *_: False)
    assert [i.op.name for i in nothing.instrs] == [i.op.name for i in tape.instrs]


def test_jit_and_compile_make_the_same_program() -> None:
    c, fixed = np.full(3, 2.0), wg.constant(np.full(3, 3.0))

    def f(x: Any) -> Any:
        y = x * np.sum(fixed * fixed) if x[0] > 0 else x
        return y + c * fixed + np.sqrt(c)

    jitted = wg.jit(f).program(X).tape
    compiled = wg.compile(wg.trace(f)(X)).tape
    assert str(compiled) == str(jitted)
    assert [i.op.name for i in compiled.instrs].count("sum") == 0


def test_a_compiled_tape_reads_what_it_captured_at_every_call() -> None:
    """Only what was promised never to change is computed when the program is made."""
    c, fixed = np.array([1.0, 2.0, 3.0]), wg.constant(np.array([1.0, 10.0, 100.0]))
    view = c.view()
    view.flags.writeable = False  # read-only, but its owner may be written
    program = wg.compile(wg.trace(lambda x: x + np.exp(c) + view * fixed)(X))
    for _ in range(3):
        np.testing.assert_allclose(program(X), X + np.exp(c) + c * fixed, rtol=1e-15)
        c += 1


def test_equal_bodies_stay_one_object() -> None:
    """Steps are equal if their bodies are: the pipeline makes one map of two, and no copies of its body."""
    tape = wg.trace(lambda x: wg.broadcast(body, x) + wg.broadcast(body, x))(X)
    before = [i.params["body"] for i in tape.instrs if "body" in i.params]
    after = [i.params["body"] for i in passes.run(tape).instrs if "body" in i.params]
    assert len(before) == 2 and len(after) == 1 and after[0] is before[0] is before[1]


def body(x: Any) -> Any:
    return x * x + 1
