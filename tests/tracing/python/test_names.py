"""Names in a function's code, those of the functions defined in it with them."""

from __future__ import annotations

from typing import Any

import pytest

import wengert as wg
from wengert.tracing.python import names

scale = gone = 1.0


def _reads(x: Any) -> Any:
    return len(x) * scale + x.size


def _writes() -> None:
    global scale, gone
    scale = 2.0
    del gone


def _imports() -> Any:
    import os.path
    from collections import abc as of_collections

    return os.path, of_collections


def _defines(x: Any) -> Any:
    def inner() -> Any:
        return [scale * y for y in x.items]

    return inner


def _matches(x: Any) -> Any:
    match x:
        case complex(real=a):
            return a


def test_the_code_of_inner_functions_belongs_to_it() -> None:
    assert {code.co_name for code in names.codes(_defines.__code__)} >= {"_defines", "inner"}


def test_whatever_is_looked_up_by_name() -> None:
    assert set(names.named(_reads.__code__)) == {"len", "scale", "size"}
    assert set(names.named(_defines.__code__)) == {"scale", "items"}


def test_variables_that_are_read_and_written() -> None:
    assert names.uses(_reads.__code__).loaded == {"len", "scale"}
    assert names.written(_reads.__code__) == frozenset()
    assert names.written(_writes.__code__) == {"scale", "gone"}
    assert names.uses(_defines.__code__).loaded == {"scale"}


def test_modules_that_are_imported_when_it_runs() -> None:
    assert names.uses(_imports.__code__).imported == {"os.path", "collections"}
    assert names.uses(_reads.__code__).imported == frozenset()


def test_a_module_that_was_imported_and_used_in_one_line_was_not_followed() -> None:
    """As of Python 3.13 one instruction stores it and loads the next variable: a clock was read once, for all calls."""
    namespace: dict[str, Any] = {}
    exec("def f(x):\n    import time as t; return x * t.perf_counter()", namespace)
    found = names.uses(namespace["f"].__code__)
    assert found.modules == {("t", "time")} and found.paths.keys() == {("t", "perf_counter")}
    compiled = wg.jit(namespace["f"])
    with pytest.warns(wg.PerformanceWarning, match="perf_counter"):
        times = [compiled(1.0) for _ in range(3)]
    assert times[0] < times[1] < times[2]


def test_what_the_body_of_a_class_reads_of_the_function_around_it_is_followed() -> None:
    """It was not as of Python 3.12, which has an instruction of its own for that."""
    around = scale

    def f() -> Any:
        class Rate:
            value = around.real

        return Rate

    assert ("around", "real") in names.uses(f.__code__).paths


def test_patterns_of_classes() -> None:
    assert names.uses(_matches.__code__).matches_classes
    assert not names.uses(_reads.__code__).matches_classes


def test_what_asks_if_two_are_one() -> None:
    for f in (lambda x, y: x is y, lambda x: x is not scale):
        assert names.uses(f.__code__).compares
    for f in (
        lambda x: x is None,
        lambda x: type(x) is float,
        lambda x: None if x is not None else x,
        lambda x: x == 2,
    ):
        assert not names.uses(f.__code__).compares


def test_what_asks_if_functions_may_be_equal() -> None:
    for f in (lambda x: x == _reads, lambda x: x.rule != x.default):
        assert names.uses(f.__code__).equates
    for f in (lambda x, y: x == y, lambda x: x == 2, lambda x: x < scale):
        assert not names.uses(f.__code__).equates
