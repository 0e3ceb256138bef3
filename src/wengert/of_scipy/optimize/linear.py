"""Linear programs and assignments: ``linprog``, ``linear_sum_assignment``, ``quadratic_assignment``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, LinearConstraint

from wengert.api.solving import FLOAT, INT, RunFunction, record_function, run_routine
from wengert.of_scipy.optimize.calls import (
    COUNT,
    TRUTH,
    Array,
    Callback,
    Limits,
    Options,
    Settings,
    answers,
    refuse_callback,
    result,
    scipys,
    settled,
)
from wengert.of_scipy.optimize.minima import bounds_of, constraints_of
from wengert.of_scipy.optimize.optimality import Constraints, Optimum, conditions, split
from wengert.tape import Aval
from wengert.tracing.arguments import array, as_dtype, unsupported
from wengert.tracing.interception.asking import AT_ARGUMENTS


def _linprog(f: RunFunction, *operands: Any, kinds: Sequence[str], settings: Settings) -> tuple[Any, ...]:
    rows, numbers = operands[: len(kinds)], operands[len(kinds) :]
    given = split(numbers, True)
    assert given.bounds is not None
    n = given.bounds[0].size
    c, zero = f.gradient(np.zeros(n)), np.zeros(n)
    more: dict[str, Any] = {}
    for kind, of_x, (_, high) in zip(kinds, rows, given.rows, strict=True):
        more |= {f"A_{kind}": of_x.jacobian(zero), f"b_{kind}": high}
    bounds = np.stack(given.bounds, axis=1)
    found = scipys("optimize.linprog")(c, bounds=bounds, **more, **settings)
    x = np.full(n, np.nan) if found.x is None else np.asarray(found.x, float)
    success = bool(found.success)
    return *conditions(f, rows, x, given, success), success, int(found.status), int(found.nit)


@answers("optimize.linprog", AT_ARGUMENTS)
def linprog(
    c: ArrayLike,
    A_ub: ArrayLike | None = None,
    b_ub: ArrayLike | None = None,
    A_eq: ArrayLike | None = None,
    b_eq: ArrayLike | None = None,
    bounds: Limits = (0, None),
    method: str = "highs",
    callback: Callback = None,
    options: Options = None,
    x0: ArrayLike | None = None,
    integrality: ArrayLike | None = None,
) -> Any:
    """A vertex moves with the constraints that meet there; it does not move with ``c``."""
    refuse_callback("optimize.linprog", callback)
    if integrality is not None and np.any(integrality):
        raise unsupported("scipy.optimize.linprog: integrality is not traced", "the integers as constants")
    near = [x for x in (c, A_ub, b_ub, A_eq, b_eq) if x is not None]
    cost = as_dtype(array(c, near), FLOAT).reshape(-1)
    n = cost.size
    x, name = Aval((n,), FLOAT), "scipy.optimize.linprog"
    f = record_function(name, lambda x: cost @ x, x)
    rows, kinds = [], []
    for kind, A, b in (("ub", A_ub, b_ub), ("eq", A_eq, b_eq)):
        if A is None:
            continue
        matrix = as_dtype(array(A, near), FLOAT).reshape(-1, n)
        side = as_dtype(array(b, near), FLOAT).reshape(-1)
        of_x = record_function(name, lambda x, matrix=matrix: matrix @ x, x)
        rows.append(Constraints(of_x, side if kind == "eq" else np.full(side.shape, -np.inf), side, "linear"))
        kinds.append(kind)
    problem = Optimum(name, f, x, bounds_of(_pairs(bounds, n), n), rows)
    found = run_routine(
        _linprog, problem.functions, problem.numbers, [*problem.out, TRUTH, COUNT, COUNT], kinds=tuple(kinds),
        settings=settled({"method": method, "options": options, "x0": x0}),
    )  # fmt: skip
    at = problem.solution(*found[:4])
    left = {kind: c.high - c.function(at) for kind, c in zip(kinds, rows, strict=True)}
    return result(
        x=at, fun=f(at), slack=left.get("ub", np.zeros(0)), con=left.get("eq", np.zeros(0)),
        success=found[4], status=found[5], nit=found[6],
    )  # fmt: skip


def _milp(f: RunFunction, *operands: Any, count: int, settings: Any) -> tuple[Any, ...]:
    rows, numbers = operands[:count], operands[count:]
    given = split(numbers, True)
    assert given.bounds is not None
    zero = np.zeros(given.bounds[0].size)
    parts = [
        LinearConstraint(np.reshape(of_x.jacobian(zero), (-1, zero.size)), *limits)
        for of_x, limits in zip(rows, given.rows, strict=True)
    ]
    found = scipys("optimize.milp")(f.gradient(zero), bounds=Bounds(*given.bounds), constraints=parts, **settings)
    x = np.full(zero.size, np.nan) if found.x is None else np.asarray(found.x, float)
    return x, bool(found.success), int(found.status)


def _settle(f: RunFunction, *operands: Any, count: int) -> tuple[Any, ...]:
    rows, (x, success, *numbers) = operands[:count], operands[count:]
    return conditions(f, rows, x, split(numbers, True), bool(success))


@answers("optimize.milp", AT_ARGUMENTS)
def milp(
    c: ArrayLike,
    *,
    integrality: ArrayLike | None = None,
    bounds: Limits = None,
    constraints: Any = None,
    options: Options = None,
) -> Any:
    """The integers stay as they are, and the other variables move as those of a linear program."""
    near = [c, integrality]
    cost = as_dtype(array(c, near), FLOAT).reshape(-1)
    name, x = "scipy.optimize.milp", cost.aval
    f = record_function(name, lambda x: cost @ x, x)
    rows = constraints_of(name, [] if constraints is None else constraints, x)
    limits = [(0, None)] * x.size if bounds is None else bounds
    low, high = bounds_of(limits, x.size)
    kinds = np.zeros(x.size) if integrality is None else np.broadcast_to(np.asarray(settled(integrality)), x.shape)
    problem = Optimum(name, f, x, (low, high), rows)
    settings = {"integrality": np.array(kinds), "options": settled(options)}
    found, success, status = run_routine(
        _milp, problem.functions, problem.numbers, [x, TRUTH, COUNT], count=len(rows), settings=settings
    )
    whole = np.array((kinds == 1) | (kinds == 3))
    fixed = Optimum(name, f, x, (np.where(whole, found, low), np.where(whole, found, high)), rows)
    at = fixed.solution(
        *run_routine(_settle, fixed.functions, [found, success, *fixed.numbers], fixed.out, count=len(rows))
    )
    return result(x=at, fun=f(at), success=success, status=status)


def _pairs(bounds: Any, n: int) -> Any:
    """One pair for each variable."""
    if bounds is None:
        return [(0, None)] * n
    if np.ndim(bounds) == 2 if isinstance(bounds, np.ndarray) else hasattr(bounds[0], "__len__"):
        return [bounds[0]] * n if len(bounds) == 1 else bounds
    return [tuple(bounds)] * n


def _assignment(cost: Any, *, maximize: bool) -> tuple[Any, ...]:
    return scipys("optimize.linear_sum_assignment")(cost, maximize=maximize)


@answers("optimize.linear_sum_assignment", AT_ARGUMENTS)
def linear_sum_assignment(cost_matrix: ArrayLike, maximize: bool = False) -> Any:
    """The assignment is a pair of constant tables of indices; costs picked by it have derivatives."""
    cost = array(cost_matrix)
    if cost.ndim != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {cost.ndim} array")
    out = Aval((min(cost.shape),), INT)
    return run_routine(_assignment, [], [cost], [out, out], maximize=bool(maximize))


def _quadratic(A: Array, B: Array, *, method: str, options: Options) -> tuple[Any, ...]:
    found = scipys("optimize.quadratic_assignment")(A, B, method=method, options=options)
    return found.col_ind, int(found.nit)


@answers("optimize.quadratic_assignment", AT_ARGUMENTS)
def quadratic_assignment(A: ArrayLike, B: ArrayLike, method: str = "faq", options: Options = None) -> Any:
    """The permutation is a constant."""
    a, b = as_dtype(array(A, (B,)), FLOAT), as_dtype(array(B, (A,)), FLOAT)
    p, nit = run_routine(
        _quadratic, [], [a, b], [Aval((a.shape[0],), INT), COUNT], method=method, options=settled(options)
    )
    return result(col_ind=p, fun=np.sum(a * b[p][:, p]), nit=nit)
