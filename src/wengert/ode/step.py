"""What a method is to the solver: how a step is tried, and what the steps that were taken are equations of.

The search tries steps (:class:`Trial`) and keeps what it must remember in a dict of its own. What it keeps of a step is
its end, its state and a mark. From these a :class:`Step` is taken again: ``follow`` gives the state that comes after
it, and is what is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

import wengert as wg

Rate = Callable[[Any, Any], Any]
"""dy/dt of t, float64[], and y, of shape (n,)."""

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0  # of the factor that a step is made longer by


class Step(NamedTuple):
    """A step that was taken."""

    start: Any
    end: Any
    before: Any
    """The h of the step before; of the first, its own."""
    mark: Any
    """What the method has said of the state at its start, an integer."""
    mark_after: Any
    """And at its end."""

    @property
    def h(self) -> Any:
        return self.end - self.start


class Trial(NamedTuple):
    """A step that is tried."""

    t: Any
    h: Any
    y: Any
    first: Any
    """dy/dt at t."""
    rtol: Any
    atol: Any
    was_rejected: Any
    """Whether the trial before was of this step too."""
    is_bounded: Any
    """Whether its length is not what the step before has asked for."""
    is_cut: Any
    """Whether it ends where the solution ends, sooner than was asked for."""
    asked: Any
    """The length that has been asked for, positive."""


class Attempt(NamedTuple):
    """What came of a trial; y, state and first count where it is good."""

    is_good: Any
    y: Any
    state: Any
    """What ``follow`` takes and gives: a vector that begins with y."""
    first: Any
    factor: Any
    """What to multiply |h| by for the next."""
    memory: dict[str, Any]
    mark: Any
    costs: tuple[Any, Any, Any]
    """Evaluations of dy/dt, of its Jacobian, and factorisations."""


class Method(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def order(self) -> int:
        """That the first step is chosen by."""
        ...

    @property
    def is_implicit(self) -> bool: ...

    @property
    def rows(self) -> int:
        """How many times as long as y a state is."""
        ...

    @property
    def first_mark(self) -> int:
        """The mark at the start of the first step."""
        ...

    def start(self, rate: Rate, t: Any, h: Any, y: Any) -> Any:
        """The state that the first step, of length h, begins with."""
        ...

    def begin(self, rate: Rate, t: Any, y: Any, first: Any, h: Any) -> dict[str, Any]:
        """What the first trial remembers."""
        ...

    def attempt(self, rate: Rate, trial: Trial, memory: dict[str, Any]) -> Attempt: ...

    def follow(self, rate: Rate, step: Step, state: Any) -> Any:
        """The state after a step, as its derivative is taken: what is found by iteration, as the solution of its
        equations."""
        ...

    def within(self, rate: Rate, step: Step, state: Any, after: Any) -> Callable[[Any], Any]:
        """y at start + x h, of 0 <= x <= 1."""
        ...


def rms(x: Any) -> Any:
    return np.sqrt(np.sum(np.abs(x) ** 2) / x.size)


def combined(weights: Sequence[Any], stages: Sequence[Any]) -> Any:
    """Σ_j weights[j] stages[j], of the weights that are not zero."""
    terms = [w * k for w, k in zip(weights, stages, strict=False) if w != 0]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def numbers(table: Any) -> Any:
    """An array as tuples of floats."""
    return None if table is None else tuple(map(numbers, table)) if np.ndim(table) else float(table)


# ---------------------------------------------------------------------------------------------- Newton's iteration


def jacobian(rate: Rate, t: Any, y: Any) -> Any:
    """∂f/∂y."""
    return wg.jacobian(lambda y: rate(t, y))(y)


class Newton(NamedTuple):
    """How a simplified Newton iteration ended."""

    is_found: Any
    count: Any
    speed: Any
    """The ratio of its last two changes."""
    x: Any


def simplified_newton(change: Callable[[Any], Any], size: Callable[[Any], Any], x: Any, most: int, tol: Any) -> Newton:
    """x + change(x) over and over, until what is left is smaller than ``tol`` by its speed, or will not be after
    ``most`` iterations: Hairer and Wanner (1996), Solving Ordinary Differential Equations II, section IV.8."""
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


MOST_MATRICES, MOST_CHANGES = 20, 6
CONVERGED = 1e-10
"""Of what is to be 1; less is left then, and less still when the zero is refined."""


def solution(residual: Callable[[Any], Any], matrix: Callable[[Any], Any], guess: Any, scale: Any) -> Any:
    """The zero of ``residual``, whose derivative is ``matrix``, by Newton's iteration from ``guess``. A
    matrix does for as long as each change is less than half of the one before; then another is made."""
    fixed = wg.stop_gradient

    def with_a_matrix(now: Any) -> Any:
        x, size, number = now
        inverse = np.linalg.inv(fixed(matrix(x)))

        def changed(now: Any) -> Any:
            x, before, k, _ = now
            dx = inverse @ fixed(residual(x))
            size = fixed(rms(dx / scale))
            shrinks = size < 0.5 * before
            return np.where(shrinks, x - dx, x), size, k + 1, shrinks

        goes_on = lambda now: (now[1] > CONVERGED) & (now[2] < MOST_CHANGES) & now[3]
        begin = (x, np.float64(np.inf), np.int64(0), size >= 0)
        x, size, _, _ = wg.while_loop(goes_on, changed, begin)
        return x, size, number + 1

    begin = (fixed(guess), np.float64(np.inf), np.int64(0))
    x = wg.while_loop(lambda now: (now[1] > CONVERGED) & (now[2] < MOST_MATRICES), with_a_matrix, begin)[0]
    return refined(residual, matrix(x), x)


def refined(residual: Callable[[Any], Any], matrix: Any, x: Any) -> Any:
    """The zero of ``residual``, with its derivatives, of a zero that is known and the derivative of ``residual`` there:
    each of three iterations makes derivatives of one order more exact."""
    x, matrix = wg.stop_gradient((x, matrix))
    for _ in range(3):
        x = x - np.linalg.solve(matrix, residual(x))
    return x
