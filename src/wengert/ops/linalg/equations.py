"""Matrix equations, linear ones of Sylvester and Lyapunov, and Riccati's, by SciPy's routines.

Their derivatives are those of implicit functions. The tangent of a solution solves an equation of Sylvester's, and so
does the cotangent, so that every rule is written with these ops again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.errors import ShapeError
from wengert.ops.contract import matmul
from wengert.ops.linalg.matrices import adjoint, batch_all, conj, square, swap
from wengert.ops.linalg.solutions import solve
from wengert.ops.linalg.stacks import Array, over_stack, scipy_linalg
from wengert.ops.op import op
from wengert.tape import Atom, Aval


def _sum(*terms: Atom | None) -> Any:
    """The sum of the terms that are there."""
    total: Any = None
    for term in terms:
        if term is not None:
            total = term if total is None else total + term
    return total


def _minus(x: Any) -> Any:
    return None if x is None else -x


def _product(x: Atom | None, y: Atom | None) -> Any:
    """x y, or nothing where one of them is not there."""
    return None if x is None or y is None else matmul(x, y)


# ------------------------------------------------------------------------------------------------------- Sylvester


def _sylvester_type(a: Aval, b: Aval, q: Aval, *, perturbs: bool) -> Aval:
    n, m = square("solve_sylvester", a), square("solve_sylvester", b)
    if q.shape[-2:] != (n, m):
        raise ShapeError(f"solve_sylvester: {a}, {b} and {q} do not fit: q must have {n} rows and {m} columns")
    return q


def _sylvester_one(a: Array, b: Array, q: Array, *, perturbs: bool) -> Any:
    """SciPy's own steps, and NaN where LAPACK says that the equation is singular, if nothing ``perturbs`` it.

    Source: Bartels & Stewart (1972), Solution of the matrix equation AX + XB = C, CACM 15:9.
    """
    linalg = scipy_linalg()
    if not (np.isfinite(a).all() and np.isfinite(b).all() and np.isfinite(q).all()) and not perturbs:
        return np.nan
    if perturbs:
        return linalg.solve_sylvester(a, b, q)
    r, u = linalg.schur(a, output="real")
    s, v = linalg.schur(b.conj().T, output="real")
    f = u.conj().T @ q @ v
    y, scale, info = linalg.get_lapack_funcs("trsyl", (r, s, f))(r, s, f, tranb="C")
    return np.nan if info else u @ (scale * y) @ v.conj().T


def sylvester_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Atom, *, perturbs: bool) -> Any:
    """a ẋ + ẋ b = q̇ − ȧ x − x ḃ."""
    (a, b, _), (da, db, dq) = xs, dxs
    return sylvester(a, b, _sum(dq, _minus(_product(da, y)), _minus(_product(y, db))), perturbs=False)


def _sylvester_ct(ct: Atom, a: Atom, b: Atom) -> Any:
    """q̄, with aᵀ q̄ + q̄ bᵀ = x̄; shared by the three pullbacks."""
    return sylvester(swap(a), swap(b), ct, perturbs=False)


sylvester = op(  # the x with a x + x b = q; perturbs: as SciPy does, a singular equation is solved for a and b nearby
    over_stack(_sylvester_one, _sylvester_type),
    name="sylvester",
    type=_sylvester_type,
    cost=lambda a, b, q, **params: 25.0 * (a.size * a.shape[-1] + b.size * b.shape[-1]),
    pushforward=sylvester_pushforward,
    pullback=[
        lambda ct, a, b, q, y, **params: -matmul(_sylvester_ct(ct, a, b), swap(y)),
        lambda ct, a, b, q, y, **params: -matmul(swap(y), _sylvester_ct(ct, a, b)),
        lambda ct, a, b, q, y, **params: _sylvester_ct(ct, a, b),
    ],
    batch=lambda xs, batched, size, **params: sylvester(*batch_all(xs, batched, size), **params),
)


# -------------------------------------------------------------------------------------------------------- Lyapunov


def _lyapunov_type(a: Aval, q: Aval, *, method: str) -> Aval:
    square("solve_lyapunov", a)
    if a.shape != q.shape:
        raise ShapeError(f"solve_lyapunov: {a} and {q} must have the same shape")
    return q


def _lyapunov_one(a: Array, q: Array, *, method: str) -> Any:
    linalg = scipy_linalg()
    if method == "continuous":
        return linalg.solve_continuous_lyapunov(a, q)
    return linalg.solve_discrete_lyapunov(a, q, method=None if method == "discrete" else method)


def lyapunov_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Atom, *, method: str) -> Any:
    """a ẋ + ẋ aᴴ = q̇ − ȧ x − x ȧᴴ, or ẋ − a ẋ aᴴ = q̇ + ȧ x aᴴ + a x ȧᴴ."""
    (a, _), (da, dq) = xs, dxs
    moved: Any = None
    if da is not None:
        if method == "continuous":
            moved = -(matmul(da, y) + matmul(y, adjoint(da)))
        else:
            moved = matmul(da, matmul(y, adjoint(a))) + matmul(a, matmul(y, adjoint(da)))
    return lyapunov(a, _sum(dq, moved), method=method)


def _lyapunov_ct(ct: Atom, a: Atom, method: str) -> Any:
    """q̄ = Λ, the solution for x̄ with aᵀ in the place of a."""
    return lyapunov(swap(a), ct, method=method)


def lyapunov_pullback_a(ct: Atom, a: Atom, q: Atom, y: Atom, *, method: str) -> Any:
    """ā = −(Λ xᴴ + Λᴴ x), or Λ a xᴴ + Λᴴ a x, with the conjugates of a and x for a and x."""
    a, y, of_q = conj(a), conj(y), _lyapunov_ct(ct, a, method)
    if method == "continuous":
        return -(matmul(of_q, adjoint(y)) + matmul(adjoint(of_q), y))
    return matmul(of_q, matmul(a, adjoint(y))) + matmul(adjoint(of_q), matmul(a, y))


lyapunov = op(  # the x with a x + x aᴴ = q (continuous), or x = a x aᴴ + q (the other methods, which are SciPy's)
    over_stack(_lyapunov_one, _lyapunov_type),
    name="lyapunov",
    type=_lyapunov_type,
    cost=lambda a, q, **params: 35.0 * a.size * a.shape[-1],
    pushforward=lyapunov_pushforward,
    pullback=[lyapunov_pullback_a, lambda ct, a, q, y, *, method: _lyapunov_ct(ct, a, method)],
    is_holomorphic=False,
    batch=lambda xs, batched, size, **params: lyapunov(*batch_all(xs, batched, size), **params),
)


# --------------------------------------------------------------------------------------------------------- Riccati
#
# With K = R⁻¹ (Bᴴ X E + Sᴴ), or K = (R + Bᴴ X B)⁻¹ (Bᴴ X A + Sᴴ), and C = A − B K, the equations are F = 0 with
#
#     F = Cᴴ X E + Eᴴ X C + Kᴴ R K − S K − Kᴴ Sᴴ + Q             continuous
#     F = Cᴴ X C − Eᴴ X E + Kᴴ R K − S K − Kᴴ Sᴴ + Q             discrete
#
# whose derivative in K is zero. So K need not be differentiated, and
#
#     Cᴴ Ẋ E + Eᴴ Ẋ C = −G, or Cᴴ Ẋ C − Eᴴ Ẋ E = −G,     G = H + Hᴴ + Kᴴ Ṙ K + Q̇
#     H = Eᴴ X (Ȧ − Ḃ K) + Cᴴ X Ė − Ṡ K, or Cᴴ X (Ȧ − Ḃ K) − Eᴴ X Ė − Ṡ K.
#
# Source: Kao & Hennequin (2020), Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati equations,
# arXiv:2011.11430, for E = 1 and S = 0.


def _riccati_type(a: Aval, b: Aval, q: Aval, r: Aval, e: Aval, s: Aval, **params: Any) -> Aval:
    return Aval(a.shape, a.dtype)


def _riccati_one(a: Array, b: Array, q: Array, r: Array, e: Array, s: Array, **params: Any) -> Any:
    linalg = scipy_linalg()
    find = linalg.solve_discrete_are if params["is_discrete"] else linalg.solve_continuous_are
    given = params["given"]
    return find(a, b, q, r, e if "e" in given else None, s if "s" in given else None, balanced=params["balanced"])


def _feedback(xs: Sequence[Atom], y: Atom, is_discrete: bool) -> tuple[Any, Any]:
    """K and C."""
    a, b, _, r, e, s = xs
    of_b = matmul(adjoint(b), y)  # Bᴴ X
    if is_discrete:
        k = solve(r + matmul(of_b, b), matmul(of_b, a) + adjoint(s), transpose=False)
    else:
        k = solve(r, matmul(of_b, e) + adjoint(s), transpose=False)
    return k, a - matmul(b, k)


def _closed_loop(c: Atom, e: Atom, g: Atom, is_discrete: bool) -> Any:
    """The Z with Cᴴ Z E + Eᴴ Z C = −G, or Cᴴ Z C − Eᴴ Z E = −G, by Lyapunov's equation for (C E⁻¹)ᴴ."""
    et = adjoint(e)
    left = solve(et, g, transpose=False)
    g = adjoint(solve(et, adjoint(left), transpose=False))  # E⁻ᴴ G E⁻¹
    a = solve(et, adjoint(c), transpose=False)
    if is_discrete:
        return lyapunov(a, g, method="discrete")
    return sylvester(a, adjoint(a), -g, perturbs=False)


