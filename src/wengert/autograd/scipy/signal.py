"""autograd's convolution, along some axes and with a sum over others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Axes = Sequence[Sequence[int]]


def convolve(
    A: ArrayLike, B: ArrayLike, axes: Axes | None = None, dot_axes: Axes = ((), ()), mode: str = "full"
) -> Any:
    """Return the convolution of two arrays along ``axes`` of each, of products that are summed over ``dot_axes``.

    It has the axes of A alone, those of B alone, and those of the convolution; ``mode`` is "full", "valid" or "same".
    """
    assert mode in ["valid", "full", "same"], f"Mode {mode} undefined, it can be one of 'valid', 'full', and 'same'"
    along = [list(range(np.ndim(A))), list(range(np.ndim(B)))] if axes is None else [list(x) for x in axes]
    sizes = [(np.shape(A)[a], np.shape(B)[b]) for a, b in zip(*along, strict=True)]
    is_swapped = mode == "valid" and any(a < b for a, b in sizes)
    if is_swapped and any(a > b for a, b in sizes):
        raise Exception("One array must be larger than the other along all convolved dimensions")
    longer, shorter, (mine, theirs) = (B, A, along[::-1]) if is_swapped else (A, B, along)
    widths, pad = [np.shape(shorter)[b] for b in theirs], [(0, 0)] * np.ndim(longer)
    for a, n in zip(mine, widths, strict=True):
        pad[a] = {"full": (n - 1, n - 1), "same": (n - 1 - (n - 1) // 2, (n - 1) // 2), "valid": (0, 0)}[mode]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(longer, pad), widths, tuple(mine))
    end = np.ndim(A) + np.ndim(B)
    of_a, of_b = list(range(np.ndim(A))), list(range(np.ndim(A), end))
    for a, b in zip(*dot_axes, strict=True):
        of_b[b] = of_a[a]
    alone = [x for k, x in enumerate(of_a) if k not in [*along[0], *dot_axes[0]]]
    alone += [x for k, x in enumerate(of_b) if k not in [*along[1], *dot_axes[1]]]
    of_longer, of_shorter = (of_b, of_a) if is_swapped else (of_a, of_b)
    out = [*alone, *[of_longer[a] for a in mine]]
    for k, b in enumerate(theirs):
        of_shorter[b] = end + k
    return np.einsum(
        windows, [*of_longer, *range(end, end + len(widths))], np.flip(shorter, tuple(theirs)), of_shorter, out
    )
