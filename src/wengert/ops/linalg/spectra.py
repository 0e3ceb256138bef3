"""Eigenvalues of Hermitian matrices and singular values, with their vectors.

Vectors are determined up to their signs, complex ones up to their phases, and those of equal values up to a rotation
among themselves. The derivative of a vector has no component along the vector. So a function that depends on NumPy's
choice of a phase, such as the real part of a vector, does not get the derivative of NumPy's choice, for which there is
no formula. Where values are equal to rounding, a function that depends on the rotation has no derivative, and gets NaN;
one that does not, such as a sum over these values or the projector onto their space, gets the right derivative in
reverse mode. A function of values and vectors together gets NaN there as well if it uses the vectors of equal values:
its derivative is the limit of a quotient of zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.ops.contract import matmul
from wengert.ops.elementwise import (
    absolute,
    cast,
    complex_dtype,
    compose,
    divide,
    equal,
    greater,
    imag,
    less_equal,
    logical_not,
    not_equal,
    real,
    real_dtype,
    select,
)
from wengert.ops.index import INTP, argmax, slice_axis
from wengert.ops.kernels import Routine
from wengert.ops.linalg.matrices import (
    ROUNDING,
    adjoint,
    columns_of,
    completed,
    conj,
    cubic,
    diagonal_of,
    in_double,
    is_on_diagonal,
    real_part,
    rounding,
    square,
    swap,
    triangle,
    uncompleted,
)
from wengert.ops.linalg.solutions import inv
from wengert.ops.op import op
from wengert.ops.reduce import any_, sum_
from wengert.ops.shape import iota, reshape, zeros
from wengert.ops.structured import Cotangent, Masked
from wengert.tape import Atom, Aval, Lit


def _columns(s: Atom) -> Any:
    """float[..., n] as float[..., 1, n]."""
    return reshape(s, shape=(*s.aval.shape[:-1], 1, s.aval.shape[-1]))


def _rows(s: Atom) -> Any:
    return reshape(s, shape=(*s.aval.shape, 1))


def _diagonal_matrix(s: Atom, dtype: np.dtype[Any]) -> Any:
    return cast(select(is_on_diagonal(s.aval.shape[-1]), _columns(s), Lit(0, s.aval.dtype)), dtype)


def _quotient(x: Atom, by: Atom, values: Atom, is_settled: Atom) -> Any:
    """x / by. Where ``by`` is rounding error beside the ``values``, it is 0 if ``is_settled`` holds, else NaN."""
    dtype = x.aval.dtype
    is_nothing = less_equal(absolute(by), rounding(_columns(values)))
    undetermined = select(is_settled, Lit(0, dtype), Lit(np.nan, dtype))
    return select(is_nothing, undetermined, divide(x, cast(select(is_nothing, Lit(1, by.aval.dtype), by), dtype)))


# ----------------------------------------------------------------------- quotients between equal values: zero or NaN


def _is_still(dx: Atom) -> Any:
    """bool[..., 1, 1]: whether the tangent of a matrix is zero throughout.

    If it is not, the vectors of equal values may rotate even where the first-order term between them is zero, by
    second-order terms through other vectors divided by the difference of the values.
    """
    moves = any_(not_equal(dx, 0), axis=(dx.aval.ndim - 2, dx.aval.ndim - 1))
    return logical_not(reshape(moves, shape=(*moves.aval.shape, 1, 1)))


def _is_nothing(x: Atom) -> Any:
    """Whether elements are zero to rounding. For a cotangent that comes from vectors alone, and not from values, this
    means that the result does not depend on the choice of vectors among those of equal values."""
    return less_equal(absolute(x), rounding(x))


def _used(ct: Cotangent, axis: int) -> Any:
    """bool[..., n]: which vectors have a cotangent, by its structure alone; ``axis`` is the one along a vector.

    That the number is zero is not enough. In v f(w) vᴴ, for f(w) = 0, the cotangent of v is zero, and that of x is not.
    """
    if ct is None:
        return Lit(False)
    return any_(ct.mask, axis=(ct.value.aval.ndim + axis,)) if isinstance(ct, Masked) else Lit(True)


def _neither(used: Atom) -> Any:
    """bool[..., n, n]: the pairs of vectors of which neither is used."""
    return logical_not(used if used.aval.ndim == 0 else _columns(used) | _rows(used))


def _dense(ct: Cotangent, like: Atom) -> Any:
    return zeros(like.aval) if ct is None else ct.value if isinstance(ct, Masked) else ct


def _among(x: Atom, w: Atom, is_settled: Atom) -> Any:
    """xᵢⱼ / (wⱼ − wᵢ), and 0 on the diagonal."""
    return _off_diagonal(_quotient(x, _columns(w) - _rows(w), w, is_settled))


def _off_diagonal(x: Atom) -> Any:
    return select(is_on_diagonal(x.aval.shape[-1]), Lit(0, x.aval.dtype), x)


# ---------------------------------------------------------------------------------------------------- eigenvalues


def _eigh_type(x: Aval, *, lower: bool, any_vectors: bool) -> tuple[Aval, Aval]:
    square("eigh", x)
    return Aval(x.shape[:-1], real_dtype(x.dtype)), x


def eigh_pushforward(
    xs: Sequence[Atom], dxs: Sequence[Atom], y: Sequence[Atom], *, lower: bool, any_vectors: bool
) -> Any:
    """ẇ = diag P and v̇ = v (P / (wⱼ − wᵢ)) with P = vᴴ ẋ v, of the Hermitian matrix with the triangle of ẋ.

    Source: Giles (2008), section 3.1.
    """
    w, v = y
    half = triangle(dxs[0], lower, diagonal=0.5)
    p = matmul(adjoint(v), matmul(half + adjoint(half), v))
    turned = _among(p, w, _is_still(dxs[0]))
    return real_part(diagonal_of(p)), matmul(v, turned)


def eigh_pullback(ct: Sequence[Cotangent], x: Atom, y: Sequence[Atom], *, lower: bool, any_vectors: bool) -> Any:
    """Cotangent of ``x`` for ``w, v = eigh(x)``: float[..., n, n], triangular, as the part of ``x`` that is read.

        x̄ = Φ(S + Sᴴ),   S = v (diag w̄ + (P − Pᴴ)/2 / (wⱼ − wᵢ)) vᴴ,   P = vᴴ v̄,   Φ(A) = tril(A), half its diagonal

    Only the antihermitian part of P counts. For a projector onto the space of equal values it is zero between them. But
    it is zero for v f(w) vᴴ too, where the quotient is f'(w) in the limit; so where values have a cotangent as well,
    the quotient between equal ones whose vectors are used is NaN.
    Source: Giles (2008), section 3.1; Boeddeker et al. (2017), On the computation of complex-valued gradients with
    application to statistically optimum beamforming, arXiv:1701.00392, section 4.
    """
    (w, v), (ct_w, ct_v) = y, ct
    v = conj(v)
    p = matmul(adjoint(v), _dense(ct_v, v))
    turn = 0.5 * (p - adjoint(p))
    is_settled = _is_nothing(_off_diagonal(turn)) if ct_w is None else _neither(_used(ct_v, -2))
    inner = _among(turn, w, is_settled)
    if ct_w is not None:
        inner = inner + _diagonal_matrix(_dense(ct_w, w), v.aval.dtype)
    s = matmul(v, matmul(inner, adjoint(v)))
    return triangle(s + adjoint(s), lower, diagonal=0.5)


def eigh_structured(
    ct: Sequence[Cotangent], k: int, x: Atom, y: Sequence[Atom], *, lower: bool, any_vectors: bool
) -> Any:
    """The cotangent of ``x`` if the vectors have none: S is v diag w̄ vᴴ, which is Hermitian, without a quotient."""
    (w, v), (ct_w, ct_v) = y, ct
    if ct_v is not None:
        return eigh_pullback(ct, x, y, lower=lower, any_vectors=any_vectors)
    v = conj(v)
    weighted = v * cast(_columns(_dense(ct_w, w)), v.aval.dtype)
    return triangle(2.0 * matmul(weighted, adjoint(v)), lower, diagonal=0.5)


def _eigh_name(*, lower: bool, any_vectors: bool) -> str:
    return "eigh_lo" if lower else "eigh_up"


def _eigh_expansion(x: Atom, *, lower: bool, any_vectors: bool) -> Any:
    """Return the op in double precision, as NumPy has it, where the vectors must have NumPy's signs."""
    is_free = any_vectors and x.aval.dtype.char == "f"
    made = eigh if is_free else in_double("eigh")
    return made(x, lower=lower, any_vectors=any_vectors)


