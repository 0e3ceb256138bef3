"""Solutions of linear equations, and inverses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.errors import ShapeError
from wengert.ops.contract import matmul
from wengert.ops.elementwise import cast, convert, equal, greater, select
from wengert.ops.index import INTP
from wengert.ops.kernels import Routine
from wengert.ops.linalg.factors import is_factored, lu, lu_inv, lu_solve
from wengert.ops.linalg.matrices import adjoint, batch_all, conj, cubic, in_double, same_type, square, swap, triangle
from wengert.ops.op import op
from wengert.ops.reduce import max_
from wengert.ops.shape import expand, iota, reshape, transpose
from wengert.tape import Atom, Aval, Lit


def _solution_type(name: str) -> Callable[..., Aval]:
    def result(a: Aval, b: Aval, **params: Any) -> Aval:
        n = square(name, a)
        if b.ndim != a.ndim or b.shape[:-1] != (*a.shape[:-2], n):
            raise ShapeError(f"{name}: {a} and {b} do not fit: both must have the same number of rows")
        return b

    return result


def solve_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Atom, *, transpose: bool) -> Any:
    """ẏ = a⁻¹ (ḃ − ȧ y)."""
    (a, _), (da, db) = xs, dxs
    rate = db
    if da is not None:
        moved = matmul(swap(da) if transpose else da, y)
        rate = -moved if db is None else db - moved
    return solve(a, rate, transpose=transpose)


def solve_pullback_a(ct: Atom, a: Atom, b: Atom, y: Atom, *, transpose: bool) -> Any:
    """ā = −b̄ yᵀ with b̄ = a⁻ᵀ ȳ, or its transpose where aᵀ was solved."""
    ct_b = solve_pullback_b(ct, a, b, y, transpose=transpose)  # shared with the pullback of b
    return -(matmul(y, swap(ct_b)) if transpose else matmul(ct_b, swap(y)))


def solve_pullback_b(ct: Atom, a: Atom, b: Atom, y: Atom, *, transpose: bool) -> Any:
    return solve(a, ct, transpose=not transpose)


def _solve_expansion(a: Atom, b: Atom, *, transpose: bool) -> Any:
    return lu_solve(*lu(a), b, transpose=transpose) if is_factored(a) else solve(a, b, transpose=transpose)


def columns_of_batch(b: Atom) -> Any:
    """A leading batch axis moved into the columns: float[s, ..., n, k] becomes float[..., n, s k]."""
    n = b.aval.ndim
    moved = transpose(b, axes=(*range(1, n - 1), 0, n - 1))
    return reshape(moved, shape=(*moved.aval.shape[:-2], b.aval.shape[0] * b.aval.shape[-1]))


def batch_of_columns(y: Atom, size: int, columns: int) -> Any:
    split = reshape(y, shape=(*y.aval.shape[:-1], size, columns))
    n = split.aval.ndim
    return transpose(split, axes=(n - 2, *range(n - 2), n - 1))


def solution_batch(make: Callable[..., Any]) -> Callable[..., Any]:
    def batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, **params: Any) -> Any:
        if not batched[0]:  # one matrix for all: factored once, the batch goes into the columns
            wide = make(xs[0], columns_of_batch(xs[1]), **params)
            return batch_of_columns(wide, size, xs[1].aval.shape[-1])
        return make(*batch_all(xs, batched, size), **params)

    return batch


solve = op(  # a⁻¹ b, or a⁻ᵀ b; a is float[..., n, n], b is float[..., n, k]
    lambda a, b, *, transpose: np.linalg.solve(np.swapaxes(a, -1, -2) if transpose else a, b),
    name="solve",
    type=_solution_type("solve"),
    expansion=_solve_expansion,
    cost=cubic(2 / 3, per_column=2),
    pushforward=solve_pushforward,
    pullback=[solve_pullback_a, solve_pullback_b],
    batch=lambda xs, batched, size, **params: solution_batch(solve)(xs, batched, size, **params),
)


def _triangular_reference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], *, lower: bool, transpose: bool) -> Any:
    from scipy.linalg import solve_triangular  # heavy to import, and needed only here

    out = np.empty(b.shape, b.dtype)
    if out.size:
        for k in np.ndindex(a.shape[:-2]):
            out[k] = solve_triangular(a[k], b[k], lower=lower, trans=1 if transpose else 0, check_finite=False)
    return out


def triangular_solve_pushforward(
    xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Atom, *, lower: bool, transpose: bool
) -> Any:
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
    kernel=Routine("blas.trsm", takes_complex=True),
    cost=cubic(0, per_column=1),
    pushforward=triangular_solve_pushforward,
    pullback=[triangular_solve_pullback_a, triangular_solve_pullback_b],
    batch=lambda xs, batched, size, **params: solution_batch(triangular_solve)(xs, batched, size, **params),
)


def inv_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Atom) -> Any:
    """ẏ = −y ẋ y."""
    return -matmul(matmul(y, dxs[0]), y)


def inv_pullback(ct: Atom, x: Atom, y: Atom) -> Any:
    """x̄ = −yᵀ ȳ yᵀ."""
    return -matmul(matmul(swap(y), ct), swap(y))


inv = op(
    lambda x: np.linalg.inv(x),
    name="inv",
    type=same_type("inv"),
    expansion=lambda x: lu_inv(*lu(x)) if is_factored(x) else inv(x),
    cost=cubic(2),
    pushforward=inv_pushforward,
    pullback=[inv_pullback],
    batch=lambda xs, batched, size: inv(xs[0]),
)


# ------------------------------------------------------------------------------------------------- pseudo-inverse


def _beside(x: Atom, y: Atom) -> Any:
    """1 − x y, the projector onto what x does not reach."""
    product = matmul(x, y)
    n = product.aval.shape[-1]
    one = equal(expand(iota(size=n, dtype=INTP), [1], 2), expand(iota(size=n, dtype=INTP), [0], 2))
    return convert(one, dtype=product.aval.dtype) - product


def pinv_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom], y: Atom, *, rcond: float) -> Any:
    """ẏ = −y ẋ y + y yᴴ ẋᴴ (1 − x y) + (1 − y x) ẋᴴ yᴴ y, among the matrices of one rank.

    Source: Golub & Pereyra (1973), The differentiation of pseudo-inverses, theorem 4.3.
    """
    (x,), (dx,) = xs, dxs
    beside = matmul(matmul(y, adjoint(y)), matmul(adjoint(dx), _beside(x, y)))
    across = matmul(_beside(y, x), matmul(adjoint(dx), matmul(adjoint(y), y)))
    return beside + across - matmul(y, matmul(dx, y))


def pinv_pullback(ct: Atom, x: Atom, y: Atom, *, rcond: float) -> Any:
    """x̄ = −yᴴ ȳ yᴴ + (1 − x y) ȳᴴ y yᴴ + yᴴ y ȳᴴ (1 − y x): the transpose of the pushforward."""
    x, y = conj(x), conj(y)
    beside = matmul(_beside(x, y), matmul(adjoint(ct), matmul(y, adjoint(y))))
    across = matmul(matmul(adjoint(y), y), matmul(adjoint(ct), _beside(y, x)))
    return beside + across - matmul(adjoint(y), matmul(ct, adjoint(y)))


def _pinv_expansion(x: Atom, *, rcond: float) -> Any:
    """v s⁻¹ uᴴ without what is small, as NumPy does it."""
    if not x.aval.size:
        return pinv(x, rcond=rcond)
    u, s, vh = in_double("svd")(conj(x), full=False)
    last = s.aval.ndim - 1
    greatest = max_(s, axis=(last,))
    is_large = greater(s, rcond * reshape(greatest, shape=(*greatest.aval.shape, 1)))
    inverse = select(is_large, 1 / select(is_large, s, Lit(1, s.aval.dtype)), Lit(0, s.aval.dtype))
    rows = cast(reshape(inverse, shape=(*inverse.aval.shape, 1)), x.aval.dtype) * swap(u)
    return matmul(swap(vh), rows)


pinv = op(  # Moore and Penrose's; singular values below rcond times the largest count as zero
    lambda x, *, rcond: np.linalg.pinv(x, rcond),
    name="pinv",
    type=lambda x, *, rcond: Aval((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype),
    expansion=_pinv_expansion,
    cost=cubic(20),
    pushforward=pinv_pushforward,
    pullback=[pinv_pullback],
    is_holomorphic=False,
    batch=lambda xs, batched, size, *, rcond: pinv(xs[0], rcond=rcond),
)
