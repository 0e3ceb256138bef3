"""Banded and Toeplitz matrices, by SciPy's routines, which need no matrix of n by n.

A band of l diagonals below the main one and u above is an array ab[..., l + u + 1, n] with ab[u + i − j, j] = a[i, j].
The elements of its corners, which lie outside of the matrix, are not read, and have cotangents of zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.errors import ShapeError
from wengert.ops.contract import matmul
from wengert.ops.elementwise import cast, greater_equal, less, maximum, minimum, select
from wengert.ops.index import INTP, reverse, slice_axis, take_along
from wengert.ops.linalg.factorisations import cholesky_pullback, cholesky_pushforward
from wengert.ops.linalg.matrices import adjoint, batch_all, conj, real_part, swap
from wengert.ops.linalg.stacks import Array, over_stack, scipy_linalg
from wengert.ops.op import op
from wengert.ops.reduce import sum_
from wengert.ops.shape import broadcast_to, concatenate, expand, iota, reshape, zeros
from wengert.tape import Atom, Aval, Lit

# ------------------------------------------------------------------------------------------------- bands and matrices


def _shifted(x: Atom, axis: int, by: int) -> Any:
    """The y with y[j] = x[j − by] along an axis, which counts from the end, and zeros from outside."""
    axis += x.aval.ndim
    n = x.aval.shape[axis]
    width = min(abs(by), n)
    if width == 0:
        return x
    shape = (*x.aval.shape[:axis], width, *x.aval.shape[axis + 1 :])
    nothing = zeros(Aval(shape, x.aval.dtype))
    if by > 0:
        return concatenate(nothing, slice_axis(x, axis, 0, n - width), axis=axis)
    return concatenate(slice_axis(x, axis, width, n - width), nothing, axis=axis)


def _joined(parts: Sequence[Any], axis: int) -> Any:
    """The parts on a new axis, which counts from the end of the result."""
    ndim = parts[0].aval.ndim + 1
    axis += ndim
    shape = parts[0].aval.shape
    with_axis = [reshape(x, shape=(*shape[:axis], 1, *shape[axis:])) for x in parts]
    return with_axis[0] if len(parts) == 1 else concatenate(*with_axis, axis=axis)


def _row(ab: Atom, r: int) -> Any:
    one = slice_axis(ab, ab.aval.ndim - 2, r, 1)
    return reshape(one, shape=(*ab.aval.shape[:-2], ab.aval.shape[-1]))


def _column(x: Atom) -> Any:
    return reshape(x, shape=(*x.aval.shape, 1))


def transposed_band(ab: Atom, lower: int, upper: int) -> Any:
    """The band of aᵀ, which has ``upper`` diagonals below the main one."""
    return _joined([_shifted(_row(ab, r), -1, r - upper) for r in reversed(range(lower + upper + 1))], -2)


def _transposed_array(ab: Array, lower: int, upper: int) -> Array:
    out = np.zeros_like(ab)
    n = ab.shape[-1]
    for r in range(lower + upper + 1):
        below = r - upper
        columns = np.arange(max(0, -below), min(n, n - below))
        out[..., lower - below, columns + below] = ab[..., r, columns]
    return out


def band_times(ab: Atom, x: Atom, lower: int, upper: int) -> Any:
    """a x, for x[..., n, k]."""
    total: Any = None
    for r in range(lower + upper + 1):
        term = _shifted(_column(_row(ab, r)) * x, -2, r - upper)
        total = term if total is None else total + term
    return total


def band_of_product(x: Atom, y: Atom, lower: int, upper: int) -> Any:
    """The band of x yᵀ, for x[..., n, k] and y[..., n, k]."""
    last = x.aval.ndim - 1
    rows = [sum_(_shifted(x, -2, upper - r) * y, axis=(last,)) for r in range(lower + upper + 1)]
    return _joined(rows, -2)


def _clipped(at: Atom, limit: int) -> tuple[Any, Any]:
    """Indices brought into 0 … limit − 1, and the mask of those that were."""
    inside = greater_equal(at, 0) & less(at, limit)
    return minimum(maximum(at, 0), limit - 1), inside


def _grid(rows: int, columns: int) -> tuple[Any, Any]:
    return expand(iota(size=rows, dtype=INTP), [1], 2), expand(iota(size=columns, dtype=INTP), [0], 2)


def _taken(x: Atom, at: Atom, axis: int) -> Any:
    """``take_along_axis`` with indices for one matrix, and zeros where they are outside."""
    axis += x.aval.ndim
    index, inside = _clipped(at, x.aval.shape[axis])
    index = broadcast_to(expand(index, range(x.aval.ndim - 2), x.aval.ndim), shape=(*x.aval.shape[:-2], *at.aval.shape))
    return select(inside, take_along(x, index, axis), Lit(0, x.aval.dtype))


def dense_of_band(ab: Atom, upper: int) -> Any:
    """The matrix of a band."""
    i, j = _grid(ab.aval.shape[-1], ab.aval.shape[-1])
    return _taken(ab, i - j + upper, -2)


def band_of_dense(a: Atom, lower: int, upper: int) -> Any:
    """The band of a matrix, of which the rest is left out: the transpose of the above."""
    r, j = _grid(lower + upper + 1, a.aval.shape[-1])
    return _taken(a, r + j - upper, -2)


# ------------------------------------------------------------------------------------------------------- solutions


def _banded_type(ab: Aval, b: Aval, *, lower: int, upper: int, transpose: bool) -> Aval:
    if ab.shape[-1] != b.shape[-2] or ab.shape[-2] != lower + upper + 1:
        raise ShapeError(f"solve_banded: {ab} and {b} do not fit {lower} diagonals below and {upper} above")
    return b


def _banded_one(ab: Array, b: Array, *, lower: int, upper: int, transpose: bool) -> Any:
    if transpose:
        ab, lower, upper = _transposed_array(ab, lower, upper), upper, lower
    return scipy_linalg().solve_banded((lower, upper), ab, b, check_finite=False)


def _banded_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Atom, **params: Any) -> Any:
    """ẏ = a⁻¹ (ḃ − ȧ y)."""
    (ab, _), (dab, rate) = xs, dxs
    lower, upper = params["lower"], params["upper"]
    if dab is not None:
        if params["transpose"]:
            moved = band_times(transposed_band(dab, lower, upper), y, upper, lower)
        else:
            moved = band_times(dab, y, lower, upper)
        rate = -moved if rate is None else rate - moved
    return banded_solve(ab, rate, **params)


def _banded_pullback_b(ct: Atom, ab: Atom, b: Atom, y: Atom, **params: Any) -> Any:
    return banded_solve(ab, ct, **{**params, "transpose": not params["transpose"]})


def _banded_pullback_ab(ct: Atom, ab: Atom, b: Atom, y: Atom, **params: Any) -> Any:
    """The band of −b̄ yᵀ, or of −y b̄ᵀ where aᵀ was solved."""
    ct_b = _banded_pullback_b(ct, ab, b, y, **params)
    x, z = (y, ct_b) if params["transpose"] else (ct_b, y)
    return -band_of_product(x, z, params["lower"], params["upper"])


banded_solve = op(  # a⁻¹ b, or a⁻ᵀ b, of the matrix with the band ab; b is float[..., n, k]
    over_stack(_banded_one, _banded_type),
    name="banded_solve",
    type=_banded_type,
    cost=lambda ab, b, **params: 2.0 * ab.size * (ab.shape[-2] + b.shape[-1]),
    pushforward=_banded_pushforward,
    pullback=[_banded_pullback_ab, _banded_pullback_b],
    batch=lambda xs, batched, size, **params: banded_solve(*batch_all(xs, batched, size), **params),
)


def full_band(ab: Atom, lower: bool) -> Any:
    """The band of the Hermitian matrix of which ``ab`` is the half below, or above, with the main diagonal."""
    w = ab.aval.shape[-2] - 1
    if lower:
        rows = [conj(_shifted(_row(ab, d), -1, d)) for d in range(w, 0, -1)]
        middle, rest = _row(ab, 0), [_row(ab, d) for d in range(1, w + 1)]
    else:
        rows = [_row(ab, r) for r in range(w)]
        middle, rest = _row(ab, w), [conj(_shifted(_row(ab, w - d), -1, -d)) for d in range(1, w + 1)]
    return _joined([*rows, cast(real_part(middle), ab.aval.dtype), *rest], -2)


def half_band(ct: Atom, lower: bool) -> Any:
    """The transpose of :func:`full_band`."""
    w = ct.aval.shape[-2] // 2
    middle = cast(real_part(_row(ct, w)), ct.aval.dtype)
    if lower:
        below = [_row(ct, w + d) + conj(_shifted(_row(ct, w - d), -1, -d)) for d in range(1, w + 1)]
        return _joined([middle, *below], -2)
    above = [_row(ct, w - d) + conj(_shifted(_row(ct, w + d), -1, d)) for d in range(w, 0, -1)]
    return _joined([*above, middle], -2)


def _hermitian_type(ab: Aval, b: Aval, *, lower: bool) -> Aval:
    if ab.shape[-1] != b.shape[-2]:
        raise ShapeError(f"solveh_banded: {ab} and {b} do not fit")
    return b


def _hermitian_one(ab: Array, b: Array, *, lower: bool) -> Any:
    return scipy_linalg().solveh_banded(ab, b, lower=lower, check_finite=False)


def _hermitian_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Atom, *, lower: bool) -> Any:
    (ab, _), (dab, rate) = xs, dxs
    if dab is not None:
        w = ab.aval.shape[-2] - 1
        moved = band_times(full_band(dab, lower), y, w, w)
        rate = -moved if rate is None else rate - moved
    return hermitian_banded_solve(ab, rate, lower=lower)


def _hermitian_pullback_b(ct: Atom, ab: Atom, b: Atom, y: Atom, *, lower: bool) -> Any:
    return conj(hermitian_banded_solve(ab, conj(ct), lower=lower))


def _hermitian_pullback_ab(ct: Atom, ab: Atom, b: Atom, y: Atom, *, lower: bool) -> Any:
    w = ab.aval.shape[-2] - 1
    ct_b = _hermitian_pullback_b(ct, ab, b, y, lower=lower)
    return half_band(-band_of_product(ct_b, y, w, w), lower)


hermitian_banded_solve = op(  # a⁻¹ b of the positive definite matrix with the half band ab; b is float[..., n, k]
    over_stack(_hermitian_one, _hermitian_type),
    name="hermitian_banded_solve",
    type=_hermitian_type,
    cost=lambda ab, b, **params: 2.0 * ab.size * (ab.shape[-2] + 2 * b.shape[-1]),
    pushforward=_hermitian_pushforward,
    pullback=[_hermitian_pullback_ab, _hermitian_pullback_b],
    is_holomorphic=False,
    batch=lambda xs, batched, size, **params: hermitian_banded_solve(*batch_all(xs, batched, size), **params),
)


# --------------------------------------------------------------------------------------------------------- Cholesky


def _cholesky_one(ab: Array, *, lower: bool) -> Any:
    return scipy_linalg().cholesky_banded(ab, lower=lower, check_finite=False)


def _corner(ab: Atom, lower: bool) -> Any:
    """bool[w + 1, n]: the elements outside of the matrix, which LAPACK leaves as they came."""
    r, j = _grid(*ab.aval.shape[-2:])
    if lower:
        return greater_equal(r + j, ab.aval.shape[-1])
    return less(r + j, ab.aval.shape[-2] - 1)


def _dense(ab: Atom, lower: bool) -> Any:
    """The lower triangular matrix of a half band, or its adjoint's."""
    a = dense_of_band(ab, 0 if lower else ab.aval.shape[-2] - 1)
    return a if lower else adjoint(a)


