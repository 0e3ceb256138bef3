"""Functions of Python's own that are C code, on traced values: ``math.sin``, ``float``, ``np.float64``, ``hasattr``,
and of NumPy's: ``np.nditer``.

No protocol of NumPy's or Python's reaches them, or what it gives must be a real float. So while a trace is open their
*C code* is exchanged (native/exchange.cpp) for code that asks whether an argument is traced: the function stays the
object that it is, so that ``from math import sin``, long before, is recorded as well, and so is ``map(float, xs)``.
Any other call, in any thread, goes on to the function's own code. reroute.py, which does the same to functions that are
Python code, says when. What they do to traced values stands in :mod:`wengert.tracing.functions`, under
:func:`exchanges`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from wengert.tracing import _exchange, _opened
from wengert.tracing.tracer import Tracer

Replacement = TypeVar("Replacement", bound=Callable[..., Any])

# How much of its arguments a function looks at, to find a traced value (Looks in native/exchange.cpp).
AT_ARGUMENTS, INTO_LISTS, INTO_ALL, AT_DEFAULT, AT_ANY, AT_OBJECT, AT_INSTANCE = range(7)

EXCHANGED: list[Any] = []
"""The functions and classes that are exchanged, of the modules that have been imported."""

_exchange.setup(Tracer)


def exchanges(callee: Any, looks: int = AT_ARGUMENTS) -> Callable[[Replacement], Replacement]:
    """Make the decorated function what ``callee``, a function or class of C code, does to traced arguments; or what is
    asked before an attribute that C code sets is set, as with AT_OBJECT.

    One that some Python to come calls in another way keeps its own code, which refuses them.
    """

    def register(traced: Replacement) -> Replacement:
        if _exchange.enroll(callee, traced, looks) and callable(callee) and looks != AT_INSTANCE:
            EXCHANGED.append(callee)
        return traced

    return register


_waiting: dict[str, Callable[[], None]] = {}  # by module, what is to be enrolled once that is imported


def enrolls(module: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Call the decorated function, which enrolls functions of ``module``, before the first trace that finds it there:
    it takes its time to import, and is not imported for this."""

    def register(enroll: Callable[[], None]) -> Callable[[], None]:
        _waiting[module] = enroll
        return enroll

    return register


def enroll_new() -> None:
    """Enroll functions of modules that were imported since this was last called."""
    for module in [m for m in _waiting if m in sys.modules] if _waiting else ():
        _waiting[module]()
        _opened.begin_again()
        _waiting.pop(module, None)  # at last: whatever interrupts this, it is done anew


_opened.exchange(_exchange.open, _exchange.close)
