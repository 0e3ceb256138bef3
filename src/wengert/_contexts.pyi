"""What is set for a time, so that no signal can leave it set: see native/context.h.

Each context is entered when it is made, so it stands behind ``with``, and is kept in no variable. The constants of
:func:`seldom` are those of :mod:`wengert.collector`.
"""

from contextlib import AbstractContextManager
from typing import Any, TypeVar

Value = TypeVar("Value")

def replaced(holder: Any, name: str, value: Value, /) -> AbstractContextManager[Value]:
    """A context in which the attribute ``name`` of ``holder``, of this thread or not, is ``value``."""

def silent() -> AbstractContextManager[None]:
    """A context in which NumPy warns of no arithmetic, as ``np.errstate(all="ignore")`` is, which is Python code."""

def acquired(lock: Any, /) -> AbstractContextManager[bool]:
    """A context in which a lock is held, if it was free: whether it was."""

def put_off() -> AbstractContextManager[None]:
    """A context in which the garbage collector does not run, and is left as it was. Not for code of the user's.

    Where threads overlap the first one to leave turns it on again: then the others are slower, and nothing is lost.
    """

def seldom() -> AbstractContextManager[None]:
    """A context in which the garbage collector, once it has looked often, does so a hundred times less often: for code
    of the user's that is recorded, step after step, whose own garbage may not wait for ever. Where threads overlap the
    last one to leave sets it back."""

def is_collecting() -> bool:
    """Whether the garbage collector runs in this thread, and what it calls; known while :func:`seldom` is open."""

def forked() -> None:
    """In a child process: the contexts of threads that are not in it are left."""
