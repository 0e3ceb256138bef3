"""What is noted of a loop's turn beside its traced values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import wengert as wg
from wengert.ops.control import guard


def notes(f: Any, *args: Any) -> list[Any]:
    """What was noted at each guard of ``f``, traced as a compiled function is."""
    compiled = wg.jit(f)
    seen: list[Any] = []
    compiled(*args)
    for instr in compiled.program(*args).tape.instrs:
        if instr.op is guard:
            noted = instr.params["expected"].turn
            seen.append(None if noted is None else noted[1].beside)
    return seen


def test_turns_of_traced_values_alone_are_equal() -> None:
    def f(x: Any) -> Any:
        scale, names, matrix = 0.5, ["a", ("b", 1)], np.eye(3)
        while x > 1:
            x = x * scale
        return x + len(names) + matrix[0, 0]

    first, *rest = notes(f, 10.0)
    assert first is not None
    assert len(rest) == 4
    assert set(rest) == {first}


def test_a_counter_makes_turns_different() -> None:
    def f(x: Any) -> Any:
        n = 0
        while x > 1:
            x, n = x * 0.5, n + 1
        return x * n

    seen = notes(f, 10.0)
    assert len(set(seen)) == len(seen)


def test_a_constant_that_is_written_makes_turns_different() -> None:
    def f(x: Any) -> Any:
        counts = np.zeros(3)
        while x > 1:
            x = x * 0.5
            counts[1] += 1
        return x * counts[1]

    seen = notes(f, 10.0)
    assert len(set(seen)) == len(seen)


def test_what_cannot_be_compared_makes_no_note() -> None:
    def with_an_iterator(x: Any) -> Any:
        count = itertools.count()
        while x > 1:
            x = x * 0.5 + next(count) * 0.01
        return x

    def with_an_object(x: Any) -> Any:
        class State:
            n = 0

        state = State()
        while x > 1:
            x = x * 0.5
            state.n += 1
        return x

    assert set(notes(with_an_iterator, 10.0)) == {None}
    assert set(notes(with_an_object, 10.0)) == {None}


def test_for_loops_and_branches_make_no_note() -> None:
    def hidden_count(x: Any) -> Any:
        for _ in itertools.repeat(None, 9):
            if x < 1:
                break
            x = x * 0.5
        return x

    def branch(x: Any) -> Any:
        return x if x > 1 else -x

    assert set(notes(hidden_count, 10.0)) == {None}
    assert set(notes(branch, 10.0)) == {None}


def test_a_closure_with_a_counter_makes_turns_different() -> None:
    def f(x: Any) -> Any:
        n = 0

        def tick() -> None:
            nonlocal n
            n += 1

        while x > 1:
            x = x * 0.5
            tick()
        return x

    seen = notes(f, 10.0)
    assert len(set(seen)) == len(seen)
