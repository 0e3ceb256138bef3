"""Pooling: one number of each window, of all of space, or of as many bins as asked for.

``x`` is [batch, channels, *space]. Given the numbers alone, ``nn.max_pool(2)``, each is a function of ``x``, a part of
a chain. Where several elements of a window are the greatest they share its derivative evenly, as ``np.max`` has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn.awaiting import awaits_array
from wengert.nn.windows import Padding, PerAxis, padded, paddings, per_axis, space_rank, windows

Array = Any


@awaits_array
def max_pool(
    x: Array, window: PerAxis, stride: PerAxis | None = None, padding: Padding = 0, dilation: PerAxis = 1
) -> Array:
    """The greatest element of each window.

    Parameters
    ----------
    x : [batch, channels, *space].
    window : how many elements it has, along all axes of space or each.
    stride : the distance of two windows, as long as a window if not given.
    padding : how far windows reach beyond ``x``, as in :func:`~wengert.nn.conv`; nothing is found there.
    dilation : the distance of two elements of a window.

    Returns
    -------
    [batch, channels, *places]

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
    return np.max(*_windows("max_pool", x, window, stride, padding, dilation, least(x.dtype)))


@awaits_array
def mean_pool(
    x: Array,
    window: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    count_include_pad: bool = True,
) -> Array:
    """The mean of each window, as :func:`max_pool` has them; of what it has of ``x``, or zeros around it as well.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.mean_pool(np.array([[[1.0, 5.0, 2.0, 4.0]]]), 2)
    array([[[3., 3.]]])
    """
    pooled, axes = _windows("mean_pool", x, window, stride, padding)
    if count_include_pad:
        return np.mean(pooled, axes)
    inside, _ = _windows("mean_pool", np.ones((1, 1, *x.shape[2:]), x.dtype), window, stride, padding)
    return np.sum(pooled, axes) / np.sum(inside, axes)


@awaits_array
def lp_pool(x: Array, p: float, window: PerAxis, stride: PerAxis | None = None, padding: Padding = 0) -> Array:
    """(Σ |x|ᵖ)^(1/p) of each window, as :func:`max_pool` has them. Where all of one is 0 the derivative is 0.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.lp_pool(np.array([[[3.0, 4.0, 0.0, 0.0]]]), 2, 2)
    array([[[5., 0.]]])
    """
    if not p >= 1:
        raise wg.errors.ShapeError(wg.errors.message(f"lp_pool: p is {p}; expected at least 1"))
    pooled, axes = _windows("lp_pool", x, window, stride, padding)
    total = np.sum(np.abs(pooled) ** p, axes)
    is_zero = total == 0
    return np.where(is_zero, 0, np.where(is_zero, 1, total) ** (1 / p))  # the root's derivative is infinite at 0


def _windows(
    what: str,
    x: Array,
    window: PerAxis,
    stride: PerAxis | None,
    padding: Padding,
    dilation: PerAxis = 1,
    outside: Any = 0,
) -> tuple[Array, tuple[int, ...]]:
    """An array with the windows of ``x``, and along which of its axes the elements of one lie."""
    rank = space_rank(x, what)
    lengths, steps = per_axis(window, rank, "window"), per_axis(dilation, rank, "dilation")
    strides = lengths if stride is None else per_axis(stride, rank, "stride")
    pairs = paddings(padding, x.shape[2:], _spans(lengths, steps), strides)
    if any(max(pair) >= span for pair, span in zip(pairs, _spans(lengths, steps), strict=True)):
        raise wg.errors.ShapeError(
            wg.errors.message(f"{what}: with padding {padding} a window of {lengths} stands on padding alone")
        )
    x = padded(x, pairs, outside)
    if strides == lengths and all(step == 1 for step in steps) and _fits(x, lengths):
        return _blocks(x, lengths)
    return windows(x, lengths, strides, steps), tuple(range(-rank, 0))


