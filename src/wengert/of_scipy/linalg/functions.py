"""Functions of matrices."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from wengert.of_scipy.linalg.operands import adjoint, checks_finite, common_lead, double, inexact, square
from wengert.ops.linalg import functions as ops
from wengert.ops.linalg.schur import schur
from wengert.tracing.arguments import Traced, as_dtype, holds, unsupported
from wengert.tracing.emit import record
from wengert.tracing.interception.asking import AT_FUNCTIONS
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer

NOT_SQUARE = "expected square array_like input"


def _square(A: ArrayLike) -> Tracer:
    return square(A, NOT_SQUARE)


def _stack(x: ArrayLike) -> Tracer:
    """Square matrices, with the errors of ``expm`` and ``sqrtm``."""
    (A,) = inexact(x)
    if A.ndim < 2:
        raise np.linalg.LinAlgError("The input array must be at least two-dimensional")
    if A.shape[-1] != A.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return A


def _real_if_it_is(A: Traced, F: Traced) -> Any:
    """The real part of F, if A is real and all imaginary parts are zero: a look at whether, guarded. In a batch F is
    complex."""
    return F.real if A.dtype.kind != "c" and holds(np.all(F.imag == 0)) else F


def _real_if_nearly(A: Traced, F: Traced) -> Any:
    """The real part of F if A is real and all imaginary parts are rounding errors, as SciPy's ``_maybe_real``."""
    if A.dtype.kind == "c" or F.dtype.kind != "c":
        return F
    tol = float(np.finfo(F.dtype).eps) * (1e3 if F.dtype.char == "F" else 1e6)
    return F.real if holds(np.all(np.abs(F.imag) <= tol)) else F


@intercepts("scipy.linalg:expm")
def expm(A: ArrayLike) -> Any:
    """exp(A), by scaling and squaring (Higham 2005, SIAM J. Matrix Anal. Appl. 26:4, algorithm 2.3)."""
    (A,) = inexact(A)
    if A.size == 1 and A.ndim < 2:
        return np.reshape(np.exp(A), (1, 1))
    return record(ops.expm, (_stack(A),), {})


@intercepts("scipy.linalg:expm_frechet")
@checks_finite
def expm_frechet(
    A: ArrayLike, E: ArrayLike, method: str | None = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    A, E = double(A, E)
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError("expected A to be a square matrix")
    if E.ndim < 2 or E.shape[-1] != E.shape[-2]:
        raise ValueError("expected E to be a square matrix")
    if A.shape[-2:] != E.shape[-2:]:
        raise ValueError("expected A and E to be the same shape")
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"Unknown implementation {method}")
    A, E = common_lead((2, 2), A, E)
    found = record(ops.expm_frechet, (A, E), {"method": method or "SPS"})
    return (record(ops.expm, (A,), {}), found) if compute_expm else found


@intercepts("scipy.linalg:expm_cond")
@checks_finite
def expm_cond(A: ArrayLike, check_finite: bool = True) -> Any:
    """‖K‖ ‖A‖ / ‖exp A‖, where K is the matrix of the derivative; all norms are Frobenius's."""
    (A,) = double(A)
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError("expected a square matrix")
    n = A.shape[-1]
    basis = np.reshape(np.eye(n * n, dtype=A.dtype), (n * n, n, n))
    columns = record(ops.expm_frechet, tuple(common_lead((2, 2), A[..., None, :, :], basis)), {"method": "SPS"})
    kronecker = np.reshape(columns, (*A.shape[:-2], n * n, n * n))
    norms = [np.linalg.norm(x, axis=(-2, -1)) for x in (A, record(ops.expm, (A,), {}))]
    return np.linalg.norm(kronecker, 2, axis=(-2, -1)) * norms[0] / norms[1]


@intercepts("scipy.linalg:logm")
def logm(A: ArrayLike, disp: bool = True) -> Any:
    """The warning that the result may be inaccurate is not given; ``disp=False`` says how inaccurate it is."""
    (A,) = double(_square(A))
    F = _real_if_it_is(A, record(ops.logm, (A,), {}))
    if disp:
        return F
    return F, np.linalg.norm(expm(F) - A, 1, (-2, -1)) / np.linalg.norm(A, 1, (-2, -1))


