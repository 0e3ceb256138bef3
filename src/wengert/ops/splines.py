"""``spline_filter``: the coefficients of the spline that goes through given values, along one axis; and its transpose.

The values are A c, with a matrix A of few diagonals, and a recursion forwards and backwards solves that. A is symmetric
where a spline is continued by reflection about the edge, or periodically. Where it is mirrored in the outermost element
itself, D A is, D = diag(½, 1, …, 1, ½). So the transpose is the same filter, between two scalings in that case.

Source: Unser, Aldroubi and Eden (1993), B-spline signal processing II, IEEE Trans. Signal Processing 41:2.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from wengert.ops.kernels import Callback, flops
from wengert.ops.op import linear
from wengert.tape import Atom, Aval

Array = np.ndarray[Any, Any]
MIRRORED = ("mirror", "constant", "grid-constant", "wrap")
"""The modes in which SciPy mirrors a spline in the outermost element."""

SHORT = 64
"""Up to this length SciPy's filter is not symmetric where it should be: it cuts a series of reflections off."""


def _filter(x: Array, order: int, axis: int, mode: str) -> Array:
    found: Array = import_module("scipy.ndimage").spline_filter1d(x, order, axis, x.dtype, mode)
    return found


def _reference(x: Array, *, order: int, axis: int, mode: str, is_transposed: bool) -> Array:
    n = x.shape[axis]
    if not is_transposed or n < 2:
        return _filter(x, order, axis, mode)
    if mode in MIRRORED:
        scale = np.ones(n, x.dtype)
        scale[[0, -1]] = 2
        scale = scale.reshape([-1 if k == axis else 1 for k in range(x.ndim)])
        return _filter(x * scale, order, axis, mode) / scale
    if n > SHORT:
        return _filter(x, order, axis, mode)
    matrix = _filter(np.eye(n, dtype=x.dtype), order, 0, mode)
    return np.moveaxis(np.tensordot(matrix, x, ((0,), (axis,))), 0, axis)


def _batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, *, axis: int, **params: Any) -> Any:
    return spline_filter(xs[0], axis=axis + 1, **params)


spline_filter = linear(  # of x float, along one axis of it: the same type
    _reference,
    name="spline_filter",
    type=lambda x, **params: Aval(x.shape, x.dtype),
    kernel=Callback("computed by scipy.ndimage"),
    transpose=lambda ct, x, *, is_transposed, **params: spline_filter(ct, is_transposed=not is_transposed, **params),
    batch=_batch,
    cost=flops(8),
)
