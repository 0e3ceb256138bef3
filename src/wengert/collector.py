"""Python's garbage collector, put off while many objects are made at once that all stay.

Every few hundred new objects the collector looks for cycles among them, and each time that these have grown by a
quarter, among all objects of the process. A tape of thousands of instructions is that many tuples, none of which is
garbage while it is being made: looking takes a quarter of the time, and finds nothing.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from wengert._contexts import forked, put_off, seldom

__all__ = ["put_off", "seldom", "undisturbed"]

Given = ParamSpec("Given")
Result = TypeVar("Result")

SELDOM = 50_000
OFTEN = 20
"""The new objects between two looks of the collector where it looks seldom, and the looks before it does so. They stand
in native/contexts.cpp too, where they count: a test compares them."""


def undisturbed(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Make the collector not run while the decorated function does."""

    @functools.wraps(function)
    def undisturbed_function(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        with put_off():
            return function(*args, **kwargs)

    return undisturbed_function


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forked)
