"""What is noted of a loop's turn beside its traced values."""

from __future__ import annotations

import functools
import itertools
import types
from typing import Any

import numpy as np
import pytest

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
    turns = [lists[0]] * 8 + [lists[1]]

    def tick() -> int:
        turns.append(turns.pop(0))
        return 9 if turns[-1] is lists[1] else 0

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
def test_looks_that_no_while_brought_about_were_taken_for_its_turns(f: Any) -> None:
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