def _neighbours(w: Atom) -> list[Any]:
    """The margins of values in order: the differences between neighbours. Where two are equal they cross."""
    n, axis = w.aval.shape[-1], w.aval.ndim - 1
    return [slice_axis(w, axis, 1, n - 1) - slice_axis(w, axis, 0, n - 1)] if n > 1 else [None]


eigh = op(  # eigenvalues, ascending, and the vectors as columns; reads one triangle of x. any_vectors: no result of the
    # program depends on the signs of vectors, or on the choice of vectors of equal eigenvalues
    lambda x, *, lower, any_vectors: tuple(np.linalg.eigh(x, "L" if lower else "U")),
    name="eigh",
    type=_eigh_type,
    kernel=Routine("lapack.syevd", needs_room=True, further_rows=11, gufunc=_eigh_name),
    expansion=_eigh_expansion,
    switches=lambda x, y, **params: _neighbours(y[0]),
    structured=eigh_structured,
    cost=cubic(9),
    pushforward=eigh_pushforward,
    pullback=[eigh_pullback],
    is_holomorphic=False,
    batch=lambda xs, batched, size, **params: eigh(xs[0], **params),
)


# ------------------------------------------------------------------------- eigenvalues of general matrices


def _eig_type(x: Aval) -> tuple[Aval, Aval]:
    square("eig", x)
    dtype = complex_dtype(x.dtype)
    return Aval(x.shape[:-1], dtype), Aval(x.shape, dtype)


