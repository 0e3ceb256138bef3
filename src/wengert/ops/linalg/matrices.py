"""Small things that the rules of linear algebra share: triangles, traces, types, costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.errors import ShapeError
from wengert.ops.contract import matmul
from wengert.ops.elementwise import absolute, cast, conjugate, equal, greater_equal, real, real_dtype, select
from wengert.ops.index import INTP, slice_axis
from wengert.ops.kernels import Cost
from wengert.ops.op import OPS, front
from wengert.ops.reduce import max_, sum_
from wengert.ops.shape import concatenate, expand, iota, reshape, transpose
from wengert.tape import Atom, Aval, Lit

ROUNDING = 16  # a number below this many units of rounding, times the order of the matrix, counts as rounding error


def swap(x: Atom) -> Any:
    """Each matrix of ``x`` transposed."""
    n = x.aval.ndim
    return transpose(x, axes=(*range(n - 2), n - 1, n - 2))


def conj(x: Atom) -> Any:
    """The complex conjugate; a real array as it is, so that a formula for complex numbers holds for real ones too."""
    return conjugate(x) if x.aval.dtype.kind == "c" else x


def real_part(x: Atom) -> Any:
    return real(x) if x.aval.dtype.kind == "c" else x


def adjoint(x: Atom) -> Any:
    """Each matrix of ``x`` transposed and conjugated."""
    return swap(conj(x))


WIDER = {"f": np.dtype("d"), "F": np.dtype("D")}
NARROWER = {"d": np.dtype("f"), "D": np.dtype("F")}


def in_double(name: str) -> Callable[..., Any]:
    """The expansion of an op of one matrix that NumPy computes in double precision, and rounds."""

    def expansion(x: Atom, **params: Any) -> Any:
        made = OPS[name]
        if x.aval.dtype.char not in WIDER:
            return made(x, **params)
        results = made(cast(x, WIDER[x.aval.dtype.char]), **params)
        if isinstance(results, tuple):
            return tuple(cast(r, NARROWER[r.aval.dtype.char]) for r in results)
        return cast(results, NARROWER[results.aval.dtype.char])

    return expansion


def trace_of_product(x: Atom, y: Atom) -> Any:
    """tr(xᵀ y), one number for each matrix."""
    n = x.aval.ndim
    return sum_(x * y, axis=(n - 2, n - 1))


def times_matrix(ct: Atom, x: Atom) -> Any:
    """Each matrix of the stack ``x`` times its number in ``ct``."""
    return reshape(ct, shape=(*ct.aval.shape, 1, 1)) * x


def triangle(x: Atom, lower: bool, diagonal: float = 1) -> Any:
    """One triangle of ``x``, its diagonal multiplied by ``diagonal``."""
    n = x.aval.shape[-1]
    row = expand(iota(size=n, dtype=INTP), [1], 2)
    column = expand(iota(size=n, dtype=INTP), [0], 2)
    kept = greater_equal(row, column) if lower else greater_equal(column, row)
    if diagonal != 1:
        x = select(equal(row, column), diagonal * x, x)
    return select(kept, x, Lit(0, x.aval.dtype))


def is_on_diagonal(n: int) -> Any:
    return equal(expand(iota(size=n, dtype=INTP), [1], 2), expand(iota(size=n, dtype=INTP), [0], 2))


def diagonal_of(p: Atom) -> Any:
    kept = select(is_on_diagonal(p.aval.shape[-1]), p, Lit(0, p.aval.dtype))
    return sum_(kept, axis=(p.aval.ndim - 1,))


def rounding(x: Atom) -> Any:
    """The size below which a number is rounding error beside the largest element of its matrix: float[..., 1, 1]."""
    if x.aval.size == 0:
        return Lit(0, real_dtype(x.aval.dtype))
    n = x.aval.ndim
    largest = max_(absolute(x), axis=(n - 2, n - 1))
    unit = ROUNDING * max(x.aval.shape[-2:]) * float(np.finfo(x.aval.dtype).eps)
    return unit * reshape(largest, shape=(*largest.aval.shape, 1, 1))


def square(name: str, a: Aval) -> int:
    """The order of the square matrices in ``a``; raises for others."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{name}: the last two axes are not square: {a}")
    return a.shape[-1]


def same_type(name: str) -> Callable[..., Aval]:
    def result(x: Aval, **params: Any) -> Aval:
        square(name, x)
        return x

    return result


def number_type(name: str) -> Callable[..., Aval]:
    def result(x: Aval) -> Aval:
        square(name, x)
        return Aval(x.shape[:-2], x.dtype)

    return result


def cubic(factor: float, per_column: float = 0) -> Cost:
    """``factor`` n³ flops a matrix, and ``per_column`` n² for each column of a right-hand side."""

    def cost(a: Aval, *others: Aval, **params: Any) -> float:
        n = a.shape[-1]
        columns = others[0].shape[-1] if others else 0
        return a.size * (factor * n + per_column * columns) if n else 0.0

    return cost


# Columns that complete others to a basis, as those of a full svd and a complete qr, are determined up to a rotation
# among themselves. Their derivative has no component within their space, and so is right for functions of the space.


def columns_of(q: Atom, start: int, count: int) -> Any:
    return slice_axis(q, q.aval.ndim - 1, start, count)


def completed(dq: Atom, q: Atom) -> Any:
    """The tangent of all columns of the unitary q = [q₁ q₂], of q̇₁: q̇₂ = −q₁ q̇₁ᴴ q₂."""
    k, n = dq.aval.shape[-1], q.aval.shape[-1]
    if k == n:
        return dq
    others = matmul(adjoint(dq), columns_of(q, k, n - k))
    return concatenate(dq, -matmul(columns_of(q, 0, k), others), axis=q.aval.ndim - 1)


def uncompleted(ct_q: Atom, q: Atom, k: int) -> Any:
    """The cotangent of the first k columns, q̄₁ − q₂ q̄₂ᴴ q₁: the transpose of the above."""
    n = q.aval.shape[-1]
    if k == n:
        return ct_q
    others = matmul(adjoint(columns_of(ct_q, k, n - k)), columns_of(q, 0, k))
    return columns_of(ct_q, 0, k) - matmul(columns_of(q, k, n - k), others)


def batch_all(xs: Sequence[Atom], batched: Sequence[bool], size: int) -> list[Any]:
    return [front(x, b, size) for x, b in zip(xs, batched, strict=True)]
