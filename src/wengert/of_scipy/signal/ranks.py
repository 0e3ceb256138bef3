"""Filters of ``scipy.signal`` that select: the median of each window, and others of its ranks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from wengert.tracing.arguments import Traced, array
from wengert.tracing.interception.intercept import intercepts


def _ranked(x: Traced, domain: np.ndarray[Any, Any], rank: int) -> Any:
    """The element of this rank among those of each window that ``domain`` marks, with zeros around ``x``."""
    padded = np.pad(x, [(n // 2, n // 2) for n in domain.shape])
    window = sliding_window_view(padded, domain.shape)
    flat = np.reshape(window, (*x.shape, domain.size))[..., np.flatnonzero(domain)]
    return np.sort(flat, axis=-1)[..., rank]


def _checked(name: str, x: ArrayLike) -> Any:
    x = array(x)
    if x.dtype.kind not in "iu" and x.dtype.char not in "fd":
        raise ValueError(f"dtype={x.dtype} is not supported by {name}")
    return x


@intercepts("scipy.signal:order_filter")
def order_filter(a: ArrayLike, domain: ArrayLike, rank: int) -> Any:
    domain = np.asarray(domain)
    for size in domain.shape:
        if size % 2 != 1:
            raise ValueError("Each dimension of domain argument should have an odd number of elements.")
    x = _checked("order_filter", a)
    count = np.count_nonzero(domain)
    if not -count <= rank < count:
        raise RuntimeError("rank not within filter footprint size")
    return _ranked(x, domain, int(rank))


def _lengths(kernel_size: ArrayLike | None, ndim: int) -> tuple[int, ...]:
    lengths = tuple(np.broadcast_to(3 if kernel_size is None else np.asarray(kernel_size), (ndim,)).tolist())
    if any(n % 2 != 1 for n in lengths):
        raise ValueError("Each element of kernel_size should be odd.")
    return lengths


@intercepts("scipy.signal:medfilt")
def medfilt(volume: ArrayLike, kernel_size: ArrayLike | None = None) -> Any:
    x = _checked("medfilt", np.atleast_1d(array(volume)))
    lengths = _lengths(kernel_size, x.ndim)
    if any(n > size for n, size in zip(lengths, x.shape, strict=True)):
        warnings.warn("kernel_size exceeds volume extent: the volume will be zero-padded.", stacklevel=2)
    domain = np.ones(lengths, dtype=bool)
    return _ranked(x, domain, domain.size // 2)


@intercepts("scipy.signal:medfilt2d")
def medfilt2d(input: ArrayLike, kernel_size: ArrayLike | None = 3) -> Any:
    x = array(input)
    domain = np.ones(_lengths(kernel_size, 2), dtype=bool)
    return _ranked(x, domain, domain.size // 2)
