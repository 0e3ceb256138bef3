"""Runge-Kutta methods: one step, the estimate of its error, and values within it.

A method is a table. Stages are k_i = f(t + c_i h, y + h Σ_j a_ij k_j); explicit ones need only those before. The step
ends with the derivative at its end, which is the first stage of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import DOP853, RK23, RK45

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
    combined,
    jacobian,
    numbers,
    rms,
    solution,
)

E3, E5, EXTRA_A, EXTRA_C, EXTRA_D = map(numbers, (DOP853.E3, DOP853.E5, DOP853.A_EXTRA, DOP853.C_EXTRA, DOP853.D))


@dataclass(frozen=True, eq=False)
class RungeKutta:
    """A Runge-Kutta method. It is explicit if ``gamma`` is 0; else all stages but the first are implicit, and ``gamma``
    is their diagonal."""

    name: str
    a: Any
    b: Any
    c: Any
    e: Any
    """The weights of the stages, and of the derivative at the end, in the estimate of the error."""
    order: int
    """The order of the estimate, by which the length of steps is chosen."""
    dense: Callable[..., Any]
    """``dense(method, rate, t, h, y, y_new, stages)(x)``: y at t + x h, 0 <= x <= 1."""
    gamma: float = 0.0

    def __post_init__(self) -> None:
        for name in ("a", "b", "c", "e"):  # plain numbers, so that a trace reads no arrays
            object.__setattr__(self, name, numbers(getattr(self, name)))

    @property
    def is_implicit(self) -> bool:
        return self.gamma != 0

    @property
    def rows(self) -> int:
        return 1

    @property
    def first_mark(self) -> int:
        return 0

    def start(self, rate: Rate, t: Real, h: Real, y: Array) -> Any:
        return y

    def begin(self, rate: Rate, t: Real, y: Array, first: Array, h: Real) -> dict[str, Any]:
        return {}

    def attempt(self, rate: Rate, trial: TrialStep, memory: dict[str, Any]) -> Attempt:
        return self.tried(rate, trial)[0]

    def tried(self, rate: Rate, trial: TrialStep) -> tuple[Attempt, Any]:
        """The attempt, and |h| times an estimate of the largest eigenvalue of ∂f/∂y, if the last stage is at t + h."""
        t, h, y, first, rtol, atol, was_rejected, *_ = trial
        y_new, stages, is_found = self.step(rate, t, h, y, first, atol + np.abs(y) * rtol)
        scale = atol + np.maximum(np.abs(y), np.abs(y_new)) * rtol
        error = np.where(is_found, self.error_norm(h, stages, scale), np.inf)
        is_good = error < 1
        factor = SAFETY * np.where(error == 0, 1.0, error) ** (-1.0 / (self.order + 1))
        grown = np.where(error == 0, MOST, np.minimum(MOST, factor))
        grown = np.where(was_rejected, np.minimum(1.0, grown), grown)
        factor = np.where(is_good, grown, np.fmax(LEAST, factor))
        one = np.int64(self.is_implicit)
        costs = np.int64(len(self.b)), one, one
        last = y + h * combined(self.a[-1], stages)
        apart = np.sum(np.abs(y_new - last) ** 2)
        size = np.abs(h) * np.sqrt(np.sum(np.abs(stages[-1] - stages[-2]) ** 2) / np.where(apart > 0, apart, np.inf))
        return Attempt(is_good, y_new, y_new, stages[-1], factor, {}, np.int64(0), costs), size

    def follow(self, rate: Rate, step: Step, state: Array) -> Any:
        t, h, y = step.start, step.h, state
        first = rate(t, y)
        if not self.gamma:
            return self.step(rate, t, h, y, first, 1.0)[0]
        return y + h * combined(self.b, self._solved(rate, t, h, y))

    def within(self, rate: Rate, step: Step, state: Array, after: Array) -> Callable[[Any], Any]:
        t, h, y = step.start, step.h, state
        if self.gamma:
            stages = [rate(t, y), rate(t + h, after)]  # by_hermite reads no others
        else:
            stages = self.step(rate, t, h, y, rate(t, y), 1.0)[1]
        return self.dense(self, rate, t, h, y, after, stages)

    def step(self, rate: Rate, t: Real, h: Real, y: Array, first: Array, scale: Real) -> tuple[Any, list[Any], Any]:
        """y at t + h, the stages with the derivative at the end, and whether the stages were found."""
        if self.gamma:
            stages, is_found = implicit_stages(self, rate, t, h, y, first, scale)
        else:
            stages, is_found = [first], np.bool_(True)
            for i in range(1, len(self.b)):
                stages.append(rate(t + self.c[i] * h, y + h * combined(self.a[i], stages)))
        y_new = y + h * combined(self.b, stages)
        return y_new, [*stages, rate(t + h, y_new)], is_found

    def _solved(self, rate: Rate, t: Real, h: Real, y: Array) -> list[Any]:
        """The stages, each as the solution of its equation, with its derivatives."""
        stages, scale = [rate(t, y)], (1e-3 + np.abs(y)) / np.abs(h * self.gamma)
        inverse = np.linalg.inv(wg.stop_gradient(newton_matrix(rate, t, y, h * self.gamma)))
        for i in range(1, len(self.b)):
            at, known = t + self.c[i] * h, y + h * combined(self.a[i][:i], stages)
            residual = lambda k, at=at, known=known: k - rate(at, known + h * self.gamma * k)
            matrix = lambda k, at=at, known=known: newton_matrix(rate, at, known + h * self.gamma * k, h * self.gamma)
            stages.append(solution(residual, matrix, stages[-1], scale, inverse))
        return stages

    def error_norm(self, h: Real, stages: Sequence[Any], scale: Array) -> Any:
        """The estimate of the error of a step, in units of what is allowed: 1 is as large as may be."""
        if self.name == "DOP853":
            e3, e5 = [combined(e, stages) / scale for e in (E3, E5)]
            fifth, third = np.sum(np.abs(e5) ** 2), np.sum(np.abs(e3) ** 2)
            both = fifth + 0.01 * third
            return np.abs(h) * fifth / np.sqrt(np.where(both == 0, 1.0, both) * e5.size)
        return rms(h * combined(self.e, stages) / scale)


# -------------------------------------------------------------------------------------------------- implicit stages

MOST_ITERATIONS = 8
CONVERGED = 1e-3  # of the error that is allowed


def newton_matrix(rate: Rate, t: Real, y: Array, h: Real) -> Any:
    """I − h ∂f/∂y."""
    return np.eye(y.size) - h * jacobian(rate, t, y)


def implicit_stages(
    method: RungeKutta, rate: Rate, t: Real, h: Real, y: Array, first: Array, scale: Real
) -> tuple[list[Any], Any]:
    """The stages by the simplified Newton iteration, with the Jacobian at the step's beginning, and whether it
    converged: Hairer and Wanner (1996), Solving Ordinary Differential Equations II, section IV.8."""
    inverse = np.linalg.inv(newton_matrix(rate, t, y, h * method.gamma))
    stages, is_found = [first], np.bool_(True)
    for i in range(1, len(method.b)):
        at, known = t + method.c[i] * h, y + h * combined(method.a[i][:i], stages)

        def improved(state: Array, at: Real = at, known: Array = known) -> Any:
            k, _, count = state
            change = inverse @ (rate(at, known + h * method.gamma * k) - k)
            return k + change, rms(h * method.gamma * change / scale), count + 1

        start = (stages[-1] + 0.0, np.float64(np.inf) + 0.0 * t, np.int64(0))
        k, size, _ = wg.while_loop(lambda s: (s[1] > CONVERGED) & (s[2] < MOST_ITERATIONS), improved, start)
        stages.append(k)
        is_found = is_found & (size <= CONVERGED)
    return stages, is_found


# -------------------------------------------------------------------------------------------------- within a step


def by_polynomials(p: Real) -> Callable[..., Any]:
    """y + h Σ_j k_j Σ_m p[j, m] x^(m+1)."""

    def dense(method: RungeKutta, rate: Rate, t: Real, h: Real, y: Array, y_new: Array, stages: Sequence[Any]) -> Any:
        def at(x: Real) -> Any:
            powers = [x ** (m + 1) for m in range(len(weights[0]))]
            total = y * 1.0
            for row, k in zip(weights, stages, strict=True):
                if any(row):
                    total = total + (h * combined(row, powers)) * k
            return total

        return at

    weights = numbers(p)

    return dense


def by_hermite(method: RungeKutta, rate: Rate, t: Real, h: Real, y: Array, y_new: Array, stages: Sequence[Any]) -> Any:
    """The cubic through both ends with their derivatives."""

    def at(x: Real) -> Any:
        change = y_new - y
        ends = (1 - 2 * x) * change + (x - 1) * h * stages[0] + x * h * stages[-1]
        return (1 - x) * y + x * y_new + x * (x - 1) * ends

    return at


def of_dop853(method: RungeKutta, rate: Rate, t: Real, h: Real, y: Array, y_new: Array, stages: Sequence[Any]) -> Any:
    """The polynomial of order 7 within a step of DOP853, with three more stages: Hairer, Nørsett, Wanner (1993),
    section II.6."""
    k = list(stages)
    for a, c in zip(EXTRA_A, EXTRA_C, strict=True):
        k.append(rate(t + c * h, y + h * combined(a[: len(k)], k)))
    change = y_new - y
    terms = [change, h * k[0] - change, 2 * change - h * (stages[-1] + k[0]), *[h * combined(d, k) for d in EXTRA_D]]

    def at(x: Real) -> Any:
        total: Any = 0.0
        for i, term in enumerate(reversed(terms)):
            total = (total + term) * (x if i % 2 == 0 else 1 - x)
        return y + total

    return at


def _of_scipy(method: type, order: int) -> RungeKutta:
    dense = of_dop853 if method is DOP853 else by_polynomials(method.P)
    e = None if method is DOP853 else method.E
    return RungeKutta(method.__name__, method.A, method.B, method.C, e, order, dense)


def _tsit5() -> RungeKutta:
    """Tsitouras (2011), Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption."""
    a = np.zeros((6, 6))
    a[1, :1] = [0.161]
    a[2, :2] = [-0.008480655492356989, 0.335480655492357]
    a[3, :3] = [2.8971530571054935, -6.359448489975075, 4.3622954328695815]
    a[4, :4] = [5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525]
    a[5, :5] = [5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383]
    b = np.array(
        [0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774]
    )
    c = np.array([0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0])
    e = np.array(
        [-0.00178001105222577714, -0.0008164344596567469, 0.007880878010261995, -0.1447110071732629]
        + [0.5823571654525552, -0.45808210592918697, 0.015151515151515152]
    )
    poly = np.polynomial.Polynomial
    x = poly([0, 1])
    weights = [
        -1.0530884977290216 * x * (x - 1.3299890189751412) * poly([0.7139816917074209, -1.4364028541716351, 1]),
        0.1017 * x**2 * poly([1.2949852507374631, -2.1966568338249754, 1]),
        2.490627285651252793 * x**2 * poly([1.57803468208092486, -2.38535645472061657, 1]),
        -16.54810288924490272 * (x - 1.21712927295533244) * (x - 0.61620406037800089) * x**2,
        47.37952196281928122 * (x - 1.203071208372362603) * (x - 0.658047292653547382) * x**2,
        -34.87065786149660974 * (x - 1.2) * (x - 0.666666666666666667) * x**2,
        2.5 * (x - 1) * (x - 0.6) * x**2,
    ]
    return RungeKutta("Tsit5", a, b, c, e, 4, by_polynomials(np.array([w.coef[1:] for w in weights])))


def _kencarp4() -> RungeKutta:
    """ESDIRK4(3)6L[2]SA: Kennedy and Carpenter (2003), Additive Runge-Kutta schemes for convection-diffusion-reaction
    equations. Stiffly accurate and L-stable."""
    a = np.zeros((6, 6))
    a[1, :1] = [1 / 4]
    a[2, :2] = [8611 / 62500, -1743 / 31250]
    a[3, :3] = [5012029 / 34652500, -654441 / 2922500, 174375 / 388108]
    a[4, :4] = [15267082809 / 155376265600, -71443401 / 120774400, 730878875 / 902184768, 2285395 / 8070912]
    a[5, :5] = [82889 / 524892, 0, 15625 / 83664, 69875 / 102672, -2260 / 8211]
    b = np.array([82889 / 524892, 0, 15625 / 83664, 69875 / 102672, -2260 / 8211, 1 / 4])
    lower = [4586570599 / 29645900160, 0, 178811875 / 945068544, 814220225 / 1159782912, -3700637 / 11593932]
    c = np.array([0.0, 1 / 2, 83 / 250, 31 / 50, 17 / 20, 1])
    e = np.array([*(b - np.array([*lower, 61727 / 225920])), 0.0])
    return RungeKutta("KenCarp4", a, b, c, e, 3, by_hermite, gamma=1 / 4)


TSIT5 = _tsit5()
EXPLICIT: Sequence[RungeKutta] = (TSIT5, _of_scipy(RK45, 4), _of_scipy(RK23, 2), _of_scipy(DOP853, 7))
KENCARP4 = _kencarp4()
