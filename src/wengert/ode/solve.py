"""``solve_ivp``: a search for steps that are accurate enough, and the derivatives of the steps that it found.

The search (``search.py``) is one native loop without derivatives. The steps that it found are followed once more
(``follow.py``), with derivatives, and the events are looked for in them (``events.py``). Where nobody sees how many
steps there are, and few values are wanted, one loop does both (``together.py``). Each of them is compiled
once for an equation and its options (``options.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import wengert as wg
from wengert.ode.follow import follow
from wengert.ode.options import (
    BUDGET,
    NOT_NEEDED,
    Given,
    Options,
    check_options,
    check_times,
    compiled,
    event_functions,
    initial_state,
    limit_of,
    method_of,
    seen,
    spacing,
)
from wengert.ode.search import FULL, search
from wengert.ode.solution import OdeResult, batch_result, check_batch, result
from wengert.ode.together import are_few, solve_together

ROOM = 256
"""The number of steps that there is room for at first; four times as many when they do not do."""
UNSEEN_ROOM = 1024
"""The number of steps that there is room for where nobody sees how many they are."""

Array = ArrayLike
"""A value of which the door makes an array."""


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

    Derivatives, of any order, exist in y0, args, what ``fun`` captures, t_span
    and t_eval, and in the times of events. Where ``t_eval`` is None, the first and the last t move with t_span, or with
    the event that ends the solution; the times between are the solver's choice, and constants. Within a traced function
    the number of steps is a path of its own there, and so is the number of events.

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
    chosen = method_of(method)
    for name_of, t in zip(("t_span[0]", "t_span[1]"), t_span, strict=True):
        wg.expect.require("solve_ivp", name_of, t, "float")
    if unknown := not_needed.keys() - NOT_NEEDED:
        raise TypeError(f"solve_ivp: no option {', '.join(sorted(unknown))}")
    start, (t0, t1) = initial_state(y0), t_span
    wg.expect.fits("solve_ivp", "atol", atol, "y0", start.shape)
    check_options(t0, t1, first_step, max_step, max_steps, atol)
    if getattr(fun, "__hash__", None) is None:  # what is compiled is kept by it
        fun = fun.__call__
    if chosen.is_implicit and start.dtype.kind == "c":
        raise ValueError(f"{chosen.name}: the state is complex; solve for its real and imaginary part")
    times = None if t_eval is None else np.asarray(t_eval) * 1.0
    check_times(times, t0, t1)
    listed = event_functions(events)
    limits = tuple([limit_of(g) for g in listed])
    given = Given(
        t0=t0 * 1.0,
        t1=t1 * 1.0,
        y0=start,
        args=() if args is None else tuple(args),
        rtol=max(float(rtol), 100 * np.finfo(float).eps),
        atol=np.asarray(atol, float) * np.ones(start.shape),
        first_step=0.0 if first_step is None else float(first_step),
        max_step=float(max_step),
        t_eval=times,
    )
    asks_for_all = t_eval is None or dense_output or any(limit != 1 for limit in limits)
    budget_of_states = np.inf if asks_for_all else budget // (chosen.rows * start.size * start.dtype.itemsize)
    room = ROOM if max_steps is None else min(ROOM, max_steps)
    every = spacing(room, budget_of_states)
    options = Options(chosen, room, every, max_steps, listed, limits, t_eval is not None, first_step is not None)
    return _solved(fun, options, given, budget_of_states, dense_output)


def _solved(fun: Callable[..., Any], options: Options, given: Given, budget: float, dense_output: bool) -> OdeResult:
    """Search with more and more room until all steps are found, and follow them; ``budget`` is a number of states."""
    found = None
    while True:
        found = compiled(search, fun, options)(given, found)
        is_full = seen(found.status == FULL)
        if is_full is None:
            check_batch(options)
            if are_few(options, given) and not dense_output:
                return batch_result(fun, options, given, compiled(solve_together, fun, options)(given), False)
            options = options._replace(room=options.max_steps or UNSEEN_ROOM, every=1)
            found = compiled(search, fun, options)(given, None)
            return batch_result(fun, options, given, compiled(follow, fun, options)(given, found), dense_output)
        if not is_full:
            return result(fun, options, given, compiled(follow, fun, options)(given, found), dense_output)
        if options.room == options.max_steps:
            raise ValueError(f"solve_ivp: more than max_steps={options.max_steps} steps before t = {given.t1}")
        room = 4 * options.room if options.max_steps is None else min(4 * options.room, options.max_steps)
        options = options._replace(room=room, every=spacing(room, budget))
