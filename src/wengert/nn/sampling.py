"""Arrays on space read at places that are themselves computed: spatial transformers, warped images."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn.params import Array
from wengert.nn.windows import described, space_rank


@wg.expect.checked
def grid_sample(
    x: Array, grid: Array, mode: str = "linear", padding: str = "zeros", align_corners: bool = False
) -> Array:
    """Return ``x`` at the places of ``grid``, differentiable in both (PyTorch's semantics).

    Source: Jaderberg et al. (2015), Spatial transformer networks, arXiv:1506.02025.

    Parameters
    ----------
    x : float[batch, channels, *space], with r axes of space.
    grid : float[batch, *places, r]: for each place where to look, from -1 to 1, the last axis of space first. ±1 are
        the outer ends of the first and the last element, or with ``align_corners`` their middles.
    mode : "linear", between neighbours along each axis ("bilinear", "trilinear" are the same), or "nearest".
    padding : what is found outside: "zeros", "border" (the nearest inside), "reflection".
    align_corners : see ``grid``.

    Returns
    -------
    float[batch, channels, *places]

    Raises
    ------
    ShapeError : the shapes do not fit, or there is nothing in space.
    StructureError : another mode or padding.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> x = np.array([[[1.0, 2.0, 4.0]]])
    >>> nn.grid_sample(x, np.array([[[-1.0], [0.5]]]), align_corners=True)
    array([[[1., 3.]]])
    """
    rank, space = space_rank(x, "grid_sample"), x.shape[2:]
    if grid.ndim != rank + 2 or grid.shape[-1] != rank or grid.shape[0] != x.shape[0] or 0 in space:
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"grid_sample: x {described(x)} at the places {described(grid)}",
                notes=[("want", f"places [{x.shape[0]}, {'_, ' * rank}{rank}]")],
            )
        )
    modes, paddings = ("linear", "bilinear", "trilinear", "nearest"), ("zeros", "border", "reflection")
    if mode not in modes or padding not in paddings:
        raise wg.errors.StructureError(
            wg.errors.message(
                f"grid_sample: there is no mode {mode!r} with padding {padding!r}",
                tries=[f"modes {', '.join(modes)}", f"paddings {', '.join(paddings)}"],
            )
        )
    at = [_position(grid[..., rank - 1 - k], n, padding, align_corners) for k, n in enumerate(space)]
    if mode == "nearest":
        return _elements(x, [np.rint(p) for p in at])
    below = [np.floor(p) for p in at]
    total: Any = 0
    for corner in itertools.product((0, 1), repeat=rank):
        shares = [p - low if c else 1 - (p - low) for p, low, c in zip(at, below, corner, strict=True)]
        total = (
            total + _elements(x, [low + c for low, c in zip(below, corner, strict=True)]) * _product(shares)[:, None]
        )
    return total


def _position(place: Array, n: int, padding: str, align_corners: bool) -> Array:
    """Return where a place from -1 to 1 lies among n elements, whose middles are at 0 ... n - 1."""
    at = (place + 1) * ((n - 1) / 2) if align_corners else ((place + 1) * n - 1) / 2
    if padding == "reflection":
        low, length = (0, n - 1) if align_corners else (-0.5, n)
        far = np.abs(at - low) % (2 * length) if length else np.zeros_like(at)
        at = np.where(far > length, 2 * length - far, far) + low
    return at if padding == "zeros" else np.clip(at, 0, n - 1)


def _elements(x: Array, index: Sequence[Array]) -> Array:
    """Return ``x`` at an index [batch, *places] along each axis of space, 0 outside."""
    batch, channels, *space = x.shape
    places = index[0].shape[1:]
    is_inside = _product([(i >= 0) & (i < n) for i, n in zip(index, space, strict=True)])
    flat: Any = 0
    for i, n in zip(index, space, strict=True):
        flat = flat * n + np.clip(i, 0, n - 1).astype(np.int64)
    flat = flat.reshape(batch, 1, math.prod(places))
    found = np.take_along_axis(x.reshape(batch, channels, math.prod(space)), flat, 2).reshape(batch, channels, *places)
    return np.where(is_inside[:, None], found, 0)


def _product(parts: Sequence[Array]) -> Array:
    return math.prod(parts[1:], start=parts[0])
