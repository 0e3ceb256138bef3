"""numpy.linalg on traced arrays.

Factorisations are ops of their own (:mod:`wengert.ops.linalg`); norms, powers and chains of products are
compositions, written in NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike, DTypeLike

from wengert.errors import ShapeError, message
from wengert.ops import linalg as ops
from wengert.ops.elementwise import equal, power, select, sqrt
from wengert.ops.linalg.matrices import adjoint
from wengert.ops.shape import broadcast_to, reshape, transpose
from wengert.tape import Atom, Lit
from wengert.tracing.arguments import (
    Axis,
    Out,
    Traced,
    array,
    arrays,
    as_dtype,
    constant,
    formula,
    holds,
    implements,
    inexact,
    into,
    not_scalar,
    refuse,
    trace_near,
)
from wengert.tracing.emit import record
from wengert.tracing.tracer import Tracer

SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))
_EIG_OF_ONE = np.linalg.eig(np.eye(1))
EigResult: Any = type(_EIG_OF_ONE)
MAY_BE_REAL = _EIG_OF_ONE[0].dtype.kind == "f"
"""Whether eigenvalues of a real matrix are real where all imaginary parts are zero: not since NumPy 2.5."""
EighResult: Any = type(np.linalg.eigh(np.eye(1)))
SVDResult: Any = type(np.linalg.svd(np.eye(1)))
QRResult: Any = type(np.linalg.qr(np.eye(1)))


# --------------------------------------------------------------------------------------------------- operands


def operands(*xs: Any) -> list[Tracer]:
    """Arrays in the one dtype in which NumPy would compute: integers and booleans as float64."""
    made = arrays(*xs)
    for x in made:
        if x.dtype.kind not in "biufc" or (x.dtype.kind in "fc" and x.dtype.char not in "fdFD"):
            raise TypeError(f"array type {x.dtype.name} is unsupported in linalg")
    dtypes = [x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64) for x in made]
    dtype = np.result_type(*dtypes)
    return [as_dtype(x, dtype) for x in made]


def check_square(function: str, x: Traced) -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(
            message(
                f"{function}: the last two axes must be square, the array is {x.dtype.name}{list(x.shape)}",
                trace_near((x,)).locate(),
            )
        )


def _matrices(function: str, x: ArrayLike) -> Tracer:
    (x,) = operands(x)
    check_square(function, x)
    return x


# ---------------------------------------------------------------------------------------- solutions, inverses


def solve_columns(a: Atom, b: Atom) -> Any:
    """a⁻¹ b for stacks of matrices, which broadcast against each other."""
    lead = np.broadcast_shapes(a.aval.shape[:-2], b.aval.shape[:-2])
    if a.aval.ndim == 2 and len(lead) > 0:  # one matrix: factored once, the stack of b goes into the columns
        n = b.aval.ndim
        flat = transpose(b, axes=(n - 2, *range(n - 2), n - 1))
        y = ops.solve(
            a, reshape(flat, shape=(flat.aval.shape[0], flat.aval.size // max(flat.aval.shape[0], 1))), transpose=False
        )
        return transpose(reshape(y, shape=flat.aval.shape), axes=(*range(1, n - 1), 0, n - 1))
    a = broadcast_to(a, shape=(*lead, *a.aval.shape[-2:]))
    return ops.solve(a, broadcast_to(b, shape=(*lead, *b.aval.shape[-2:])), transpose=False)


def solve_any(a: Atom, b: Atom) -> Any:
    if b.aval.ndim > 1:
        return solve_columns(a, b)
    y = solve_columns(a, reshape(b, shape=(*b.aval.shape, 1)))
    return reshape(y, shape=y.aval.shape[:-1])


@implements(np.linalg.solve, takes_arrays=True)
def solve(a: ArrayLike, b: ArrayLike) -> Any:
    """NumPy 2's rule: ``b`` is a vector only if it has one axis."""
    a, b = operands(a, b)
    check_square("solve", a)
    rows = b.shape[0 if b.ndim == 1 else -2] if b.ndim else None
    if rows != a.shape[-1]:
        raise ShapeError(
            message(
                f"solve: the matrix has {a.shape[-1]} rows, the right-hand side "
                f"{'none' if rows is None else rows}: "
                f"{a.dtype.name}{list(a.shape)} and {b.dtype.name}{list(b.shape)}",
                trace_near((a, b)).locate(),
                tries=["b[..., None] for a stack of vectors: b is a vector only if it has one axis"],
            )
        )
    return formula(solve_any, np.linalg.solve, a, b)


