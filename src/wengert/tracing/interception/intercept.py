"""The one door to other people's code: what of it is changed while a trace is open, and how it is put back.

NumPy's and Python's protocols let traced values answer most calls themselves. What they do not reach is listed here,
in one table, under the decorator :func:`intercepts`: the decorated function is called in the place of another where a
traced value is among its arguments, or where the user's code asks for an array. How that other one is changed depends
on what it is, and it stays the object that it is, so that ``from math import sin``, long before, is recorded too:

* a function, method or class written in Python has its *code* exchanged: python_functions.py;
* a function or class of C has the address of its C code exchanged, an attribute the one of its setter, an object that
  is called the one in its class: native/c_functions.cpp;
* NumPy's functions that know ``__array_function__`` (``np.linspace``) are asked for in their class: array_functions.py.

What is changed otherwise is in the table too, by :func:`lists`: the calls of NumPy's two classes of functions, the
profiler of a thread, ``type`` in the code of the user's functions.

All of it is done and undone in one call of C, which no Ctrl-C can come into, when the first trace of the process is
opened and when the last is closed (native/opened.cpp). What stands there asks its arguments, or who calls, and never
whether a trace is open: any other call, in any thread, goes on to the function's own code. A thread that has opened no
trace does so at once. :func:`interceptions` is the inventory.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MethodDescriptorType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np

from wengert._contexts import acquired
from wengert.errors import ConfigError, InterpreterError, message
from wengert.locks import lock
from wengert.tracing.callers import ALWAYS_LIBRARIES
from wengert.tracing.interception import (
    _array_functions,
    _c_functions,
    _opened,
    array_functions,
    names_in_code,
    python_functions,
)
from wengert.tracing.interception.asking import AT_ARGUMENTS, AT_CALLER, AT_CONVERSION, AT_INSTANCE, is_for_user
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer

Replacement = TypeVar("Replacement", bound=Callable[..., Any])


class Interception:
    """One function, class, attribute or object of other people's, and what answers for it while a trace is open."""

    __slots__ = ("_is_on", "answers", "how", "looks", "name", "target")

    def __init__(self, name: str, target: Any, looks: int, answers: Callable[..., Any]) -> None:
        self.name, self.target, self.looks, self.answers = name, target, looks, answers
        self.how = ""
        """The kind of its code, which is exchanged; empty as long as its module has not been imported."""
        self._is_on = True

    @property
    def is_on(self) -> bool:
        """Whether the replacement is called: in the whole process, from now on. Switched off, the function is what it
        is without it, which most often refuses traced values. What NumPy's own protocols answer (``np.linspace`` of a
        traced end), and what is compiled already, goes on."""
        return self._is_on

    @is_on.setter
    def is_on(self, is_on: bool) -> None:
        if not is_on and self.how in _ALWAYS_ON:
            raise ConfigError(
                message(f"{self.name} cannot be switched off: {_ALWAYS_ON[self.how]}", tries=["leaving it switched on"])
            )
        self._is_on = is_on
        if self.how in _KINDS:
            _KINDS[self.how].switch(self)

    def __repr__(self) -> str:
        code = getattr(self.answers, "__code__", None) or getattr(getattr(self.answers, "func", None), "__code__", None)
        by = f"{self.answers.__module__}.{self.answers.__qualname__}" if code is None else _place(code)
        state = "" if self.is_on else ", switched off"
        return f"{self.name}: {self.how or 'not imported yet'}, answered by {by}{state}"


def _place(code: Any) -> str:
    return f"wengert{code.co_filename.rpartition('wengert')[2]}:{code.co_firstlineno}"


TABLE: dict[str, Interception] = {}
"""All of them, by the names under which they are found."""


class Inventory(Mapping[str, Interception]):
    """The interceptions by name, as :func:`interceptions` returns them; printed, a line for each."""

    def __getitem__(self, name: str) -> Interception:
        return TABLE[name]

    def __iter__(self) -> Any:
        return iter(sorted(TABLE))

    def __len__(self) -> int:
        return len(TABLE)

    def __repr__(self) -> str:
        return "\n".join(repr(TABLE[name]) for name in self)


