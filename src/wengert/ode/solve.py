"""``solve_ivp``: adaptive steps as one native loop, and the derivatives of the steps that it took.

The loop looks for steps that are accurate enough; that it has no derivative is right, since the solution does not
depend on where its steps end. What is differentiated are the steps that were taken, from one known state to the next
(:func:`wengert.known_states`), and the values between them.

Source: Hairer, Nørsett, Wanner (1993), Solving Ordinary Differential Equations I, sections II.4 and II.6; the choice of
steps is SciPy's, so that its methods take the same steps here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

import wengert as wg
from wengert.ode.methods import METHODS, STIFF, Method, Rate, rms

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0  # of the factor that a step is made longer by
ROOM = 256
"""Steps that there is room for at first; four times as many when they do not do."""
BUDGET = 1 << 30
"""Bytes of the states that are kept, unless somebody says otherwise."""

RUNNING, AT_EVENT, FINISHED, TOO_SMALL, FULL = 0, 1, 2, 3, 4
MESSAGES = {
    0: "The solver successfully reached the end of the integration interval.",
    1: "A termination event occurred.",
    -1: "Required step size is less than spacing between numbers.",
}


class OdeResult(OptimizeResult):
    """What :func:`solve_ivp` returns: a dict whose entries are attributes."""


class _Options(NamedTuple):
    """What a compiled solver is made for."""

    method: Method
    room: int
    every: int
    """Every so many steps a state is kept."""
    max_steps: int | None
    events: tuple[Callable[..., Any], ...]
    has_outputs: bool
    has_first_step: bool


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Sequence[Any],
    y0: Any,
    method: str = "Tsit5",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Sequence[Any] | None = None,
    *,
    rtol: float = 1e-3,
    atol: Any = 1e-6,
    first_step: float | None = None,
    max_step: float = np.inf,
    max_steps: int | None = None,
    budget: int = BUDGET,
) -> OdeResult:
    """Solve dy/dt = fun(t, y, *args), y(t_span[0]) = y0, as ``scipy.integrate.solve_ivp`` does.

    Parameters
    ----------
    fun : NumPy code; takes t, float64[], and y, of shape (n,), and returns an array or a list of n numbers.
    t_span : the first and the last t.
    y0 : array of shape (n,), float64 or complex128.
    method : "Tsit5", "RK45", "RK23" or "DOP853", explicit; "KenCarp4", for stiff equations, by their Jacobian.
        "Radau", "BDF" and "LSODA" are solved by KenCarp4, at the same tolerances.
    t_eval : where y is wanted; None, where the steps end.
    events : functions ``g(t, y, *args)``, as SciPy's, with the attributes ``terminal`` and ``direction``.
    args : further arguments of ``fun``, pytrees.
    rtol, atol : the error of a step is at most atol + rtol |y|.
    max_steps : refuse more steps than that.
    budget : bytes of the states that are kept, 1 GiB if nothing is said. Where ``t_eval`` is given and all states are
        more, one of every so many is kept, and the steps between are taken again where ``t_eval``, a terminal event or
        the way back wants them. The times, 24 bytes a step, are always kept; and all states are where ``dense_output``
        or an event that is not terminal asks for them.

    Derivatives, of any order, exist in y0, args, what ``fun`` captures, t_span and t_eval, and through terminal events.
    Within a traced function the number of steps is a path of its own where ``t_eval`` is None.

    Returns
    -------
    OdeResult with t, y of shape (n, len(t)), sol, t_events, y_events, nfev, njev, nlu, status, message, success.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> def end(rate):
    ...     return wg.ode.solve_ivp(lambda t, y: -rate * y, (0, 1), [1.0], t_eval=[1.0], rtol=1e-8).y[0, -1]
    >>> round(float(wg.grad(end)(2.0)), 6), round(-np.exp(-2), 6)
    (-0.135335, np.float64(-0.135335))
    """
    chosen = METHODS.get("KenCarp4" if method in STIFF else method)
    if chosen is None:
        raise ValueError(f"method: {method!r} is none of {', '.join([*METHODS, *STIFF])}")
    start = state(y0)
    if chosen.gamma and start.dtype.kind == "c":
        raise ValueError(f"{method}: the state is complex; solve for its real and imaginary part")
    listeners = _listeners(events)
    rtol = max(float(rtol), 100 * np.finfo(float).eps)
    t0, t1 = t_span
    arguments = () if args is None else tuple(args)
    given = {
        "t0": t0 * 1.0,
        "t1": t1 * 1.0,
        "y0": start,
        "args": arguments,
        "rtol": rtol,
        "atol": np.asarray(atol, float) * np.ones(start.shape),
        "first_step": 0.0 if first_step is None else float(first_step),
        "max_step": float(max_step),
        "t_eval": None if t_eval is None else np.asarray(t_eval) * 1.0,
    }
    room = ROOM if max_steps is None else min(ROOM, max_steps)
    asks_for_all = t_eval is None or dense_output or not all(getattr(g, "terminal", False) for g in listeners)
    nbytes = start.size * start.dtype.itemsize
    found, room = None, ROOM
    while True:
        room = room if max_steps is None else min(room, max_steps)
        every = 1 if asks_for_all else _every(room, nbytes, budget)
        options = _Options(chosen, room, every, max_steps, listeners, t_eval is not None, first_step is not None)
        found = _searcher(fun, options)(given, found)
        if found["status"] != FULL:
            break
        if room == max_steps:
            raise ValueError(f"solve_ivp: more than max_steps={max_steps} steps before t = {t1}")
        room *= 4
    return _result(fun, options, given, _follower_of(fun, options)(given, found), dense_output)


def state(y0: Any) -> Any:
    """The initial state as an array of shape (n,)."""
    y = np.asarray(y0)
    if y.dtype.kind not in "fc":
        y = y.astype(float)
    if y.ndim != 1:
        raise ValueError(f"y0 has shape {y.shape}; expected (n,)")
    return y


def _every(room: int, nbytes: int, budget: int) -> int:
    """How many steps between two states of ``nbytes`` that are kept, a power of two, so that within the budget are
    those that are kept, their cotangents, and the states of the steps between two of them."""
    every = 1
    while 4 * every**2 <= room and (2 * -(-room // every) + every) * nbytes > budget:
        every *= 2
    return every


def _listeners(events: Any) -> tuple[Callable[..., Any], ...]:
    if events is None:
        return ()
    return (events,) if callable(events) else tuple(events)


# ------------------------------------------------------------------------------------------------------- the solver


@lru_cache(maxsize=256)
def _searcher(fun: Callable[..., Any], options: _Options) -> Callable[..., Any]:
    """The compiled search for the steps of this equation, for what it is given as one dict, and what was found with
    less room."""
    return wg.jit(lambda given, before: search(fun, options, given, before))


@lru_cache(maxsize=256)
def _follower_of(fun: Callable[..., Any], options: _Options) -> Callable[..., Any]:
    """The compiled :func:`follow`."""
    return wg.jit(lambda given, found: follow(fun, options, given, found))


def rate_of(fun: Callable[..., Any], args: Sequence[Any], dtype: Any) -> Rate:
    """The right-hand side, of ``dtype``. Each of the many calls of a step is recorded by itself, so that its branches
    do not multiply."""
    of_state = wg.joined(lambda t, y: fun(t, y, *args))

    def rate(t: Any, y: Any) -> Any:
        dy = np.asarray(of_state(t, y))
        if dy.shape != y.shape:
            raise ValueError(f"fun returned shape {dy.shape}; y has {y.shape}")
        return dy.astype(dtype)

    return rate


def follow(fun: Callable[..., Any], options: _Options, given: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The steps that were found, their states as what follows from y0, y at t_eval, and where terminal events are."""
    y0, t0, t1 = given["y0"], given["t0"], given["t1"]
    rate, hears = _equation(fun, options, given)
    found = wg.stop_gradient(found)
    count, times = found["count"], found["times"]
    times = np.where(np.arange(times.size) <= count, times, times[count])  # no time passes in steps that are not taken
    starts = times[:-1].copy()
    starts[0] = t0
    ends = times[1:].copy()
    is_at_end = found["status"] == FINISHED
    ends[count - 1] = np.where(is_at_end & (count > 0), t1, ends[count - 1])
    steps = [_in_rows(x, options.every) for x in (starts, ends)]
    states = wg.known_states(_steps(rate, options), y0, steps, found["states"], -(-count // options.every))
    out = {**found, "states": states, "starts": starts, "ends": ends}
    if options.has_outputs:
        out["outputs"] = between(rate, options, out, t0, t1, given["t_eval"])
    terminal = [k for k, g in enumerate(options.events) if getattr(g, "terminal", False)]
    for k in terminal:
        out[f"event {k}"] = _event_time(rate, hears[k], options, out)
    return out


def _equation(fun: Callable[..., Any], options: _Options, given: dict[str, Any]) -> tuple[Rate, list[Any]]:
    """The equation, and the functions of its events, of t and y alone."""
    hears = [wg.joined(lambda t, y, g=g: g(t, y, *given["args"])) for g in options.events]
    return rate_of(fun, given["args"], given["y0"].dtype), hears


def _steps(rate: Rate, options: _Options) -> Callable[[Any, Any, Any], Any]:
    """From a state that is kept to the next, over the times at which the steps between them start and end."""
    step = lambda y, start, end: options.method.follow(rate, start, end - start, y)
    if options.every == 1:
        return step
    again = wg.checkpoint(step)
    return lambda y, starts, ends: wg.scan(lambda y, at: (again(y, *at), None), y, (starts, ends))[0]


def _in_rows(x: Any, every: int) -> Any:
    return x if every == 1 else x.reshape(-1, every)


def _state_at(rate: Rate, options: _Options, found: dict[str, Any], k: Any) -> Any:
    """The state that step number ``k`` begins with."""
    every, states = options.every, found["states"]
    if every == 1:
        return states[k]
    starts, ends = [_in_rows(found[name], every)[k // every] for name in ("starts", "ends")]
    return _steps(rate, options)(states[k // every], starts, np.where(np.arange(every) < k % every, ends, starts))


def search(fun: Callable[..., Any], options: _Options, given: dict[str, Any], before: Any) -> dict[str, Any]:
    """The steps that are accurate enough, as one loop: their number, times and states, how it ended, and what it goes
    on with if it is given more room; ``before`` is that, or None."""
    given, before = wg.stop_gradient((given, before))
    method, room = options.method, options.room
    y0, t0, t1, rtol, atol = (given[k] for k in ("y0", "t0", "t1", "rtol", "atol"))
    max_step, power = given["max_step"], -1.0 / (method.order + 1)
    direction = np.where(t1 >= t0, 1.0, -1.0)
    rate, hears = _equation(fun, options, given)
    terminal = [g for g, f in zip(hears, options.events, strict=True) if getattr(f, "terminal", False)]
    signs = [getattr(f, "direction", 0.0) for f in options.events if getattr(f, "terminal", False)]
    rows = -(-room // options.every)
    times, states = np.zeros(rows * options.every + 1), np.zeros((rows + 1, y0.size), y0.dtype)
    if before is None:
        first = rate(t0, y0)
        h = given["first_step"] if options.has_first_step else _first_step(rate, method, given, first, direction)
        times[0], states[0] = t0, y0
        begin = {
            "t": t0,
            "y": y0,
            "first": first,
            "h": h * 1.0,
            "was_rejected": t0 > np.inf,
            "count": np.int64(0),
            "attempts": np.int64(0),
            "status": np.where(t0 == t1, FINISHED, RUNNING),
            "heard": [g(t0, y0) * 1.0 for g in terminal],
            "rings": [t0 > np.inf for _ in terminal],
        }
    else:
        times[: before["times"].size] = before["times"]
        kept = before["states"][:: options.every * (len(before["states"]) - 1) // (before["times"].size - 1)]
        states[: len(kept)] = kept
        begin = {**before, "status": np.int64(RUNNING)}

    def attempt(now: Any) -> Any:
        t, y = now["t"], now["y"]
        least = 10 * np.spacing(np.abs(t))
        size = np.where(now["was_rejected"], now["h"], np.maximum(np.minimum(now["h"], max_step), least))
        is_too_small = now["was_rejected"] & (size < least)
        t_new = t + size * direction
        t_new = np.where(direction * (t_new - t1) > 0, t1, t_new)
        h = t_new - t
        scale = atol + np.abs(y) * rtol
        y_new, stages, is_found = method.step(rate, t, h, y, now["first"], scale)
        scale = atol + np.maximum(np.abs(y), np.abs(y_new)) * rtol
        error = method.error_norm(h, stages, scale, lambda e: e)
        error = np.where(is_found, error, np.inf)
        is_good = (error < 1) & ~is_too_small
        factor = SAFETY * np.where(error == 0, 1.0, error) ** power
        grown = np.where(error == 0, MOST, np.minimum(MOST, factor))
        grown = np.where(now["was_rejected"], np.minimum(1.0, grown), grown)
        factor = np.where(is_good, grown, np.fmax(LEAST, factor))
        count = now["count"] + is_good
        times, states = now["times"].copy(), now["states"].copy()
        times[now["count"] + 1] = t_new
        states[now["count"] // options.every + 1] = y_new  # the last of a row remains
        heard = [g(t_new, y_new) * 1.0 for g in terminal]
        rings = [_rings(*x) for x in zip(now["heard"], heard, signs, strict=True)]
        ended = np.where(direction * (t_new - t1) >= 0, FINISHED, np.where(count >= room, FULL, RUNNING))
        for is_heard in rings:
            ended = np.where(is_heard, AT_EVENT, ended)
        ended = np.where(is_good, ended, RUNNING)
        pick = lambda new, old: np.where(is_good, new, old)
        return {
            "t": pick(t_new, t),
            "y": pick(y_new, y),
            "first": pick(stages[-1], now["first"]),
            "h": np.abs(h) * factor,
            "was_rejected": ~is_good,
            "count": count,
            "attempts": now["attempts"] + 1,
            "status": np.where(is_too_small, TOO_SMALL, ended),
            "times": times,
            "states": states,
            "heard": [pick(a, b) for a, b in zip(heard, now["heard"], strict=True)],
            "rings": rings,
        }

    begin |= {"times": times, "states": states}
    return wg.while_loop(lambda now: now["status"] == RUNNING, attempt, begin)


def _rings(before: Any, after: Any, sign: float) -> Any:
    """Whether an event's function passes zero, in the direction that it listens to."""
    up, down = (before <= 0) & (after >= 0), (before >= 0) & (after <= 0)
    return up if sign > 0 else down if sign < 0 else up | down


def _first_step(rate: Rate, method: Method, given: dict[str, Any], first: Any, direction: Any) -> Any:
    """Hairer, Nørsett, Wanner (1993), section II.4."""
    y0, t0, t1 = given["y0"], given["t0"], given["t1"]
    scale = given["atol"] + np.abs(y0) * given["rtol"]
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
    return np.minimum(np.minimum(100 * h0, h1), np.minimum(np.abs(t1 - t0), given["max_step"]))


def between(rate: Rate, options: _Options, found: dict[str, Any], t0: Any, t1: Any, ts: Any) -> Any:
    """y at ``ts``, of shape (n, len(ts)), by the method's own interpolation."""
    method, count, times = options.method, found["count"], found["times"]
    direction = np.where(t1 >= t0, 1.0, -1.0)
    room = np.arange(times.size)
    known = np.where(room <= count, direction * times, np.inf)
    k = np.searchsorted(known, direction * wg.stop_gradient(ts), side="left") - 1
    k = np.clip(k, 0, np.maximum(count - 1, 0))

    def at(t: Any, start: Any, end: Any, y: Any, y_new: Any) -> Any:
        h = end - start
        is_empty = h == 0
        x = (t - start) / np.where(is_empty, 1.0, h)
        _, stages = method.stages(rate, start, h, y)
        return np.where(is_empty, y, method.dense(method, rate, start, h, y, y_new, stages, x))

    starts, ends, states = found["starts"], found["ends"], found["states"]
    if options.every == 1:
        return wg.vmap(at)(ts, starts[k], ends[k], states[k], states[k + 1]).T

    def again(t: Any, k: Any) -> Any:
        y = _state_at(rate, options, found, k)
        return at(t, starts[k], ends[k], y, method.follow(rate, starts[k], ends[k] - starts[k], y))

    return wg.scan(lambda _, x: (None, wg.checkpoint(again)(*x)), None, (ts, k))[1].T


def _event_time(rate: Rate, hear: Any, options: _Options, found: dict[str, Any]) -> tuple[Any, Any]:
    """When the last step crosses zero of ``hear``, and the state then; its derivative is that of a step of Newton's."""
    method, k = options.method, np.maximum(found["count"] - 1, 0)
    start, end, y = found["starts"][k], found["ends"][k], _state_at(rate, options, found, k)
    y_new = found["states"][k // options.every + 1]  # the last that is kept
    _, stages = method.stages(rate, start, end - start, y)
    at = lambda x: method.dense(method, rate, start, end - start, y, y_new, stages, x)
    value = lambda x: hear(start + x * (end - start), at(x))
    fixed = lambda x: wg.stop_gradient(value(x))
    left = fixed(0.0 * start)

    def halved(state: Any) -> Any:
        low, high, n = state
        middle = (low + high) / 2
        is_left = np.sign(fixed(middle)) == np.sign(left)
        return np.where(is_left, middle, low), np.where(is_left, high, middle), n + 1

    zero = wg.stop_gradient(0.0 * start)
    x = wg.stop_gradient(wg.while_loop(lambda s: s[2] < 60, halved, (zero, zero + 1.0, np.int64(0)))[1])
    for _ in range(2):
        _, slope = wg.jvp(value, (x,), (np.ones_like(x),))
        x = x - value(x) / np.where(slope == 0, 1.0, slope)
    return start + x * (end - start), at(x)


# --------------------------------------------------------------------------------------------------------- results


def _result(
    fun: Callable[..., Any], options: _Options, given: dict[str, Any], found: dict[str, Any], dense_output: bool
) -> OdeResult:
    status = {FINISHED: 0, AT_EVENT: 1}.get(int(found["status"]), -1)
    message = MESSAGES[status]
    if status == -1:
        message += " " + _why(options, given, found)
    ts, ys = given["t_eval"], None
    t_events, y_events = _events(fun, options, given, found)
    if options.has_outputs:
        ys = found["outputs"]
        if status != 0:  # those before its end
            reached = found["times"][int(found["count"])] if status == -1 else _earliest(t_events)
            is_there = np.sign(given["t1"] - given["t0"]) * (np.asarray(ts) - reached) <= 0
            ts, ys = ts[is_there], ys[:, is_there]
    else:
        count = int(found["count"])
        ts, ys = found["times"][: count + 1], found["states"][: count + 1].T
        if status == 1:
            t, y = min(_terminal(options, found), key=lambda both: abs(float(both[0]) - float(given["t0"])))
            ts, ys = np.concatenate([ts[:-1], [t]]), np.concatenate([ys[:, :-1], y[:, None]], axis=1)
    stages = len(options.method.b)
    attempts = found["attempts"]
    return OdeResult(
        t=ts,
        y=ys,
        sol=Solution(fun, options, given, found) if dense_output else None,
        t_events=t_events,
        y_events=y_events,
        nfev=attempts * stages + (1 if options.has_first_step else 2),
        njev=attempts if options.method.gamma else 0,
        nlu=attempts if options.method.gamma else 0,
        status=status,
        message=message,
        success=status >= 0,
    )


def _why(options: _Options, given: dict[str, Any], found: dict[str, Any]) -> str:
    """Which component fails, at what time."""
    k = int(found["count"])
    t, y = found["times"][k], found["states"][-(-k // options.every)]
    dy = np.abs(np.asarray(found["first"]))
    bad = np.flatnonzero(~np.isfinite(dy))
    worst = int(bad[0]) if len(bad) else int(np.argmax(dy / (np.abs(np.asarray(y)) + np.asarray(given["atol"]))))
    return f"At step {k}, t = {float(t)!r}: component {worst} is {y[worst]} and changes by {found['first'][worst]}."


def _terminal(options: _Options, found: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Times and states of the terminal events that lie in the last step."""
    k = int(found["count"])
    low, high = sorted((float(found["times"][k - 1]), float(found["times"][k])))
    width = 1e-9 * (high - low)
    heard = [found[f"event {e}"] for e in range(len(options.events)) if f"event {e}" in found]
    return [both for both in heard if low - width <= float(both[0]) <= high + width]


def _earliest(t_events: Any) -> Any:
    return next(t[-1] for t in t_events if len(t))


def _events(
    fun: Callable[..., Any], options: _Options, given: dict[str, Any], found: dict[str, Any]
) -> tuple[Any, Any]:
    if not options.events:
        return None, None
    t_events: list[Any] = []
    y_events: list[Any] = []
    status = int(found["status"])
    count = int(found["count"])
    terminal = [e for e in range(len(options.events)) if f"event {e}" in found]
    for e, g in enumerate(options.events):
        ts, ys = [], []
        if e in terminal:
            if status == AT_EVENT and found["rings"][terminal.index(e)]:
                t, y = found[f"event {e}"]
                ts, ys = [t], [y]
        else:
            heard = [float(g(found["times"][k], found["states"][k], *given["args"])) for k in range(count + 1)]
            for k in range(count):
                if _rings(heard[k], heard[k + 1], getattr(g, "direction", 0.0)):
                    t, y = _located(fun, g, options, given, found, k)
                    ts.append(t)
                    ys.append(y)
        t_events.append(np.array(ts))
        y_events.append(np.array(ys))
    return t_events, y_events


def _located(
    fun: Callable[..., Any],
    g: Callable[..., Any],
    options: _Options,
    given: dict[str, Any],
    found: dict[str, Any],
    k: int,
) -> tuple[Any, Any]:
    from scipy.optimize import brentq

    solution = Solution(fun, options, given, found)
    low, high = found["times"][k], found["times"][k + 1]
    eps = 4 * np.finfo(float).eps
    t = brentq(lambda t: g(t, solution(t), *given["args"]), low, high, xtol=eps, rtol=eps)
    return t, solution(t)


class Solution:
    """y as a function of t: ``sol(t)`` of shape (n,), or (n, m) for m times."""

    def __init__(self, fun: Any, options: _Options, given: dict[str, Any], found: dict[str, Any]) -> None:
        self._fun, self._options, self._given, self._found = fun, options, given, found

    def __call__(self, t: Any) -> Any:
        ts = np.atleast_1d(t) * 1.0
        ys = _interpolator(self._fun, self._options)(self._given, self._found, ts)
        return ys[:, 0] if np.ndim(t) == 0 else ys


@lru_cache(maxsize=256)
def _interpolator(fun: Callable[..., Any], options: _Options) -> Callable[..., Any]:
    def interpolate(given: dict[str, Any], found: dict[str, Any], ts: Any) -> Any:
        rate = rate_of(fun, given["args"], given["y0"].dtype)
        return between(rate, options, found, given["t0"], given["t1"], ts)

    return wg.jit(interpolate)
