"""The call of a function written in Python whose code is exchanged: see native/python_functions.cpp."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

NAME: str
"""Where exchanged code finds :func:`decide` among the builtins."""

def setup(tracer: type, asks: Callable[[int, int, Any], bool], libraries: set[str], is_tracing: Any, /) -> None:
    """``asks(number, looks, first)`` says, given the first argument, whether the frame that called the function is to
    get what the replacement makes. It is called in a thread that traces alone, as ``_opened.is_tracing`` knows, and not
    for code in the modules of the ``libraries``, unless a traced value is converted."""

def enroll(function: FunctionType, original: FunctionType, names: tuple[str, ...], n_positional_only: int, /) -> int:
    """Give a function a number. ``original`` keeps its own code, and ``names`` are those of its parameters that may be
    given by position."""

def answer(number: int, answers: tuple[tuple[Any, int, Callable[..., Any]], ...], /) -> None:
    """Who answers for a function from now on: each with its owner (None: of all calls) and when it does."""

def decide(number: int, /, *args: Any, **kwargs: Any) -> Any:
    """What exchanged code calls: the replacement, or the original."""
