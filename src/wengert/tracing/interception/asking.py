"""A call of an intercepted function is asked whether the replacement answers it.

It is the arguments that are asked, or who calls. Never whether a trace is open: what stands in a function's place may
be met at any time, by any thread.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

from wengert.tracing.arguments import holds_traced, holds_unsettled
from wengert.tracing.callers import handed_to_library, is_called_by_code, is_library, is_ours, wants_memory
from wengert.tracing.python.frames import calling_frame
from wengert.tracing.stack import current_trace

# These say what is looked at to know whether the replacement answers (Looks in native/c_functions.cpp).
AT_ARGUMENTS = 0
"""The replacement answers if an argument is traced."""
INTO_LISTS = 1
"""It answers if an argument is traced, or an item of a list or tuple among them. For functions written in Python, the
values above mean this as well, to any depth."""
INTO_ALL = 2
"""It answers as with INTO_LISTS, and if an argument is neither a list nor a tuple, which it iterates itself."""
AT_DEFAULT = 3
"""It answers if there are three arguments, and the first is traced: ``getattr(x, name, default)``."""
AT_ANY = 4
"""A class answers as with INTO_LISTS. With another value, a class is asked only where it is called with one
argument."""
AT_OBJECT = 5
"""A method's replacement is called in every thread that traces, with the object before the arguments, and may
return NotImplemented."""
AT_INSTANCE = 6
"""A class answers as with AT_OBJECT, for each call of an object that the class made: ``functools.cache``."""
AT_CALLER = 7
"""It answers if the user's code calls, in a thread that traces: ``np.zeros``."""
AT_CONVERSION = 8
"""It answers as with AT_CALLER, and if a library converts a traced value that it may have: ``np.asarray``."""
AT_FUNCTIONS = 9
"""It answers if an argument is traced, or if the user's code calls and passes a function of its own. For functions
written in Python alone."""


def is_for_user(*converted: Any, callee: Any = None) -> bool:
    """Whether the code that runs now gets traced arrays of what makes arrays: the user's code, in a thread that traces.
    A library does of what converts ``converted``, if it may look at that.

    ``callee``: what is called, where nobody has looked yet whether that code calls it, or compiled code does which that
    code has called.
    """
    if current_trace() is None:
        return False
    frame = calling_frame(1)
    return not is_refused(frame, converted) and (callee is None or is_called_by_code(frame, callee))


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
