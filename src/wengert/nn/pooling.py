"""Pooling: one number of each window, of all of space, or of as many bins as asked for.

``x`` is [batch, channels, *space]. Given the numbers alone, ``nn.max_pool(2)``, each is a function of ``x``, a part of
a chain. Where several elements of a window are the greatest they share its derivative evenly, as ``np.max`` has it.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn.awaiting import awaits_array
from wengert.nn.params import Array
from wengert.nn.windows import (
    Padding,
    PerAxis,
    counted,
    elements,
    padded,
    paddings,
    per_axis,
    reach,
    space_rank,
    windows,
)

MANY = 64
"""Up to so many elements of a window, their maximum is that of as many arrays, one for each, which is read faster."""


@awaits_array
@wg.expect.checked
def max_pool(
    x: Array, window: PerAxis, stride: PerAxis | None = None, padding: Padding = 0, dilation: PerAxis = 1
) -> Array:
    """Return the greatest element of each window.

    Parameters
    ----------
    x : [batch, channels, *space], of any real dtype.
    window : how many elements it has, along all axes of space or each.
    stride : the distance of two windows, as long as a window if not given.
    padding : how far windows reach beyond ``x``, as in :func:`~wengert.nn.conv`; nothing is found there.
    dilation : the distance of two elements of a window.

    Returns
    -------
    [batch, channels, *places], of the dtype of ``x``

    Raises
    ------
    ShapeError : the window is larger than the padded space, or may stand on padding alone.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.max_pool(np.array([[[1.0, 5.0, 2.0, 3.0]]]), 2)
    array([[[5., 3.]]])
    """
    x, lengths, strides, steps = _placed("max_pool", x, window, stride, padding, dilation, least(x.dtype))
    if math.prod(lengths) > MANY:
        return np.max(windows(x, lengths, strides, steps), tuple(range(-len(lengths), 0)))
    places = counted(x.shape[2:], lengths, strides, steps)
    return np.max(np.stack([x[here] for _, here in elements(lengths, places, strides, steps)]), 0)


@awaits_array
@wg.expect.checked
def mean_pool(
    x: Array,
    window: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    count_include_pad: bool = True,
) -> Array:
    """Return the mean of each window.

    Parameters
    ----------
    x : float[batch, channels, *space]
    window, stride, padding : as of :func:`max_pool`.
    count_include_pad : whether the zeros of the padding count as elements; otherwise the mean is of those of ``x``.

    Returns
    -------
    float[batch, channels, *places]

    Raises
    ------
    ShapeError : the window is larger than the padded space, or may stand on padding alone.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.mean_pool(np.array([[[1.0, 5.0, 2.0, 4.0]]]), 2)
    array([[[3., 3.]]])
    """
    ones = np.ones((1, 1, *x.shape[2:]), x.dtype)
    x, lengths, strides, _ = _placed("mean_pool", x, window, stride, padding)
    if count_include_pad:
        return _added(x, lengths, strides) / math.prod(lengths)
    ones = _placed("mean_pool", ones, window, stride, padding)[0]
    return _added(x, lengths, strides) / _added(ones, lengths, strides)


@awaits_array
@wg.expect.checked
def lp_pool(x: Array, p: float, window: PerAxis, stride: PerAxis | None = None, padding: Padding = 0) -> Array:
    """Return (Σ |x|ᵖ)^(1/p) of each window: its sum for p = 1, its greatest element for p → ∞.

    Parameters
    ----------
    x : float[batch, channels, *space]
    p : at least 1.
    window, stride, padding : as of :func:`max_pool`, with zeros as padding.

    Returns
    -------
    float[batch, channels, *places]. Where all of a window is 0 the derivative is 0.

    Raises
    ------
    OptionError : ``p`` is less than 1.
    ShapeError : the window is larger than the padded space, or may stand on padding alone.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.lp_pool(np.array([[[3.0, 4.0, 0.0, 0.0]]]), 2, 2)
    array([[[5., 0.]]])
    """
    if not p >= 1:
        raise wg.errors.OptionError(wg.errors.message(f"lp_pool: p is {p}; expected at least 1"))
    x, lengths, strides, _ = _placed("lp_pool", x, window, stride, padding)
    total = _added(np.abs(x) ** p, lengths, strides)
    is_zero = total == 0
    return np.where(is_zero, 0, np.where(is_zero, 1, total) ** (1 / p))  # the root's derivative is infinite at 0


def _placed(
    what: str,
    x: Array,
    window: PerAxis,
    stride: PerAxis | None,
    padding: Padding,
    dilation: PerAxis = 1,
    outside: Any = 0,
) -> tuple[Array, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return ``x``, padded, and the length, stride and dilation of its windows along each axis of space."""
    rank = space_rank(x, what)
    lengths, steps = per_axis(window, rank, "window"), per_axis(dilation, rank, "dilation")
    strides = lengths if stride is None else per_axis(stride, rank, "stride")
    spans = reach(lengths, steps)
    pairs = paddings(padding, x.shape[2:], spans, strides)
    if any(max(pair) >= span for pair, span in zip(pairs, spans, strict=True)):
        raise wg.errors.ShapeError(
            wg.errors.message(f"{what}: with padding {padding} a window of {lengths} would contain nothing but padding")
        )
    x = padded(x, pairs, outside)
    counted(x.shape[2:], lengths, strides, steps)
    return x, lengths, strides, steps


