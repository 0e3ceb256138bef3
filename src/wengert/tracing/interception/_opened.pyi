"""A trace is open, and what is exchanged in the process meanwhile is: see native/opened.cpp.

Each context is entered when it is made, so it stands behind ``with``, and is kept in no variable.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType, FunctionType
from typing import Any, TypeVar

Trace = TypeVar("Trace")

is_tracing: Any
"""A capsule: the C function that says whether a trace may be open that this thread has opened. False is certain."""

def setup(ndarray: type, error: type[Exception], /) -> None:
    """``error`` is raised when traces are closed in another order than they were opened in."""

def opened(trace: Trace, stack: list[Any], /) -> AbstractContextManager[Trace]:
    """A context in which ``trace`` is open, the last one of a thread's ``stack``. When it is left
    ``trace._ended(error)`` is called, and told whether by an exception: for what may be left undone."""

def answered(functions: tuple[FunctionType, ...], codes: tuple[CodeType, ...], /) -> AbstractContextManager[None]:
    """A context in which functions have other codes, by however many contexts; then they have their own again."""

def exchange_code(function: FunctionType, own: CodeType, ours: CodeType, /) -> None:
    """Exchange a function's own code while a trace is open, and now if one is. Asked again, it does nothing."""

def give_code_back(function: FunctionType, /) -> None:
    """Exchange a function's code no more; now it has its own."""

def exchange(begin: Callable[[], None], end: Callable[[], None], /) -> None:
    """Call two C functions, which run no bytecode, when the first trace is opened and when the last one is closed; and
    the first one now if a trace is open."""

def begin_again() -> None:
    """Exchange what has been enrolled, if a trace is open."""

def harmless() -> AbstractContextManager[None]:
    """A context in which this thread writes no array of the user's, for :func:`lend`."""

def lend(arrays: list[Any], array: Any, /) -> bool:
    """Make an array read-only until the trace ends whose list this is: False if that may not be, since there are other
    threads, which may want to write it."""

def is_lent(array: Any, /) -> bool:
    """Whether an array is read-only because a trace is lent it."""

def digest(array: Any, /) -> int:
    """A number of 64 bits that is another one, but for one case in 10**19, when an element of ``array`` is."""

def forked() -> None:
    """In a child process: the contexts of threads that are not in it are left."""
