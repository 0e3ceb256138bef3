"""Eigenvalues and singular values, with their vectors, and what is made of them.

Vectors have the signs that SciPy's routine gives them. Their derivatives are as for NumPy's: docs/kinks.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.of_scipy.linalg.operands import (
    adjoint,
    checks_finite,
    common_lead,
    conj,
    inexact,
    square,
    symmetric,
    triangular_solve,
)
from wengert.ops import linalg as ops
from wengert.ops.linalg import drivers
from wengert.ops.op import Op
from wengert.tracing.arguments import Traced, array, as_dtype, concrete, holds, unsupported
from wengert.tracing.emit import record
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer

# ------------------------------------------------------------------------------------------------ general matrices


def _real_vectors(a: Traced, w: Traced, v: Traced) -> Any:
    """The vectors of a real matrix are real if all eigenvalues are: a look, guarded. In a batch they are complex."""
    return v.real if a.dtype.kind != "c" and holds(np.all(w.imag == 0)) else v


@intercepts("scipy.linalg:eig")
@checks_finite
def eig(
    a: ArrayLike,
    b: ArrayLike | None = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    if b is not None:
        return _general(a, b, left, right, homogeneous_eigvals)
    a = square(a)
    w, v = record(ops.eig, (a,), {})
    values = np.stack([w, np.ones_like(w)], axis=-2) if homogeneous_eigvals else w
    if not (left or right):
        return values
    found = []
    if left:
        found.append(_real_vectors(a, w, record(drivers.eig_left, (a,), {})[1]))
    if right:
        found.append(_real_vectors(a, w, v))
    return values, *found


def _general(a: ArrayLike, b: ArrayLike, left: bool, right: bool, homogeneous: bool) -> Any:
    """The vectors of a v = w b v have length one. A derivative needs b⁻¹: LinAlgError if b is singular."""
    if left or homogeneous:
        which = "left" if left else "homogeneous_eigvals"
        raise unsupported(
            f"scipy.linalg.eig: {which}=True is not traced for two matrices", "eig(np.linalg.solve(b, a), ...)"
        )
    a, b = inexact(a, b)
    a, b = square(a), square(b)
    if a.shape[-2:] != b.shape[-2:]:
        raise ValueError("a and b must have the same shape")
    w, v = record(drivers.general_eig, tuple(common_lead((2, 2), a, b)), {})
    return (w, _real_vectors(a, w, v)) if right else w


@intercepts("scipy.linalg:eigvals")
@checks_finite
def eigvals(
    a: ArrayLike,
    b: ArrayLike | None = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
    overwrite_b: bool = False,  # since SciPy 1.18
) -> Any:
    return eig(a, b, left=False, right=False, homogeneous_eigvals=homogeneous_eigvals)


# ---------------------------------------------------------------------------------------------- Hermitian matrices


def _indices(
    w: Any, by_index: Sequence[int] | None, by_value: Sequence[float | Traced] | None, n: int
) -> tuple[int, int] | None:
    """The first and the last eigenvalue that is asked for; how many lie between two values is a look, guarded."""
    if by_index is not None and by_value is not None:
        raise ValueError("Either index or value subset can be requested.")
    if by_index is not None:
        low, high = [int(concrete(k, "the indices of a subset of eigenvalues")) for k in by_index]
        if not 0 <= low <= high < n:
            raise ValueError(
                "Requested eigenvalue indices are not valid. "
                f"Valid range is [0, {n - 1}] and start <= end, but start={low}, end={high} is given"
            )
        return low, high
    if by_value is not None:
        low, high = by_value
        if not any(type(x) is Tracer for x in (low, high)) and not -np.inf <= low < high <= np.inf:
            raise ValueError(
                "Requested eigenvalue bounds are not valid. Valid range is (-inf, inf) and low < high, but "
                f"low={low}, high={high} is given"
            )
        kind = "the number of eigenvalues of a subset"
        first = int(concrete(np.count_nonzero(w <= low), kind))
        return first, first + int(concrete(np.count_nonzero((w > low) & (w <= high)), kind)) - 1
    return None


def _part(w: Traced, v: Traced, subset: tuple[int, int] | None) -> tuple[Any, Any]:
    if subset is None:
        return w, v
    chosen = slice(subset[0], subset[1] + 1)
    return w[..., chosen], v[..., :, chosen]


def _values(a: Traced, lower: bool) -> Any:
    return record(ops.eigh, (a,), {"lower": lower, "any_vectors": True})[0]


DRIVERS = (None, "ev", "evd", "evr", "evx", "gv", "gvd", "gvx")


@intercepts("scipy.linalg:eigh")
@checks_finite
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: Sequence[float | Traced] | None = None,
    driver: str | None = None,
) -> Any:
    """Generalised problems are reduced to standard ones by Cholesky's factor of ``b``, as LAPACK's sygvd does.

    The cotangent lies in the triangle that is read. Eigenvalues alone, and vectors by ``driver="evd"``, are found in
    compiled code.
    """
    if driver not in DRIVERS:
        raise ValueError(f'"{driver}" is unknown. Possible values are "None", "{chr(34).join(DRIVERS[1:])}".')
    if driver is not None and (b is None) == driver.startswith("g"):
        if b is None:
            raise ValueError(f"{driver} requires input b array to be supplied for generalized eigenvalue problems.")
        raise ValueError(f'"{driver}" does not accept input b array for standard eigenvalue problems.')
    lower = bool(lower)
    has_subset = subset_by_index is not None or subset_by_value is not None
    if has_subset and driver in ("ev", "evd", "gv", "gvd"):
        raise ValueError(f'"{driver}" cannot compute subsets of eigenvalues')
    if b is None:
        a = square(a, 'expected square "a" matrix')
        return _standard(a, lower, driver, eigvals_only, subset_by_index, subset_by_value)
    if type not in (1, 2, 3):
        raise ValueError('"type" keyword only accepts 1, 2, and 3.')
    a, b = inexact(a, b)
    a, b = square(a, 'expected square "a" matrix'), square(b, 'expected square "b" matrix')
    if b.shape[-2:] != a.shape[-2:]:
        raise ValueError(f"wrong b dimensions {b.shape}, should be {a.shape}")
    matrix, other = common_lead((2, 2), a, b)
    matrix = symmetric(matrix, lower, True)
    factor = record(ops.cholesky, (other if lower else adjoint(other),), {})
    if type == 1:
        half = triangular_solve(factor, matrix, True)
        reduced = triangular_solve(factor, adjoint(half), True)
    else:
        reduced = adjoint(factor) @ (matrix @ factor)
    standard = {"gv": "ev", "gvx": "evx", "gvd": "evd", None: "evx" if has_subset else "evd"}[driver]
    found = _standard(reduced, lower, standard, eigvals_only, subset_by_index, subset_by_value)
    if eigvals_only:
        return found
    w, u = found
    v = factor @ u if type == 3 else triangular_solve(conj(factor), u, True, transpose=True)
    return w, v


def _standard(
    a: Traced,
    lower: bool,
    driver: str | None,
    only: bool,
    by_index: Sequence[int] | None,
    by_value: Sequence[float | Traced] | None,
) -> Any:
    n = a.shape[-1]
    has_subset = by_index is not None or by_value is not None
    if only or (driver == "evd" and not has_subset):
        w, v = record(ops.eigh, (a,), {"lower": lower, "any_vectors": only})
        w, v = _part(w, v, _indices(w, by_index, by_value, n))
        return w if only else (w, v)
    subset = None
    if has_subset:
        subset = _indices(_values(a, lower) if by_value is not None else None, by_index, by_value, n)
        if subset is not None and subset[1] < subset[0]:
            w, v = record(ops.eigh, (a,), {"lower": lower, "any_vectors": False})
            return _part(w, v, subset)
    w, v = record(drivers.eigh_by, (a,), {"lower": lower, "driver": driver, "subset": subset})
    return _part(w, v, subset)


@intercepts("scipy.linalg:eigvalsh")
@checks_finite
def eigvalsh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: Sequence[float | Traced] | None = None,
    driver: str | None = None,
) -> Any:
    return eigh(
        a,
        b,
        lower=lower,
        eigvals_only=True,
        type=type,
        subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
        driver=driver,
    )


def _selected(
    op: Op,
    xs: tuple[Any, ...],
    params: dict[str, Any],
    n: int,
    select: str | int,
    chosen: Sequence[int | float | Traced] | None,
    only: bool,
) -> Any:
    """Eigenvalues and vectors of a compact form, all or those that ``select`` says."""
    kind = {"a": "a", "all": "a", 0: "a", "v": "v", "value": "v", 1: "v", "i": "i", "index": "i", 2: "i"}.get(
        select.lower() if isinstance(select, str) else select
    )
    if kind is None:
        raise ValueError("invalid argument for select")
    subset = None
    if kind != "a":
        if chosen is None or len(chosen) != 2:
            raise ValueError("select_range must be a 2-element array-like in nondecreasing order")
        if kind == "i":
            low, high = [int(concrete(k, "the indices of a subset of eigenvalues")) for k in chosen]
            if low > high:
                raise ValueError("select_range must be a 2-element array-like in nondecreasing order")
            if low < 0 or high >= n:
                raise ValueError("select_range out of bounds")
            subset = low, high
        else:
            subset = _indices(record(op, xs, {**params, "subset": None})[0], None, tuple(chosen), n)
    is_empty = subset is not None and subset[1] < subset[0]
    w, v = record(op, xs, {**params, "subset": None if only or is_empty else subset})
    w, v = _part(w, v, subset)
    return w if only else (w, v)


@intercepts("scipy.linalg:eigh_tridiagonal")
@checks_finite
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    eigvals_only: bool = False,
    select: str | int = "a",
    select_range: Sequence[int | float | Traced] | None = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    d, e = inexact(d, e)
    if d.ndim < 1 or e.ndim < 1:
        raise ValueError("expected a 1-D array")
    if d.dtype.kind == "c":
        raise TypeError("Only real arrays currently supported")
    if d.shape[-1] != e.shape[-1] + 1:
        raise ValueError(f"d ({d.shape[-1]}) must have one more element than e ({e.shape[-1]})")
    known = ("auto", "stemr", "sterf", "stebz", "stev", "stevd")
    if lapack_driver not in known:
        raise ValueError(f"lapack_driver must be one of {known}, got {lapack_driver}")
    if lapack_driver == "sterf" and not eigvals_only:
        raise ValueError("sterf can only be used when eigvals_only is True")
    params = {"driver": "auto" if lapack_driver == "sterf" else lapack_driver}
    xs = tuple(common_lead((1, 1), d, e))
    return _selected(drivers.eigh_tridiagonal, xs, params, d.shape[-1], select, select_range, eigvals_only)


@intercepts("scipy.linalg:eigvalsh_tridiagonal")
@checks_finite
def eigvalsh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    select: str | int = "a",
    select_range: Sequence[int | float | Traced] | None = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    return eigh_tridiagonal(d, e, True, select, select_range, check_finite, tol, lapack_driver)


@intercepts("scipy.linalg:eig_banded")
@checks_finite
def eig_banded(
    a_band: ArrayLike,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: str | int = "a",
    select_range: Sequence[int | float | Traced] | None = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    (ab,) = inexact(a_band)
    if ab.ndim < 2:
        raise ValueError("expected a 2-D array")
    params = {"lower": bool(lower)}
    return _selected(drivers.eig_banded, (ab,), params, ab.shape[-1], select, select_range, eigvals_only)


@intercepts("scipy.linalg:eigvals_banded")
@checks_finite
def eigvals_banded(
    a_band: ArrayLike,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: str | int = "a",
    select_range: Sequence[int | float | Traced] | None = None,
    check_finite: bool = True,
) -> Any:
    return eig_banded(a_band, lower, True, select=select, select_range=select_range)


# --------------------------------------------------------------------------------------------------- singular values


@intercepts("scipy.linalg:svd")
@checks_finite
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    if not isinstance(lapack_driver, str):
        raise TypeError("lapack_driver must be a string")
    if lapack_driver not in ("gesdd", "gesvd"):
        raise ValueError(f'lapack_driver must be "gesdd" or "gesvd", not "{lapack_driver}"')
    (a,) = inexact(a)
    if a.ndim < 2:
        raise ValueError("expected matrix")
    full = bool(compute_uv and full_matrices and a.shape[-1] != a.shape[-2])
    if lapack_driver == "gesvd" and compute_uv:
        return tuple(record(drivers.svd_by, (a,), {"full": full, "driver": "gesvd"}))
    u, s, vh = record(ops.svd, (a,), {"full": full})
    return (u, s, vh) if compute_uv else s


@intercepts("scipy.linalg:svdvals")
@checks_finite
def svdvals(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return svd(a, compute_uv=False)


def _rank(s: Traced, shape: tuple[int, ...], rcond: float | Traced | None) -> int:
    """The number of singular values that count: a look, guarded."""
    limit = float(np.finfo(s.dtype).eps) * max(shape) if rcond is None else rcond
    count = np.count_nonzero(s > np.max(s, initial=0.0) * limit)
    return int(concrete(count, "the rank of a matrix, by which a shape is chosen"))


@intercepts("scipy.linalg:orth")
def orth(A: ArrayLike, rcond: float | Traced | None = None) -> Any:
    u, s, vh = svd(A, full_matrices=False)
    return u[:, : _rank(s, (u.shape[-2], vh.shape[-1]), rcond)]


@intercepts("scipy.linalg:null_space")
@checks_finite
def null_space(
    A: ArrayLike,
    rcond: float | Traced | None = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    u, s, vh = svd(A, lapack_driver=lapack_driver)
    return adjoint(vh[_rank(s, (u.shape[-2], vh.shape[-1]), rcond) :, :])


@intercepts("scipy.linalg:subspace_angles")
def subspace_angles(A: ArrayLike, B: ArrayLike) -> Any:
    """Angles are found by cosines where these are small, else by sines.

    Source: Knyazev & Argentati (2002), SIAM J. Sci. Comput. 23.
    """
    A, B = inexact(A, B)
    for x in (A, B):
        if x.ndim != 2:
            raise ValueError(f"expected 2D array, got shape {x.shape}")
    if A.shape[0] != B.shape[0]:
        raise ValueError(f"A and B must have the same number of rows, got {A.shape[0]} and {B.shape[0]}")
    qa, qb = orth(A), orth(B)
    both = adjoint(qa) @ qb
    sigma = svdvals(both)
    beside = qb - qa @ both if qa.shape[1] >= qb.shape[1] else qa - qb @ adjoint(both)
    mask = sigma**2 >= 0.5
    sines = np.clip(svdvals(beside), -1.0, 1.0)
    cosines = np.clip(sigma[::-1], -1.0, 1.0)
    return np.where(mask, np.arcsin(np.where(mask, sines, 0)), np.arccos(np.where(mask, 0, cosines)))


# ------------------------------------------------------------------------------------------------------------ others


@intercepts("scipy.linalg:matrix_balance")
def matrix_balance(
    A: ArrayLike, permute: bool = True, scale: bool = True, separate: bool = False, overwrite_a: bool = False
) -> Any:
    """The scales, which are powers of two, and the order have no derivative."""
    a: Any = square(np.atleast_2d(inexact(A)[0]), "The data matrix for balancing should be square.")
    scaling, perm = record(drivers.balance, (a,), {"permute": bool(permute), "scale": bool(scale)})
    moved = np.take_along_axis(a, perm[..., None], axis=-2)
    moved = np.take_along_axis(moved, perm[..., None, :], axis=-1)
    by = as_dtype(scaling, a.dtype)
    balanced = moved * (by[..., None, :] / by[..., :, None])
    if separate:
        return balanced, (scaling, perm)
    n = a.shape[-1]
    columns = scaling[..., None, :] * np.eye(n)
    return balanced, np.take_along_axis(columns, np.argsort(perm, axis=-1)[..., None], axis=-2)


@intercepts("scipy.linalg:cdf2rdf")
def cdf2rdf(w: ArrayLike, v: ArrayLike) -> Any:
    """Blocks of two rows for pairs of complex eigenvalues, which are found by a look, guarded."""
    w, v = array(w), array(v)
    if w.ndim < 1:
        raise ValueError("expected w to be at least 1D")
    if v.ndim < 2:
        raise ValueError("expected v to be at least 2D")
    if v.ndim != w.ndim + 1:
        raise ValueError("expected eigenvectors array to have exactly one dimension more than eigenvalues array")
    if v.shape[-2] != v.shape[-1]:
        raise ValueError("expected v to be a square matrix or stacked square matrices: v.shape[-2] = v.shape[-1]")
    if v.shape[-1] != w.shape[-1]:
        raise ValueError("expected the same number of eigenvalues as eigenvectors")
    is_complex = np.asarray(concrete(w.imag != 0, "which eigenvalues are complex"))
    if not (is_complex.sum(axis=-1) % 2 == 0).all():
        raise ValueError("expected complex-conjugate pairs of eigenvalues")
    n = w.shape[-1]
    *stack, place = np.nonzero(is_complex)
    at, j, k = tuple(i[0::2] for i in stack), place[0::2], place[1::2]
    from_row = np.zeros(v.shape, bool)  # where the imaginary part of the row's eigenvalue stands
    from_row[(*at, j, k)] = from_row[(*at, k, j)] = True
    eye = np.eye(n)
    wr = w.real[..., None] * eye + np.where(from_row, w.imag[..., :, None], 0.0)
    u = np.broadcast_to(np.eye(n, dtype=complex), v.shape).copy()
    u[(*at, j, j)], u[(*at, j, k)], u[(*at, k, j)], u[(*at, k, k)] = 0.5j, 0.5, -0.5j, 0.5
    return wr, (v @ u).real
