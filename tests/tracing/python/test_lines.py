"""The user's lines: where a step comes from, and the calls that led there."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.source import Source
from wengert.tracing import trace as trace_module
from wengert.tracing.callers import is_internal
from wengert.tracing.python import lines
from wengert.tracing.python.bytecode import code_of


def test_a_line_of_a_frame_and_where_a_function_begins() -> None:
    def f() -> Source:
        return lines.line_of(sys._getframe(), 7)

    assert f() == Source(__file__, 7, "f")
    assert lines.first_line(code_of(f)).file == __file__
    with open(__file__) as file:
        assert "def f()" in file.readlines()[lines.first_line(code_of(f)).line - 1]


def test_a_copy_of_a_function_with_other_code_begins_where_the_function_does() -> None:
    code = code_of(test_a_line_of_a_frame_and_where_a_function_begins)
    assert lines.first_line(code.replace(co_stacksize=99)) == lines.first_line(code)


def test_lines_that_were_let_go_of_are_found_again() -> None:
    found = lines.Lines(lambda frame: False)

    def here() -> Source:
        return found.at(sys._getframe(1))

    kept = []
    for _ in range(2):
        kept.append(here())
    assert kept[0] is kept[1] and kept[0].parent is not None
    found.clear()
    for _ in range(2):
        kept.append(here())
    assert kept[2] is kept[3] and kept[2].function == kept[0].function


def test_a_step_says_the_users_line_and_the_calls_that_led_there() -> None:
    def inner(x: Any) -> Any:
        return np.sin(x)  # inner

    def f(x: Any) -> Any:
        return inner(x) + 1  # f

    tape = wg.trace(f)(1.0)
    sin_at, add_at = [i.source for i in tape.instrs]
    assert sin_at is not None and add_at is not None and sin_at.parent is not None
    assert (sin_at.function, sin_at.parent.function, add_at.function) == ("inner", "f", "f")
    assert sin_at.parent.line == add_at.line and sin_at.file.endswith("test_lines.py")
    assert add_at.parent is None  # what started the trace is not named


def test_a_deep_recursion_is_located_in_steps_linear_in_its_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    """All callers were looked up again at every step beyond 2,000 frames, and each line was hashed with all that led
    there."""
    looks = 0

    def look(frame: Any) -> bool:
        nonlocal looks
        looks += 1
        return is_internal(frame)

    def hash_all(source: Source) -> int:
        raise AssertionError("a line is hashed with all that led there")

    def f(x: Any, n: int) -> Any:
        return x if n == 0 else 1.5 * f(np.sin(x), n - 1)

    def looks_at(depth: int) -> int:
        nonlocal looks
        looks = 0
        sources = [i.source for i in wg.trace(lambda x: f(x, depth))(0.5).instrs]
        assert len(sources) == 2 * depth
        at, n_parents = sources[depth - 1], 0
        while at is not None:
            at, n_parents = at.parent, n_parents + 1
        assert n_parents == depth + 1
        return looks

    monkeypatch.setattr(lines, "MOST_CALLERS", 50)
    monkeypatch.setattr(trace_module, "is_internal", look)
    monkeypatch.setattr(Source, "__hash__", hash_all)
    few, many = looks_at(100), looks_at(400)
    assert many < 5 * few
