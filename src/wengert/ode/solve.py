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
from wengert.ode.methods import METHODS
from wengert.ode.step import Method, Rate, Step, Trial, rms

ROOM = 256
"""Steps that there is room for at first; four times as many when they do not do."""
UNSEEN_ROOM = 1024
"""Steps that there is room for where nobody sees how many they are."""
NOT_NEEDED = {"jac", "jac_sparsity", "lband", "uband", "min_step"}
BUDGET = 1 << 30
"""Bytes of the states that are kept, unless somebody says otherwise."""

RUNNING, AT_EVENT, FINISHED, TOO_SMALL, FULL = 0, 1, 2, 3, 4
MESSAGES = {
    0: "The solver successfully reached the end of the integration interval.",
    1: "A termination event occurred.",
    -1: "Required step size is less than spacing between numbers.",
}

Array = Any


class OdeResult(OptimizeResult):
    """A result is a dict whose entries are attributes, as :func:`solve_ivp` returns it, with SciPy's names.

    ``t`` are the times, float[n], and ``y`` the states, float[k, n]; ``sol`` is a function of time with
    ``dense_output``, else None; ``t_events`` and ``y_events`` are lists of arrays, one an event, or None; ``status`` is
    0 at the end of the interval, 1 at an event that ends it, -1 where steps became too small, and ``success`` and
    ``message`` say the same; ``nfev``, ``njev`` and ``nlu`` count evaluations and factorisations.

    >>> import numpy as np, wengert as wg
    >>> found = wg.ode.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], rtol=1e-8, atol=1e-8)
    >>> found.success, bool(abs(found.y[0, -1] - np.exp(-1.0)) < 1e-7), found["y"] is found.y
    (True, True, True)
    """


class _Options(NamedTuple):
    """What a compiled solver is made for."""

    method: Method
    room: int
    every: int
    """Every so many steps a state is kept."""
    max_steps: int | None
    events: tuple[Callable[..., Any], ...]
    limits: tuple[int, ...]
    """How often each event may happen; 0: as often as it likes."""
    has_outputs: bool
    has_first_step: bool

    @property
    def terminal(self) -> list[int]:
        return [e for e, limit in enumerate(self.limits) if limit]


