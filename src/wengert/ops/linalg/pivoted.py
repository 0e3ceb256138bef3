"""Factorisations with pivoting, and the polar one, by SciPy's routines.

Which rows are exchanged is constant where the factors have a derivative, so the permutation is a constant of the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.errors import ShapeError
from wengert.ops.contract import matmul
from wengert.ops.elementwise import not_equal, select
from wengert.ops.index import INTP, along, gather, scatter_set, slice_axis
from wengert.ops.linalg.equations import sylvester
from wengert.ops.linalg.factors import PIVOTS
from wengert.ops.linalg.matrices import adjoint, conj, cubic, is_on_diagonal, square, swap, triangle
from wengert.ops.linalg.solutions import solve, triangular_solve
from wengert.ops.linalg.stacks import Array, over_stack, scipy_linalg
from wengert.ops.op import op
from wengert.ops.shape import broadcast_to, concatenate, reshape, zeros
from wengert.tape import Atom, Aval, Lit


def _rows(x: Atom, start: int, count: int) -> Any:
    return slice_axis(x, x.aval.ndim - 2, start, count)


def _columns(x: Atom, start: int, count: int) -> Any:
    return slice_axis(x, x.aval.ndim - 1, start, count)


def permuted(x: Atom, p: Atom) -> Any:
    """The rows of each matrix in the order ``p``: float[..., m, n] and int[..., m]."""
    wide = _wide(p, x.aval.shape)
    return gather(x, *along(wide, x.aval.shape, x.aval.ndim - 2))


def unpermuted(x: Atom, p: Atom) -> Any:
    """The y with permuted(y, p) = x."""
    wide = _wide(p, x.aval.shape)
    return scatter_set(zeros(x.aval), x, *along(wide, x.aval.shape, x.aval.ndim - 2))


def _wide(p: Atom, shape: tuple[int, ...]) -> Any:
    return broadcast_to(reshape(p, shape=(*p.aval.shape, 1)), shape=shape)


# --------------------------------------------------------------------------------------------------------------- LU


def _plu_type(x: Aval) -> tuple[Aval, Aval, Aval]:
    *lead, m, n = x.shape
    k = min(m, n)
    return Aval((*lead, m), INTP), Aval((*lead, m, k), x.dtype), Aval((*lead, k, n), x.dtype)


def _plu_one(x: Array) -> Any:
    p, lower, upper = scipy_linalg().lu(x, check_finite=False)
    return np.argmax(p, axis=0), lower, upper  # (P L U)[p] = L U


def _right_solve(x: Atom, u: Atom) -> Any:
    """x u⁻¹, u upper triangular."""
    return swap(triangular_solve(u, swap(x), lower=False, transpose=True))


def _left_solve(low: Atom, x: Atom, transpose: bool = False) -> Any:
    """low⁻¹ x, or low⁻ᵀ x, low lower triangular."""
    return triangular_solve(low, x, lower=True, transpose=transpose)


def _below(x: Atom) -> Any:
    """The strict lower triangle."""
    return triangle(x, True, diagonal=0)


def plu_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Sequence[Atom]) -> Any:
    """L̇₁ = L₁ tril(F, −1) and U̇₁ = triu(F) U₁, with F = L₁⁻¹ B₁₁ U₁⁻¹, B = Pᵀ ẋ and the square blocks L₁ and U₁.

    What is below of L, or right of U, follows from the product: L̇₂ = (B₂ − L₂ U̇₁) U₁⁻¹, U̇₂ = L₁⁻¹ (B₂ − L̇₁ U₂).
    Source: de Hoog, Anderssen & Lukas (2011), Differentiation of matrix functionals using triangular factorization,
    Math. Comp. 80.
    """
    p, low, up = y
    m, k, n = low.aval.shape[-2], low.aval.shape[-1], up.aval.shape[-1]
    b = permuted(dxs[0], p)
    low1, up1 = _rows(low, 0, k), _columns(up, 0, k)
    f = _right_solve(_left_solve(low1, _columns(_rows(b, 0, k), 0, k)), up1)
    d_low, d_up = matmul(low1, _below(f)), matmul(triangle(f, False), up1)
    if m > k:
        low2 = _rows(low, k, m - k)
        rest = _right_solve(_rows(b, k, m - k) - matmul(low2, d_up), up1)
        return None, concatenate(d_low, rest, axis=low.aval.ndim - 2), d_up
    if n > k:
        rest = _left_solve(low1, _columns(b, k, n - k) - matmul(d_low, _columns(up, k, n - k)))
        d_up = concatenate(d_up, rest, axis=up.aval.ndim - 1)
    return None, d_low, d_up


def plu_pullback(ct: Sequence[Any], x: Atom, y: Sequence[Atom]) -> Any:
    """x̄ = P L₁⁻ᵀ (tril(L₁ᵀ L̄₁, −1) + triu(Ū₁ U₁ᵀ)) U₁⁻ᵀ, after the transposes of what follows from the product:
    B̄₂ = L̄₂ U₁⁻ᵀ and Ū₁ −= L₂ᵀ B̄₂, or B̄₂ = L₁⁻ᵀ Ū₂ and L̄₁ −= B̄₂ U₂ᵀ."""
    (p, low, up), (_, ct_low, ct_up) = y, ct
    m, k, n = low.aval.shape[-2], low.aval.shape[-1], up.aval.shape[-1]
    low1, up1 = _rows(low, 0, k), _columns(up, 0, k)
    of_low, of_up, rest = _rows(ct_low, 0, k), _columns(ct_up, 0, k), None
    if m > k:
        rest = swap(triangular_solve(up1, swap(_rows(ct_low, k, m - k)), lower=False, transpose=False))
        of_up = of_up - matmul(swap(_rows(low, k, m - k)), rest)
    elif n > k:
        rest = _left_solve(low1, _columns(ct_up, k, n - k), transpose=True)
        of_low = of_low - matmul(rest, swap(_columns(up, k, n - k)))
    f = _below(matmul(swap(low1), of_low)) + triangle(matmul(of_up, swap(up1)), False)
    f = _left_solve(low1, f, transpose=True)
    b = swap(triangular_solve(up1, swap(f), lower=False, transpose=False))
    if rest is not None:
        b = concatenate(b, rest, axis=b.aval.ndim - (2 if m > k else 1))
    return unpermuted(b, p)


plu = op(  # of x float[..., m, n], k = min(m, n): the order p of rows with x[p] = L U, L float[..., m, k] with ones on
    # its diagonal, U float[..., k, n]
    over_stack(_plu_one, _plu_type),
    name="plu",
    type=_plu_type,
    cost=cubic(2 / 3),
    pushforward=plu_pushforward,
    pullback=[plu_pullback],
    batch=lambda xs, batched, size: plu(xs[0]),
)


def _pivots_type(p: Aval) -> Aval:
    return Aval(p.shape, PIVOTS)


def _pivots_one(p: Array) -> Any:
    """The row that each row was exchanged with, one after the other, to give the order ``p``."""
    order = list(range(len(p)))
    found = []
    for k, row in enumerate(p):
        at = order.index(row, k)
        order[k], order[at] = order[at], order[k]
        found.append(at)
    return found


pivots = op(  # LAPACK's pivots, from 0, of an order of rows
    over_stack(_pivots_one, _pivots_type, 1),
    name="pivots",
    type=_pivots_type,
    batch=lambda xs, batched, size: pivots(xs[0]),
)


def _order_of_one(found: Array) -> Any:
    order = np.arange(len(found))
    for k, at in enumerate(found):
        order[[k, at]] = order[[at, k]]
    return order


order_of = op(  # the order of rows that LAPACK's pivots, from 0, make
    over_stack(_order_of_one, lambda found: Aval(found.shape, INTP), 1),
    name="order_of",
    type=lambda found: Aval(found.shape, INTP),
    batch=lambda xs, batched, size: order_of(xs[0]),
)


def _order_type(x: Aval) -> Aval:
    return Aval((*x.shape[:-2], x.shape[-1]), PIVOTS)


def _order_one(x: Array) -> Any:
    return scipy_linalg().qr(x, mode="r", pivoting=True, check_finite=False)[1]


qr_order = op(  # the order of columns that qr with pivoting takes, a constant to derivatives
    over_stack(_order_one, _order_type),
    name="qr_order",
    type=_order_type,
    cost=cubic(4 / 3),
    batch=lambda xs, batched, size: qr_order(xs[0]),
)


# -------------------------------------------------------------------------------------------------------------- LDL


def _ldl_type(x: Aval, **params: Any) -> tuple[Aval, Aval, Aval]:
    square("ldl", x)
    return Aval(x.shape, x.dtype), Aval(x.shape, x.dtype), Aval(x.shape[:-1], INTP)


def _ldl_one(x: Array, *, lower: bool, hermitian: bool) -> Any:
    found, d, p = scipy_linalg().ldl(x, lower=lower, hermitian=hermitian, check_finite=False)
    return found[p], d, p


def _transposed(x: Atom, hermitian: bool) -> Any:
    return adjoint(x) if hermitian else swap(x)


def _both_permuted(x: Atom, p: Atom) -> Any:
    return swap(permuted(swap(permuted(x, p)), p))


def _in_block(d: Atom) -> Any:
    """bool[..., n, n]: the elements of the blocks on the diagonal, of one or two rows."""
    return not_equal(d, 0) | is_on_diagonal(d.aval.shape[-1])


def _beyond_blocks(x: Atom, d: Atom, lower: bool) -> Any:
    """The part of x below (above) the diagonal of blocks."""
    return select(_in_block(d), Lit(0, x.aval.dtype), triangle(x, lower))


def _symmetric(x: Atom, lower: bool, hermitian: bool) -> Any:
    """The matrix of which x is the lower or upper triangle."""
    half = triangle(x, lower, diagonal=0.5)
    return half + _transposed(half, hermitian)


def ldl_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Sequence[Atom], *, lower: bool, hermitian: bool) -> Any:
    """Ḋ is the diagonal of blocks of F, and L̇ = L Ω, where Ω D is the part of F below them, with
    F = L⁻¹ Pᵀ ẋ P L⁻ᴴ = Ω D + Ḋ + D Ωᴴ."""
    low, d, p = y
    b = _both_permuted(_symmetric(dxs[0], lower, hermitian), p)
    left = triangular_solve(low, b, lower=lower, transpose=False)
    f = _transposed(triangular_solve(low, _transposed(left, hermitian), lower=lower, transpose=False), hermitian)
    omega = swap(solve(d, swap(_beyond_blocks(f, d, lower)), transpose=True))
    return matmul(low, omega), select(_in_block(d), f, Lit(0, f.aval.dtype)), None


def ldl_pullback(ct: Sequence[Any], x: Atom, y: Sequence[Atom], *, lower: bool, hermitian: bool) -> Any:
    """The adjoint of the pushforward: F̄ is D̄ in the blocks and Lᴴ L̄ D⁻ᴴ below them, and x̄ = P L⁻ᴴ F̄ L⁻¹ Pᵀ, brought
    to one triangle; with the conjugates of L and D for L and D."""
    (low, d, p), (ct_low, ct_d, _) = y, ct
    if hermitian:
        low, d = conj(low), conj(d)

    def adjoint_of(z: Atom) -> Any:
        return _transposed(z, hermitian)

    of_omega = matmul(adjoint_of(low), ct_low)
    of_f = adjoint_of(solve(d, adjoint_of(of_omega), transpose=False))  # … D⁻ᴴ
    of_f = _beyond_blocks(of_f, d, lower) + select(_in_block(d), ct_d, Lit(0, d.aval.dtype))
    left = triangular_solve(conj(low) if hermitian else low, of_f, lower=lower, transpose=True)
    right = swap(triangular_solve(low, swap(left), lower=lower, transpose=True))
    s = swap(unpermuted(swap(unpermuted(right, p)), p))
    return triangle(s + adjoint_of(s), lower, diagonal=0.5)


ldl = op(  # the unit triangular L, D of blocks of one or two rows, and the order p, with x[p][:, p] = L D Lᴴ (Lᵀ)
    over_stack(_ldl_one, _ldl_type),
    name="ldl",
    type=_ldl_type,
    cost=cubic(1 / 3),
    pushforward=ldl_pushforward,
    pullback=[ldl_pullback],
    is_holomorphic=False,
    batch=lambda xs, batched, size, **params: ldl(xs[0], **params),
)


# ------------------------------------------------------------------------------------------------------------ polar


def _polar_type(x: Aval) -> tuple[Aval, Aval]:
    *lead, m, n = x.shape
    if m < n:
        raise ShapeError(f"polar: {x} has more columns than rows")
    return x, Aval((*lead, n, n), x.dtype)


def _polar_one(x: Array) -> Any:
    return scipy_linalg().polar(x)


def polar_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Sequence[Atom]) -> Any:
    """Ṗ = Uᴴ ẋ − Ω P and U̇ = U Ω + (1 − U Uᴴ) ẋ P⁻¹, with Ω P + P Ω = Uᴴ ẋ − ẋᴴ U."""
    (dx,), (u, p) = dxs, y
    m = matmul(adjoint(u), dx)
    omega = sylvester(p, p, m - adjoint(m), perturbs=False)
    du = matmul(u, omega)
    if u.aval.shape[-1] < u.aval.shape[-2]:
        beside = dx - matmul(u, m)
        du = du + swap(solve(p, swap(beside), transpose=True))
    return du, m - matmul(omega, p)


def polar_pullback(ct: Sequence[Any], x: Atom, y: Sequence[Atom]) -> Any:
    """x̄ = U (Z − Zᴴ + P̄) + (1 − U Uᴴ) Ū P⁻¹, with P Z + Z P = Uᴴ Ū − P̄ P; with the conjugates of U and P for them."""
    (u, p), (ct_u, ct_p) = (conj(y[0]), conj(y[1])), ct
    m = matmul(adjoint(u), ct_u)
    z = sylvester(p, p, m - matmul(ct_p, p), perturbs=False)
    of_x = matmul(u, z - adjoint(z) + ct_p)
    if u.aval.shape[-1] < u.aval.shape[-2]:
        beside = ct_u - matmul(u, m)
        of_x = of_x + swap(solve(p, swap(beside), transpose=True))
    return of_x


polar = op(  # of x float[..., m, n], m ≥ n: u with orthonormal columns and the positive semidefinite p, x = u p
    over_stack(_polar_one, _polar_type),
    name="polar",
    type=_polar_type,
    cost=cubic(22),
    pushforward=polar_pushforward,
    pullback=[polar_pullback],
    is_holomorphic=False,
    batch=lambda xs, batched, size: polar(xs[0]),
)
