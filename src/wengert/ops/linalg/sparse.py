"""Products with sparse matrices, and solutions of sparse systems of linear equations.

A sparse matrix is an operand ``data``, float[..., nonzeros], and a parameter :class:`Pattern`, which says where its
elements are. Three products are closed under their derivatives, and need memory for the nonzeros alone:

    sparse_matmul(data, x)     y = A x, or Aᵀ x
    sparse_sampled(u, v)       d[e] = Σ_k u[i_e, k] v[j_e, k]: the elements of u vᵀ at the places of the pattern

The derivative of ``sparse_solve(data, b)``, x = A⁻¹ b, is made of them:  b̄ = A⁻ᵀ x̄,  d̄[e] = −b̄[i_e] x[j_e]. SuperLU
factorises the matrix once for the solution and all of its derivatives: see :class:`Factors`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import ShapeError
from wengert.locks import lock, lock_of_object
from wengert.ops.elementwise import conjugate
from wengert.ops.kernels import Callback
from wengert.ops.linalg.matrices import batch_all
from wengert.ops.linalg.solutions import batch_of_columns, columns_of_batch, solution_batch
from wengert.ops.op import linear, op
from wengert.tape import Atom, Aval

Array = np.ndarray[Any, Any]

BY_SCIPY = Callback("computed by scipy.sparse")


class Pattern:
    """The places of the elements of a sparse matrix, row by row, as SciPy's csr format has them.

    Nobody writes into its arrays, which are its own. Two patterns are equal if their places are, so that a program
    is kept under one.
    """

    def __init__(self, shape: Sequence[int], indices: Array, indptr: Array) -> None:
        self.shape = (int(shape[0]), int(shape[1]))
        self.indices, self.indptr = (np.array(x, np.intc) for x in (indices, indptr))
        self.indices.flags.writeable = self.indptr.flags.writeable = False
        self._rows: Array | None = None
        self._hash: int | None = None

    @property
    def size(self) -> int:
        """The number of its places."""
        return self.indices.size

    @property
    def rows(self) -> Array:
        """The row of each place."""
        if self._rows is None:  # two threads may find it at once, and find the same
            self._rows = np.repeat(np.arange(self.shape[0], dtype=np.intp), np.diff(self.indptr))
        return self._rows

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.shape, self.size, self.indices[:: max(1, self.size // 16)].tobytes()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Pattern)
            and self.shape == other.shape
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
        )

    def __repr__(self) -> str:
        return f"<{self.size} of {self.shape[0]} x {self.shape[1]}>"


def _stacked(data: Array) -> Iterator[tuple[Any, ...]]:
    """The index of each matrix of a stack."""
    yield from np.ndindex(data.shape[:-1])


# ------------------------------------------------------------------------------------------------------- products


def _matmul_reference(data: Array, x: Array, *, pattern: Pattern, transpose: bool) -> Any:
    from scipy.sparse import _sparsetools as tools  # heavy to import, and needed only here

    m, n = pattern.shape[::-1] if transpose else pattern.shape
    k = x.shape[-1]
    y = np.zeros((*data.shape[:-1], m, k), data.dtype)
    where = m, n, *([] if k == 1 else [k]), pattern.indptr, pattern.indices
    names = ("csr_matvec", "csr_matvecs", "csc_matvec", "csc_matvecs")
    product = getattr(tools, names[2 * transpose + (k != 1)])
    for at in _stacked(data):
        product(*where, np.ascontiguousarray(data[at]), np.ascontiguousarray(x[at]).ravel(), y[at].ravel())
    return y


def _matmul_type(data: Aval, x: Aval, *, pattern: Pattern, transpose: bool) -> Aval:
    m, n = pattern.shape[::-1] if transpose else pattern.shape
    if data.shape[-1] != pattern.size or x.shape[:-1] != (*data.shape[:-1], n):
        raise ShapeError(f"a sparse matrix {pattern} and {x} do not fit: expected {n} rows")
    return Aval((*data.shape[:-1], m, x.shape[-1]), x.dtype)


def _product_cost(data: Aval, x: Aval, **params: Any) -> float:
    return 2.0 * data.size * x.shape[-1]


def _matmul_data(ct: Atom, data: Atom, x: Atom, *, pattern: Pattern, transpose: bool) -> Any:
    return sparse_sampled(*((x, ct) if transpose else (ct, x)), pattern=pattern)


def _matmul_x(ct: Atom, data: Atom, x: Atom, *, pattern: Pattern, transpose: bool) -> Any:
    return sparse_matmul(data, ct, pattern=pattern, transpose=not transpose)


sparse_matmul = linear(  # A x, or Aᵀ x; data is float[..., nonzeros], x is float[..., n, k]
    _matmul_reference,
    name="sparse_matmul",
    type=_matmul_type,
    kernel=BY_SCIPY,
    cost=_product_cost,
    transpose=[_matmul_data, _matmul_x],
    is_multilinear=True,
    batch=lambda xs, batched, size, **params: solution_batch(sparse_matmul)(xs, batched, size, **params),
)


def _sampled_reference(u: Array, v: Array, *, pattern: Pattern) -> Any:
    """One column after the other, so that no more memory is needed than for two results."""
    total = u[..., pattern.rows, 0] * v[..., pattern.indices, 0] if u.shape[-1] else None
    for k in range(1, u.shape[-1]):
        total += u[..., pattern.rows, k] * v[..., pattern.indices, k]
    return np.zeros((*u.shape[:-2], pattern.size), u.dtype) if total is None else total


sparse_sampled = linear(  # Σ_k u[..., i_e, k] v[..., j_e, k]
    _sampled_reference,
    name="sparse_sampled",
    type=lambda u, v, *, pattern: Aval((*u.shape[:-2], pattern.size), u.dtype),
    kernel=Callback("computed by NumPy"),
    cost=lambda u, v, *, pattern: 2.0 * pattern.size * u.shape[-1],
    transpose=[
        lambda ct, u, v, *, pattern: sparse_matmul(ct, v, pattern=pattern, transpose=False),
        lambda ct, u, v, *, pattern: sparse_matmul(ct, u, pattern=pattern, transpose=True),
    ],
    is_multilinear=True,
    batch=lambda xs, batched, size, *, pattern: sparse_sampled(*batch_all(xs, batched, size), pattern=pattern),
)


# ------------------------------------------------------------------------------------------------------ solutions


class Settings(NamedTuple):
    """How SuperLU factorises, and what becomes of a singular matrix."""

    options: tuple[tuple[str, Any], ...] = ()
    """The arguments of ``splu``."""
    is_nan: bool = True
    """The solution of a singular system is NaN, with a warning; otherwise an error is raised, as by splu."""


class _Factor(NamedTuple):
    pattern: Pattern
    settings: Settings
    data: Array
    """A copy of what was factorised: it is compared, so that a factor is never stale."""
    factor: Any
    """SciPy's SuperLU; None if the matrix is singular."""
    busy: Any
    """A lock: one thread solves at a time."""

    @property
    def bytes(self) -> int:
        nonzeros = 0 if self.factor is None else self.factor.nnz
        return (self.data.dtype.itemsize + 4) * (nonzeros + self.data.size)


