"""Python's garbage collector, put off while many objects are made at once that all stay.

Every few hundred new objects the collector looks for cycles among them, and each time that these have grown by a
quarter, among all objects of the process. A tape of thousands of instructions is that many tuples, none of which is
garbage while it is being made: looking takes a quarter of the time, and finds nothing.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ParamSpec, TypeVar

from wengert import _contexts

Given = ParamSpec("Given")
Result = TypeVar("Result")

SELDOM = 50_000
OFTEN = 20
"""The new objects between two looks of the collector where it looks seldom, and the looks before it does so. They stand
in native/contexts.cpp too, where they count: a test compares them."""


def put_off() -> AbstractContextManager[None]:
    """The collector does not run in here, and is left as it was. Not for code of the user's.

    Where threads overlap the first one to leave turns it on again: then the others are slower, and nothing is lost.
    """
    return _contexts.put_off()


def undisturbed(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Make the collector not run while the decorated function does."""

    @functools.wraps(function)
    def undisturbed_function(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        with _contexts.put_off():
            return function(*args, **kwargs)

    return undisturbed_function


def seldom() -> AbstractContextManager[None]:
    """Once the collector has looked often in here, it does so a hundred times less often: for code of the user's that
    is recorded, step after step, whose own garbage may not wait for ever. Where threads overlap the last one to leave
    sets it back."""
    return _contexts.seldom()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_contexts.forked)
