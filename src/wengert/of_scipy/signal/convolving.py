"""Convolutions of ``scipy.signal`` that its code of C computes, and filters of constant weights."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike
from scipy import signal

from wengert.of_scipy.refusing import refuses
from wengert.of_scipy.signal.arrays import padded_to, source
from wengert.tracing.arguments import Traced, array, arrays, as_dtype, axis_of, promote, unsupported
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.interception.python_functions import original

VALID, SAME, FULL = 0, 1, 2
OUTSIDE: dict[int, Any] = {0: "constant", 4: "symmetric", 8: "wrap"}
"""The numbers by which SciPy's code of C knows how an image goes on, and NumPy's names."""


def windows(x: Traced, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    return sliding_window_view(x, shape, axes)


def correlated(x: Traced, w: Traced) -> Any:
    """Σ_j x[k + j] w[j], for each k where all of ``w`` lies within ``x``."""
    axes = tuple(range(x.ndim))
    if any(n < m for n, m in zip(x.shape, w.shape, strict=True)):
        shape = [max(n - m + 1, 0) for n, m in zip(x.shape, w.shape, strict=True)]
        return np.zeros_like(x, shape=shape)
    return np.tensordot(windows(x, w.shape, axes), w, x.ndim)


@intercepts("scipy.signal._sigtools:_convolve2d")
def _convolve2d(in1: Traced, in2: Traced, flip: int, mode: int, boundary: int, fillvalue: ArrayLike = 0) -> Any:
    x, w = promote(*arrays(in1, in2))
    if flip:
        w = w[::-1, ::-1]
    start = [{FULL: 0, SAME: (n - bool(flip)) // 2, VALID: n - 1}[mode] for n in w.shape]
    count = [n + {FULL: m - 1, SAME: 0, VALID: 1 - m}[mode] for n, m in zip(x.shape, w.shape, strict=True)]
    widths = [(m - 1, m - 1) for m in w.shape]
    if boundary not in OUTSIDE:
        raise unsupported(f"scipy.signal.convolve2d: boundary {boundary} is not traced")
    filled = {"constant_values": np.asarray(fillvalue).item()} if OUTSIDE[boundary] == "constant" else {}
    padded = np.pad(x, widths, mode=OUTSIDE[boundary], **filled)
    index = tuple([slice(s, max(s + c, s)) for s, c in zip(start, count, strict=True)])
    return correlated(padded, w)[index]


@intercepts("scipy.signal._sigtools:_correlateND")
def _correlate_nd(in1: Traced, in2: Traced, out: Any, mode: int) -> Any:
    """``in1`` has zeros after it, as many as ``in2`` reaches beyond it, but for the mode ``valid``."""
    x, w = promote(*arrays(in1, in2))
    if w.dtype.kind == "c":
        w = np.conjugate(w)
    if mode != VALID:
        shape = [n - m + 1 for n, m in zip(x.shape, w.shape, strict=True)]
        x = x[tuple([slice(n) for n in shape])]
        x = np.pad(x, [(m - 1, m - 1) for m in w.shape])
    found = correlated(x, w)
    if mode == SAME:
        starts = [(m - 1) // 2 for m in w.shape]
        found = found[tuple([slice(s, s + n) for s, n in zip(starts, np.shape(out), strict=True)])]
    out[...] = found
    return out


# ----------------------------------------------------------------------------------------------- upfirdn


def _extended(x: Traced, left: int, right: int, mode: str, cval: float) -> Any:
    """``x``, continued along its last axis as ``upfirdn`` names it."""
    n = x.shape[-1]
    before, after = np.arange(left, 0, -1), np.arange(1, right + 1)
    widths = [*[(0, 0)] * (x.ndim - 1), (left, right)]
    if mode == "constant":
        return np.pad(x, widths, constant_values=cval)
    names: dict[str, Any] = {"edge": "edge", "wrap": "wrap", "symmetric": "symmetric", "reflect": "reflect"}
    if mode in names:
        return np.pad(x, widths, mode=names[mode])
    if mode == "antireflect":
        return np.pad(x, widths, mode="reflect", reflect_type="odd")
    if mode == "antisymmetric":
        mirrored = np.pad(x, widths, mode="symmetric")
        sign = 1 - 2 * (np.arange(-left, n + right) // n % 2)
        return mirrored * source(sign.astype(x.dtype), x)
    first, last = x[..., :1], x[..., -1:]
    if mode == "smooth":
        if n < 2:
            return np.pad(x, widths, mode="edge")
        slopes = first - x[..., 1:2], last - x[..., -2:-1]
    else:  # line
        slope = (last - first) / max(n - 1, 1)
        slopes = -slope, slope
    parts = (
        first + slopes[0] * source(before.astype(x.dtype), x),
        x,
        last + slopes[1] * source(after.astype(x.dtype), x),
    )
    return np.concatenate(parts, -1)


MANY_PHASES = 32


@intercepts("scipy.signal:upfirdn")
def upfirdn(
    h: ArrayLike,
    x: ArrayLike,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str | None = "constant",
    cval: float = 0,
) -> Any:
    """Upsample, filter, downsample: y[m] = Σ_j h[p + j up] x[q − j], where m down = q up + p.

    The m of one phase p lie evenly, so they are a product of windows of ``x`` with a part of ``h``.
    """
    taps, signals = arrays(h, x)
    if taps.ndim != 1 or taps.size == 0:
        raise ValueError("h must be 1-D with non-zero length")
    dtype = np.result_type(taps.dtype, signals.dtype, np.float32)
    up, down = int(up), int(down)
    if up < 1 or down < 1:
        raise ValueError("Both up and down must be >= 1")
    modes = ["constant", "wrap", "edge", "smooth", "symmetric", "reflect", "antisymmetric", "antireflect", "line"]
    mode = "constant" if mode is None else mode.lower()
    if mode not in modes:
        raise ValueError(f"Unknown boundary mode: {mode}")
    axis = axis_of(axis, signals.ndim)
    taps, rows = as_dtype(taps, dtype), np.moveaxis(as_dtype(signals, dtype), axis, -1)
    n, length = rows.shape[-1], taps.shape[0]
    count = ((length - 1) + (n - 1) * up) // down + 1
    reach = -(-length // up)
    common = math.gcd(up, down)
    phases, stride = up // common, down // common
    each = -(-count // phases)
    furthest = (phases * each - 1) * down // up
    wide = _extended(rows, reach - 1, max(furthest + 1 - n, 0), mode, cval)
    taps = np.reshape(padded_to(taps, reach * up), (reach, up))
    if phases <= MANY_PHASES:
        view = windows(wide, (reach,), (rows.ndim - 1,))
        parts = []
        for r in range(phases):
            first, phase = divmod(r * down, up)
            parts.append(view[..., first : first + (each - 1) * stride + 1 : stride, :] @ taps[::-1, phase])
        y = np.reshape(np.stack(parts, -1), (*rows.shape[:-1], each * phases))[..., :count]
    else:
        first, phase = np.divmod(np.arange(count) * down, up)
        places = first[:, None] + np.arange(reach)
        y = np.sum(wide[..., places] * taps[::-1][:, phase].T, axis=-1)
    return np.moveaxis(y, -1, axis)


# ----------------------------------------------------------------------------------- filters of constant weights


@functools.lru_cache(maxsize=64)
def _savgol(length: int, order: int, deriv: int, delta: float) -> Any:
    """The filter of one window, a constant float[length, length]: SciPy's own, of the unit vectors."""
    found = original(signal.savgol_filter)(np.eye(length), length, order, deriv, delta, axis=0)
    return found