class Factors:
    """The latest factorisations, by what was factorised: the pullback of a solution finds that of the solution.

    They are kept as long as all of them need no more than ``max_bytes``, and the last one in any case. What has been
    thrown away is made again. Any thread may ask: a factor solves for one thread at a time.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._kept: list[_Factor] = []
        self._lock = lock()
        self.made = 0
        """How many have been made so far."""

    def of(self, data: Array, pattern: Pattern, settings: Settings) -> _Factor:
        """Return the factorisation of a matrix, from those that are kept or a new one, which is kept."""
        with self._lock:
            for k, one in enumerate(self._kept):
                if one.settings == settings and _is_same(one.data, data) and one.pattern == pattern:
                    self._kept.insert(0, self._kept.pop(k))
                    return one
            expected = next((one.bytes for one in self._kept if one.pattern == pattern), 0)
            self._shrink(self.max_bytes - expected)
        made = _Factor(pattern, settings, data.copy(), self._factorised(data, pattern, settings), lock_of_object())
        with self._lock:
            self.made += 1
            self._kept.insert(0, made)
            self._shrink(self.max_bytes, 1)
        return made

    def clear(self) -> None:
        """Throw all of them away."""
        with self._lock:
            self._kept.clear()

    def _shrink(self, max_bytes: int, least: int = 0) -> None:
        while len(self._kept) > least and sum(one.bytes for one in self._kept) > max_bytes:
            self._kept.pop()

    def _factorised(self, data: Array, pattern: Pattern, settings: Settings) -> Any:
        """SciPy's SuperLU of the transpose, whose csc arrays are those of the pattern, as ``spsolve`` makes it of a csr
        array. None if it is singular, and that is no error."""
        from scipy.sparse import csc_array  # heavy to import, and needed only here
        from scipy.sparse.linalg import splu

        n = pattern.shape[0]
        matrix = csc_array((data, pattern.indices, pattern.indptr), shape=(n, n))
        options = dict(settings.options)
        given = {name: options.pop(name) for name in ("diag_pivot_thresh", "relax", "panel_size") if name in options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return splu(matrix, options.pop("permc_spec", None), options=options or None, **given)
            except RuntimeError as error:
                if settings.is_nan and "singular" in str(error):
                    return None
                raise


def _is_same(x: Array, y: Array) -> bool:
    """Whether two arrays are equal bit for bit, NaN and the sign of zero included."""
    return x.dtype == y.dtype and x.size == y.size and np.array_equal(x.view(np.uint8), y.view(np.uint8))


FACTORS = Factors(max_bytes=1 << 29)


def _solve_reference(data: Array, b: Array, *, pattern: Pattern, transpose: bool, settings: Settings) -> Any:
    x = np.empty(b.shape, b.dtype)
    for at in _stacked(data):
        one = FACTORS.of(np.ascontiguousarray(data[at]), pattern, settings)
        if one.factor is None:
            from scipy.sparse.linalg import MatrixRankWarning

            warnings.warn("Matrix is exactly singular", MatrixRankWarning, stacklevel=2)
            x[at] = np.nan
            continue
        with one.busy:
            x[at] = one.factor.solve(np.asfortranarray(b[at]), "N" if transpose else "T")
    return x


def _solve_type(data: Aval, b: Aval, *, pattern: Pattern, **params: Any) -> Aval:
    if b.shape[:-1] != (*data.shape[:-1], pattern.shape[0]):
        raise ShapeError(f"a sparse matrix {pattern} and {b} do not fit: expected {pattern.shape[0]} rows")
    return b


def _solve_cost(data: Aval, b: Aval, **params: Any) -> float:
    return 100.0 * data.size


def sparse_solve_pushforward(
    xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Atom, *, pattern: Pattern, transpose: bool, settings: Settings
) -> Any:
    """ẋ = A⁻¹ (ḃ − Ȧ x)."""
    (data, _), (d_data, db) = xs, dxs
    rate = db
    if d_data is not None:
        moved = sparse_matmul(d_data, y, pattern=pattern, transpose=transpose)
        rate = -moved if db is None else db - moved
    return sparse_solve(data, rate, pattern=pattern, transpose=transpose, settings=settings)


def sparse_solve_pullback_data(ct: Atom, data: Atom, b: Atom, y: Atom, *, pattern: Pattern, **params: Any) -> Any:
    """d̄[e] = −b̄[i_e] x[j_e] with b̄ = A⁻ᵀ x̄; i and j exchanged where Aᵀ was solved."""
    ct_b = sparse_solve_pullback_b(ct, data, b, y, pattern=pattern, **params)  # shared with the pullback of b
    return -sparse_sampled(*((y, ct_b) if params["transpose"] else (ct_b, y)), pattern=pattern)


def sparse_solve_pullback_b(ct: Atom, data: Atom, b: Atom, y: Atom, *, transpose: bool, **params: Any) -> Any:
    return sparse_solve(data, ct, transpose=not transpose, **params)


sparse_solve = op(  # A⁻¹ b, or A⁻ᵀ b; the pattern is square, sorted, and has no place twice
    _solve_reference,
    name="sparse_solve",
    type=_solve_type,
    kernel=Callback("computed by SuperLU"),
    cost=_solve_cost,
    pushforward=sparse_solve_pushforward,
    pullback=[sparse_solve_pullback_data, sparse_solve_pullback_b],
    batch=lambda xs, batched, size, **params: solution_batch(sparse_solve)(xs, batched, size, **params),
)


def _superlu_transpose(ct: Atom, b: Atom, *, factor: Any, trans: str) -> Any:
    if trans == "H" and ct.aval.dtype.kind == "c":
        return conjugate(superlu_solve(conjugate(ct), factor=factor, trans="N"))
    return superlu_solve(ct, factor=factor, trans="T" if trans == "N" else "N")


def _superlu_batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, **params: Any) -> Any:
    return batch_of_columns(superlu_solve(columns_of_batch(xs[0]), **params), size, xs[0].aval.shape[-1])


superlu_solve = linear(  # b is float[n, k], of the factor's dtype
    lambda b, *, factor, trans: np.array(factor.solve(np.asfortranarray(b), trans), b.dtype, order="C"),
    name="superlu_solve",
    type=lambda b, *, factor, trans: b,
    kernel=Callback("computed by SuperLU"),
    cost=lambda b, *, factor, trans: 2.0 * factor.nnz * b.shape[-1],
    transpose=[_superlu_transpose],
    batch=_superlu_batch,
)
