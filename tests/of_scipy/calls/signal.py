from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal  # noqa: F401  # so that it is intercepted

X = np.random.default_rng(1).standard_normal(20)
IMAGE = X.reshape(4, 5)
B, A = np.array([0.3, 0.5]), np.array([1.0, 0.5])
PEAKS = np.array([1, 5])


CALLS: dict[str, list[Any]] = {
    "scipy.signal._sigtools._linear_filter": [((B, A, X, -1), {})],
    "scipy.signal._sigtools._convolve2d": [((IMAGE, IMAGE[:2, :2], 1, 2, 0, 0.0), {})],
    "scipy.signal._sigtools._correlateND": [((IMAGE, IMAGE[:2, :2].copy(), np.empty((3, 4)), 0), {})],
    "scipy.signal._sosfilt._sosfilt": [((np.array([[1.0, 0, 0, 1, 0.5, 0]]), X[None].copy(), np.zeros((1, 1, 2))), {})],
    "scipy.signal.lfiltic": [((B, A, [1.0]), {})],
    "scipy.signal.lfilter_zi": [((B, A), {}), ((B[None], A), {})],
    "scipy.signal.unique_roots": [((X[:5],), {"tol": 0.1}), ((X[:5], 0.1, "?"), {})],
    "scipy.signal.upfirdn": [((B, X, 2, 3), {}), ((B, X), {"up": 0})],
    "scipy.signal.savgol_filter": [((X, 5, 2), {}), ((X, 5, 2), {"mode": "?"})],
    "scipy.signal._spline.sepfir2d": [((IMAGE, X[:3], X[:3]), {})],
    "scipy.signal._spline.symiirorder1_ic": [((np.ones((1, 60)), 0.2, -1.0), {})],
    "scipy.signal._spline.symiirorder2_ic_fwd": [((np.ones((1, 60)), 0.2, 0.1, -1.0), {})],
    "scipy.signal._spline.symiirorder2_ic_bwd": [((np.ones((1, 60)), 0.2, 0.1, -1.0), {})],
    "scipy.signal.order_filter": [((IMAGE, np.eye(3), 1), {}), ((IMAGE, np.eye(2), 1), {})],
    "scipy.signal.medfilt": [((IMAGE, 3), {}), ((IMAGE, 2), {})],
    "scipy.signal.medfilt2d": [((IMAGE, 3), {}), ((IMAGE, 2), {})],
    "scipy.signal.detrend": [((X,), {}), ((X,), {"type": "?"})],
    "scipy.signal._spectral_py._fft_helper": [((X, np.ones(4), lambda d: d, 4, 2, 4, "onesided"), {})],
    "scipy.signal._peak_finding_utils._local_maxima_1d": [((X,), {})],
    "scipy.signal._peak_finding_utils._select_by_peak_distance": [((PEAKS, X[PEAKS], np.float64(2.0)), {})],
    "scipy.signal._peak_finding_utils._peak_prominences": [((np.sin(np.arange(9.0)), np.array([2]), np.intp(-1)), {})],
    "scipy.signal._peak_finding_utils._peak_widths": [
        ((np.sin(np.arange(9.0)), np.array([2]), np.float64(0.5), np.ones(1), np.array([0]), np.array([5])), {})
    ],
}