@wg.expect.checked
def solve_ivp(
    fun: Callable[..., Any],
    t_span: tuple[Any, Any],
    y0: Array,
    method: str | type = "Tsit5",
    t_eval: Array | None = None,
    dense_output: bool = False,
    events: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
    vectorized: bool = False,
    args: Sequence[Any] | None = None,
    *,
    rtol: float = 1e-3,
    atol: Array = 1e-6,
    first_step: float | None = None,
    max_step: float = np.inf,
    max_steps: int | None = None,
    budget: int = BUDGET,
    **not_needed: Any,
) -> OdeResult:
    """Solve dy/dt = fun(t, y, *args), y(t_span[0]) = y0, as ``scipy.integrate.solve_ivp`` does.

    Parameters
    ----------
    fun : NumPy code; takes t, float64[], and y, of shape (n,), and returns an array or a list of n numbers.
    t_span : the first and the last t.
    y0 : array of shape (n,), solved in float64 or complex128.
    method : "Tsit5", "RK45", "RK23" or "DOP853", explicit; "KenCarp4", "Radau" and "BDF", for stiff equations, by
        their Jacobian; "LSODA", which is Tsit5 where the equation is not stiff, and Radau where it is. Or a class of
        SciPy's of that name.
    t_eval : where y is wanted; None, where the steps end.
    events : functions ``g(t, y, *args)``, as SciPy's, with the attributes ``terminal`` and ``direction``.
    args : further arguments of ``fun``, pytrees.
    rtol, atol : the error of a step is at most atol + rtol |y|.
    max_steps : refuse more steps than that.
    not_needed : SciPy's jac, jac_sparsity, lband, uband and min_step; wengert knows the Jacobian.
    budget : bytes of the states that are kept, 1 GiB if nothing is said. Where ``t_eval`` is given and all states are
        more, one of every so many is kept, and the steps between are taken again where ``t_eval``, a terminal event or
        the way back wants them. The times and marks, some 60 bytes a step, are always kept; and all states are where
        ``dense_output`` or an event that is not terminal asks for them.

    Derivatives, of any order (of implicit methods the first three), exist in y0, args, what ``fun`` captures, t_span
    and t_eval, and in the times of events. Within a traced function the number of steps is a path of its own where
    ``t_eval`` is None, and so is the number of events.

    Returns
    -------
    OdeResult with t, y of shape (n, len(t)), sol, t_events, y_events, nfev, njev, nlu, status, message, success.

    Raises
    ------
    OptionError : another method.
    TypeError : an option that SciPy's ``solve_ivp`` does not have either.
    ShapeError, ValueError : y0 is empty, or complex with an implicit method; ``fun`` or ``atol`` have another shape
        than y; ``t_eval`` lies outside of ``t_span``; there would be more than ``max_steps`` steps.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> def end(rate):
    ...     return wg.ode.solve_ivp(lambda t, y: -rate * y, (0, 1), [1.0], t_eval=[1.0], rtol=1e-8).y[0, -1]
    >>> round(float(wg.grad(end)(2.0)), 6), round(-np.exp(-2), 6)
    (-0.135335, np.float64(-0.135335))
    """
    name = method if isinstance(method, str) else method.__name__
    chosen = METHODS.get(name)
    if chosen is None:
        what = f"solve_ivp: method is {wg.expect.given(method)}; expected one of {', '.join(METHODS)}"
        raise wg.errors.OptionError(wg.errors.message(what))
    for name_of, t in zip(("t_span[0]", "t_span[1]"), t_span, strict=True):
        wg.expect.require("solve_ivp", name_of, t, "float")
    if unknown := not_needed.keys() - NOT_NEEDED:
        raise TypeError(f"solve_ivp: no option {', '.join(sorted(unknown))}")
    start, (t0, t1) = state(y0), t_span
    wg.expect.fits("solve_ivp", "atol", atol, "y0", start.shape)
    _check_options(t0, t1, first_step, max_step, max_steps, atol)
    if getattr(fun, "__hash__", None) is None:  # what is compiled is kept by it
        fun = fun.__call__
    if chosen.is_implicit and start.dtype.kind == "c":
        raise ValueError(f"{name}: the state is complex; solve for its real and imaginary part")
    times = None if t_eval is None else np.asarray(t_eval) * 1.0
    _check_times(times, t0, t1)
    listeners = _listeners(events)
    limits = tuple([_limit(g) for g in listeners])
    rtol = max(float(rtol), 100 * np.finfo(float).eps)
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
        "t_eval": times,
    }
    room = ROOM if max_steps is None else min(ROOM, max_steps)
    asks_for_all = t_eval is None or dense_output or any(limit != 1 for limit in limits)
    nbytes = chosen.rows * start.size * start.dtype.itemsize
    found, room = None, ROOM
    while True:
        room = room if max_steps is None else min(room, max_steps)
        every = 1 if asks_for_all else _every(room, nbytes, budget)
        options = _Options(
            chosen, room, every, max_steps, listeners, limits, t_eval is not None, first_step is not None
        )
        found = _searcher(fun, options)(given, found)
        is_full = _seen(found["status"] == FULL)
        if is_full is None:
            options = options._replace(room=max_steps or UNSEEN_ROOM, every=1)
            return _result_of_any(fun, options, given, listeners, dense_output)
        if not is_full:
            break
        if room == max_steps:
            raise ValueError(f"solve_ivp: more than max_steps={max_steps} steps before t = {t1}")
        room *= 4
    return _result(fun, options, given, _follower_of(fun, options)(given, found), dense_output)


def _seen(x: Any) -> bool | None:
    """A boolean, where there is one value to look at: not in a batch, nor in the body of a loop."""
    try:
        return bool(int(x))  # a body would decide bool(x) for itself
    except wg.errors.ConcretizationError:
        return None


def state(y0: Any) -> Any:
    """The initial state as an array of shape (n,)."""
    y = np.asarray(y0)
    if y.ndim != 1 or not y.size:
        raise ValueError(f"y0 has shape {y.shape}; expected (n,), n > 0")
    return y.astype(complex if y.dtype.kind == "c" else float)


