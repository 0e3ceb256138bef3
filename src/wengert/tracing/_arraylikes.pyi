"""What stands in the slots of NumPy's two types of functions while a trace is open: see native/arraylikes.cpp."""

from collections.abc import Callable
from typing import Any

def setup(
    ufunc: type, dispatcher: type, tracer: type, answer: Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any], /
) -> None:
    """Whose calls are looked at, and who answers those with a traced value in a list: ``answer(function, method, args,
    kwargs)``, with a method of a ufunc or None, or NotImplemented where the call is to go on. Once a process."""

def begin() -> None:
    """From now on such calls are answered."""

def end() -> None:
    """The two types are themselves again."""