def riccati_pushforward(xs: Sequence[Atom], dxs: Sequence[Atom | None], y: Atom, **params: Any) -> Any:
    is_discrete = params["is_discrete"]
    (da, db, dq, dr, de, ds), e = dxs, xs[4]
    k, c = _feedback(xs, y, is_discrete)
    kt = adjoint(k)
    driven = _sum(da, _minus(_product(db, k)))
    if is_discrete:
        h = _sum(_product(matmul(adjoint(c), y), driven), _minus(_product(matmul(adjoint(e), y), de)))
    else:
        h = _sum(_product(matmul(adjoint(e), y), driven), _product(matmul(adjoint(c), y), de))
    h = _sum(h, _minus(_product(ds, k)))
    g = _sum(h, None if h is None else adjoint(h), _product(kt, _product(dr, k)), dq)
    return _closed_loop(c, e, g, is_discrete)


def _riccati_pullback(operand: int) -> Any:
    """The cotangent of one operand, by the adjoint of the pushforward: with C Λ Eᴴ + E Λ Cᴴ = −X̄, or
    C Λ Cᴴ − E Λ Eᴴ = −X̄, and M = Λ + Λᴴ,

        Ā = X E M, or X C M     B̄ = −Ā Kᴴ     Ē = X C M, or −X E M     S̄ = −M Kᴴ     R̄ = K Λ Kᴴ     Q̄ = Λ
    """

    def pullback(ct: Atom, *xs_y: Atom, **params: Any) -> Any:
        is_discrete = params["is_discrete"]
        xs, y = [conj(x) for x in xs_y[:-1]], conj(xs_y[-1])
        e = xs[4]
        k, c = _feedback(xs, y, is_discrete)
        of_q = _closed_loop(adjoint(c), adjoint(e), ct, is_discrete)
        m, kt = of_q + adjoint(of_q), adjoint(k)
        if operand == 2:
            return of_q
        if operand == 3:
            return matmul(k, matmul(of_q, kt))
        if operand == 5:
            return -matmul(m, kt)
        driven, other = (c, e) if is_discrete else (e, c)
        if operand == 4:
            of_e = matmul(y, matmul(other, m))
            return -of_e if is_discrete else of_e
        of_a = matmul(y, matmul(driven, m))
        return of_a if operand == 0 else -matmul(of_a, kt)

    return pullback


riccati = (
    op(  # the stabilising solution for a[n, n], b[n, m], q[n, n], r[m, m], e[n, n], s[n, m]; ``given`` names those
        # of e and s that SciPy is given, the others are 1 and 0
        over_stack(_riccati_one, _riccati_type),
        name="riccati",
        type=_riccati_type,
        cost=lambda a, *others, **params: 600.0 * a.size * a.shape[-1],
        pushforward=riccati_pushforward,
        pullback=[_riccati_pullback(k) for k in range(6)],
        is_holomorphic=False,
        batch=lambda xs, batched, size, **params: riccati(*batch_all(xs, batched, size), **params),
    )
)
