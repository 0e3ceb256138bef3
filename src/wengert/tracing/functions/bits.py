"""Booleans packed into bytes, eight into one, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.tracing.arguments import Axis, array, axis_of, constant, implements, knows_order
from wengert.tracing.functions.selecting import truth
from wengert.tracing.functions.shaping import ravel

_BYTE = np.dtype(np.uint8)


def _places(bitorder: str) -> list[int]:
    """Return by how much each bit of a byte is moved, in the order in which they stand."""
    if not isinstance(bitorder, str):
        raise TypeError(f"packbits() argument 'bitorder' must be str, not {type(bitorder).__name__}")
    if bitorder[:1] not in ("b", "l"):
        raise ValueError("'order' must begin with 'l' or 'b'")
    return list(range(8)) if bitorder[0] == "l" else list(range(7, -1, -1))


def _on_last_axis(x: Any, axis: Axis) -> tuple[Any, int]:
    """``x`` with the axis of its bits at the end, and which it was; raveled if ``axis`` is None."""
    x = ravel(x) if axis is None or x.ndim == 0 else x
    axis = 0 if axis is None else axis_of(axis, x.ndim)
    return np.moveaxis(x, axis, -1), axis


@knows_order
@implements(np.packbits)
def packbits(a: ArrayLike, /, axis: Axis = None, bitorder: str = "big") -> Any:
    x = array(a)
    if x.dtype.kind not in "iub":
        raise TypeError("Expected an input array of integer or boolean data type")
    places = constant(x._trace, np.array(_places(bitorder)), _BYTE)
    bits, axis = _on_last_axis(truth(x), axis)
    short = -bits.shape[-1] % 8
    bits = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, short)]) if short else bits
    rows = np.reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8)).astype(_BYTE)
    return np.moveaxis(np.sum(rows << places, axis=-1, dtype=_BYTE), -1, axis).copy()


@knows_order
@implements(np.unpackbits)
def unpackbits(a: ArrayLike, /, axis: Axis = None, count: int | None = None, bitorder: str = "big") -> Any:
    x = array(a)
    if x.dtype != _BYTE:
        raise TypeError("Expected an input array of unsigned byte data type")
    places = constant(x._trace, np.array(_places(bitorder)), _BYTE)
    rows, axis = _on_last_axis(x, axis)
    bits = np.reshape((rows[..., None] >> places) & np.uint8(1), (*rows.shape[:-1], 8 * rows.shape[-1]))
    n = bits.shape[-1]
    if count is not None:
        length = int(count) if count >= 0 else n + int(count)
        if length < 0:
            raise ValueError("-count larger than number of elements")
        bits = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, length - n)]) if length > n else bits[..., :length]
    return np.moveaxis(bits, -1, axis).copy()
