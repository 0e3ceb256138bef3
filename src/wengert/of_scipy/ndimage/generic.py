"""``scipy.ndimage.generic_filter`` and ``vectorized_filter``: functions of the user's on windows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike

from wengert.of_scipy.ndimage.borders import axes_of, each, finish, padded, windows
from wengert.tracing.arguments import array, as_dtype, into, unsupported
from wengert.tracing.interception.asking import AT_FUNCTIONS
from wengert.tracing.interception.intercept import intercepts


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


@intercepts("scipy.ndimage:vectorized_filter", AT_FUNCTIONS)
def vectorized_filter(
    input: ArrayLike,
    function: Callable[..., Any],
    *,
    size: Any = None,
    footprint: ArrayLike | None = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = None,
    origin: Any = None,
    axes: Any = None,
    batch_memory: int = 2**30,
) -> Any:
    """One call of ``function`` for all windows, which are further axes at the end."""
    if not callable(function):
        raise ValueError("`function` must be a callable.")
    if size is None and footprint is None:
        raise ValueError("Either `size` or `footprint` must be provided.")
    if size is not None and footprint is not None:
        raise ValueError("Either `size` or `footprint` may be provided, not both.")
    if cval is not None and mode not in ("constant", "grid-constant"):
        raise ValueError("Use of `cval` is compatible only with `mode='constant'`.")
    x = array(input)
    over = axes_of(axes, x.ndim)
    is_in = None if footprint is None else np.asarray(footprint, dtype=bool)
    lengths = each(size, len(over)) if is_in is None else list(is_in.shape)
    if len(lengths) != len(over):
        raise ValueError(
            "`axes` must be compatible with the dimensionality of the window specified by `size` or `footprint`."
        )
    if mode == "valid" and origin is not None and np.any(origin):
        raise ValueError("`mode='valid'` is incompatible with use of `origin`.")
    image: Any = x
    last = np.moveaxis(image, over, range(-len(over), 0))
    first = x.ndim - len(over)
    if mode == "valid":
        around: Any = np.lib.stride_tricks.sliding_window_view(last, tuple(lengths), tuple(range(first, x.ndim)))
    else:
        shifts = each(0 if origin is None else origin, len(over))
        every = windows(last, [1] * first + lengths, [0] * first + shifts, [mode], 0.0 if cval is None else cval)
        around = np.reshape(every, (*every.shape[: x.ndim], *lengths))
    if is_in is None:
        found = function(around, axis=tuple(range(-len(over), 0)))
    else:
        found = function(around[..., is_in], axis=-1)
    value: Any = array(found, (x,))
    result = np.moveaxis(value, range(-len(over), 0), over)
    return result if output is None else finish(result, result.dtype, output)
