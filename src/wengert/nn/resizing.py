"""Arrays on space made larger, smaller or of another shape: padding, upsampling, shuffled pixels, columns of windows.

``x`` is [batch, channels, *space]. Given the numbers alone, ``nn.upsample(2)``, each is a function of ``x``, a part of
a chain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import wengert as wg
from wengert.nn import windows as spatial
from wengert.nn.awaiting import awaits_array
from wengert.nn.params import Array
from wengert.nn.windows import Padding, PerAxis, described, paddings, per_axis, reach, space_rank

Count = int


@wg.expect.checked
def flatten(x: Array) -> Array:
    """Return each sample as one vector: [batch, ...] -> [batch, features].

    Raises ShapeError where ``x`` has no axes.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.flatten(np.zeros((2, 3, 4))).shape
    (2, 12)
    """
    wg.expect.ndim("flatten", "x", x, 1, "[batch, ...]")
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


# ----------------------------------------------------------------------------------------------------------- padding

_MODES = {"replicate": "edge", "repeat": "edge", "circular": "wrap", "zeros": "constant"}  # PyTorch's and NNlib's names


@awaits_array
@wg.expect.checked
def pad(x: Array, padding: Padding, mode: str = "constant", value: float = 0) -> Array:
    """Return ``x`` with more elements before and after the axes of space.

    Parameters
    ----------
    x : [batch, channels, *space]
    padding : how many: a number, one an axis, or (before, after) an axis.
    mode : "constant" (``value``), "reflect", "symmetric", "edge" (or "replicate"), "wrap" (or "circular").
    value : what is added with "constant".

    Raises
    ------
    ShapeError : not one padding an axis, or more than there are elements to be reflected or repeated.
    StructureError : another mode.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.pad(np.array([[[1.0, 2.0, 3.0]]]), ((2, 0),), "reflect")
    array([[[3., 2., 1., 2., 3.]]])
    """
    rank = space_rank(x, "pad")
    mode = _MODES.get(mode, mode)
    if mode not in ("constant", "reflect", "symmetric", "edge", "wrap"):
        raise wg.errors.StructureError(
            wg.errors.message(
                f"pad: there is no mode {mode!r}",
                tries=["one of constant, reflect, symmetric, edge (replicate), wrap (circular)"],
            )
        )
    pairs = paddings(padding, x.shape[2:], (1,) * rank, (1,) * rank)
    most = [{"constant": math.inf, "reflect": n - 1, "edge": math.inf if n else 0}.get(mode, n) for n in x.shape[2:]]
    if any(max(pair) > limit for pair, limit in zip(pairs, most, strict=True)):
        raise wg.errors.ShapeError(
            wg.errors.message(f"pad: {tuple(x.shape[2:])} elements of space are too few to {mode} {tuple(pairs)}")
        )
    return spatial.padded(x, pairs, value, mode)


# -------------------------------------------------------------------------------------------------------- upsampling


@awaits_array
@wg.expect.checked
def upsample(
    x: Array,
    scale: float | Sequence[float] | None = None,
    mode: str = "nearest",
    size: PerAxis | None = None,
    align_corners: bool = False,
) -> Array:
    """Return ``x`` at more places, or fewer: along each axis of space ``scale`` times as many, or ``size``.

    Elements are intervals side by side, and values stand at their middles: place k is at (k + ½) / scale − ½. With
    ``align_corners`` the first and the last stay where they are (PyTorch's semantics of both).

    Parameters
    ----------
    x : float[batch, channels, *space]
    scale, size : one of them; a number, or one an axis. ``scale`` times the elements is rounded down.
    mode : "nearest", or "linear", between two neighbours along each axis ("bilinear", "trilinear" are the same).
    align_corners : see above; "nearest" does not look at it.

    Raises
    ------
    ShapeError : neither or both of scale and size, or not one an axis.
    StructureError : another mode.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> x = np.array([[[1.0, 3.0]]])
    >>> nn.upsample(x, 2)
    array([[[1., 1., 3., 3.]]])
    >>> nn.upsample(x, 2, "linear")
    array([[[1. , 1.5, 2.5, 3. ]]])
    """
    rank = space_rank(x, "upsample")
    if mode not in ("nearest", "linear", "bilinear", "trilinear"):
        raise wg.errors.StructureError(
            wg.errors.message(
                f"upsample: there is no mode {mode!r}", tries=['"nearest"', '"linear"', "nn.pixel_shuffle"]
            )
        )
    if isinstance(scale, np.ndarray | np.generic):
        scale = scale.tolist()
    if mode == "nearest" and isinstance(scale, int) and scale >= 1 and size is None:
        return _repeated(x, scale)
    for axis, (places, ratio) in enumerate(_places(x.shape[2:], rank, scale, size), start=2):
        n = x.shape[axis]
        if mode == "nearest":
            x = np.take(x, np.minimum(np.floor(np.arange(places) * ratio).astype(np.int64), n - 1), axis)
        elif not align_corners and places % n == 0 and places <= MOST_PHASES * n and ratio == n / places:
            x = _in_phases(x, axis, places // n)
        else:
            x = _between(x, axis, _positions(places, n, ratio, align_corners))
    return x


def _repeated(x: Array, scale: int) -> Array:
    """Return each element as often as ``scale`` along each axis: one copy."""
    rank, space = x.ndim - 2, x.shape[2:]
    split = x.reshape(*x.shape[:2], *[n for length in space for n in (length, 1)])
    wide = np.broadcast_to(split, (*x.shape[:2], *[n for length in space for n in (length, scale)]))
    return wide.reshape(*x.shape[:2], *[space[k] * scale for k in range(rank)])


def _places(
    space: Sequence[int], rank: int, scale: float | Sequence[float] | None, size: PerAxis | None
) -> list[tuple[int, float]]:
    """Return how many places there will be along each axis, and how many elements there are a place."""
    if (scale is None) == (size is None) or 0 in space:
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"upsample: scale is {scale}, size {size}, space {tuple(space)}; expected scale or size, and some space"
            )
        )
    if size is not None:
        return [(m, n / m) for n, m in zip(space, per_axis(size, rank, "size"), strict=True)]
    scales = (scale,) * rank if isinstance(scale, int | float) else tuple(scale)  # pyright: ignore
    if (
        len(scales) != rank
        or not np.all(np.isfinite(scales))
        or any(int(n * s) < 1 for n, s in zip(space, scales, strict=False))
    ):
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"upsample: scale is {scale} for space {tuple(space)}; expected finite numbers, not too small"
            )
        )
    return [(int(n * s), 1 / s) for n, s in zip(space, scales, strict=True)]


def _positions(places: int, n: int, ratio: float, align_corners: bool) -> Array:
    """Return where, among n elements, the places lie."""
    if align_corners:
        return np.linspace(0, n - 1, places) if places > 1 else np.zeros(1)
    return np.maximum((np.arange(places) + 0.5) * ratio - 0.5, 0)


MOST_PHASES = 8
"""Up to so many places an element, each is computed for all elements at once."""


def _in_phases(x: Array, axis: int, scale: int) -> Array:
    """Return ``x`` at ``scale`` places an element, each computed for all elements at once.

    The places of all elements are the same: so neighbours are arrays beside ``x``, and nothing is looked up.
    """
    before = (slice(None),) * axis
    first, last = x[(*before, slice(1))], x[(*before, slice(-1, None))]
    left = np.concatenate([first, x[(*before, slice(-1))]], axis)
    right = np.concatenate([x[(*before, slice(1, None))], last], axis)
    shares = [(k + 0.5) / scale - 0.5 for k in range(scale)]  # of the neighbour on that side
    phases = [x * (1 - abs(share)) + (left if share < 0 else right) * abs(share) for share in shares]
    return np.stack(phases, axis + 1).reshape(*x.shape[:axis], x.shape[axis] * scale, *x.shape[axis + 1 :])


def _between(x: Array, axis: int, positions: Array) -> Array:
    """Return ``x`` at the positions along an axis, straight between its elements."""
    n = x.shape[axis]
    below = np.minimum(positions.astype(np.int64), n - 1)
    share = np.reshape(positions - below, (-1,) + (1,) * (x.ndim - 1 - axis)).astype(x.dtype)
    return np.take(x, below, axis) * (1 - share) + np.take(x, np.minimum(below + 1, n - 1), axis) * share


@awaits_array
@wg.expect.checked
def pixel_shuffle(x: Array, scale: Count) -> Array:
    """Return channels as places: [batch, c · scaleʳ, *space] -> [batch, c, *(space · scale)], with r axes of space.

    Source: Shi et al. (2016), Real-time single image and video super-resolution, arXiv:1609.05158.

    Parameters
    ----------
    x : [batch, channels, *space]
    scale : how many places each has afterwards, along each axis.

    Raises
    ------
    ShapeError : there is no space, or the channels are no multiple of scaleʳ.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.pixel_shuffle(np.array([[[1.0, 2.0], [10.0, 20.0]]]), 2)
    array([[[ 1., 10.,  2., 20.]]])
    """
    rank = space_rank(x, "pixel_shuffle")
    if x.shape[1] % scale**rank:
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"pixel_shuffle: {described(x)} has {x.shape[1]} channels; expected a multiple of {scale**rank}"
            )
        )
    return spatial.side_by_side(x, (scale,) * rank)


@awaits_array
@wg.expect.checked
def pixel_unshuffle(x: Array, scale: Count) -> Array:
    """Return places as channels: [batch, c, *space] -> [batch, c · scaleʳ, *(space / scale)].

    It is the inverse of :func:`pixel_shuffle`.

    Parameters
    ----------
    x : [batch, channels, *space], with r axes of space.
    scale : how many places along each axis become channels.

    Raises
    ------
    ShapeError : there is no space, or an axis of it is no multiple of ``scale``.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.pixel_unshuffle(np.array([[[1.0, 10.0, 2.0, 20.0]]]), 2)
    array([[[ 1.,  2.],
            [10., 20.]]])
    """
    rank, space = space_rank(x, "pixel_unshuffle"), x.shape[2:]
    if any(n % scale for n in space):
        raise wg.errors.ShapeError(
            wg.errors.message(f"pixel_unshuffle: space is {tuple(space)}; expected multiples of {scale}")
        )
    return spatial.taken_apart(x, (scale,) * rank, (scale,) * rank)


# -------------------------------------------------------------------------------------------------- columns of windows


@awaits_array
@wg.expect.checked
def unfold(x: Array, kernel: PerAxis, dilation: PerAxis = 1, padding: Padding = 0, stride: PerAxis = 1) -> Array:
    """Return the windows of ``x`` as columns.

    Parameters
    ----------
    x : [batch, channels, *space]
    kernel, dilation, padding, stride : of the windows, as of :func:`~wengert.nn.conv_bias_act`.

    Returns
    -------
    [batch, channels · prod(kernel), prod(places)]

    Raises
    ------
    ShapeError : there is no space, or the kernel is larger than the padded space.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.unfold(np.array([[[1.0, 2.0, 3.0]]]), 2)
    array([[[1., 2.],
            [2., 3.]]])
    """
    rank = space_rank(x, "unfold")
    kernel, dilation = per_axis(kernel, rank, "kernel"), per_axis(dilation, rank, "dilation")
    stride = per_axis(stride, rank, "stride")
    x = spatial.padded(x, paddings(padding, x.shape[2:], reach(kernel, dilation), stride))
    columns = spatial.windows(x, kernel, stride, dilation)
    places = columns.shape[2 : 2 + rank]
    columns = np.transpose(columns, (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank)))
    return columns.reshape(x.shape[0], x.shape[1] * math.prod(kernel), math.prod(places))


@awaits_array
@wg.expect.checked
def fold(
    x: Array, size: Sequence[int], kernel: PerAxis, dilation: PerAxis = 1, padding: Padding = 0, stride: PerAxis = 1
) -> Array:
    """Return the adjoint of :func:`unfold`: the elements of each column added up where they were taken from.

    Parameters
    ----------
    x : [batch, channels · prod(kernel), prod(places)]
    size : the lengths of the axes of space.
    kernel, dilation, padding, stride : of the windows, as given to :func:`unfold`.

    Returns
    -------
    [batch, channels, *size]

    Raises
    ------
    ShapeError : ``x`` has another shape than such windows in ``size`` would give.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.fold(np.array([[[1.0, 2.0], [2.0, 3.0]]]), (3,), 2)
    array([[[1., 4., 3.]]])
    """
    rank, size = len(size), tuple(size)
    kernel, dilation = per_axis(kernel, rank, "kernel"), per_axis(dilation, rank, "dilation")
    stride = per_axis(stride, rank, "stride")
    pairs = paddings(padding, size, reach(kernel, dilation), stride)
    wide = [n + before + after for n, (before, after) in zip(size, pairs, strict=True)]
    places = spatial.counted(wide, kernel, stride, dilation)
    of_window = math.prod(kernel)
    if x.ndim != 3 or x.shape[1] % of_window or x.shape[2] != math.prod(places):
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"fold: x is {described(x)}, for windows of {kernel} at {places} places in {size}",
                notes=[("want", f"[batch, a multiple of {of_window}, {math.prod(places)}]")],
            )
        )
    batch, channels = x.shape[0], x.shape[1] // of_window
    x = x.reshape(batch, channels, *kernel, *places)
    y = np.zeros((batch, channels, *wide), x.dtype)
    for at, here in spatial.elements(kernel, places, stride, dilation):
        y[here] += x[(slice(None), slice(None), *at)]
    return y[(..., *[slice(before, before + n) for n, (before, _) in zip(size, pairs, strict=True)])]
