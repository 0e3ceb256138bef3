"""How far results are from one another. NaN counts: it is an error, except where both have it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
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


def slope_error(
    f: Callable[..., Any], args: Sequence[Any], positions: Sequence[int], gradient: Any, h: float = 1e-5
) -> float:
    """Return how far a gradient's slope is from that of ``f`` by differences, along a random direction.

    ``f`` is the NumPy function of ``args`` that returns a number; ``gradient`` has a tree like each argument's for each
    of ``positions``. The slopes are relative to the sum of their parts' sizes, so that cancelling does not count.
    Complex gradients are of the convention that ``wengert.grad`` has: Re(gradient · direction).
    """
    rng = np.random.default_rng(1)
    found = list(leaves(gradient))
    starts = [np.asarray(x) for x in leaves([args[k] for k in positions])]
    if [np.shape(g) for g in found] != [x.shape for x in starts]:
        return math.inf
    if not all(np.isfinite(np.asarray(g)).all() for g in found):
        return math.nan
    directions: list[Any] = []
    for x in starts:
        direction = rng.standard_normal(x.shape) * (float(np.sqrt(np.mean(np.abs(x) ** 2))) if x.size else 1.0)
        directions.append(direction + 1j * rng.standard_normal(x.shape) if np.iscomplexobj(x) else direction)

    def along(t: float) -> float:
        moved = iter([x + t * v for x, v in zip(starts, directions, strict=True)])
        given = list(args)
        for k in positions:
            given[k] = replaced(args[k], moved)
        return float(np.real(f(*given)))

    fine = (along(h) - along(-h)) / (2 * h)
    coarse = (along(2 * h) - along(-2 * h)) / (4 * h)
    parts = [np.real(np.asarray(g) * v) for g, v in zip(found, directions, strict=True)]
    size = sum(float(np.sum(np.abs(p))) for p in parts)
    error = abs((4 * fine - coarse) / 3 - sum(float(np.sum(p)) for p in parts))
    return error / (size or 1.0)


def leaves(x: Any) -> Iterator[Any]:
    """Yield the leaves of lists, tuples and dicts, in the order of keys; tensors of PyTorch's without gradients."""
    if isinstance(x, dict):
        x = [x[k] for k in sorted(x)]
    if isinstance(x, tuple | list):
        for v in x:
            yield from leaves(v)
    elif x is not None:
        yield x.detach() if hasattr(x, "detach") else x


def replaced(x: Any, values: Iterator[Any]) -> Any:
    """Return a tree like ``x`` of other leaves."""
    if isinstance(x, dict):
        new = {k: replaced(x[k], values) for k in sorted(x)}
        return {k: new[k] for k in x}
    if isinstance(x, tuple | list):
        return type(x)([replaced(v, values) for v in x])
    return next(values)
