"""Ops of linear algebra, on stacks of matrices: factorisations, solutions, inverses, determinants.

Every op works on the last two axes; leading axes are a stack, so a batch is one more of them. All rules
hold for real matrices, and for complex ones those without a conjugate: ``cholesky`` and ``slogdet`` of a
complex matrix have no derivative yet. Singular matrices raise ``numpy.linalg.LinAlgError`` when the op
runs, as in NumPy.

``cholesky`` reads one triangle of a matrix that is symmetric by promise. Its tangents are symmetric
likewise (what is given is made so), and its cotangents are the symmetric ones: the change of the result
when the matrix moves among the symmetric matrices.

Source, unless a rule names another: Giles (2008), Collected matrix derivative results for forward and
reverse mode algorithmic differentiation. A bar means cotangent, a dot tangent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import MissingRuleError, ShapeError
from wengert.ops.contract import matmul
from wengert.ops.elementwise import equal, greater_equal, select
from wengert.ops.index import INTP
from wengert.ops.kernels import Call, Cost
from wengert.ops.op import front, op
from wengert.ops.reduce import sum_
from wengert.ops.shape import expand, iota, reshape, transpose, zeros
from wengert.tape import Atom, Aval, Lit

# ----------------------------------------------------------------------------------------------- small things


def swap(x: Atom) -> Any:
    """The matrices transposed."""
    n = x.aval.ndim
    return transpose(x, axes=(*range(n - 2), n - 1, n - 2))


def trace_of_product(x: Atom, y: Atom) -> Any:
    """tr(xᵀ y), a number a matrix."""
    n = x.aval.ndim
    return sum_(x * y, axis=(n - 2, n - 1))


def times_matrix(ct: Atom, x: Atom) -> Any:
    """Each matrix of the stack ``x`` times its number in ``ct``."""
    return reshape(ct, shape=(*ct.aval.shape, 1, 1)) * x


def triangle(x: Atom, lower: bool, diagonal: float = 1) -> Any:
    """One triangle of ``x``, its diagonal multiplied by ``diagonal``."""
    n = x.aval.shape[-1]
    row = expand(iota(size=n, dtype=INTP), [1], 2)
    column = expand(iota(size=n, dtype=INTP), [0], 2)
    kept = greater_equal(row, column) if lower else greater_equal(column, row)
    if diagonal != 1:
        x = select(equal(row, column), diagonal * x, x)
    return select(kept, x, Lit(0, x.aval.dtype))


def square(name: str, a: Aval) -> int:
    """The order of the square matrices in ``a``; raises for others."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{name}: the last two axes are not square: {a}")
    return a.shape[-1]


def _same_type(name: str) -> Callable[..., Aval]:
    def result(x: Aval, **params: Any) -> Aval:
        square(name, x)
        return x

    return result


def _number_type(name: str) -> Callable[..., Aval]:
    def result(x: Aval) -> Aval:
        square(name, x)
        return Aval(x.shape[:-2], x.dtype)

    return result


def _solution_type(name: str) -> Callable[..., Aval]:
    def result(a: Aval, b: Aval, **params: Any) -> Aval:
        n = square(name, a)
        if b.ndim != a.ndim or b.shape[:-1] != (*a.shape[:-2], n):
            raise ShapeError(f"{name}: {a} and {b} do not fit: the rows of both must be as many")
        return b

    return result


def _cubic(factor: float, per_column: float = 0) -> Cost:
    """``factor`` n³ flops a matrix, and ``per_column`` n² for each column of a right-hand side."""

    def cost(a: Aval, *others: Aval, **params: Any) -> float:
        n = a.shape[-1]
        columns = others[0].shape[-1] if others else 0
        return a.size * (factor * n + per_column * columns) if n else 0.0

    return cost


def real_only(rule: Callable[..., Any]) -> Callable[..., Any]:
    """``rule``, refused for complex operands, for which the formula is another one."""

    @functools.wraps(rule)
    def checked(*args: Any, **params: Any) -> Any:
        operands = [a for arg in args for a in (arg if isinstance(arg, tuple | list) else (arg,))]
        if any(isinstance(a, Atom) and a.aval.dtype.kind == "c" for a in operands):
            raise MissingRuleError("for complex matrices")
        return rule(*args, **params)

    return checked


def batch_all(xs: Any, batched: Any, size: int) -> list[Any]:
    return [front(x, b, size) for x, b in zip(xs, batched, strict=True)]


