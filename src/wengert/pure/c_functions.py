"""Functions of C answer for traced values: the Python form of wengert.tracing.interception._c_functions.

The compiled module exchanges the C code of a function, of a class, of a setter. Here a function that modules hold has a
stand-in there (:mod:`wengert.pure.stand_ins`). Methods of classes of C, classes and setters are not enrolled; what
they do with a traced value is an error of the value's, and what they draw or write is found out when the trace ends.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import GetSetDescriptorType
from typing import Any

from wengert.pure import stand_ins

# How much of its arguments is looked at: see asking.py.
_AT_ARGUMENTS, _INTO_LISTS, _INTO_ALL, _AT_DEFAULT, _AT_ANY = range(5)
_AT_OBJECT, _AT_INSTANCE, _AT_CALLER, _AT_CONVERSION = range(5, 9)

_traced: Any = None
_asks: Any = None
_is_tracing: Any = None


class EnrolledFunction:
    """A function of C, what answers for it, and when."""

    __slots__ = ("callee", "is_on", "looks", "replacement")

    def __init__(self, callee: Callable[..., Any], replacement: Callable[..., Any], looks: int) -> None:
        self.callee, self.replacement, self.looks, self.is_on = callee, replacement, looks, True

    def answer(self, own: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return what the call gives: what a stand-in does."""
        if self.is_on:
            if self.looks in (_AT_OBJECT, _AT_INSTANCE):
                if _is_tracing() and not (self.looks == _AT_INSTANCE and _is_ours(own)):
                    result = self.replacement(own, *args, **kwargs)
                    if result is not NotImplemented:
                        return result
            elif self._is_for(own, args, kwargs):
                return self.replacement(*args, **kwargs)
        return own(*args, **kwargs)

    def _is_for(self, own: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        looks = self.looks
        if looks == _AT_CALLER:
            return is_for_user(own)
        if looks == _AT_CONVERSION:
            return is_for_user(own, args[0] if args else None)
        if looks == _AT_DEFAULT:
            return len(args) + len(kwargs) == 3 and type(args[0]) is _traced
        if looks == _AT_ANY:
            looks = _INTO_LISTS
        return any(_holds_traced(x, looks) for x in args) or any(_holds_traced(x, looks) for x in kwargs.values())


def is_for_user(own: Callable[..., Any], *converted: Any) -> bool:
    """Return whether whoever calls ``own`` now is to get traced arrays: the user's code in a thread that traces."""
    return _is_tracing() and not stand_ins.is_called_within() and _asks(*converted, callee=own) is True


def _is_ours(own: Any) -> bool:
    return str(getattr(own, "__module__", None)).startswith("wengert.")


def _holds_traced(x: object, looks: int) -> bool:
    if type(x) is _traced:
        return True
    if looks == _AT_ARGUMENTS:
        return False
    if type(x) is list or type(x) is tuple:
        return any(type(one) is _traced for one in x)
    return looks == _INTO_ALL


_enrolled: list[EnrolledFunction] = []


def setup(traced: type, asks: Callable[..., bool], libraries: set[str], is_tracing: object, /) -> None:
    """Say which class is traced, who knows who calls (``asks(*converted, callee=function)``), and in which thread a
    trace is open."""
    global _asks, _is_tracing, _traced
    if not (isinstance(traced, type) and isinstance(libraries, set) and callable(is_tracing)):
        raise TypeError("setup takes a class, who is asked, a set of names of modules, and _opened.is_tracing")
    _traced, _asks, _is_tracing = traced, asks, is_tracing


def _code_of(replacement: Any) -> Any:
    inner = getattr(replacement, "func", replacement) if isinstance(replacement, functools.partial) else replacement
    return getattr(inner, "__code__", None)


def enroll(callee: Any, replacement: Callable[..., Any], looks: int = 0, /) -> bool:
    """Let ``replacement`` answer for ``callee``. False for what no module holds, and for classes and setters."""
    for one in _enrolled:
        if one.callee is callee:  # what enrolls several was interrupted, and does it anew
            if one.replacement is replacement or _code_of(one.replacement) is _code_of(replacement) is not None:
                return True
            raise ValueError(f"{callee!r} is enrolled already")
    if isinstance(callee, GetSetDescriptorType):
        return False
    one = EnrolledFunction(callee, replacement, looks)
    if looks == _AT_INSTANCE:
        if callee is not functools._lru_cache_wrapper:
            return False  # of f2py's: what they write is found later
        stand_ins.add_class(callee, one.answer)
    elif not stand_ins.is_in_module(callee) or isinstance(callee, type):
        return False  # a class is asked for as the class that it is: by isinstance, as a dtype, by compiled modules
    else:
        stand_ins.add(callee, one.answer)
    _enrolled.append(one)
    return True


def _found(callee: object) -> EnrolledFunction:
    for one in _enrolled:
        if one.callee is callee:
            return one
    raise KeyError(f"{callee!r} is not enrolled")


def withdraw(callee: Any, /) -> None:
    """Take back what was enrolled last. KeyError if it was not."""
    one = _enrolled[-1] if _enrolled else None
    if one is None or one.callee is not callee:
        raise KeyError(f"{callee!r} was not enrolled last")
    _enrolled.remove(one)
    if one.looks != _AT_INSTANCE:
        stand_ins.remove(callee)


def switch_on(callee: Any, is_on: bool, /) -> None:
    """Say whether the replacement is called."""
    _found(callee).is_on = bool(is_on)


def is_from_python() -> bool:
    """Return True: here the instruction of the frame that calls tells who does (callers.py), in every Python."""
    return True


def open() -> None:
    """Put the stand-ins into their places."""
    stand_ins.begin()


def close() -> None:
    """Put the functions back."""
    stand_ins.end()
