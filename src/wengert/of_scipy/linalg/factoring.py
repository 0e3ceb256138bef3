"""Factorisations: Cholesky's, LU, LDL, QR, RQ, the polar one, Schur's form and Hessenberg's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from wengert.of_scipy.linalg.operands import (
    adjoint,
    check_square,
    checks_finite,
    common_lead,
    conj,
    inexact,
    real,
    square,
    triangular_solve,
    with_columns,
)
from wengert.of_scipy.linalg.solving import solve_factored
from wengert.ops import linalg as ops
from wengert.ops.linalg import pivoted
from wengert.ops.linalg.banded import banded_cholesky, banded_solve
from wengert.ops.linalg.schur import schur as schur_op
from wengert.tracing.arguments import Traced, array, as_dtype, unsupported
from wengert.tracing.emit import record
from wengert.tracing.functions.linalg import _reflections as reflections
from wengert.tracing.interception.intercept import intercepts

# --------------------------------------------------------------------------------------------------------- Cholesky


def _factor(x: ArrayLike, lower: bool) -> tuple[Any, Any]:
    """The matrix, and the factor in the triangle that is read."""
    a: Any = np.atleast_2d(inexact(x)[0])
    check_square(a, f"Input array is expected to be square but has the shape: {a.shape}.")
    if lower:
        return a, record(ops.cholesky, (a,), {})
    return a, adjoint(record(ops.cholesky, (adjoint(a),), {}))


@intercepts("scipy.linalg:cholesky")
@checks_finite
def cholesky(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The cotangent lies in the triangle that is read, as that of ``numpy.linalg.cholesky`` does."""
    return _factor(a, lower)[1]


IS_CLEAN = scipy.linalg.cho_factor(np.array([[1.0, 2.0], [2.0, 5.0]]))[0][1, 0] == 0
"""Whether SciPy writes zeros into the other triangle of a factor."""


