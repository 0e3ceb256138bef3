"""Interpolation on regular grids: where a point lies in each dimension, and the linear rule in two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.of_scipy.interpolate.piecewise import place
from wengert.tracing.arguments import Traced, array, arrays
from wengert.tracing.interception.intercept import intercepts


@intercepts("scipy.interpolate._rgi_cython:find_indices")
def find_indices(grid: Sequence[Traced], xi: Traced) -> tuple[Any, Any]:
    """The interval of each point in each dimension, and how far in it the point is, from 0 to 1 within the grid.

    A dimension of one point has the interval −1, as has a NaN.
    """
    points = array(xi, tuple(grid))
    indices, distances = [], []
    for x, line in zip(points, grid, strict=True):
        line = array(line, (points,))
        if line.shape[0] == 1:
            indices.append(np.full(x.shape, -1))
            distances.append(np.zeros_like(x))
            continue
        where, _ = place(line, x)
        low = line[where]
        indices.append(np.where(np.isnan(x), -1, where))
        distances.append((x - low) / (line[where + 1] - low))
    return np.stack(arrays(*indices, points)[:-1]), np.stack(distances)


@intercepts("scipy.interpolate._rgi_cython:evaluate_linear_2d")
def evaluate_linear_2d(
    values: Traced, indices: Traced, norm_distances: Traced, grid: Sequence[Traced], out: Traced
) -> Any:
    values, places, (y0, y1) = array(values, (norm_distances,)), array(indices, (norm_distances,)), norm_distances
    i0, i1 = places[0], places[1]
    x0, x1 = 1 - y0, 1 - y1
    total = values[i0, i1] * x0 * x1
    total = total + values[i0, i1 + 1] * x0 * y1
    total = total + values[i0 + 1, i1] * y0 * x1
    return total + values[i0 + 1, i1 + 1] * y0 * y1
