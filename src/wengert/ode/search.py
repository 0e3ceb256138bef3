"""The search for steps that are accurate enough, as one native loop.

It has no derivative, and that is right, since the solution does not depend on where its steps end.

Source: Hairer, Nørsett, Wanner (1993), Solving Ordinary Differential Equations I, section II.4; the choice of steps is
SciPy's, so that its methods take the same steps here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert.ode.equation import crosses, direction_of, event_values, rate_of
from wengert.ode.options import Given, Options
from wengert.ode.step import Array, Method, Rate, Real, TrialStep, rms

RUNNING, AT_EVENT, FINISHED, TOO_SMALL, FULL = 0, 1, 2, 3, 4


class SearchState(NamedTuple):
    """The state of the search: where it is, what it goes on with, and the steps that it has found."""

    t: Any
    y: Any
    first: Any
    """dy/dt at t."""
    h: Any
    """The length of the next trial, positive."""
    was_rejected: Any
    count: Any
    """The number of steps that were found."""
    attempts: Any
    costs: tuple[Any, Any, Any]
    """The numbers of evaluations of dy/dt, of its Jacobian, and of factorisations."""
    status: Any
    """RUNNING, or how the search ended."""
    event_values: list[Any]
    """The value of each terminal event's function at t."""
    has_crossed: list[Any]
    """Whether each terminal event happened in the last trial, and that was good."""
    crossings: list[Any]
    """How often each terminal event has happened."""
    memory: dict[str, Any]
    """The state that the method remembers between trials."""
    times: Any
    """The ends of the steps, float64[room + 1]; the first is t0."""
    states: Any
    """The states at the ends of the steps, of which one of every so many is kept, a row each."""
    marks: Any
    """The method's mark of the state at each end, float64[room + 1]."""


def search(fun: Callable[..., Any], options: Options, given: Given, before: SearchState | None) -> SearchState:
    """The steps that are accurate enough, from t0 on, or from where the search ``before`` ended for lack of room."""
    given, before = wg.stop_gradient((given, before))
    rate, values = rate_of(fun, given), event_values(options, given)
    begin = _begun(rate, values, options, given) if before is None else _with_room(options, before)
    return wg.while_loop(
        lambda now: now.status == RUNNING, lambda now: _attempted(rate, values, options, given, now), begin
    )


def direction_from(given: Given) -> Any:
    return np.where(given.t1 >= given.t0, 1.0, -1.0)


