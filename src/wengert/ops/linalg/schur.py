"""Schur's form x = z t zᴴ, and its derivative.

The tangent of z is z Ω, where Ω = X − Xᴴ and X is strictly lower triangular. Then ṫ = M + t Ω − Ω t, M = zᴴ ẋ z. X is
found from as many equations: that ṫ is zero where t is. For real matrices, t has blocks of two rows on its diagonal for
pairs of complex eigenvalues. LAPACK makes the elements on the diagonal of a block equal, and this is the equation in
the place of the element below them.

    K X = −S(M),    K X = S(t Ω − Ω t)

where S takes these elements, and these differences, as a strictly lower triangular matrix. K is singular if eigenvalues
are equal; then the vectors are not determined, and the derivative is NaN. A phase of complex vectors, which is LAPACK's
choice, does not count: see :mod:`wengert.ops.linalg.spectra`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.ops.contract import matmul
from wengert.ops.elementwise import not_equal, select
from wengert.ops.linalg.banded import _shifted as shifted
from wengert.ops.linalg.matrices import adjoint, batch_all, conj, cubic, is_on_diagonal, square, swap, triangle
from wengert.ops.linalg.stacks import Array, over_stack, scipy_linalg
from wengert.ops.op import op
from wengert.tape import Atom, Aval, Lit


def _strictly_lower(x: Atom) -> Any:
    return triangle(x, True, diagonal=0)


def _in_block(t: Atom) -> Any:
    """bool[..., n, n]: the elements below the diagonal in blocks of two rows."""
    return not_equal(_strictly_lower(t), 0)


def _taken(w: Atom, t: Atom) -> Any:
    """S(w): the strict lower triangle of w, and in the blocks of t the differences w[i − 1, i − 1] − w[i, i]."""
    if t.aval.dtype.kind == "c":
        return _strictly_lower(w)
    on_diagonal = select(is_on_diagonal(w.aval.shape[-1]), w, Lit(0, w.aval.dtype))
    from_above = shifted(on_diagonal, -2, 1)  # at (i, i − 1): w[i − 1, i − 1]
    from_right = shifted(on_diagonal, -1, -1)  # at (i, i − 1): w[i, i]
    return select(_in_block(t), from_above - from_right, _strictly_lower(w))


def _placed(x: Atom, t: Atom) -> Any:
    """The transpose of S."""
    x = _strictly_lower(x)
    if t.aval.dtype.kind == "c":
        return x
    zero = Lit(0, x.aval.dtype)
    differences = select(_in_block(t), x, zero)
    rest = select(_in_block(t), zero, x)
    return rest + shifted(differences, -2, -1) - shifted(differences, -1, 1)


def _turn(x: Atom) -> Any:
    """Ω, as far as K depends on it: of complex matrices the elements above the diagonal do not count."""
    x = _strictly_lower(x)
    return x if x.aval.dtype.kind == "c" else x - swap(x)


def _unturned(w: Atom) -> Any:
    """The transpose of Ω."""
    return _strictly_lower(w if w.aval.dtype.kind == "c" else w - swap(w))


def _commutator(x: Atom, y: Atom) -> Any:
    return matmul(x, y) - matmul(y, x)


def _applied(dt: Atom, x: Atom, t: Atom, transpose: bool) -> Any:
    """K X, or Kᵀ X, with ``dt`` in the place of t, but with the blocks of t."""
    if transpose:
        return _unturned(_commutator(swap(dt), _placed(x, t)))
    return _taken(_commutator(dt, _turn(x)), t)


def _turned_type(t: Aval, m: Aval, *, transpose: bool) -> Aval:
    square("schur", t)
    return m


def _turned_one(t: Array, m: Array, *, transpose: bool) -> Any:
    """K⁻¹ m, or K⁻ᵀ m, for strictly lower triangular m. NaN if K is singular."""
    n = len(t)
    if not (np.isfinite(t).all() and np.isfinite(m).all()):
        return np.full_like(m, np.nan)
    if t.dtype.kind != "c" and np.diagonal(t, -1).any():
        return _by_blocks(t, m, transpose)
    out = np.zeros_like(m)
    size = np.abs(t).max() * n * np.finfo(t.dtype).eps
    with np.errstate(all="ignore"):
        for j in reversed(range(n - 1)) if transpose else range(n - 1):
            rows = slice(j + 1, n)
            a = t[rows, rows] - t[j, j] * np.eye(n - 1 - j, dtype=t.dtype)  # column j of t X − X t
            if (np.abs(np.diagonal(a)) <= size).any():
                return np.full_like(m, np.nan)
            if transpose:
                rate = m[rows, j] + out[rows, j + 1 :] @ t[j, j + 1 :]
                out[rows, j] = scipy_linalg().solve_triangular(a, rate, trans=1, check_finite=False)
            else:
                rate = m[rows, j] + out[rows, :j] @ t[:j, j]
                out[rows, j] = scipy_linalg().solve_triangular(a, rate, check_finite=False)
    return out


def _by_blocks(t: Array, m: Array, transpose: bool) -> Any:
    """The solution by the matrix of K. Not known to be optimal: it has n²/2 rows."""
    n = len(t)
    rows, columns = np.tril_indices(n, -1)
    count = len(rows)
    turns = np.zeros((count, n, n), t.dtype)
    turns[range(count), rows, columns], turns[range(count), columns, rows] = 1, -1
    w = t @ turns - turns @ t
    k = w[:, rows, columns].T.copy()
    for at in np.flatnonzero((columns == rows - 1) & (t[rows, columns] != 0)):
        i = rows[at]
        k[at] = w[:, i - 1, i - 1] - w[:, i, i]
    s = np.linalg.svd(k, compute_uv=False)
    if s[-1] <= 16 * n * np.finfo(t.dtype).eps * s[0]:
        return np.full_like(m, np.nan)
    out = np.zeros_like(m)
    out[rows, columns] = np.linalg.solve(k.T if transpose else k, m[rows, columns])
    return out


def _turned_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Atom, *, transpose: bool) -> Any:
    (t, _), (dt, rate) = xs, dxs
    if dt is not None:
        moved = _applied(dt, y, t, transpose)
        rate = -moved if rate is None else _strictly_lower(rate) - moved
    return schur_turn(t, rate, transpose=transpose)


def _turned_pullback_t(ct: Atom, t: Atom, m: Atom, y: Atom, *, transpose: bool) -> Any:
    """t̄ = −(Sᵀ(λ) Ωᵀ − Ωᵀ Sᵀ(λ)), with λ = K⁻ᵀ ȳ and Ω that of y; for the transpose, with y and λ exchanged."""
    of_m = _turned_pullback_m(ct, t, m, y, transpose=transpose)
    x, z = (of_m, y) if transpose else (y, of_m)
    return -_commutator(_placed(z, t), swap(_turn(x)))


def _turned_pullback_m(ct: Atom, t: Atom, m: Atom, y: Atom, *, transpose: bool) -> Any:
    return schur_turn(t, _strictly_lower(ct), transpose=not transpose)


schur_turn = op(  # K⁻¹ m, or K⁻ᵀ m; of m and of the result only the strict lower triangle counts
    over_stack(_turned_one, _turned_type),
    name="schur_turn",
    type=_turned_type,
    cost=cubic(2),
    pushforward=_turned_pushforward,
    pullback=[_turned_pullback_t, _turned_pullback_m],
    batch=lambda xs, batched, size, **params: schur_turn(*batch_all(xs, batched, size), **params),
)


# ----------------------------------------------------------------------------------------------------- factorisation


def _schur_type(x: Aval, *, sort: str | None) -> tuple[Aval, Aval]:
    square("schur", x)
    return x, x


def _schur_one(x: Array, *, sort: str | None) -> Any:
    return scipy_linalg().schur(x, output="real", sort=sort, check_finite=False)[:2]


def _upper(x: Atom, t: Atom) -> Any:
    """The elements that t has: the upper triangle, and the blocks."""
    return select(_in_block(t), x, triangle(x, False))


def schur_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Sequence[Atom], *, sort: str | None) -> Any:
    t, z = y
    m = matmul(adjoint(z), matmul(dxs[0], z))
    x = schur_turn(t, -_taken(m, t), transpose=False)
    omega = x - adjoint(x)
    return _upper(m + _commutator(t, omega), t), matmul(z, omega)


def schur_pullback(ct: Sequence[Any], x: Atom, y: Sequence[Atom], *, sort: str | None) -> Any:
    """x̄ = z (t̄ − Sᵀ(K⁻ᴴ X̄)) zᴴ, with X̄ the strict lower triangle of W − Wᴴ, W = tᴴ t̄ − t̄ tᴴ + zᴴ z̄; with the
    conjugates of t and z for t and z."""
    (t, z), ct_t, ct_z = y, _upper(ct[0], y[0]), ct[1]
    tc, zc = conj(t), conj(z)
    w = matmul(adjoint(tc), ct_t) - matmul(ct_t, adjoint(tc)) + matmul(adjoint(zc), ct_z)
    of_x = _strictly_lower(w - adjoint(w))
    of_m = ct_t - _placed(schur_turn(t, of_x, transpose=True), t)
    return matmul(zc, matmul(of_m, adjoint(zc)))


schur = op(  # t, upper triangular but for blocks of two rows if x is real, and the unitary z, with x = z t zᴴ
    over_stack(_schur_one, _schur_type),
    name="schur",
    type=_schur_type,
    cost=cubic(25),
    pushforward=schur_pushforward,
    pullback=[schur_pullback],
    is_holomorphic=False,
    batch=lambda xs, batched, size, **params: schur(xs[0], **params),
)
