"""Lists of traced values where NumPy takes array-likes: ``np.square([x[0], x[1]])``, ``np.interp(t, xs, ys)``.

NumPy asks operands whether they answer a function themselves, and does not ask what lies in a list. So while a trace
is open the calls of NumPy's functions go through native/array_functions.cpp, which looks into lists, and calls
:func:`answer` for those that hold a traced value. What an array function does to lists is what it does to traced
arrays, for those that implement it take both; the operands of a ufunc are stacked.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.tracing import hooks
from wengert.tracing._steps import answered
from wengert.tracing.arguments import holds_traced, holds_tracer
from wengert.tracing.callers import ALWAYS_LIBRARIES, is_library
from wengert.tracing.interception import _array_functions, _opened
from wengert.tracing.interception.asking import is_for_user
from wengert.tracing.python.frames import calling_frame
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer, answer_function

DISPATCHED: Any = type(np.sum)
"""The class of NumPy's functions that know ``__array_function__``."""

SWITCHED_OFF: set[type] = set()
"""The classes of functions whose calls nobody answers: see :func:`wengert.interceptions`."""

NO_ARRAYS = frozenset(
    ["shape", "newshape", "axis", "axes", "shift", "reps", "dims", "order", "size", "k", "N", "M", "n", "offset"]
    + ["pad_width", "num", "source", "destination", "axis1", "axis2", "rowvar", "dtype", "casting", "subok", "out"]
)
"""Names of arguments that say a shape, axes or a place to write: NumPy takes the integers of their tuples itself."""

_OPERANDS: dict[str | None, tuple[int | str, ...]] = {
    "reduce": (0, "array", "where"),
    "accumulate": (0, "array"),
    "reduceat": (0, 1, "array", "indices"),
    "outer": (0, 1),
}
"""Which arguments of the methods of ufuncs are arrays."""


def answer(function: Any, method: str | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``function``, or a method of a ufunc, with traced values in lists; return NotImplemented if NumPy knows."""
    if current_trace() is None or type(function) in SWITCHED_OFF:
        return NotImplemented
    given = (*args, *kwargs.values())
    if is_library(calling_frame(1)) and not any(map(holds_traced, given)):
        return NotImplemented  # a library may go on in compiled code, which takes no constants of ours
    if isinstance(function, np.ufunc):
        return _answer_ufunc(function, method, args, kwargs)
    for x in given:
        if hasattr(type(x), "__array_function__") and not isinstance(x, Tracer | np.ndarray | np.generic):
            return NotImplemented  # a container of somebody's: its turn
    if not any(holds_tracer(x) for name, x in _named(function, args, kwargs) if name not in NO_ARRAYS):
        return NotImplemented
    return answered(answer_function, function, args, kwargs)


def _answer_ufunc(ufunc: np.ufunc, method: str | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    operands = _OPERANDS.get(method)

    def stack(which: int | str, x: Any) -> Any:
        if which == "where" if operands is None and isinstance(which, str) else operands is None or which in operands:
            return hooks.array(x) if isinstance(x, list | tuple) and holds_tracer(x) else x
        return x

    new_args = [stack(k, x) for k, x in enumerate(args)]
    new_kwargs = {name: stack(name, x) for name, x in kwargs.items()}
    if all(map(_is, new_args, args)) and all(map(_is, new_kwargs.values(), kwargs.values())):
        return NotImplemented
    return (ufunc if method is None else getattr(ufunc, method))(*new_args, **new_kwargs)


def _is(x: Any, y: Any) -> bool:
    return x is y


@functools.cache
def _parameters(function: Any) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(function).parameters)
    except ValueError:  # a function of C
        return ()


def _named(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The arguments with their names; those that a function of C, or ``*arrays``, gives no name have none."""
    names = _parameters(function)
    return [*((names[k] if k < len(names) else "", x) for k, x in enumerate(args)), *kwargs.items()]


_array_functions.setup(np.ufunc, DISPATCHED, Tracer, is_for_user, ALWAYS_LIBRARIES, _opened.is_tracing, answer)
_opened.exchange(_array_functions.begin, _array_functions.end)
