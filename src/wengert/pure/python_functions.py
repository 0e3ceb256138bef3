"""A function written in Python whose code is exchanged is called: the Python form of
wengert.tracing.interception._python_functions.

The routes and the rules are those of native/python_functions.cpp; a call costs some microseconds more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

NAME = "_wengert_decide"
"""Where exchanged code finds :func:`decide` among the builtins."""

# When a replacement answers; the others of asking.py are one here, whether an argument is traced.
_AT_OBJECT, _AT_CALLER, _AT_CONVERSION, _AT_FUNCTIONS = 5, 7, 8, 9

_DEEPEST_LIST = 64  # NumPy's most axes; a list that holds itself ends there

_traced: Any = None
_asks: Any = None
_libraries: set[str] = set()
_is_tracing: Any = None

Answers = tuple[tuple[Any, int, Callable[..., Any]], ...]


class AskedFunction(NamedTuple):
    """A function, a copy of it that keeps its own code, and the names of what may be given by position."""

    function: FunctionType
    original: FunctionType
    names: tuple[str, ...]
    n_positional_only: int


_functions: list[AskedFunction] = []
_answers: list[Answers] = []


def setup(tracer: type, asks: Callable[[int, int, Any], bool], libraries: set[str], is_tracing: object, /) -> None:
    """Say which class is traced, who knows who calls, and in which thread a trace is open."""
    global _asks, _is_tracing, _libraries, _traced
    if not (isinstance(tracer, type) and isinstance(libraries, set) and callable(is_tracing)):
        raise TypeError("setup takes a class, who is asked, a set of names of modules, and _opened.is_tracing")
    _traced, _asks, _libraries, _is_tracing = tracer, asks, libraries, is_tracing


def enroll(function: FunctionType, original: FunctionType, names: tuple[str, ...], n_positional_only: int, /) -> int:
    """Give a function a number. ``original`` keeps its own code, and ``names`` are those of its parameters that may be
    given by position."""
    if not (isinstance(function, FunctionType) and isinstance(original, FunctionType) and isinstance(names, tuple)):
        raise TypeError("enroll takes two functions written in Python, and a tuple of names")
    _functions.append(AskedFunction(function, original, names, n_positional_only))
    _answers.append(())
    return len(_functions) - 1


def answer(number: int, answers: Answers, /) -> None:
    """Say who answers for a function from now on: each with its owner (None: of all calls) and when it does."""
    are_sound = 0 <= number < len(_functions) and all(
        isinstance(one, tuple) and len(one) == 3 and isinstance(one[1], int) for one in answers
    )
    if not are_sound:
        raise TypeError("answer takes a number that enroll has given, and triples")
    _answers[number] = answers


def _holds_traced(x: object, depth: int = 0) -> bool:
    if type(x) is _traced:
        return True
    if not (type(x) is list or type(x) is tuple) or depth > _DEEPEST_LIST:
        return False
    return any(_holds_traced(one, depth + 1) for one in x)


def _is_for(looks: int, owner: object, any_traced: bool, number: int, args: Sequence[Any]) -> bool:
    """Return whether a replacement answers the call."""
    if owner is not None and not (args and (args[0] is owner or type(args[0]) is owner)):
        return False
    asks_who_calls = looks in (_AT_CALLER, _AT_CONVERSION)
    if any_traced and not asks_who_calls and looks != _AT_OBJECT:
        return True
    if not _is_tracing():
        return False
    if looks == _AT_OBJECT:
        return True
    if not asks_who_calls and looks != _AT_FUNCTIONS:
        return False
    if looks != _AT_CONVERSION or not any_traced:
        asking = sys._getframe(2)  # it runs the function's code, which has called decide()
        caller = asking.f_back
        if caller is not None and caller.f_globals.get("__name__") in _libraries:
            return False
    return _asks(number, looks, args[0] if args else None) is True


def _as_written(number: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return the arguments as the caller has written them, as far as can be told: what is the default is left out, and
    what comes after it is given by name."""
    of = _functions[number]
    function: Any = of.function
    defaults, of_names = function.__defaults__ or (), function.__kwdefaults__ or {}
    first_default = len(of.names) - len(defaults)

    def is_default(k: int) -> bool:
        return first_default <= k < len(of.names) and args[k] is defaults[k - first_default]

    by_position = len(args) if len(args) > len(of.names) else 0  # those behind are of *args, so all stand before them
    if by_position == 0:
        for k in range(min(len(args), of.n_positional_only)):
            if not is_default(k):
                by_position = k + 1
        while by_position < len(args) and not is_default(by_position):
            by_position += 1
    named = {
        of.names[k]: args[k] for k in range(by_position, len(args)) if k >= of.n_positional_only and not is_default(k)
    }
    missing = object()
    named.update({name: x for name, x in kwargs.items() if x is not of_names.get(name, missing)})
    return args[:by_position], named


def decide(number: int = -1, /, *args: Any, **kwargs: Any) -> Any:
    """Call the replacement, or the original: what exchanged code calls."""
    if not (type(number) is int and 0 <= number < len(_functions)):
        raise TypeError("the number of an intercepted function is expected")
    any_traced = any(map(_holds_traced, args)) or any(map(_holds_traced, kwargs.values()))
    if any_traced or _is_tracing():
        for owner, looks, replacement in _answers[number]:
            if _is_for(looks, owner, any_traced, number, args):
                by_position, named = _as_written(number, args, kwargs)
                result = replacement(*by_position, **named)
                if result is not NotImplemented:
                    return result
    return _functions[number].original(*args, **kwargs)
