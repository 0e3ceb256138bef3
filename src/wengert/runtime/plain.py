"""Calls of a compiled function that are answered by the function itself, as they would be without ``jit``.

What works without compiling works with it. A function that writes what it captured, that takes a new path at every
call, or that hands a traced value to code which cannot take one, is right when Python runs it; it is slow, and says so
once.
"""

from __future__ import annotations

import sys
import sysconfig
import warnings
from collections.abc import Callable, Sequence
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
"""Ours; Python's own words for what a traced value is not; and those of code which takes it for something else."""

_FINAL = (SharedMemoryError, WrittenError, NotDifferentiableError)


class NotTraced(Exception):
    """The run of a function could not be recorded, for the reason ``why``.

    ``signature``: of the calls for which this need not be tried again.
    """

    def __init__(self, why: Exception, signature: Any = None) -> None:
        super().__init__(str(why))
        self.signature = signature
        self.why = why.with_traceback(None)  # its frames hold the call's arrays
        why.__context__ = why.__cause__ = None


def is_refusal(error: Exception) -> bool:
    """Whether it may be the tracing alone that fails, and Python may try: not so where a write has been done, which
    would be done twice, where arguments share the memory that is written, of which Python would get copies, and where
    what the user promises of a value cannot be."""
    return isinstance(error, REFUSALS) and not isinstance(error, _FINAL)


def answered_by(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], why: Exception) -> Any:
    """``f(*args, **kwargs)``. Where that fails, as the tracing did for input that fits nothing, the error is the one
    that tells more: ours."""
    try:
        return f(*args, **kwargs)
    except (ValueError, TypeError, OverflowError):
        if isinstance(why, ShapeError | DTypeError | StructureError | RangeError):
            raise why from None
        raise


class OwnArrays:
    """Copies of arguments, since a compiled function never writes its caller's arrays, whatever the function does.

    The memory of a large copy is used again for the next call if nobody has kept it: memory that is new costs more to
    get, a page at a time, than to be written, and its coming and going makes the function's own arrays cost as much.
    """

    LARGE = 1 << 16

    def __init__(self) -> None:
        self._free: dict[int, np.ndarray[Any, Any]] = {}  # by the number of the leaf

    def of(self, leaves: Sequence[Any]) -> list[Any]:
        """The leaves with copies of the arrays that could be written.

        Arrays that share memory cannot be copied one by one: they are handed on, as views that nobody can write.
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
        """The call is over that ``made`` was made for of ``leaves``: keep what nobody else has got hold of."""
        for k, x in enumerate(leaves):
            if type(x) is not np.ndarray or x.nbytes < self.LARGE or made[k] is x or made[k].base is not None:
                continue
            if not _IS_FREE_THREADED and sys.getrefcount(made[k]) == 2:  # `made`, and this question
                self._free[k] = made[k]


_IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
"""Then a count of references is no count of who has got hold of something."""


def warn_slow(text: str) -> None:
    """A PerformanceWarning at the line of the user's that is being executed."""
    depth = 2
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, PerformanceWarning, stacklevel=depth)