def interceptions() -> Mapping[str, Interception]:
    """The inventory of what is changed of other people's code while a trace is open, by name.

    Printed, it says of each function how it is changed and what answers for it. ``is_on`` switches one off and on
    again, in the whole process: its replacement is not called any more. What NumPy's own protocols answer, and what
    is compiled already, goes on.
    Without the profiler, ``"sys.setprofile"``, a jitted function that reaches code of packages is traced at every call.
    ``"type"`` is not switched off: results would be wrong.

    >>> import math
    >>> import wengert as wg
    >>> print(wg.interceptions()["math.sin"])
    math.sin: C function, answered by wengert/tracing/functions/python_math.py:...
    >>> wg.interceptions()["math.sin"].is_on = False
    >>> wg.grad(math.sin)(0.0)
    Traceback (most recent call last):
    ...
    wengert.errors.ConcretizationError: ...
    >>> wg.interceptions()["math.sin"].is_on = True
    >>> float(wg.grad(math.sin)(0.0))
    1.0
    """
    return Inventory()


# ------------------------------------------------------------------------------------------------ how each is changed


class _Code:
    """A function written in Python, or the ``__new__`` or ``__init__`` of a class that is."""

    @staticmethod
    def enroll(one: Interception) -> bool:
        found: Any = one.target
        owner: Any = None
        if isinstance(found, type):
            found, owner = _maker(found), found
        elif isinstance(found, MethodType):
            found, owner = found.__func__, found.__self__
        elif type(found) is not FunctionType:
            found, owner = type(found).__call__, found
        return type(found) is FunctionType and python_functions.enroll(one, found, owner)

    switch = staticmethod(python_functions.switch)
    withdraw = staticmethod(python_functions.withdraw)


class _OfC:
    @staticmethod
    def enroll(one: Interception) -> bool:
        return _c_functions.enroll(one.target, one.answers, one.looks)

    @staticmethod
    def switch(one: Interception) -> None:
        _c_functions.switch_on(one.target, one.is_on)

    @staticmethod
    def withdraw(one: Interception) -> None:
        _c_functions.withdraw(one.target)


class _Dispatched:
    """A function of NumPy's that makes arrays, and knows ``__array_function__``."""

    @staticmethod
    def enroll(one: Interception) -> bool:
        asks_who_calls = one.looks in (AT_CALLER, AT_CONVERSION)  # others answer by NumPy's protocol
        return asks_who_calls and _array_functions.enroll(one.target, one.answers, one.looks == AT_CONVERSION)

    @staticmethod
    def switch(one: Interception) -> None:
        _array_functions.switch_on(one.target, one.is_on)

    @staticmethod
    def withdraw(one: Interception) -> None:
        _array_functions.withdraw(one.target)


class _Calls:
    """Interceptions of calls, with lists, of objects of a class of NumPy's."""

    @staticmethod
    def switch(one: Interception) -> None:
        change = array_functions.SWITCHED_OFF.discard if one.is_on else array_functions.SWITCHED_OFF.add
        change(one.target)


_KINDS: dict[str, Any] = {
    "code of a Python function": _Code,
    "code of a Python class": _Code,
    "C function": _OfC,
    "C class": _OfC,
    "setter of an attribute": _OfC,
    "object that is called": _OfC,
    "array function": _Dispatched,
    "calls of its objects": _Calls,
    "builtin, by its name in the code of the user's functions": names_in_code,
}


_ALWAYS_ON: dict[str, str] = {}
"""Why some are not switched off, by how they are changed."""


