"""Sums of products: dot, matmul and their kin, each one ``contract`` on the tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike

from wengert.errors import ShapeError, message
from wengert.ops.contract import contract
from wengert.ops.shape import reshape
from wengert.tracing.arguments import (
    Out,
    Traced,
    array,
    arrays,
    axis_of,
    implements,
    into,
    knows_order,
    not_scalar,
    promote,
    refuse,
    strong_arrays,
    trace_near,
)
from wengert.tracing.emit import record
from wengert.tracing.functions.shaping import broadcast_to, ravel, reshaped
from wengert.tracing.operators import COMPOSED_UFUNCS, DIRECT_STEPS
from wengert.tracing.tracer import Tracer

# ------------------------------------------------------------------------------------------------ matrix products

_MATMUL: dict[tuple[int, int], dict[str, tuple[int, ...]]] = {
    (1, 1): {"a": (0,), "b": (0,), "out": ()},
    (1, 2): {"a": (0,), "b": (0, 1), "out": (1,)},
    (2, 1): {"a": (0, 1), "b": (1,), "out": (0,)},
    (2, 2): {"a": (0, 1), "b": (1, 2), "out": (0, 2)},
}


def _mismatch(name: str, m: int, n: int, x: Tracer, y: Tracer) -> ShapeError:
    return ShapeError(
        message(
            f"{name}: inner dimensions differ, {m} and {n}: {x.dtype}{list(x.shape)} with {y.dtype}{list(y.shape)}",
            trace_near((x, y)).locate(),
        )
    )


def matmul(x: Any, y: Any) -> Any:
    """``x @ y``: stacks of matrices broadcast over the axes before the last two."""
    x, y = x if type(x) is Tracer else array(x, (y,)), y if type(y) is Tracer else array(y, (x,))
    if x.aval.dtype is not y.aval.dtype:
        x, y = promote(x, y)
    nx, ny = len(x.aval.shape), len(y.aval.shape)
    if not nx or not ny:
        raise ValueError("matmul: an operand does not have enough dimensions")
    m, n = x.aval.shape[-1], y.aval.shape[-2 if ny > 1 else 0]
    if m != n:
        raise _mismatch("matmul", m, n, x, y)
    labels = _MATMUL.get((nx, ny))
    if labels is not None:
        DIRECT_STEPS[np.matmul, x.aval, y.aval] = (contract, labels)
        return record(contract, (x, y), labels)
    i, j, k = 1000, 1001, 1002  # beyond any number of stack axes
    left, right = ((i, k) if nx > 1 else (k,)), ((k, j) if ny > 1 else (k,))
    return stacked_product(x, y, left, right, (*left[:-1], *right[1:]))


def stacked_product(x: Tracer, y: Tracer, left: tuple[int, ...], right: tuple[int, ...], out: tuple[int, ...]) -> Any:
    """The last axes of each operand are labelled, those before them are stacks, which broadcast."""
    stack_x, stack_y = x.shape[: x.ndim - len(left)], y.shape[: y.ndim - len(right)]
    try:
        stack = np.broadcast_shapes(stack_x, stack_y)
    except ValueError:
        raise ShapeError(
            message(f"stacks do not broadcast: {x.aval} with {y.aval}", trace_near((x, y)).locate())
        ) from None
    x, a = _without_repeats(x, stack_x, stack, left)
    y, b = _without_repeats(y, stack_y, stack, right)
    used = {*a, *b}
    lead = tuple([k for k in range(len(stack)) if k in used])
    product = record(contract, (x, y), {"a": a, "b": b, "out": (*lead, *out)})
    if len(lead) == len(stack):
        return product
    return record(reshape, (product,), {"shape": (*stack, *product.shape[len(lead) :])})


def _without_repeats(
    x: Tracer, own: tuple[int, ...], stack: tuple[int, ...], labels: tuple[int, ...]
) -> tuple[Any, tuple[int, ...]]:
    """``x`` without stack axes of length 1, along which it repeats, and the labels of those that stay."""
    offset = len(stack) - len(own)
    kept = [k for k, n in enumerate(own) if n != 1]
    if len(kept) < len(own):
        x = record(reshape, (x,), {"shape": (*[own[k] for k in kept], *x.shape[len(own) :])})
    return x, (*[k + offset for k in kept], *labels)


implements(np.matmul)(matmul)


@knows_order
@implements(np.dot, takes_arrays=True)
def dot(a: ArrayLike, b: ArrayLike, out: Out = None) -> Any:
    """Over the last axis of ``a`` and the last but one of ``b``; all other axes stay."""
    x, y = promote(*strong_arrays(a, b))
    nx, ny = x.ndim, y.ndim
    if nx == 0 or ny == 0:
        return into(out, np.multiply(x, y))
    m, n = x.shape[-1], y.shape[-2 if ny > 1 else 0]
    if m != n:
        raise _mismatch("dot", m, n, x, y)
    labels = _MATMUL.get((nx, ny))
    if labels is None:
        return into(out, _tensor_product(x, y, (nx - 1,), (max(ny - 2, 0),)))
    return into(out, record(contract, (x, y), labels))


def _tensor_product(x: Traced, y: Traced, axes_x: tuple[int, ...], axes_y: tuple[int, ...]) -> Any:
    """Contract axes pairwise; what stays of ``x`` comes first."""
    a = tuple(range(x.ndim))
    b = [0] * y.ndim
    for i, j in zip(axes_x, axes_y, strict=True):
        b[j] = i
    rest = [j for j in range(y.ndim) if j not in axes_y]
    for k, j in enumerate(rest):
        b[j] = x.ndim + k
    out = (*[k for k in a if k not in axes_x], *[b[j] for j in rest])
    return record(contract, (x, y), {"a": a, "b": tuple(b), "out": out})


@knows_order
@implements(np.inner, takes_arrays=True)
def inner(a: ArrayLike, b: ArrayLike, /) -> Any:
    x, y = promote(*strong_arrays(a, b))
    if x.ndim == 0 or y.ndim == 0:
        return np.multiply(x, y)
    if x.shape[-1] != y.shape[-1]:
        raise _mismatch("inner", x.shape[-1], y.shape[-1], x, y)
    return _tensor_product(x, y, (x.ndim - 1,), (y.ndim - 1,))


@knows_order
@implements(np.outer, takes_arrays=True)
def outer(a: ArrayLike, b: ArrayLike, out: Out = None) -> Any:
    x, y = promote(*strong_arrays(a, b))
    return into(out, record(contract, (ravel(x), ravel(y)), {"a": (0,), "b": (1,), "out": (0, 1)}))


@implements(np.vdot, takes_arrays=True)
def vdot(a: ArrayLike, b: ArrayLike, /) -> Any:
    x, y = promote(*strong_arrays(a, b))
    return dot(np.conjugate(ravel(x)) if x.dtype.kind == "c" else ravel(x), ravel(y))


def _last_axes(name: str, x: Traced, y: Traced, n_x: int, n_y: int) -> tuple[Any, Any]:
    x, y = promote(*strong_arrays(x, y))
    if x.ndim < n_x or y.ndim < n_y:
        raise ValueError(f"{name}: an operand does not have enough dimensions")
    return x, y


def vecdot(a: Traced, b: Traced) -> Any:
    """Σ_k conj(a)ₖ bₖ over the last axis, the others broadcast."""
    x, y = _last_axes("vecdot", a, b, 1, 1)
    if x.shape[-1] != y.shape[-1]:
        raise _mismatch("vecdot", x.shape[-1], y.shape[-1], x, y)
    return stacked_product(np.conjugate(x) if x.dtype.kind == "c" else x, y, (1000,), (1000,), ())


def matvec(a: Traced, b: Traced) -> Any:
    x, y = _last_axes("matvec", a, b, 2, 1)
    if x.shape[-1] != y.shape[-1]:
        raise _mismatch("matvec", x.shape[-1], y.shape[-1], x, y)
    return stacked_product(x, y, (1000, 1001), (1001,), (1000,))


def vecmat(a: Traced, b: Traced) -> Any:
    x, y = _last_axes("vecmat", a, b, 1, 2)
    if x.shape[-1] != y.shape[-2]:
        raise _mismatch("vecmat", x.shape[-1], y.shape[-2], x, y)
    return stacked_product(np.conjugate(x) if x.dtype.kind == "c" else x, y, (1000,), (1000, 1001), (1001,))


# ----------------------------------------------------------------------------------------------- tensor products


@knows_order
@implements(np.tensordot, takes_arrays=True)
def tensordot(a: ArrayLike, b: ArrayLike, axes: int | Sequence[int] | Sequence[Sequence[int]] = 2) -> Any:
    x, y = promote(*strong_arrays(a, b))
    if isinstance(axes, int | np.integer):
        axes_x, axes_y = tuple(range(x.ndim - int(axes), x.ndim)), tuple(range(int(axes)))
    else:
        left, right = axes
        axes_x, axes_y = normalize_axis_tuple(left, x.ndim), normalize_axis_tuple(right, y.ndim)
    if [x.shape[i] for i in axes_x] != [y.shape[j] for j in axes_y] or len(axes_x) != len(axes_y):
        raise ShapeError(message(f"shape-mismatch for sum: {x.aval} with {y.aval}", trace_near((x, y)).locate()))
    return not_scalar(_tensor_product(x, y, axes_x, axes_y))


@implements(np.kron, takes_arrays=True)
def kron(a: ArrayLike, b: ArrayLike) -> Any:
    x, y = promote(*strong_arrays(a, b))
    ndim = max(x.ndim, y.ndim)
    x, y = [reshaped(z, (*[1] * (ndim - z.ndim), *z.shape)) for z in (x, y)]
    labels_x, labels_y = tuple(range(ndim)), tuple(range(ndim, 2 * ndim))
    interleaved = tuple([k for pair in zip(labels_x, labels_y, strict=True) for k in pair])
    product = record(contract, (x, y), {"a": labels_x, "b": labels_y, "out": interleaved})
    return record(reshape, (product,), {"shape": tuple([m * n for m, n in zip(x.shape, y.shape, strict=True)])})


@implements(np.cross, takes_arrays=True)
def cross(a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    if axis is not None:
        axisa, axisb, axisc = (axis,) * 3
    x: Any
    y: Any
    x, y = arrays(a, b)
    x = np.moveaxis(x, axis_of(axisa, x.ndim), -1)
    y = np.moveaxis(y, axis_of(axisb, y.ndim), -1)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        if x.shape[-1] in (2, 3) and y.shape[-1] in (2, 3):
            raise refuse(
                "cross", "dimension", 2, "vectors of length 3", "x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]"
            )
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {x.shape[-1]} and "
            f"{y.shape[-1]} dimensional instead."
        )
    x0, x1, x2 = x[..., 0], x[..., 1], x[..., 2]
    y0, y1, y2 = y[..., 0], y[..., 1], y[..., 2]
    product = np.stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0], axis=-1)
    return np.moveaxis(product, -1, axis_of(axisc, product.ndim))


# -------------------------------------------------------------------------------------------------- convolution

_UNROLLED = 16  # products with so few taps are one fused elementwise kernel
_BLOCK = 256


def _slide(x: Traced, taps: Traced) -> Any:
    """yᵢ = Σₖ tapsₖ xᵢ₊ₖ, for every i at which all taps have a partner.

    Many taps become one matrix product. ``x`` is cut into blocks, each output block needs its own and the next few
    of them, and the taps stand as a band in a matrix: O(n m) flops, O(n) numbers beside a band of blocks.
    """
    m, n_out = taps.shape[0], x.shape[0] - taps.shape[0] + 1
    if m <= _UNROLLED:
        total = taps[0] * x[:n_out]
        for k in range(1, m):
            total = total + taps[k] * x[k : k + n_out]
        return total
    size = min(_BLOCK, m - 1)
    n_blocks, reach = -(-n_out // size), -(-(m - 1) // size)  # an output block reads 1 + reach blocks of x
    rows = np.pad(x, (0, (n_blocks + reach) * size - x.shape[0])).reshape(n_blocks + reach, size)
    windows = np.concatenate([rows[k : k + n_blocks] for k in range(reach + 1)], axis=1)
    width = (reach + 1) * size  # band[j, j + k] = tapsₖ: each row is the one above, moved one place on
    band = np.pad(taps, (0, width + 1 - m))
    band = broadcast_to(band, (size, width + 1)).reshape(-1)[: size * width].reshape(size, width)
    return matmul(windows, np.transpose(band)).reshape(-1)[:n_out]


def _padding(mode: str, n: int, m: int) -> tuple[int, int]:
    """How many zeros stand on each side of the longer operand, of length n; the other has length m."""
    if mode in ("valid", 0):
        return 0, 0
    if mode in ("same", 1):
        return m // 2, m - 1 - m // 2
    if mode in ("full", 2):
        return m - 1, m - 1
    raise ValueError("mode must be one of 'valid', 'same', or 'full'")


def _sliding_pair(a: ArrayLike, v: ArrayLike) -> tuple[Any, Any]:
    x, y = promote(*strong_arrays(a, v))
    x, y = np.atleast_1d(x), np.atleast_1d(y)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError("object too deep for desired array")
    if x.shape[0] == 0 or y.shape[0] == 0:
        raise ValueError(f"{'a' if x.shape[0] == 0 else 'v'} cannot be empty")
    return x, y


@implements(np.correlate)
def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> Any:
    x, y = _sliding_pair(a, v)
    if y.shape[0] > x.shape[0]:
        z = correlate(y, x, mode)[::-1]
        return np.conjugate(z) if z.dtype.kind == "c" else z
    conjugated = np.conjugate(y) if y.dtype.kind == "c" else y  # of booleans NumPy's would be integers
    return _slide(np.pad(x, _padding(mode, x.shape[0], y.shape[0])), conjugated)


@implements(np.convolve)
def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Any:
    x, y = _sliding_pair(a, v)
    if y.shape[0] > x.shape[0]:
        x, y = y, x
    return _slide(np.pad(x, _padding(mode, x.shape[0], y.shape[0])), y[::-1])


COMPOSED_UFUNCS[np.matmul] = matmul