def _eig_reference(x: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """The eigenvalues and vectors as complex numbers, even if all imaginary parts are zero."""
    w, v = np.linalg.eig(x)
    dtype = complex_dtype(x.dtype)
    return w.astype(dtype, copy=False), v.astype(dtype, copy=False)


def _sum_of_rows(x: Atom) -> Any:
    return sum_(x, axis=(x.aval.ndim - 2,))


def _real_element(v: Atom) -> Any:
    """The mask of the element of each column whose phase is fixed: the largest one, which LAPACK has made real."""
    n = v.aval.ndim
    size = select(equal(imag(v), 0), absolute(v), Lit(0, real_dtype(v.aval.dtype)))
    at = _columns(argmax(size, axis=n - 2))
    rows = reshape(iota(size=v.aval.shape[-2], dtype=INTP), shape=(v.aval.shape[-2], 1))
    return equal(at, rows)


def _is_defective(x: Atom, w: Atom, inverse: Atom) -> Any:
    """Whether vectors are dependent up to rounding: the rounding of x moves an eigenvalue as far as the next one.

    The distance that it moves is proportional to the norm of its row of the inverse (Golub & Van Loan, Matrix
    Computations, section 7.2.2). For equal values with independent vectors, these rows are short.
    """
    unit = ROUNDING * x.aval.shape[-1] * float(np.finfo(x.aval.dtype).eps)
    condition = _rows(sum_(absolute(inverse), axis=(inverse.aval.ndim - 1,)))
    distance = absolute(_columns(w) - _rows(w))
    is_near = less_equal(distance, rounding(x) * condition) & greater(condition, unit**-0.5)
    is_near = is_near & ~is_on_diagonal(x.aval.shape[-1])
    found = any_(is_near, axis=(is_near.aval.ndim - 2, is_near.aval.ndim - 1))
    return reshape(found, shape=(*found.aval.shape, 1, 1))


def eig_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Sequence[Atom]) -> Any:
    """ẇ = diag P and v̇ = z − v (n + iθ) with P = v⁻¹ ẋ v and z = v (P / (wⱼ − wᵢ)). A vector keeps its length by
    n = Re vⱼᴴ zⱼ, and its k-th element, the largest, stays real by θ = Im zₖⱼ / vₖⱼ: as LAPACK's geev leaves them.

    Source: Boeddeker et al. (2017), arXiv:1701.00392, section 4.2.
    """
    w, v = y
    if v.aval.size == 0:
        return w, v
    inverse = inv(v)
    p = matmul(inverse, matmul(cast(dxs[0], v.aval.dtype), v))
    p = select(_is_defective(xs[0], w, inverse), Lit(np.nan, p.aval.dtype), p)
    z = matmul(v, _among(p, w, _is_still(dxs[0])))
    is_fixed, zero = _real_element(v), Lit(0, v.aval.dtype)
    turned = _sum_of_rows(select(is_fixed, divide(z, select(is_fixed, v, Lit(1, v.aval.dtype))), zero))
    along = compose(real(_sum_of_rows(conj(v) * z)), imag(turned))
    return diagonal_of(p), z - v * _columns(along)


