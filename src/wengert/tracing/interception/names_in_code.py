"""Calls of builtins by their names, in the code of the user's functions, have other names while a trace is open.

``type`` asks nobody, and ``float(x)`` takes nothing but a float from a traced value. But that a function calls them
stands in its code. So the functions of the user's that a traced function can reach have code that calls, by another
name, what asks its arguments first: type_of.py finds and exchanges them. For ``type`` it is done always; for ``float``,
``range``, ``getattr`` and the like where no compiled module exchanges the builtin itself.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any

from wengert import extension
from wengert.tracing import hooks
from wengert.tracing.interception.asking import AT_ANY, AT_ARGUMENTS, AT_DEFAULT
from wengert.tracing.python.frames import STAND_FOR

if TYPE_CHECKING:
    from wengert.tracing.interception.intercept import Interception

NAMES: dict[str, str] = {}
"""The builtins that are called by other names, and those names, under which the builtins have what is called."""


def is_of_code(target: Any) -> bool:
    """Whether a builtin is intercepted by its name in code."""
    if extension.is_compiled("_c_functions") or not isinstance(target, type | BuiltinFunctionType):
        return False
    return getattr(builtins, target.__name__, None) is target


def call_by_name(own: Callable[..., Any], answers: Callable[..., Any]) -> None:
    """Let code call ``answers`` where it calls the builtin ``own`` by its name."""
    name = f"_wengert_{own.__name__}"
    setattr(builtins, name, answers)  # at once: whoever compares the builtins before a trace and after sees the same
    STAND_FOR[name] = own
    NAMES[own.__name__] = name


def enroll(one: Interception) -> bool:
    """Let ``one`` answer for a builtin."""
    own, looks = one.target, one.looks
    is_class = isinstance(own, type)

    def is_for(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if looks == AT_DEFAULT:
            return len(args) == 3 and not kwargs and type(args[0]) is hooks.Tracer
        if looks == AT_ARGUMENTS and is_class and (kwargs or len(args) != 1):
            return False
        return any(type(x) is hooks.Tracer or (is_class and own is not float and _lists_traced(x)) for x in args)

    def asking(*args: Any, **kwargs: Any) -> Any:
        return (one.answers if one.is_on and is_for(args, kwargs) else own)(*args, **kwargs)

    asking.__name__ = asking.__qualname__ = own.__name__
    assert looks in (AT_ANY, AT_ARGUMENTS, AT_DEFAULT)
    call_by_name(own, asking)
    return True


def _lists_traced(x: Any) -> bool:
    return type(x) in (list, tuple) and any(type(item) is hooks.Tracer for item in x)


def switch(one: Interception) -> None:
    """Do nothing: a call asks whether ``one`` is on."""


def withdraw(one: Interception) -> None:
    """Let code call the builtin by its own name."""
    del NAMES[one.target.__name__]