def _spans(lengths: Sequence[int], steps: Sequence[int]) -> list[int]:
    return [d * (k - 1) + 1 for k, d in zip(lengths, steps, strict=True)]


def _fits(x: Array, lengths: Sequence[int]) -> bool:
    return all(n >= k for n, k in zip(x.shape[2:], lengths, strict=True))


def _blocks(x: Array, lengths: Sequence[int]) -> tuple[Array, tuple[int, ...]]:
    """Windows side by side are the array itself, each axis of space split in two."""
    rank = len(lengths)
    counts = [n // k for n, k in zip(x.shape[2:], lengths, strict=True)]
    x = x[(..., *[slice(n * k) for n, k in zip(counts, lengths, strict=True)])]
    split = [n for pair in zip(counts, lengths, strict=True) for n in pair]
    return x.reshape(*x.shape[:2], *split), tuple(range(3, 3 + 2 * rank, 2))


def least(dtype: Any) -> Any:
    """What no element of the dtype is less than."""
    dtype = np.dtype(dtype)
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min if dtype.kind in "iu" else False


# ------------------------------------------------------------------------------------------------- all of space; bins


def global_max_pool(x: Array) -> Array:
    """The greatest element of each channel: [batch, channels]."""
    return np.max(x, tuple(range(2, 2 + space_rank(x, "global_max_pool"))))


def global_mean_pool(x: Array) -> Array:
    """The mean of each channel: [batch, channels].

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.global_mean_pool(np.array([[[1.0, 5.0], [2.0, 4.0]]]))
    array([[3., 3.]])
    """
    return np.mean(x, tuple(range(2, 2 + space_rank(x, "global_mean_pool"))))


@awaits_array
def adaptive_max_pool(x: Array, bins: PerAxis) -> Array:
    """The greatest element of each of ``bins`` bins along each axis of space: [batch, channels, *bins].

    Of n elements the k-th of m bins has those from ⌊k n / m⌋ to ⌈(k + 1) n / m⌉, as in PyTorch: as long as one another,
    or nearly, and they overlap where m does not divide n.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.adaptive_max_pool(np.array([[[1.0, 5.0, 2.0, 3.0]]]), 3)
    array([[[5., 5., 3.]]])
    """
    return np.max(*_bins("adaptive_max_pool", x, bins, least(x.dtype))[:2])


@awaits_array
def adaptive_mean_pool(x: Array, bins: PerAxis) -> Array:
    """The mean of each bin, as :func:`adaptive_max_pool` has them."""
    binned, axes, counts = _bins("adaptive_mean_pool", x, bins, 0)
    return np.sum(binned, axes) / counts


def _bins(what: str, x: Array, bins: PerAxis, outside: Any) -> tuple[Array, tuple[int, ...], Array]:
    """Bins of ``x``, filled up to one length; along which axes the elements of one lie; how many are of ``x``."""
    rank = space_rank(x, what)
    counts = per_axis(bins, rank, "bins")
    space = x.shape[2:]
    if all(n and n % m == 0 for n, m in zip(space, counts, strict=True)):
        lengths = [n // m for n, m in zip(space, counts, strict=True)]
        return *_blocks(x, lengths), np.asarray(np.prod(lengths), x.dtype)
    if 0 in space:
        raise wg.errors.ShapeError(wg.errors.message(f"{what}: there is nothing in space {tuple(space)}"))
    is_inside = np.ones((), bool)
    for k, (n, m) in enumerate(zip(space, counts, strict=True)):
        axis = 2 + 2 * k
        begins, ends = np.arange(m) * n // m, -(-np.arange(1, m + 1) * n // m)
        index = begins[:, None] + np.arange(np.max(ends - begins))
        x = np.take(x, np.minimum(index, n - 1), axis)
        is_inside = is_inside[..., None, None] & (index < ends[:, None])
    axes = tuple(range(3, 3 + 2 * rank, 2))
    return np.where(is_inside, x, outside), axes, np.sum(is_inside, tuple(a - 2 for a in axes)).astype(x.dtype)
