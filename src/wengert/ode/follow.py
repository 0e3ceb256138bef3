"""The steps that were found, followed from y0 on: what is differentiated, and the values between them.

Each step is taken again, from one known state to the next (:func:`wengert.known_states`), by the method's ``follow``,
whose derivatives are right to any order that the method promises.

Source: Hairer, Nørsett, Wanner (1993), Solving Ordinary Differential Equations I, section II.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert.ode.equation import rate_of
from wengert.ode.options import Given, Options
from wengert.ode.search import FINISHED, SearchState, direction_from
from wengert.ode.step import Array, Rate, Real, Step


class Followed(NamedTuple):
    """The steps that were found, as what follows from what was given: with derivatives."""

    found: SearchState
    """The outcome of the search, whose ``states`` are what follows from y0."""
    steps: Step
    """All steps, an array a field; those behind the last take no time."""
    outputs: Any
    """y at ``t_eval``, of shape (n, m), or None."""


def follow(fun: Callable[..., Any], options: Options, given: Given, found: SearchState) -> Followed:
    """The steps that were found, their states as what follows from y0, and y at t_eval."""
    y0, t0, t1 = given.y0, given.t0, given.t1
    rate = rate_of(fun, given)
    found = wg.stop_gradient(found)
    count, times = found.count, found.times
    times = np.where(np.arange(times.size) <= count, times, times[count])  # no time passes in steps that are not taken
    starts = times[:-1].copy()
    starts[0] = t0
    ends = times[1:].copy()
    is_at_end = found.status == FINISHED
    ends[count - 1] = np.where(is_at_end & (count > 0), t1, ends[count - 1])
    before = np.concatenate([(ends - starts)[:1], (ends - starts)[:-1]])
    steps = Step(starts, ends, before, found.marks[:-1], found.marks[1:])
    begin = options.method.start(rate, t0, ends[0] - t0, y0)
    rows = [_in_rows(x, options.every) for x in steps]
    states = wg.known_states(_taken(rate, options), begin, rows, found.states, -(-count // options.every))
    followed = Followed(found._replace(states=states), steps, None)
    if not options.has_outputs:
        return followed
    return followed._replace(outputs=between(rate, options, given, followed, given.t_eval))


def between(rate: Rate, options: Options, given: Given, followed: Followed, ts: Real) -> Any:
    """y at ``ts``, of shape (n, len(ts)), by the method's own interpolation."""
    method, count, times = options.method, followed.found.count, followed.found.times
    n = given.y0.size
    direction = direction_from(given)
    room = np.arange(times.size)
    known = np.where(room <= count, direction * times, np.inf)
    k = np.searchsorted(known, direction * wg.stop_gradient(ts), side="left") - 1
    k = np.clip(k, 0, np.maximum(count - 1, 0))

    def at(t: Real, step: Step, state: Array, after: Array) -> Any:
        step, is_empty = lasting(step)
        x = (t - step.start) / step.h
        return np.where(is_empty, state[:n], method.within(rate, step, state, after)(x))

    if options.every == 1:
        states = followed.found.states
        return wg.vmap(at)(ts, step_at(followed, k), states[k], states[k + 1]).T

    def again(t: Real, k: int | Array) -> Any:
        return at(t, step_at(followed, k), *around(rate, options, followed, k))

    return wg.scan(lambda _, x: (None, wg.checkpoint(again)(*x)), None, (ts, k))[1].T


def interpolated(fun: Callable[..., Any], options: Options, given: Given, followed: Followed, ts: Real) -> Any:
    """y at ``ts``, of shape (n, len(ts)), of this equation."""
    return between(rate_of(fun, given), options, given, followed, ts)


def step_at(followed: Followed, k: int | Array) -> Step:
    """Step number ``k``, or steps, an array a field."""
    return Step(*[x[k] for x in followed.steps])


def around(rate: Rate, options: Options, followed: Followed, k: int | Array) -> tuple[Any, Any]:
    """The states before and after step number ``k``."""
    every, states = options.every, followed.found.states
    if every == 1:
        return states[k], states[k + 1]
    rows = Step(*[_in_rows(x, every)[k // every] for x in followed.steps])
    rows = rows._replace(end=np.where(np.arange(every) < k % every, rows.end, rows.start))
    state = _taken(rate, options)(states[k // every], *rows)
    return state, options.method.follow(rate, step_at(followed, k), state)


def _taken(rate: Rate, options: Options) -> Callable[..., Any]:
    """The function from a state that is kept to the next, over the steps between them, each a row of those."""
    if options.every == 1:
        return lambda state, *at: options.method.follow(rate, Step(*at), state)

    def unless_empty(state: Array, *at: Any) -> Any:
        step, is_empty = lasting(Step(*at))
        return np.where(is_empty, state, options.method.follow(rate, step, state))

    again = wg.checkpoint(unless_empty)
    return lambda state, *rows: wg.scan(lambda state, at: (again(state, *at), None), state, rows)[0]


def lasting(step: Step) -> tuple[Step, Any]:
    """The step, or where no time passes in it one of which something can be computed, and whether no time passes."""
    is_empty = step.h == 0
    end, before = np.where(is_empty, step.start + 1.0, step.end), np.where(is_empty, 1.0, step.before)
    return step._replace(end=end, before=before), is_empty


def _in_rows(x: Array, every: int) -> Any:
    return x if every == 1 else x.reshape(-1, every)
