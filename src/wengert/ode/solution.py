"""The result of a solution: SciPy's fields, y as a function of time, and how the solution ended, in words."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

import wengert as wg
from wengert.ode.events import events_of
from wengert.ode.follow import Followed, interpolated
from wengert.ode.options import Given, Options, compiled
from wengert.ode.search import AT_EVENT, FINISHED, FULL, SearchState
from wengert.ode.step import Array, Real

MESSAGES = {
    0: "The solver successfully reached the end of the integration interval.",
    1: "A termination event occurred.",
    -1: "Required step size is less than spacing between numbers.",
}
IN_A_BATCH = "status says of each example how it ended: 0 at the end of t_span, -1 before it; what lies behind is NaN."


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

    t: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]
    sol: Solution | Any
    """None without ``dense_output``. The call says whether it is there, and its type does not: so ``Any`` is added."""
    t_events: list[Any] | Any
    y_events: list[Any] | Any
    nfev: Any
    njev: Any
    nlu: Any
    status: Any
    message: str
    success: Any

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a row an entry, of large arrays the shape and a few elements."""
        with np.printoptions(precision=4, threshold=20, edgeitems=2):
            rows = [f"<tr><th>{escape(str(name))}</th><td>{escape(_in_short(x))}</td></tr>" for name, x in self.items()]
        return f"<table>{''.join(rows)}</table>"


def _in_short(x: Any) -> str:
    shown = repr(x) if not isinstance(x, np.ndarray) or x.size < 7 else f"{x.dtype}{list(x.shape)}: {x}"
    return shown if len(shown) < 400 else shown[:400] + " ..."


class Solution:
    """y as a function of t: ``sol(t)`` of shape (n,), or (n, m) for m times."""

    def __init__(
        self, fun: Callable[..., Any], options: Options, given: Given, followed: Followed, event: Real | None = None
    ) -> None:
        """``event`` is when the solution ends before t_span does."""
        self._fun, self._options, self._given, self._followed, self._event = fun, options, given, followed, event

    def __repr__(self) -> str:
        end = self._given.t1 if self._event is None else self._event
        return f"<y as a function of t, from {self._given.t0!s} to {end!s}>"

    @property
    def ts(self) -> Any:
        """The times between steps."""
        return _between_steps(self._given, self._followed.found, self._event)

    @property
    def t_min(self) -> Any:
        return np.min(self.ts)

    @property
    def t_max(self) -> Any:
        return np.max(self.ts)

    def __call__(self, t: Real) -> Any:
        ts = np.atleast_1d(t) * 1.0
        if not ts.size:
            return np.zeros((self._given.y0.size, 0))
        ys = compiled(interpolated, self._fun, self._options)(self._given, self._followed, ts)
        return ys[:, 0] if np.ndim(t) == 0 else ys


def result(
    fun: Callable[..., Any], options: Options, given: Given, followed: Followed, dense_output: bool
) -> OdeResult:
    """The result where it is seen how the solution ended."""
    found = followed.found
    status = {FINISHED: 0, AT_EVENT: 1}.get(int(found.status), -1)
    message = MESSAGES[status]
    if status == -1:
        message += " " + _why(given, found)
    ts, ys = given.t_eval, followed.outputs
    t_events, y_events, reached = events_of(fun, options, given, followed)
    if options.has_outputs:
        if status != 0:  # those before its end
            t = found.t if reached is None else reached[0]
            is_there = np.sign(given.t1 - given.t0) * (np.asarray(ts) - t) <= 0
            ts, ys = ts[is_there], ys[:, is_there]
    else:
        k = int(found.count)
        ts = _between_steps(given, found, None if reached is None else reached[0])
        ys = found.states[: k + 1, : given.y0.size].T
        if reached is not None:
            ys = np.concatenate([ys[:, :-1], reached[1][:, None]], axis=1)
    nfev, njev, nlu = found.costs
    return OdeResult(
        t=ts,
        y=ys,
        sol=Solution(fun, options, given, followed, None if reached is None else reached[0]) if dense_output else None,
        t_events=t_events,
        y_events=y_events,
        nfev=nfev,
        njev=njev,
        nlu=nlu,
        status=status,
        message=message,
        success=status >= 0,
    )


def _between_steps(given: Given, found: SearchState, event: Real | None) -> Any:
    """The times between steps. The first and the last are those of t_span, or the last is that of the event that ends
    the solution: these move. The others the search has chosen: they are constants, as they are to the states there."""
    k, start = int(found.count), np.reshape(given.t0, (1,))
    if k == 0:
        return start
    end: Any = given.t1 if int(found.status) == FINISHED else found.times[k]
    return np.concatenate([start, found.times[1:k], np.reshape(end if event is None else event, (1,))])


def check_batch(options: Options) -> None:
    """Raise where a result would have shapes that are not known in a batch, or in the body of a loop."""
    where = "in a batch, or in the body of a loop,"
    if not options.has_outputs:
        what = f"solve_ivp: {where} the number of steps is not known"
        raise wg.errors.ConcretizationError(wg.errors.message(what, tries=["t_eval=", "a Python loop over examples"]))
    if options.events:
        what = f"solve_ivp: {where} the number of events is not known"
        raise wg.errors.ConcretizationError(wg.errors.message(what, tries=["a Python loop over examples"]))


def batch_result(
    fun: Callable[..., Any], options: Options, given: Given, followed: Followed, dense_output: bool
) -> OdeResult:
    """The result where nobody sees how the solution ended: in a batch, or in the body of a loop."""
    found, ts = followed.found, given.t_eval
    has_any_room = options.max_steps is None and found.times is None  # nothing was kept, so there is room for it
    ended = found.status if has_any_room else _has_room(found.status, found.count)
    status = np.where(ended == FINISHED, 0, -1)
    is_there = (np.minimum(given.t0, found.t) <= ts) & (ts <= np.maximum(given.t0, found.t)) & (ended != FULL)
    nfev, njev, nlu = found.costs
    return OdeResult(
        t=ts,
        y=np.where(is_there, followed.outputs, np.nan),
        sol=Solution(fun, options, given, followed) if dense_output else None,
        t_events=None,
        y_events=None,
        nfev=nfev,
        njev=njev,
        nlu=nlu,
        status=status,
        message=IN_A_BATCH,
        success=status >= 0,
    )


@wg.primitive(type=lambda status, count: np.empty(status.shape, np.int64))
def _has_room(status: Array, count: Array) -> Any:
    """The status; raises where there was too little room for the steps."""
    if np.any(status == FULL):
        what = f"solve_ivp: more than {int(np.max(count))} steps, in a batch or in the body of a loop"
        raise ValueError(wg.errors.message(what, tries=["a larger max_steps", "larger rtol and atol"]))
    return np.array(status, np.int64)


@_has_room.def_batch
def _have_room(batched: bool, status: Array, count: Array) -> Any:
    return _has_room(status, count)


def _why(given: Given, found: SearchState) -> str:
    """Which component fails, at what time."""
    k = int(found.count)
    t, y = found.times[k], found.y
    dy = np.abs(np.asarray(found.first))
    bad = np.flatnonzero(~np.isfinite(dy))
    size = np.abs(np.asarray(y)) + np.asarray(given.atol)
    worst = int(bad[0]) if len(bad) else int(np.argmax(dy / np.where(size == 0, np.finfo(float).tiny, size)))
    return f"At step {k}, t = {t}: component {worst} is {y[worst]} and changes by {found.first[worst]}."
