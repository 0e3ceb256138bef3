"""Radau IIA of order 5: three stages that are solved for together, for stiff equations.

The stages z_i = y(t + c_i h) - y satisfy z = h (A ⊗ I) f(y + z). In the basis where A⁻¹ is one real number and one pair
of complex ones, the simplified Newton iteration is two linear systems, of n and 2n real numbers. The polynomial of
degree 3 through y and the stages gives the values within a step, and the first guess for the next step's iteration.

Source: Hairer and Wanner (1996), Solving Ordinary Differential Equations II, section IV.8. The choice of steps, of when
the Jacobian is taken anew and of when an iteration is given up is SciPy's, so that the steps are nearly its.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.ode.step import (
    LEAST,
    MOST,
    SAFETY,
    Array,
    Attempt,
    Newton,
    Rate,
    Real,
    Step,
    TrialStep,
    jacobian,
    rms,
    simplified_newton,
    solution,
)

S6, CUBE, SQUARE = 6**0.5, 3 ** (1 / 3), 3 ** (2 / 3)
A = (
    ((88 - 7 * S6) / 360, (296 - 169 * S6) / 1800, (-2 + 3 * S6) / 225),
    ((296 + 169 * S6) / 1800, (88 + 7 * S6) / 360, (-2 - 3 * S6) / 225),
    ((16 - S6) / 36, (16 + S6) / 36, 1 / 9),
)
C = ((4 - S6) / 10, (4 + S6) / 10, 1.0)
E = ((-13 - 7 * S6) / 3, (-13 + 7 * S6) / 3, -1 / 3)
REAL = 3 + SQUARE - CUBE  # the eigenvalues of A⁻¹
PAIR = 3 + (CUBE - SQUARE) / 2, -(3 ** (5 / 6) + 3 ** (7 / 6)) / 2
T = (
    (0.09443876248897524, -0.14125529502095421, 0.03002919410514742),
    (0.25021312296533332, 0.20412935229379994, -0.38294211275726192),
    (1.0, 1.0, 0.0),
)
INVERSE_T = (
    (4.17871859155190428, 0.32768282076106237, 0.52337644549944951),
    (-4.17871859155190428, -0.32768282076106237, 0.47662355450055044),
    (0.50287263494578682, -2.57192694985560522, 0.59603920482822492),
)
P = (  # the polynomial within a step: its coefficients by stages and powers of x
    ((13 + 7 * S6) / 3, -(23 + 22 * S6) / 3, 10 / 3 + 5 * S6),
    ((13 - 7 * S6) / 3, -(23 - 22 * S6) / 3, 10 / 3 - 5 * S6),
    (1 / 3, -8 / 3, 10 / 3),
)
MOST_ITERATIONS = 6


class Radau:
    name, order, is_implicit, rows, first_mark = "Radau", 3, True, 1, 0
    a, b, c, gamma = A, A[2], C, 0.0

    def start(self, rate: Rate, t: Real, h: Real, y: Array) -> Any:
        return y

    def begin(self, rate: Rate, t: Real, y: Array, first: Array, h: Real) -> dict[str, Any]:
        n, no = y.size, h != h
        return {
            "jacobian": np.zeros((n, n)),
            "wants_jacobian": ~no,
            "is_current": no,
            "is_stale": ~no,  # the inverses belong to another h, or another Jacobian
            "inverse": np.zeros((n, n)),
            "inverse of pair": np.zeros((2 * n, 2 * n)),
            "z": np.zeros((3, n)),  # the stages of the step before
            "before": 1.0 + 0.0 * h,
            "asked": 0.0 * h,
            "asked before": 0.0 * h,  # 0 if there was none
            "error": 0.0 * h,
            "was_inaccurate": no,
        }

    def attempt(self, rate: Rate, trial: TrialStep, memory: dict[str, Any]) -> Attempt:
        t, h, y, first, rtol, atol, was_rejected, is_bounded, _, asked = trial
        now = _factored(rate, trial, memory)
        scale = atol + np.abs(y) * rtol
        newton = _stages(rate, trial, now, scale)
        z = np.array(T) @ newton.x
        y_new = y + z[2]
        scale = atol + np.maximum(np.abs(y), np.abs(y_new)) * rtol
        error = _error(rate, trial, now, z, scale)
        is_good = newton.is_found & (error <= 1)
        safety = SAFETY * (2 * MOST_ITERATIONS + 1) / (2 * MOST_ITERATIONS + newton.count)
        asked = np.where(was_rejected, memory["asked"], asked)
        asked_before = np.where(was_rejected | ~is_bounded, memory["asked before"], 0.0)
        wanted = safety * _longer(np.abs(h), asked_before, error, memory["error"])
        wants_jacobian = (newton.count > 2) & (newton.speed > 1e-3)
        grown = np.where((wanted < 1.2) & ~wants_jacobian, 1.0, np.minimum(MOST, wanted))
        again = ~newton.is_found & ~now["is_current"]  # try again with the Jacobian at this point
        factor = np.where(again, 1.0, np.where(newton.is_found, np.fmax(LEAST, wanted), 0.5))
        factor = np.where(is_good, grown, factor)
        pick = lambda new, old: np.where(is_good, new, old)
        after = {
            **now,
            "wants_jacobian": np.where(is_good, wants_jacobian, again),
            "is_current": ~is_good & now["is_current"],
            "is_stale": factor != 1,
            "z": pick(z, memory["z"]),
            "before": pick(h, memory["before"]),
            "asked": asked,
            "asked before": pick(asked, asked_before),
            "error": pick(error, memory["error"]),
            "was_inaccurate": ~is_good & (memory["was_inaccurate"] | newton.is_found),
        }
        first = wg.cond(is_good, rate, lambda t, y: first, t + h, y_new)
        is_new = memory["wants_jacobian"]
        costs = 3 * newton.count + is_good, is_new * 1, 2 * (is_new | memory["is_stale"])
        return Attempt(is_good, y_new, y_new, first, factor, after, np.int64(0), costs)

    def follow(self, rate: Rate, step: Step, state: Array) -> Any:
        return state + _solved(rate, step, state)[2]

    def within(self, rate: Rate, step: Step, state: Array, after: Array) -> Callable[[Any], Any]:
        z = _solved(rate, step, state)
        return lambda x: state + _between(z, x)


def _factored(rate: Rate, trial: TrialStep, memory: dict[str, Any]) -> dict[str, Any]:
    """Return the memory with a new Jacobian and new inverses, where these are asked for."""
    t, h, y = trial[:3]
    wants = memory["wants_jacobian"]
    jac = wg.cond(wants, lambda t, y, old: jacobian(rate, t, y), lambda t, y, old: old, t, y, memory["jacobian"])

    def inverted(h: Real, jac: Array, *_: Any) -> Any:
        one = np.eye(y.size)
        real, (a, b) = REAL / h, (PAIR[0] / h, PAIR[1] / h)
        both = np.concatenate(
            [np.concatenate([a * one - jac, -b * one], axis=1), np.concatenate([b * one, a * one - jac], axis=1)]
        )
        return np.linalg.inv(real * one - jac), np.linalg.inv(both)

    old = memory["inverse"], memory["inverse of pair"]
    inverse, of_pair = wg.cond(memory["is_stale"] | wants, inverted, lambda h, jac, *old: old, h, jac, *old)
    return {
        **memory,
        "jacobian": jac,
        "is_current": memory["is_current"] | wants,
        "inverse": inverse,
        "inverse of pair": of_pair,
    }


def _stages(rate: Rate, trial: TrialStep, memory: dict[str, Any], scale: Array) -> Newton:
    """Solve for the transformed stages by Newton's iteration, from a guess by the polynomial of the step before."""
    t, h, y = trial[:3]
    inverse_t = np.array(INVERSE_T)
    ahead = 1 + np.array(C) * h / memory["before"]
    guess = np.stack([_between(memory["z"], ahead[i]) - memory["z"][2] for i in range(3)])

    def change(w: Array) -> Any:
        z = np.array(T) @ w
        f = inverse_t @ np.stack([rate(t + C[i] * h, y + z[i]) for i in range(3)])
        a, b = PAIR
        pair = np.concatenate([f[1] - (a * w[1] - b * w[2]) / h, f[2] - (b * w[1] + a * w[2]) / h])
        real = memory["inverse"] @ (f[0] - REAL / h * w[0])
        return np.concatenate([real, memory["inverse of pair"] @ pair]).reshape(3, y.size)

    tol = np.maximum(10 * np.finfo(float).eps / trial.rtol, np.minimum(0.03, trial.rtol**0.5))
    return simplified_newton(change, lambda dw: rms(dw / scale), inverse_t @ guess, MOST_ITERATIONS, tol)


