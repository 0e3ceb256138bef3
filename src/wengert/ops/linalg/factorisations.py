"""Factorisations of matrices.

``cholesky`` reads the lower triangle of its operand alone, as NumPy's does, and its derivative is that of what is
computed: tangents of the upper triangle are not read, and the cotangent has zeros there. So it is what differences
say, and right for a matrix of which only the lower triangle was filled. Where the matrix is made symmetric of something
else, ``a @ a.T`` or ``(a + a.T) / 2``, the cotangent of that is the same as with one that is shared by both triangles.
Of complex matrices only the real parts of the diagonal are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.errors import ShapeError
from wengert.ops.contract import matmul
from wengert.ops.elementwise import absolute, less_equal, select
from wengert.ops.index import slice_axis
from wengert.ops.kernels import Routine
from wengert.ops.linalg.matrices import (
    adjoint,
    columns_of,
    completed,
    conj,
    cubic,
    diagonal_of,
    in_double,
    rounding,
    same_type,
    swap,
    triangle,
    uncompleted,
)
from wengert.ops.linalg.solutions import triangular_solve
from wengert.ops.op import op
from wengert.ops.reduce import min_
from wengert.ops.shape import concatenate, reshape, zeros
from wengert.tape import Atom, Aval, Lit


def cholesky_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Atom) -> Any:
    """ẏ = y Φ(y⁻¹ (Φ(ẋ) + Φ(ẋ)ᴴ) y⁻ᴴ), Φ(A) = tril(A) with its diagonal halved.

    Source: Murray (2016), Differentiation of the Cholesky decomposition, arXiv:1602.07527, equation 8.
    """
    half = triangle(dxs[0], True, diagonal=0.5)
    dx = half + adjoint(half)  # the Hermitian matrix with the lower triangle of ẋ
    left = triangular_solve(y, dx, lower=True, transpose=False)  # y⁻¹ ẋ
    both = triangular_solve(y, adjoint(left), lower=True, transpose=False)  # y⁻¹ (y⁻¹ ẋ)ᴴ = y⁻¹ ẋ y⁻ᴴ
    return matmul(y, triangle(both, True, diagonal=0.5))


def cholesky_pullback(ct: Atom, x: Atom, y: Atom) -> Any:
    """Cotangent of ``x`` for ``y = cholesky(x)``.

    x, y, ct : float[..., n, n]; y lower triangular, of ct only the lower triangle counts.
    Returns float[..., n, n], lower triangular.

        x̄ = Φ(S + Sᴴ),   S = y⁻ᴴ Φ(yᴴ ȳ) y⁻¹,   Φ(A) = tril(A) with its diagonal halved

    The outer Φ is the transpose of Φ(ẋ) + Φ(ẋ)ᴴ; (S + Sᴴ)/2 would be the cotangent among the Hermitian matrices. With
    the conjugate of y for y, yᴴ is the transpose.

    Costs two triangular solves and one product: 4n³ flops.
    Source: Murray (2016), Differentiation of the Cholesky decomposition, arXiv:1602.07527.
    """
    phi = triangle(matmul(swap(y), triangle(ct, True)), True, diagonal=0.5)
    left = triangular_solve(y, phi, lower=True, transpose=True)  # y⁻ᴴ Φ
    s = triangular_solve(y, adjoint(left), lower=True, transpose=True)  # y⁻ᴴ (y⁻ᴴ Φ)ᴴ = Sᴴ
    return triangle(s + adjoint(s), True, diagonal=0.5)


cholesky = op(  # the lower triangular y with y yᴴ = x; reads the lower triangle of x
    lambda x: np.linalg.cholesky(x),
    name="cholesky",
    type=same_type("cholesky"),
    kernel=Routine("lapack.potrf", takes_complex=True),
    cost=cubic(1 / 3),
    pushforward=cholesky_pushforward,
    pullback=[cholesky_pullback],
    is_holomorphic=False,
    batch=lambda xs, batched, size: cholesky(xs[0]),
)


# ------------------------------------------------------------------------------------------------------------- qr


def _qr_type(x: Aval, *, complete: bool) -> tuple[Aval, Aval]:
    *lead, m, n = x.shape
    if m < n:
        raise ShapeError(f"qr: {x} has more columns than rows")
    k = m if complete else n
    return Aval((*lead, m, k), x.dtype), Aval((*lead, k, n), x.dtype)


def _rows_of(r: Atom, count: int) -> Any:
    return slice_axis(r, r.aval.ndim - 2, 0, count)


def _nan_if_deficient(r: Atom) -> Any:
    """``r``, or NaN where an element on its diagonal is zero, to rounding: then columns of q are not determined.

    A solve with r itself would be refused where the zero is exact.
    """
    if r.aval.size == 0:
        return r
    least = min_(absolute(diagonal_of(r)), axis=(r.aval.ndim - 2,))
    is_deficient = less_equal(reshape(least, shape=(*least.aval.shape, 1, 1)), rounding(r))
    return select(is_deficient, Lit(np.nan, r.aval.dtype), r)


def qr_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Sequence[Atom], *, complete: bool) -> Any:
    """q̇ = q (Ω − M) + C and ṙ = (M − Ω) r, with C = ẋ r⁻¹, M = qᴴ C and Ω = Φ(M) − Φ(M)ᴴ, Φ(A) = tril(A) with its
    diagonal halved: so the diagonal of r stays real, as LAPACK's is.

    Source: Walter & Lehmann (2012), Algorithmic differentiation of linear algebra functions, arXiv:1001.1654.
    """
    all_q, all_r = y
    n = all_r.aval.shape[-1]
    q, r = columns_of(all_q, 0, n), _nan_if_deficient(_rows_of(all_r, n))
    c = swap(triangular_solve(swap(r), swap(dxs[0]), lower=True, transpose=False))  # (r⁻ᵀ ẋᵀ)ᵀ
    m = matmul(adjoint(q), c)
    half = triangle(m, True, diagonal=0.5)
    omega = half - adjoint(half)
    dq, dr = matmul(q, omega - m) + c, matmul(m - omega, r)
    if complete:
        *lead, rows, _ = all_r.aval.shape
        dr = concatenate(dr, zeros(Aval((*lead, rows - n, n), r.aval.dtype)), axis=len(lead))
    return completed(dq, all_q), dr


def qr_pullback(ct: Sequence[Atom], x: Atom, y: Sequence[Atom], *, complete: bool) -> Any:
    """Cotangent of ``x`` for ``q, r = qr(x)``: float[..., m, n].

        x̄ = (q̄ + q (Φ(M) + Φ(M)ᴴ)) r⁻ᴴ,   M = r r̄ᴴ − q̄ᴴ q,   Φ(A) = tril(A) with its diagonal halved

    Source: Walter & Lehmann (2012), arXiv:1001.1654.
    """
    n = x.aval.shape[-1]
    all_q, r, ct_r = conj(y[0]), _nan_if_deficient(_rows_of(conj(y[1]), n)), _rows_of(ct[1], n)
    q, ct_q = columns_of(all_q, 0, n), uncompleted(ct[0], all_q, n)
    m = matmul(r, adjoint(triangle(ct_r, False))) - matmul(adjoint(ct_q), q)
    half = triangle(m, True, diagonal=0.5)
    total = ct_q + matmul(q, half + adjoint(half))
    return adjoint(triangular_solve(swap(r), adjoint(total), lower=True, transpose=True))


qr = op(  # of x float[..., m, n], m ≥ n: q float[..., m, n] with orthogonal columns, r upper triangular; complete: q is
    # float[..., m, m] with columns that complete the others, and r has rows of zeros
    lambda x, *, complete: tuple(np.linalg.qr(x, "complete" if complete else "reduced")),
    name="qr",
    type=_qr_type,
    kernel=Routine("lapack.qr", needs_room=True, further_rows=66, takes_complex=True),
    expansion=in_double("qr"),
    cost=cubic(4),
    pushforward=qr_pushforward,
    pullback=[qr_pullback],
    is_holomorphic=False,
    batch=lambda xs, batched, size, *, complete: qr(xs[0], complete=complete),
)
