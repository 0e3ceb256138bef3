"""Backward differences of order 1 to 5, for stiff equations.

The state is a table of eight rows: y and its backward differences ∇y, ∇²y, ... at the spacing of the step that led to
it. A step of order k at another spacing first interpolates the table anew, by the matrix of :func:`_respaced`; predicts
y by the polynomial through the last k + 1 values; and solves for the correction d = ∇^(k+1) y

    d = h / α_k f(t + h, predicted + d) - ψ,   ψ = Σ_j γ_j ∇^j y / α_k.

The mark of a step is its order. The whole table is computed for every order, and masks choose the rows that count.

Source: Shampine and Reichelt (1997), The MATLAB ODE suite, SIAM J. Sci. Comput. 18 (the formulas of NDF, in backward
differences). The choice of order and step is SciPy's, so that the steps are nearly its.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

import wengert as wg
from wengert.ode.step import (
    LEAST,
    MOST,
    SAFETY,
    Array,
    Attempt,
    Rate,
    Real,
    Step,
    TrialStep,
    jacobian,
    rms,
    simplified_newton,
    solution,
)

MOST_ORDER = 5
ROWS = MOST_ORDER + 3
KAPPA = (0.0, -0.1850, -1 / 9, -0.0823, -0.0415, 0.0)
GAMMA = (0.0, *accumulate(1 / j for j in range(1, MOST_ORDER + 1)))
ALPHA = tuple((1 - kappa) * gamma for kappa, gamma in zip(KAPPA, GAMMA, strict=True))
ERROR = tuple(kappa * gamma + 1 / (j + 1) for j, (kappa, gamma) in enumerate(zip(KAPPA, GAMMA, strict=True)))
MOST_ITERATIONS = 4


class Bdf:
    name, order, is_implicit, rows, first_mark = "BDF", 1, True, ROWS, 1

    def start(self, rate: Rate, t: Real, h: Real, y: Array) -> Any:
        return np.concatenate([y, h * rate(t, y), np.zeros((ROWS - 2) * y.size)])

    def begin(self, rate: Rate, t: Real, y: Array, first: Array, h: Real) -> dict[str, Any]:
        no = h != h
        return {
            "table": np.stack([y, h * first, *[0.0 * y] * (ROWS - 2)]),
            "spacing": h * 1.0,
            "order": np.int64(1),
            "equal": np.int64(0),  # steps of one order and length
            "jacobian": jacobian(rate, t, y),
            "wants_jacobian": no,
            "is_current": no,
            "is_stale": ~no,  # the inverse belongs to another step length, or another Jacobian
            "inverse": np.zeros((y.size, y.size)),
        }

    def attempt(self, rate: Rate, trial: TrialStep, memory: dict[str, Any]) -> Attempt:
        order, end = memory["order"], trial.t + trial.h
        ratio = trial.h / memory["spacing"]
        is_other = np.abs(ratio - 1) > 1e-9
        table = _respaced(memory["table"], order, ratio)
        predicted, psi, c = _equation(table, order, trial.h)
        wants = memory["wants_jacobian"]
        jac = wg.cond(wants, lambda y, old: jacobian(rate, end, y), lambda y, old: old, predicted, memory["jacobian"])
        jac = np.where(np.all(np.isfinite(jac)), jac, memory["jacobian"])  # where a step goes too far it may not exist
        is_stale = memory["is_stale"] | wants | trial.is_cut
        inverted = lambda jac, c, old: np.linalg.inv(np.eye(psi.size) - c * jac)
        inverse = wg.cond(is_stale, inverted, lambda jac, c, old: old, jac, c, memory["inverse"])
        scale = trial.atol + np.abs(predicted) * trial.rtol
        tol = np.maximum(10 * np.finfo(float).eps / trial.rtol, np.minimum(0.03, trial.rtol**0.5))
        newton = simplified_newton(
            lambda d: inverse @ (c * rate(end, predicted + d) - psi - d),
            lambda dd: rms(dd / scale),
            0.0 * psi,
            MOST_ITERATIONS,
            tol,
        )
        y_new = predicted + newton.x
        scale = trial.atol + np.abs(y_new) * trial.rtol
        error = _of(ERROR, order) * rms(newton.x / scale)
        is_good = newton.is_found & (error <= 1)
        safety = SAFETY * (2 * MOST_ITERATIONS + 1) / (2 * MOST_ITERATIONS + newton.count)
        after = _with_correction(table, order, newton.x)
        equal = np.where(is_other, 0, memory["equal"]) + 1
        may_change = is_good & (equal > order)
        best, longer = _best_order(after, order, error, scale)
        again = ~newton.is_found & ~(memory["is_current"] | wants)  # try again with the Jacobian at this point
        shorter = np.where(newton.is_found, np.fmax(LEAST, safety * _power(error, order + 1)), 0.5)
        factor = np.where(may_change, np.minimum(MOST, safety * longer), np.where(is_good | again, 1.0, shorter))
        order_after = np.where(may_change, best, order)
        pick = lambda new, old: np.where(is_good, new, old)
        kept = {
            "table": pick(after, memory["table"]),
            "spacing": pick(trial.h, memory["spacing"]),
            "order": order_after,
            "equal": np.where(may_change, 0, pick(equal, np.where(is_other, 0, memory["equal"]))),
            "jacobian": jac,
            "wants_jacobian": again,
            "is_current": ~is_good & (memory["is_current"] | wants),
            "is_stale": may_change | ~newton.is_found,
            "inverse": inverse,
        }
        costs = newton.count, wants * 1, is_stale * 1
        first = (psi + newton.x) / c  # dy/dt at the end, from the equation that was solved
        return Attempt(is_good, y_new, after.reshape(-1), first, factor, kept, order_after, costs)

    def follow(self, rate: Rate, step: Step, state: Array) -> Any:
        table = _respaced(state.reshape(ROWS, -1), step.mark, step.h / step.before)
        predicted, psi, c = _equation(table, step.mark, step.h)
        residual = lambda d: d + psi - c * rate(step.end, predicted + d)
        matrix = lambda d: np.eye(psi.size) - c * jacobian(rate, step.end, predicted + d)
        d = solution(residual, matrix, 0.0 * psi, 1e-3 + np.abs(predicted))
        return _with_correction(table, step.mark, d).reshape(-1)

    def within(self, rate: Rate, step: Step, state: Array, after: Array) -> Callable[[Any], Any]:
        """y within the step, by the polynomial through the last values, of the order of the next step."""
        table = after.reshape(ROWS, -1)

        def at(x: Real) -> Any:
            total, weight = table[0] * 1.0, 1.0
            for j in range(1, MOST_ORDER + 1):
                weight = weight * (x - 1 + (j - 1)) / j
                total = total + np.where(j <= step.mark_after, weight, 0.0) * table[j]
            return total

        return at


def _of(constants: tuple[float, ...], order: int | Array) -> Any:
    return np.array(constants)[order]


def _respaced(table: Array, order: int | Array, ratio: Real) -> Any:
    """The backward differences of the same polynomial of this order, at a spacing ``ratio`` times as long."""
    i, j = np.arange(ROWS)[:, None], np.arange(ROWS)[None, :]
    is_used = (i <= order) & (j <= order)

    def differences(ratio: Real) -> Any:
        """The matrix of binomial coefficients that gives the polynomial's values -ratio, -2 ratio, ... steps on."""
        rows = [np.ones(ROWS)]
        for k in range(1, ROWS):
            rows.append(rows[-1] * np.where(j[0] >= 1, (k - 1 - ratio * j[0]) / k, 0.0))
        return np.where(is_used, np.stack(rows), 0.0)

    change = differences(ratio) @ differences(1.0)
    return np.where(is_used, change.T, np.eye(ROWS)) @ table


