"""Functions written in Python, whose *code* is exchanged while a trace is open.

The code that stands there asks whether a traced value is among the arguments, or who calls, and calls the replacement
or a copy of the function that keeps its own code (native/python_functions.cpp). The function stays the object that it
is, with its parameters, cells, defaults and attributes. A method is intercepted as its function, of one object or of
all; a class as its ``__new__``, or its ``__init__``.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import keyword
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any

from wengert.tracing import hooks
from wengert.tracing.callers import ALWAYS_LIBRARIES, is_called_for_library, is_library
from wengert.tracing.copying import copied
from wengert.tracing.interception import _opened, _python_functions
from wengert.tracing.interception._python_functions import NAME
from wengert.tracing.interception.asking import AT_CONVERSION, AT_FUNCTIONS, is_refused
from wengert.tracing.python import names
from wengert.tracing.python.frames import calling_frame, code_in
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer

if TYPE_CHECKING:
    from wengert.tracing.interception.intercept import Interception


class Route:
    """A function, a copy of it that keeps its own code, the code that asks who answers, and who does."""

    def __init__(self, function: FunctionType) -> None:
        own = function.__code__
        self.function, self.own = function, own
        self.original = copied(function, own, function.__globals__, function.__closure__)
        by_position = own.co_varnames[: own.co_argcount]
        self.number = _python_functions.enroll(function, self.original, by_position, own.co_posonlyargcount)
        self.asking = calling(NAME, self.number, own)
        _names[self.number] = own.co_name
        self.answers: list[tuple[Any, Interception]] = []
        """Each with the object, or the class, of whose calls it is; None: of all."""


_routes: dict[int, Route] = {}  # by the id of a function, which is kept
_names: dict[int, str] = {}  # of functions, by their numbers


def calling(name: str, number: int, own: CodeType) -> CodeType:
    """Code that calls ``name``, which it finds among the builtins, with a number and the arguments of the function
    whose own code is ``own``: :func:`_python_functions.decide`, which decides who answers, or what stands for it.

    Whoever looks at the function meanwhile sees its own parameters and cells, constants that are plain data, and where
    its source is.
    """
    parameters, var_positional, var_named = inspect.getargs(own)
    named = tuple(parameters[own.co_argcount :])
    has_more = var_positional is not None, var_named is not None
    code = _pattern(name, own.co_argcount, own.co_posonlyargcount, named, has_more, len(own.co_freevars))
    more = [one for one in (var_positional, var_named) if one is not None]
    return code.replace(
        co_consts=tuple([_NUMBERED[one](number) if one in _NUMBERED else one for one in code.co_consts]),
        co_varnames=(*parameters, *more),
        co_freevars=own.co_freevars,
        co_name=own.co_name,
        co_qualname=own.co_qualname,
        co_filename=own.co_filename,
        co_firstlineno=own.co_firstlineno,
    )


_A_NUMBER = 1 << 40  # one that no instruction has in itself
_NUMBERED: dict[Any, Callable[[int], Any]] = {_A_NUMBER: lambda number: number, (_A_NUMBER,): lambda number: (number,)}
"""The constants of a pattern that have the number: alone, or, before ``**named``, in a tuple of arguments."""


@functools.cache
def _pattern(
    name: str, positional: int, only: int, named: tuple[str, ...], has_more: tuple[bool, bool], cells: int
) -> CodeType:
    """The code of :func:`calling` with names that are made up: writing it takes 0.1 ms, of which SciPy has 450."""
    parameters = [f"_wengert_parameter_{k}" for k in range(positional)]
    rest, by_name = ["*_wengert_rest"][: has_more[0]], ["**_wengert_named"][: has_more[1]]
    listed = [*parameters[:only], *["/"][:only], *parameters[only:]]
    listed += [*(rest or ["*"][: len(named)]), *named, *by_name]
    given = [*parameters, *rest, *[f"{one}={one}" for one in named], *by_name]
    closed = "".join([f"_wengert_cell_{k}, " for k in range(cells)])
    namespace: dict[str, Any] = {}
    exec(
        f"def outer({closed}):\n"
        f"    def asking({', '.join(listed)}):\n"
        f"        return {name}({', '.join([str(_A_NUMBER), *given])})\n"
        f"        ({closed})\n"  # a function takes no code but one of as many cells as it has; none is read
        "    return asking\n",
        {"__name__": __name__},
        namespace,
    )
    code: CodeType = namespace["outer"](*range(cells)).__code__
    return code


def can_ask(function: FunctionType) -> bool:
    """Whether the code can be written that asks for a function: a name may be any text where the code is made up."""
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    are_names = all(name.isidentifier() and not keyword.iskeyword(name) for name in parameters)
    return are_names and function.__builtins__ is vars(builtins)


def enroll(one: Interception, function: FunctionType, owner: Any) -> bool:
    """Let ``one`` answer for a function: with an ``owner`` for its calls by that object, or for objects of that
    class."""
    route = _routes.get(id(function))
    if route is None:
        if not can_ask(function):
            return False
        route = _routes[id(function)] = Route(function)
    if all(answering is not one for _, answering in route.answers):
        route.answers.append((owner, one))
    _put(route)
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
    answers = [(owner, one.looks, one.answers) for owner, one in route.answers if one.is_on]
    _python_functions.answer(route.number, tuple(answers))
    if answers:
        _opened.exchange_code(route.function, route.own, route.asking)
    else:
        _opened.give_code_back(route.function)


def _route_of(one: Interception) -> Route:
    return next(route for route in _routes.values() if any(answering is one for _, answering in route.answers))


def _is_for(number: int, looks: int, first: Any) -> bool:
    """Whether the replacement answers a call in which nothing may be traced, for who makes it."""
    if current_trace() is None:
        return False
    frame = calling_frame(2)  # 1 is the one that runs the code which asks
    if looks == AT_FUNCTIONS:
        return not is_library(frame)
    converted = (first,) if looks == AT_CONVERSION else ()
    return not is_refused(frame, converted) and not is_called_for_library(frame, _names[number])


def own_code(function: FunctionType) -> CodeType:
    """The code of a function's own, whatever stands there at the moment."""
    route = _routes.get(id(function))
    return function.__code__ if route is None else route.own


def put_in_front(function: FunctionType, old: CodeType, now: CodeType) -> None:
    """Exchange a function's own code, ``old``, for the time that no trace is open and for the copy that a call goes on
    to which nobody answers. What asks for traced values stands in front of it, as before."""
    route = _routes.get(id(function))
    if route is None:
        if function.__code__ is old:  # what somebody else has put there meanwhile is theirs to keep
            function.__code__ = now
        return
    _opened.give_code_back(function)
    if function.__code__ is old:
        function.__code__ = now
    route.own = route.original.__code__ = now
    _put(route)


def original(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with its own code, whatever stands there at the moment."""
    route = _routes.get(id(function))
    return function if route is None else route.original


def asks_who_answers(frame: FrameType) -> bool:
    """Whether a frame runs the code that stands in an intercepted function while a trace is open."""
    return NAME in names.uses(code_in(frame)).loaded


hooks.asks_who_answers = asks_who_answers
_python_functions.setup(Tracer, _is_for, ALWAYS_LIBRARIES, _opened.is_tracing)
setattr(builtins, NAME, _python_functions.decide)  # at once: no trace makes a difference there
