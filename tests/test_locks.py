"""Locks that a fork of the process leaves free."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

import wengert as wg

X = np.array([1.25, -0.5, 2.0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 and later: that is what is tested
def test_a_fork_while_another_thread_compiles() -> None:
    """The child waited for ever for a lock that a thread held which it does not have."""
    from wengert.codegen import compiler

    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with compiler._lock:
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
