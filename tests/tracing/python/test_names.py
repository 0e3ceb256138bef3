"""Names in a function's code, those of the functions defined in it with them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import wengert as wg
from wengert.source import Source
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
    compiled: Any = wg.jit(namespace["f"])
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


def _paths(f: Any) -> set[names.Path]:
    return set(names.uses(f.__code__).paths)


def test_variables_are_followed_as_far_as_attributes_are_asked() -> None:
    assert _paths(lambda x: wg.tracing.python + x) == {("wg", "tracing", "python")}
    assert _paths(lambda x: (wg.jit, x.rate, scale)) == {("wg", "jit"), ("scale",)}
    assert _paths(lambda: wg) == {("wg",)}
    assert names.uses(_reads.__code__).paths[("scale",)] == _reads.__code__.co_firstlineno + 1


def test_variables_of_one_name_that_are_no_locals_somewhere() -> None:
    def f(x: Any) -> Any:
        around = x

        def inner() -> Any:
            return around.size

        return around, inner

    assert ("around", "size") in _paths(f)
    assert "x" not in {path[0] for path in _paths(f)}


@pytest.mark.parametrize(
    ("text", "taken", "modules"),
    [
        ("import a", set(), {("a", "a")}),
        ("import a.b", set(), {("a", "a")}),
        ("import a.b as c", set(), {("c", "a.b")}),
        ("import a.b.c as d", set(), {("d", "a.b.c")}),
        ("from a import b", {("a", "b")}, set()),
        ("from a.b import c, d as e", {("a.b", "c"), ("a.b", "d")}, set()),
        ("global g\n    import a as g", set(), {("g", "a")}),
    ],
)
def test_what_an_import_takes_and_where_it_puts_it(text: str, taken: Any, modules: Any) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def f():\n    {text}", namespace)
    found = names.uses(namespace["f"].__code__)
    assert (found.taken, found.modules) == (taken, modules)


@pytest.mark.parametrize(
    ("f", "is_seeded"),
    [
        (lambda: _reads(3), True),
        (lambda: _reads(x=3), True),
        (lambda: wg.jit(1000), True),
        (lambda: _reads(), False),
        (lambda: _reads(3.0), False),
        (lambda: _reads(3, 4), False),
        (lambda: _reads(3, x=4), False),
        (lambda: _reads(scale), False),
        (lambda x: _reads(x), False),
        (lambda: [_reads, 3], False),
        (lambda: (_reads(3), _reads()), False),
        (lambda x: _reads(3 * x), False),
        (lambda x: x(_reads, 3, 4, 5, 6), False),
    ],
)
def test_what_is_called_with_a_literal_number_alone(f: Any, is_seeded: bool) -> None:
    assert (({("_reads",), ("wg", "jit")} & names.uses(f.__code__).seeded) != set()) == is_seeded


@pytest.mark.parametrize(
    ("f", "asked", "computes"),
    [
        (lambda x: getattr(x, "rate"), {"rate"}, False),  # noqa: B009
        (lambda x: getattr(x, "rate", 1.0), {"rate"}, False),
        (lambda x: getattr(x, "rate", "text"), {"rate"}, False),
        (lambda x: getattr(x.inner, "rate", x + 1), {"rate"}, False),
        (lambda x: hasattr(x, "rate"), {"rate"}, False),
        (lambda x: setattr(x, "rate", "text"), {"rate"}, False),
        (lambda x, name: getattr(x, name), {"getattr"}, True),
        (lambda x, name: getattr(x, name, "rate"), {"getattr"}, True),
        (lambda x, name: getattr("rate", name), {"getattr"}, True),
        (lambda x: getattr(x, "rate" + x), {"getattr"}, True),
        (lambda x: getattr(x if x else scale, "rate"), {"getattr"}, True),  # noqa: B009
        (lambda x: map(getattr, x), {"getattr"}, True),
        (lambda x, y: getattr(x.inner(y, y), "rate"), {"rate"}, False),  # noqa: B009
        (lambda x, y: getattr(y(x, x), "rate", y("text")), {"rate"}, False),
        (lambda x, y, name: getattr(y(), name, x("rate")), {"getattr"}, True),
        (lambda x, y, name: getattr(y(), name, "rate"), {"getattr"}, True),
        (lambda x: len(x), set(), False),
    ],
)
def test_attributes_that_are_asked_for_by_a_literal_name(f: Any, asked: set[str], computes: bool) -> None:
    found = names.uses(f.__code__)
    assert (found.asked, found.computes_names) == (asked, computes)
    assert asked <= {*found.named}


def test_attributes_that_the_body_of_a_class_asks_for() -> None:
    def f() -> Any:
        class Asks:
            rate = getattr(wg, "rate", getattr(scale, "real"))  # noqa: B009

        return Asks

    found = names.uses(f.__code__)
    assert (found.asked, found.computes_names) == ({"rate", "real"}, False)


def test_a_name_that_was_computed_was_taken_for_a_literal_that_a_later_call_is_given() -> None:
    """Where the object was what a local function returns: of its callee's place on the stack half was not counted."""
    for f in (
        lambda x, inner, name: (getattr(inner(), name, 1.0), max(x, "rate")),
        lambda x, inner, name: getattr(inner(), name) + x(1, "rate"),
        lambda x, inner, name: [getattr(inner(), name), min(name, "rate")],
    ):
        found = names.uses(f.__code__)
        assert (found.asked, found.computes_names) == ({"getattr"}, True)


