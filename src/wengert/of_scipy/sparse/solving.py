"""Solutions of sparse linear equations by factorisation: ``spsolve``, ``splu``, ``factorized``, ``spsolve_triangular``.

SuperLU factorises the matrix once: the cotangents of the solution find its factors (``ops/linalg/sparse.py``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import SparseEfficiencyWarning, csc_array, eye_array

from wengert.of_scipy.sparse.making import Answer, function, refused
from wengert.of_scipy.sparse.values import Operand, Sparse, class_of, compressed, elements, is_sparse, moved
from wengert.ops.linalg.sparse import Settings, sparse_solve, superlu_solve
from wengert.tracing.arguments import Traced, array, as_dtype, promote, unsupported
from wengert.tracing.emit import record
from wengert.tracing.interception.asking import AT_OBJECT
from wengert.tracing.interception.intercept import TABLE, intercepts, when_imported
from wengert.tracing.tracer import Tracer


def warn(what: str) -> None:
    warnings.warn(what, SparseEfficiencyWarning, stacklevel=4)


def floating(x: Traced) -> Any:
    """``x`` in a dtype that SuperLU computes in."""
    if x.dtype.char in "fdFD":
        return x
    return as_dtype(x, np.result_type(x.dtype, np.float32 if x.dtype.itemsize < 4 else np.float64))


def solution(a: Sparse, b: Operand, settings: Settings, is_transposed: bool = False) -> Any:
    """a⁻¹ b, or a⁻ᵀ b, of an array b with one axis or two."""
    pattern, data, of_transpose = compressed(a)
    data, b = array(data, (data, b)), array(b, (data, b))
    data, b = promote(floating(data), b)
    columns = np.reshape(b, (b.shape[0], -1 if b.size else 0 if b.ndim > 1 and not b.shape[1] else 1))
    params = {"pattern": pattern, "transpose": of_transpose != is_transposed, "settings": settings}
    return np.reshape(record(sparse_solve, (data, columns), params), b.shape)


def square(a: Sparse) -> int:
    m, n = a.shape
    if m != n:
        raise ValueError(f"matrix must be square (has shape {(m, n)})")
    return int(n)


@function("scipy.sparse.linalg:spsolve")
def spsolve(f: Answer, A: Operand, b: Operand, permc_spec: str | None = None, use_umfpack: bool = True) -> Any:
    if not (is_sparse(A) and A.format in ("csc", "csr")):
        A = csc_array(A)
        warn("spsolve requires A be CSC or CSR matrix format")
    is_matrix = is_sparse(b)
    n = square(A)
    if not is_matrix:
        b = array(b, (elements(A), b))
    if n != b.shape[0]:
        raise ValueError(f"matrix - rhs dimension mismatch ({A.shape} - {b.shape[0]})")
    is_vector = b.ndim == 1 or (b.ndim == 2 and b.shape[1] == 1)
    settings = Settings(() if permc_spec is None else (("permc_spec", permc_spec),))
    x = solution(A, b.toarray() if is_matrix else b, settings)
    if is_vector:
        return np.reshape(x, (-1,))
    if not is_matrix:
        return x
    if b.format != "csc":
        warn("spsolve is more efficient when sparse b is in the CSC matrix format")
    return class_of(A)(x)


def options_of(**given: Any) -> tuple[tuple[str, Any], ...]:
    further = given.pop("options") or {}
    return tuple([(name, value) for name, value in {**given, **further}.items() if value is not None])


class SuperLU(Protocol):
    """SciPy's object of a factorisation."""

    shape: tuple[int, int]

    def solve(self, rhs: ArrayLike, trans: str = "N") -> Any: ...


class Factored:
    """The result of ``splu`` of a traced matrix: it solves, as SciPy's ``SuperLU`` does."""

    def __init__(self, a: Sparse, settings: Settings) -> None:
        self._matrix, self._settings = a, settings
        self.shape = a.shape

    def solve(self, rhs: ArrayLike, trans: str = "N") -> Any:
        a = self._matrix
        if trans not in ("N", "T", "H"):
            raise ValueError("trans must be N, T, or H")
        rhs = array(rhs, (elements(a), rhs))
        if rhs.dtype.kind == "c" and a.dtype.kind != "c":
            raise TypeError("Cannot cast array data from dtype('complex128') to dtype('float64') according to the rule"
                            " 'safe'")  # fmt: skip
        if rhs.shape[0] != a.shape[0]:
            raise ValueError("b is of incompatible size")
        if trans == "H":
            return np.conj(solution(a, np.conj(rhs), self._settings, True))
        return solution(a, rhs, self._settings, trans == "T")

    def __getattr__(self, name: str) -> Any:
        if name in ("L", "U", "perm_r", "perm_c", "nnz"):
            raise unsupported(f"SuperLU.{name} of a traced matrix is not traced", "SuperLU.solve")
        raise AttributeError(f"'SuperLU' object has no attribute {name!r}")