# ------------------------------------------------------------------------------------------------------ solve


def solve_pushforward(xs: Any, dxs: Any, y: Atom) -> Any:
    """ẏ = a⁻¹ (ḃ − ȧ y)."""
    (a, _), (da, db) = xs, dxs
    if da is None:
        return solve(a, db)
    return solve(a, -matmul(da, y) if db is None else db - matmul(da, y))


def solve_pullback_a(ct: Atom, a: Atom, b: Atom, y: Atom) -> Any:
    """ā = −b̄ yᵀ with b̄ = a⁻ᵀ ȳ."""
    return -matmul(solve_pullback_b(ct, a, b, y), swap(y))  # b̄ is shared with the pullback of b


def solve_pullback_b(ct: Atom, a: Atom, b: Atom, y: Atom) -> Any:
    return solve(swap(a), ct)


def _columns_of_batch(b: Atom) -> Any:
    """A leading batch axis moved into the columns: float[s, ..., n, k] becomes float[..., n, s k]."""
    n = b.aval.ndim
    moved = transpose(b, axes=(*range(1, n - 1), 0, n - 1))
    return reshape(moved, shape=(*moved.aval.shape[:-2], b.aval.shape[0] * b.aval.shape[-1]))


def _batch_of_columns(y: Atom, size: int, columns: int) -> Any:
    split = reshape(y, shape=(*y.aval.shape[:-1], size, columns))
    n = split.aval.ndim
    return transpose(split, axes=(n - 2, *range(n - 2), n - 1))


def _solution_batch(make: Callable[..., Any]) -> Callable[..., Any]:
    def batch(xs: Any, batched: Any, size: int, **params: Any) -> Any:
        if not batched[0]:  # one matrix for all: factored once, the batch goes into the columns
            wide = make(xs[0], _columns_of_batch(xs[1]), **params)
            return _batch_of_columns(wide, size, xs[1].aval.shape[-1])
        return make(*batch_all(xs, batched, size), **params)

    return batch


solve = op(  # a⁻¹ b; a is float[..., n, n], b is float[..., n, k]
    lambda a, b: np.linalg.solve(a, b),
    name="solve",
    type=_solution_type("solve"),
    kernel=Call("lapack.gesv", needs_room=True),
    cost=_cubic(2 / 3, per_column=2),
    pushforward=solve_pushforward,
    pullback=[solve_pullback_a, solve_pullback_b],
    batch=lambda xs, batched, size: _solution_batch(solve)(xs, batched, size),
)


# ------------------------------------------------------------------------------------------- triangular solve


def _triangular_reference(a: Any, b: Any, *, lower: bool, transpose: bool) -> Any:
    from scipy.linalg import solve_triangular  # heavy to import, and needed only here

    out = np.empty(b.shape, b.dtype)
    if out.size:
        for k in np.ndindex(a.shape[:-2]):
            out[k] = solve_triangular(a[k], b[k], lower=lower, trans=1 if transpose else 0, check_finite=False)
    return out


def triangular_solve_pushforward(xs: Any, dxs: Any, y: Atom, *, lower: bool, transpose: bool) -> Any:
    """ẏ = a⁻¹ (ḃ − ȧ y), where only one triangle of ȧ counts."""
    (a, _), (da, db) = xs, dxs
    rate = db
    if da is not None:
        da = triangle(da, lower)
        moved = matmul(swap(da) if transpose else da, y)
        rate = -moved if db is None else db - moved
    return triangular_solve(a, rate, lower=lower, transpose=transpose)


def triangular_solve_pullback_a(ct: Atom, a: Atom, b: Atom, y: Atom, *, lower: bool, transpose: bool) -> Any:
    """ā = −tri(b̄ yᵀ), or its transpose where aᵀ was solved."""
    ct_b = triangular_solve_pullback_b(ct, a, b, y, lower=lower, transpose=transpose)
    product = matmul(y, swap(ct_b)) if transpose else matmul(ct_b, swap(y))
    return triangle(-product, lower)


def triangular_solve_pullback_b(ct: Atom, a: Atom, b: Atom, y: Atom, *, lower: bool, transpose: bool) -> Any:
    return triangular_solve(a, ct, lower=lower, transpose=not transpose)


