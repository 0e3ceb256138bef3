from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage  # so that it is intercepted

X = np.arange(20.0).reshape(4, 5) % 7
LABELS = np.arange(20).reshape(4, 5) % 3


def line(x: Any, out: Any) -> None:
    out[...] = x[1:-1]


OF_SIZE = (
    "maximum_filter minimum_filter median_filter grey_erosion grey_dilation grey_opening grey_closing white_tophat "
    "black_tophat morphological_gradient morphological_laplace uniform_filter1d maximum_filter1d minimum_filter1d"
)
OF_X = (
    "uniform_filter sobel prewitt laplace spline_filter spline_filter1d binary_closing binary_dilation binary_erosion "
    "binary_fill_holes binary_hit_or_miss binary_opening binary_propagation label"
)
OF_LABELS = (
    "sum sum_labels mean variance standard_deviation minimum maximum median minimum_position maximum_position extrema "
    "center_of_mass"
)
OF_SIGMA = (
    "gaussian_filter gaussian_filter1d gaussian_laplace gaussian_gradient_magnitude fourier_gaussian fourier_uniform "
    "fourier_ellipsoid fourier_shift shift zoom rotate"
)

CALLS: dict[str, list[Any]] = {
    "generic_filter": [
        ((np.arange(6.0), np.max, 3), {}),
        ((np.arange(6.0).reshape(2, 3), np.mean), {"size": (1, 2), "axes": (0, 1)}),
        ((np.arange(6.0), np.max), {}),
    ],
    **{name: [((X, 3), {}), ((X,), {})] for name in OF_SIZE.split()},
    **{name: [((X,), {}), ((X, None, None, None, 1), {})] for name in OF_X.split()},
    **{name: [((X, LABELS), {}), ((X,), {})] for name in OF_LABELS.split()},
    **{name: [((X, 1.5), {}), ((X,), {})] for name in OF_SIGMA.split()},
    "vectorized_filter": [((X, np.median), {"size": 3})],
    "correlate1d": [((X, [1, 2, 1]), {}), ((X, [[1]]), {})],
    "convolve1d": [((X, [1, 2, 1]), {"mode": "wrap"})],
    "correlate": [((X, [[1, 2]]), {}), ((X, [1]), {})],
    "convolve": [((X, [[1, 2]]), {})],
    "rank_filter": [((X, 1, 3), {}), ((X, 10, 3), {})],
    "percentile_filter": [((X, 30, 3), {})],
    "generic_laplace": [((X, scipy.ndimage.sobel), {})],
    "generic_gradient_magnitude": [((X, scipy.ndimage.sobel), {})],
    "generic_filter1d": [((X, line, 3), {})],
    "map_coordinates": [((X, [[0.5], [1.5]]), {}), ((X, [[0.5]]), {})],
    "affine_transform": [((X, [0.5, 1.5]), {})],
    "geometric_transform": [((X, lambda at: at), {})],
    "labeled_comprehension": [((X, LABELS, [1, 2], np.sum, float, 0), {})],
    "histogram": [((X, 0, 7, 3), {})],
    "distance_transform_bf": [((X > 2,), {})],
    "distance_transform_cdt": [((X > 2,), {})],
    "distance_transform_edt": [((X > 2,), {})],
    "find_objects": [((LABELS,), {})],
    "iterate_structure": [((np.ones((3, 3)), 2), {})],
    "value_indices": [((LABELS,), {})],
    "watershed_ift": [((LABELS.astype(np.uint8), LABELS.astype(np.int16)), {})],
}
CALLS = {f"scipy.ndimage.{name}": calls for name, calls in CALLS.items() if hasattr(scipy.ndimage, name)}
