"""Functions written in Python, whose *code* is exchanged while a trace is open.

The code that stands there asks whether a traced value is among the arguments, or who calls, and calls the replacement
or a copy of the function that keeps its own code. The function stays the object that it is, its cells, defaults and
attributes too. A method is intercepted as its function, of one object or of all; a class as its ``__new__``, or its
``__init__``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from wengert.tracing.callers import is_called_for_library, is_library
from wengert.tracing.copying import copied
from wengert.tracing.interception import _opened
from wengert.tracing.interception.asking import AT_CALLER, AT_CONVERSION, AT_FUNCTIONS, AT_OBJECT, is_refused
from wengert.tracing.trace import current_trace
from wengert.tracing.tracer import Tracer

if TYPE_CHECKING:
    from wengert.tracing.interception.intercept import Interception


class Route:
    """A function, a copy of it that keeps its own code, the code that decides, and who answers."""

    def __init__(self, number: int, function: FunctionType) -> None:
        own = function.__code__
        self.function, self.own = function, own
        self.original = copied(function, own, function.__globals__, function.__closure__)
        self.deciding = _deciding(number, own)
        self.answers: list[tuple[Any, Interception]] = []
        """Each with the object, or the class, of whose calls it is; None: of all."""
        if not hasattr(function, "__wrapped__"):  # else that is asked
            function.__signature__ = inspect.signature(function)  # the code will not tell


_routes: list[Route] = []
_numbers: dict[int, int] = {}  # by the id of a function, which is kept, the place of its route


def _deciding(number: int, own: CodeType) -> CodeType:
    """Code that asks :func:`decide`, which is one of its constants: it runs in the globals of the function's module.

    A function takes no code but one of as many cells as it has, so there are as many here, of which none is read. And
    it is asked where its source is.
    """
    namespace: dict[str, Any] = {}
    cells = "".join([f"_{k}, " for k in range(len(own.co_freevars))])
    exec(
        f"def outer({cells}):\n"
        "    def deciding(*args, **kwargs):\n"
        "        decide = 'decide'\n"
        f"        return decide({number}, args, kwargs)\n"
        f"        ({cells})\n"
        "    return deciding\n",
        {"__name__": __name__},
        namespace,
    )
    code: CodeType = namespace["outer"](*own.co_freevars).__code__
    return code.replace(
        co_consts=tuple([decide if constant == "decide" else constant for constant in code.co_consts]),
        co_name=own.co_name,
        co_qualname=own.co_qualname,
        co_filename=own.co_filename,
        co_firstlineno=own.co_firstlineno,
    )


def enroll(one: Interception, function: FunctionType, owner: Any) -> bool:
    """Let ``one`` answer for a function: with an ``owner`` for its calls by that object, or for objects of that
    class."""
    number = _numbers.get(id(function))
    if number is None:
        number = len(_routes)
        _routes.append(Route(number, function))
        _numbers[id(function)] = number
    route = _routes[number]
    if all(answering is not one for _, answering in route.answers):
        route.answers.append((owner, one))
    _opened.exchange_code(function, route.own, route.deciding)
    return True


def withdraw(one: Interception) -> None:
    """Let ``one`` answer no more."""
    route = _route_of(one)
    route.answers = [(owner, answering) for owner, answering in route.answers if answering is not one]
    _put(route)


def switch(one: Interception) -> None:
    """Exchange the code of the function that ``one`` is of if any of its interceptions is on."""
    _put(_route_of(one))


def _put(route: Route) -> None:
    if any(answering.is_on for _, answering in route.answers):
        _opened.exchange_code(route.function, route.own, route.deciding)
    else:
        _opened.give_code_back(route.function)


def _route_of(one: Interception) -> Route:
    return next(route for route in _routes if any(answering is one for _, answering in route.answers))


def decide(number: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call what an intercepted function stands for: ours for traced arguments, else its own."""
    route = _routes[number]
    for owner, one in route.answers:
        if not one.is_on or (owner is not None and not _is_by(args, owner)):
            continue
        if _is_for(one, args, kwargs, route.own):
            result = one.answers(*args, **kwargs)
            if result is not NotImplemented:
                return result
    return route.original(*args, **kwargs)


def _is_by(args: Sequence[Any], owner: Any) -> bool:
    return bool(args) and (args[0] is owner or type(args[0]) is owner)


def _is_for(one: Interception, args: Sequence[Any], kwargs: Mapping[str, Any], own: CodeType) -> bool:
    """Whether ``one`` answers a call, made by the frame before the one of :func:`decide`."""
    if one.looks == AT_OBJECT:
        return True
    if one.looks not in (AT_CALLER, AT_CONVERSION):
        if any(map(_holds_traced, args)) or any(map(_holds_traced, kwargs.values())):
            return True
        if one.looks != AT_FUNCTIONS:
            return False
        return current_trace() is not None and not is_library(sys._getframe(3))
    if current_trace() is None:
        return False
    frame = sys._getframe(3)
    converted = tuple(args[:1]) if one.looks == AT_CONVERSION else ()
    return not is_refused(frame, converted) and not is_called_for_library(frame, own.co_name)


def _holds_traced(x: Any) -> bool:
    return type(x) is Tracer or (type(x) in (list, tuple) and any(map(_holds_traced, x)))


def original(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with its own code, whatever stands there at the moment."""
    number = _numbers.get(id(function))
    return function if number is None else _routes[number].original