triangular_solve = op(  # a⁻¹ b, or a⁻ᵀ b; only the lower, or only the upper, triangle of a is read
    _triangular_reference,
    name="triangular_solve",
    type=_solution_type("triangular_solve"),
    kernel=Call("blas.trsm"),
    cost=_cubic(0, per_column=1),
    pushforward=triangular_solve_pushforward,
    pullback=[triangular_solve_pullback_a, triangular_solve_pullback_b],
    batch=lambda xs, batched, size, **params: _solution_batch(triangular_solve)(xs, batched, size, **params),
)


# --------------------------------------------------------------------------------------------------- cholesky


@real_only
def cholesky_pushforward(xs: Any, dxs: Any, y: Atom) -> Any:
    """ẏ = y Φ(y⁻¹ ẋ y⁻ᵀ), Φ(A) = tril(A) with its diagonal halved, ẋ made symmetric.

    Source: Murray (2016), Differentiation of the Cholesky decomposition, arXiv:1602.07527, equation 8.
    """
    dx = 0.5 * (dxs[0] + swap(dxs[0]))
    left = triangular_solve(y, dx, lower=True, transpose=False)  # y⁻¹ ẋ
    both = triangular_solve(y, swap(left), lower=True, transpose=False)  # y⁻¹ (y⁻¹ ẋ)ᵀ = y⁻¹ ẋ y⁻ᵀ
    return matmul(y, triangle(both, True, diagonal=0.5))


@real_only
def cholesky_pullback(ct: Atom, x: Atom, y: Atom) -> Any:
    """Cotangent of ``x`` for ``y = cholesky(x)``.

    x, y, ct : float[..., n, n]; y lower triangular, of ct only the lower triangle counts.
    Returns float[..., n, n], symmetric.

        x̄ = (S + Sᵀ) / 2,   S = y⁻ᵀ Φ(yᵀ ȳ) y⁻¹,   Φ(A) = tril(A) with its diagonal halved

    Costs two triangular solves and one product: 4n³ flops.
    Source: Murray (2016), Differentiation of the Cholesky decomposition, arXiv:1602.07527.
    """
    phi = triangle(matmul(swap(y), triangle(ct, True)), True, diagonal=0.5)
    left = triangular_solve(y, phi, lower=True, transpose=True)  # y⁻ᵀ Φ
    s = triangular_solve(y, swap(left), lower=True, transpose=True)  # y⁻ᵀ (y⁻ᵀ Φ)ᵀ = Sᵀ
    return 0.5 * (s + swap(s))


cholesky = op(  # the lower triangular y with y yᵀ = x; reads the lower triangle of x
    lambda x: np.linalg.cholesky(x),
    name="cholesky",
    type=_same_type("cholesky"),
    kernel=Call("lapack.potrf"),
    cost=_cubic(1 / 3),
    pushforward=cholesky_pushforward,
    pullback=[cholesky_pullback],
    batch=lambda xs, batched, size: cholesky(xs[0]),
)


# -------------------------------------------------------------------------------------------------------- inv


def inv_pushforward(xs: Any, dxs: Any, y: Atom) -> Any:
    """ẏ = −y ẋ y."""
    return -matmul(matmul(y, dxs[0]), y)


def inv_pullback(ct: Atom, x: Atom, y: Atom) -> Any:
    """x̄ = −yᵀ ȳ yᵀ."""
    return -matmul(matmul(swap(y), ct), swap(y))


inv = op(
    lambda x: np.linalg.inv(x),
    name="inv",
    type=_same_type("inv"),
    kernel=Call("lapack.inv", needs_room=True),
    cost=_cubic(2),
    pushforward=inv_pushforward,
    pullback=[inv_pullback],
    batch=lambda xs, batched, size: inv(xs[0]),
)


# ---------------------------------------------------------------------------------------------------- slogdet


def _slogdet_type(x: Aval) -> tuple[Aval, Aval]:
    square("slogdet", x)
    size = x.dtype.itemsize // 2
    real = np.dtype(f"f{size}") if x.dtype.kind == "c" else x.dtype
    return Aval(x.shape[:-2], x.dtype), Aval(x.shape[:-2], real)


@real_only
def slogdet_pushforward(xs: Any, dxs: Any, y: Any) -> Any:
    """The tangent of log |det x| is tr(x⁻¹ ẋ); the sign is flat."""
    return None, trace_of_product(swap(inv(xs[0])), dxs[0])


