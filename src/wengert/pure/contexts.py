"""Things are set for a time: the Python form of wengert._contexts (native/contexts.cpp).

A signal can do here what it cannot do there: see :mod:`wengert.pure.context`.
"""

from __future__ import annotations

import gc
import threading
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import numpy as np

from wengert.pure.context import CountedContext, EnteredContext

Value = TypeVar("Value")

_SELDOM_AFTER = 50_000  # new objects between two looks: collector.SELDOM, and a test compares them
_OFTEN = 20

_UNSET = object()


class Replaced(EnteredContext):
    """An attribute has another value."""

    __slots__ = ("_holder", "_name", "_old", "_value")

    def __init__(self, holder: object, name: str, value: object) -> None:
        self._old: Any = _UNSET
        self._holder, self._name, self._value = holder, name, value
        self.begin()

    def enter(self) -> None:
        self._old = getattr(self._holder, self._name)
        setattr(self._holder, self._name, self._value)

    def leave(self) -> None:
        if self._old is not _UNSET:
            setattr(self._holder, self._name, self._old)

    def entered(self) -> Any:
        return self._value


def replaced(holder: object, name: str, value: Value, /) -> AbstractContextManager[Value]:
    """Return a context in which the attribute ``name`` of ``holder`` is ``value``."""
    return Replaced(holder, name, value)


class Silent(EnteredContext):
    """NumPy warns of no arithmetic."""

    __slots__ = ("_errors",)

    def __init__(self) -> None:
        self._errors: Any = None
        self.begin()

    def enter(self) -> None:
        errors = np.errstate(all="ignore")
        errors.__enter__()
        self._errors = errors

    def leave(self) -> None:
        errors, self._errors = self._errors, None
        if errors is not None:
            errors.__exit__(None, None, None)


def silent() -> AbstractContextManager[None]:
    """Return a context in which NumPy warns of no arithmetic."""
    return Silent()


class SupportsLocking(Protocol):
    """A lock, of whichever kind."""

    def acquire(self, blocking: bool = True, /) -> bool: ...
    def release(self) -> None: ...


class Acquired(EnteredContext):
    """A lock is held, if it was free."""

    __slots__ = ("_is_acquired", "_lock")

    def __init__(self, lock: SupportsLocking) -> None:
        self._lock, self._is_acquired = lock, False
        self.begin()

    def enter(self) -> None:
        self._is_acquired = self._lock.acquire(False)

    def leave(self) -> None:
        if self._is_acquired:
            self._is_acquired = False
            self._lock.release()

    def entered(self) -> Any:
        return self._is_acquired


def acquired(lock: SupportsLocking, /) -> AbstractContextManager[bool]:
    """Return a context in which a lock is held, if it was free: whether it was."""
    return Acquired(lock)


class PutOff(CountedContext):
    """The garbage collector does not run."""

    __slots__ = ("_was_on",)

    def __init__(self) -> None:
        self._was_on = False
        self.begin()

    def enter_as(self, is_first: bool) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def leave_as(self, is_last: bool) -> None:
        if self._was_on:
            gc.enable()


def put_off() -> AbstractContextManager[None]:
    """Return a context in which the garbage collector does not run, and is left as it was."""
    return PutOff()


_looks = 0  # since the first of those contexts was entered; each counts twice, when it begins and when it ends
_threshold: tuple[int, int, int] | None = None  # what it was before; None while it is so
_looking = 0  # the thread that collects garbage at the moment, while one of those contexts is open


def _looked(phase: str, info: dict[str, int]) -> None:
    global _looking, _looks, _threshold
    _looking = threading.get_ident() if phase == "start" else 0
    _looks += 1
    if _looks != _OFTEN or _threshold is not None:
        return
    now = gc.get_threshold()
    if 0 < now[0] < _SELDOM_AFTER:
        _threshold = now
        gc.set_threshold(_SELDOM_AFTER, *now[1:])


class Seldom(CountedContext):
    """The garbage collector, once it has looked often, does so a hundred times less often."""

    __slots__ = ()

    def __init__(self) -> None:
        self.begin()

    def enter_as(self, is_first: bool) -> None:
        global _looks
        if is_first:
            _looks = 0
            gc.callbacks.append(_looked)

    def leave_as(self, is_last: bool) -> None:
        global _looking, _threshold
        if not is_last:
            return
        _looking = 0
        gc.callbacks[:] = [one for one in gc.callbacks if one is not _looked]
        before, _threshold = _threshold, None
        now = gc.get_threshold()
        if before is not None and now[0] == _SELDOM_AFTER:
            gc.set_threshold(before[0], *now[1:])


def seldom() -> AbstractContextManager[None]:
    """Return a context in which the garbage collector, once it has looked often, does so seldom."""
    return Seldom()


def is_collecting() -> bool:
    """Return whether garbage is being collected in this thread; known while :func:`seldom` is open."""
    return _looking == threading.get_ident()


def forked() -> None:
    """Leave, in a child process, the contexts of threads that are not in it."""
    global _looking
    PutOff.leave_those_of_other_threads()
    Seldom.leave_those_of_other_threads()
    if _looking != threading.get_ident():
        _looking = 0
