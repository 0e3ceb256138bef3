"""Looks note what stands beside traced values, and a compiled function keeps the counts of its loops."""

from __future__ import annotations

import copy
import functools
import itertools
import sys
import types
from collections import deque
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.ops.check_op import formula
from wengert.ops.control import Expected, guard
from wengert.ops.elementwise import multiply
from wengert.tape import Aval, Tape, Var
from wengert.tracing import counted
from wengert.tracing.counted import (
    MOST_BYTES,
    MOST_ELEMENTS,
    MOST_TRIES,
    Counts,
    IterationNote,
    NotCounted,
    NotedValue,
    Noting,
    _Note,
    _Unknown,
)
from wengert.tracing.python.bytecode import CodePlace
from wengert.tracing.python.loops import Truth
from wengert.tracing.record import record_call
from wengert.tracing.signature import signature_of
from wengert.tracing.stack import current_trace
from wengert.tracing.trace import WholeRun
from wengert.tracing.whole import trace_whole


def notes(f: Any, *args: Any) -> list[Any]:
    """What was noted at each guard of ``f``, traced as a compiled function is."""
    leaves, treedef = wg.tree.flatten((args, {}))
    run = Counts().begin()
    signature = signature_of(leaves, treedef, True)
    tape = trace_whole(f, "f", leaves, signature, counts=run).tape
    found = [run.note_of(i.params["expected"]) for i in tape.instrs if i.op is guard]
    return [None if note is None else note.beside for note in found]


def test_iterations_of_traced_values_alone_are_equal() -> None:
    def f(x: Any) -> Any:
        scale, names, matrix = 0.5, ["a", ("b", 1)], np.eye(3)
        while x > 1:
            x = x * scale
        return x + len(names) + matrix[0, 0]

    first, *rest = notes(f, 10.0)
    assert first is not None
    assert len(rest) == 4
    assert set(rest) == {first}


def test_a_counter_makes_iterations_different() -> None:
    def f(x: Any) -> Any:
        n = 0
        while x > 1:
            x, n = x * 0.5, n + 1
        return x * n

    seen = notes(f, 10.0)
    assert len(set(seen)) == len(seen)


def test_a_constant_that_is_written_makes_iterations_different() -> None:
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


def test_a_closure_with_a_counter_makes_iterations_different() -> None:
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


# ------------------------------------------------------------------------------------------------- hidden counters


def in_a_class() -> Any:
    class Local:
        n = 0

    def tick() -> int:
        Local.n += 1
        return Local.n

    return tick


def in_a_class_made_by_type() -> Any:
    made: Any = type("Made", (), {"n": 0})

    def tick() -> int:
        made.n += 1
        return made.n

    return tick


def in_a_module() -> Any:
    module: Any = types.ModuleType("made")
    module.n = 0

    def tick() -> int:
        module.n += 1
        return module.n

    return tick


def in_a_default() -> Any:
    def tick(n: Any = [0]) -> int:  # noqa: B006  # the point of it
        n[0] += 1
        return n[0]

    return tick


def in_a_default_by_keyword() -> Any:
    def tick(*, n: Any = [0]) -> int:  # noqa: B006  # likewise
        n[0] += 1
        return n[0]

    return tick


def in_defaults_bound_anew() -> Any:
    def last(n: int = 0) -> int:
        return n

    def tick() -> int:
        last.__defaults__ = (last() + 1,)
        return last()

    return tick


def on_a_function() -> Any:
    def tick() -> int:
        tick.n += 1
        return tick.n

    tick.n = 0
    return tick


def in_what_a_bound_method_is_of() -> Any:
    pop = [*range(12, 0, -1)].pop
    return lambda: pop()


def in_a_module_named_like_ours() -> Any:
    counter = itertools.count(1)
    kind = type("Counter", (), {"tick": lambda self: next(self.counter), "__module__": "wengert_tools"})
    tools: Any = kind()
    tools.counter = counter
    return lambda: tools.tick()


def in_the_order_of_a_dict() -> Any:
    keys = dict.fromkeys(range(12))

    def tick() -> int:
        first = next(iter(keys))
        keys[first] = keys.pop(first)
        return first + 1

    return tick


def in_which_list_it_is() -> Any:
    lists: Any = [[], []]
    order = [lists[0]] * 8 + [lists[1]]

    def tick() -> int:
        order.append(order.pop(0))
        return 9 if order[-1] is lists[1] else 0

    return tick


def in_a_record_of_objects() -> Any:
    record = np.zeros(1, [("counts", "O")])[0]
    record["counts"] = [0]

    def tick() -> int:
        record["counts"][0] += 1
        return record["counts"][0]

    return tick