def _half(a: Atom, lower: bool, width: int) -> Any:
    return band_of_dense(a, width, 0) if lower else band_of_dense(adjoint(a), 0, width)


def _banded_cholesky_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Atom, *, lower: bool) -> Any:
    found = cholesky_pushforward([_dense(xs[0], lower)], [_dense(dxs[0], lower)], _dense(y, lower))
    return select(_corner(y, lower), dxs[0], _half(found, lower, y.aval.shape[-2] - 1))


def _banded_cholesky_pullback(ct: Atom, ab: Atom, y: Atom, *, lower: bool) -> Any:
    """The rule is that of dense matrices. Not known to be optimal: O(n w²) operations are enough, for w diagonals."""
    found = cholesky_pullback(_dense(ct, lower), _dense(ab, lower), _dense(y, lower))
    return select(_corner(y, lower), ct, _half(found, lower, y.aval.shape[-2] - 1))


banded_cholesky = op(  # the half band of the factor of the positive definite matrix with the half band ab
    over_stack(_cholesky_one, lambda ab, *, lower: ab),
    name="banded_cholesky",
    type=lambda ab, *, lower: ab,
    cost=lambda ab, **params: 1.0 * ab.size * ab.shape[-2],
    pushforward=_banded_cholesky_pushforward,
    pullback=[_banded_cholesky_pullback],
    is_holomorphic=False,
    batch=lambda xs, batched, size, **params: banded_cholesky(xs[0], **params),
)