@intercepts("scipy.linalg:fractional_matrix_power")
def fractional_matrix_power(A: ArrayLike, t: ArrayLike) -> Any:
    """The exponent may be traced, and has a derivative, A^t log A."""
    (A,) = double(_square(A))
    power: Any = as_dtype(inexact(t)[0], np.float64)
    return _real_if_it_is(A, record(ops.matrix_power, tuple(common_lead((2, 0), A, power)), {}))


def _default(function: Callable[..., Any], name: str) -> Any:
    """The default of a parameter, which for those that are to go is a mark in late versions of SciPy."""
    parameter = inspect.signature(function).parameters.get(name)
    return None if parameter is None else parameter.default


@intercepts("scipy.linalg:sqrtm")
def sqrtm(
    A: ArrayLike,
    disp: bool = _default(scipy.linalg.sqrtm, "disp"),
    blocksize: int = _default(scipy.linalg.sqrtm, "blocksize"),
) -> Any:
    A = _stack(A)
    F = _real_if_it_is(A, record(ops.sqrtm, (A,), {}))
    if disp is not False:
        return F
    return F, np.linalg.norm(F @ F - A, "fro", (-2, -1)) ** 2 / np.linalg.norm(A, "fro", (-2, -1))


@intercepts("scipy.linalg:signm")
def signm(A: ArrayLike, disp: bool = True) -> Any:
    if not disp:
        raise unsupported("scipy.linalg.signm: disp=False is not traced", "signm(A)")
    return record(ops.signm, (_square(A),), {})


def _of_imaginary(A: Traced) -> Any:
    """exp(iA), of a real matrix in the complex dtype of its precision."""
    return expm(1j * A)


@intercepts("scipy.linalg:cosm")
def cosm(A: ArrayLike) -> Any:
    A = _square(A)
    return 0.5 * (expm(1j * A) + expm(-1j * A)) if A.dtype.kind == "c" else _of_imaginary(A).real


@intercepts("scipy.linalg:sinm")
def sinm(A: ArrayLike) -> Any:
    A = _square(A)
    return -0.5j * (expm(1j * A) - expm(-1j * A)) if A.dtype.kind == "c" else _of_imaginary(A).imag


@intercepts("scipy.linalg:tanm")
def tanm(A: ArrayLike) -> Any:
    return np.linalg.solve(cosm(A), sinm(A))


@intercepts("scipy.linalg:coshm")
def coshm(A: ArrayLike) -> Any:
    A = _square(A)
    return 0.5 * (expm(A) + expm(-A))


@intercepts("scipy.linalg:sinhm")
def sinhm(A: ArrayLike) -> Any:
    A = _square(A)
    return 0.5 * (expm(A) - expm(-A))


@intercepts("scipy.linalg:tanhm")
def tanhm(A: ArrayLike) -> Any:
    return np.linalg.solve(coshm(A), sinhm(A))


@intercepts("scipy.linalg:funm", AT_FUNCTIONS)
def funm(A: ArrayLike, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """Z F Zᴴ, where F is the function of the triangular matrix T of Schur's form, by Parlett's recurrence.

    One step finds one diagonal of F, which commutes with T. The derivative is that of Schur's form: NaN if eigenvalues
    are equal. Source: Golub & Van Loan, Matrix Computations, algorithm 9.1.1.
    """
    A = _square(A)
    if not disp:
        raise unsupported("scipy.linalg.funm: disp=False is not traced", "funm(A, func)")
    dtype = {"f": np.dtype(np.complex64), "d": np.dtype(np.complex128)}.get(A.dtype.char, A.dtype)
    T, Z = record(schur, (as_dtype(A, dtype),), {"sort": None})
    n = A.shape[-1]
    w = np.diagonal(T, axis1=-2, axis2=-1)
    F = as_dtype(func(w), dtype)[..., None] * np.eye(n, dtype=dtype)
    for p in range(1, n):
        on_diagonal = np.eye(n, k=p, dtype=bool)
        gap = np.where(on_diagonal, w[..., None, :] - w[..., :, None], 1)
        is_equal = gap == 0
        of_diagonal = (T @ F - F @ T) / np.where(is_equal, 1, gap)
        F = F + np.where(on_diagonal, of_diagonal, 0)
    return _real_if_nearly(A, Z @ F @ adjoint(Z))