def _goes_on() -> None:
    try:
        _writes()
    except ValueError:
        _reads(1)


def test_who_goes_on_after_an_error() -> None:
    assert names.uses(_goes_on.__code__).catches
    assert not names.uses(_reads.__code__).catches


def test_names_that_are_in_the_code_itself() -> None:
    def f(argument: Any) -> Any:
        local = argument.attribute
        return lambda: (local, scale, gone.inner)

    for name in ("argument", "local", "attribute"):
        assert names.has_variable(f.__code__, name)
    assert not names.has_variable(f.__code__, "scale")
    assert names.mentioned(f.__code__) == {"attribute", "scale", "gone", "inner"}


class Model:
    def __init__(self) -> None:
        self.rate = 1.0

    def step(self, table: Any, other: Any) -> None:
        other.count = 1
        table["key"] = 2
        del self.rate


def _counts() -> Any:
    count = 0

    def inner() -> None:
        nonlocal count
        count += 1

    return inner


def _line_of(f: Any, text: str) -> Source | None:
    lines, first = inspect.getsourcelines(f)
    return next((Source(__file__, first + k, f.__name__) for k, line in enumerate(lines) if text in line), None)


@pytest.mark.parametrize(
    ("f", "slot", "text"),
    [
        (_writes, "scale", "scale = 2.0"),
        (_writes, "model.gone", "del gone"),
        (Model.step, "model.count", "other.count = 1"),
        (Model.step, "the attributes of model", "other.count = 1"),
        (Model.step, "table['key']", 'table["key"] = 2'),
        (Model.step, "model.rate", "del self.rate"),
        (Model.step, "model.other", None),
        (_writes, "table[0]", None),
        (_writes, "the attributes of model", None),
        (_reads, "scale", None),
    ],
)
def test_the_line_that_writes_what_is_watched(f: Any, slot: str, text: str | None) -> None:
    expected = None if text is None else _line_of(f, text)
    assert names.place_of_write([_reads.__code__, f.__code__], slot) == expected
    assert (expected is None) == (text is None)


def test_what_a_code_binds_anew() -> None:
    assert names.bound_anew(_writes.__code__) == {"scale", "gone"}
    assert names.bound_anew(Model.step.__code__) == {"count", "'key']", "rate"}
    assert names.bound_anew(Model.__init__.__code__) == frozenset()
    inner = _counts()
    assert names.bound_anew(inner.__code__) == {"count"}
    assert names.bound_anew(_counts.__code__) == {"count"}  # the inner function's; its own variable is new at each call
    assert names.bound_anew(_reads.__code__) == frozenset()


def test_a_slot_is_read_on_the_lines_that_follow_all_of_its_name_or_its_last_attribute_or_its_variable() -> None:
    def f(x: int) -> int:
        first = MODEL.gain * x  # type: ignore[name-defined]  # noqa: F821
        second = MODEL.rate  # type: ignore[name-defined]  # noqa: F821
        return first + second + len(ITEMS)  # type: ignore[name-defined]  # noqa: F821

    def method(self: Any) -> int:
        return self.bias

    line = f.__code__.co_firstlineno

    def lines(name: str) -> list[int]:
        return [s.line - line for s in names.places_of_read([f.__code__, method.__code__], name)]

    assert lines("MODEL.gain") == [1] and lines("MODEL") == [1, 2]
    assert lines("len(ITEMS)") == lines("ITEMS[3]") == lines("the content of ITEMS") == [3]
    assert lines("MODEL.bias") == [6]
    assert lines("x") == lines("f's default 0") == []
