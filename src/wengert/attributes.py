"""Attributes of objects that are not ours, read without running any ``__getattr__`` of theirs.

``getattr(x, name, default)`` gives the default for AttributeError alone. A class whose ``__getattr__`` looks into a
dict raises KeyError, and one whose ``__getattr__`` computes would be run by a mere look.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any


def held(x: Any, name: str, default: Any = None) -> Any:
    """Return the attribute that ``x``, its class or a descriptor there holds, or else ``default``.

    >>> held(len, "__name__"), held(3, "__name__")
    ('len', None)
    """
    look_up: Any = type(x).__getattribute__
    if type(look_up) is FunctionType:  # of the class's own
        look_up = type.__getattribute__ if issubclass(type(x), type) else object.__getattribute__
    try:
        return look_up(x, name)
    except AttributeError:
        return default