def _check_options(t0: Any, t1: Any, first_step: Any, max_step: Any, max_steps: int | None, atol: Any) -> None:
    if not max_step > 0:
        raise ValueError(f"max_step is {max_step}; expected more than 0")
    if max_steps is not None and max_steps < 1:
        raise ValueError(f"max_steps is {max_steps}; expected 1 or more")
    if np.any(np.asarray(atol, float) < 0):
        raise ValueError(f"atol is {atol}; expected 0 or more")
    if first_step is not None and not (first_step > 0 and _seen(first_step <= np.abs(t1 - t0)) is not False):
        raise ValueError(f"first_step is {first_step}; expected more than 0, and no more than t_span")


def _check_times(times: Any, t0: Any, t1: Any) -> None:
    """Raise where values of t_eval are outside of t_span, or in no order, as far as anybody sees."""
    if times is None:
        return
    if times.ndim != 1:
        raise ValueError(f"t_eval has shape {times.shape}; expected (m,)")
    is_outside = np.any((times < np.minimum(t0, t1)) | (times > np.maximum(t0, t1)))
    if _seen(is_outside):
        raise ValueError("t_eval: values are outside of t_span")
    is_unsorted = np.any((times[1:] - times[:-1]) * np.sign(t1 - t0) < 0)
    if _seen(is_unsorted):
        raise ValueError("t_eval: values are not sorted from the start of t_span to its end")


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


def _level(g: Callable[..., Any], t: Any, y: Any, args: Sequence[Any]) -> Any:
    """What an event's function gives, a number."""
    return wg.expect.require("solve_ivp", "the result of an event", g(t, y, *args), "RealArray")


def _limit(event: Callable[..., Any]) -> int:
    """How often an event happens before it ends the solution; 0: it does not."""
    terminal = getattr(event, "terminal", None) or 0
    if int(terminal) != terminal or terminal < 0:
        raise ValueError(f"the event's attribute terminal is {terminal!r}; expected a boolean or a positive integer")
    return int(terminal)


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
        if dy.shape == () and y.shape == (1,):
            dy = dy.reshape(1)
        if dy.shape != y.shape:
            raise ValueError(f"fun returned shape {dy.shape}; y has {y.shape}")
        return dy.astype(dtype)

    return rate