def _rooms(options: Options) -> tuple[Any, Any, int]:
    """Empty times and marks of as many steps as there is room for, and the number of states that are kept of them."""
    rows = -(-options.room // options.every)
    size = rows * options.every + 1
    return np.zeros(size), np.full(size, options.method.first_mark), rows + 1


def _begun(rate: Rate, values: Sequence[Any], options: Options, given: Given) -> SearchState:
    """The search before its first step."""
    now, start = begun(rate, values, options, given)
    times, marks, rows = _rooms(options)
    states = np.zeros((rows, start.size), start.dtype)
    times[0], states[0] = given.t0, start
    return now._replace(times=times, states=states, marks=marks)


def begun(rate: Rate, values: Sequence[Any], options: Options, given: Given) -> tuple[SearchState, Any]:
    """The search before its first step, without the lists of what is found, and the method's state there."""
    method, t0, y0, direction = options.method, given.t0, given.y0, direction_from(given)
    first = rate(t0, y0)
    h = given.first_step if options.has_first_step else _first_step(rate, method, given, first, direction)
    h = wg.stop_gradient(h * 1.0)
    now = SearchState(
        t=t0,
        y=y0,
        first=first,
        h=h,
        was_rejected=t0 > np.inf,
        count=np.int64(0),
        attempts=np.int64(0),
        costs=(np.int64(1 if options.has_first_step else 2), np.int64(0), np.int64(0)),
        status=np.where(t0 == given.t1, FINISHED, RUNNING),
        event_values=[values[e](t0, y0) for e in options.terminal],
        has_crossed=[t0 > np.inf for _ in options.terminal],
        crossings=[np.int64(0) for _ in options.terminal],
        memory=method.begin(rate, t0, y0, first, h * direction),
        times=None,
        states=None,
        marks=None,
    )
    return now, method.start(rate, t0, h * direction, y0)


def _with_room(options: Options, before: SearchState) -> SearchState:
    """The search where it ended for lack of room, with more of it."""
    times, marks, rows = _rooms(options)
    times[: before.times.size], marks[: before.marks.size] = before.times, before.marks
    kept = before.states[:: options.every * (len(before.states) - 1) // (before.times.size - 1)]
    states = np.zeros((rows, kept.shape[1]), kept.dtype)
    states[: len(kept)] = kept
    return before._replace(status=np.int64(RUNNING), times=times, states=states, marks=marks)


class Kept(NamedTuple):
    """The parts of a trial that are kept if it is good."""

    is_good: Any
    end: Any
    state: Any
    mark: Any


def _attempted(rate: Rate, values: Sequence[Any], options: Options, given: Given, now: SearchState) -> SearchState:
    """The search after one more trial."""
    after, kept = attempted(rate, values, options, given, now, options.room)
    times, states, marks = now.times.copy(), now.states.copy(), now.marks.copy()
    at = np.minimum(now.count, options.room - 1)  # where there is none left: in a batch, of which others go on
    times[at + 1], marks[at + 1] = kept.end, kept.mark
    states[at // options.every + 1] = kept.state  # the last of a row remains
    return after._replace(times=times, states=states, marks=marks)


def attempted(
    rate: Rate, values: Sequence[Any], options: Options, given: Given, now: SearchState, room: int | None
) -> tuple[SearchState, Kept]:
    """The search after one more trial, without the lists of what was found, and what is to be added to them.

    What it decides has no derivative: whether a step is good, and how long the next one is. The state has the
    derivatives of the steps that were taken, with the ends that these have; only the last moves, with t1."""
    fixed = wg.stop_gradient
    method, t1, direction = options.method, given.t1, fixed(direction_from(given))
    t, y, was_rejected = now.t, now.y, now.was_rejected
    least = 10 * np.spacing(np.abs(fixed(t)))
    size = np.where(was_rejected, now.h, np.maximum(np.minimum(now.h, given.max_step), least))
    is_too_small = was_rejected & ~(size >= least)  # or is NaN
    t_new = fixed(t) + size * direction
    is_cut, is_bounded = direction * (t_new - t1) > 0, size != now.h
    is_last = direction * (t_new - t1) >= 0
    t_new = np.where(is_last, t1, t_new)
    trial = TrialStep(t, t_new - t, y, now.first, given.rtol, given.atol, was_rejected, is_bounded, is_cut, now.h)
    tried = method.attempt(rate, trial, now.memory)
    is_good = fixed(tried.is_good) & ~is_too_small
    count = now.count + is_good
    values_new = [values[e](t_new, tried.y) for e in options.terminal]
    signs = [direction_of(options.events[e]) for e in options.terminal]
    has_crossed = [is_good & crosses(*x) for x in zip(now.event_values, values_new, signs, strict=True)]
    crossings = [n + is_one for n, is_one in zip(now.crossings, has_crossed, strict=True)]
    ended = np.where(is_last, FINISHED, RUNNING if room is None else np.where(count >= room, FULL, RUNNING))
    for e, n in zip(options.terminal, crossings, strict=True):
        ended = np.where(n >= options.limits[e], AT_EVENT, ended)
    ended = np.where(is_good, ended, RUNNING)
    pick = lambda new, old: np.where(is_good, new, old)
    after = now._replace(
        t=pick(t_new, t),
        y=pick(tried.y, y),
        first=pick(tried.first, now.first),
        h=np.abs(fixed(trial.h)) * fixed(tried.factor),
        was_rejected=~is_good,
        count=count,
        attempts=now.attempts + 1,
        costs=tuple([a + b for a, b in zip(now.costs, tried.costs, strict=True)]),
        status=np.where(is_too_small, TOO_SMALL, ended),
        event_values=[pick(a, b) for a, b in zip(values_new, now.event_values, strict=True)],
        has_crossed=has_crossed,
        crossings=crossings,
        memory=tried.memory,
    )
    return after, Kept(is_good, t_new, tried.state, tried.mark)


def _first_step(rate: Rate, method: Method, given: Given, first: Array, direction: Real) -> Any:
    """The length of the first step: Hairer, Nørsett, Wanner (1993), section II.4."""
    y0, t0, t1 = given.y0, given.t0, given.t1
    scale = given.atol + np.abs(y0) * given.rtol
    d0, d1 = rms(y0 / scale), rms(first / scale)
    is_flat = (d0 < 1e-5) | (d1 < 1e-5)
    h0 = np.where(is_flat, 1e-6, 0.01 * d0 / np.where(is_flat, 1.0, d1))
    h0 = np.minimum(h0, np.abs(t1 - t0))
    y1 = y0 + h0 * direction * first
    d2 = rms((rate(t0 + h0 * direction, y1) - first) / scale) / np.where(h0 == 0, 1.0, h0)
    most = np.maximum(d1, d2)
    is_straight = most <= 1e-15
    h1 = (0.01 / np.where(is_straight, 1.0, most)) ** (1 / (method.order + 1))
    h1 = np.where(is_straight, np.maximum(1e-6, h0 * 1e-3), h1)
    return np.minimum(np.minimum(100 * h0, h1), np.minimum(np.abs(t1 - t0), given.max_step))