def lists(
    name: str, how: str, answers: Callable[..., Any], target: Any = None, *, why_always_on: str = ""
) -> Interception:
    """Enter into the inventory what is changed in a way of its own. Whoever changes it asks the entry whether it
    ``is_on``, where there is no reason why it always is."""
    one = TABLE[name] = Interception(name, target, AT_ARGUMENTS, answers)
    one.how = how
    if why_always_on:
        _ALWAYS_ON[how] = why_always_on
    return one


def _maker(cls: Any) -> FunctionType | None:
    """The function written in Python that makes an object of a class, ``__new__`` or ``__init__``."""
    return next((f for f in (cls.__new__, cls.__init__) if type(f) is FunctionType), None)


def _kind(target: Any, looks: int) -> str:
    if names_in_code.is_of_code(target):
        return "builtin, by its name in the code of the user's functions"
    if isinstance(target, FunctionType | MethodType):
        return "code of a Python function"
    if isinstance(target, type):
        if looks == AT_INSTANCE:  # whatever makes its objects, it is C that calls them
            return "C class"
        return "C class" if _maker(target) is None else "code of a Python class"
    if isinstance(target, array_functions.DISPATCHED):
        return "array function"
    if isinstance(target, GetSetDescriptorType):
        return "setter of an attribute"
    if isinstance(target, BuiltinFunctionType | MethodDescriptorType) or "cython" in type(target).__name__:
        return "C function"
    is_of_python = isinstance(inspect.getattr_static(type(target), "__call__", None), FunctionType)
    return "code of a Python function" if is_of_python else "object that is called"


def intercepts(target: Any, looks: int = AT_ARGUMENTS, name: str = "") -> Callable[[Replacement], Replacement]:
    """Make the decorated function what ``target`` does where ``looks`` says so.

    ``target`` is a function, class, attribute or object that is called, or where it is found:
    ``"scipy.special:softmax"``, ``"numpy:vectorize.__call__"``. Such a place is looked up before the first trace that
    finds its module imported, and what is not there, or of a kind that some Python to come calls in another way, keeps
    its own code, which refuses traced values. Of a class that is written in Python the replacement stands for its
    ``__new__``, and makes the object, or, where it has none, for its ``__init__``.
    ``name``: the one in the table, where its own says nothing.
    """

    def register(answers: Replacement) -> Replacement:
        is_place = isinstance(target, str)
        found = name or (target.replace(":", ".") if is_place else _name(target))
        if found in TABLE:
            raise ValueError(f"{found} is intercepted already, by {TABLE[found]!r}")
        one = Interception(found, None if is_place else target, looks, answers)
        if is_place:
            module, _, path = target.partition(":")
            when_imported(module)(functools.partial(_enroll_at, one, module, path))
        else:
            enroll(one)
        TABLE[found] = one  # at last: wherever this is interrupted, it may be done again
        return answers

    return register


def enroll(one: Interception) -> bool:
    """Let what ``one`` says hold from now on; what is enrolled already stays so. False if its kind is not known."""
    how = _kind(one.target, one.looks)
    is_done: bool = _KINDS[how].enroll(one)
    if is_done:
        one.how = how
        _opened.begin_again()
    return is_done


def withdraw(one: Interception) -> None:
    """Put ``one`` back for good: of C functions and classes, the one that was enrolled last."""
    _KINDS[one.how].withdraw(one)
    one._is_on, one.how = False, ""


def _name(target: Any) -> str:
    module = getattr(target, "__module__", None)
    owner = getattr(target, "__objclass__", None) or getattr(target, "__self__", None)
    name = getattr(target, "__qualname__", None) or type(target).__qualname__
    if not isinstance(module, str):
        module = getattr(owner, "__module__", None) or "numpy"
    if isinstance(owner, ModuleType):
        module = owner.__name__
    first, *rest = module.split(".")
    public = [first, *itertools.takewhile(lambda part: not part.startswith("_"), rest)]
    return ".".join([*public, name]).removeprefix("builtins.")


# ------------------------------------------------------------------------------------------ places in modules that come

_waiting: dict[str, list[Callable[[], Any]]] = {}
_lock = lock()