@function("scipy.sparse.linalg:splu")
def splu(
    f: Answer,
    A: Operand,
    permc_spec: str | None = None,
    diag_pivot_thresh: float | None = None,
    relax: int | None = None,
    panel_size: int | None = None,
    options: dict[str, Any] | None = None,
) -> Factored:
    if not (is_sparse(A) and A.format == "csc"):
        A = csc_array(A)
        warn("splu converted its input to CSC format")
    if A.shape[0] != A.shape[1]:
        raise ValueError("can only factor square matrices")
    chosen = options_of(
        permc_spec=permc_spec, diag_pivot_thresh=diag_pivot_thresh, relax=relax, panel_size=panel_size, options=options
    )
    return Factored(A, Settings(chosen, is_nan=False))


@function("scipy.sparse.linalg:factorized")
def factorized(f: Answer, A: Operand) -> Callable[[Any], Any]:
    if not (is_sparse(A) and A.format == "csc"):
        A = csc_array(A)
        warn("splu converted its input to CSC format")
    return Factored(A, Settings(is_nan=False)).solve


refused(
    "scipy.sparse.linalg:spilu",
    "what it drops of a traced matrix depends on the values, by jumps",
    "splu(A)",
    "spilu of a matrix that is constant, as a preconditioner",
)


def superlu_answer(factor: SuperLU, rhs: ArrayLike, trans: str = "N") -> Any:
    """The solution by factors that are constant. They are of the user's matrix, or of one that was made here."""
    if type(rhs) is not Tracer:
        return NotImplemented
    if trans not in ("N", "T", "H"):
        raise ValueError("trans must be N, T, or H")
    n = factor.shape[0]
    if rhs.ndim not in (1, 2) or rhs.shape[0] != n:
        raise ValueError("b is of incompatible size")
    dtype = factor.solve(np.zeros(n)).dtype
    if rhs.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"Cannot cast array data from {rhs.dtype!r} to {dtype!r} according to the rule 'safe'")
    columns = np.reshape(as_dtype(rhs, dtype), (n, 1 if rhs.ndim == 1 else rhs.shape[1]))
    return np.reshape(record(superlu_solve, (columns,), {"factor": factor, "trans": trans}), rhs.shape)


@when_imported("scipy.sparse.linalg")
def _enroll_superlu() -> None:
    """A method of a class of C is found in an object."""
    from scipy.sparse.linalg import splu

    if SUPERLU_SOLVE not in TABLE:
        intercepts(splu(csc_array(np.eye(1))).solve, AT_OBJECT, SUPERLU_SOLVE)(superlu_answer)


SUPERLU_SOLVE = "scipy.sparse.linalg.SuperLU.solve"


@function("scipy.sparse.linalg:spsolve_triangular")
def spsolve_triangular(
    f: Answer,
    A: Operand,
    b: Operand,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """The triangle alone is factorised, in its own order and without pivots."""
    if not (is_sparse(A) and A.format in ("csc", "csr")):
        warn("CSC or CSR matrix format is required. Converting to CSC matrix.")
        A = csc_array(A)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be a square matrix but its shape is {A.shape}.")
    n = A.shape[0]
    b = array(b, (elements(A), b))
    if b.ndim not in (1, 2):
        raise ValueError(f"b must have 1 or 2 dims but its shape is {b.shape}.")
    if n != b.shape[0]:
        raise ValueError(
            "The size of the dimensions of A must be equal to the size of the first dimension of b but the shape of A "
            f"is {A.shape} and the shape of b is {b.shape}."
        )
    rows, columns = (np.ascontiguousarray(x) for x in _places(A))
    kept = (rows > columns if lower else rows < columns) if unit_diagonal else (
        rows >= columns if lower else rows <= columns)  # fmt: skip
    triangle = _chosen(A, kept)
    if unit_diagonal:
        triangle = triangle + eye_array(n, format=A.format, dtype=triangle.dtype)
    elif np.unique(rows[kept & (rows == columns)]).size < n:
        raise np.linalg.LinAlgError("A is singular: zero entry on diagonal.")
    settings = Settings((("permc_spec", "NATURAL"), ("diag_pivot_thresh", 0.0)), is_nan=True)
    return solution(triangle, b, settings)


def _places(a: Sparse) -> tuple[Any, Any]:
    major = np.repeat(np.arange(a.indptr.size - 1), np.diff(a.indptr))
    return (major, a.indices) if a.format == "csr" else (a.indices, major)


def _chosen(a: Sparse, kept: Any) -> Sparse:
    """The elements of a compressed matrix that are ``kept``."""

    def choose(numbers: Sparse) -> Sparse:
        numbers.data[~kept] = 0
        numbers.eliminate_zeros()
        return numbers

    return moved(choose, a)
