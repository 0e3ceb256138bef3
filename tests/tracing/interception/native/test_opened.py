"""What is exchanged while a trace is open: as long as there is one, by whomever, and what is lent to it."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest
from scipy import special

import wengert as wg
from tests.tracing.interception.addresses import address
from wengert.tracing.interception import _opened
from wengert.tracing.interception.intercept import opened
from wengert.tracing.read_only import writes_no_arrays
from wengert.tracing.stack import current_trace
from wengert.tracing.trace import Trace

OWN = address(np.zeros), special.logsumexp.__code__


def is_exchanged() -> bool:
    own = address(np.zeros), special.logsumexp.__code__
    assert own == OWN or (own[0] != OWN[0] and own[1] is not OWN[1])
    return own != OWN


@pytest.mark.usefixtures("no_other_thread_writes")
def test_a_trace_that_nobody_closed_is_closed_when_its_context_goes() -> None:
    x = np.ones(3)
    outer, inner = Trace("outer"), Trace("inner")
    with opened(outer):
        context = opened(inner)
        inner.read_only.lock(x)
        assert current_trace() is inner and not x.flags.writeable and not outer.is_direct
        del context
        assert current_trace() is outer and x.flags.writeable and outer.is_direct and not inner.is_open
        assert is_exchanged()
    assert current_trace() is None and not is_exchanged()


def test_it_is_exchanged_as_long_as_any_thread_has_a_trace() -> None:
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with opened(Trace("theirs")):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=work)
    with opened(Trace("ours")):
        thread.start()
        inside.wait(10)
    assert is_exchanged() and current_trace() is None
    leave.set()
    thread.join()
    assert not is_exchanged()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_process_has_not_the_traces_of_other_threads() -> None:
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with opened(Trace("theirs")):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(10)
    child = os.fork()
    if child == 0:
        os._exit(1 if is_exchanged() else 0)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_is_exchanged_is_said_right() -> None:
    f = lambda: 1
    own, ours = f.__code__, (lambda: 2).__code__
    _opened.exchange_code(f, own, ours)
    _opened.exchange_code(f, own, ours)  # again, as after an interrupt
    with opened(Trace("f")):
        assert f() == 2
        _opened.give_code_back(f)
        assert f() == 1
        _opened.exchange_code(f, own, ours)
        assert f() == 2
        f.__code__ = (lambda: 3).__code__  # which somebody has put there
    assert f() == 3
    _opened.give_code_back(f)
    _opened.give_code_back(f)  # for nothing: it has its own
    for wrong in (lambda: _opened.answered((f,), ()), lambda: _opened.answered((3,), (own,))):
        with pytest.raises(TypeError, match="as many codes"):
            wrong()
    with pytest.raises(TypeError):
        _opened.opened(Trace("f"), ())


# --------------------------------------------------------------------------------------------------------- what is lent


@pytest.fixture
def another_thread() -> Any:
    """Lives as long as the test."""
    leave = threading.Event()
    thread = threading.Thread(target=leave.wait)
    thread.start()
    yield
    leave.set()
    thread.join()


@pytest.mark.usefixtures("another_thread")
def test_other_threads_write_their_arrays_while_one_traces() -> None:
    """They were refused, with the error of a read-only array, in whatever they were doing."""
    x, large, other = np.ones(3), np.ones(5_000), np.ones(3)

    def f(x: Any, y: Any) -> Any:
        for array in (large, other, X):
            thread = threading.Thread(target=array.__setitem__, args=(0, array[0]))
            thread.start()
            thread.join()
            assert array.flags.writeable
        return np.sum(x[0] * large) + np.sum(y)

    X = x
    np.testing.assert_array_equal(wg.grad(f)(x, other), [5_000.0, 0.0, 0.0])


@pytest.mark.usefixtures("another_thread")
@pytest.mark.parametrize("which", ["the argument", "what it captured", "in a container"])
def test_a_write_is_found_where_there_are_other_threads(which: str) -> None:
    x, large, held = np.ones(3), np.ones(5_000), np.ones(3)
    written = {"the argument": x, "what it captured": large, "in a container": held}[which]

    def f(x: Any, parts: Any) -> Any:
        y = np.sum(x * x) * np.sum(x[0] * large) + np.sum(x * parts["a"])
        written[0] = 100.0
        return y

    with pytest.raises(wg.errors.WrittenMeanwhileError, match=r"test_opened\.py(.|\n)*copy"):
        wg.value_and_grad(f)(x, {"a": held})


@pytest.mark.usefixtures("another_thread")
def test_an_argument_is_not_written_where_there_are_other_threads() -> None:
    def f(x: Any, data: Any) -> Any:
        data[0] = 5.0
        return np.sum(x * data)

    x, data = np.ones(2), np.array([1.0, 2.0])
    np.testing.assert_array_equal(wg.grad(f)(x, data), [5.0, 2.0])
    assert data.tolist() == [1.0, 2.0] and data.flags.writeable


@pytest.mark.usefixtures("no_other_thread_writes")
@pytest.mark.needs_extension("that NumPy writes a read-only array is found out when the trace ends")
def test_an_array_is_lent_where_no_other_thread_may_write_it() -> None:
    x, lent = np.ones(3), list[Any]()
    leave = threading.Event()

    def work() -> None:
        with writes_no_arrays():
            inside.set()
            leave.wait(10)

    inside = threading.Event()
    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(10)
    trace = Trace("f")
    with opened(trace):
        assert _opened.lend(trace.read_only.lent, x) and _opened.is_lent(x) and not x.flags.writeable
        assert _opened.lend(lent, x) and not lent  # whose it is already
    leave.set()
    thread.join()
    assert x.flags.writeable and not _opened.is_lent(x)


def test_a_digest_tells_every_element() -> None:
    random = np.random.default_rng(0)
    for shape in [(), (1,), (7,), (9,), (64,), (1000,), (3, 5), (4, 3, 5)]:
        for dtype in ("f8", "f4", "i1", "u2", "c16", "?"):
            x = np.asarray(random.normal(size=shape) * 50).astype(dtype)
            for view in (x, x.T, x[::-1], x[..., ::2]) if x.ndim else (x,):
                before = _opened.digest(view)
                assert before == _opened.digest(view)
                for k in np.ndindex(view.shape):
                    old = view[k]
                    view[k] = not old if dtype == "?" else old * 0 + (old == 0)
                    assert _opened.digest(view) != before
                    view[k] = old
                assert before == _opened.digest(view)
    a = np.arange(100.0)
    assert len({_opened.digest(np.roll(a, k)) for k in range(100)}) == 100
    with pytest.raises(TypeError):
        _opened.digest(3)
