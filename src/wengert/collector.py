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
