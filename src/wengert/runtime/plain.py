"""Calls of a compiled function that are answered by the function itself, as they would be without ``jit``.

Code that works without ``jit`` works with it. A function that writes captured variables, that takes a new path at every
call, or that hands a traced value to code which cannot take one, gives right results when Python runs it; it is slow,
and one warning says so.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from types import FrameType
from typing import Any

import numpy as np

from wengert.errors import (
    DTypeError,
    NotDifferentiableError,
    PerformanceWarning,
    RangeError,
    ShapeError,
    SharedMemoryError,
    StructureError,
    WengertError,
    WrittenError,
)
from wengert.tracing.callers import is_internal
from wengert.tracing.record import sharing

REFUSALS = (WengertError, TypeError, AttributeError, SystemError)
"""Our own errors; the errors of Python where a traced value does not fit; and that of C code which takes it for
another object."""

_FINAL = (SharedMemoryError, WrittenError, NotDifferentiableError)


class NotTraced(Exception):
    """The run of a function could not be recorded, for the reason ``why``.

    ``signature`` is that of the calls which need not be traced again; None if the next call shall be. The traceback of
    ``why`` is dropped, since its frames hold the call's arrays, which the function itself may be about to take;
    ``keeps_frames`` where it will not run.
    """

    def __init__(self, why: Exception, signature: Any = None, keeps_frames: bool = False) -> None:
        super().__init__(str(why))
        self.signature = signature
        self.why = why if keeps_frames else why.with_traceback(None)
        why.__context__ = why.__cause__ = None


def is_refusal(error: Exception) -> bool:
    """Whether tracing alone may have failed, so that Python may run the function.

    It may not if a write has been done already, which would be done twice; if arguments share the memory that is
    written, since Python would get separate copies; or if a value cannot be constant as the user promised."""
    return isinstance(error, REFUSALS) and not isinstance(error, _FINAL)


def answered_by(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], why: Exception) -> Any:
    """Return ``f(*args, **kwargs)``. If that fails because of its arguments, as the tracing did, raise ``why``, our
    error, which tells more, with the traceback of this run: that of the tracing has not been kept."""
    try:
        return f(*args, **kwargs)
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(why, ShapeError | DTypeError | StructureError | RangeError):
            # A copy, since ``why`` may be kept for later calls, and frames hold the arrays of this one.
            raise copy(why).with_traceback(error.__traceback__) from None
        raise


class OwnArrays:
    """Copies of arguments, since a compiled function never writes its caller's arrays, whatever the function does.

    The memory of a large copy is used again for the next call if nothing else refers to it. The system gives new memory
    page by page, which costs more than writing it; and freeing it each time makes the function's own arrays as costly.
    """

    LARGE = 1 << 16

    def __init__(self) -> None:
        self._free: dict[int, np.ndarray[Any, Any]] = {}  # for each leaf, by its number

    def of(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the leaves, with a copy of each array that could be written.

        Arrays that share memory cannot be copied one by one: they are passed on as read-only views.
        """
        shared = sharing(leaves)
        return [self._own(k, x, k in shared) if isinstance(x, np.ndarray) else x for k, x in enumerate(leaves)]

    def _own(self, k: int, x: np.ndarray[Any, Any], is_shared: bool) -> np.ndarray[Any, Any]:
        if not x.flags.writeable:
            return x
        if is_shared:
            view = x.view()
            view.flags.writeable = False
            return view
        free = self._free.pop(k, None) if type(x) is np.ndarray and x.nbytes >= self.LARGE else None
        if free is None or (free.dtype, free.shape, free.strides) != (x.dtype, x.shape, x.strides):
            return x.copy(order="K")
        np.copyto(free, x)
        return free

    def take_back(self, leaves: Sequence[Any], made: list[Any]) -> None:
        """Take back ``made``, the copies of ``leaves`` for a call that is over: keep those without other references."""
        for k, x in enumerate(leaves):
            if type(x) is not np.ndarray or x.nbytes < self.LARGE or made[k] is x or made[k].base is not None:
                continue
            if not _IS_FREE_THREADED and sys.getrefcount(made[k]) == 2:  # `made`, and the argument of this call
                self._free[k] = made[k]


_IS_FREE_THREADED = "t" in sys.abiflags  # sysconfig would say the same, and take a millisecond to import
"""Whether Python has no global lock. Then the reference count does not tell whether something else refers to it."""


def warn_slow(text: str) -> None:
    """Give a PerformanceWarning at the user's line that is being executed."""
    depth = 2
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, PerformanceWarning, stacklevel=depth)
