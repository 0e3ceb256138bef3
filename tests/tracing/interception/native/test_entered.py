"""What native/entered.cpp tells of: each code that begins to run in its thread, once, before it runs."""

from __future__ import annotations

import gc
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import pytest

from wengert.tracing.interception import _entered


def outer(keys: Any) -> Any:
    return sorted(keys, key=inner)


def inner(key: Any) -> Any:
    return -key


def other() -> None: ...


class Model:
    def __init__(self) -> None:
        pass

    @property
    def size(self) -> int:
        return 1


def numbers() -> Any:
    yield 1


def telling(told: list[str], is_wanted: bool | None = True) -> Callable[[types.FrameType], bool | None]:
    def tell(frame: types.FrameType) -> bool | None:
        told.append(frame.f_code.co_name)
        return is_wanted

    return tell


def test_each_code_is_told_of_once_and_only_of_this_thread() -> None:
    told: list[str] = []
    generator, thread = numbers(), threading.Thread(target=other)
    with _entered.following(telling(told)):
        outer([1, 2])
        outer([3])
        assert Model().size + next(generator) == 2
        thread.start()
    thread.join()
    names = [name for name in told if name in ("outer", "inner", "__init__", "size", "numbers", "other")]
    assert names == ["outer", "inner", "__init__", "size", "numbers"] + ["__init__"] * (len(names) - 5)  # of threading
    assert sys.getprofile() is None


def test_it_is_told_before_the_code_runs() -> None:
    held: dict[str, int] = {"rate": 1}
    seen: list[int] = []

    def reads() -> None:
        held["rate"] += 1

    def tell(frame: types.FrameType) -> bool:
        seen.append(held["rate"])
        return True

    with _entered.following(tell):
        reads()
    assert seen == [1]


def test_what_nobody_wants_to_hear_of_is_not_told_again() -> None:
    def unwanted() -> None: ...

    told: list[str] = []
    for _ in range(2):
        with _entered.following(telling(told, is_wanted=False)):
            unwanted()
    assert told == ["unwanted"]


def test_who_says_none_is_asked_again() -> None:
    told: list[str] = []
    tell = telling(told, is_wanted=None)
    with _entered.following(tell):
        inner(1)
        inner(2)
    assert told == ["inner", "inner"]


def test_a_profiler_that_is_there_hears_of_all_and_is_there_again() -> None:
    heard: list[str] = []
    profile = lambda frame, event, arg: heard.append(event) if frame.f_code.co_name == "inner" else None
    sys.setprofile(profile)
    try:
        with _entered.following(telling([])):
            inner(1)
            inner(2)
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
    assert heard == ["call", "return"] * 2


def test_one_within_another_hears_as_well() -> None:
    outside: list[str] = []
    inside: list[str] = []
    tell_outside, tell_inside = telling(outside), telling(inside)
    with _entered.following(tell_outside):
        with _entered.following(tell_inside):
            inner(1)
        other()
    assert inside == ["inner"] and outside == ["inner", "other"]


def test_another_profiler_that_is_left_there_is_an_error() -> None:
    try:
        with pytest.raises(RuntimeError, match="sets a profiler"), _entered.following(telling([])):
            sys.setprofile(lambda *args: None)
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_error_ends_it_and_one_of_whoever_is_told_is_raised(error: type[BaseException]) -> None:
    with pytest.raises(error), _entered.following(telling([])):
        raise error
    assert sys.getprofile() is None

    def tell(frame: types.FrameType) -> bool:
        raise error

    with pytest.raises(error), _entered.following(tell):
        inner(1)
    assert sys.getprofile() is None


def test_nothing_is_followed_where_nobody_asks() -> None:
    with _entered.following(None):
        assert sys.getprofile() is None


def test_it_keeps_no_code_that_was_wanted() -> None:
    namespace: dict[str, Any] = {}
    exec("def made(): pass", namespace)
    code = namespace["made"].__code__
    before = sys.getrefcount(code)
    with _entered.following(telling([])):
        namespace["made"]()
        assert sys.getrefcount(code) > before
    gc.collect()
    assert sys.getrefcount(code) == before
