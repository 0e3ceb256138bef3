"""Calls of solvers, and who fills their slots: a table of functions of other people's, by module."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.solvers.kinds import DerivativeKind
from wengert.solvers.supplied import Supplied, note_spent
from wengert.solvers.tally import Tally

F = Callable[..., Any]


class FilledCall:
    """A call of a solver: the function with its own code, the arguments by name, and where is counted."""

    def __init__(self, own: F, args: tuple[Any, ...], kwargs: dict[str, Any], tally: Tally) -> None:
        self.own, self.tally = own, tally
        self._args, self._kwargs = args, kwargs
        self._put_off: list[Any] = []
        try:
            self._bound = _signature(own).bind(*args, **kwargs)
        except TypeError:  # which the solver says better
            self._bound = None
        self.given: dict[str, Any] = {} if self._bound is None else self._bound.arguments

    @property
    def is_sound(self) -> bool:
        return self._bound is not None

    def plain(self) -> Any:
        """Return the result of the call as it was written."""
        return self._timed(self._args, self._kwargs)

    def _timed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self._put_off:
            return self.own(*args, **kwargs)
        start = time.thread_time()
        try:
            return self.own(*args, **kwargs)
        finally:
            for f in self._put_off:
                note_spent(f, time.thread_time() - start)

    def filled(self, **slots: Any) -> Any:
        """Return the result of the call with these arguments in the place of its own."""
        if not slots or self._bound is None:
            return self.plain()
        self.given.update(slots)
        return self._timed(self._bound.args, self._bound.kwargs)

    def supplied(
        self, f: Any, kind: DerivativeKind, args: Sequence[Any], kwargs: dict[str, Any] | None = None
    ) -> F | None:
        """Return the derivative of ``f``, to be called as ``f`` is, if it can be recorded for these arguments."""
        if not callable(f) or _module_of(f).startswith(HOSTS):  # whose own function it is, around the user's
            return None
        return self.of(_kept(self.tally, f, kind), args, kwargs or {})

    def of(self, derivative: Supplied, args: Sequence[Any], kwargs: dict[str, Any]) -> F | None:
        """Return a derivative, to be called as its function is, if it can be recorded for these arguments."""
        tally = self.tally
        if not derivative.is_ready(tally, args, kwargs):
            if not derivative.why:
                self._put_off.append(derivative.f)
            return None
        tally.filled += 1
        return lambda *args, **kwargs: derivative.given(tally, *args, **kwargs)


HOSTS = ("lmfit.", "iminuit.minuit")


def _module_of(f: Any) -> str:
    of_python = getattr(f, "__func__", f)
    return str(getattr(of_python, "__module__", None) or type(f).__module__)


@functools.lru_cache(maxsize=256)
def _signature(own: F) -> inspect.Signature:
    return inspect.signature(own)


def _kept(tally: Tally, f: Any, kind: DerivativeKind) -> Supplied:
    """The derivative of a function that was made in this context before, or a new one."""
    try:
        found = tally.supplied.get((f, kind))
    except TypeError:  # an object that has no hash
        return Supplied(f, kind)
    if found is None:
        found = tally.supplied[f, kind] = Supplied(f, kind)
    return found


def vector(x0: Any) -> Any:
    """Return where a solver begins as it will call the function, float[n]; None if that is not real numbers."""
    try:
        x = np.array(x0)
    except (TypeError, ValueError):
        return None
    if x.dtype.kind not in "biuf":
        return None
    return x.astype(float).reshape(-1)


def as_tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


Fill = Callable[[FilledCall], Any]
_table: dict[str, list[tuple[str, Fill]]] = {}
MODULES = ("scipy.optimize", "scipy.integrate", "lmfit.minimizer", "iminuit.minuit")
"""The modules that are looked for."""


def fills(where: str) -> Callable[[Fill], Fill]:
    """Let the decorated function answer for calls of ``"module:function"``, or of ``"module:Class.method"``."""
    module, _, path = where.partition(":")

    def register(fill: Fill) -> Fill:
        _table.setdefault(module, []).append((path, fill))
        return fill

    return register


def of_module(module: str) -> list[tuple[str, Fill]]:
    """Return who answers for functions of a module, by their paths in it, once the files that do so are imported."""
    return _table.get(module, [])
