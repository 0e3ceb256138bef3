"""Python's garbage collector, put off while many objects are made at once that all stay.

Every few hundred new objects the collector looks for cycles among them, and each time that these have grown by a
quarter, among all objects of the process. A tape of thousands of instructions is that many tuples, none of which is
garbage while it is being made: looking takes a quarter of the time, and finds nothing.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

from wengert.locks import lock

_lock = lock()  # a fork does not come between the collector and what is noted of it
_is_off = False  # by us


@contextmanager
def put_off() -> Iterator[None]:
    """The collector does not run in here, and is left as it was; also a decorator. Not for code of the user's.

    Where threads overlap the first one to leave turns it on again: then the others are slower, and nothing is lost.
    """
    was_on = gc.isenabled()
    if was_on:
        _turn_off()
    try:
        yield
    finally:
        if was_on:
            _turn_on()


SELDOM = 50_000  # new objects between two looks
OFTEN = 20


@contextmanager
def seldom() -> Iterator[None]:
    """Once the collector has looked often in here, it does so a hundred times less often: for code of the user's that
    is recorded, step after step, whose own garbage may not wait for ever. Where threads overlap the first one to leave
    sets it back."""
    before = gc.get_threshold()
    looks = 0

    def count(phase: str, info: object) -> None:
        nonlocal looks
        looks += 1
        if looks == OFTEN:
            gc.set_threshold(SELDOM, *before[1:])

    if not 0 < before[0] < SELDOM:
        yield
        return
    gc.callbacks.append(count)
    try:
        yield
    finally:
        gc.callbacks.remove(count)
        if looks >= OFTEN:
            gc.set_threshold(*before)


def _turn_off() -> None:
    global _is_off
    with _lock:
        gc.disable()
        _is_off = True


def _turn_on() -> None:
    global _is_off
    with _lock:
        gc.enable()
        _is_off = False


def _after_fork() -> None:
    """In a child whose parent had it off in another thread, which is not there to turn it on."""
    if _is_off:
        _turn_on()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
