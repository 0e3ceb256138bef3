"""Where functions of C have their code."""

from __future__ import annotations

import ctypes
from typing import Any


def address(function: Any) -> int:
    """Of its C code: the second word of the PyMethodDef, to which the object's third points."""
    word = ctypes.sizeof(ctypes.c_void_p)
    definition = ctypes.c_void_p.from_address(id(function) + object.__basicsize__).value
    assert definition is not None
    return ctypes.c_void_p.from_address(definition + word).value or 0
