"""The loops around an instruction, and how an instruction asks for the truth of a value."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from wengert.tracing.python import loops
from wengert.tracing.python.calls import place_of_call
from wengert.tracing.python.frames import place_of
from wengert.tracing.python.loops import Truth

seen: list[Any] = []


class Asked:
    """What notes by whom it is asked for its truth, and how many of the loops around that count."""

    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)

    def note(self, frame: Any) -> None:
        around = loops.loops_around(place_of(frame))
        seen.append(([x.kind for x in around], [loops.is_counting(frame, x) for x in around], loops.asks_truth(frame)))

    def __bool__(self) -> bool:
        self.note(sys._getframe(1))
        return self.answers.pop(0)

    def __lt__(self, other: Any) -> Asked:
        return self

    def __eq__(self, other: object) -> bool:
        self.note(sys._getframe(1))
        return True


def in_an_if(x: Any) -> None:
    if x:
        pass


def in_a_while(x: Any) -> None:
    while x:
        pass


def in_an_endless_while(x: Any) -> None:
    while True:
        if not x:
            return


def in_a_for(x: Any) -> None:
    for _ in [1]:
        if x:
            pass


def in_a_counting_for(x: Any) -> None:
    for _ in range(1):
        while x:
            pass


def in_a_for_that_is_jumped_back_to_twice(x: Any) -> None:
    """As of Python 3.12 by its first condition too: that made a short ``for``, as if inside of the ``while``."""
    for _ in range(1):
        while x:
            x.answers.append(len(x.answers) + len(x.answers) + len(x.answers) > 3)


def where_the_counter_is_assigned(x: Any) -> None:
    for k in range(1):
        while x:
            k = 3
    del k


def where_the_counter_is_no_variable(x: Any) -> None:
    for x.count in range(1):
        while x:
            pass


def where_the_counter_is_one_of_several(x: Any) -> None:
    for _, _ in enumerate(range(1)):
        while x:
            pass


def over_no_call(x: Any) -> None:
    numbers = range(1)
    for _ in numbers:
        while x:
            pass


def by_bool(x: Any) -> None:
    bool(x)


@pytest.mark.parametrize(
    ("f", "answers", "kinds", "is_counting", "truth"),
    [
        (in_an_if, [True], [[]], [[]], Truth.BRANCH),
        (in_a_while, [True, False], [["while"]] * 2, [[False]] * 2, Truth.BRANCH),
        (in_an_endless_while, [True, False], [["while"]] * 2, [[False]] * 2, Truth.BRANCH),
        (in_a_for, [True], [["for"]], [[False]], Truth.BRANCH),
        (in_a_counting_for, [True, False], [["while", "for"]] * 2, [[False, True]] * 2, Truth.BRANCH),
        (in_a_for_that_is_jumped_back_to_twice, [False], [["while", "for"]], [[False, True]], Truth.BRANCH),
        (where_the_counter_is_assigned, [True, False], [["while", "for"]] * 2, [[False, False]] * 2, Truth.BRANCH),
        (where_the_counter_is_no_variable, [True, False], [["while", "for"]] * 2, [[False, False]] * 2, Truth.BRANCH),
        (
            where_the_counter_is_one_of_several,
            [True, False],
            [["while", "for"]] * 2,
            [[False, False]] * 2,
            Truth.BRANCH,
        ),
        (over_no_call, [True, False], [["while", "for"]] * 2, [[False, False]] * 2, Truth.BRANCH),
        (by_bool, [True], [[]], [[]], Truth.BRANCH),
        (lambda x: not x, [True], [[]], [[]], Truth.BRANCH),
        (lambda x: any(map(bool, [x])), [True], [[]], [[]], Truth.NOT),
    ],
)
def test_who_asks_for_the_truth_of_a_value(
    f: Any, answers: list[bool], kinds: Any, is_counting: Any, truth: Truth
) -> None:
    seen.clear()
    f(Asked(*answers))
    assert seen == [(k, c, truth) for k, c in zip(kinds, is_counting, strict=True)]


def test_a_comparison_of_lists_asks_in_the_name_of_their_items() -> None:
    seen.clear()
    assert [Asked(), 1] == [3, 1]
    assert [truth for _, _, truth in seen] == [Truth.ITEMS]


@pytest.mark.skipif(sys.version_info < (3, 13), reason="the comparison and the branch are two instructions")
def test_a_comparison_asks_for_the_truth_of_its_result_itself() -> None:
    seen.clear()

    def f(x: Any) -> None:
        if x < 1:
            pass

    f(Asked(True))
    assert [truth for _, _, truth in seen] == [Truth.COMPARISON]


def numbers() -> Any:
    seen.append(loops.is_before_for(place_of_call(sys._getframe(1))))
    return range(2)


LONG = "        x = " + " + ".join(["x"] * 400) + "\n"


def test_a_for_statement_over_what_a_call_gives() -> None:
    seen.clear()
    for _ in numbers():
        pass
    list(numbers())
    for _ in [*numbers()]:
        pass
    assert seen == [True, False, False]


def test_a_for_of_many_instructions_was_no_for_statement() -> None:
    """How far it jumps takes more than a byte, for which a further instruction stood in the way."""
    namespace: dict[str, Any] = {"numbers": numbers}
    exec(f"def f(x):\n    for _ in numbers():\n{LONG}    return x", namespace)
    seen.clear()
    namespace["f"](1)
    assert seen == [True]
