"""Which code of Python begins to run: see native/entered.cpp.

The context is entered when it is made, so it stands behind ``with``, and is kept in no variable.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType

def following(tell: Callable[[FrameType], bool | None] | None, /) -> AbstractContextManager[None]:
    """A context in which ``tell`` is called with the frame of each code's first call in this thread, before the code
    runs. Where it says False, no context asks about that code again; where it says None, this one does. ``tell``
    None: nothing is followed."""
