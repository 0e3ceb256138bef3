"""Spectral factorisations by the routine of LAPACK's that SciPy takes, and of matrices in a shorter form.

The rules are those of :mod:`wengert.ops.linalg.spectra`. Which routine it was shows in the signs of vectors alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.errors import ShapeError
from wengert.ops.contract import matmul
from wengert.ops.elementwise import complex_dtype, real_dtype
from wengert.ops.index import INTP, slice_axis
from wengert.ops.linalg import spectra
from wengert.ops.linalg.banded import band_of_dense, dense_of_band
from wengert.ops.linalg.matrices import adjoint, batch_all, conj, cubic, real_part, square, swap
from wengert.ops.linalg.solutions import pinv_pullback, pinv_pushforward, solve
from wengert.ops.linalg.stacks import Array, over_stack, scipy_linalg
from wengert.ops.op import ZERO, op
from wengert.ops.shape import concatenate, reshape, zeros
from wengert.ops.structured import Masked
from wengert.tape import Atom, Aval

Subset = tuple[int, int] | None
"""The first and the last of the eigenvalues that SciPy is asked for, or all."""


def _with_subset(find: Callable[..., Any], subset: Subset) -> tuple[Array, Array]:
    """All eigenvalues and vectors; those of the subset as a routine gives them that finds no others."""
    w, v = find(None)
    if subset is not None:
        first, last = subset
        w[first : last + 1], v[:, first : last + 1] = find(subset)
    return w, v


# -------------------------------------------------------------------------------------------- Hermitian matrices


def _eigh_type(x: Aval, *, lower: bool, driver: str | None, subset: Subset) -> tuple[Aval, Aval]:
    square("eigh", x)
    return Aval(x.shape[:-1], real_dtype(x.dtype)), x


def _eigh_one(x: Array, *, lower: bool, driver: str | None, subset: Subset) -> Any:
    find = scipy_linalg().eigh
    some = {"ev": "evx", "evd": "evx"}.get(driver or "", driver)  # of these SciPy knows no subsets
    return _with_subset(
        lambda which: find(x, lower=lower, driver=driver if which is None else some, subset_by_index=which), subset
    )


def _rules(params: Any) -> dict[str, Any]:
    return {"lower": params["lower"], "any_vectors": False}


eigh_by = op(  # eigh by a routine of SciPy's
    over_stack(_eigh_one, _eigh_type),
    name="eigh_by",
    type=_eigh_type,
    cost=cubic(9),
    pushforward=lambda xs, dxs, y, **params: spectra.eigh_pushforward(xs, dxs, y, **_rules(params)),
    pullback=[lambda ct, x, y, **params: spectra.eigh_pullback(ct, x, y, **_rules(params))],
    structured=lambda ct, k, x, y, **params: spectra.eigh_structured(ct, k, x, y, **_rules(params)),
    is_holomorphic=False,
    batch=lambda xs, batched, size, **params: eigh_by(xs[0], **params),
)


def _tridiagonal_type(d: Aval, e: Aval, *, driver: str, subset: Subset) -> tuple[Aval, Aval]:
    n = d.shape[-1]
    if e.shape[-1] != n - 1:
        raise ShapeError(f"eigh_tridiagonal: d must have one more element than e: {d} and {e}")
    return d, Aval((*d.shape, n), d.dtype)


def _tridiagonal_one(d: Array, e: Array, *, driver: str, subset: Subset) -> Any:
    def find(which: Subset) -> Any:
        select_ = "a" if which is None else "i"
        return scipy_linalg().eigh_tridiagonal(d, e, select=select_, select_range=which, lapack_driver=driver)

    return _with_subset(find, subset)


def _lower_of_tridiagonal(d: Atom, e: Atom) -> Any:
    """The lower triangle of the matrix."""
    last = d.aval.ndim - 1
    end = zeros(Aval((*d.aval.shape[:-1], 1), d.aval.dtype))
    rows = [d, concatenate(e, end, axis=last)]
    band = concatenate(*[reshape(x, shape=(*x.aval.shape[:-1], 1, x.aval.shape[-1])) for x in rows], axis=last)
    return dense_of_band(band, 0)


def _tridiagonal_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Sequence[Atom], **params: Any) -> Any:
    moved = [zeros(x.aval) if dx is None else dx for x, dx in zip(xs, dxs, strict=True)]
    return spectra.eigh_pushforward(xs, [_lower_of_tridiagonal(*moved)], y, lower=True, any_vectors=False)


def _of_diagonal(a: Atom, k: int) -> Any:
    """The k-th diagonal below the main one."""
    n = a.aval.shape[-1]
    band = band_of_dense(a, k, 0)
    row = slice_axis(slice_axis(band, band.aval.ndim - 2, k, 1), band.aval.ndim - 1, 0, n - k)
    return reshape(row, shape=(*a.aval.shape[:-2], n - k))


def _tridiagonal_structured(ct: Any, k: int, d: Atom, e: Atom, y: Sequence[Atom], **params: Any) -> Any:
    return _of_diagonal(spectra.eigh_structured(ct, 0, d, y, lower=True, any_vectors=False), k)


eigh_tridiagonal = op(  # of the symmetric matrix with the diagonals d and e
    over_stack(_tridiagonal_one, _tridiagonal_type, 1),
    name="eigh_tridiagonal",
    type=_tridiagonal_type,
    cost=lambda d, e, **params: 10.0 * d.size * d.shape[-1],
    pushforward=_tridiagonal_pushforward,
    pullback=[
        lambda ct, d, e, y, **params: _tridiagonal_structured(ct, 0, d, e, y, **params),
        lambda ct, d, e, y, **params: _tridiagonal_structured(ct, 1, d, e, y, **params),
    ],
    structured=_tridiagonal_structured,
    is_holomorphic=False,
    batch=lambda xs, batched, size, **params: eigh_tridiagonal(*batch_all(xs, batched, size), **params),
)


def _banded_type(ab: Aval, *, lower: bool, subset: Subset) -> tuple[Aval, Aval]:
    n = ab.shape[-1]
    return Aval((*ab.shape[:-2], n), real_dtype(ab.dtype)), Aval((*ab.shape[:-2], n, n), ab.dtype)


def _banded_one(ab: Array, *, lower: bool, subset: Subset) -> Any:
    def find(which: Subset) -> Any:
        return scipy_linalg().eig_banded(
            ab, lower=lower, select="a" if which is None else "i", select_range=which, check_finite=False
        )

    return _with_subset(find, subset)


def _dense(ab: Atom, lower: bool) -> Any:
    return dense_of_band(ab, 0 if lower else ab.aval.shape[-2] - 1)


def _band(a: Atom, lower: bool, width: int) -> Any:
    return band_of_dense(a, width, 0) if lower else band_of_dense(a, 0, width)


def _banded_structured(ct: Any, k: int, ab: Atom, y: Sequence[Atom], *, lower: bool, subset: Subset) -> Any:
    found = spectra.eigh_structured(ct, 0, ab, y, lower=lower, any_vectors=False)
    return _band(found, lower, ab.aval.shape[-2] - 1)


def _banded_pushforward(
    xs: Sequence[Atom], dxs: Sequence[Atom], y: Sequence[Atom], *, lower: bool, subset: Subset
) -> Any:
    return spectra.eigh_pushforward(xs, [_dense(dxs[0], lower)], y, lower=lower, any_vectors=False)


eig_banded = op(  # of the Hermitian matrix with the half band ab
    over_stack(_banded_one, _banded_type),
    name="eig_banded",
    type=_banded_type,
    cost=lambda ab, **params: 9.0 * ab.size * ab.shape[-1],
    pushforward=_banded_pushforward,
    pullback=[lambda ct, ab, y, **params: _banded_structured(ct, 0, ab, y, **params)],
    structured=_banded_structured,
    is_holomorphic=False,
    batch=lambda xs, batched, size, **params: eig_banded(xs[0], **params),
)


# ------------------------------------------------------------------------------------------------ singular values


def _svd_type(x: Aval, *, full: bool, driver: str) -> Any:
    return spectra.svd.type(x, full=full)


def _svd_one(x: Array, *, full: bool, driver: str) -> Any:
    return scipy_linalg().svd(x, full_matrices=full, lapack_driver=driver, check_finite=False)


svd_by = op(  # svd by a routine of SciPy's
    over_stack(_svd_one, _svd_type),
    name="svd_by",
    type=_svd_type,
    cost=cubic(20),
    pushforward=lambda xs, dxs, y, *, full, driver: spectra.svd_pushforward(xs, dxs, y, full=full),
    pullback=[lambda ct, x, y, *, full, driver: spectra.svd_pullback(ct, x, y, full=full)],
    structured=lambda ct, k, x, y, *, full, driver: spectra.svd_structured(ct, k, x, y, full=full),
    is_holomorphic=False,
    batch=lambda xs, batched, size, **params: svd_by(xs[0], **params),
)


# ---------------------------------------------------------------------- left vectors, generalised eigenvalues, pinv


def _eig_type(x: Aval) -> tuple[Aval, Aval]:
    square("eig", x)
    dtype = complex_dtype(x.dtype)
    return Aval(x.shape[:-1], dtype), Aval(x.shape, dtype)


def _left_one(x: Array) -> Any:
    return scipy_linalg().eig(x, left=True, right=False, check_finite=False)


def _left_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Sequence[Atom]) -> Any:
    """The left vectors of x are the vectors of xᴴ, for the conjugates of the values."""
    w, v = y
    dw, dv = spectra.eig_pushforward([adjoint(xs[0])], [adjoint(dxs[0])], (conj(w), v))
    return conj(dw), dv


def _left_structured(ct: Sequence[Any], k: int, x: Atom, y: Sequence[Atom]) -> Any:
    (of_w, of_v), (w, v) = ct, y
    of_w = None if of_w is None else conj(of_w.value if isinstance(of_w, Masked) else of_w)
    found = spectra.eig_pullback((of_w, of_v), adjoint(x), (conj(w), v))
    return adjoint(found)


eig_left = op(  # eigenvalues and left vectors, vᴴ x = w vᴴ, as columns of length one
    over_stack(_left_one, _eig_type),
    name="eig_left",
    type=_eig_type,
    cost=cubic(25),
    pushforward=_left_pushforward,
    pullback=[lambda ct, x, y: _left_structured(ct, 0, x, y)],
    structured=_left_structured,
    is_holomorphic=False,
    batch=lambda xs, batched, size: eig_left(xs[0]),
)


def _general_type(a: Aval, b: Aval) -> tuple[Aval, Aval]:
    if a.shape != b.shape:
        raise ShapeError(f"eig: {a} and {b} must have the same shape")
    return _eig_type(a)


def _general_one(a: Array, b: Array) -> Any:
    return scipy_linalg().eig(a, b, check_finite=False)


def _general_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Sequence[Atom]) -> Any:
    """Values and vectors are those of c = b⁻¹ a, with ċ = b⁻¹ (ȧ − ḃ c)."""
    (a, b), (da, db) = xs, dxs
    c = solve(b, a, transpose=False)
    rate = da
    if db is not None:
        moved = matmul(db, c)
        rate = -moved if rate is None else rate - moved
    return spectra.eig_pushforward([c], [solve(b, rate, transpose=False)], y)


def _general_structured(ct: Sequence[Any], k: int, a: Atom, b: Atom, y: Sequence[Atom]) -> Any:
    """ā = b⁻ᵀ c̄ and b̄ = −ā cᵀ."""
    c = solve(b, a, transpose=False)
    of_c = spectra.eig_pullback(ct, c, y)
    if a.aval.dtype.kind != "c":
        of_c = real_part(of_c)  # c is real, and so are its tangents
    of_a = solve(b, of_c, transpose=True)
    return of_a if k == 0 else -matmul(of_a, swap(c))


general_eig = op(  # eigenvalues and vectors of a v = w b v; complex, of real matrices too
    over_stack(_general_one, _general_type),
    name="general_eig",
    type=_general_type,
    cost=cubic(60),
    pushforward=_general_pushforward,
    pullback=[
        lambda ct, a, b, y: _general_structured(ct, 0, a, b, y),
        lambda ct, a, b, y: _general_structured(ct, 1, a, b, y),
    ],
    structured=_general_structured,
    is_holomorphic=False,
    batch=lambda xs, batched, size: general_eig(*batch_all(xs, batched, size)),
)


def _pinv_type(x: Aval, *, atol: float, rtol: float | None) -> Aval:
    return Aval((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)


def _pinv_one(x: Array, *, atol: float, rtol: float | None) -> Any:
    return scipy_linalg().pinv(x, atol=atol, rtol=rtol, check_finite=False)


pinv_by = op(  # the pseudo-inverse; singular values up to atol + rtol times the largest count as zero
    over_stack(_pinv_one, _pinv_type),
    name="pinv_by",
    type=_pinv_type,
    cost=cubic(20),
    pushforward=lambda xs, dxs, y, **params: pinv_pushforward(xs, dxs, y, rcond=0.0),
    pullback=[lambda ct, x, y, **params: pinv_pullback(ct, x, y, rcond=0.0)],
    is_holomorphic=False,
    batch=lambda xs, batched, size, **params: pinv_by(xs[0], **params),
)


def _balance_type(x: Aval, *, permute: bool, scale: bool) -> tuple[Aval, Aval]:
    square("matrix_balance", x)
    return Aval(x.shape[:-1], np.dtype(np.float64)), Aval(x.shape[:-1], INTP)


def _balance_one(x: Array, *, permute: bool, scale: bool) -> Any:
    return scipy_linalg().matrix_balance(x, permute=permute, scale=scale, separate=True)[1]


balance = op(  # the scales, which are powers of two, and the order of rows with which SciPy balances a matrix
    over_stack(_balance_one, _balance_type),
    name="balance",
    type=_balance_type,
    pushforward=ZERO,
    pullback=[ZERO],
    batch=lambda xs, batched, size, **params: balance(xs[0], **params),
)
