"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from wengert.ops import shape as ops
from wengert.tracing.arguments import (
    Out,
    array,
    arrays,
    as_dtype,
    axis_of,
    concrete,
    constant,
    implements,
    into,
    refuse,
)
from wengert.tracing.emit import record
from wengert.tracing.functions.shaping import arrays_or_tracers, ravel
from wengert.tracing.inplace import op_view
from wengert.tracing.tracer import Tracer


@implements(np.diagonal)
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tracer:
    """A read-only view, its axis the last."""
    x = array(a)
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    i, j = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    if i == j:
        raise ValueError("axis1 and axis2 cannot be the same")
    x = np.transpose(x, (*[k for k in range(x.ndim) if k not in (i, j)], i, j))
    row, column = max(-int(offset), 0), max(int(offset), 0)
    n = max(min(x.shape[-2] - row, x.shape[-1] - column), 0)
    square: Any = x[..., row : row + n, column : column + n] if n else x[..., :0, :0]
    return op_view(
        square,
        ops.diagonal,
        {},
        lambda base, new: base,  # never called: read-only
        lambda a: np.diagonal(a, axis1=-2, axis2=-1),
        is_readonly=True,
    )


@implements(np.diag)
def diag(v: ArrayLike, k: int = 0) -> Any:
    x = array(v)
    k = int(k)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    square = record(ops.embed_diagonal, (x,), {})
    return np.pad(square, ((max(-k, 0), max(k, 0)), (max(k, 0), max(-k, 0)))) if k else square


@implements(np.diagflat)
def diagflat(v: ArrayLike, k: int = 0) -> Any:
    return diag(ravel(array(v)), k)


@implements(np.trace, takes_arrays=True)
def trace(
    a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None, out: Out = None
) -> Any:
    return into(out, np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype))


@implements(np.fill_diagonal)
def fill_diagonal(a: Tracer, val: ArrayLike, wrap: bool = False) -> None:
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    if wrap and a.shape[0] > a.shape[1] + 1:
        raise refuse("fill_diagonal", "wrap", True, "wrap=False")
    n = min(a.shape)
    at = constant(a._trace, np.arange(n))
    values = array(val, (a,))
    if values.size:  # NumPy writes nothing of nothing
        a[(at,) * a.ndim] = values if values.ndim == 0 else np.resize(values, (n,))


# ---------------------------------------------------------------------------------------------------- triangles


def _triangle(m: ArrayLike, k: int, is_lower: bool) -> Any:
    x = array(m, (k,))
    rows, columns = x.shape[-2:] if x.ndim > 1 else (x.shape[0], x.shape[0])
    offset = int(concrete(k, "diagonal"))
    mask = np.tri(rows, columns, offset, bool) if is_lower else ~np.tri(rows, columns, offset - 1, bool)
    return np.where(constant(x._trace, mask), x, as_dtype(0, x.dtype, (x,)))


@implements(np.tril)
def tril(m: ArrayLike, k: int = 0) -> Any:
    return _triangle(m, k, True)


@implements(np.triu)
def triu(m: ArrayLike, k: int = 0) -> Any:
    return _triangle(m, k, False)


def _indices_from(name: str, arr: Tracer, k: int) -> tuple[Any, ...]:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    found = getattr(np, name)(arr.shape[0], k=k, m=arr.shape[1])
    return tuple([constant(arr._trace, np.array(i)) for i in found])


@implements(np.tril_indices_from)
def tril_indices_from(arr: Tracer, k: int = 0) -> tuple[Any, ...]:
    return _indices_from("tril_indices", arr, k)


@implements(np.triu_indices_from)
def triu_indices_from(arr: Tracer, k: int = 0) -> tuple[Any, ...]:
    return _indices_from("triu_indices", arr, k)


@implements(np.diag_indices_from)
def diag_indices_from(arr: Tracer) -> tuple[Any, ...]:
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return (constant(arr._trace, np.arange(arr.shape[0])),) * arr.ndim


# -------------------------------------------------------------------------------------------------------- grids


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    xs = arrays(*xi) if copy else arrays_or_tracers(xi)
    ndim = len(xs)
    out = [np.reshape(x, tuple([-1 if k == j else 1 for j in range(ndim)])) for k, x in enumerate(xs)]
    if indexing == "xy" and ndim > 1:
        out = [np.swapaxes(x, 0, 1) for x in out]
    if not sparse:
        shape = np.broadcast_shapes(*[x.shape for x in out])
        out = [np.broadcast_to(x, shape) for x in out]
    return tuple([x.copy() for x in out] if copy else out)


@implements(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    xs = arrays_or_tracers(args)
    out = []
    for k, x in enumerate(xs):
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        index = np.nonzero(x)[0] if x.dtype.kind == "b" else x
        out.append(np.reshape(index, tuple([-1 if j == k else 1 for j in range(len(xs))])))
    return tuple(out)
