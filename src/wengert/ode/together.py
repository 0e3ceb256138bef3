"""Steps that are found and followed in one loop, which keeps none of them: for many examples together.

In a batch, and in the body of a loop, nobody sees how many steps there are, and a list of them would need room for all
that there may be, in each example. If few values are wanted, the loop keeps for each of them the step that it lies in,
and nothing else. Its derivatives, forward and reverse, are those of the steps: what the loop decides has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert.ode.equation import rate_of
from wengert.ode.follow import Followed, lasting
from wengert.ode.options import Given, Options
from wengert.ode.search import RUNNING, SearchState, attempted, begun, direction_from
from wengert.ode.step import Rate, Step

MOST_BYTES = 1024
"""The most bytes that the loop hands on, above which a batch would run one example after another."""


class _Around(NamedTuple):
    """The steps that the values lie in, a row each."""

    start: Any
    end: Any
    state: Any


def are_few(options: Options, given: Given) -> bool:
    """Whether so few values are wanted that a loop can hand on what each of them needs."""
    if options.method.is_implicit or given.t_eval is None:
        return False
    rows = given.t_eval.size
    return (rows + 2) * given.y0.size * given.y0.dtype.itemsize + 8 * (2 * rows + 8) <= MOST_BYTES


def solve_together(fun: Callable[..., Any], options: Options, given: Given) -> Followed:
    """How the search ended, and y at t_eval."""
    rate, ts = rate_of(fun, given), given.t_eval
    direction = wg.stop_gradient(direction_from(given))
    distance = direction * wg.stop_gradient(ts)

    def goes_on(state: tuple[SearchState, _Around]) -> Any:
        return state[0].status == RUNNING

    def step(state: tuple[SearchState, _Around]) -> tuple[SearchState, _Around]:
        now, around = state
        after, kept = attempted(rate, [], options, given, now, options.max_steps)
        t, t_new = direction * wg.stop_gradient(now.t), direction * wg.stop_gradient(kept.end)
        is_here = kept.is_good & ((t < distance) | (now.count == 0)) & (distance <= t_new)
        return after, _Around(
            np.where(is_here, now.t, around.start),
            np.where(is_here, kept.end, around.end),
            np.where(is_here[:, None], now.y, around.state),
        )

    now, start = begun(rate, [], options, given)
    ones = np.ones(ts.size)
    before = _Around(given.t0 * ones, given.t0 * ones, ones[:, None] * start)
    found, around = wg.while_loop(goes_on, step, (now, before))
    outputs = wg.vmap(lambda t, *at: _at(rate, options, given, t, _Around(*at)))(ts, *around).T
    mark = np.int64(options.method.first_mark)
    return Followed(found, Step(found.t, found.t, found.h, mark, mark), outputs)


def _at(rate: Rate, options: Options, given: Given, t: Any, around: _Around) -> Any:
    """y at ``t``, which lies in this step."""
    method, mark = options.method, np.int64(options.method.first_mark)
    step, is_empty = lasting(Step(around.start, around.end, around.end - around.start, mark, mark))
    after = method.follow(rate, step, around.state)
    y = method.within(rate, step, around.state, after)((t - step.start) / step.h)
    return np.where(is_empty, around.state[: given.y0.size], y)
