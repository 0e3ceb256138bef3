"""The options of a solution: what a compiled solver is made for, what each call gives it, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import wengert as wg
from wengert.ode.methods import METHODS
from wengert.ode.step import Method, Real

BUDGET = 1 << 30
"""Bytes of the states that are kept, unless somebody says otherwise."""
NOT_NEEDED = {"jac", "jac_sparsity", "lband", "uband", "min_step"}
"""The options of SciPy's that are taken and not needed."""


class Options(NamedTuple):
    """These options, beside the equation, are what a solver is compiled for."""

    method: Method
    room: int
    """The number of steps that there is room for."""
    every: int
    """A state is kept every so many steps."""
    max_steps: int | None
    events: tuple[Callable[..., Any], ...]
    limits: tuple[int, ...]
    """How often each event may happen before it ends the solution; 0: it never does."""
    has_outputs: bool
    """Whether ``t_eval`` is given."""
    has_first_step: bool

    @property
    def terminal(self) -> list[int]:
        """The numbers of the events that may end the solution."""
        return [e for e, limit in enumerate(self.limits) if limit]


class Given(NamedTuple):
    """These numbers and arrays, which may be traced, are what a call gives the compiled solver."""

    t0: Any
    t1: Any
    y0: Any
    """The state at t0, float64[n] or complex128[n]."""
    args: tuple[Any, ...]
    """Further arguments of the equation, pytrees."""
    rtol: float
    atol: Any
    """The absolute tolerance of each component, float64[n]."""
    first_step: float
    """The length of the first step; 0 where the solver chooses it."""
    max_step: float
    t_eval: Any
    """The times where y is wanted, float64[m]; None: where the steps end."""


@lru_cache(maxsize=1024)
def compiled(function: Callable[..., Any], fun: Callable[..., Any], *fixed: Any) -> Callable[..., Any]:
    """Return ``function(fun, *fixed, ...)`` compiled for the arguments behind those, once for each ``fun``."""
    return wg.jit(lambda *args: function(fun, *fixed, *args))


def seen(x: Any) -> bool | None:
    """A boolean, where there is one value to look at; None in a batch, and in the body of a loop."""
    try:
        return bool(int(x))  # a body would decide bool(x) for itself
    except wg.errors.ConcretizationError:
        return None


def method_of(name: str | type) -> Method:
    """The method of this name, or of the name of a class of SciPy's."""
    chosen = METHODS.get(name if isinstance(name, str) else name.__name__)
    if chosen is None:
        what = f"solve_ivp: method is {wg.expect.given(name)}; expected one of {', '.join(METHODS)}"
        raise wg.errors.OptionError(wg.errors.message(what))
    return chosen


def initial_state(y0: ArrayLike) -> Any:
    """The initial state as an array of shape (n,)."""
    y = np.asarray(y0)
    if y.ndim != 1 or not y.size:
        raise ValueError(f"y0 has shape {y.shape}; expected (n,), n > 0")
    return y.astype(complex if y.dtype.kind == "c" else float)


def check_options(
    t0: Real, t1: Real, first_step: float | None, max_step: Real, max_steps: int | None, atol: ArrayLike
) -> None:
    """Raise where an option makes no sense, as far as its value is seen."""
    if not max_step > 0:
        raise ValueError(f"max_step is {max_step}; expected more than 0")
    if max_steps is not None and max_steps < 1:
        raise ValueError(f"max_steps is {max_steps}; expected 1 or more")
    if np.any(np.asarray(atol, float) < 0):
        raise ValueError(f"atol is {atol}; expected 0 or more")
    if first_step is not None and not (first_step > 0 and seen(first_step <= np.abs(t1 - t0)) is not False):
        raise ValueError(f"first_step is {first_step}; expected more than 0, and no more than t_span")


def check_times(times: Any, t0: Real, t1: Real) -> None:
    """Raise where values of t_eval are outside of t_span, or in no order, as far as they are seen."""
    if times is None:
        return
    if times.ndim != 1:
        raise ValueError(f"t_eval has shape {times.shape}; expected (m,)")
    is_outside = np.any((times < np.minimum(t0, t1)) | (times > np.maximum(t0, t1)))
    if seen(is_outside):
        raise ValueError("t_eval: values are outside of t_span")
    is_unsorted = np.any((times[1:] - times[:-1]) * np.sign(t1 - t0) < 0)
    if seen(is_unsorted):
        raise ValueError("t_eval: values are not sorted from the start of t_span to its end")


def spacing(room: int, budget: float) -> int:
    """The number of steps between two states that are kept, a power of two: so many that the kept states, their
    cotangents, and the states of the steps between two of them are no more than ``budget`` states."""
    every = 1
    while 4 * every**2 <= room and 2 * -(-room // every) + every > budget:
        every *= 2
    return every


def event_functions(events: Callable[..., Any] | Sequence[Callable[..., Any]] | None) -> tuple[Callable[..., Any], ...]:
    """The functions of the events as a tuple, as one or several are given, or none."""
    if events is None:
        return ()
    return (events,) if callable(events) else tuple(events)


def limit_of(event: Callable[..., Any]) -> int:
    """How often an event happens before it ends the solution; 0: it never does."""
    terminal = getattr(event, "terminal", None) or 0
    if int(terminal) != terminal or terminal < 0:
        raise ValueError(f"the event's attribute terminal is {terminal!r}; expected a boolean or a positive integer")
    return int(terminal)
