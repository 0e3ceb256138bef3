"""Spectra of ``scipy.signal``: what of its array code does not take traced arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from wengert.of_scipy.signal.arrays import source
from wengert.tracing.arguments import Traced, array, as_dtype, axis_of
from wengert.tracing.interception.intercept import intercepts


@intercepts("scipy.signal._spectral_py:_fft_helper")
def _fft_helper(
    x: Traced,
    win: Traced,
    detrend_func: Callable[[Any], Any],
    nperseg: int,
    noverlap: int,
    nfft: int,
    sides: str,
) -> Any:
    """Return the spectra of the segments, which SciPy's code takes as a view that it may write."""
    if nperseg == 1 and noverlap == 0:
        segments = x[..., None]
    else:
        segments = sliding_window_view(x, nperseg, axis=-1)[..., :: nperseg - noverlap, :]
    segments = win * detrend_func(segments)
    return np.fft.fft(segments, n=nfft) if sides == "twosided" else np.fft.rfft(segments.real, n=nfft)


@intercepts("scipy.signal:detrend")
def detrend(
    data: ArrayLike, axis: int = -1, type: str = "linear", bp: ArrayLike = 0, overwrite_data: bool = False
) -> Any:
    """``data`` without its mean, or less the line that fits each piece best, a product with a constant matrix."""
    if type not in ["linear", "l", "constant", "c"]:
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    x: Any = array(data)
    if type in ["constant", "c"]:
        return x - np.mean(x, axis, keepdims=True)
    x = x if x.dtype.char in "fdFD" else as_dtype(x, np.float64)
    axis = axis_of(axis, x.ndim)
    n = x.shape[axis]
    breaks = np.sort(np.unique(np.concatenate(np.atleast_1d(0, bp, n))))
    if np.any(breaks > n):
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    rows: Any = np.moveaxis(x, axis, -1)
    parts = []
    for start, stop in zip(breaks[:-1].tolist(), breaks[1:].tolist(), strict=True):
        count = stop - start
        line = np.stack([np.arange(1, count + 1) / count, np.ones(count)]).astype(x.dtype)
        piece = rows[..., start:stop]
        parts.append(piece - (piece @ source(np.linalg.pinv(line), x)) @ source(line, x))
    return np.moveaxis(np.concatenate(parts, -1), -1, axis)
