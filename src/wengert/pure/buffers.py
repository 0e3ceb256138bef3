"""The memory of a traced value: the Python form of wengert.tracing.interception._buffers.

Since Python 3.12 a class has ``__buffer__``. In 3.11 code of C that asks for the memory (``zlib.crc32(x)``) says in
words of its own that the value has none.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

_FULL_RO = inspect.BufferFlags.FULL_RO if sys.version_info >= (3, 12) else 0


def _get_buffer(self: Any, flags: int, /) -> memoryview:
    """Return the memory of the array that ``self.memory()`` gives. NumPy asks with PyBUF_FULL_RO, before it asks for
    ``__array__``; it is refused, and goes on to that."""
    if flags == _FULL_RO:
        raise BufferError("a Tracer has no memory of its own")
    return memoryview(self.memory())


def lend_memory(cls: type, /) -> None:
    """Let the buffers of a class written in Python be those of the arrays that ``x.memory()`` gives."""
    if not isinstance(cls, type) or not cls.__flags__ & (1 << 9):  # Py_TPFLAGS_HEAPTYPE
        raise TypeError(f"{cls!r} is no class that was made at run time")
    if sys.version_info >= (3, 12):
        cls.__buffer__ = _get_buffer  # type: ignore[attr-defined]  # which it is to have
