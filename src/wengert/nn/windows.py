"""Windows on space: the places at which a kernel stands, read from the array where they lie.

Arrays are [batch, channels, *space], with one, two or three axes of space. Along each of them a window of ``k``
elements, ``dilation`` apart, stands at every ``stride``-th place of the padded array.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn.params import Array

PerAxis = int | Sequence[int]
"""A number for every axis of space, or one for each."""
Padding = int | str | Sequence[int] | Sequence[tuple[int, int]]
"""A number for all axes, one or (before, after) for each; or "same" or "valid"."""


def per_axis(value: PerAxis, rank: int, name: str, least: int = 1) -> tuple[int, ...]:
    """Return ``value`` for each axis of space.

    Raises
    ------
    ShapeError : not ``rank`` of them, or one is no integer or less than ``least``.
    """
    values: tuple[Any, ...] = tuple(value) if isinstance(value, tuple | list) else (value,) * rank
    if len(values) != rank or not all(isinstance(n, int | np.integer) and n >= least for n in values):
        raise wg.errors.ShapeError(
            wg.errors.message(f"{name} is {value}: expected an integer of at least {least}, or {rank} of them")
        )
    return tuple([int(n) for n in values])


def reach(kernel: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Return how many elements lie between the first and the last of a window, both counted."""
    return tuple([d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)])


def paddings(
    padding: Padding, space: Sequence[int], reach: Sequence[int], stride: Sequence[int]
) -> list[tuple[int, int]]:
    """Return (before, after) for each axis.

    "valid" is none. "same" is what gives ⌈n / stride⌉ places for n elements, the odd one behind, as in TensorFlow.

    Raises
    ------
    ShapeError : another word, a negative number, or not one for each axis.
    """
    if padding == "valid":
        return [(0, 0)] * len(space)
    if padding == "same":
        missing = [max((-(-n // s) - 1) * s + r - n, 0) for n, r, s in zip(space, reach, stride, strict=True)]
        return [(m // 2, m - m // 2) for m in missing]
    each: Sequence[Any] = padding if isinstance(padding, tuple | list) else [padding] * len(space)
    pairs: list[Any] = [(p, p) if isinstance(p, int | np.integer) else p for p in each]
    if len(pairs) != len(space) or not all(_is_pair(pair) for pair in pairs):
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"padding is {padding!r}, for {len(space)} axes of space",
                tries=["padding=1", f"padding={tuple([(1, 1)] * len(space))}", 'padding="same"', 'padding="valid"'],
            )
        )
    return [(int(before), int(after)) for before, after in pairs]


def _is_pair(value: Any) -> bool:
    is_two = isinstance(value, tuple | list) and len(value) == 2
    return is_two and all(isinstance(n, int | np.integer) and n >= 0 for n in value)


def padded(x: Array, pairs: Sequence[tuple[int, int]], value: Any = 0, mode: Any = "constant") -> Array:
    """Return ``x`` with elements before and after its last axes: ``value``, or what ``np.pad`` calls ``mode``."""
    if not any(before or after for before, after in pairs):
        return x
    widths = [(0, 0)] * (x.ndim - len(pairs)) + list(pairs)
    return np.pad(x, widths, constant_values=value) if mode == "constant" else np.pad(x, widths, mode=mode)


def counted(
    space: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[int, ...]:
    """Return at how many places a window stands along each axis of the padded space.

    Raises
    ------
    ShapeError : a window is longer than the axis.
    """
    lengths = reach(kernel, dilation)
    if any(r > n for r, n in zip(lengths, space, strict=True)):
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"a window of {tuple(kernel)} is larger than the padded space {tuple(space)}",
                notes=[("", f"with dilation {tuple(dilation)} it spans {lengths}")] if lengths != tuple(kernel) else [],
                tries=['padding="same"', "a smaller window"],
            )
        )
    return tuple([(n - r) // s + 1 for n, r, s in zip(space, lengths, stride, strict=True)])


def windows(x: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Array:
    """Return the windows over the last axes of ``x``: [..., *places, *kernel], a view.

    Raises ShapeError as :func:`counted` does.
    """
    first = x.ndim - len(kernel)
    counted(x.shape[first:], kernel, stride, dilation)
    axes = tuple(range(first, x.ndim))
    every = np.lib.stride_tricks.sliding_window_view(x, reach(kernel, dilation), axis=axes)
    steps = (*stride, *dilation)
    return every if all(s == 1 for s in steps) else every[(..., *[slice(None, None, s) for s in steps])]


def elements(
    kernel: Sequence[int], places: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
    """Yield for each element of a window its index in it, and the index of all elements of ``x`` that stand there."""
    for at in np.ndindex(*kernel):
        starts = [k * d for k, d in zip(at, dilation, strict=True)]
        yield at, (..., *[slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, places, stride, strict=True)])


def side_by_side(x: Array, scale: Sequence[int]) -> Array:
    """Return [batch, c · prod(scale), *space] as [batch, c, *(space · scale)].

    Each group of channels lies on a block of places.
    """
    rank, space = len(scale), x.shape[2:]
    x = x.reshape(x.shape[0], x.shape[1] // math.prod(scale), *scale, *space)
    pairs = [axis for k in range(rank) for axis in (2 + rank + k, 2 + k)]
    x = np.transpose(x, (0, 1, *pairs))
    return x.reshape(*x.shape[:2], *[n * s for n, s in zip(space, scale, strict=True)])


def taken_apart(x: Array, scale: Sequence[int], kept: Sequence[int]) -> Array:
    """Return [batch, c, *(space · scale)] as [batch, c · prod(kept), *space].

    Of each block of places the first ``kept`` along each axis become channels. It is the inverse of
    :func:`side_by_side` where all are kept.
    """
    rank, space = len(scale), [n // s for n, s in zip(x.shape[2:], scale, strict=True)]
    x = x.reshape(*x.shape[:2], *[n for pair in zip(space, scale, strict=True) for n in pair])
    x = x[(..., *[part for m in kept for part in (slice(None), slice(m))])]
    x = np.transpose(x, (0, 1, *range(3, 3 + 2 * rank, 2), *range(2, 2 + 2 * rank, 2)))
    return x.reshape(x.shape[0], x.shape[1] * math.prod(kept), *space)


def described(x: Any) -> str:
    """Return the dtype and shape of an array as ``float32[2, 3]``."""
    return f"{np.dtype(x.dtype).name}[{', '.join(str(n) for n in x.shape)}]"


def space_rank(x: Array, what: str) -> int:
    """Return how many axes of space [batch, channels, *space] has.

    Raises
    ------
    ShapeError : none.
    """
    if x.ndim < 3 or x.ndim > 10:
        how = "without space" if x.ndim < 3 else "with more than 8 axes of space"
        raise wg.errors.ShapeError(
            wg.errors.message(f"{what}: x is {described(x)}, {how}", notes=[("want", "[batch, channels, *space]")])
        )
    return x.ndim - 2
