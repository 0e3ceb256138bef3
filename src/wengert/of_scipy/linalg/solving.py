"""Linear equations, inverses and determinants."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.of_scipy.linalg.operands import (
    check_square,
    checks_finite,
    common_lead,
    conj,
    double,
    inexact,
    square,
    symmetric,
    triangular_solve,
    with_columns,
)
from wengert.ops import linalg as ops
from wengert.ops.linalg.banded import banded_solve, hermitian_banded_solve, toeplitz_solve
from wengert.ops.linalg.drivers import pinv_by
from wengert.tracing.arguments import Traced, concrete, holds, unsupported
from wengert.tracing.emit import record
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer

NAMES = {
    None: "general",
    "gen": "general",
    "pos": "positive definite",
    "sym": "symmetric",
    "her": "hermitian",
}
STRUCTURES = (
    "general",
    "diagonal",
    "tridiagonal",
    "banded",
    "upper triangular",
    "lower triangular",
    "positive definite",
    "symmetric",
    "hermitian",
)


def structured(a: Traced, structure: str, lower: bool) -> Any:
    """The matrix of which a solver for this structure reads a part, and its triangle of zeros."""
    if structure in ("symmetric", "hermitian", "positive definite"):
        return symmetric(a, lower, structure != "symmetric")
    if structure == "diagonal":
        return np.where(np.eye(a.shape[-1], dtype=bool), a, 0)
    if structure == "tridiagonal":
        return np.tril(np.triu(a, -1), 1)
    if structure == "upper triangular":
        return np.triu(a)
    if structure == "lower triangular":
        return np.tril(a)
    return a


@intercepts("scipy.linalg:solve")
@checks_finite
def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """The derivative in ``a`` lies in the elements that are read: with ``assume_a="pos"`` in one triangle, as that of
    ``cholesky`` does; without, in all."""
    structure = NAMES.get(assume_a, assume_a)
    if structure not in STRUCTURES:
        raise ValueError(f"{assume_a} is not a recognized matrix structure")
    a, b = inexact(a, b)
    a, b = np.atleast_2d(a), np.atleast_1d(b)
    check_square(a, f"Expected square matrix, got a1.shape={a.shape}")
    if transposed and a.dtype.kind == "c":
        raise NotImplementedError(
            "scipy.linalg.solve can currently not solve a^T x = b or a^H x = b for complex matrices."
        )
    if a.size == 1 and (b.shape[-1 if b.ndim == 1 else -2] != 1):
        return b / a[..., 0, 0]
    if b.shape[-1 if b.ndim == 1 else -2] != a.shape[-1]:
        raise ValueError(f"incompatible shapes: a1.shape={a.shape} and b1.shape={b.shape}")
    is_transposed = bool(transposed)
    if structure == "positive definite":
        return _solve_positive(a, b, lower)
    if structure == "diagonal":
        d = np.diagonal(a, axis1=-2, axis2=-1)
        return b / (d if b.ndim == 1 else d[..., None])
    if structure in ("upper triangular", "lower triangular"):
        columns = b[:, None] if b.ndim == 1 else b
        x = triangular_solve(a, columns, structure == "lower triangular", is_transposed)
        return x[..., 0] if b.ndim == 1 else x
    if structure == "tridiagonal" and a.shape[-1] > 1:
        band = [np.diagonal(a, k, axis1=-2, axis2=-1) for k in (1, 0, -1)]
        end = np.zeros((*a.shape[:-2], 1), a.dtype)
        ab = np.stack([np.concatenate([end, band[0]], -1), band[1], np.concatenate([band[2], end], -1)], -2)
        return with_columns(banded_solve, {"lower": 1, "upper": 1, "transpose": is_transposed}, ab, b)
    matrix = structured(a, structure, lower)
    x = np.linalg.solve(np.swapaxes(matrix, -1, -2) if is_transposed else matrix, b[:, None] if b.ndim == 1 else b)
    return x[..., 0] if b.ndim == 1 else x


def _solve_positive(a: Traced, b: Traced, lower: bool) -> Any:
    """The solution by Cholesky's factorisation of the triangle that is read."""
    factor = record(ops.cholesky, (a if lower else conj(np.swapaxes(a, -1, -2)),), {})
    return solve_factored(factor, b)


def solve_factored(factor: Traced, b: Traced) -> Any:
    """(L Lᴴ)⁻¹ b."""
    columns = b[:, None] if b.ndim == 1 else b
    y = triangular_solve(factor, columns, True)
    x = triangular_solve(conj(factor), y, True, transpose=True)
    return x[..., 0] if b.ndim == 1 else x


@intercepts("scipy.linalg:solve_triangular")
@checks_finite
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    a, b = inexact(a, b)
    check_square(a)
    if b.ndim == 0 or a.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError(f"shapes of a {a.shape} and b {b.shape} are incompatible")
    trans = {"N": 0, "T": 1, "C": 2}.get(trans, trans) if isinstance(trans, str) else trans
    if unit_diagonal:
        a = np.where(np.eye(a.shape[-1], dtype=bool), np.ones((), a.dtype), a)
    columns = b[:, None] if b.ndim == 1 else b
    x = triangular_solve(conj(a) if trans == 2 else a, columns, lower, transpose=bool(trans))
    return x[..., 0] if b.ndim == 1 else x


