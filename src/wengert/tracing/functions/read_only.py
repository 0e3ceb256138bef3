"""Methods that write a read-only array, or make it writeable: NumPy does not ask whether it may be written.

While a function is traced, the caller's arrays are read-only, so that NumPy refuses writes into them (Trace.lock).
It does not refuse these, so they are refused here, in the way in which NumPy refuses the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.tracing.arguments import Traced
from wengert.tracing.interception.asking import AT_OBJECT
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.read_only import is_locked, is_read_later
from wengert.tracing.stack import current_trace

_ARRAY = np.empty(0)  # whose methods are those of all arrays


@intercepts(np.add.at, AT_OBJECT)
def at(ufunc: np.ufunc, *operands: Any) -> Any:
    """``np.add.at(x, key, value)``; of every other ufunc it is the same method."""
    if current_trace() is not None and operands and isinstance(operands[0], np.ndarray):
        if not operands[0].flags.writeable or is_read_later(operands[0]):
            raise ValueError("assignment destination is read-only")
    return NotImplemented


@intercepts(_ARRAY.setflags, AT_OBJECT)
def setflags(x: np.ndarray[Any, Any], write: bool | None = None, *others: Any, **options: Any) -> Any:
    """Also ``x.flags.writeable = True``, for which NumPy calls this method."""
    if write is not None and write and is_read_later(x):
        raise ValueError("cannot set WRITEABLE flag to True of an array that is read-only while it is traced")
    return NotImplemented


@intercepts(_ARRAY.resize, AT_OBJECT)
@intercepts(_ARRAY.__setstate__, AT_OBJECT)
def replaced(x: np.ndarray[Any, Any], *args: Any, **options: Any) -> Any:
    """Other memory in the place of the array's own."""
    if is_read_later(x):
        raise ValueError("an array cannot be replaced that is read-only while it is traced")
    return NotImplemented


@intercepts(np.ndarray.__dict__["shape"], AT_OBJECT)
@intercepts(np.ndarray.__dict__["strides"], AT_OBJECT)
@intercepts(np.ndarray.__dict__["dtype"], AT_OBJECT)
def reshaped(x: np.ndarray[Any, Any], new: Traced) -> Any:
    """``x.shape = ...``. A view that the function has made of a locked array is its own to reshape."""
    if is_locked(x):
        raise ValueError("the shape, strides and dtype are read-only of an array that is traced")
    return NotImplemented