PADDING: dict[str, Any] = {"mirror": "reflect", "constant": "constant", "nearest": "edge", "wrap": "wrap"}


@intercepts("scipy.signal:savgol_filter")
def savgol_filter(
    x: ArrayLike,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    """The least-squares polynomial of each window, at its middle: Σ_j c_j x[k + j], with constant c."""
    if mode not in ["mirror", "constant", "nearest", "interp", "wrap"]:
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    given: Any = array(x)
    given = given if given.dtype.char in "fd" else as_dtype(given, np.float64)
    axis, n, half = axis_of(axis, given.ndim), int(window_length), int(window_length) // 2
    coefficients = signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=float(delta))
    if mode == "interp" and n > given.shape[axis]:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    rows = np.moveaxis(given, axis, -1)
    weights = source(coefficients[::-1].astype(rows.dtype), rows)
    if mode == "interp":
        whole = _savgol(n, int(polyorder), int(deriv), float(delta)).astype(rows.dtype)
        inner = windows(rows, (n,), (rows.ndim - 1,)) @ weights
        left = rows[..., :n] @ source(whole[:half].T, rows)
        right = rows[..., -n:] @ source(whole[n - half :].T, rows)
        y = np.concatenate([left, inner, right], -1)
    else:
        after = half - (n % 2 == 0)
        filled = {"constant_values": cval} if mode == "constant" else {}
        widths = [*[(0, 0)] * (rows.ndim - 1), (after, half)]
        padded = np.pad(rows, widths, mode=PADDING[mode], **filled)
        y = windows(padded, (n,), (rows.ndim - 1,)) @ weights
    return np.moveaxis(y, -1, axis)


@intercepts("scipy.signal._spline:sepfir2d")
def sepfir2d(input: ArrayLike, hrow: ArrayLike, hcol: ArrayLike) -> Any:
    """A separable filter of images, which go on as their mirror images; the dtype is the image's."""
    x, row, column = arrays(input, hrow, hcol)
    dtype = np.result_type(x.dtype, np.float32)
    x, row, column = [as_dtype(v, dtype) for v in (x, row, column)]
    for h in (row, column):
        if h.ndim != 1 or h.shape[0] % 2 == 0:
            raise ValueError("hrow and hcol must be odd length")
    rows, columns = row.shape[0] // 2, column.shape[0] // 2
    padded = np.pad(x, [(columns, columns), (rows, rows)], mode="symmetric")
    along = windows(padded, (2 * rows + 1,), (1,)) @ row[::-1]
    return windows(along, (2 * columns + 1,), (0,)) @ column[::-1]


refuses("scipy.signal", ["remez"], "its filter is found by an exchange of extrema, without derivatives", "firls")
