"""Interpolation on regular grids: where a point lies in each dimension, and the linear rule in two."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.of_scipy.interpolate.piecewise import place
from wengert.of_scipy.interpolate.scattered import coordinates_of
from wengert.tracing.arguments import Traced, array, arrays, as_dtype, concrete, holds
from wengert.tracing.interception.asking import INTO_LISTS
from wengert.tracing.interception.intercept import intercepts


@intercepts("scipy.interpolate:RegularGridInterpolator._prepare_xi")
def prepare_xi(self: Any, xi: Traced) -> Any:
    """The points as rows, the shape of all, the number of dimensions, and which are NaN and outside: looks, guarded.

    In a batch nothing can be looked at: what SciPy raises an error for is NaN there.
    """
    ndim = len(self.grid)
    points: Any = coordinates_of(xi, ndim)
    if points.shape[-1] != ndim:
        raise ValueError(
            f"The requested sample points xi have dimension {points.shape[-1]} but this "
            f"RegularGridInterpolator has dimension {ndim}"
        )
    shape = points.shape
    points = as_dtype(array(np.reshape(points, (-1, ndim))), np.float64)
    nans = np.any(np.isnan(points), axis=-1)
    lines = [(array(line, (points,))[0], array(line, (points,))[-1]) for line in self.grid]
    outside = [(points[:, i] < low) | (points[:, i] > high) for i, (low, high) in enumerate(lines)]
    if not self.bounds_error:
        out_of_bounds = functools.reduce(np.logical_or, outside)
    else:
        out_of_bounds = None
        for i, beyond in enumerate(outside):
            if holds(np.any(beyond | np.isnan(points[:, i]))):
                raise ValueError(f"One of the requested xi is out of bounds in dimension {i}")
    if holds(np.any(nans)) is None and self.method != "nearest":
        nans = np.zeros(nans.shape, bool)  # whose results are NaN without SciPy's help
        if self.bounds_error:
            points = np.where(functools.reduce(np.logical_or, outside)[:, None], np.nan, points)
    return points, shape, ndim, nans, out_of_bounds


@intercepts("scipy.interpolate:interp1d._check_bounds")
def check_bounds(self: Any, x_new: Traced) -> tuple[Any, Any]:
    """Which points are below the data and which above: looks, guarded; in a batch SciPy's error is a NaN."""
    low, high = array(self.x, (x_new,))[0], array(self.x, (x_new,))[-1]
    below, above = x_new < low, x_new > high
    for beyond, side, word, end in ((below, "below", "minimum", low), (above, "above", "maximum", high)):
        if self.bounds_error and holds(np.any(beyond)):
            first = concrete(x_new, "the points")[np.argmax(concrete(beyond, "the points"))]
            raise ValueError(
                f"A value ({first}) in x_new is {side} the interpolation range's {word} value "
                f"({concrete(end, 'an end')})."
            )
    return below, above


@intercepts("scipy.interpolate._rgi_cython:find_indices", INTO_LISTS)
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
        where, _ = place(line, x, True)  # SciPy has turned those that descend
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