def _error(rate: Rate, trial: TrialStep, memory: dict[str, Any], z: Array, scale: Array) -> Any:
    """The error of a step by the embedded formula of order 3; filtered once more if the trial before was too long."""
    t, h, y, first = trial[:4]
    of_stages = np.array(E) @ z / h
    error = memory["inverse"] @ (first + of_stages)
    norm = rms(error / scale)
    twice = lambda y, error: rms(memory["inverse"] @ (rate(t, y + error) + of_stages) / scale)
    return wg.cond(memory["was_inaccurate"] & (norm > 1), twice, lambda y, error: norm, y, error)


def _longer(h: Real, asked_before: Real, error: Real, error_before: Real) -> Any:
    """The factor of the next step's length by Gustafsson's predictive controller. ``asked_before`` is the length that
    was asked for, as SciPy's h_abs_old."""
    has_before = (asked_before > 0) & (error > 0)
    safe = np.where(error > 0, error, 1.0)
    multiplier = h / np.where(has_before, asked_before, 1.0) * (error_before / safe) ** 0.25
    multiplier = np.where(has_before, np.minimum(1.0, multiplier), 1.0)
    return np.where(error > 0, multiplier * safe**-0.25, np.inf)


def _between(z: Array, x: Real) -> Any:
    """The difference from y of the polynomial through the stages, at x."""
    weights = [x * (row[0] + x * (row[1] + x * row[2])) for row in P]
    return weights[0] * z[0] + weights[1] * z[1] + weights[2] * z[2]


def _solved(rate: Rate, step: Step, y: Array) -> Any:
    """The stages as the solution of their equations, with its derivatives."""
    t, h, n = step.start, step.h, y.size

    def residual(z: Array) -> Any:
        stages = z.reshape(3, n)
        f = np.stack([rate(t + C[i] * h, y + stages[i]) for i in range(3)])
        return z - h * (np.array(A) @ f).reshape(3 * n)

    def matrix(z: Array) -> Any:
        jacobians = [jacobian(rate, t + C[i] * h, y + z.reshape(3, n)[i]) for i in range(3)]
        rows = [np.concatenate([-h * a * jac for a, jac in zip(row, jacobians, strict=True)], axis=1) for row in A]
        return np.eye(3 * n) + np.concatenate(rows)

    scale = 1e-3 + np.abs(np.concatenate([y, y, y]))
    return solution(residual, matrix, np.zeros(3 * n), scale).reshape(3, n)
