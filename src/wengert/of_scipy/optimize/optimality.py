"""The first-order conditions of an optimum with bounds and constraints, as equations in x and the multipliers.

A routine has found x. Which bounds and constraints are active there is found by their multipliers, and stays a
constant. With those, the Karush-Kuhn-Tucker conditions are equations:

    ∇f(x) − Σ λ_k ∇c_k(x) = 0      for each x_i that is free
    x_i = its bound                for each other
    c_k(x) = its bound             for each constraint that is active
    λ_k = 0                        for each other

A bound that only just holds, with a multiplier of zero, is active on one side and free on the other: there is no
derivative, and the verdict says so.
Source: Fiacco (1983), Introduction to sensitivity and stability analysis in nonlinear programming, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

import wengert as wg
from wengert.api.solving import FLOAT, INT, Recorded, RunFunction, gradient, record_function, solution
from wengert.of_scipy.optimize.calls import COUNT, Array
from wengert.tape import Aval

NOT_CONVERGED, DEGENERATE, DEPENDENT = 1, 2, 3
"""Verdicts, numbers of ``wengert.higher.implicit.VERDICTS``."""

NEAR = 1e-2
"""Bounds and constraints within this distance, relative to 1 + |x|, may be active. An x that the conditions would move
by more is no solution."""

CLEAR = 1e-4
"""A multiplier beyond this share of the gradient is not zero."""

ALIKE = 1e-6
"""A slack and a multiplier that both move x by less than this, relative to 1 + |x|, are both zero."""


class Constraints(NamedTuple):
    """Constraints low ≤ c(x) ≤ high, of one function."""

    function: Recorded
    """c: from x, a vector, to a vector."""
    low: Any
    high: Any
    form: str
    """How SciPy is told: "eq" and "ineq" as a dict, "linear" and "nonlinear" as objects."""


class Optimum:
    """A function to minimise, its bounds (None: there are none) and constraints, traced."""

    def __init__(
        self, name: str, f: Recorded, x: Aval, bounds: tuple[Any, Any] | None = None, rows: Sequence[Constraints] = ()
    ) -> None:
        self.name, self.f, self.x, self.bounds, self.rows = name, f, x, bounds, rows
        self.count = sum(c.function.out.size for c in rows)

    @property
    def functions(self) -> list[Recorded]:
        return [self.f, *[c.function for c in self.rows]]

    @property
    def numbers(self) -> list[Any]:
        """Operands that :func:`split` takes apart."""
        return [*(self.bounds or ()), *[b for c in self.rows for b in (c.low, c.high)]]

    @property
    def out(self) -> list[Aval]:
        """The types of what :func:`conditions` returns."""
        n, m = self.x.size, self.count
        return [Aval((n + m,), FLOAT), Aval((n,), INT), Aval((m,), INT), COUNT]

    def solution(self, y: Array, sides: Any, row_sides: Any, verdict: Array) -> Any:
        """x, a vector, with its derivatives."""
        if not self.numbers:
            return solution(self.name, self.f.of(gradient), y, verdict)
        n = self.x.size

        def equations(y: Array) -> Any:
            x, multipliers = y[:n], y[n:]
            values = [c.function(x) for c in self.rows]

            def lagrangian(x: Array) -> Any:
                total, first = self.f(x), 0
                for c in self.rows:
                    last = first + c.function.out.size
                    total = total - multipliers[first:last] @ c.function(x)
                    first = last
                return total

            slope = wg.grad(lagrangian)(x)
            if self.bounds is not None:
                low, high = self.bounds
                slope = np.where(sides == 0, slope, x - _bound(sides, low, high))
            parts, first = [slope], 0
            for c, value in zip(self.rows, values, strict=True):
                last = first + c.function.out.size
                side = row_sides[first:last]
                parts.append(np.where(side == 0, multipliers[first:last], value - _bound(side, c.low, c.high)))
                first = last
            return np.concatenate(parts)

        return solution(self.name, record_function(self.name, equations, Aval((n + self.count,), FLOAT)), y, verdict)[
            :n
        ]


UNKNOWN = 2
"""The side of a bound of which it is not known whether it is active: the solution may depend on it."""


def _bound(side: Any, low: Array, high: Array) -> Any:
    both = sum(np.where(np.isfinite(b), b, 0.0) for b in (low, high))
    return np.where(side == UNKNOWN, both, np.where(side < 0, low, high))


class Split(NamedTuple):
    """The numbers of a problem, at run time."""

    bounds: tuple[Any, Any] | None
    rows: list[tuple[Any, Any]]


def split(numbers: Sequence[Any], has_bounds: bool) -> Split:
    rest = numbers[2:] if has_bounds else numbers
    return Split((numbers[0], numbers[1]) if has_bounds else None, list(zip(rest[::2], rest[1::2], strict=True)))


def conditions(f: RunFunction, rows: Sequence[RunFunction], x: Array, given: Split, is_there: bool) -> tuple[Any, ...]:
    """x with the multipliers; the sides of active bounds and of active constraints; and the verdict.

    A side is −1 (low), 1 (high), 0 (inactive) or UNKNOWN."""
    n = x.size
    verdict = 0 if is_there else NOT_CONVERGED
    if given.bounds is None and not rows:
        return x, np.zeros(n, int), np.zeros(0, int), verdict
    g = f.gradient(x)
    values = [np.atleast_1d(c(x)) for c in rows]
    m = sum(v.size for v in values)
    if not (np.all(np.isfinite(g)) and np.all(np.isfinite(x))):
        return np.concatenate([x, np.zeros(m)]), np.full(n, UNKNOWN), np.full(m, UNKNOWN), NOT_CONVERGED
    jacobians = [np.reshape(c.jacobian(x), (-1, n)) for c in rows]
    every = np.concatenate([np.eye(n), *jacobians])
    value = np.concatenate([x, *values])
    none = (np.full(n, -np.inf), np.full(n, np.inf))
    pairs = [none if given.bounds is None else given.bounds, *given.rows]
    low, high = [np.concatenate([np.broadcast_to(p[k], np.shape(v)) for p, v in zip(pairs, [x, *values], strict=True)])
                 for k in range(2)]  # fmt: skip
    side, multipliers, is_degenerate = _active(f, x, g, every, value, low, high)
    if not verdict and _moves(f, x, np.where(side[:n] == 0, g - multipliers @ every, 0), np.max(np.abs(g), initial=0)):
        verdict = NOT_CONVERGED
    if not verdict and is_degenerate:
        verdict = DEGENERATE
    if verdict:
        side = np.full(n + m, UNKNOWN)
    return np.concatenate([x, multipliers[n:]]), side[:n], side[n:], verdict


def _active(
    f: Callable[..., Any], x: Array, g: Array, every: Array, value: Array, low: Array, high: Array
) -> tuple[Any, Any, bool]:
    """Which rows are active, on which side, with which multipliers; and whether one is on the edge of that."""
    size = np.maximum(np.linalg.norm(every, axis=1), 1e-300)
    near = NEAR * (1 + np.max(np.abs(x), initial=0))
    below, above = (value - low) / size, (high - value) / size
    is_equal = low == high
    side = np.where(is_equal | ((below <= near) & (below <= above)), -1, np.where(above <= near, 1, 0))
    candidates = np.flatnonzero(side)
    multipliers, is_degenerate = np.zeros(len(value)), False
    if not candidates.size:
        return side, multipliers, False
    normals = np.where(side < 0, 1, -1)[candidates, None] * every[candidates]
    free = is_equal[candidates]
    found = _multipliers(normals, free, g)
    slack = np.where(side < 0, below, above)[candidates]
    scale = np.max(np.abs(g), initial=0)
    for k, (i, row) in enumerate(zip(candidates, normals, strict=True)):
        if free[k]:
            continue
        strength = found[k] * size[i]
        if slack[k] <= 0 and strength > CLEAR * scale:
            continue
        unit = row / size[i]
        curvature = abs(unit @ f.hessian_product(x, unit))
        moved = strength / curvature if curvature > 1e-12 * scale else np.inf if strength > 0 else 0.0
        if max(moved, slack[k]) <= ALIKE * (1 + np.max(np.abs(x))):
            is_degenerate = True
        if moved <= slack[k]:
            side[i] = 0
    kept = side[candidates] != 0
    if np.any(kept):
        exact = np.linalg.lstsq(every[candidates[kept]].T, g, rcond=None)[0]
        multipliers[candidates[kept]] = exact
    return side, multipliers, is_degenerate


def _moves(f: Callable[..., Any], x: Array, residual: Array, scale: float) -> bool:
    """Whether the gradient that is left over moves x far: then the active constraints are not those of the solution."""
    size = np.linalg.norm(residual)
    if size <= 1e-9 * scale:
        return False
    unit = residual / size
    return not size <= NEAR * (1 + np.max(np.abs(x))) * abs(unit @ f.hessian_product(x, unit)) + ALIKE * scale


def _multipliers(normals: Array, free: Array, g: Array) -> Any:
    """λ ≥ 0, but for ``free`` ones, that makes Σ λ_k normal_k nearest to the gradient."""
    if np.all(np.count_nonzero(normals, axis=1) == 1) and np.all(np.count_nonzero(normals, axis=0) <= 1):
        found = normals @ g / np.sum(normals**2, axis=1)  # bounds alone
        return np.where(free, found, np.maximum(found, 0))
    columns = np.concatenate([normals, -normals[free]]).T
    found = nnls(columns, g)[0]
    signed = found[: len(normals)].copy()
    signed[free] -= found[len(normals) :]
    return signed
