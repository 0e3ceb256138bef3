"""``np.r_``, ``np.c_``, ``np.mgrid`` and ``np.ogrid``: arrays that are written as an index."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.tracing.arguments import array, arrays, holds_tracer, promote, unsupported
from wengert.tracing.callers import is_library
from wengert.tracing.functions.creation import NUMBER_KINDS, arange, linspace
from wengert.tracing.functions.flat import Flat
from wengert.tracing.patch import replaces_object
from wengert.tracing.trace import current_trace
from wengert.tracing.tracer import Tracer


class _Written:
    """An object of NumPy's that is indexed, and what it does for the user's code while that is traced."""

    def __init__(self, name: str, traced: Callable[[Any], Any]) -> None:
        self._traced = traced
        self.__wrapped__ = getattr(np, name)
        self.__doc__ = self.__wrapped__.__doc__

    def __getitem__(self, key: Any) -> Any:
        if current_trace() is None or is_library(sys._getframe(1)):
            return self.__wrapped__[key]
        result = self._traced(key)
        return self.__wrapped__[key] if result is NotImplemented else result

    def __len__(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)


def _steps(item: slice) -> Any:
    """The numbers of ``start:stop:step``; with an imaginary step, so many of them, both ends included."""
    start = 0 if item.start is None else item.start
    step = 1 if item.step is None else item.step
    if type(step) is Tracer and step.dtype.kind == "c":
        raise unsupported("a traced number of steps, n*1j, in brackets", "np.linspace(start, stop, n)")
    if isinstance(step, complex | np.complexfloating):
        return linspace(start, item.stop, int(abs(step)))
    return arange(start, item.stop, step)


def _directions(text: str, axis: int, ndmin: int, first: int) -> tuple[int, int, int]:
    """``"axis"``, ``"axis,ndmin"`` or ``"axis,ndmin,first"``."""
    try:
        given = [int(word) for word in text.split(",")]
    except ValueError:
        if text in ("r", "c"):
            raise unsupported(f"np.r_[{text!r}, ...] makes an np.matrix, which is not traced", "np.c_") from None
        raise ValueError(f"unknown special directive {text!r}") from None
    axis, ndmin, first = (given + [axis, ndmin, first][len(given) :])[:3]
    return axis, ndmin, first


def _with_axes(x: Any, ndim: int, first: int) -> Any:
    """``x`` with axes of length 1 added, so that its own begin at axis ``first`` (from the end, if negative)."""
    missing = ndim - x.ndim
    if missing <= 0:
        return x
    before = first if first >= 0 else first + missing + 1
    if not 0 <= before <= missing:
        raise ValueError(f"the axes of the array cannot begin at {first} of {ndim}")
    return np.reshape(x, (*[1] * before, *x.shape, *[1] * (missing - before)))


def _joined(key: Any, axis: int, ndmin: int, first: int) -> Any:
    """Arrays, numbers and steps, end to end along an axis; Python's numbers are weak. Of text NotImplemented."""
    parts: list[Any] = []
    for k, item in enumerate(key if isinstance(key, tuple) else (key,)):
        if isinstance(item, str):
            if k:
                raise ValueError("special directives must be the first entry.")
            axis, ndmin, first = _directions(item, axis, ndmin, first)
        else:
            parts.append(_steps(item) if isinstance(item, slice) else item.copy() if type(item) is Flat else item)
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if not holds_tracer(parts) and any(np.asarray(p).dtype.kind not in NUMBER_KINDS for p in parts):
        return NotImplemented
    numbers = bool | int | float | complex
    parts = promote(*[p if isinstance(p, numbers) else array(p, parts) for p in parts])
    return np.concatenate([_with_axes(p, ndmin, first) for p in arrays(*parts)], axis)


def _open_grid(key: Any) -> Any:
    if not isinstance(key, tuple):
        return _steps(key)
    return np.ix_(*promote(*[_steps(s) for s in key]))


def _filled_grid(key: Any) -> Any:
    if not isinstance(key, tuple):
        return _steps(key)
    return np.stack(np.meshgrid(*promote(*[_steps(s) for s in key]), indexing="ij"))


replaces_object("r_", _Written("r_", lambda key: _joined(key, 0, 1, -1)))
replaces_object("c_", _Written("c_", lambda key: _joined(key, -1, 2, 0)))
replaces_object("mgrid", _Written("mgrid", _filled_grid))
replaces_object("ogrid", _Written("ogrid", _open_grid))
