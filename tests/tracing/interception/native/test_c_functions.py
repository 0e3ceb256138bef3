"""C functions and classes that are exchanged while a trace is open: for traced values alone, and back again."""

from __future__ import annotations

import copy
import functools
import gc
import math
import os
import pickle
import sys
import threading
import weakref
from math import sin
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.tracing.interception.addresses import address
from wengert.tracing.interception import _c_functions, _opened
from wengert.tracing.interception.intercept import opened
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer


@pytest.mark.needs_extension("addresses of C code are compared")
def test_the_code_is_the_functions_own_without_a_trace() -> None:
    """Nested and left by an exception."""
    own = [address(f) for f in (math.sin, math.hypot, math.log, hasattr)]
    with opened(Trace("f")):
        with pytest.raises(ZeroDivisionError), opened(Trace("f")):
            raise ZeroDivisionError
        assert all(a != b for a, b in zip(own, map(address, (math.sin, math.hypot, math.log, hasattr)), strict=True))
    assert own == [address(f) for f in (math.sin, math.hypot, math.log, hasattr)]
    with pytest.raises(ZeroDivisionError):
        wg.grad(lambda x: 1 / 0)(1.0)
    assert own == [address(f) for f in (math.sin, math.hypot, math.log, hasattr)]


def test_a_name_imported_long_before_is_traced() -> None:
    assert [i.op.name for i in wg.trace(sin)(0.5).instrs] == ["sin"]
    assert math.sin is sin


def test_what_is_not_traced_is_pythons_own_affair() -> None:
    """Of every way in which Python calls C code: values, keywords, and errors."""

    def f(x: Any) -> Any:
        assert math.sin(0.5) == sin(0.5) and math.hypot(3, 4) == 5 and math.log(8, 2) == 3
        assert math.isclose(1.0, 1.0 + 1e-12, rel_tol=1e-9) and math.prod([2, 3], start=4) == 24
        assert float("1.5") == 1.5 and list(map(float, ["2", 3])) == [2.0, 3.0]
        assert np.float64("2.5") == 2.5 and np.int64() == 0 and np.float32([1, 2]).tolist() == [1, 2]
        assert hasattr(3, "real") and not hasattr(3, "shape") and getattr(3, "shape", 7) == 7
        with pytest.raises(TypeError):
            math.sin("a")
        with pytest.raises(ValueError, match=r"domain|nonnegative"):
            math.sqrt(-1)
        with pytest.raises(AttributeError):
            getattr(3, "shape")  # noqa: B009
        return x

    assert wg.grad(f)(1.0) == 1.0


def test_other_threads_see_nothing_of_an_open_trace() -> None:
    inside, done = threading.Event(), threading.Event()
    found: list[Any] = []

    def work() -> None:
        inside.wait(10)
        found.extend([math.sin(0.5), float(2), math.fsum(k / 8 for k in range(3)), np.float64(0.25)])
        done.set()

    def f(x: Any) -> Any:
        inside.set()
        assert done.wait(10)
        return math.sin(x)

    thread = threading.Thread(target=work)
    thread.start()
    assert wg.grad(f)(0.5) == math.cos(0.5)
    thread.join()
    assert found == [math.sin(0.5), 2.0, 0.375, 0.25]


def test_a_class_made_while_a_trace_was_open_goes_on_afterwards() -> None:
    made: list[Any] = []

    def f(x: Any) -> Any:
        made.append(type("Metres", (np.float64,), {}))
        made.append(made[0](2.5))
        return x * float(made[1])

    assert wg.grad(f)(1.0) == 2.5
    assert type(made[0](1.5)) is made[0] and made[0](1.5) == 1.5
    assert wg.grad(lambda x: x * made[0](3.0))(1.0) == 3.0


class Metres(float):
    pass


class Count(int):
    pass


class Exact(np.float64):
    pass


def copies(*classes: type) -> list[Any]:
    """In all ways in which a number of a subclass is made anew."""
    made = [cls(5) for cls in classes]
    again = [copy.copy(x) for x in made] + [cls.__new__(cls, 5) for cls in classes]
    again += [pickle.loads(pickle.dumps(x)) for x in made if type(x).__module__ == __name__]
    assert [*map(type, made)] == [*classes] and all(x == 5 for x in made + again)
    return [*map(type, again)]


def test_numbers_of_subclasses_are_copied_while_a_trace_is_open_and_afterwards() -> None:
    """``__new__`` compares what a class and its base are made by: a class that inherited a trampoline, before or while
    it stood in the base, could never be copied."""
    before = copies(Metres, Count, Exact)
    found: list[Any] = []
    made: list[type] = []

    def f(x: Any) -> Any:
        assert copies(Metres, Count, Exact) == before
        made.extend(type(f"Of_{base.__name__}", (base,), {}) for base in (int, float, np.float64, np.int32, Count))
        found.append(copies(Metres, Count, Exact, *made))
        thread = threading.Thread(target=lambda: found.append(copies(Metres, Count, Exact, *made)))
        thread.start()
        thread.join()
        return math.sin(x) * float(made[0](3))

    assert wg.grad(f)(0.5) == 3 * math.cos(0.5)
    assert found == [copies(Metres, Count, Exact, *made)] * 2
    assert wg.grad(lambda x: x * made[0](3))(1.0) == 3.0


@pytest.mark.deep("every exchanged function, many times: 8 s")
def test_calls_leave_no_references() -> None:
    def f(x: Any) -> Any:
        try:
            math.log(-x)
        except ValueError:
            y = math.sin(x) + math.hypot(x, 1.0) + math.fsum([x, 2.0]) + float(x) + np.float64(x)
            return y if hasattr(x, "real") and math.isclose(x, 0.5, rel_tol=1e-3) else getattr(x, "nothing", y)

    known = (math.sin, math.fsum, float, np.float64, Tracer, f)
    compiled = wg.jit(wg.grad(f))

    def counts() -> list[int]:
        for _ in range(50):
            wg.grad(f)(0.5)
            compiled(0.5)
        gc.collect()
        return [sys.getrefcount(x) for x in known]

    before = [counts(), counts()][1]
    grown = [after - once for once, after in zip(before, counts(), strict=True)]
    assert max(grown) < 50, grown


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_process_forked_while_a_trace_is_open_traces_too() -> None:
    def f(x: Any) -> Any:
        child = os.fork()
        if child == 0:
            os._exit(0 if math.sin(0.5) == sin(0.5) and (math.sin(x) * 2 > 0) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        return math.sin(x)

    assert wg.grad(f)(0.5) == math.cos(0.5)


@pytest.mark.needs_extension("classes and setters are not exchanged")
def test_what_cannot_be_exchanged_is_said() -> None:
    assert _c_functions.enroll(object(), print) is False
    assert _c_functions.enroll(lambda: 0, print) is False
    with pytest.raises(ValueError, match="already"):
        _c_functions.enroll(math.sin, print)
    with pytest.raises(TypeError, match="type"):
        _c_functions.setup(3, print, set(), _opened.is_tracing)


def test_a_cache_of_wengerts_own_that_a_function_made_is_not_kept() -> None:
    """Those of modules are, so that ``__module__`` is asked once; others would never go."""

    def make() -> Any:
        cached = functools.lru_cache(lambda x: x)
        cached.__module__ = "wengert.made_up"
        return cached

    def f(x: Any) -> Any:
        cached = make()
        assert cached(1.0) == 1.0 == cached(1.0)
        kept.append(weakref.ref(cached))
        return x

    kept: list[Any] = []
    wg.jvp(f, (1.0,), (1.0,))
    gc.collect()
    assert kept[0]() is None