def when_imported(module: str) -> Callable[[Replacement], Replacement]:
    """Call the decorated function, which enrolls what is in ``module``, before the first trace that finds it imported.
    It may be called again, where it was interrupted. No module is imported for this: that takes its time."""

    def register(enrolls: Replacement) -> Replacement:
        _waiting.setdefault(module, []).append(enrolls)
        return enrolls

    return register


_marks: dict[str, Callable[[ModuleType], Any]] = {}
_looked_at: set[str] = set()
_latest: tuple[int, str] = (0, "")
"""How many modules there were, and the last of them, when all had been looked at."""


def when_marked(mark: str) -> Callable[[Replacement], Replacement]:
    """Call the decorated function with every module that has a variable ``mark``, before the first trace that finds it
    imported, whatever its name. It may be called again, where it was interrupted."""

    def register(enrolls: Replacement) -> Replacement:
        _marks[mark] = enrolls
        return enrolls

    return register


def _latest_now() -> tuple[int, str]:
    return len(sys.modules), next(reversed(sys.modules), "")


def _enroll_marked() -> None:
    """Look at the modules that were imported since this was last called."""
    global _latest
    latest, is_all = _latest_now(), True
    for name, module in [*sys.modules.items()]:
        if name in _looked_at:
            continue
        if issubclass(type(module), ModuleType):
            names = object.__getattribute__(module, "__dict__")  # a module that is loaded when it is asked is not asked
            if getattr(names.get("__spec__"), "_initializing", False):
                is_all = False
                continue
            for enrolls in [enrolls for mark, enrolls in _marks.items() if mark in names]:
                enrolls(module)
        _looked_at.add(name)
    if is_all:
        _latest = latest


def _enroll_at(one: Interception, module: str, path: str) -> None:
    found = _found(sys.modules[module], path)
    if found is not None:
        one.target = found
        enroll(one)


def _is_ready(module: str) -> bool:
    """Whether a module has been imported, and is not being imported now by another thread."""
    found = sys.modules.get(module)
    return found is not None and not getattr(getattr(found, "__spec__", None), "_initializing", False)


def _enroll_waiting() -> None:
    """Enroll what lies in modules that were imported since this was last called. Wherever it is interrupted, the next
    call goes on: a module is struck off at last."""
    is_done = False
    while not is_done:
        with acquired(_lock) as is_done:  # which, wherever it is interrupted, gives the lock back
            if is_done:
                while ready := [m for m in _waiting if _is_ready(m)]:  # what enrolls may wait for more modules
                    for module in ready:
                        for enrolls in _waiting[module]:  # and for this one
                            enrolls()
                        _waiting.pop(module, None)
                _enroll_marked()
        if not is_done:
            with _lock:  # until the thread that is at it has done so
                pass


def _found(found: Any, path: str) -> Any:
    """Return what a path, ``Class.method``, stands for; None if there is none."""
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


def opened(trace: Trace) -> AbstractContextManager[Trace]:
    """A context in which ``trace`` is open, and what is intercepted meanwhile is, of all modules imported so far."""
    if _latest_now() != _latest:
        _enroll_waiting()
    return trace.opened()


def check_interpreter() -> None:
    """Raise InterpreterError where the interpreter's loop is not found on the stack: all of ``np.zeros`` would be taken
    for a library's."""
    is_found = _c_functions.is_from_python
    if not (is_found() and functools.partial(is_found)()):
        raise InterpreterError(
            f"{sys.implementation.name} {sys.version.split()[0]} does not show on its stack who calls a function of C, "
            "so np.zeros cannot be traced: use another build of this Python, or another version that wengert supports"
        )


for _cls in (np.ufunc, array_functions.DISPATCHED):
    lists(_name(_cls), "calls of its objects", array_functions.answer, _cls)
check_interpreter()
_c_functions.setup(Tracer, is_for_user, ALWAYS_LIBRARIES, _opened.is_tracing)
_opened.exchange(_c_functions.open, _c_functions.close)
