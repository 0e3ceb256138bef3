"""Padding and trimming, rolling and sliding windows: elements at other places, or at several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike

from wengert.ops.index import embed
from wengert.ops.windows import sliding, windows
from wengert.tape import Atom, Aval
from wengert.tracing.arguments import (
    Axis,
    ShapeLike,
    Traced,
    along,
    array,
    as_dtype,
    axis_of,
    concrete,
    constant,
    implements,
    not_scalar,
    refuse,
)
from wengert.tracing.emit import record
from wengert.tracing.functions.joining import joined, take_runs
from wengert.tracing.functions.selecting import truth
from wengert.tracing.functions.shaping import broadcast_to, ravel
from wengert.tracing.inplace import view
from wengert.tracing.tracer import Tracer

_OPTIONS = {
    "constant": {"constant_values"},
    "linear_ramp": {"end_values"},
    "maximum": {"stat_length"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "minimum": {"stat_length"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "edge": set(),
    "wrap": set(),
    "empty": set(),
}
_STATISTICS = {"maximum": np.max, "mean": np.mean, "median": np.median, "minimum": np.min}


def _pairs(value: Any, ndim: int) -> list[tuple[Any, Any]]:
    """``value`` as one (before, after) an axis, broadcast as ``np.pad`` does."""
    if _is_one(value):
        return [(value, value)] * ndim
    rows = list(value)
    if _is_one(rows[0]):
        rows = [rows]
    out = []
    for row in rows:
        entries = list(row)
        out.append((entries[0], entries[0]) if len(entries) == 1 else (entries[0], entries[1]))
    return out * ndim if len(out) == 1 else out


def _is_one(value: ArrayLike) -> bool:
    return not isinstance(value, list | tuple) and np.ndim(value) == 0


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, dict):
        pairs = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[axis_of(axis, ndim)] = (width, width) if np.ndim(width) == 0 else tuple(width)
        return [(int(a), int(b)) for a, b in pairs]
    widths = concrete(pad_width, "pad width")
    if widths.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    pairs = np.broadcast_to(widths, (ndim, 2)).tolist() if ndim else []
    if any(a < 0 or b < 0 for a, b in pairs):
        raise ValueError("index can't contain negative values")
    return [(a, b) for a, b in pairs]


@implements(np.pad)
def pad(
    array_: ArrayLike | None = None, pad_width: ArrayLike | None = None, mode: Any = "constant", **kwargs: Any
) -> Any:
    """Axis after axis, each seeing the padding of those before it."""
    x = array(kwargs.pop("array", array_))
    if callable(mode):
        raise refuse("pad", "mode", mode, "np.concatenate of what the function would fill in")
    if mode not in _OPTIONS:
        raise ValueError(f"mode '{mode}' is not supported")
    if set(kwargs) - _OPTIONS[mode]:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {set(kwargs) - _OPTIONS[mode]}")
    widths = _widths(pad_width, x.ndim)
    if mode in ("constant", "empty", "linear_ramp"):
        values = _pairs(kwargs.get("constant_values", kwargs.get("end_values", 0)), x.ndim)
        if (
            mode == "constant"
            and any(map(any, widths))
            and all(type(v) is int and v == 0 for pair in values for v in pair)
        ):
            index = tuple([(before, n, 1) for n, (before, _) in zip(x.shape, widths, strict=True)])
            shape = tuple([before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)])
            return not_scalar(record(embed, [x], {"shape": shape, "index": index}))
        for axis, (width, value) in enumerate(zip(widths, values, strict=True)):
            if width != (0, 0):
                x = _ends(x, axis, width, value, _ramp if mode == "linear_ramp" else _filled)
        return not_scalar(x.copy())
    if mode in _STATISTICS:
        lengths = _pairs(kwargs.get("stat_length"), x.ndim)
        for axis, (width, length) in enumerate(zip(widths, lengths, strict=True)):
            if width != (0, 0):
                x = _with_statistic(x, axis, width, length, mode)
        return not_scalar(x.copy())
    is_odd = kwargs.get("reflect_type", "even") == "odd"
    for axis, width in enumerate(widths):
        if width != (0, 0):
            n = x.shape[axis]
            if n == 0:
                raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
            if is_odd and n > 1:
                x = _with_odd_reflections(x, axis, width, skipped=int(mode == "reflect"))
                continue
            x = take_runs(x, np.pad(np.arange(n), width, mode=mode), axis)
    return not_scalar(x.copy())


def _ends(x: Tracer, axis: int, width: tuple[int, int], values: tuple[Any, Any], make: Callable[..., Any]) -> Tracer:
    parts = [x]
    if width[0]:
        parts.insert(0, make(x, axis, width[0], values[0], True))
    if width[1]:
        parts.append(make(x, axis, width[1], values[1], False))
    return joined(parts, axis)


def _with_length(x: Tracer, axis: int, length: int) -> tuple[int, ...]:
    return (*x.shape[:axis], length, *x.shape[axis + 1 :])


def _filled(x: Tracer, axis: int, length: int, value: ArrayLike, is_before: bool) -> Tracer:
    return broadcast_to(as_dtype(array(value, (x,)), x.dtype), _with_length(x, axis, length))


def _ramp(x: Tracer, axis: int, length: int, end: Traced, is_before: bool) -> Tracer:
    """From ``end``, which is reached, to the edge, which is not repeated."""
    edge = x[along(axis, slice(0, 1) if is_before else slice(-1, None))]
    steps = np.arange(length)[:: 1 if is_before else -1] / length
    t = constant(x._trace, steps.reshape(_with_length_of_one(x.ndim, axis, length)))
    ramp = array(end, (x,)) + t * (edge - end)
    return as_dtype(np.floor(ramp) if x.dtype.kind in "iu" else ramp, x.dtype)


def _with_length_of_one(ndim: int, axis: int, length: int) -> tuple[int, ...]:
    return tuple([length if k == axis else 1 for k in range(ndim)])


def _with_statistic(x: Tracer, axis: int, width: tuple[int, int], lengths: tuple[Any, Any], mode: str) -> Tracer:
    n = x.shape[axis]
    first, last = [n if m is None else min(int(m), n) for m in lengths]

    def fill(part: Tracer, length: int) -> Tracer:
        value = _STATISTICS[mode](part, axis=axis, keepdims=True)
        if x.dtype.kind in "iu":
            value = np.rint(value)
        return broadcast_to(as_dtype(value, x.dtype), _with_length(x, axis, length))

    parts = [x]
    if width[0]:
        parts.insert(0, fill(x[along(axis, slice(0, first))], width[0]))
    if width[1]:
        parts.append(fill(x[along(axis, slice(n - last, n))], width[1]))
    return joined(parts, axis)


@implements(np.trim_zeros)
def trim_zeros(filt: Traced, trim: str = "fb", axis: Axis = None) -> Any:
    """Where the first and the last elements are that are not zero is looked at, and guarded."""
    x = array(filt)
    ends = trim.lower()
    if ends not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {ends!r}")
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim, "axis")
    key: list[Any] = [slice(None)] * x.ndim
    is_used = truth(x)
    is_empty = not np.any(is_used)
    for k in axes:
        used = np.any(is_used, axis=tuple([j for j in range(x.ndim) if j != k]))
        start, stop = (0, 0) if is_empty else (int(np.argmax(used)), x.shape[k] - int(np.argmax(used[::-1])))
        key[k] = slice(start if "f" in ends or is_empty else None, stop if "b" in ends or is_empty else None)
    if not axes:
        return filt
    return filt[key[0]] if x.ndim == 1 else x[tuple(key)]  # of a list, a list


# --------------------------------------------------------------------------------------------------------- roll


@implements(np.roll)
def roll(a: ArrayLike, shift: int | Sequence[int] | Traced, axis: Axis = None) -> Any:
    x = array(a, (shift,))
    if axis is None:
        return np.reshape(_rolled(ravel(x), int(np.sum(concrete(shift, "shift"))), 0), x.shape).copy()
    axes = normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    shifts = (
        np.broadcast_to(concrete(shift, "shift"), (len(axes),)) if np.ndim(shift) == 0 else concrete(shift, "shift")
    )
    if len(axes) == 1 and shifts.size > 1:
        axes = axes * shifts.size
    for one, k in zip(shifts.tolist(), axes, strict=True):
        x = _rolled(x, int(one), k)
    return not_scalar(x.copy())


def _rolled(x: Tracer, shift: int, axis: int) -> Tracer:
    n = x.shape[axis]
    cut = -shift % n if n else 0
    if cut == 0:
        return x
    return joined([x[along(axis, slice(cut, None))], x[along(axis, slice(0, cut))]], axis)


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: ArrayLike, window_shape: ShapeLike, axis: Axis = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Windows are read-only, as NumPy's."""
    if writeable:
        raise refuse("lib.stride_tricks.sliding_window_view", "writeable", True)
    z = array(x)
    lengths = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = tuple(range(z.ndim)) if axis is None else normalize_axis_tuple(axis, z.ndim, allow_duplicate=True)
    if len(lengths) != len(axes):
        raise ValueError("Must provide matching length window_shape and axis")
    shape = [*z.shape, *lengths]
    for length, k in zip(lengths, axes, strict=True):
        shape[k] -= length - 1
        if shape[k] < 1:
            raise ValueError("window shape cannot be larger than input array shape")

    def windows_of(y: Atom) -> Atom:
        for length, k in zip(lengths, axes, strict=True):  # one by one: an axis may stand there twice
            y = windows(y, **sliding(y.aval.shape, (length,), (k,))._asdict())
        return y

    return view(
        z,
        Aval(tuple(shape), z.dtype),
        windows_of,
        lambda base, new: base,  # never called: the view is read-only
        lambda a: np.lib.stride_tricks.sliding_window_view(a, lengths, axes),
        is_readonly=True,
    )


def _with_odd_reflections(x: Any, axis: int, width: tuple[int, int], skipped: int) -> Any:
    """2 edge − reflection on either side; ``skipped`` elements, the edge or none, are not reflected."""
    n, (left, right) = x.shape[axis], width
    if max(left, right) > n - skipped:
        raise refuse("pad", "pad_width", width, f"at most {n - skipped} for reflect_type='odd'")
    rows = np.moveaxis(x, axis, 0)
    first = 2 * rows[:1] - np.flip(rows[skipped : skipped + left], 0)
    last = 2 * rows[-1:] - np.flip(rows[n - skipped - right : n - skipped], 0)
    return np.moveaxis(np.concatenate([first, rows, last]), 0, axis)