# --------------------------------------------------------------------------------------------------------- Toeplitz


def _toeplitz_type(c: Aval, r: Aval, b: Aval) -> Aval:
    if c.shape != r.shape or c.shape[-1] != b.shape[-2]:
        raise ShapeError(f"solve_toeplitz: {c}, {r} and {b} do not fit")
    return b


def _toeplitz_one(c: Array, r: Array, b: Array) -> Any:
    return scipy_linalg().solve_toeplitz((c, r), b, check_finite=False)


def _toeplitz(c: Atom, r: Atom) -> Any:
    """The matrix with the first column c and the first row r, of which the first element is not read."""
    n, last = c.aval.shape[-1], c.aval.ndim - 1
    v = concatenate(reverse(slice_axis(r, last, 1, n - 1), last), c, axis=last)
    v = broadcast_to(reshape(v, shape=(*v.aval.shape[:-1], 1, 2 * n - 1)), shape=(*v.aval.shape[:-1], n, 2 * n - 1))
    i, j = _grid(n, n)
    return _taken(v, i - j + (n - 1), -1)


def _sums_of_diagonals(a: Atom) -> tuple[Any, Any]:
    """The sums along the diagonals of a matrix, as c̄ and r̄: the transpose of the above."""
    n, last = a.aval.shape[-1], a.aval.ndim - 2
    i, t = _grid(n, 2 * n - 1)
    v = sum_(_taken(a, i - t + (n - 1), -1), axis=(a.aval.ndim - 2,))
    first = zeros(Aval((*v.aval.shape[:-1], 1), v.aval.dtype))
    of_r = concatenate(first, reverse(slice_axis(v, last, 0, n - 1), last), axis=last)
    return slice_axis(v, last, n - 1, n), of_r


