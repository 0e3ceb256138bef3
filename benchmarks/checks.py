"""How far results are from one another. NaN counts: it is an error, except where both have it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Arrays = list[np.ndarray[Any, Any]]


def distance(x: Any, y: Any, least: float = 0.0) -> float:
    """Return the greatest difference, relative to the greatest element of ``y``; NaN where only one of them is.

    ``least`` is a size below which ``y`` counts as zero, such as that of a gradient at a maximum.
    """
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape:
        return math.inf
    if not x.size:
        return 0.0
    if not np.array_equal(np.isnan(x), np.isnan(y)):
        return math.nan
    with np.errstate(invalid="ignore"):
        gap, size = np.abs(np.where(x == y, 0, x - y)), np.abs(y)
    finite = size[np.isfinite(size)]
    scale = max(float(finite.max(initial=0.0)), least)
    gap = gap[~np.isnan(y)]
    return float(gap.max(initial=0.0) / (scale or 1.0))


def between(xs: Arrays, ys: Arrays) -> float:
    """Return the greatest :func:`distance` of two lists of arrays; infinite if they are not alike in number."""
    if len(xs) != len(ys):
        return math.inf
    found = [distance(x, y) for x, y in zip(xs, ys, strict=True)]
    return math.nan if any(map(math.isnan, found)) else max(found, default=0.0)


def worst(x: float) -> float:
    """Return infinity for NaN, as a key to sort by."""
    return math.inf if math.isnan(x) else x
