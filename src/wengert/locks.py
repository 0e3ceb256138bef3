"""Locks that a fork of the process leaves free, and what they guard whole."""

from __future__ import annotations

import os
import threading
from weakref import ref


def lock() -> threading.RLock:
    """A lock for as long as the process lives: a fork waits until no other thread holds it.

    Without that the child, in which the other thread is not, would wait for ever.
    """
    made = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=made.acquire, after_in_parent=made.release, after_in_child=made.release)
    return made


_listing = lock()
_of_objects: list[ref[threading.RLock]] = []


def lock_of_object() -> threading.RLock:
    """A lock that goes with its object, and guards what is right half done too: in a child process it is free."""
    made = threading.RLock()
    with _listing:
        if len(_of_objects) & (len(_of_objects) - 1) == 0:  # as long as a power of 2: those that are gone may go
            _of_objects[:] = [one for one in _of_objects if one() is not None]
        _of_objects.append(ref(made))
    return made


def _free() -> None:
    for one in _of_objects:
        living = one()
        if living is not None:
            living._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library does with its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)
