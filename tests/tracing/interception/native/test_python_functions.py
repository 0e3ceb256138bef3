"""The calls of functions written in Python that are intercepted: who answers, and that nothing is kept of them."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.tracing.interception.outcomes import in_another_thread
from wengert.tracing.interception import _opened, _python_functions
from wengert.tracing.interception._python_functions import answer, decide, enroll
from wengert.tracing.interception.asking import AT_OBJECT, INTO_LISTS
from wengert.tracing.interception.intercept import opened
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer


def function(a: Any, b: Any = 1, *, c: Any = 2) -> Any:
    return "own", a, b, c


def test_what_is_asked_wrongly_is_said() -> None:
    with pytest.raises(TypeError):
        _python_functions.setup(1, print, set(), _opened.is_tracing)
    for number in ([], [-1], [10**9], [10**30], ["a"]):
        with pytest.raises(TypeError, match="the number of an intercepted function"):
            decide(*number)
    with pytest.raises(TypeError):
        enroll(print, function, (), 0)
    number = enroll(function, function, ("a", "b"), 0)
    wrong: list[Any] = [(number, ((None, 1),)), (number, (1,)), (10**9, ()), (number, ((None, "1", print),))]
    for args in wrong:
        with pytest.raises(TypeError, match="answer takes"):
            answer(*args)
    assert decide(number, 1, 2, c=3) == ("own", 1, 2, 3)


def test_the_replacement_answers_for_its_owner_and_until_it_says_not_implemented() -> None:
    number = enroll(function, function, ("a", "b"), 0)
    owner: Any = [1]
    given: list[Any] = []

    def ours(*args: Any, **kwargs: Any) -> Any:
        given.append((args, kwargs))
        return NotImplemented if args[0] == "skip" else "ours"

    answer(number, ((owner, INTO_LISTS, print), (str, AT_OBJECT, ours)))
    assert decide(number, "a", 1, c=2)[0] == "own"  # this thread does not trace
    with opened(Trace("f")):
        assert decide(number, "a", 1, c=2) == "ours"
        assert decide(number, "skip", 5, c=2) == ("own", "skip", 5, 2)
        assert decide(number, 1.0, 1, c=2)[0] == "own"
        assert in_another_thread(lambda: decide(number, "a", 1, c=2))[0] == "own"
    assert given == [(("a",), {}), (("skip", 5), {})]

    def fail(*args: Any) -> Any:
        raise ZeroDivisionError

    answer(number, ((None, AT_OBJECT, fail),))
    with opened(Trace("f")), pytest.raises(ZeroDivisionError):
        decide(number, 1.0, 1, c=2)
    answer(number, ())


def test_a_list_that_holds_itself_is_looked_at_once() -> None:
    looped: list[Any] = [1.0]
    looped.append(looped)
    with opened(Trace("f")):
        assert np.isscalar(looped) is False


def test_calls_keep_nothing() -> None:
    number = enroll(function, function, ("a", "b"), 0)
    values = [object() for _ in range(3)]

    def f(x: Any) -> Any:
        def call() -> None:
            decide(number, values[0], values[1], c=values[2])
            assert decide(number, x, values[1], c=values[2]) is None
            assert type(np.ones(3)) is Tracer and np.isscalar(values[0]) is False

        answer(number, ((types.ModuleType, AT_OBJECT, print), (None, INTO_LISTS, lambda *args, **kwargs: None)))
        for _ in range(10):
            call()
        before = [sys.getrefcount(one) for one in [*values, function, answer]]
        for _ in range(100):
            call()
        assert [sys.getrefcount(one) for one in [*values, function, answer]] == before
        return x

    wg.jvp(f, (1.0,), (1.0,))
    answer(number, ())