def in_a_layer() -> Any:
    layer = wg.nn.Dense(1)

    def tick() -> int:
        object.__setattr__(layer, "width", layer.width + 1)
        return layer.width - 1

    return tick


def in_a_function_that_is_differentiated() -> Any:
    derivative: Any = wg.grad(in_a_default())
    return lambda: derivative.__wrapped__()


HIDDEN = [
    in_a_class,
    in_a_class_made_by_type,
    in_a_module,
    in_a_default,
    in_a_default_by_keyword,
    in_defaults_bound_anew,
    on_a_function,
    in_what_a_bound_method_is_of,
    in_a_module_named_like_ours,
    in_the_order_of_a_dict,
    in_which_list_it_is,
    in_a_record_of_objects,
    in_a_layer,
    in_a_function_that_is_differentiated,
]


def check_counts(f: Any) -> None:
    """After counts that had come to one tape, others were taken for them."""
    compiled = wg.jit(f)
    for count in (3, 4, 5, 20, 12):
        x = 2.0 ** (count - 0.5)
        assert compiled(x) == f(x)


@pytest.mark.parametrize("make", HIDDEN, ids=lambda make: make.__name__)
def test_a_loop_that_counted_where_nobody_looked_was_one_of_any_count(make: Any) -> None:
    def f(x: Any) -> Any:
        tick = make()
        while x > 1:
            x = x * 0.5
            if tick() >= 9:
                break
        return x

    check_counts(f)


def in_who_takes_from_a_generator(x: Any) -> Any:
    def halves(x: Any) -> Any:
        while x > 1:
            x = x * 0.5
            yield x

    return functools.reduce(lambda _, new: new, itertools.islice(halves(x), 9))


def in_compiled_code_that_iterates(x: Any) -> Any:
    def is_small(_: Any) -> bool:
        nonlocal x
        x = x * 0.5
        return bool(x < 1)

    while True:
        any(map(is_small, itertools.repeat(None, 9)))
        break
    return x


def in_a_for_around(x: Any) -> Any:
    more = False
    for _ in itertools.repeat(None, 9):
        while True:
            if x < 1:
                break
            x = x * 0.5
            if not more:
                break
    return x


def in_a_comparison_of_lists(x: Any) -> Any:
    ones = [1.0] * 6
    while [x, x * 0.5, x * 0.25, 1.0, 2.0, x] != ones and [x, 0.0] > [1.0, 0.0]:
        x = x * 0.5
    return x


def in_an_equality_of_lists(x: Any) -> Any:
    while [1.0, x] != [1.0, 1.0]:
        x = x * 0.5
        if x < 1:
            break
    return x


@pytest.mark.parametrize(
    "f",
    [
        in_who_takes_from_a_generator,
        in_compiled_code_that_iterates,
        in_a_for_around,
        in_a_comparison_of_lists,
        in_an_equality_of_lists,
    ],
)
def test_looks_that_no_while_brought_about_were_taken_for_its_iterations(f: Any) -> None:
    check_counts(f)


def test_a_while_in_a_counting_for_is_one_of_any_count() -> None:
    def f(x: Any) -> Any:
        y = x
        for _ in range(3):
            while y > 1:
                y = y * 0.5
            y = y * x
        return y

    compiled = wg.jit(f)
    for count in (3, 4, 5, 6, 7, 20):
        assert compiled(2.0 ** (count - 0.5)) == pytest.approx(f(2.0 ** (count - 0.5)), rel=1e-12)
    assert [i.op.name for i in compiled.program(9.0).tape.instrs].count("while") == 3


