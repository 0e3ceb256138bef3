"""A call of an intercepted function is asked whether the replacement answers it.

It is the arguments that are asked, or who calls. Never whether a trace is open: what stands in a function's place may
be met at any time, by any thread.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from wengert.tracing.arguments import holds_traced, holds_unsettled
from wengert.tracing.callers import handed_to_library, is_library, is_ours, wants_memory
from wengert.tracing.trace import current_trace

# What is looked at to know whether the replacement answers (Looks in native/c_functions.cpp).
AT_ARGUMENTS = 0
"""Is an argument traced?"""
INTO_LISTS = 1
"""Or an item of a list or a tuple among them? Of functions written in Python: always, to any depth."""
INTO_ALL = 2
"""Is it as with INTO_LISTS, where the replacement itself iterates what is neither a list nor a tuple?"""
AT_DEFAULT = 3
"""Is the first argument traced, and are there three? ``getattr(x, name, default)``"""
AT_ANY = 4
"""Is any argument of a class traced, as with INTO_LISTS? Other classes are made of one argument."""
AT_OBJECT = 5
"""The replacement is asked at every call in a thread that traces, with the object before the arguments. It may answer
NotImplemented."""
AT_INSTANCE = 6
"""The replacement is asked as with AT_OBJECT, at each call of an object that a class made: ``functools.cache``."""
AT_CALLER = 7
"""Does the user's code call, in a thread that is tracing? ``np.zeros``"""
AT_CONVERSION = 8
"""Does the user's code call, as with AT_CALLER, or does a library convert a traced value that it may have?
``np.asarray``"""
AT_FUNCTIONS = 9
"""Is an argument traced, or does the user's code call, and passes its own function? Of functions in Python alone."""


def is_for_user(*converted: Any) -> bool:
    """Whether the code that runs now gets traced arrays of what makes arrays: the user's code, in a thread that traces.
    A library does of what converts ``converted``, if it may look at that."""
    if current_trace() is None:
        return False
    return not is_refused(sys._getframe(1), converted)


def is_refused(frame: FrameType, converted: tuple[Any, ...]) -> bool:
    """Whether a frame that calls for an array is a library's, which gets NumPy's own."""
    if not is_library(frame):
        return False
    if not converted or is_ours(frame):
        return True
    x = converted[0]
    if not holds_traced(x) or wants_memory(frame):
        return True
    # A traced value is converted where all that the library has been handed may be looked at: it is of captured arrays.
    return not holds_unsettled(x) and not any(map(holds_unsettled, handed_to_library(frame)))
