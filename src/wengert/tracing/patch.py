"""Functions of the module ``numpy``, replaced while a trace is open somewhere in the process.

NumPy lets traced arrays answer most of its functions themselves, but not those that make arrays of shapes and
numbers, nor those that set how it computes. In their place stand wrappers, which

* do what the decorated function does, for the user's code in a thread that is tracing,
* do what NumPy does in every other thread, and for every caller that is not the user's code (see callers.py).

And calls of its functions with traced values in lists are answered meanwhile (see arraylikes.py).

Only attributes of the module can be replaced: after ``from numpy import zeros`` a program has NumPy's own, whose
arrays refuse traced values with an error that says so. Classes that compiled modules look for when they are imported
(``np.broadcast``, ``np.flatiter``) must stay what they are.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from wengert.tracing import _arraylikes, _opened, arraylikes  # noqa: F401  # arraylikes: it says who answers
from wengert.tracing.arguments import holds_traced, holds_unsettled
from wengert.tracing.callers import handed_to_library, is_called_by_name, is_library, is_ours, wants_memory
from wengert.tracing.trace import current_trace

Replacement = TypeVar("Replacement", bound=Callable[..., Any])

NUMPY: dict[str, Any] = {}
"""NumPy's own functions, by name: ``np.zeros`` may be a wrapper at the moment."""

WRAPPERS: dict[str, Any] = {}
"""What stands in their places while a trace is open, in the same order."""


def replaces(name: str, is_conversion: bool = False) -> Callable[[Replacement], Replacement]:
    """Make the decorated function what the user's code finds at ``np.name`` while it is traced.

    A conversion turns its argument into an array: a traced value into a traced array for libraries too, which may go
    on in NumPy, and be traced.
    """

    def register(traced: Replacement) -> Replacement:
        own = getattr(np, name)

        @functools.wraps(own)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if current_trace() is None:
                return own(*args, **kwargs)
            frame = sys._getframe(1)
            if is_library(frame) and (not is_conversion or is_ours(frame) or not args or _is_for_numpy(args[0], frame)):
                return own(*args, **kwargs)
            return (traced if is_called_by_name(frame, name) else own)(*args, **kwargs)

        replaces_object(name, wrapper)
        return traced

    return register


def _is_for_numpy(x: Any, frame: FrameType) -> bool:
    """Whether a library's conversion of ``x`` is NumPy's affair: nothing is traced, or all that the user's code has
    handed to the library is made of captured arrays, and may be looked at."""
    if not holds_traced(x) or wants_memory(frame):
        return True
    return not holds_unsettled(x) and not any(map(holds_unsettled, handed_to_library(frame)))


def replaces_object(name: str, stand_in: Any) -> None:
    """Make ``stand_in`` what is found at ``np.name`` while a trace is open; it asks itself who is calling."""
    NUMPY[name], WRAPPERS[name] = getattr(np, name), stand_in
    _opened.exchange_name(np.__dict__, name, NUMPY[name], stand_in)


_opened.exchange(_arraylikes.begin, _arraylikes.end)
