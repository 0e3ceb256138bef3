"""Equations of Sylvester, Lyapunov and Riccati."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.of_scipy.linalg.operands import common_lead, double, inexact
from wengert.ops.linalg import equations as ops
from wengert.tracing.emit import record
from wengert.tracing.interception.intercept import intercepts


@intercepts("scipy.linalg:solve_sylvester")
def solve_sylvester(a: ArrayLike, b: ArrayLike, q: ArrayLike) -> Any:
    return record(ops.sylvester, tuple(common_lead((2, 2, 2), *inexact(a, b, q))), {"perturbs": True})


def _squares(*xs: ArrayLike) -> list[Any]:
    a, q = [np.atleast_2d(x) for x in inexact(*xs)]
    for name, x in (("a", a), ("q", q)):
        if x.shape[-1] != x.shape[-2]:
            raise ValueError(f"Matrix {name} should be square.")
    if a.shape[-2:] != q.shape[-2:]:
        raise ValueError("Matrix a and q should have the same shape.")
    return common_lead((2, 2), a, q)


@intercepts("scipy.linalg:solve_continuous_lyapunov")
def solve_continuous_lyapunov(a: ArrayLike, q: ArrayLike) -> Any:
    return record(ops.lyapunov, tuple(_squares(a, q)), {"method": "continuous"})


@intercepts("scipy.linalg:solve_discrete_lyapunov")
def solve_discrete_lyapunov(a: ArrayLike, q: ArrayLike, method: str | None = None) -> Any:
    chosen = "discrete" if method is None else method.lower()
    if chosen not in ("discrete", "direct", "bilinear"):
        raise ValueError(f"Unknown solver {chosen}")
    return record(ops.lyapunov, tuple(double(*_squares(a, q))), {"method": chosen})


def _riccati(
    abqr: Sequence[ArrayLike], e: ArrayLike | None, s: ArrayLike | None, balanced: bool, is_discrete: bool
) -> Any:
    given = "".join(name for name, x in (("e", e), ("s", s)) if x is not None)
    xs: list[Any] = [np.atleast_2d(x) for x in double(*[x for x in (*abqr, e, s) if x is not None])]
    a, b, q, r, *others = xs
    for name, x in (("a", a), ("q", q), ("r", r)):
        if x.shape[-1] != x.shape[-2]:
            raise ValueError(f"Matrix {name} should be square.")
    n, m = b.shape[-2:]
    if n != a.shape[-1]:
        raise ValueError("Matrix a and b should have the same number of rows.")
    if n != q.shape[-1]:
        raise ValueError("Matrix a and q should have the same shape.")
    if m != r.shape[-1]:
        raise ValueError("Matrix b and r should have the same number of cols.")
    mass = others[0] if "e" in given else np.eye(n, dtype=a.dtype)
    cross = others[-1] if "s" in given else np.zeros((n, m), a.dtype)
    if mass.shape[-2:] != a.shape[-2:]:
        raise ValueError("Matrix a and e should have the same shape.")
    if cross.shape[-2:] != b.shape[-2:]:
        raise ValueError("Matrix b and s should have the same shape.")
    params = {"given": given, "balanced": bool(balanced), "is_discrete": is_discrete}
    return record(ops.riccati, tuple(common_lead((2,) * 6, a, b, q, r, mass, cross)), params)


@intercepts("scipy.linalg:solve_continuous_are")
def solve_continuous_are(
    a: ArrayLike,
    b: ArrayLike,
    q: ArrayLike,
    r: ArrayLike,
    e: ArrayLike | None = None,
    s: ArrayLike | None = None,
    balanced: bool = True,
) -> Any:
    return _riccati((a, b, q, r), e, s, balanced, False)


@intercepts("scipy.linalg:solve_discrete_are")
def solve_discrete_are(
    a: ArrayLike,
    b: ArrayLike,
    q: ArrayLike,
    r: ArrayLike,
    e: ArrayLike | None = None,
    s: ArrayLike | None = None,
    balanced: bool = True,
) -> Any:
    return _riccati((a, b, q, r), e, s, balanced, True)
