"""Functions that somebody else answers for, with no trace open and while one is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tracing.interception.intercept import TABLE, intercepts, withdraw
from wengert.tracing.interception.standing import standing


def made() -> Callable[..., Any]:
    cell = 2.0

    def area(width: Any, height: Any = 1.0, *rest: Any, scale: float = 1.0, **more: Any) -> Any:
        return cell * width * height * scale + len(rest) + len(more)

    return area


def shouting(own: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[str, Any]:
    return "answered", own(*args, **kwargs)


def test_arguments_reach_the_own_code_as_they_were_given() -> None:
    area = made()
    plain = [area(3), area(3, 4), area(3, 4, 5, scale=2.0, k=1)]
    code = area.__code__
    with standing([(area, shouting)]):
        assert [area(3), area(3, 4), area(3, 4, 5, scale=2.0, k=1)] == [("answered", x) for x in plain]
        with pytest.raises(TypeError, match="width"):
            area()
        assert area.__code__.co_varnames[:2] == ("width", "height")
    assert area(3) == plain[0]
    assert area.__code__ is code


def test_names_alone_reach_it_too() -> None:
    def named(**more: Any) -> Any:
        return more

    with standing([(named, shouting)]):
        assert named() == ("answered", {})
        assert named(k=1) == ("answered", {"k": 1})


def test_contexts_overlap_in_any_order() -> None:
    area = made()
    code = area.__code__
    first, second = standing([(area, shouting)]), standing(())
    first.__enter__()
    second.__enter__()(area, shouting)
    first.__exit__(None, None, None)
    assert area(1) == ("answered", 2.0)
    second.__exit__(None, None, None)
    assert area.__code__ is code


def test_a_builtin_keeps_its_own_code() -> None:
    with standing([(len, shouting)]):
        assert len([1, 2]) == 2


@pytest.mark.parametrize("is_known_before", [True, False])
def test_a_function_that_is_intercepted_is_both(is_known_before: bool) -> None:
    """While a trace is open a traced argument is the replacement's, and all others are whose they are without one."""
    area = made()
    code = area.__code__

    def enroll() -> None:
        intercepts(area, name="area of test_standing")(lambda width: width * 10.0)

    def inside(x: Any) -> Any:
        assert area(3)[0] == "answered"  # of numbers alone
        return area(x)

    try:
        if is_known_before:
            enroll()
            assert float(wg.grad(area)(1.0)) == 10.0
        with standing([(area, shouting)]):
            if not is_known_before:
                enroll()
            assert float(wg.grad(inside)(1.0)) == 10.0
            assert area(3) == ("answered", 6.0)

            def leaves(x: Any) -> Any:
                with standing([(area, shouting)]):
                    pass
                return area(x)

            assert float(wg.grad(leaves)(1.0)) == 10.0
        assert area.__code__ is code
        assert float(wg.grad(area)(1.0)) == 10.0
        assert area(3) == 6.0
        assert area.__code__ is code
    finally:
        withdraw(TABLE.pop("area of test_standing"))


def test_what_is_exchanged_while_another_thread_traces_is_put_back() -> None:
    area = made()
    code = area.__code__
    intercepts(area, name="area of test_standing")(lambda width: width * 10.0)
    inside, done = threading.Event(), threading.Event()
    found: list[float] = []

    def f(x: Any) -> Any:
        inside.set()
        assert done.wait(20)
        return area(x)

    try:
        thread = threading.Thread(target=lambda: found.append(float(wg.grad(f)(1.0))))
        thread.start()
        assert inside.wait(20)
        with standing([(area, shouting)]):
            assert area(3) == ("answered", 6.0)
        assert area(3) == 6.0
        done.set()
        thread.join()
        assert found == [10.0]
        assert area.__code__ is code
    finally:
        done.set()
        withdraw(TABLE.pop("area of test_standing"))


def test_arrays_are_not_compared_with_defaults() -> None:
    area = made()
    with standing([(area, shouting)]):
        assert (area(np.ones(2), np.ones(2))[1] == 2.0).all()
