"""Locks that a fork of the process leaves free."""

from __future__ import annotations

import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.locks import lock_of_object
from wengert.runtime import specialisation

X = np.array([1.25, -0.5, 2.0])


@pytest.mark.machine_code("LLVM's lock is held")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 and later: that is what is tested
def test_a_fork_while_another_thread_compiles() -> None:
    """The child waited for ever for a lock that a thread held which it does not have."""
    from wengert.codegen import compiler

    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with compiler.LINKER:
            held.set()
            done.wait(0.2)

    wg.jit(lambda x: x + 1)(X)
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            right = np.array_equal(wg.jit(lambda x: x * 3 - 1)(X), X * 3 - 1)
        finally:
            os._exit(0 if right else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_makes_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """``functools.cached_property`` of Python 3.11 held a lock meanwhile, of all programs: the child waited for it."""
    making, done = threading.Event(), threading.Event()
    own = specialisation.Program

    def slow(*args: Any, **kwargs: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            making.set()
            done.wait(10)
        return own(*args, **kwargs)

    monkeypatch.setattr(specialisation, "Program", slow)
    shared = wg.jit(lambda x: x * 2 - 1)
    thread = threading.Thread(target=shared, args=(X,))
    thread.start()
    assert making.wait(10)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            right = np.array_equal(shared(X), X * 2 - 1) and np.array_equal(wg.jit(lambda x: x + 3)(X), X + 3)
        finally:
            os._exit(0 if right else 1)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_holds_the_lock_of_an_object() -> None:
    locks = [lock_of_object() for _ in range(100)][::3]
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with locks[7]:
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    child = os.fork()
    if child == 0:
        os._exit(0 if all(one.acquire(blocking=False) for one in locks) else 1)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_nothing_holds_a_lock_of_python_while_it_computes() -> None:
    """No ``functools.cached_property`` in our code: that of Python 3.11 locks all objects of its class."""
    package = Path(wg.__file__).parent
    found = [p for p in package.rglob("*.py") if re.search(r"^\s*@(functools\.)?cached_property", p.read_text(), re.M)]
    assert not found
