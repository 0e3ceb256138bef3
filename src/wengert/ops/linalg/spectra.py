"""Eigenvalues of symmetric matrices and singular values, with their vectors.

Vectors are known up to their signs, and those of equal values up to a rotation among themselves. A derivative leaves
each where it is along itself. Where values are equal to rounding, what depends on the rotation has no derivative, and
is NaN; what does not, as a sum over these values or the projector onto their space, has the right one in reverse mode.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.ops.contract import matmul
from wengert.ops.elementwise import absolute, divide, greater, less_equal, select
from wengert.ops.linalg.matrices import cubic, diagonal_of, is_on_diagonal, real_only, rounding, square, swap, triangle
from wengert.ops.op import op
from wengert.ops.shape import reshape
from wengert.tape import Atom, Aval, Lit


def _columns(s: Atom) -> Any:
    """float[..., n] as float[..., 1, n]."""
    return reshape(s, shape=(*s.aval.shape[:-1], 1, s.aval.shape[-1]))


def _rows(s: Atom) -> Any:
    return reshape(s, shape=(*s.aval.shape, 1))


def _diagonal_matrix(s: Atom) -> Any:
    return select(is_on_diagonal(s.aval.shape[-1]), _columns(s), Lit(0, s.aval.dtype))


def _quotient(x: Atom, by: Atom, values: Atom) -> Any:
    """x / by. Where ``by`` is nothing beside the ``values``, 0 if ``x`` is so beside its largest, else NaN."""
    dtype = x.aval.dtype
    is_nothing = less_equal(absolute(by), rounding(_columns(values)))
    undetermined = select(greater(absolute(x), rounding(x)), Lit(np.nan, dtype), Lit(0, dtype))
    return select(is_nothing, undetermined, divide(x, select(is_nothing, Lit(1, dtype), by)))


def _off_diagonal(x: Atom) -> Any:
    return select(is_on_diagonal(x.aval.shape[-1]), Lit(0, x.aval.dtype), x)


# ---------------------------------------------------------------------------------------------------- eigenvalues


def _eigh_type(x: Aval) -> tuple[Aval, Aval]:
    square("eigh", x)
    return Aval(x.shape[:-1], x.dtype), x


@real_only
def eigh_pushforward(xs: Any, dxs: Any, y: Any) -> Any:
    """ẇ = diag P and v̇ = v (P / (wⱼ − wᵢ)) with P = vᵀ ẋ v, of the symmetric matrix with the lower triangle of ẋ.

    Source: Giles (2008), section 3.1.
    """
    w, v = y
    half = triangle(dxs[0], True, diagonal=0.5)
    p = matmul(swap(v), matmul(half + swap(half), v))
    return diagonal_of(p), matmul(v, _quotient(_off_diagonal(p), _columns(w) - _rows(w), w))


@real_only
def eigh_pullback(ct: Any, x: Atom, y: Any) -> Any:
    """Cotangent of ``x`` for ``w, v = eigh(x)``: float[..., n, n], lower triangular, as what is read.

        S = v (diag w̄ + (P − Pᵀ)/2 / (wⱼ − wᵢ)) vᵀ,   P = vᵀ v̄

    The antisymmetric part alone counts: for a projector onto the space of equal values there is none between them.
    Source: Giles (2008), section 3.1.
    """
    (w, v), (ct_w, ct_v) = y, ct
    p = matmul(swap(v), ct_v)
    turned = _quotient(_off_diagonal(0.5 * (p - swap(p))), _columns(w) - _rows(w), w)
    s = matmul(v, matmul(_diagonal_matrix(ct_w) + turned, swap(v)))
    return triangle(s + swap(s), True, diagonal=0.5)


eigh = op(  # eigenvalues, ascending, and the vectors as columns; reads the lower triangle of x
    lambda x: tuple(np.linalg.eigh(x)),
    name="eigh",
    type=_eigh_type,
    cost=cubic(9),
    pushforward=eigh_pushforward,
    pullback=[eigh_pullback],
    batch=lambda xs, batched, size: eigh(xs[0]),
)


# ------------------------------------------------------------------------------------------------- singular values


def _svd_type(x: Aval) -> tuple[Aval, Aval, Aval]:
    *lead, m, n = x.shape
    k = min(m, n)
    return Aval((*lead, m, k), x.dtype), Aval((*lead, k), x.dtype), Aval((*lead, k, n), x.dtype)


@real_only
def svd_pushforward(xs: Any, dxs: Any, y: Any) -> Any:
    """ṡ = diag P with P = uᵀ ẋ v;  u̇ = u (½(A/(sⱼ−sᵢ) + B/(sⱼ+sᵢ))) + (1 − u uᵀ) ẋ v / sⱼ, v̇ likewise, where
    A = P + Pᵀ and B = P − Pᵀ.

    Source: Townsend (2016), Differentiating the singular value decomposition, with the difference of squares factored.
    """
    (dx,), (u, s, vh) = dxs, y
    v, ut = swap(vh), swap(u)
    dxv, dxtu = matmul(dx, v), matmul(swap(dx), u)
    p = matmul(ut, dxv)
    difference, total = _columns(s) - _rows(s), _columns(s) + _rows(s)
    among = _quotient(_off_diagonal(p + swap(p)), difference, s)
    between = _quotient(_off_diagonal(p - swap(p)), total, s)
    du = matmul(u, 0.5 * (among + between)) + _quotient(dxv - matmul(u, p), _columns(s), s)
    dv = matmul(v, 0.5 * (among - between)) + _quotient(dxtu - matmul(v, swap(p)), _columns(s), s)
    return du, diagonal_of(p), swap(dv)


@real_only
def svd_pullback(ct: Any, x: Atom, y: Any) -> Any:
    """Cotangent of ``x`` for ``u, s, vh = svd(x, full_matrices=False)``: float[..., m, n].

        x̄ = u (diag s̄ + ½ ((J + K)/(sⱼ−sᵢ) + (J − K)/(sⱼ+sᵢ))) vᵀ + (1 − u uᵀ) ū s⁻¹ vᵀ + u s⁻¹ v̄ᵀ (1 − v vᵀ)

    with J and K the antisymmetric parts of uᵀū and vᵀv̄, each taken once. Source: as above, section 3.
    """
    (u, s, vh), (ct_u, ct_s, ct_vh) = y, ct
    v, ct_v = swap(vh), swap(ct_vh)
    of_u, of_v = matmul(swap(u), ct_u), matmul(vh, ct_v)
    j, k = 0.5 * (of_u - swap(of_u)), 0.5 * (of_v - swap(of_v))
    difference, total = _columns(s) - _rows(s), _columns(s) + _rows(s)
    among, between = _quotient(_off_diagonal(j + k), difference, s), _quotient(_off_diagonal(j - k), total, s)
    inner = matmul(u, matmul(_diagonal_matrix(ct_s) + (among + between), vh))
    beside_u = _quotient(ct_u - matmul(u, of_u), _columns(s), s)
    beside_v = _quotient(ct_v - matmul(v, of_v), _columns(s), s)
    return inner + matmul(beside_u, vh) + matmul(u, swap(beside_v))


svd = op(  # of x float[..., m, n], k = min(m, n): u float[..., m, k], s float[..., k] descending, vh float[..., k, n]
    lambda x: tuple(np.linalg.svd(x, full_matrices=False)),
    name="svd",
    type=_svd_type,
    cost=cubic(20),
    pushforward=svd_pushforward,
    pullback=[svd_pullback],
    batch=lambda xs, batched, size: svd(xs[0]),
)