@implements(np.linalg.inv)
def inv(a: ArrayLike) -> Any:
    return record(ops.inv, (_matrices("inv", a),), {})


@implements(np.linalg.tensorsolve)
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Any:
    a, b = operands(a, b)
    if axes is not None:
        order = list(range(a.ndim))
        for k in axes:
            order.remove(k)
            order.insert(a.ndim, k)
        a = np.transpose(a, order)
    shape = a.shape[-(a.ndim - b.ndim) :] if a.ndim != b.ndim else a.shape
    n = int(np.prod(shape))
    if a.size != n**2:
        raise ShapeError(
            message(
                f"tensorsolve: prod(a.shape[b.ndim:]) and prod(a.shape[:b.ndim]) must be equal, a is {list(a.shape)}",
                trace_near((a, b)).locate(),
            )
        )
    return np.reshape(solve(np.reshape(a, (n, n)), np.ravel(b)), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: ArrayLike, ind: int = 2) -> Any:
    a = array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    n = int(np.prod(a.shape[ind:]))
    return np.reshape(inv(np.reshape(a, (n, -1))), (*a.shape[ind:], *a.shape[:ind]))


# ------------------------------------------------------------------------------- determinants, factorisations


@implements(np.linalg.det)
def det(a: ArrayLike) -> Any:
    return record(ops.det, (_matrices("det", a),), {})


@implements(np.linalg.slogdet)
def slogdet(a: ArrayLike) -> Any:
    return SlogdetResult(*record(ops.slogdet, (_matrices("slogdet", a),), {}))


@implements(np.linalg.cholesky)
def cholesky(a: ArrayLike, /, *, upper: bool = False) -> Any:
    a = _matrices("cholesky", a)
    if not upper:
        return record(ops.cholesky, (a,), {})
    return formula(lambda x: adjoint(ops.cholesky(adjoint(x))), lambda x: np.linalg.cholesky(x, upper=True), a)


# ---------------------------------------------------------------------------- eigenvalues and singular values


def _stacked(x: ArrayLike) -> Tracer:
    """Matrices of any shape."""
    (x,) = operands(x)
    if x.ndim < 2:
        raise np.linalg.LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    return x


def _hermitian(function: str, a: ArrayLike, UPLO: str) -> Any:
    """Eigenvalues and vectors, of which ``UPLO`` says what is read."""
    a = _stacked(a)
    check_square(function, a)
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return record(ops.eigh, (a,), {"lower": UPLO.upper() == "L", "any_vectors": function == "eigvalsh"})


def _adjoint(x: Traced) -> Any:
    x = np.swapaxes(x, -1, -2)
    return np.conj(x) if x.dtype.kind == "c" else x


@implements(np.linalg.eigh)
def eigh(a: ArrayLike, UPLO: str = "L") -> Any:
    """The cotangent lies in the triangle that is read, as that of ``cholesky`` does."""
    return EighResult(*_hermitian("eigh", a, UPLO))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: ArrayLike, UPLO: str = "L") -> Any:
    return _hermitian("eigvalsh", a, UPLO)[0]


@implements(np.linalg.eig)
def eig(a: ArrayLike) -> Any:
    """The results of a real matrix are real, as in NumPy before 2.5, if all imaginary parts are zero, which is a look,
    guarded. In a batch they are complex."""
    a = _matrices("eig", a)
    w, v = record(ops.eig, (a,), {})
    if MAY_BE_REAL and a.dtype.kind != "c" and holds(np.all(w.imag == 0)):
        w, v = w.real, v.real
    return EigResult(w, v)


