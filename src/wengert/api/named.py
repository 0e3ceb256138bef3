"""The names of functions: of the user's in errors and on tapes, and of those that are made of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import WRAPPER_UPDATES, wraps
from types import FunctionType
from typing import Any

F = Callable[..., Any]


def function_name(f: F) -> str:
    return getattr(f, "__name__", type(f).__name__)


def named_like(f: F) -> Callable[[F], F]:
    """``functools.wraps``; but what an object holds, the programs of a jit or the weights of a model, stays with it."""
    return wraps(f, updated=WRAPPER_UPDATES if isinstance(f, FunctionType) else ())