def eig_pullback(ct: Sequence[Cotangent], x: Atom, y: Sequence[Atom]) -> Any:
    """Cotangent of ``x`` for ``w, v = eig(x)``: complex[..., n, n].

        x̄ = v⁻ᴴ (diag w̄ + vᴴ z̄ / (wⱼ − wᵢ)ᴴ) vᴴ,   z̄ = v̄ − v Re g − i eₖ Im g / v̄ₖⱼ,   gⱼ = vⱼᴴ v̄ⱼ

    With the conjugate of v for v, vᴴ is the transpose. Quotients between equal values are as for Hermitian matrices.
    Source: as for the pushforward.
    """
    (w, v), (of_w, of_v) = y, ct
    ct_w, ct_v = _dense(of_w, w), _dense(of_v, v)
    if v.aval.size == 0:
        return v
    dtype = v.aval.dtype
    vt, inverse = swap(v), inv(v)
    is_fixed = _real_element(v)
    g = _columns(_sum_of_rows(v * ct_v))
    turned = compose(Lit(0, real_dtype(dtype)), imag(g))
    turned = select(is_fixed, divide(turned, select(is_fixed, v, Lit(1, dtype))), Lit(0, dtype))
    z = ct_v - conj(v) * cast(real(g), dtype) - turned
    turn = matmul(vt, z)
    is_settled = _is_nothing(_off_diagonal(turn)) if of_w is None else _neither(_used(of_v, -2))
    inner = _diagonal_matrix(ct_w, dtype) + _among(turn, w, is_settled)
    turned_back = matmul(swap(inverse), matmul(inner, vt))
    return select(_is_defective(x, w, inverse), Lit(np.nan, dtype), turned_back)


def eig_structured(ct: Sequence[Cotangent], k: int, x: Atom, y: Sequence[Atom]) -> Any:
    return eig_pullback(ct, x, y)  # eig_pullback looks itself which cotangents are zero


eig = op(  # eigenvalues and the vectors as columns, of length one; complex, of real x too
    _eig_reference,
    name="eig",
    type=_eig_type,
    kernel=Routine("lapack.geev", gufunc=lambda: "eig", needs_finite=True),
    expansion=in_double("eig"),
    cost=cubic(25),
    pushforward=eig_pushforward,
    pullback=[eig_pullback],
    structured=eig_structured,
    batch=lambda xs, batched, size: eig(xs[0]),
    is_holomorphic=False,  # the eigenvalues are; the vectors, of length one, are not
)


# ------------------------------------------------------------------------------------------------- singular values


def _svd_type(x: Aval, *, full: bool) -> tuple[Aval, Aval, Aval]:
    *lead, m, n = x.shape
    k = min(m, n)
    u, vh = ((m, m), (n, n)) if full else ((m, k), (k, n))
    return Aval((*lead, *u), x.dtype), Aval((*lead, k), real_dtype(x.dtype)), Aval((*lead, *vh), x.dtype)


def svd_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Sequence[Atom], *, full: bool) -> Any:
    """ṡ = Re diag P with P = uᴴ ẋ v;  u̇ = u (½(A/(sⱼ−sᵢ) + B/(sⱼ+sᵢ))) + (1 − u uᴴ) ẋ v / sⱼ, v̇ likewise, where
    A = P + Pᴴ, without its diagonal, and B = P − Pᴴ. The diagonal of B is the relative motion of the phases of u and v.

    Source: Townsend (2016), Differentiating the singular value decomposition, with the difference of squares factored;
    Wan & Zhang (2019), Automatic differentiation for complex valued SVD, arXiv:1909.02659.
    """
    (dx,), (all_u, s, vh) = dxs, y
    k, all_v = s.aval.shape[-1], adjoint(vh)
    u, v = columns_of(all_u, 0, k), columns_of(all_v, 0, k)
    dxv, dxhu = matmul(dx, v), matmul(adjoint(dx), u)
    p = matmul(adjoint(u), dxv)
    total, still = _columns(s) + _rows(s), _is_still(dx)
    among = _among(p + adjoint(p), s, still)
    between = _quotient(p - adjoint(p), total, s, still | _is_never_turned(p))
    du = matmul(u, 0.5 * (among + between)) + _beside(dxv - matmul(u, p), s, still)
    dv = matmul(v, 0.5 * (among - between)) + _beside(dxhu - matmul(v, adjoint(p)), s, still)
    return completed(du, all_u), real_part(diagonal_of(p)), adjoint(completed(dv, all_v))


def _is_never_turned(p: Atom) -> Any:
    """The mask of where the antihermitian part of any such matrix is zero: the diagonal, if it is real."""
    return Lit(False) if p.aval.dtype.kind == "c" else is_on_diagonal(p.aval.shape[-1])