@implements(np.linalg.eigvals)
def eigvals(a: ArrayLike) -> Any:
    return eig(a)[0]


@implements(np.linalg.svd)
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """The vectors that ``full_matrices`` adds, of matrices that are not square, are any that complete the others."""
    a = _stacked(a)
    if hermitian:
        return _svd_of_hermitian(a, compute_uv)
    full = bool(compute_uv and full_matrices and a.shape[-1] != a.shape[-2])
    u, s, vh = record(ops.svd, (a,), {"full": full})
    return SVDResult(u, s, vh) if compute_uv else s


def _svd_of_hermitian(a: Traced, compute_uv: bool) -> Any:
    """The singular values are found by eigenvalues, whose signs go into the second vectors."""
    w, u = _hermitian("svd", a, "L")
    s = np.abs(w)
    order = np.argsort(s, axis=-1)[..., ::-1]
    s = np.take_along_axis(s, order, axis=-1)
    if not compute_uv:
        return s
    sign = np.take_along_axis(np.sign(w), order, axis=-1)
    u = np.take_along_axis(u, order[..., None, :], axis=-1)
    return SVDResult(u, s, _adjoint(u * sign[..., None, :]))


def _of_lower_triangle(a: Traced) -> Any:
    """The Hermitian matrices of which this is the lower triangle."""
    half = np.tril(a, -1) + np.tril(np.triu(a)) * a.dtype.type(0.5)
    return half + _adjoint(half)


@implements(np.linalg.svdvals)
def svdvals(x: ArrayLike, /) -> Any:
    return svd(x, compute_uv=False)


@implements(np.linalg.qr)
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """The first columns of a wide matrix are factored, and the others follow: ``qᴴ a``."""
    if mode in ("economic", "e", "f", "full"):
        raise refuse("linalg.qr", "mode", mode, "mode='reduced'")
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    a = _stacked(a)
    m, n = a.shape[-2:]
    if mode == "raw":
        return _reflections(a)
    q, r = record(ops.qr, (a[..., :m] if m < n else a,), {"complete": mode == "complete" and m > n})
    if m < n:
        r = np.concatenate([r, np.matmul(_adjoint(q), a[..., m:])], -1)
    return r if mode == "r" else QRResult(q, r)


def _reflections(a: Traced) -> tuple[Any, Any]:
    """The vectors v and factors τ of the reflections 1 − τ v vᴴ of which q is the product, as LAPACK's geqrf leaves
    them: below the diagonal of r, all transposed. A step a column.

    Source: Golub & Van Loan, Matrix Computations, section 5.2; LAPACK's larfg for the signs.
    """
    m, n = a.shape[-2:]
    taus, columns = [], []
    for k in range(min(m, n)):
        x, below = a[..., k, 0], a[..., k + 1 :, 0]
        done, length = a[..., :k, 0], root(np.sum(squares(below), axis=-1), 2)
        first, turned = (x.real, x.imag) if a.dtype.kind == "c" else (x, np.zeros_like(x))
        is_there = (length == 0) & (turned == 0)
        beta = np.where(is_there, first, -np.copysign(np.hypot(np.hypot(first, turned), length), first))
        by, at = np.where(is_there, 1, beta), np.where(is_there, 1, x - beta)
        tau = np.where(is_there, 0, (beta - x) / by)
        v = np.concatenate([np.ones_like(x)[..., None], below / at[..., None]], -1)
        columns.append(np.concatenate([done, beta[..., None].astype(a.dtype), v[..., 1:]], -1))
        taus.append(tau)
        rest = a[..., k:, 1:]
        along = np.matmul(np.conj(v)[..., None, :], rest)
        rest = rest - np.conj(tau)[..., None, None] * v[..., None] * along
        a = np.concatenate([a[..., :k, 1:], rest], -2)
    h = np.stack(columns, -2) if columns else np.swapaxes(a[..., :0], -1, -2)
    if m < n:
        h = np.concatenate([h, np.swapaxes(a, -1, -2)], -2)
    return h, np.stack(taus, -1) if taus else np.zeros((*a.shape[:-2], 0), a.dtype)


