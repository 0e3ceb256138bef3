"""The garbage collector, put off while many objects are made that all stay."""

from __future__ import annotations

import gc
import os
import threading

import numpy as np
import pytest

import wengert as wg
from wengert import passes
from wengert.collector import SELDOM, put_off, seldom
from wengert.passes.plan.planner import plan


def test_it_is_off_inside_and_on_afterwards() -> None:
    with put_off():
        assert not gc.isenabled()
        with put_off():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_is_on_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), put_off():
        _ = 1 / 0
    assert gc.isenabled()


def test_who_had_it_off_has_it_off_afterwards() -> None:
    gc.disable()
    try:
        with put_off():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_threads_that_overlap_leave_it_on() -> None:
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with put_off():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(10)
    with put_off():  # which finds it off
        leave.set()
        thread.join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 and later: that is what is tested
def test_a_child_forked_meanwhile_has_it_on() -> None:
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with put_off():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(10)
    child = os.fork()
    if child == 0:
        os._exit(0 if gc.isenabled() else 1)
    leave.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert gc.isenabled()


def test_the_users_function_is_traced_with_the_collector_on() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        assert gc.isenabled()
        return np.sum(np.sin(x))

    wg.grad(wg.grad(f))(np.float64(1))
    assert gc.isenabled()


def test_a_long_tape_is_planned_with_few_collections() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        for _ in range(1500):
            x = np.sin(x) + x
        return np.sum(x)

    tape = wg.trace(f)(np.ones(3))
    collections: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        collections.append(phase)

    gc.callbacks.append(note)
    try:
        plan(passes.run(tape))
    finally:
        gc.callbacks.remove(note)
    assert len(collections) <= 8  # a start and a stop each; some seventy without


def test_it_looks_seldom_where_much_is_recorded() -> None:
    before = gc.get_threshold()
    gc.set_threshold(100, 10, 10)
    try:
        with seldom():
            assert gc.get_threshold() == (100, 10, 10)
            kept = [[k] for k in range(5_000)]
            assert gc.get_threshold() == (SELDOM, 10, 10)
        assert gc.get_threshold() == (100, 10, 10)
        assert len(kept) == 5_000
    finally:
        gc.set_threshold(*before)