@intercepts("scipy.linalg:cho_factor")
@checks_finite
def cho_factor(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The other triangle of the factor keeps the elements of ``a``, as LAPACK leaves them, before SciPy 1.18."""
    matrix, factor = _factor(a, lower)
    if IS_CLEAN:
        return factor, lower
    n = matrix.shape[-1]
    mask = np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T
    return np.where(mask, factor, matrix), lower


@intercepts("scipy.linalg:cho_solve")
@checks_finite
def cho_solve(
    c_and_lower: tuple[ArrayLike, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    c, lower = c_and_lower
    c, b = inexact(c, b)
    check_square(c, "The factored matrix c is not square.")
    if b.ndim == 0 or c.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError(f"incompatible dimensions ({c.shape} and {b.shape})")
    if lower:
        return solve_factored(c, b)
    columns = b[:, None] if b.ndim == 1 else b
    y = triangular_solve(conj(c), columns, False, transpose=True)
    x = triangular_solve(c, y, False)
    return x[..., 0] if b.ndim == 1 else x


@intercepts("scipy.linalg:cholesky_banded")
@checks_finite
def cholesky_banded(ab: ArrayLike, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True) -> Any:
    """The corners, which lie outside of the matrix, keep what was given."""
    (ab,) = inexact(ab)
    return record(banded_cholesky, (ab,), {"lower": bool(lower)})


@intercepts("scipy.linalg:cho_solve_banded")
@checks_finite
def cho_solve_banded(
    cb_and_lower: tuple[ArrayLike, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    cb, lower = cb_and_lower
    cb, b = inexact(cb, b)
    if b.ndim == 0 or cb.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError("shapes of cb and b are not compatible.")
    width = cb.shape[-2] - 1
    below, above = (width, 0) if lower else (0, width)
    params = {"lower": below, "upper": above}
    first, second = (cb, conj(cb)) if lower else (conj(cb), cb)
    y = with_columns(banded_solve, {**params, "transpose": not lower}, first, b)
    return with_columns(banded_solve, {**params, "transpose": bool(lower)}, second, y)


# --------------------------------------------------------------------------------------------------------------- LU


def _inverse(p: Traced) -> Any:
    return np.argsort(p, axis=-1)


@intercepts("scipy.linalg:lu")
@checks_finite
def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> Any:
    """The permutation has no derivative."""
    (a,) = inexact(a)
    if a.ndim < 2:
        raise ValueError("The input array must be at least two-dimensional.")
    p, low, up = record(pivoted.plu, (a,), {})
    back = _inverse(p)  # a = (L U)[back]
    if permute_l:
        return np.take_along_axis(low, back[..., None], axis=-2), up
    if p_indices:
        return back.astype(np.int32), low, up
    m = a.shape[-2]
    eye = np.eye(m, dtype=np.dtype(a.dtype.char.lower()))
    return np.take_along_axis(np.broadcast_to(eye, (*a.shape[:-2], m, m)), back[..., None], axis=-2), low, up


@intercepts("scipy.linalg:lu_factor")
@checks_finite
def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    (a,) = inexact(a)
    p, low, up = record(pivoted.plu, (a,), {})
    m, n = a.shape[-2:]
    k = min(m, n)
    low = np.tril(low, -1)
    if n > k:
        low = np.concatenate([low, np.zeros((*a.shape[:-2], m, n - k), a.dtype)], axis=-1)
    if m > k:
        up = np.concatenate([up, np.zeros((*a.shape[:-2], m - k, n), a.dtype)], axis=-2)
    return low + up, record(pivoted.pivots, (p,), {})[..., :k]


@intercepts("scipy.linalg:lu_solve")
@checks_finite
def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    factors, piv = lu_and_piv
    factors, b = inexact(factors, b)
    if b.ndim == 0 or factors.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError(f"Shapes of lu {factors.shape} and b {b.shape} are incompatible")
    order = record(pivoted.order_of, (as_dtype(array(piv), np.intc),), {})
    columns = b[:, None] if b.ndim == 1 else b
    factors, columns = common_lead((2, 2), factors, columns)
    order = np.broadcast_to(order, (*factors.shape[:-2], order.shape[-1]))
    unit = np.where(np.eye(factors.shape[-1], dtype=bool), np.ones((), factors.dtype), factors)
    if trans == 0:
        y = triangular_solve(unit, np.take_along_axis(columns, order[..., None], axis=-2), True)
        x = triangular_solve(factors, y, False)
    else:
        if trans == 2:
            unit, factors = conj(unit), conj(factors)
        y = triangular_solve(factors, columns, False, transpose=True)
        x = triangular_solve(unit, y, True, transpose=True)
        x = np.take_along_axis(x, _inverse(order)[..., None], axis=-2)
    return x[..., 0] if b.ndim == 1 else x


@intercepts("scipy.linalg:ldl")
@checks_finite
def ldl(
    A: ArrayLike, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    a: Any = np.atleast_2d(inexact(A)[0])
    check_square(a, 'The input array "a" should be square.')
    params = {"lower": bool(lower), "hermitian": bool(hermitian)}
    low, d, p = record(pivoted.ldl, (a,), params)
    return np.take_along_axis(low, _inverse(p)[..., None], axis=-2), d, p


# --------------------------------------------------------------------------------------------------------------- QR


def _qr(a: Traced, complete: bool) -> tuple[Any, Any]:
    return np.linalg.qr(a, "complete" if complete else "reduced")


def _pivoted(a: Traced) -> tuple[Any, Any]:
    order = record(pivoted.qr_order, (a,), {})
    return np.take_along_axis(a, order[..., None, :], axis=-1), order


@intercepts("scipy.linalg:qr")
@checks_finite
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """The order of columns that ``pivoting`` finds has no derivative."""
    if mode not in ("full", "qr", "r", "economic", "raw"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic', 'raw']")
    (a,) = inexact(a)
    if a.ndim < 2:
        raise ValueError("expected a 2-D array")
    x, *order = _pivoted(a) if pivoting else (a,)
    m, n = x.shape[-2:]
    if mode == "raw":
        turned, tau = reflections(x)
        found = np.swapaxes(turned, -1, -2)
        r = np.triu(found if m < n else found[..., :n, :])
        return (found, tau), r, *order
    q, r = _qr(x, mode != "economic" and m > n)
    return (r, *order) if mode == "r" else (q, r, *order)


@intercepts("scipy.linalg:qr_multiply")
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    if mode not in ("left", "right"):
        raise ValueError(f"Mode argument can only be 'left' or 'right' but not '{mode}'")
    a, c = inexact(a, c)
    a = np.atleast_2d(a)
    is_vector = c.ndim < 2
    if is_vector:
        c = np.atleast_2d(c)
        c = np.swapaxes(c, -1, -2) if mode == "left" else c
    m, n = a.shape[-2:]
    if mode == "left" and c.shape[-2] != min(m, n + overwrite_c * (m - n)):
        raise ValueError(f"Array shapes are not compatible for Q @ c operation: {a.shape} vs {c.shape}")
    if mode == "right" and m != c.shape[-1]:
        raise ValueError(f"Array shapes are not compatible for c @ Q operation: {c.shape} vs {a.shape}")
    x, *order = _pivoted(a) if pivoting else (a,)
    is_complete = mode == "left" and c.shape[-2] > min(m, n)
    q, r = _qr(x, is_complete)
    q = conj(q) if conjugate else q
    product = q @ c if mode == "left" else c @ q
    product = np.reshape(product, (*product.shape[:-2], -1)) if is_vector else product
    return product, r[..., : min(m, n), :], *order


def _flipped(a: Traced) -> Any:
    """The adjoint of the matrix with its rows and columns in the opposite order."""
    return adjoint(a[..., ::-1, ::-1])


@intercepts("scipy.linalg:rq")
@checks_finite
def rq(
    a: ArrayLike, overwrite_a: bool = False, lwork: int | None = None, mode: str = "full", check_finite: bool = True
) -> Any:
    """a = R Q, from the QR of the flipped adjoint, whose reflections are LAPACK's."""
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic']")
    (a,) = inexact(a)
    if a.ndim < 2:
        raise ValueError("expected matrix")
    m, n = a.shape[-2:]
    q, r = _qr(_flipped(a), mode != "economic" and n > m)
    return _flipped(r) if mode == "r" else (_flipped(r), _flipped(q))


# --------------------------------------------------------------------------------------- polar, Schur, Hessenberg


@intercepts("scipy.linalg:polar")
def polar(a: ArrayLike, side: str = "right") -> Any:
    """Where the matrix is square, or has full rank on the longer side, by its own rule; otherwise by the SVD."""
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    (a,) = inexact(a)
    if a.ndim < 2:
        raise ValueError("`a` must be a 2-D array.")
    m, n = a.shape[-2:]
    if side == "right" and m >= n:
        return record(pivoted.polar, (a,), {})
    if side == "left" and m <= n:
        u, p = record(pivoted.polar, (adjoint(a),), {})
        return adjoint(u), p
    w, s, vh = np.linalg.svd(a, full_matrices=False)
    scaled = as_dtype(s, a.dtype)[..., None, :]
    return w @ vh, (adjoint(vh) * scaled) @ vh if side == "right" else (w * scaled) @ adjoint(w)


@intercepts("scipy.linalg:orthogonal_procrustes")
@checks_finite
def orthogonal_procrustes(A: ArrayLike, B: ArrayLike, check_finite: bool = True) -> Any:
    """The unitary factor of Aᴴ B, and the sum of its singular values."""
    A, B = inexact(A, B)
    if A.ndim < 2:
        raise ValueError(f"expected ndim to be 2, but observed {A.ndim}")
    if A.shape[-2:] != B.shape[-2:]:
        raise ValueError(f"the shapes of A and B differ ({A.shape} vs {B.shape})")
    u, p = record(pivoted.polar, (adjoint(A) @ B,), {})
    return u, real(np.trace(p, axis1=-2, axis2=-1))


@intercepts("scipy.linalg:schur")
@checks_finite
def schur(
    a: ArrayLike,
    output: str = "real",
    lwork: int | None = None,
    overwrite_a: bool = False,
    sort: str | Callable[..., Any] | None = None,
    check_finite: bool = True,
) -> Any:
    """The derivative is that of LAPACK's form, whose blocks of real matrices have equal elements on their diagonal. It
    is NaN if eigenvalues are equal."""
    if output not in ("real", "complex", "r", "c"):
        raise ValueError("argument must be 'real', or 'complex'")
    if sort is not None and not isinstance(sort, str):
        raise unsupported("scipy.linalg.schur: sort is a function", "sort='lhp', 'rhp', 'iuc' or 'ouc'")
    if sort not in (None, "lhp", "rhp", "iuc", "ouc"):
        raise ValueError("'sort' parameter must either be 'None', or a callable, or one of ('lhp','rhp','iuc','ouc')")
    x = square(a)
    if output in ("complex", "c") and x.dtype.kind != "c":
        x = as_dtype(x, np.complex64 if x.dtype.char == "f" else np.complex128)
    t, z = record(schur_op, (x,), {"sort": sort})
    if sort is None:
        return t, z
    w: Any = np.diagonal(t, axis1=-2, axis2=-1) if x.dtype.kind == "c" else np.linalg.eigvals(x)
    chosen = {
        "lhp": lambda: real(w) < 0,
        "rhp": lambda: real(w) >= 0,
        "iuc": lambda: np.abs(w) <= 1,
        "ouc": lambda: np.abs(w) > 1,
    }[sort]()
    return t, z, np.count_nonzero(chosen, axis=-1)


@intercepts("scipy.linalg:rsf2csf")
@checks_finite
def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> Any:
    """A rotation for each block of two rows, which are found by a look, guarded. Source: SciPy's own code."""
    t, z = inexact(T, Z)
    for name, x in (("Z", z), ("T", t)):
        if x.ndim != 2 or x.shape[0] != x.shape[1]:
            raise ValueError(f"Input '{name}' must be square.")
    if t.shape[0] != z.shape[0]:
        raise ValueError(f"Input array shapes must match: Z: {z.shape} vs. T: {t.shape}")
    dtype = np.result_type(t.dtype, np.complex64)
    n = t.shape[0]
    t, z = as_dtype(t, dtype), as_dtype(z, dtype)
    for m in range(n - 1, 0, -1):
        pair, below = slice(m - 1, m + 1), np.abs(t[m, m - 1])
        if below > float(np.finfo(np.float64).eps) * (np.abs(t[m - 1, m - 1]) + np.abs(t[m, m])):
            mu = np.linalg.eigvals(t[pair, pair])[0] - t[m, m]
            r = np.sqrt(np.abs(mu) ** 2 + below**2)
            c, s = mu / r, t[m, m - 1] / r
            turn = np.stack([np.stack([np.conj(c), s]), np.stack([-s, c])])
            rows = np.concatenate([t[pair, : m - 1], turn @ t[pair, m - 1 :]], axis=1)
            t = np.concatenate([t[: m - 1], rows, t[m + 1 :]], axis=0)
            back = adjoint(turn)
            columns = np.concatenate([t[: m + 1, pair] @ back, t[m + 1 :, pair]], axis=0)
            t = np.concatenate([t[:, : m - 1], columns, t[:, m + 1 :]], axis=1)
            z = np.concatenate([z[:, : m - 1], z[:, pair] @ back, z[:, m + 1 :]], axis=1)
        keep = np.ones((n, n), bool)
        keep[m, m - 1] = False
        t = np.where(keep, t, np.zeros((), dtype))
    return t, z


@intercepts("scipy.linalg:hessenberg")
@checks_finite
def hessenberg(a: ArrayLike, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Householder's reflections make the form, as in LAPACK's gehrd, a step a column.

    Source: Golub & Van Loan, Matrix Computations, algorithm 7.4.2; LAPACK's larfg for the signs.
    """
    h: Any = square(a)
    n = h.shape[-1]
    if n <= 2:
        return (h, np.eye(n)) if calc_q else h
    q: Any = np.broadcast_to(np.eye(n, dtype=h.dtype), h.shape)
    for k in range(n - 1 if h.dtype.kind == "c" else n - 2):  # complex: the last element is made real
        v, tau = _reflection(h[..., k + 1 :, k])
        below = h[..., k + 1 :, :]
        below = below - np.conj(tau)[..., None, None] * v[..., :, None] * (np.conj(v)[..., None, :] @ below)
        h = np.concatenate([h[..., : k + 1, :], below], axis=-2)
        h = _times_reflection(h, v, tau, k + 1)
        q = _times_reflection(q, v, tau, k + 1)
    h = np.triu(h, -1)
    return (h, q) if calc_q else h


def _times_reflection(x: Traced, v: Traced, tau: Traced, first: int) -> Any:
    """x (1 − τ v vᴴ), on the columns from ``first`` on."""
    right = x[..., first:]
    right = right - tau[..., None, None] * (right @ v[..., :, None]) * np.conj(v)[..., None, :]
    return np.concatenate([x[..., :first], right], axis=-1)


def _reflection(x: Traced) -> tuple[Any, Any]:
    """v, with v₀ = 1, and τ with (1 − τ v vᴴ)ᴴ x = β e₀, β real; τ = 0 if x is that already."""
    first, rest = x[..., 0], x[..., 1:]
    size = np.sum(np.abs(rest) ** 2, axis=-1)
    phase = first.imag if x.dtype.kind == "c" else np.zeros((), x.dtype)
    is_there = (size == 0) & (phase == 0)
    total = np.where(is_there, 1, np.abs(first) ** 2 + size)
    beta = -np.copysign(np.sqrt(total), first.real if x.dtype.kind == "c" else first)
    tau = np.where(is_there, 0, (beta - first) / beta)
    by = np.where(is_there, 1, first - beta)
    return np.concatenate([np.ones_like(x[..., :1]), rest / by[..., None]], axis=-1), tau
