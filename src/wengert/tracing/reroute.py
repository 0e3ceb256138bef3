"""Functions of SciPy, and a method of NumPy's, that are Python code rather than ufuncs, on traced arrays.

NumPy's protocols do not reach them. So while a trace is active their *code* is exchanged (:func:`opened`)
for one that asks whether a traced value is among the arguments (or, where one of them is a function of the user's,
which may know traced values, whether the user's code is calling): the function stays the object that it is, so
that ``from scipy.special import logsumexp``, long before, is traced as well. What they do to traced values stands in
:mod:`wengert.tracing.functions`, each under :func:`reroutes`. Functions that are C code have theirs exchanged in the
same moments: see :mod:`~wengert.tracing.exchange`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import CodeType, FunctionType
from typing import Any, TypeVar

from wengert._contexts import acquired
from wengert.locks import lock
from wengert.tracing import _opened, exchange
from wengert.tracing.callers import is_library
from wengert.tracing.copying import copied
from wengert.tracing.trace import Trace, current_trace
from wengert.tracing.tracer import Tracer

Replacement = TypeVar("Replacement", bound=Callable[..., Any])

REROUTED: dict[str, dict[str, Callable[..., Any]]] = {}
"""By module, what the functions of these names do to traced arguments."""


TAKES_FUNCTIONS: set[tuple[str, str]] = set()
"""Those that call a function of the user's: they are answered wherever the user's code calls them."""


def reroutes(module: str, name: str = "", *, takes_functions: bool = False) -> Callable[[Replacement], Replacement]:
    """Make the decorated function what the one of its name in ``module``, or ``name``, does to traced arguments."""

    def register(traced: Replacement) -> Replacement:
        REROUTED.setdefault(module, {})[name or traced.__name__] = traced
        if takes_functions:
            TAKES_FUNCTIONS.add((module, name or traced.__name__))
        return traced

    return register


class _Route:
    """A function of SciPy's, a copy of it that keeps its own code, and the code that decides between two."""

    def __init__(self, module: str, name: str, function: FunctionType) -> None:
        own = function.__code__
        self.function, self.own = function, own
        self.original = copied(function, own, function.__globals__, function.__closure__)
        self.deciding = _deciding(module, name, own)
        if not hasattr(function, "__wrapped__"):  # else that is asked
            function.__signature__ = inspect.signature(function)  # the code will not tell


_routes: dict[str, dict[str, _Route]] = {}  # by module, once that is imported; a name without one keeps its own code


def _deciding(module: str, name: str, own: CodeType) -> CodeType:
    """Code that runs in the globals of SciPy's module, so it imports what it needs.

    A function takes no code but one of as many cells as it has, so there are as many here, of which none is read. And
    it is asked where its source is.
    """
    namespace: dict[str, Any] = {}
    cells = "".join([f"_{k}, " for k in range(len(own.co_freevars))])
    exec(
        f"def outer({cells}):\n"
        "    def deciding(*args, **kwargs):\n"
        f"        from {decide.__module__} import {decide.__name__}\n"
        f"        return {decide.__name__}({module!r}, {name!r}, args, kwargs)\n"
        f"        ({cells})\n"
        "    return deciding\n",
        {"__name__": __name__},
        namespace,
    )
    code: CodeType = namespace["outer"](*own.co_freevars).__code__
    return code.replace(
        co_name=own.co_name,
        co_qualname=own.co_qualname,
        co_filename=own.co_filename,
        co_firstlineno=own.co_firstlineno,
    )


def decide(module: str, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call what a rerouted function stands for: ours for traced arguments, else SciPy's."""
    is_traced = any(_holds_traced(x) for x in (*args, *kwargs.values()))
    if not is_traced and (module, name) in TAKES_FUNCTIONS and current_trace() is not None:
        is_traced = not is_library(sys._getframe(2))
    return (REROUTED[module][name] if is_traced else original(module, name))(*args, **kwargs)


def original(module: str, name: str) -> Callable[..., Any]:
    """The function with its own code."""
    route = _routes[module].get(name)
    return _found(sys.modules[module], name) if route is None else route.original


def _holds_traced(x: Any) -> bool:
    return type(x) is Tracer or (type(x) in (list, tuple) and any(map(_holds_traced, x)))


_lock = lock()
_prepared: set[str] = set()  # modules of which all routes are known to native/opened.cpp


def _prepare() -> None:
    """Make the routes of modules that were imported since this was last called; none of one that another thread is
    importing. Wherever it is interrupted, the next call goes on."""
    is_done = False
    while not is_done:
        with acquired(_lock) as is_done:  # which, wherever it is interrupted, gives the lock back
            if is_done:
                _prepare_alone()
        if not is_done:
            with _lock:  # until the thread that is at it has done so
                pass


def _prepare_alone() -> None:
    for module in REROUTED:
        if module not in sys.modules or module in _prepared:
            continue
        if module not in _routes:
            functions = {name: _found(sys.modules[module], name) for name in REROUTED[module]}
            if any(f is None for f in functions.values()) and _is_being_imported(sys.modules[module]):
                continue
            # One that this version of the library has not, or not in Python, keeps what it has: that refuses traced
            # values.
            known = {name: f for name, f in functions.items() if type(f) is FunctionType}
            _routes[module] = {name: _Route(module, name, f) for name, f in known.items()}
        for route in _routes[module].values():
            _opened.exchange_code(route.function, route.own, route.deciding)
        _prepared.add(module)


def _is_being_imported(module: Any) -> bool:
    return bool(getattr(module.__spec__, "_initializing", False))


def _found(module: Any, name: str) -> Any:
    """What a name, of a function or ``Class.method``, stands for; None if there is none."""
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def opened(trace: Trace) -> AbstractContextManager[Trace]:
    """A context in which ``trace`` is open, and what is exchanged meanwhile is, of all modules imported so far."""
    if len(_prepared) < len(REROUTED):
        _prepare()
    exchange.enroll_new()
    return trace.opened()