@intercepts("scipy.linalg:solve_banded")
@checks_finite
def solve_banded(
    l_and_u: tuple[int, int],
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    lower, upper = [int(concrete(k, "the number of diagonals of solve_banded")) for k in l_and_u]
    ab, b = inexact(ab, b)
    if b.ndim == 0 or ab.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError("shapes of ab and b are not compatible.")
    if lower + upper + 1 != ab.shape[-2]:
        raise ValueError(
            "invalid values for the number of lower and upper diagonals: l+u+1 "
            f"({lower + upper + 1}) does not equal ab.shape[0] ({ab.shape[-2]})"
        )
    return with_columns(banded_solve, {"lower": lower, "upper": upper, "transpose": False}, ab, b)


@intercepts("scipy.linalg:solveh_banded")
@checks_finite
def solveh_banded(
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    ab, b = inexact(ab, b)
    if b.ndim == 0 or ab.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError("shapes of ab and b are not compatible.")
    return with_columns(hermitian_banded_solve, {"lower": bool(lower)}, ab, b)


def _column_and_row(c_or_cr: ArrayLike | tuple[ArrayLike, ArrayLike], *others: ArrayLike) -> list[Tracer]:
    """c, r and others in double precision; r is the conjugate of c if none is given."""
    if isinstance(c_or_cr, tuple):
        return double(*c_or_cr, *others)
    c, *rest = double(c_or_cr, *others)
    return [c, conj(c), *rest]


@intercepts("scipy.linalg:solve_toeplitz")
@checks_finite
def solve_toeplitz(c_or_cr: ArrayLike | tuple[ArrayLike, ArrayLike], b: ArrayLike, check_finite: bool = True) -> Any:
    """Levinson's recursion takes O(n²) operations; so do the derivatives."""
    if b is None:
        raise ValueError("`b` must be an array, not None.")
    c, r, b = _column_and_row(c_or_cr, b)
    if c.shape[-1] != r.shape[-1] or b.ndim == 0 or b.shape[0 if b.ndim == 1 else -2] != r.shape[-1]:
        raise ValueError("Incompatible dimensions.")
    columns = b[:, None] if b.ndim == 1 else b
    x = record(toeplitz_solve, tuple(common_lead((1, 1, 2), c, r, columns)), {})
    return x[..., 0] if b.ndim == 1 else x


@intercepts("scipy.linalg:matmul_toeplitz")
def matmul_toeplitz(
    c_or_cr: ArrayLike | tuple[ArrayLike, ArrayLike],
    x: ArrayLike,
    check_finite: bool = False,
    workers: int | None = None,
) -> Any:
    """The product is a part of that with a circulant matrix, which FFTs make."""
    c, r, x = _column_and_row(c_or_cr, x)
    if x.ndim == 0 or x.shape[0 if x.ndim == 1 else -2] != r.shape[-1]:
        raise ValueError("Incompatible dimensions.")
    rows, columns = c.shape[-1], x[:, None] if x.ndim == 1 else x
    p = rows + r.shape[-1] - 1
    if not columns.size:
        out = np.zeros((*columns.shape[:-2], rows, columns.shape[-1]), x.dtype)
        return out[..., 0] if x.ndim == 1 else out
    embedded = np.concatenate([c, r[..., :0:-1]], axis=-1)
    if x.dtype.kind == "c":
        product = np.fft.fft(embedded, axis=-1)[..., None] * np.fft.fft(columns, n=p, axis=-2)
        y = np.fft.ifft(product, axis=-2)
    else:
        product = np.fft.rfft(embedded, axis=-1)[..., None] * np.fft.rfft(columns, n=p, axis=-2)
        y = np.fft.irfft(product, n=p, axis=-2)
    y = y[..., :rows, :]
    return y[..., 0] if x.ndim == 1 else y


@intercepts("scipy.linalg:solve_circulant")
def solve_circulant(
    c: ArrayLike,
    b: ArrayLike,
    singular: str = "raise",
    tol: float | Traced | None = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> Any:
    """The solution is a quotient of transforms. Whether the matrix is nearly singular is a look, guarded, which is not
    taken in a batch; ``singular="lstsq"`` leaves out what is divided by zero."""
    c, b = [np.atleast_1d(x) for x in inexact(c, b)]
    for name, x, axis in (("c", c, caxis), ("b", b, baxis)):
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"'{name}axis' entry is out of bounds")
    if c.shape[caxis] != b.shape[baxis]:
        raise ValueError(f"Shapes of c {c.shape} and b {b.shape} are incompatible")
    n = c.shape[caxis]
    if not b.size:
        return b
    of_c = np.fft.fft(np.moveaxis(c, caxis, -1), axis=-1)
    size = np.abs(of_c)
    if tol is None:
        tol = np.max(size, axis=-1, keepdims=True) * (n * np.finfo(np.float64).eps)
    near_zero = size <= tol
    if singular == "raise":
        if holds(np.any(near_zero)):
            raise np.linalg.LinAlgError("near singular circulant matrix.")
        q = np.fft.fft(np.moveaxis(b, baxis, -1), axis=-1) / of_c
    else:
        q = np.fft.fft(np.moveaxis(b, baxis, -1), axis=-1) / np.where(near_zero, 1, of_c)
        q = np.where(near_zero, 0, q)
    x = np.fft.ifft(q, axis=-1)
    x = x if c.dtype.kind == "c" else x.real
    return x if outaxis == -1 else np.moveaxis(x, -1, outaxis)


# ------------------------------------------------------------------------------------------ inverses, determinants


@intercepts("scipy.linalg:inv")
@checks_finite
def inv(
    a: ArrayLike,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: str | None = None,
    lower: bool = False,
) -> Any:
    structure = NAMES.get(assume_a, assume_a)
    if structure not in STRUCTURES:
        raise KeyError(assume_a)
    (a,) = inexact(a)
    check_square(a, f"Expected square matrix, got a1.shape={a.shape}")
    return record(ops.inv, (structured(a, structure, lower),), {})


@intercepts("scipy.linalg:det")
@checks_finite
def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    (a,) = double(a)  # SciPy's results are of double precision
    if a.ndim < 2:
        raise ValueError("The input array must be at least two-dimensional.")
    check_square(a, f"Last 2 dimensions of the array must be square but received shape {a.shape}.")
    return record(ops.det, (a,), {})


def _limits(x: Traced, atol: float | None, rtol: float | None) -> tuple[float, float]:
    for name, given in (("atol", atol), ("rtol", rtol)):
        if type(given) is Tracer:
            raise unsupported(f"scipy.linalg.pinv: {name} is traced", f"{name} as a number that is not traced")
    rtol = max(x.shape[-2:]) * float(np.finfo(x.dtype).eps) if rtol is None else float(rtol)
    atol = 0.0 if atol is None else float(atol)
    if atol < 0 or rtol < 0:
        raise ValueError("atol and rtol values must be positive.")
    return atol, rtol


def _rank(a: Traced, atol: float, rtol: float) -> Any:
    s = np.linalg.svd(a, compute_uv=False)
    return np.count_nonzero(s > atol + rtol * np.max(s, axis=-1, keepdims=True, initial=0), axis=-1)


@intercepts("scipy.linalg:pinv")
@checks_finite
def pinv(
    a: ArrayLike,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """Its derivative is that among the matrices of the same rank."""
    (a,) = inexact(a)
    if a.ndim < 2:
        raise ValueError("expected matrix")
    atol, rtol = _limits(a, atol, rtol)
    found = record(pinv_by, (a,), {"atol": atol, "rtol": rtol})
    return (found, _rank(a, atol, rtol)) if return_rank else found


@intercepts("scipy.linalg:pinvh")
@checks_finite
def pinvh(
    a: ArrayLike,
    atol: float | None = None,
    rtol: float | None = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    x = symmetric(square(a, 'expected square "a" matrix'), lower, True)
    atol, rtol = _limits(x, atol, rtol)
    found = record(pinv_by, (x,), {"atol": atol, "rtol": rtol})
    return (found, _rank(x, atol, rtol)) if return_rank else found


@intercepts("scipy.linalg:lstsq")
@checks_finite
def lstsq(
    a: ArrayLike,
    b: ArrayLike,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> Any:
    """The shortest solution, by the pseudo-inverse; its derivative is that among the matrices of the same rank. In a
    batch, the residuals are those of full rank."""
    a, b = inexact(a, b)
    if a.ndim < 2:
        raise ValueError("Input array a should be 2D")
    m, n = a.shape[-2:]
    if b.ndim == 0 or b.shape[0 if b.ndim == 1 else -2] != m:
        raise ValueError(
            f"Shape mismatch: a and b should have the same number of rows ({m} != {b.shape[0] if b.ndim else 0})."
        )
    if lapack_driver not in (None, "gelsd", "gelsy", "gelss"):
        raise ValueError(f'LAPACK driver "{lapack_driver}" is not found')
    if type(cond) is Tracer:
        raise unsupported("scipy.linalg.lstsq: cond is traced", "cond as a number that is not traced")
    rtol = float(np.finfo(a.dtype).eps if cond is None else cond)
    columns = b[:, None] if b.ndim == 1 else b
    found = record(pinv_by, (a,), {"atol": 0.0, "rtol": rtol}) @ columns
    s = np.linalg.svd(a, compute_uv=False)
    rank = np.count_nonzero(s > rtol * s[..., :1], axis=-1) if s.size else 0
    residuals: Any = np.zeros(0, a.dtype)
    if m > n and lapack_driver != "gelsy" and holds(np.all(rank == n)) is not False:
        left = np.abs(columns - a @ found)
        residuals = np.sum(left * left, axis=-2)
        residuals = residuals[..., 0] if b.ndim == 1 else residuals
    x = found[..., 0] if b.ndim == 1 else found
    return x, residuals, rank, None if lapack_driver == "gelsy" else s
