"""The interface of a method to the solver: how a step is tried, and how a step that was taken is differentiated.

The search tries steps (:class:`TrialStep`); a method keeps what it remembers between trials in a dict of its own. For
each step that was taken, its end, its state and a mark are kept. From these a :class:`Step` is taken again: ``follow``
gives the state after it, and ``follow`` is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

import wengert as wg

Array = np.ndarray[Any, Any]
"""y, and what has its shape or has it for rows; traced where a solver is compiled, which the types do not tell."""

Real = float | Array
"""A number, float64[] where it is traced: t, h, a factor of h."""

Rate = Callable[[Any, Any], Any]
"""``rate(t, y)`` is dy/dt, for t, float64[], and y, of shape (n,)."""

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0  # the safety, the least and the most of the factor by which a step grows


class Step(NamedTuple):
    """A step that was taken."""

    start: Any
    end: Any
    before: Any
    """The h of the step before; for the first step, its own h."""
    mark: Any
    """The method's mark of the state at the start of the step, an integer."""
    mark_after: Any
    """The method's mark of the state at its end."""

    @property
    def h(self) -> Any:
        return self.end - self.start


class TrialStep(NamedTuple):
    """A step that is tried."""

    t: Any
    h: Any
    y: Any
    first: Any
    """dy/dt at t."""
    rtol: Any
    atol: Any
    was_rejected: Any
    """Whether an earlier trial of this same step was rejected."""
    is_bounded: Any
    """Whether its length is not the one that the step before has asked for."""
    is_cut: Any
    """Whether it ends where the solution ends, sooner than was asked for."""
    asked: Any
    """The length that has been asked for, positive."""


class Attempt(NamedTuple):
    """The outcome of a trial; ``y``, ``state`` and ``first`` count only if it is good."""

    is_good: Any
    y: Any
    state: Any
    """The state that ``follow`` takes and gives: a vector that begins with y."""
    first: Any
    factor: Any
    """The factor by which |h| is multiplied for the next trial."""
    memory: dict[str, Any]
    mark: Any
    costs: tuple[Any, Any, Any]
    """The numbers of evaluations of dy/dt, of its Jacobian, and of factorisations."""


