"""Locks that a fork of the process leaves free, and what they guard whole."""

from __future__ import annotations

import os
import threading


def lock() -> threading.RLock:
    """A lock for as long as the process lives: a fork waits until no other thread holds it.

    Without that the child, in which the other thread is not, would wait for ever.
    """
    made = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=made.acquire, after_in_parent=made.release, after_in_child=made.release)
    return made