def _transposed_toeplitz_solve(c: Atom, r: Atom, b: Atom) -> Any:
    n, last = c.aval.shape[-1], c.aval.ndim - 1
    column = concatenate(slice_axis(c, last, 0, 1), slice_axis(r, last, 1, n - 1), axis=last)
    return toeplitz_solve(column, c, b)


def _toeplitz_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Atom) -> Any:
    (c, r, _), (dc, dr, rate) = xs, dxs
    if dc is not None or dr is not None:
        dt = _toeplitz(zeros(c.aval) if dc is None else dc, zeros(r.aval) if dr is None else dr)
        moved = matmul(dt, y)
        rate = -moved if rate is None else rate - moved
    return toeplitz_solve(c, r, rate)


def _toeplitz_pullback(operand: int) -> Any:
    def pullback(ct: Atom, c: Atom, r: Atom, b: Atom, y: Atom) -> Any:
        return _sums_of_diagonals(-matmul(_transposed_toeplitz_solve(c, r, ct), swap(y)))[operand]

    return pullback


toeplitz_solve = op(  # T⁻¹ b, T with the first column c[..., n] and the first row r[..., n]; b is float[..., n, k]
    over_stack(_toeplitz_one, _toeplitz_type, (1, 1, 2)),
    name="toeplitz_solve",
    type=_toeplitz_type,
    cost=lambda c, r, b: 4.0 * c.size * c.shape[-1] * (1 + b.shape[-1]),
    pushforward=_toeplitz_pushforward,
    pullback=[
        _toeplitz_pullback(0),
        _toeplitz_pullback(1),
        lambda ct, c, r, b, y: _transposed_toeplitz_solve(c, r, ct),
    ],
    batch=lambda xs, batched, size: toeplitz_solve(*batch_all(xs, batched, size)),
)