def _relative_limit(x: Any, given: Any, name: str) -> float:
    """Return the number below which singular values count as zero, as a part of the largest."""
    if given is None:
        return max(x.shape[-2:]) * float(np.finfo(x.dtype).eps)
    if type(given) is Tracer or np.ndim(given):
        raise refuse("linalg.pinv", name, given, f"{name} as one number that is not traced")
    return float(given)


@implements(np.linalg.pinv)
def pinv(
    a: ArrayLike, rcond: float | Traced | None = None, hermitian: bool = False, *, rtol: float | Traced | None = None
) -> Any:
    """Its derivative is that among the matrices of the same rank."""
    if rcond is not None and rtol is not None:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    a = _of_lower_triangle(_stacked(a)) if hermitian else _stacked(a)
    if rcond is None and rtol is None:
        limit = 1e-15  # what NumPy takes by default
    else:
        limit = _relative_limit(a, rcond if rtol is None else rtol, "rcond" if rtol is None else "rtol")
    return record(ops.pinv, (a,), {"rcond": limit})


@implements(np.linalg.lstsq)
def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | Traced | None = None) -> Any:
    """The shortest solution, by the pseudo-inverse; its derivative is that among the matrices of the same rank."""
    a, b = operands(a, b)
    if a.ndim != 2 or b.ndim not in (1, 2):
        wrong = a if a.ndim != 2 else b
        raise np.linalg.LinAlgError(f"{wrong.ndim}-dimensional array given. Array must be two-dimensional")
    m, n = a.shape
    if b.shape[0] != m:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    limit = _relative_limit(a, None if rcond is None or rcond < 0 else rcond, "rcond")
    x = np.matmul(record(ops.pinv, (a,), {"rcond": limit}), b)
    s = svdvals(a)
    rank = np.count_nonzero(s > limit * s[0]) if s.size else 0
    if m > n and rank == n:
        left = b - np.matmul(a, x)
        residuals = np.atleast_1d(np.sum(squares(left), axis=0))
    else:
        residuals = np.zeros(0, s.dtype)
    return x, residuals, rank, s


@implements(np.linalg.matrix_rank)
def matrix_rank(
    A: ArrayLike, tol: float | Traced | None = None, hermitian: bool = False, *, rtol: float | Traced | None = None
) -> Any:
    """The number of singular values above ``tol``, or ``rtol`` times the largest."""
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    (x,) = operands(A)
    if x.ndim < 2:
        return np.any(x != 0).astype(int)
    s = svd(x, compute_uv=False, hermitian=hermitian)
    if tol is None:
        rtol = max(x.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else np.asarray(rtol)[..., None]
        tol = np.max(s, axis=-1, keepdims=True, initial=0) * rtol
    else:
        tol = np.asarray(tol)[..., None]
    return np.count_nonzero(s > tol, axis=-1)


@implements(np.linalg.cond)
def cond(x: ArrayLike, p: Any = None) -> Any:
    """‖x‖ ‖x⁻¹‖, or the ratio of singular values; a singular matrix raises LinAlgError, where NumPy gives inf."""
    if p is None or p in (2, -2):
        s = svdvals(x)
        return s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    x = _matrices("cond", x)
    return norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))


# ------------------------------------------------------------------------------------------- powers, products


@implements(np.linalg.matrix_power)
def matrix_power(a: ArrayLike, n: int) -> Any:
    """The power is found by repeated squaring, as NumPy does it: about log₂ n products, twice that at most."""
    a = array(a)
    check_square("matrix_power", a)
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    if n == 0:
        one = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
        return not_scalar(constant(trace_near((a,)), one.copy()))
    if n < 0:
        a, n = inv(a), -n
    square, result = a, None
    while n > 0:
        if n & 1:
            result = square if result is None else np.matmul(result, square)
        n >>= 1
        if n:
            square = np.matmul(square, square)
    return result


