"""Contexts that are entered when they are made, and left when they are freed: what each sets, and that it is undone;
compiled, and in their Python form."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from wengert import _contexts, collector
from wengert.pure import contexts as python_form


@pytest.fixture(params=[_contexts, python_form], ids=["compiled", "python"])
def contexts(request: pytest.FixtureRequest) -> ModuleType:
    """The module, and its Python form."""
    return request.param


def test_an_attribute_is_replaced_until_the_block_ends_however_it_ends(contexts: ModuleType) -> None:
    holder = SimpleNamespace(x=1)
    with contexts.replaced(holder, "x", 2) as value:
        assert (holder.x, value) == (2, 2)
    assert holder.x == 1
    with pytest.raises(ZeroDivisionError), contexts.replaced(holder, "x", 2):
        _ = 1 / 0
    assert holder.x == 1
    context = contexts.replaced(holder, "x", 3)  # as an exception between here and the block leaves it
    assert holder.x == 3
    del context
    assert holder.x == 1
    with pytest.raises(AttributeError):
        contexts.replaced(holder, "missing", 1)
    assert vars(holder) == {"x": 1}


def test_what_is_freed_while_an_exception_goes_up_leaves_the_exception(contexts: ModuleType) -> None:
    holder = SimpleNamespace(x=1)

    def fails() -> None:
        [contexts.replaced(holder, "x", 2), 1 / 0]

    with pytest.raises(ZeroDivisionError) as raised:
        fails()
    assert holder.x == 1 and raised.value.__traceback__ is not None  # although that lives


def test_a_context_is_left_once(contexts: ModuleType) -> None:
    holder = SimpleNamespace(x=1)
    context = contexts.replaced(holder, "x", 2)
    context.__exit__(None, None, None)
    holder.x = 5
    context.__exit__(None, None, None)
    del context
    assert holder.x == 5


def test_a_lock_is_held_if_it_was_free(contexts: ModuleType) -> None:
    lock, held, done = threading.RLock(), threading.Event(), threading.Event()
    with contexts.acquired(lock) as is_acquired:
        assert is_acquired is True

    def hold() -> None:
        with lock:
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    with contexts.acquired(lock) as is_acquired:
        assert is_acquired is False
    done.set()
    thread.join()
    assert lock.acquire(blocking=False)
    lock.release()


def test_numpy_warns_of_no_arithmetic(contexts: ModuleType) -> None:
    zero = np.zeros(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with contexts.silent():
            assert np.geterr() == dict.fromkeys(np.geterr(), "ignore")
            assert np.isinf(1 / zero).all()
        with pytest.raises(RuntimeWarning):
            1 / zero


def test_the_constants_of_the_collector_are_those_of_the_module(contexts: ModuleType) -> None:
    before = gc.get_threshold()
    with contexts.seldom(), contexts.seldom():
        for _ in range(collector.OFTEN):
            gc.collect(0)
        assert gc.get_threshold()[0] == collector.SELDOM
    assert gc.get_threshold() == before
    with contexts.seldom():
        pass
    assert gc.get_threshold() == before and len({id(one) for one in gc.callbacks}) == len(gc.callbacks)


def test_whether_garbage_is_collected_is_known_in_the_thread_that_does(contexts: ModuleType) -> None:
    found: list[bool] = []

    class Cycle:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            with ThreadPoolExecutor(1) as other:
                found.extend([contexts.is_collecting(), other.submit(contexts.is_collecting).result()])

    with contexts.seldom():
        Cycle()
        gc.collect()
        assert found == [True, False] and not contexts.is_collecting()
    Cycle()
    gc.collect()
    assert found[2:] == [False, False]  # nobody counts then


def test_contexts_leave_no_references(contexts: ModuleType) -> None:
    holder, value = SimpleNamespace(x=1), object()

    def use() -> None:
        for _ in range(100):
            with contexts.replaced(holder, "x", value), contexts.put_off(), contexts.seldom(), contexts.silent():
                pass

    use()
    before = [sys.getrefcount(x) for x in (holder, value, type(contexts.put_off()), np.geterr)]
    use()
    assert before == [sys.getrefcount(x) for x in (holder, value, type(contexts.put_off()), np.geterr)]
