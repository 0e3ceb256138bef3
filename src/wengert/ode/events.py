"""The events of a solution: in which steps each happens, when exactly, and which of them ended the solution.

The search counts the terminal events alone. All events are looked for afterwards, in the steps that were found; the
time of each has the derivatives of the zero that it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.ode.equation import EventFunction, crosses, direction_of, event_values, rate_of
from wengert.ode.follow import Followed, around, step_at
from wengert.ode.options import Given, Options, compiled
from wengert.ode.search import AT_EVENT
from wengert.ode.step import Array, Rate


def events_of(
    fun: Callable[..., Any], options: Options, given: Given, followed: Followed
) -> tuple[list[Any] | None, list[Any] | None, Any]:
    """Times and states of the events, a list of arrays each, and time and state of the one that ended the solution."""
    if not options.events:
        return None, None, None
    found = followed.found
    masks = compiled(_where, fun, options)(given, followed)
    happened: list[Any] = []
    for e, (mask, number) in enumerate(masks):
        happened.append(compiled(_located, fun, options, e, int(number))(given, followed, mask))
    reached, last = None, found.count - 1
    if int(found.status) == AT_EVENT:
        direction = np.sign(given.t1 - given.t0)
        ends = [(e, n) for e, n in zip(options.terminal, found.crossings, strict=True) if n >= options.limits[e]]
        ended = [tuple([x[-1] for x in happened[e]]) for e, _ in ends]
        reached = min(ended, key=lambda both: direction * both[0])
        for e, (mask, _) in enumerate(masks):  # no event happens after the end
            if mask[last] and direction * (happened[e][0][-1] - reached[0]) > 0:
                happened[e] = tuple([x[:-1] for x in happened[e]])
    return [t for t, _ in happened], [y for _, y in happened], reached


def _where(fun: Callable[..., Any], options: Options, given: Given, followed: Followed) -> list[tuple[Any, Any]]:
    """A mask of the steps in which each event happens, and how many they are."""
    given, found = wg.stop_gradient((given, followed.found))
    count, n = found.count, given.y0.size
    room = np.arange(found.times.size - 1)
    if options.every > 1:  # all are terminal, and happen in the last step
        masks = [(room == count - 1) & is_one for is_one in found.has_crossed]
    else:
        taken = np.minimum(np.arange(found.times.size), count)
        ts, ys = found.times[taken], found.states[taken][:, :n]
        signs = [direction_of(g) for g in options.events]
        values = [wg.vmap(value)(ts, ys) for value in event_values(options, given)]
        masks = [(room < count) & crosses(v[:-1], v[1:], sign) for v, sign in zip(values, signs, strict=True)]
    return [(mask, np.sum(mask)) for mask in masks]


def _located(
    fun: Callable[..., Any], options: Options, event: int, number: int, given: Given, followed: Followed, mask: Array
) -> tuple[Any, Any]:
    """Times and states of one event, which happens in the ``number`` steps of the mask."""
    rate, value = rate_of(fun, given), event_values(options, given)[event]
    steps = np.argsort(~mask, kind="stable")[:number]
    return wg.scan(lambda _, k: (None, _crossing(rate, value, options, followed, k)), None, steps)[1]


def _crossing(
    rate: Rate, of_event: EventFunction, options: Options, followed: Followed, k: int | Array
) -> tuple[Any, Any]:
    """When an event's function is zero in step number ``k``, and the state then: found by halving, with the derivatives
    of a zero."""
    step = step_at(followed, k)
    at = options.method.within(rate, step, *around(rate, options, followed, k))
    value = lambda x: of_event(step.start + x * step.h, at(x))
    fixed = lambda x: wg.stop_gradient(value(x))
    left = fixed(0.0 * step.start)

    def halved(state: Array) -> Any:
        low, high, n = state
        middle = (low + high) / 2
        is_left = np.sign(fixed(middle)) == np.sign(left)
        return np.where(is_left, middle, low), np.where(is_left, high, middle), n + 1

    zero = wg.stop_gradient(0.0 * step.start)
    _, high, _ = wg.while_loop(lambda s: s[2] < 60, halved, (zero, zero + 1.0, np.int64(0)))
    x = wg.known_root(value, high)
    return step.start + x * step.h, at(x)