@implements(np.linalg.multi_dot)
def multi_dot(arrays_: Sequence[Any], *, out: Out = None) -> Any:
    """The product of a chain in the order that takes the fewest multiplications."""
    xs = list(arrays(*arrays_))
    if len(xs) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(xs) == 2:
        return into(out, np.dot(xs[0], xs[1]))
    for k, x in enumerate(xs):
        if x.ndim != 2 and not (x.ndim == 1 and k in (0, len(xs) - 1)):
            raise ShapeError(f"multi_dot: array {k} has {x.ndim} axes; expected 2 (the first and the last: 1 or 2)")
    lengths = [1 if xs[0].ndim == 1 else xs[0].shape[0], *[x.shape[0] for x in xs[1:]]]
    lengths.append(1 if xs[-1].ndim == 1 else xs[-1].shape[1])
    best = chain_order(lengths)

    def product(i: int, j: int) -> Any:
        if i == j:
            return xs[i]
        k = best[i, j]
        return np.dot(product(i, k), product(k + 1, j))

    return into(out, product(0, len(xs) - 1))


def chain_order(lengths: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each partial chain i..j; matrix k is lengths[k] by lengths[k + 1].

    Source: Cormen, Leiserson, Rivest, Stein, Introduction to Algorithms, section 15.2.
    """
    n = len(lengths) - 1
    cost = {(i, i): 0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            costs = {k: cost[i, k] + cost[k + 1, j] + lengths[i] * lengths[k + 1] * lengths[j + 1] for k in range(i, j)}
            split[i, j] = min(costs, key=costs.__getitem__)
            cost[i, j] = costs[split[i, j]]
    return split


# ------------------------------------------------------------------------------------------------------ norms


def root(total: Traced, p: float) -> Any:
    """total^(1/p); where the total is 0 its derivative is 0, by selection: the mean of the slopes."""

    def safe_root(t: Atom) -> Any:
        dtype = t.aval.dtype
        is_zero = equal(t, 0)
        safe = select(is_zero, Lit(1, dtype), t)
        y = sqrt(safe) if p == 2 else power(safe, 1 / p)
        return select(is_zero, Lit(0 if p > 0 else np.inf, dtype), y)

    return formula(safe_root, np.sqrt if p == 2 else lambda t: t ** (1 / p), total)


def squares(x: Any) -> Any:
    return np.square(x) if x.dtype.kind != "c" else np.square(np.abs(x))


def powers(x: Traced, p: float) -> Any:
    """|x|ᵖ; below p = 2, where a derivative at 0 is infinite, it is 0 there by selection."""
    size = np.abs(x)
    if p >= 2:
        return size**p

    def safe_power(a: Atom) -> Any:
        dtype = a.aval.dtype
        is_zero = equal(a, 0)
        y = power(select(is_zero, Lit(1, dtype), a), p)
        return select(is_zero, Lit(0 if p > 0 else np.inf, dtype), y)

    return formula(safe_power, lambda a: a**p, size)


def extreme(function: Callable[..., Any], x: Traced, axis: Any, keepdims: bool) -> Any:
    """The largest or smallest of non-negative numbers; the largest of none is 0."""
    axes = normalize_axis_tuple(axis, x.ndim)
    if function is np.max and any(x.shape[k] == 0 for k in axes):
        return function(x, axis=axis, keepdims=keepdims, initial=0)
    return function(x, axis=axis, keepdims=keepdims)


def _vector_norm(x: Traced, order: int | float | str | None, axis: tuple[int, ...], keepdims: bool) -> Any:
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    if order is None or order == 2:
        return root(np.sum(squares(x), axis=axis, keepdims=keepdims), 2)
    if order == np.inf:
        return extreme(np.max, np.abs(x), axis, keepdims)
    if order == -np.inf:
        return extreme(np.min, np.abs(x), axis, keepdims)
    if order == 0:
        return np.sum((x != 0).astype(x.dtype.type(0).real.dtype), axis=axis, keepdims=keepdims)
    if order == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    p = float(order)
    return root(np.sum(powers(x, p), axis=axis, keepdims=keepdims), p)


def _matrix_norm(x: Any, order: int | float | str | None, axis: tuple[int, int], keepdims: bool) -> Any:
    if order in (None, "fro", "f"):
        return root(np.sum(squares(x), axis=axis, keepdims=keepdims), 2)
    if order in (2, -2, "nuc"):
        s = svdvals(np.moveaxis(x, axis, (-2, -1)))
        one = extreme(np.max if order == 2 else np.min, s, -1, False) if order != "nuc" else np.sum(s, axis=-1)
        return np.expand_dims(one, tuple(sorted(axis))) if keepdims else one
    if isinstance(order, str) or order not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    rows, columns = axis
    summed, compared = (rows, columns) if abs(order) == 1 else (columns, rows)
    sums = np.sum(np.abs(x), axis=summed, keepdims=keepdims)
    if not keepdims and compared > summed:
        compared -= 1
    return extreme(np.max if order > 0 else np.min, sums, compared, keepdims)


@implements(np.linalg.norm)
def norm(x: ArrayLike, ord: int | float | str | None = None, axis: Any = None, keepdims: bool = False) -> Any:
    if type(ord) is Tracer:
        raise refuse("linalg.norm", "ord", ord, "np.sum(np.abs(x)**p) ** (1/p)")
    x = inexact(array(x))
    if axis is None and ord is None:
        return root(np.sum(squares(x), keepdims=keepdims), 2)
    if axis is None:
        axis = tuple(range(x.ndim))
    elif not isinstance(axis, tuple):
        try:
            axis = (int(axis),)
        except (TypeError, ValueError) as error:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from error
    if len(axis) not in (1, 2):
        raise ValueError("Improper number of dimensions to norm.")
    axis = tuple([operator.index(k) for k in normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)])
    if len(axis) == 1:
        return _vector_norm(x, ord, axis, keepdims)
    if axis[0] == axis[1]:
        raise ValueError("Duplicate axes given.")
    return _matrix_norm(x, ord, axis, keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: int | float | str | None = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(
    x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: int | float | str | None = 2
) -> Any:
    """The norm is that of all elements along one axis, several, or all of them."""
    x = inexact(array(x))
    axes = tuple(range(x.ndim)) if axis is None else tuple(normalize_axis_tuple(axis, x.ndim))
    return _vector_norm(x, ord, axes, keepdims)


# ------------------------------------------------------------------------------------- names of the array API


@implements(np.linalg.matmul)
def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    return np.matmul(x1, x2)


@implements(np.linalg.tensordot)
def tensordot(x1: Traced, x2: Traced, /, *, axes: Any = 2) -> Any:
    return np.tensordot(x1, x2, axes=axes)


@implements(np.linalg.vecdot)
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Any:
    return np.vecdot(x1, x2, axis=axis)  # type: ignore[call-overload]  # NumPy's stub knows axes= alone


@implements(np.linalg.outer)
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    x1, x2 = arrays(x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} and {x2.ndim=}.")
    return np.outer(x1, x2)


@implements(np.linalg.cross)
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Any:
    x1, x2 = arrays(x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {x1.shape[axis]} and {x2.shape[axis]} dimensional instead."
        )
    return np.cross(x1, x2, axis=axis)


@implements(np.linalg.trace)
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Any:
    return np.trace(x, offset, axis1=-2, axis2=-1, dtype=dtype)


@implements(np.linalg.diagonal)
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Any:
    return np.diagonal(x, offset, axis1=-2, axis2=-1)


@implements(np.linalg.matrix_transpose)
def matrix_transpose(x: ArrayLike, /) -> Any:
    return np.matrix_transpose(x)