def _added(x: Array, lengths: Sequence[int], strides: Sequence[int]) -> Array:
    """Return the sum of each window, along one axis of space after another: r k sums for each, not kʳ."""
    rank = len(lengths)
    for k in range(rank):
        length, stride, behind = lengths[k], strides[k], (slice(None),) * (rank - 1 - k)
        end = x.shape[2 + k] - length + 1
        x = functools.reduce(operator.add, [x[(..., slice(j, end + j, stride), *behind)] for j in range(length)])
    return x


def least(dtype: Any) -> Any:
    """Return a value that no element of the dtype is less than."""
    dtype = np.dtype(dtype)
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min if dtype.kind in "iu" else False


# ------------------------------------------------------------------------------------------------- all of space; bins


@wg.expect.checked
def global_max_pool(x: Array) -> Array:
    """Return the greatest element of each channel: [batch, channels, *space] -> [batch, channels].

    Raises ShapeError where ``x`` has no space.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.global_max_pool(np.array([[[1.0, 5.0], [2.0, 4.0]]]))
    array([[5., 4.]])
    """
    return np.max(x, tuple(range(2, 2 + space_rank(x, "global_max_pool"))))


@wg.expect.checked
def global_mean_pool(x: Array) -> Array:
    """Return the mean of each channel: float[batch, channels, *space] -> float[batch, channels].

    Raises ShapeError where ``x`` has no space.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.global_mean_pool(np.array([[[1.0, 5.0], [2.0, 4.0]]]))
    array([[3., 3.]])
    """
    return np.mean(x, tuple(range(2, 2 + space_rank(x, "global_mean_pool"))))


@awaits_array
@wg.expect.checked
def adaptive_max_pool(x: Array, bins: PerAxis) -> Array:
    """Return the greatest element of each of ``bins`` bins along each axis of space.

    Of n elements the k-th of m bins has those from ⌊k n / m⌋ to ⌈(k + 1) n / m⌉, as in PyTorch: as long as one another,
    or nearly, and they overlap where m does not divide n.

    Parameters
    ----------
    x : [batch, channels, *space], of any real dtype.
    bins : how many, along all axes of space or each.

    Returns
    -------
    [batch, channels, *bins], of the dtype of ``x``

    Raises
    ------
    ShapeError : there is no space, nothing in it, or not one number of bins an axis.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.adaptive_max_pool(np.array([[[1.0, 5.0, 2.0, 3.0]]]), 3)
    array([[[5., 5., 3.]]])
    """
    rank, space = space_rank(x, "adaptive_max_pool"), x.shape[2:]
    bins = per_axis(bins, rank, "bins")
    if lengths := _even(space, bins):
        return max_pool(x, lengths)
    is_inside = np.ones((), bool)
    for k, (n, m) in enumerate(zip(space, bins, strict=True)):
        begins, ends = _bounds(n, m)
        index = begins[:, None] + np.arange(np.max(ends - begins))
        x = np.take(x, np.minimum(index, n - 1), 2 + 2 * k)
        is_inside = is_inside[..., None, None] & (index < ends[:, None])
    return np.max(np.where(is_inside, x, least(x.dtype)), tuple(range(3, 3 + 2 * rank, 2)))


@awaits_array
@wg.expect.checked
def adaptive_mean_pool(x: Array, bins: PerAxis) -> Array:
    """Return the mean of each of ``bins`` bins along each axis of space, which are those of :func:`adaptive_max_pool`.

    Parameters
    ----------
    x : float[batch, channels, *space]
    bins : how many, along all axes of space or each.

    Returns
    -------
    float[batch, channels, *bins]

    Raises
    ------
    ShapeError : there is no space, nothing in it, or not one number of bins an axis.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.adaptive_mean_pool(np.array([[[1.0, 5.0, 2.0, 3.0]]]), 3)
    array([[[3. , 3.5, 2.5]]])
    """
    rank, space = space_rank(x, "adaptive_mean_pool"), x.shape[2:]
    bins = per_axis(bins, rank, "bins")
    if lengths := _even(space, bins):
        return mean_pool(x, lengths)
    for axis, (n, m) in enumerate(zip(space, bins, strict=True), start=2):
        before = (slice(None),) * axis
        x = np.stack([np.mean(x[(*before, slice(a, b))], axis) for a, b in zip(*_bounds(n, m), strict=True)], axis)
    return x


def _even(space: Sequence[int], bins: Sequence[int]) -> tuple[int, ...] | None:
    """Return how long bins are, if all are of one length.

    Raises
    ------
    ShapeError : there is nothing in space.
    """
    if 0 in space:
        raise wg.errors.ShapeError(wg.errors.message(f"space {tuple(space)} is empty, and cannot be divided into bins"))
    if any(n % m for n, m in zip(space, bins, strict=True)):
        return None
    return tuple([n // m for n, m in zip(space, bins, strict=True)])


def _bounds(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where each of m bins of n elements begins and ends."""
    return np.arange(m) * n // m, -(-np.arange(1, m + 1) * n // m)