@pytest.mark.parametrize("asks", [Truth.COMPARISON, Truth.ITEMS])
@pytest.mark.parametrize("made_by", ["less", "greater_equal", "not_equal", "equal", "logical_and"])
def test_a_comparison_that_asks_for_the_truth_of_its_result_itself(
    made_by: str, asks: Truth, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of Python 3.13: of an equality it may be one of two lists, and of all that follow in its place."""
    monkeypatch.setattr(counted, "asks_truth", lambda frame: asks)
    trace: Any = types.SimpleNamespace(noting=Noting())
    frame = sys._getframe()
    is_its_own = asks is Truth.COMPARISON and made_by not in ("equal", "logical_and")
    assert counted._looks_itself(trace, frame, made_by) == is_its_own
    assert len(trace.noting.container_comparisons) == (not is_its_own)


# ------------------------------------------------------------------------------------------- what stands beside it


def noted(*values: Any) -> list[Any]:
    """What is noted of each value; None of what cannot be compared."""
    found: list[Any] = []

    def call() -> float:
        trace = current_trace()
        assert trace is not None
        for value in values:
            try:
                found.append(_Note(trace).of(value))
            except _Unknown:
                found.append(None)
        return 0.0

    record_call(call, [], name="a test", whole=WholeRun({}))
    return found


def returns(x: Any, default: Any = 1, *, by_keyword: Any = 1) -> Any:
    def inner() -> Any:
        return x, default, by_keyword

    return inner


def with_attribute(value: Any) -> Any:
    inner = returns(1)
    inner.note = value
    return inner


def described(text: str) -> Any:
    inner = returns(1)
    inner.__doc__ = text
    return inner


def with_defaults(*values: Any, **by_keyword: Any) -> Any:
    def inner(a: Any = 1, *, k: Any = 1) -> Any:
        return a, k

    inner.__defaults__, inner.__kwdefaults__ = values or (1,), by_keyword or {"k": 1}
    return inner


def read_only(x: Any) -> Any:
    x.flags.writeable = False
    return x


ONE, TWO = [1.0], [1.0]
ARRAY = np.arange(6.0)
TOLD_APART: dict[str, tuple[Any, Any]] = {
    "numbers": (1, 2),
    "kinds of numbers": (1, 1.0),
    "a truth and a number": (True, 1),
    "signs of zero": (0.0, -0.0),
    "complex numbers": (1j, 2j),
    "texts": ("a", "b"),
    "a text and bytes": ("a", b"a"),
    "None and zero": (None, 0),
    "NumPy's numbers": (np.float64(1), np.float64(2)),
    "signs of NumPy's zeros": (np.float64(0.0), np.float64(-0.0)),
    "dtypes of NumPy's numbers": (np.datetime64(1, "s"), np.datetime64(1, "D")),
    "a list and a tuple": ([1], (1,)),
    "items": ([1], [2]),
    "how many items": ([1], [1, 1]),
    "items of items": ([(1, [2])], [(1, [3])]),
    "one list twice, or two": ([ONE, ONE], [ONE, TWO]),
    "which of two it is": ([ONE, TWO, ONE], [ONE, TWO, TWO]),
    "values of a dict": ({"a": 1}, {"a": 2}),
    "keys of a dict": ({"a": 1}, {"b": 1}),
    "the order of a dict": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "arrays": (np.zeros(2), np.zeros(2)),
    "an array and a view of another shape": (ARRAY, ARRAY.reshape(2, 3)),
    "functions": (lambda: 1, lambda: 2),
    "what a function has captured": (returns(1), returns(2)),
    "what is captured by a default": (returns(1, 2), returns(1, 3)),
    "what is captured by a keyword": (returns(1, by_keyword=2), returns(1, by_keyword=3)),
    "what hangs on a function": (with_attribute(1), with_attribute(2)),
    "docstrings": (described("a"), described("b")),
    "defaults": (with_defaults(1), with_defaults(2)),
    "defaults by keyword": (with_defaults(k=1), with_defaults(k=2)),
    "cells": (types.CellType(1), types.CellType(2)),
    "an empty cell": (types.CellType(), types.CellType(None)),
    "methods of lists": ([1].append, [2].append),
    "methods of a list": (ONE.append, ONE.pop),
    "methods of texts": ("a".join, "b".join),
    "builtins": (len, abs),
    "dtypes": (np.dtype("f4"), np.dtype("f8")),
    "records": (np.zeros(1, [("a", "f8")])[0], np.ones(1, [("a", "f8")])[0]),
    "orders of bytes": (np.dtype("<f8"), np.dtype(">f8")),
    "ufuncs": (np.sin, np.cos),
    "classes of Python's": (int, float),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD_APART)
def test_what_differs_beside_the_traced_values_is_noted_otherwise(name: str) -> None:
    a, b = TOLD_APART[name]
    one, other, again = noted(a, b, a)
    assert one is not None and other is not None
    assert one == again != other
    assert hash(one) == hash(again)


@pytest.mark.parametrize("name", TOLD_APART)
def test_what_differs_deep_inside_is_noted_otherwise(name: str) -> None:
    a, b = TOLD_APART[name]
    one, other = noted([0, {"k": (a,)}], [0, {"k": (b,)}])
    assert one is not None and one != other


def test_what_is_equal_is_noted_alike() -> None:
    for value in (1.5, np.float32(2), [1, (2.0, "a")], {"a": [None, b"b"]}, np.dtype("f8")):
        one, other = noted(value, copy.deepcopy(value))
        assert one is not None and one == other
    one, other = noted(returns([1], {"a": 2}), returns([1], {"a": 2}))
    assert one is not None and one == other


def test_an_array_that_is_written_is_noted_otherwise() -> None:
    x = np.zeros(3)
    changes: list[Any] = [
        lambda: x.__setitem__(1, 2.0),
        lambda: x.__setitem__(1, -0.0),
        lambda: setattr(x.flags, "writeable", False),
    ]
    seen = noted(x)
    for change in changes:
        change()
        seen += noted(x)
    assert None not in seen and len(set(seen)) == 4


class Plain:
    pass


UNKNOWN: dict[str, Any] = {
    "an object of the user's": Plain(),
    "a class of the user's": Plain,
    "a method of an object": Plain().__init__,
    "an object": object(),
    "a set": {1},
    "a deque": deque([1]),
    "a list of its own kind": type("Row", (list,), {})([1]),
    "an iterator": itertools.count(),
    "a generator": (k for k in range(3)),
    "a partial": functools.partial(len),
    "a ufunc of a Python function": np.frompyfunc(len, 1, 1),
    "a dtype with fields": np.dtype([("a", "f8")]),
    "a dtype with notes": np.dtype("f8", metadata={"a": 1}),
    "a record of objects": np.zeros(1, [("a", "O")])[0],
    "an array of objects": np.array([None]),
    "an array of texts": np.array(["a"]),
    "a large array": np.zeros(4 * MOST_BYTES, np.int8),
    "an array of its own kind": np.ma.zeros(3),
    "a module of the user's": types.ModuleType("of_the_users"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_nobody_can_compare_is_not_noted(name: str) -> None:
    value = UNKNOWN[name]
    assert noted(value, [1, value], {"a": (value,)}) == [None, None, None]
    assert noted(returns(value)) == [None]


def test_what_is_noted_is_bounded() -> None:
    assert None not in noted([1] * (MOST_ELEMENTS - 1), np.zeros(MOST_BYTES, np.int8))
    assert noted([1] * MOST_ELEMENTS, [[1] * 99, [1] * 99]) == [None, None]
    assert None not in noted([[1] * 98, [1] * 99])


def test_a_for_that_counts_makes_no_note_of_its_own_iterations() -> None:
    """The count of its iterations may be what ends it."""

    def f(x: Any) -> Any:
        for _ in range(9):
            if x < 1:
                break
            x = x * 0.5
        return x

    assert set(notes(f, 10.0)) == {None}
    check_counts(f)


def test_a_for_whose_counter_is_gone_does_not_tell_its_turns_apart() -> None:
    def with_counter(x: Any) -> Any:
        y = x
        for i in range(3):
            while y > 1:
                y = y * 0.5
            y = y * x + i
        return y

    def deletes(x: Any) -> Any:
        y = x
        for i in range(3):
            del i
            while y > 1:
                y = y * 0.5
            y = y * x
        return y

    def assigns(x: Any) -> Any:
        y = x
        for i in range(3):
            i = 0
            while y > 1:
                y = y * 0.5
            y = y * x
        return y + i

    def assigns_later(x: Any) -> Any:
        y = x
        for i in range(3):
            while y > 1:
                y = y * 0.5
            y, i = y * x, 0
        return y + i

    def of_a_list(x: Any) -> Any:
        y = x
        for i in [0, 1, 2]:
            while y > 1:
                y = y * 0.5
            y = y * x + 0 * i
        return y

    def to_an_attribute(x: Any) -> Any:
        y, found = x, [0]
        for found[0] in range(3):
            while y > 1:
                y = y * 0.5
            y = y * x
        return y

    assert None not in notes(with_counter, 10.0)
    for f in (deletes, assigns, assigns_later, of_a_list, to_an_attribute):
        assert set(notes(f, 10.0)) == {None}, f.__name__
        check_counts(f)


def halved(x: Any) -> Any:
    while x > 1:
        x = x * 0.5
    return x


def test_a_while_in_a_function_that_is_called() -> None:
    """In a ``for`` around the call it may run a different number of times in each iteration."""

    def straight(x: Any) -> Any:
        return halved(x) + 1

    def in_a_while(x: Any) -> Any:
        y = x
        while y > 0.75:
            y = halved(y) * 0.9
        return y

    def in_a_for(x: Any) -> Any:
        for _ in range(3):
            x = halved(x) * 9
        return x

    def in_a_comprehension(x: Any) -> Any:
        return sum([halved(x * k) for k in range(1, 4)])

    seen = notes(straight, 10.0)
    assert None not in seen and len(set(seen)) == 1
    assert None not in notes(in_a_while, 10.0)
    assert set(notes(in_a_for, 10.0)) == {None}
    assert set(notes(in_a_comprehension, 10.0)) == {None}
    for f in (straight, in_a_while, in_a_for, in_a_comprehension):
        check_counts(f)


def test_values_of_two_iterations_are_alike_if_they_are_seen_alike_and_are_of_the_same_memory() -> None:
    x, y = Var(Aval((), np.dtype(float))), Var(Aval((), np.dtype(float)))
    value = NotedValue(x, "", (1, 2, 0), 1)
    assert value.is_as(value._replace(value=y))
    assert value.is_as(value._replace(made=(1, 3, 0)))
    assert not value.is_as(value._replace(value=y, made=(1, 3, 0)))
    for other in (value._replace(view="[1:]"), value._replace(memory=2)):
        assert not value.is_as(other) and not other.is_as(value)


# ------------------------------------------------------------------------------------------------------ the counts


def small(k: int) -> Tape:
    return formula(lambda x: multiply(x, float(k)), Aval((3,), np.dtype(float)))


A, B = CodePlace(None, 2), CodePlace(None, 4)  # two places, of no code


def test_a_tape_is_known_after_three_counts_of_each_of_its_loops() -> None:
    counts = Counts()
    run = counts.begin()
    assert not run.learn(small(1), [4, 5]) and not run.learn(small(1), [6, 5])
    assert not run.learn(small(1), [7, 5]) and not counts.has_learnt and not counts.knows_any
    assert not run.learn(small(2), [8, 6]), "of another tape"
    assert not run.learn(small(1), [7, 6]) and run.learn(small(1), [7, 9])
    assert counts.has_learnt and counts.knows_any
    counts.has_learnt = False
    assert run.learn(small(1), [1, 1]) and not counts.has_learnt
    assert not run.learn(small(3), [1]) and counts.knows_any


def test_a_place_is_counted_after_two_counts_and_given_up_after_some_tries() -> None:
    counts = Counts()
    run = counts.begin()
    assert not run.may_count() and run.counted(A) is None
    run.note(A, 5)
    run.note(A, 5)
    assert not run.may_count() and run.counted(A) is None
    run.note(A, 6)
    assert run.may_count() and run.counted(B) is None
    first, second = run.counted(A), run.counted(A)
    assert first is not None and second is not None and first != second
    by_value = counts.begin(is_by_value=True)
    assert not by_value.may_count() and by_value.counted(A) is None and not by_value.failed()
    for n in range(MOST_TRIES):
        run = counts.begin()
        assert run.may_count(), n
        assert run.counted(A) is not None and run.failed()
    assert not run.may_count() and run.counted(A) is None


def test_what_has_come_to_a_loop_may_be_tried_as_often_again() -> None:
    counts = Counts()
    counts.note(A, 5)
    counts.note(A, 6)
    for _ in range(MOST_TRIES - 1):
        run = counts.begin()
        run.counted(A)
        run.failed()
    run = counts.begin()
    run.counted(A)
    for n in (3, 4, 5):
        run.learn(small(1), [n])
    for _ in range(MOST_TRIES - 1):
        run = counts.begin()
        assert run.counted(A) is not None
        run.failed()
    assert counts.may_count()


def test_loops_that_were_given_up_are_traced_by_their_count() -> None:
    counts = Counts()
    counts.note(A, 5)
    counts.note(A, 6)
    run = counts.begin()
    assert run.counted(A) is not None
    run.give_up()
    assert not counts.may_count() and counts.begin().counted(A) is None


def test_what_was_refused_while_a_function_was_traced_is_raised_until_it_is_traced_again() -> None:
    counts = Counts()
    run = counts.begin()
    run.check_not_refused()
    run.refuse(NotCounted("a test"))
    with pytest.raises(NotCounted, match="a test"):
        run.check_not_refused()
    counts.begin().check_not_refused()


def test_a_run_that_begins_within_another_leaves_the_notes_of_that() -> None:
    """A function that calls its own compiled form, on other arguments, is traced while it is being traced."""
    counts = Counts()
    outer, expected = counts.begin(), Expected(True)
    note = IterationNote(None, "x", ())
    outer.note_guard(expected, note)
    inner = counts.begin()
    assert outer.note_of(expected) is note and inner.note_of(expected) is None
    assert outer.note_of(Expected(True)) is None, "one look, and not its value"
