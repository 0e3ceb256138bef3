"""Kernels of one's own, right ones and wrong ones, for the tests of what looks at kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from wengert.codegen import compiler
from wengert.codegen.lower import text_of
from wengert.codegen.target import target
from wengert.codegen.verification.operands import KERNEL

_kept: list[Any] = []
"""Code lives as long as somebody refers to it."""


def address_of(kernel: Any) -> int:
    """Where the machine code of a kernel is."""
    key = compiler.key_of(kernel, target())
    code = compiler.machine_code({key: lambda name: text_of(kernel, name, target())}, target())[key]
    assert isinstance(code, compiler.Code)
    _kept.append(code)
    return code.address


def address_in_python(function: Callable[..., int]) -> int:
    """Where ``function(pointers, sizes, begin, end)`` can be called as a kernel."""
    _kept.append(KERNEL(function))
    return ctypes.cast(_kept[-1], ctypes.c_void_p).value or 0


def nothing(*_: Any) -> int:
    """A kernel that does nothing."""
    return 0
