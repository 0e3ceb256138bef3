"""Who is asking for an array: the user's code, a library, or neither, for no trace is open."""

from __future__ import annotations

import functools
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.tracing.interception.outcomes import in_another_thread
from wengert.tracing.interception.asking import is_for_user
from wengert.tracing.interception.intercept import opened
from wengert.tracing.trace import Trace

LIBRARY = types.ModuleType("scipy.made_up")
exec("def ask(f, *args): return f(*args)", vars(LIBRARY))


def answers(*converted: Any) -> list[bool]:
    found: list[Any] = []

    def f(x: Any) -> Any:
        given = tuple(x if one == "traced" else one for one in converted)
        found.extend([is_for_user(*given), LIBRARY.ask(is_for_user, *given)])
        thread = threading.Thread(target=lambda: found.append(is_for_user(*given)))
        thread.start()
        thread.join()
        return x

    wg.jvp(f, (np.ones(2),), (np.ones(2),))
    return found


def test_the_user_is_asking_in_the_thread_that_traces() -> None:
    assert answers() == [True, False, False]
    assert not is_for_user() and not is_for_user(1.0)


def test_a_library_may_convert_what_is_traced() -> None:
    assert answers("traced") == [True, True, False]
    assert answers(1.0) == [True, False, False]


@functools.cache
def kept(x: float) -> float:
    return x


@functools.lru_cache
def once(x: float) -> float:
    return x


X = np.array([1.0, 2.0])


def reshape_in_place() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # since NumPy 2.5
        X.copy().shape = (2, 1)


CALLS: list[Callable[[], Any]] = [
    lambda: np.zeros(3),
    lambda: np.array([1.0, 2.0]),
    lambda: np.asarray(X),
    lambda: np.linspace(0.0, 1.0, 3),
    lambda: np.ones(3),
    lambda: np.isscalar(1.0),
    lambda: np.square([1.0, 2.0]),
    lambda: np.add.reduce([1.0, 2.0]),
    lambda: kept(1.0),
    lambda: once(1.0),
    reshape_in_place,
    lambda: X.copy().setflags(write=True),
    lambda: np.random.default_rng(0).normal(size=2),
]
"""Each kind of what is asked who calls, or with its object."""


def asked() -> list[str]:
    """The functions of wengert's own that are called in CALLS, in this thread."""
    found: list[str] = []

    def note(frame: types.FrameType, event: str, _: Any) -> None:
        if event == "call" and str(frame.f_globals.get("__name__")).startswith("wengert."):
            found.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        for call in CALLS:
            call()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.needs_extension("Python code asks in every thread that calls a stand-in")
def test_nothing_is_asked_in_a_thread_that_does_not_trace() -> None:
    """A call there cost up to seven times as much as without a trace: who calls was asked first, then who traces."""
    with opened(Trace("f")):
        assert "is_for_user" in asked() and "cached" in asked()
        assert in_another_thread(asked) == []
        with opened(Trace("g")):
            pass
        assert "is_for_user" in asked()  # the outer one is open still
    assert asked() == []


@pytest.mark.needs_extension("Python code asks in every thread that calls a stand-in")
def test_a_trace_that_another_thread_closes_is_counted_where_it_was_opened() -> None:
    def tracing() -> Iterator[None]:
        with opened(Trace("f")):
            yield

    going_on = tracing()
    next(going_on)
    assert "is_for_user" in asked()

    def close() -> list[str]:
        with opened(Trace("other")):
            going_on.close()
            return asked()

    assert "is_for_user" in in_another_thread(close)
    with opened(Trace("g")):
        assert "is_for_user" in asked()
    waiting, done = threading.Event(), threading.Event()

    def trace_until_done() -> None:
        with opened(Trace("other")):
            waiting.set()
            done.wait(10)

    thread = threading.Thread(target=trace_until_done)
    thread.start()
    waiting.wait(10)
    assert asked() == []
    done.set()
    thread.join()