def _equation(table: Array, order: int | Array, h: Real) -> tuple[Any, Any, Any]:
    """Return the predicted y, ψ, and h / α."""
    j = np.arange(ROWS)
    alpha = _of(ALPHA, order)
    gamma = np.array((*GAMMA, 0.0, 0.0))
    is_used = j <= order
    return np.where(is_used, 1.0, 0.0) @ table, np.where(is_used, gamma / alpha, 0.0) @ table, h / alpha


def _with_correction(table: Array, order: int | Array, d: Array) -> Any:
    """The table after a step for which ∇^(order+1) y is ``d``: each row up to the order adds all rows behind it."""
    i, j = np.arange(ROWS)[:, None], np.arange(ROWS)[None, :]
    sums = (i <= j) & (j <= order)
    last = (i == order + 2) & (j == order + 1)
    kept = (i > order + 2) & (i == j)
    weights = np.where(sums | kept, 1.0, np.where(last, -1.0, 0.0))
    return weights @ table + np.where(i <= order + 2, 1.0, 0.0) * d


def _best_order(table: Array, order: int | Array, error: Real, scale: Array) -> tuple[Any, Any]:
    """Return the order with the longest next step, of one less, the same and one more, and the ratio of lengths."""
    fewer = np.where(order > 1, _of(ERROR, np.maximum(order - 1, 0)) * rms(table[order] / scale), np.inf)
    more = _of(ERROR, np.minimum(order + 1, MOST_ORDER)) * rms(table[np.minimum(order + 2, ROWS - 1)] / scale)
    more = np.where(order < MOST_ORDER, more, np.inf)
    factors = np.stack([_power(fewer, order), _power(error, order + 1), _power(more, order + 2)])
    return order + np.argmax(factors) - 1, np.max(factors)


def _power(error: Real, order: int | Array) -> Any:
    """error^(-1/order), and infinity where the error is zero."""
    some = np.where(error > 0, error, 1.0)
    return np.where(error > 0, some ** (-1.0 / order), np.inf)
