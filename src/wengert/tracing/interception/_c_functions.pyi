"""Functions of C, classes, attributes that C code sets, and objects that are called, exchanged for others while a trace
is open: see native/c_functions.cpp.

``looks`` says what is looked at to know whether the replacement answers: see intercept.py.
"""

from collections.abc import Callable
from typing import Any

def setup(traced: type, asks: Callable[..., bool], libraries: set[str], is_tracing: Any, /) -> None:
    """``asks()`` and ``asks(x)``, for what converts ``x``, say whether the running frame is to get traced arrays.
    They are not called in the modules of the ``libraries``, which never are, nor in a thread that does not trace,
    which ``_opened.is_tracing`` knows."""

def enroll(callee: Any, replacement: Callable[..., Any], looks: int = 0, /) -> bool:
    """False where the kind of ``callee``, or how it is called, is not known."""

def withdraw(callee: Any, /) -> None:
    """Take back what was enrolled last, or an object that is called. KeyError if it was not."""

def switch_on(callee: Any, is_on: bool, /) -> None:
    """Whether the replacement stands there while a trace is open."""

def is_from_python() -> bool:
    """Whether the running frame's code calls this, with Python's own code alone in between: for a test of that."""

def open() -> None: ...
def close() -> None: ...
