"""How an array lies in memory, which decides whether NumPy's reshape of it shares that memory or copies.

Results keep the order in memory of their operands, so ``y = x.T + 1`` is not in C order, and ``y.reshape(-1)`` is a
copy. What a tracer would have is an array without memory, of the same shape and strides; what order several operands
give is not always worked out, and only writes through a reshape would have to know: of an unknown order those raise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.tape import Aval
from wengert.tracing import hooks

if TYPE_CHECKING:
    from wengert.tracing.tracer import Tracer

UNKNOWN_ORDER: Any = object()
AMBIGUOUS = (
    "whether NumPy shares memory depends on the order of an array in memory, here of a result whose order is not known"
)
MADE_PLAIN = "np.array(y, order='C') instead, or before a reshape"

KNOWN_ORDER: set[Any] = set()
"""Functions and methods that say themselves how their results lie in memory, or whose results are always in C order."""


def strides_alone(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array of the same shape and strides, and of no memory: it must never be read."""
    return np.lib.stride_tricks.as_strided(np.ndarray(1, array.dtype), array.shape, array.strides)


def in_doubt(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function. Where operands are not in C order, the order of its results in memory counts as not known."""
    result = function(*args, **kwargs)
    if function in KNOWN_ORDER:
        return result
    operands = [x for a in (*args, *kwargs.values()) for x in (a if isinstance(a, list | tuple) else (a,))]
    if all(map(has_c_order, operands)):
        return result
    for y in result if isinstance(result, list | tuple) else (result,):
        if type(y) is hooks.Tracer and y._base is None and not y._is_reordered and not any(y is x for x in operands):
            if y.aval.ndim > 1:
                y.reorder(UNKNOWN_ORDER)
    return result


def laid_out(aval: Aval, axes: Sequence[int]) -> np.ndarray[Any, Any]:
    """An array without memory, contiguous with its axes in this order: the one with the longest stride first."""
    if 0 in aval.shape:
        return np.ndarray(aval.shape, aval.dtype)
    strides, step = [0] * aval.ndim, aval.dtype.itemsize
    for k in reversed(axes):
        strides[k] = step
        step *= max(aval.shape[k], 1)
    return np.lib.stride_tricks.as_strided(np.ndarray(1, aval.dtype), aval.shape, strides)


def layout(x: Tracer) -> Any:
    """An array without memory that has the shape and the strides that ``x`` has in NumPy, or UNKNOWN_ORDER."""
    if x._layout is None:
        if x._base is None:
            x._layout = laid_out(x.aval, range(x.aval.ndim))
        else:
            base = layout(x._base)
            x._layout = base if base is UNKNOWN_ORDER else x._lens.read_constant(base)
    return x._layout


def has_c_order(x: Any) -> bool:
    """Whether a fresh result of ``x`` is in C order: its axes, longest stride first, are in their own order."""
    if type(x) is hooks.Tracer:
        if len(x.aval.shape) < 2 or (x._base is None and not x._is_reordered):
            return True
        x = layout(x)
        if x is UNKNOWN_ORDER:
            return False
    if not isinstance(x, np.ndarray) or x.ndim < 2 or x.flags.c_contiguous:
        return True
    strides = [abs(s) for s, n in zip(x.strides, x.shape, strict=True) if n != 1]
    return all(a >= b for a, b in zip(strides, strides[1:], strict=False))