def follow(fun: Callable[..., Any], options: _Options, given: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The steps that were found, their states as what follows from y0, and y at t_eval."""
    y0, t0, t1 = given["y0"], given["t0"], given["t1"]
    rate, _ = _equation(fun, options, given)
    found = wg.stop_gradient(found)
    count, times = found["count"], found["times"]
    times = np.where(np.arange(times.size) <= count, times, times[count])  # no time passes in steps that are not taken
    starts = times[:-1].copy()
    starts[0] = t0
    ends = times[1:].copy()
    is_at_end = found["status"] == FINISHED
    ends[count - 1] = np.where(is_at_end & (count > 0), t1, ends[count - 1])
    before = np.concatenate([(ends - starts)[:1], (ends - starts)[:-1]])
    marks = found["marks"]
    out = {**found, "steps": Step(starts, ends, before, marks[:-1], marks[1:])}
    begin = options.method.start(rate, t0, ends[0] - t0, y0)
    rows = [_in_rows(x, options.every) for x in out["steps"]]
    out["states"] = wg.known_states(_taken(rate, options), begin, rows, found["states"], -(-count // options.every))
    if options.has_outputs:
        out["outputs"] = between(rate, options, out, t0, t1, given["t_eval"])
    return out


def _equation(fun: Callable[..., Any], options: _Options, given: dict[str, Any]) -> tuple[Rate, list[Any]]:
    """The equation, and the functions of its events, of t and y alone."""
    hears = [wg.joined(lambda t, y, g=g: _level(g, t, y, given["args"])) for g in options.events]
    return rate_of(fun, given["args"], given["y0"].dtype), hears


def _taken(rate: Rate, options: _Options) -> Callable[..., Any]:
    """From a state that is kept to the next, over the steps between them, each a row of those."""
    if options.every == 1:
        return lambda state, *at: options.method.follow(rate, Step(*at), state)

    def unless_empty(state: Any, *at: Any) -> Any:
        step, is_empty = _lasting(Step(*at))
        return np.where(is_empty, state, options.method.follow(rate, step, state))

    again = wg.checkpoint(unless_empty)
    return lambda state, *rows: wg.scan(lambda state, at: (again(state, *at), None), state, rows)[0]


def _lasting(step: Step) -> tuple[Step, Any]:
    """The step, or one of which something can be computed where no time passes in it, and whether that is so."""
    is_empty = step.h == 0
    end, before = np.where(is_empty, step.start + 1.0, step.end), np.where(is_empty, 1.0, step.before)
    return step._replace(end=end, before=before), is_empty


def _in_rows(x: Any, every: int) -> Any:
    return x if every == 1 else x.reshape(-1, every)


def _at(found: dict[str, Any], k: Any) -> Step:
    return Step(*[x[k] for x in found["steps"]])


def _around(rate: Rate, options: _Options, found: dict[str, Any], k: Any) -> tuple[Any, Any]:
    """The states before and after step number ``k``."""
    every, states = options.every, found["states"]
    if every == 1:
        return states[k], states[k + 1]
    rows = Step(*[_in_rows(x, every)[k // every] for x in found["steps"]])
    rows = rows._replace(end=np.where(np.arange(every) < k % every, rows.end, rows.start))
    state = _taken(rate, options)(states[k // every], *rows)
    return state, options.method.follow(rate, _at(found, k), state)


def search(fun: Callable[..., Any], options: _Options, given: dict[str, Any], before: Any) -> dict[str, Any]:
    """The steps that are accurate enough, as one loop: their number, times and states, how it ended, and what it goes
    on with if it is given more room; ``before`` is that, or None."""
    given, before = wg.stop_gradient((given, before))
    method, room = options.method, options.room
    y0, t0, t1, rtol, atol = (given[k] for k in ("y0", "t0", "t1", "rtol", "atol"))
    direction = np.where(t1 >= t0, 1.0, -1.0)
    rate, hears = _equation(fun, options, given)
    signs = [getattr(options.events[e], "direction", 0.0) for e in options.terminal]
    rows = -(-room // options.every)
    times, marks = np.zeros(rows * options.every + 1), np.full(rows * options.every + 1, method.first_mark)
    if before is None:
        first = rate(t0, y0)
        h = given["first_step"] if options.has_first_step else _first_step(rate, method, given, first, direction)
        start = method.start(rate, t0, h * direction, y0)
        states = np.zeros((rows + 1, start.size), start.dtype)
        times[0], states[0] = t0, start
        begin = {
            "t": t0,
            "y": y0,
            "first": first,
            "h": h * 1.0,
            "was_rejected": t0 > np.inf,
            "count": np.int64(0),
            "attempts": np.int64(0),
            "costs": (np.int64(1 if options.has_first_step else 2), np.int64(0), np.int64(0)),
            "status": np.where(t0 == t1, FINISHED, RUNNING),
            "heard": [hears[e](t0, y0) * 1.0 for e in options.terminal],
            "rings": [t0 > np.inf for _ in options.terminal],
            "rung": [np.int64(0) for _ in options.terminal],
            "memory": method.begin(rate, t0, y0, first, h * direction),
        }
    else:
        times[: before["times"].size], marks[: before["marks"].size] = before["times"], before["marks"]
        kept = before["states"][:: options.every * (len(before["states"]) - 1) // (before["times"].size - 1)]
        states = np.zeros((rows + 1, kept.shape[1]), kept.dtype)
        states[: len(kept)] = kept
        begin = {**before, "status": np.int64(RUNNING)}

    def attempt(now: Any) -> Any:
        t, y, was_rejected = now["t"], now["y"], now["was_rejected"]
        least = 10 * np.spacing(np.abs(t))
        size = np.where(was_rejected, now["h"], np.maximum(np.minimum(now["h"], given["max_step"]), least))
        is_too_small = was_rejected & ~(size >= least)  # or is NaN
        t_new = t + size * direction
        is_cut, is_bounded = direction * (t_new - t1) > 0, size != now["h"]
        t_new = np.where(is_cut, t1, t_new)
        trial = Trial(t, t_new - t, y, now["first"], rtol, atol, was_rejected, is_bounded, is_cut, now["h"])
        tried = method.attempt(rate, trial, now["memory"])
        is_good = tried.is_good & ~is_too_small
        count = now["count"] + is_good
        times, states, marks = now["times"].copy(), now["states"].copy(), now["marks"].copy()
        at = np.minimum(now["count"], room - 1)  # where there is none left: in a batch, of which others go on
        times[at + 1], marks[at + 1] = t_new, tried.mark
        states[at // options.every + 1] = tried.state  # the last of a row remains
        heard = [hears[e](t_new, tried.y) * 1.0 for e in options.terminal]
        rings = [is_good & _rings(*x) for x in zip(now["heard"], heard, signs, strict=True)]
        rung = [n + is_heard for n, is_heard in zip(now["rung"], rings, strict=True)]
        ended = np.where(direction * (t_new - t1) >= 0, FINISHED, np.where(count >= room, FULL, RUNNING))
        for e, n in zip(options.terminal, rung, strict=True):
            ended = np.where(n >= options.limits[e], AT_EVENT, ended)
        ended = np.where(is_good, ended, RUNNING)
        pick = lambda new, old: np.where(is_good, new, old)
        return {
            "t": pick(t_new, t),
            "y": pick(tried.y, y),
            "first": pick(tried.first, now["first"]),
            "h": np.abs(trial.h) * tried.factor,
            "was_rejected": ~is_good,
            "count": count,
            "attempts": now["attempts"] + 1,
            "costs": tuple([a + b for a, b in zip(now["costs"], tried.costs, strict=True)]),
            "status": np.where(is_too_small, TOO_SMALL, ended),
            "heard": [pick(a, b) for a, b in zip(heard, now["heard"], strict=True)],
            "rings": rings,
            "rung": rung,
            "memory": tried.memory,
            "times": times,
            "states": states,
            "marks": marks,
        }

    begin |= {"times": times, "states": states, "marks": marks}
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
    n = found["y"].size
    direction = np.where(t1 >= t0, 1.0, -1.0)
    room = np.arange(times.size)
    known = np.where(room <= count, direction * times, np.inf)
    k = np.searchsorted(known, direction * wg.stop_gradient(ts), side="left") - 1
    k = np.clip(k, 0, np.maximum(count - 1, 0))

    def at(t: Any, step: Step, state: Any, after: Any) -> Any:
        step, is_empty = _lasting(step)
        x = (t - step.start) / step.h
        return np.where(is_empty, state[:n], method.within(rate, step, state, after)(x))

    if options.every == 1:
        states = found["states"]
        return wg.vmap(at)(ts, _at(found, k), states[k], states[k + 1]).T

    def again(t: Any, k: Any) -> Any:
        return at(t, _at(found, k), *_around(rate, options, found, k))

    return wg.scan(lambda _, x: (None, wg.checkpoint(again)(*x)), None, (ts, k))[1].T


@lru_cache(maxsize=256)
def _bells(fun: Callable[..., Any], options: _Options) -> Callable[..., Any]:
    """The compiled function that says in which steps each event happens, and how many they are."""

    def bells(given: dict[str, Any], found: dict[str, Any]) -> list[tuple[Any, Any]]:
        given, found = wg.stop_gradient((given, found))
        _, hears = _equation(fun, options, given)
        count, n = found["count"], given["y0"].size
        room = np.arange(found["times"].size - 1)
        if options.every > 1:  # all are terminal, and happen in the last step
            masks = [(room == count - 1) & is_heard for is_heard in found["rings"]]
        else:
            taken = np.minimum(np.arange(found["times"].size), count)
            ts, ys = found["times"][taken], found["states"][taken][:, :n]
            signs = [getattr(g, "direction", 0.0) for g in options.events]
            heard = [wg.vmap(lambda t, y, hear=hear: hear(t, y) * 1.0)(ts, ys) for hear in hears]
            masks = [(room < count) & _rings(h[:-1], h[1:], sign) for h, sign in zip(heard, signs, strict=True)]
        return [(mask, np.sum(mask)) for mask in masks]

    return wg.jit(bells)


@lru_cache(maxsize=256)
def _locator(fun: Callable[..., Any], options: _Options, event: int, number: int) -> Callable[..., Any]:
    """The compiled function that gives times and states of an event that happens in so many steps."""

    def locate(given: dict[str, Any], found: dict[str, Any], mask: Any) -> tuple[Any, Any]:
        rate, hears = _equation(fun, options, given)
        steps = np.argsort(~mask, kind="stable")[:number]
        return wg.scan(lambda _, k: (None, _event_time(rate, hears[event], options, found, k)), None, steps)[1]

    return wg.jit(locate)


def _event_time(rate: Rate, hear: Any, options: _Options, found: dict[str, Any], k: Any) -> tuple[Any, Any]:
    """When step number ``k`` crosses zero of ``hear``, and the state then; its derivative is that of a step of
    Newton's."""
    step = _at(found, k)
    at = options.method.within(rate, step, *_around(rate, options, found, k))
    value = lambda x: hear(step.start + x * step.h, at(x))
    fixed = lambda x: wg.stop_gradient(value(x))
    left = fixed(0.0 * step.start)

    def halved(state: Any) -> Any:
        low, high, n = state
        middle = (low + high) / 2
        is_left = np.sign(fixed(middle)) == np.sign(left)
        return np.where(is_left, middle, low), np.where(is_left, high, middle), n + 1

    zero = wg.stop_gradient(0.0 * step.start)
    x = wg.stop_gradient(wg.while_loop(lambda s: s[2] < 60, halved, (zero, zero + 1.0, np.int64(0)))[1])
    for _ in range(2):
        _, slope = wg.jvp(value, (x,), (np.ones_like(x),))
        x = x - value(x) / np.where(slope == 0, 1.0, slope)
    return step.start + x * step.h, at(x)


# --------------------------------------------------------------------------------------------------------- results


def _result(
    fun: Callable[..., Any], options: _Options, given: dict[str, Any], found: dict[str, Any], dense_output: bool
) -> OdeResult:
    status = {FINISHED: 0, AT_EVENT: 1}.get(int(found["status"]), -1)
    message = MESSAGES[status]
    if status == -1:
        message += " " + _why(options, given, found)
    ts, ys = given["t_eval"], None
    t_events, y_events, reached = _events(fun, options, given, found)
    if options.has_outputs:
        ys = found["outputs"]
        if status != 0:  # those before its end
            t = found["t"] if reached is None else reached[0]
            is_there = np.sign(given["t1"] - given["t0"]) * (np.asarray(ts) - t) <= 0
            ts, ys = ts[is_there], ys[:, is_there]
    else:
        k = int(found["count"])
        ts, ys = found["times"][: k + 1], found["states"][: k + 1, : given["y0"].size].T
        if reached is not None:
            t, y = reached
            ts, ys = np.concatenate([ts[:-1], [t]]), np.concatenate([ys[:, :-1], y[:, None]], axis=1)
    nfev, njev, nlu = found["costs"]
    return OdeResult(
        t=ts,
        y=ys,
        sol=Solution(fun, options, given, found) if dense_output else None,
        t_events=t_events,
        y_events=y_events,
        nfev=nfev,
        njev=njev,
        nlu=nlu,
        status=status,
        message=message,
        success=status >= 0,
    )


@wg.primitive(type=lambda status, count: np.empty(status.shape, np.int64))
def _has_room(status: Any, count: Any) -> Any:
    """The status; raises where there was too little room for the steps."""
    if np.any(status == FULL):
        what = f"solve_ivp: more than {int(np.max(count))} steps, in a batch or in the body of a loop"
        raise ValueError(wg.errors.message(what, tries=["a larger max_steps", "less accuracy, rtol and atol"]))
    return np.array(status, np.int64)


@_has_room.def_batch
def _have_room(batched: Any, status: Any, count: Any) -> Any:
    return _has_room(status, count)


IN_A_BATCH = "status says of each example how it ended: 0 at the end of t_span, -1 before it; what lies behind is NaN."


def _result_of_any(
    fun: Callable[..., Any], options: _Options, given: dict[str, Any], listeners: Any, dense_output: bool
) -> OdeResult:
    """The result where nobody sees how the solution ended: in a batch, or in the body of a loop."""
    where = "in a batch, or in the body of a loop,"
    if not options.has_outputs:
        what = f"solve_ivp: {where} the number of steps is not known"
        raise wg.errors.ConcretizationError(wg.errors.message(what, tries=["t_eval=", "a Python loop over examples"]))
    if listeners:
        what = f"solve_ivp: {where} the number of events is not known"
        raise wg.errors.ConcretizationError(wg.errors.message(what, tries=["a Python loop over examples"]))
    found = _searcher(fun, options)(given, None)
    found = _follower_of(fun, options)(given, found)
    ended = _has_room(found["status"], found["count"])
    status = np.where(ended == FINISHED, 0, -1)
    t0, ts = given["t0"], given["t_eval"]
    is_there = (np.minimum(t0, found["t"]) <= ts) & (ts <= np.maximum(t0, found["t"])) & (ended != FULL)
    nfev, njev, nlu = found["costs"]
    return OdeResult(
        t=given["t_eval"],
        y=np.where(is_there, found["outputs"], np.nan),
        sol=Solution(fun, options, given, found) if dense_output else None,
        t_events=None,
        y_events=None,
        nfev=nfev,
        njev=njev,
        nlu=nlu,
        status=status,
        message=IN_A_BATCH,
        success=status >= 0,
    )


def _why(options: _Options, given: dict[str, Any], found: dict[str, Any]) -> str:
    """Which component fails, at what time."""
    k = int(found["count"])
    t, y = found["times"][k], found["y"]
    dy = np.abs(np.asarray(found["first"]))
    bad = np.flatnonzero(~np.isfinite(dy))
    size = np.abs(np.asarray(y)) + np.asarray(given["atol"])
    worst = int(bad[0]) if len(bad) else int(np.argmax(dy / np.where(size == 0, np.finfo(float).tiny, size)))
    return f"At step {k}, t = {float(t)!r}: component {worst} is {y[worst]} and changes by {found['first'][worst]}."


def _events(
    fun: Callable[..., Any], options: _Options, given: dict[str, Any], found: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """Times and states of the events, a list of arrays each, and time and state of the one that ended the solution."""
    if not options.events:
        return None, None, None
    masks = _bells(fun, options)(given, found)
    heard: list[Any] = []
    for e, (mask, number) in enumerate(masks):
        heard.append(_locator(fun, options, e, int(number))(given, found, mask))
    reached, last = None, found["count"] - 1
    if int(found["status"]) == AT_EVENT:
        direction = np.sign(given["t1"] - given["t0"])
        ends = [(e, n) for e, n in zip(options.terminal, found["rung"], strict=True) if n >= options.limits[e]]
        ended = [tuple([x[-1] for x in heard[e]]) for e, _ in ends]
        reached = min(ended, key=lambda both: direction * both[0])
        for e, (mask, _) in enumerate(masks):  # no event happens after the end
            if mask[last] and direction * (heard[e][0][-1] - reached[0]) > 0:
                heard[e] = tuple([x[:-1] for x in heard[e]])
    return [t for t, _ in heard], [y for _, y in heard], reached


class Solution:
    """y as a function of t: ``sol(t)`` of shape (n,), or (n, m) for m times."""

    def __init__(self, fun: Any, options: _Options, given: dict[str, Any], found: dict[str, Any]) -> None:
        self._fun, self._options, self._given, self._found = fun, options, given, found

    @property
    def ts(self) -> Any:
        """The times between steps."""
        return self._found["times"][: int(self._found["count"]) + 1]

    @property
    def t_min(self) -> Any:
        return np.min(self.ts)

    @property
    def t_max(self) -> Any:
        return np.max(self.ts)

    def __call__(self, t: Any) -> Any:
        ts = np.atleast_1d(t) * 1.0
        if not ts.size:
            return np.zeros((self._given["y0"].size, 0))
        ys = _interpolator(self._fun, self._options)(self._given, self._found, ts)
        return ys[:, 0] if np.ndim(t) == 0 else ys


@lru_cache(maxsize=256)
def _interpolator(fun: Callable[..., Any], options: _Options) -> Callable[..., Any]:
    def interpolate(given: dict[str, Any], found: dict[str, Any], ts: Any) -> Any:
        rate = rate_of(fun, given["args"], given["y0"].dtype)
        return between(rate, options, found, given["t0"], given["t1"], ts)

    return wg.jit(interpolate)
