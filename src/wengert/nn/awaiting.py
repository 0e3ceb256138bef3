"""Functions of an array and numbers that, given the numbers alone, wait for the array.

``nn.max_pool(x, 2)`` is an array, ``nn.max_pool(2)`` a function of one: a part of a chain, with a readable name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, repr=False)
class Awaiting:
    """This is ``function`` with all of its arguments but the first. Two of the same are equal."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]

    def __call__(self, x: Any) -> Any:
        return self.function(x, *self.args, **dict(self.options))

    def __repr__(self) -> str:
        arguments = [repr(arg) for arg in self.args] + [f"{name}={value!r}" for name, value in self.options]
        return f"{self.function.__name__}({', '.join(arguments)})"


def awaits_array(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` so that, given numbers for its first argument, or none, it returns an :class:`Awaiting`.

    >>> from wengert import nn
    >>> nn.max_pool(3, stride=2)
    max_pool(3, stride=2)
    """

    @functools.wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        if "x" not in options and (not args or _is_numbers(args[0])):
            return Awaiting(called, args, tuple(options.items()))
        return function(*args, **options)

    return called


def _is_numbers(value: Any, depth: int = 2) -> bool:
    """Return whether it is a Python number, a name, or a tuple of them, or of pairs of them: no array."""
    if isinstance(value, tuple | list):
        return depth > 0 and all(_is_numbers(part, depth - 1) for part in value)
    return isinstance(value, int | float | str | np.integer)
