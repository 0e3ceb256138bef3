"""Parts that all filters share: axes, what lies outside of an array, windows, and where the result goes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.tracing.arguments import Traced, array, as_dtype, constant, into, trace_near
from wengert.tracing.tracer import Tracer

PADDING: dict[str, Any] = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "constant": "constant",
    "grid-constant": "constant",
    "nearest": "edge",
    "mirror": "reflect",
    "wrap": "wrap",
    "grid-wrap": "wrap",
}
"""SciPy's modes of what lies outside of an array, and NumPy's names of them."""

Target = Traced | str | type | np.dtype[Any] | None
"""``output=``: an array to write into, or a dtype."""


def each(value: Any, count: int) -> list[Any]:
    """One value for each of ``count`` axes, of one for all or of as many."""
    if isinstance(value, str) or not (isinstance(value, list | tuple) or np.ndim(value)):
        return [value] * count
    if len(value) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return list(value)


def padded(x: Traced, widths: Sequence[tuple[int, int]], mode: str, cval: complex) -> Any:
    """``x`` with what lies outside of it, as many elements as the widths say."""
    if mode not in PADDING:
        raise RuntimeError("boundary mode not supported")
    given: dict[str, Any] = {"constant_values": cval} if PADDING[mode] == "constant" else {}
    return np.pad(x, widths, mode=PADDING[mode], **given)


def axes_of(axes: int | Iterable[int] | None, ndim: int) -> tuple[int, ...]:
    """``axes=``, each once, from 0 on."""
    if axes is None:
        return tuple(range(ndim))
    named = [operator.index(k) for k in (axes if isinstance(axes, Iterable) else (axes,))]
    for k in named:
        if not -ndim <= k < ndim:
            raise ValueError(f"specified axis: {k} is out of range")
    found = tuple([k % ndim for k in named])
    if len(set(found)) != len(found):
        raise ValueError("axes must be unique")
    return found


def axis_of(axis: int, ndim: int) -> int:
    from numpy.lib.array_utils import normalize_axis_index

    return normalize_axis_index(axis, ndim)


def real(input: ArrayLike) -> Tracer:
    """``input`` as an array, which must be real."""
    x = array(input)
    if x.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    return x


def doubled(x: Traced) -> Any:
    """``x`` in the dtype that SciPy computes in: float64, or complex128."""
    return as_dtype(x, np.complex128 if x.dtype.kind == "c" else np.float64)


def table(value: Any, near: Traced, dtype: Any = None) -> Tracer:
    """An array of our own making, a constant of the trace."""
    return constant(trace_near((near,)), value, dtype)


def windows(x: Traced, lengths: Sequence[int], origins: Sequence[int], modes: Sequence[str], cval: complex) -> Any:
    """The window around each element: further axes, one for each of ``x``, in the same order.

    Axes of length 1 and origin 0 have windows of one element. Raises where an origin lies outside of a window.
    """
    widths = []
    for length, origin in zip(lengths, origins, strict=True):
        before = length // 2 + int(origin)
        if not 0 <= before < length:
            raise ValueError("invalid origin")
        widths.append((before, length - 1 - before))
    if len(set(modes)) == 1:
        around = padded(x, widths, modes[0], cval)
    else:
        around = x
        for k, (width, mode) in enumerate(zip(widths, modes, strict=True)):
            if width != (0, 0):
                around = padded(around, [width if d == k else (0, 0) for d in range(x.ndim)], mode, cval)
    return np.lib.stride_tricks.sliding_window_view(around, tuple(lengths))


def finish(value: Traced, dtype: Any, output: Target, is_rounded: bool = False) -> Any:
    """``value`` as the result: of ``dtype``, or of that of ``output``, or written into that.

    ``is_rounded``: integers are the nearest, as interpolations have them; else they are cut off.
    """
    target = output if isinstance(output, Tracer | np.ndarray) else None
    if target is not None:
        wanted: Any = target.dtype
        if target.shape != value.shape:
            raise RuntimeError("output shape not correct")
    else:
        named: Any = output
        wanted = np.dtype(dtype if output is None else named)
        if value.dtype.kind == "c" and wanted.kind != "c":
            wanted = np.promote_types(wanted, np.complex64)
    if wanted.kind in "iub" and is_rounded:
        value = np.trunc(np.where(value > 0, value + 0.5, value - 0.5))
    found = as_dtype(value, wanted)
    return found if target is None else into(target, found, "unsafe")


def dtype_of(x: Traced) -> np.dtype[Any]:
    """The dtype of a filter's result: that of its input."""
    return np.promote_types(x.dtype, np.complex64) if x.dtype.kind == "c" else x.dtype


def between(output: Target, x: Traced) -> Any:
    """The dtype of what is between two steps of a filter, which SciPy keeps in its output."""
    if output is None:
        return dtype_of(x)
    return np.dtype(output) if isinstance(output, str | type | np.dtype) else output.dtype
