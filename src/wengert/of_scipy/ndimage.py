"""``scipy.ndimage`` on traced arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike

from wengert.tracing.arguments import array, as_dtype, into, unsupported
from wengert.tracing.interception.asking import AT_FUNCTIONS
from wengert.tracing.interception.intercept import intercepts

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


def each(value: Any, count: int) -> list[Any]:
    """One value for each of ``count`` axes, of one for all or of as many."""
    if not isinstance(value, list | tuple | np.ndarray):
        return [value] * count
    if len(value) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return list(value)


def padded(x: Any, widths: Sequence[tuple[int, int]], mode: str, cval: Any) -> Any:
    if mode not in PADDING:
        raise RuntimeError("boundary mode not supported")
    given = {"constant_values": cval} if PADDING[mode] == "constant" else {}
    return np.pad(x, widths, mode=PADDING[mode], **given)


@intercepts("scipy.ndimage:generic_filter", AT_FUNCTIONS)
def generic_filter(
    input: ArrayLike,
    function: Callable[..., Any],
    size: Any = None,
    footprint: ArrayLike | None = None,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    extra_arguments: tuple[Any, ...] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: Any = None,
) -> Any:
    """One call of ``function`` for each element, of the elements around it, in float64, as SciPy's code of C calls it.

    That code goes on when the function raises. So it is not called: an error is the user's, at once.
    """
    x = array(input)
    if x.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    over = tuple(range(x.ndim)) if axes is None else normalize_axis_tuple(axes, x.ndim)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        is_in = np.ones([int(n) for n in each(size, len(over))], dtype=bool)
    else:
        is_in = np.asarray(footprint, dtype=bool)
    if is_in.ndim != len(over):
        raise RuntimeError(f"footprint.ndim ({is_in.ndim}) must match len(axes) ({len(over)})")
    shifts = dict(zip(over, each(origin, len(over)), strict=True))
    widths, lengths = [(0, 0)] * x.ndim, [1] * x.ndim
    for axis, length in zip(sorted(over), is_in.shape, strict=True):  # in their order, whatever that of ``axes`` is
        before = length // 2 + shifts[axis]
        if not 0 <= before < length:
            raise ValueError("invalid origin")
        widths[axis], lengths[axis] = (before, length - 1 - before), length
    is_in = np.reshape(is_in, lengths)
    around = padded(as_dtype(x, np.float64), widths, mode, cval)
    found = []
    for place in itertools.product(*map(range, x.shape)):
        window = around[tuple([slice(k, k + n) for k, n in zip(place, lengths, strict=True)])]
        found.append(function(window[is_in], *extra_arguments, **(extra_keywords or {})))
    dtype = x.dtype if output is None or hasattr(output, "shape") else np.dtype(output)
    if any(np.ndim(value) for value in found):
        raise unsupported("scipy.ndimage.generic_filter: the function returned an array", "a number")
    result = as_dtype(np.reshape(array(found, (x,)), x.shape), dtype)
    return into(output if hasattr(output, "shape") else None, result)
