"""Peaks: their indices are flat, and are found by SciPy's Cython; their heights and widths have derivatives."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import wengert as wg
from wengert.tracing.arguments import Traced, array, as_dtype, concrete
from wengert.tracing.interception.intercept import intercepts

found: Any = import_module("scipy.signal._peak_finding_utils")  # Cython, without types
INDEX = np.dtype(np.intp)


@wg.primitive
def _maxima(x: Traced) -> Any:
    """Where the middle of a peak is, and for each element the edges of the peak whose middle it is."""
    middles, left, right = found._local_maxima_1d(x)
    is_peak, lefts, rights = np.zeros(x.shape, bool), np.zeros(x.shape, INDEX), np.zeros(x.shape, INDEX)
    is_peak[middles], lefts[middles], rights[middles] = True, left, right
    return is_peak, lefts, rights


@wg.primitive
def _kept(peaks: Traced, priority: Traced, distance: float) -> Any:
    return np.asarray(found._select_by_peak_distance(peaks, priority, np.float64(distance)))


@wg.primitive
def _bases(x: Traced, peaks: Traced, wlen: int) -> Any:
    _, left, right = found._peak_prominences(x, peaks, np.intp(wlen))
    return np.asarray(left), np.asarray(right)


@wg.primitive
def _crossings(x: Traced, peaks: Traced, height: Traced, left_bases: Traced, right_bases: Traced) -> Any:
    """Return the elements next to where the line at ``height`` leaves each peak, inside or on it."""
    left, right = peaks.copy(), peaks.copy()
    for k, peak in enumerate(peaks):
        i = peak
        while left_bases[k] < i and height[k] < x[i]:
            i -= 1
        left[k] = i
        i = peak
        while i < right_bases[k] and height[k] < x[i]:
            i += 1
        right[k] = i
    return left, right


@intercepts("scipy.signal._peak_finding_utils:_local_maxima_1d")
def local_maxima(x: Traced) -> Any:
    is_peak, left, right = _maxima(wg.stop_gradient(x))
    peaks = np.nonzero(is_peak)[0]
    return peaks, left[peaks], right[peaks]


@intercepts("scipy.signal._peak_finding_utils:_select_by_peak_distance")
def select_by_distance(peaks: Traced, priority: Traced, distance: ArrayLike) -> Any:
    return _kept(array(peaks), wg.stop_gradient(array(priority)), float(concrete(distance, "float")))


@intercepts("scipy.signal._peak_finding_utils:_peak_prominences")
def prominences(x: Traced, peaks: Traced, wlen: int) -> Any:
    """The height above the higher of the two bases, which are flat."""
    x, peaks = as_dtype(array(x), np.float64), as_dtype(array(peaks, (x,)), INDEX)
    left, right = _bases(wg.stop_gradient(x), peaks, int(concrete(wlen, "int")))
    return x[peaks] - np.maximum(x[left], x[right]), left, right


@intercepts("scipy.signal._peak_finding_utils:_peak_widths")
def widths(
    x: Traced, peaks: Traced, rel_height: float, prominences: Traced, left_bases: Traced, right_bases: Traced
) -> Any:
    """The width at a height between two samples, by the straight line through them."""
    x = as_dtype(array(x), np.float64)
    peaks, left, right = (as_dtype(array(v, (x,)), INDEX) for v in (peaks, left_bases, right_bases))
    if rel_height < 0:
        raise ValueError("`rel_height` must be greater or equal to 0.0")
    height = x[peaks] - array(prominences, (x,)) * rel_height
    i, j = _crossings(wg.stop_gradient(x), peaks, wg.stop_gradient(height), left, right)
    last = x.shape[0] - 1
    at_i, at_j = x[i], x[j]
    rise, fall = x[np.minimum(i + 1, last)] - at_i, x[np.maximum(j - 1, 0)] - at_j
    is_left, is_right = at_i < height, at_j < height
    left_ip = i + np.where(is_left, (height - at_i) / np.where(is_left, rise, 1.0), 0.0)
    right_ip = j - np.where(is_right, (height - at_j) / np.where(is_right, fall, 1.0), 0.0)
    return right_ip - left_ip, height, left_ip, right_ip
