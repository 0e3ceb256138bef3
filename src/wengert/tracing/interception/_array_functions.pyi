"""What stands in the slots of NumPy's two types of functions while a trace is open: see native/array_functions.cpp."""

from collections.abc import Callable
from typing import Any

def setup(
    ufunc: type,
    dispatcher: type,
    tracer: type,
    asks: Callable[..., bool],
    libraries: set[str],
    is_tracing: Any,
    answer: Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any],
    /,
) -> None:
    """Whose calls are looked at, who knows who calls (see _c_functions.pyi), and who answers those with a traced value
    in a list: ``answer(function, method, args, kwargs)``, with a method of a ufunc or None, or NotImplemented where the
    call is to go on. Once a process."""

def enroll(function: Any, replacement: Callable[..., Any], converts: bool = False, /) -> bool:
    """``replacement`` is called in the place of a function that makes arrays, where the user's code calls it. False if
    it is not of NumPy's second type, of those with ``__array_function__``."""

def withdraw(function: Any, /) -> None:
    """Take that back. KeyError if it was not enrolled."""

def switch_on(function: Any, is_on: bool, /) -> None:
    """Whether the replacement is called."""

def begin() -> None:
    """From now on such calls are answered."""

def end() -> None:
    """The two types are themselves again."""