@real_only
def slogdet_pullback(ct: Any, x: Atom, y: Any) -> Any:
    """x̄ = x⁻ᵀ times the cotangent of the logarithm."""
    return times_matrix(ct[1], swap(inv(x)))


slogdet = op(  # sign and logarithm of the absolute value of the determinant
    lambda x: tuple(np.linalg.slogdet(x)),
    name="slogdet",
    type=_slogdet_type,
    kernel=Call("lapack.slogdet", needs_room=True),
    cost=_cubic(2 / 3),
    pushforward=slogdet_pushforward,
    pullback=[slogdet_pullback],
    batch=lambda xs, batched, size: slogdet(xs[0]),
)


# -------------------------------------------------------------------------------------------------------- det
#
# The derivative of det is the cofactor matrix, a polynomial in the entries, which is finite and right where
# det is zero and x⁻¹ does not exist. So it is an op of its own, computed without dividing by a singular
# value, and so is its derivative in a direction.


def _others(s: Any) -> Any:
    """For each element the product of all others along the last axis."""
    one = np.ones((*s.shape[:-1], 1), s.dtype)
    before = np.cumprod(np.concatenate([one, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([one, s[..., :0:-1]], -1), -1)[..., ::-1]
    return before * after


def _rotations(x: Any) -> tuple[Any, Any, Any, Any]:
    """x = u diag(s) w, and the determinant of the two rotations; NaN for a matrix that is not finite."""
    is_finite = np.isfinite(x).all((-2, -1), keepdims=True)
    u, s, w = np.linalg.svd(np.where(is_finite, x, 0))
    sign = (np.linalg.det(u) * np.linalg.det(w))[..., None, None]
    if x.dtype.kind != "c":
        sign = np.rint(sign)
    return u, s, w, np.where(is_finite, sign, np.nan)


def _cofactor_reference(x: Any) -> Any:
    """cof(u s w) = cof(u) cof(s) cof(w), and cof of a rotation is its determinant times itself."""
    n = x.shape[-1]
    if n == 0 or x.size == 0:
        return np.zeros(x.shape, x.dtype)
    if n == 1:
        return np.ones(x.shape, x.dtype)
    if n == 2:
        return np.stack([np.stack([x[..., 1, 1], -x[..., 1, 0]], -1), np.stack([-x[..., 0, 1], x[..., 0, 0]], -1)], -2)
    if n == 3:
        rows = x[..., 0, :], x[..., 1, :], x[..., 2, :]
        return np.stack([np.cross(rows[k - 2], rows[k - 1]) for k in range(3)], -2)
    stack = x.reshape(-1, n, n)
    out, is_good = _cofactor_by_inverse(stack)
    if not is_good.all():
        u, s, w, sign = _rotations(stack[~is_good])
        out[~is_good] = sign * (u.conj() * _others(s)[..., None, :]) @ w.conj()
    return out.reshape(x.shape)


def _cofactor_by_inverse(stack: Any) -> tuple[Any, Any]:
    """det(x) x⁻ᵀ, and of which matrices it is good to twelve digits (single precision: to five). For one of 100 rows it
    takes 0.3 ms, by SVD 1.3 ms."""
    det = np.linalg.det(stack)
    is_regular = np.isfinite(det) & (det != 0)
    inverse = np.linalg.inv(np.where(is_regular[:, None, None], stack, np.eye(stack.shape[-1], dtype=stack.dtype)))
    condition = np.abs(stack).sum(-1).max(-1) * np.abs(inverse).sum(-1).max(-1)
    is_good = is_regular & (condition < (1e4 if stack.dtype.char in "dD" else 1e2))
    return (det[:, None, None] * inverse.swapaxes(-1, -2)).astype(stack.dtype, copy=False), is_good


def _cofactor_along_reference(x: Any, v: Any) -> Any:
    """d/dt cof(x + t v) at 0. With D = uᴴ v wᴴ and p_ij = ∏ of the singular values but the i-th and j-th:

    E_ii = Σ_{j≠i} p_ij D_jj,   E_ij = −p_ij D_ji,   the result is det(u) det(w) u E w (conjugated rotations).
    """
    n = x.shape[-1]
    if n < 2 or x.size == 0:
        return np.zeros(x.shape, x.dtype)
    if n == 2:
        return _cofactor_reference(v)
    u, s, w, sign = _rotations(x)
    d = u.conj().swapaxes(-1, -2) @ v @ w.conj().swapaxes(-1, -2)
    on_diagonal = np.eye(n, dtype=bool)
    p = np.where(on_diagonal, 0, _others(np.where(on_diagonal, 1, s[..., None, :])))
    e = -p * d.swapaxes(-1, -2)
    diagonal = np.diagonal(d, axis1=-2, axis2=-1)
    e[..., range(n), range(n)] = (p @ diagonal[..., None])[..., 0]
    return (sign * u.conj() @ e @ w.conj()).astype(x.dtype, copy=False)


def det_pushforward(xs: Any, dxs: Any, y: Atom) -> Any:
    return trace_of_product(cofactor(xs[0]), dxs[0])


def det_pullback(ct: Atom, x: Atom, y: Atom) -> Any:
    """x̄ = ȳ cof(x), which is ȳ det(x) x⁻ᵀ where the inverse exists."""
    return times_matrix(ct, cofactor(x))


det = op(
    lambda x: np.linalg.det(x),
    name="det",
    type=_number_type("det"),
    kernel=Call("lapack.det", needs_room=True),
    cost=_cubic(2 / 3),
    pushforward=det_pushforward,
    pullback=[det_pullback],
    batch=lambda xs, batched, size: det(xs[0]),
)

cofactor = op(  # ∂det(x)/∂x
    _cofactor_reference,
    name="cofactor",
    type=_same_type("cofactor"),
    kernel=Call("lapack.cofactor", needs_room=True, is_partial=True),
    cost=_cubic(20),
    pushforward=lambda xs, dxs, y: cofactor_along(xs[0], dxs[0]),
    pullback=[lambda ct, x, y: cofactor_along(x, ct)],  # a second derivative: the map is its own transpose
    batch=lambda xs, batched, size: cofactor(xs[0]),
)


def _cofactor_along_type(x: Aval, v: Aval) -> Aval:
    square("cofactor_along", x)
    if x.shape != v.shape:
        raise ShapeError(f"cofactor_along: shapes differ: {x} and {v}")
    return x


def third_derivative(x: Atom, v: Atom, u: Atom) -> Any:
    """∇ₓ of tr(uᵀ cofactor_along(x, v)): the third derivative of det, symmetric in v and u.

    det is a polynomial of degree n: nothing is left for n = 2, and for n = 3 the form is symmetric in x too.
    For n > 3, with i = x⁻¹, A = i v, B = i u, and cofactor_along(x, v) = det (tr(A) i − A i)ᵀ:

        det ( (tr A tr B − tr AB) i − tr(B) A i − tr(A) B i + A B i + B A i )ᵀ

    which needs the inverse: of a singular matrix with n > 3 the third derivative is refused by LinAlgError.
    """
    n = x.aval.shape[-1]
    if n <= 2:
        return zeros(x.aval)
    if n == 3:
        return cofactor_along(v, u)
    i = inv(x)
    a, b = matmul(i, v), matmul(i, u)
    ai, bi = matmul(a, i), matmul(b, i)
    trace_a, trace_b = trace_of_product(swap(i), v), trace_of_product(swap(i), u)
    trace_ab = trace_of_product(swap(a), b)
    terms = times_matrix(trace_a * trace_b - trace_ab, i) - times_matrix(trace_b, ai) - times_matrix(trace_a, bi)
    terms = terms + matmul(a, bi) + matmul(b, ai)
    return times_matrix(det(x), swap(terms))


def cofactor_along_pushforward(xs: Any, dxs: Any, y: Atom) -> Any:
    (x, v), (dx, dv) = xs, dxs
    along_x = None if dx is None else third_derivative(x, v, dx)
    along_v = None if dv is None else cofactor_along(x, dv)
    if along_x is None or along_v is None:
        return along_v if along_x is None else along_x
    return along_x + along_v


cofactor_along = op(  # the derivative of cofactor(x) in the direction v
    _cofactor_along_reference,
    name="cofactor_along",
    type=_cofactor_along_type,
    kernel=Call("lapack.gesdd"),
    cost=_cubic(28),
    pushforward=cofactor_along_pushforward,
    pullback=[
        lambda ct, x, v, y: third_derivative(x, v, ct),
        lambda ct, x, v, y: cofactor_along(x, ct),
    ],
    batch=lambda xs, batched, size: cofactor_along(*batch_all(xs, batched, size)),
)