class Method(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def order(self) -> int:
        """The order by which the length of the first step is chosen."""
        ...

    @property
    def is_implicit(self) -> bool: ...

    @property
    def rows(self) -> int:
        """The length of a state, in multiples of that of y."""
        ...

    @property
    def first_mark(self) -> int:
        """The mark at the start of the first step."""
        ...

    def start(self, rate: Rate, t: Real, h: Real, y: Array) -> Any:
        """The state with which the first step, of length h, begins."""
        ...

    def begin(self, rate: Rate, t: Real, y: Array, first: Array, h: Real) -> dict[str, Any]:
        """The memory for the first trial."""
        ...

    def attempt(self, rate: Rate, trial: TrialStep, memory: dict[str, Any]) -> Attempt: ...

    def follow(self, rate: Rate, step: Step, state: Array) -> Any:
        """The state after a step, in a form whose derivative is right: a value that was found by iteration is
        differentiated as the solution of its equations."""
        ...

    def within(self, rate: Rate, step: Step, state: Array, after: Array) -> Callable[[Any], Any]:
        """Return the function of x, 0 <= x <= 1, that gives y at start + x h."""
        ...


def rms(x: Array) -> Any:
    return np.sqrt(np.sum(np.abs(x) ** 2) / x.size)


def combined(weights: Sequence[Any], stages: Sequence[Any]) -> Any:
    """Σ_j weights[j] stages[j], over the weights that are not zero."""
    terms = [w * k for w, k in zip(weights, stages, strict=False) if w != 0]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def numbers(table: Any) -> Any:
    """Return an array as nested tuples of floats."""
    return None if table is None else tuple(map(numbers, table)) if np.ndim(table) else float(table)


# ---------------------------------------------------------------------------------------------- Newton's iteration

# The iterations here, and those of the methods, have no derivative, and multiply by an inverse. For a few unknowns a
# product takes a fifth of the time of a solution by factors. For 40 unknowns the inverse and 12 products take as long
# as factors and 12 solutions.


def jacobian(rate: Rate, t: Real, y: Array) -> Any:
    """∂f/∂y at (t, y): float64[n, n]."""
    return wg.jacobian(lambda y: rate(t, y))(y)


class Newton(NamedTuple):
    """How a simplified Newton iteration ended."""

    is_found: Any
    count: Any
    speed: Any
    """The ratio of its last two changes."""
    x: Any


def simplified_newton(
    change: Callable[[Any], Any], size: Callable[[Any], Any], x: Real, most: int, tol: Real
) -> Newton:
    """Iterate x + change(x) until the remaining error, estimated from the speed, is smaller than ``tol``, or would not
    be after ``most`` iterations: Hairer and Wanner (1996), Solving Ordinary Differential Equations II, section IV.8."""
    running, found, lost = 0, 1, 2

    def improved(now: Any) -> Any:
        x, old, _, k, _ = now
        dx = change(x)
        norm = size(dx)
        has_speed = k > 0
        speed = norm / np.where(old == 0, 1.0, old)
        left = np.where(speed < 1, 1 - speed, 1.0)
        is_slow = (speed >= 1) | (speed ** (most - k) / left * norm > tol)
        is_lost = ~np.isfinite(norm) | (has_speed & is_slow)
        is_done = (norm == 0) | (has_speed & (speed / left * norm < tol))
        state = np.where(is_lost, lost, np.where(is_done, found, np.where(k + 1 >= most, lost, running)))
        return np.where(is_lost, x, x + dx), norm, np.where(has_speed, speed, 0.0), k + 1, state

    zero = 0.0 * tol
    begin = (x, zero, zero, np.int64(0), np.int64(running))
    x, _, speed, count, state = wg.while_loop(lambda now: now[4] == running, improved, begin)
    return Newton(state == found, count, speed, x)


MOST_MATRICES, MOST_CHANGES = 20, 8
CONVERGED, EXACT = 1e-10, 1e-13
"""The sizes of a change, in units of ``scale``, at which no new matrix is made, and at which the iteration ends."""


def solution(
    residual: Callable[[Any], Any],
    matrix: Callable[[Any], Any],
    guess: Array,
    scale: Array,
    inverse: Array | None = None,
) -> Any:
    """The zero of ``residual``, whose derivative is ``matrix``, by Newton's iteration from ``guess``, with the
    derivatives of a zero. If the ``inverse`` of a matrix near to those is known, it is tried first."""
    fixed = wg.stop_gradient
    value, guess = lambda x: fixed(residual(x)), fixed(guess)

    def by_newton(x: Real) -> Any:
        def with_a_matrix(now: Any) -> Any:
            x, _, number = now
            inverse = np.linalg.inv(fixed(matrix(x)))
            return *_with_one_matrix(value, inverse, x, scale), number + 1

        begin = (x, np.float64(np.inf), np.int64(0))
        return wg.while_loop(lambda now: (now[1] > CONVERGED) & (now[2] < MOST_MATRICES), with_a_matrix, begin)[0]

    if inverse is None:
        x = by_newton(guess)
    else:
        x, size = _with_one_matrix(value, fixed(inverse), guess, scale)
        x = wg.cond(size <= CONVERGED, lambda x: x, by_newton, x)
    return wg.known_root(residual, x, matrix)


def _with_one_matrix(residual: Callable[[Any], Any], inverse: Array, x: Real, scale: Array) -> tuple[Any, Any]:
    """Iterate with the inverse of one matrix, as long as each change is less than half of the one before, which in the
    end rounding prevents; return x and the size of the last change."""

    def changed(now: Any) -> Any:
        x, before, k, _ = now
        dx = inverse @ residual(x)
        size = wg.stop_gradient(rms(dx / scale))
        shrinks = size < 0.5 * before
        return np.where(shrinks, x - dx, x), size, k + 1, shrinks

    goes_on = lambda now: (now[1] > EXACT) & (now[2] < MOST_CHANGES) & now[3]
    x, size, _, _ = wg.while_loop(goes_on, changed, (x, np.float64(np.inf), np.int64(0), np.bool_(True)))
    return x, size
