"""``np.r_``, ``np.c_``, ``np.mgrid`` and ``np.ogrid``: arrays that are written as an index."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.tracing.arguments import Traced, array, arrays, holds_tracer, promote, unsupported
from wengert.tracing.functions.creation import NUMBER_KINDS, arange, linspace
from wengert.tracing.functions.flat import Flat
from wengert.tracing.interception.asking import AT_CALLER
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer


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


def _with_axes(x: Traced, ndim: int, first: int) -> Any:
    """``x`` with axes of length 1 added, so that its own begin at axis ``first`` (from the end, if negative)."""
    missing = ndim - x.ndim
    if missing <= 0:
        return x
    before = first if first >= 0 else first + missing + 1
    if not 0 <= before <= missing:
        raise ValueError(f"the axes of the array cannot begin at {first} of {ndim}")
    return np.reshape(x, (*[1] * before, *x.shape, *[1] * (missing - before)))


def _joined(key: object, axis: int, ndmin: int, first: int) -> Any:
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


@intercepts("numpy:ogrid.__getitem__", AT_CALLER)
def open_grid(written: slice | tuple[slice, ...], key: Any) -> Any:
    if not isinstance(key, tuple):
        return _steps(key)
    return np.ix_(*promote(*[_steps(s) for s in key]))


@intercepts("numpy:mgrid.__getitem__", AT_CALLER)
def filled_grid(written: slice | tuple[slice, ...], key: Any) -> Any:
    if not isinstance(key, tuple):
        return _steps(key)
    return np.stack(np.meshgrid(*promote(*[_steps(s) for s in key]), indexing="ij"))


@intercepts("numpy:r_.__getitem__", AT_CALLER)
def rows(written: slice | tuple[slice, ...], key: object) -> Any:
    return _joined(key, 0, 1, -1)


@intercepts("numpy:c_.__getitem__", AT_CALLER)
def columns(written: slice | tuple[slice, ...], key: object) -> Any:
    return _joined(key, -1, 2, 0)