def _beside(x: Atom, s: Atom, is_settled: Atom) -> Any:
    """x / s, for the component x outside of the space of the vectors; zero if x is square, when nothing is."""
    if x.aval.shape[-1] == x.aval.shape[-2]:
        return zeros(x.aval)
    return _quotient(x, _columns(s), s, is_settled)


def svd_pullback(ct: Sequence[Cotangent], x: Atom, y: Sequence[Atom], *, full: bool) -> Any:
    """Cotangent of ``x`` for ``u, s, vh = svd(x)``: float[..., m, n].

        x̄ = u (diag s̄ + (J + K)/(sⱼ−sᵢ) + (J − K)/(sⱼ+sᵢ)) vᴴ + (1 − u uᴴ) ū s⁻¹ vᴴ + u s⁻¹ v̄ᴴ (1 − v vᴴ)

    with J and K the antihermitian parts of uᴴū and vᴴv̄, of J + K without the diagonal. Source: as above.
    """
    (u, s, vh), (of_u, of_s, of_vh) = y, ct
    n = s.aval.shape[-1]
    if full and (u.aval.shape[-1] > n or vh.aval.shape[-2] > n):  # cotangents of completing vectors reach all others
        used_u = used_v = used = Lit(True)
    else:
        used_u, used_v = _used(of_u, -2), _used(of_vh, -1)
        used = used_u | used_v
    u, v = conj(u), adjoint(conj(vh))
    ct_u, ct_v = uncompleted(_dense(of_u, u), u, n), uncompleted(adjoint(_dense(of_vh, vh)), v, n)
    u, v = columns_of(u, 0, n), columns_of(v, 0, n)
    vh = adjoint(v)
    of_both_u, of_both_v = matmul(adjoint(u), ct_u), matmul(vh, ct_v)
    j, k = 0.5 * (of_both_u - adjoint(of_both_u)), 0.5 * (of_both_v - adjoint(of_both_v))
    beside_u, beside_v = ct_u - matmul(u, of_both_u), ct_v - matmul(v, of_both_v)
    total = _columns(s) + _rows(s)

    def settled(x: Atom, pairs: Atom) -> Any:
        return _is_nothing(x) if of_s is None else pairs

    alike, unlike, neither = j + k, j - k, _neither(used)
    inner = _among(alike, s, settled(_off_diagonal(alike), neither))
    inner = inner + _quotient(unlike, total, s, settled(unlike, neither | _is_never_turned(unlike)))
    if of_s is not None:
        inner = inner + _diagonal_matrix(_dense(of_s, s), u.aval.dtype)
    of_u, of_v = [
        _beside(x, s, settled(x, logical_not(w if w.aval.ndim == 0 else _columns(w))))
        for x, w in ((beside_u, used_u), (beside_v, used_v))
    ]
    return matmul(u, matmul(inner, vh)) + matmul(of_u, vh) + matmul(u, adjoint(of_v))


def svd_structured(ct: Sequence[Cotangent], k: int, x: Atom, y: Sequence[Atom], *, full: bool) -> Any:
    """The cotangent of ``x`` if the vectors have none: u diag s̄ vᴴ."""
    (u, s, vh), (ct_u, ct_s, ct_vh) = y, ct
    if ct_u is not None or ct_vh is not None:
        return svd_pullback(ct, x, y, full=full)
    n = s.aval.shape[-1]
    u, v = columns_of(conj(u), 0, n), columns_of(adjoint(conj(vh)), 0, n)
    return matmul(u * cast(_columns(_dense(ct_s, s)), u.aval.dtype), adjoint(v))


svd = op(  # of x float[..., m, n], k = min(m, n): u float[..., m, k], s float[..., k] descending, vh float[..., k, n];
    # full: u and vh with the columns and rows that complete them
    lambda x, *, full: tuple(np.linalg.svd(x, full_matrices=full)),
    name="svd",
    type=_svd_type,
    kernel=Routine("lapack.gesdd", gufunc=lambda *, full: "svd_f" if full else "svd_s"),
    expansion=in_double("svd"),
    switches=lambda x, y, **params: _neighbours(y[1]),
    cost=cubic(20),
    pushforward=svd_pushforward,
    pullback=[svd_pullback],
    structured=svd_structured,
    is_holomorphic=False,
    batch=lambda xs, batched, size, *, full: svd(xs[0], full=full),
)
