"""``scipy.integrate.solve_ivp`` and ``odeint`` within a traced function: wengert's solver, which differentiates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import wengert as wg
from wengert.errors import ConcretizationError, UnsupportedFunctionError, message
from wengert.tape import charge
from wengert.tracing.arguments import array, holds_unsettled, unsupported
from wengert.tracing.interception.asking import AT_FUNCTIONS, AT_OBJECT
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.interception.python_functions import original
from wengert.tracing.stack import current_trace

DEFAULT = 1.49012e-8  # the tolerances of odeint
A_SOLUTION = 20_000  # steps: so long does it take to record and compile one with its derivatives, a second


@intercepts("scipy.integrate:solve_ivp", AT_FUNCTIONS)
def solve_ivp(
    fun: Callable[..., Any],
    t_span: tuple[Any, Any],
    y0: ArrayLike,
    method: str = "RK45",
    t_eval: ArrayLike | None = None,
    dense_output: bool = False,
    events: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
    vectorized: bool = False,
    args: tuple[Any, ...] | None = None,
    **options: Any,
) -> Any:
    charge(A_SOLUTION, "solve_ivp")
    return wg.ode.solve_ivp(fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options)


@intercepts("scipy.integrate:odeint", AT_FUNCTIONS)
def odeint(*args: Any, **kwargs: Any) -> Any:
    """Where this fails, SciPy's own answers, with its warnings, if nothing traced goes in: what a function reads that
    it integrates is known when it runs."""
    try:
        return _solved(*args, **kwargs)
    except (UnsupportedFunctionError, RuntimeError, ValueError):
        trace = current_trace()
        if trace is None or holds_unsettled([*args, *kwargs.values()]):
            raise
        refusal = trace.looking.refusal
        try:
            return original(import_module("scipy.integrate").odeint)(*args, **kwargs)
        except ConcretizationError:
            trace.looking.refusal = refusal  # what is raised is why ours has failed
        raise


def _solved(
    func: Callable[..., Any],
    y0: ArrayLike,
    t: ArrayLike,
    args: tuple[Any, ...] | None = (),
    Dfun: Callable[..., Any] | None = None,  # SciPy's name
    col_deriv: int = 0,
    full_output: int = 0,
    ml: int | None = None,
    mu: int | None = None,
    rtol: float | None = None,
    atol: ArrayLike | None = None,
    tcrit: ArrayLike | None = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: int = 0,
    mxstep: int = 0,
    mxhnil: int = 0,
    mxordn: int = 12,
    mxords: int = 5,
    printmessg: int = 0,
    tfirst: bool = False,
) -> Any:
    if full_output:
        raise unsupported(
            "odeint of traced values: full_output is not there", "solve_ivp, whose result says how it went"
        )
    charge(A_SOLUTION, "odeint")
    ts = array(t)
    fun = func if tfirst else lambda t, y, *args: func(y, t, *args)
    found = wg.ode.solve_ivp(
        fun,
        (ts[0], ts[-1]),
        np.atleast_1d(y0),
        "LSODA",
        t_eval=ts,
        args=args if isinstance(args, tuple) else (args,),
        rtol=DEFAULT if rtol is None else rtol,
        atol=DEFAULT if atol is None else atol,
        first_step=h0 or None,
        max_step=hmax or np.inf,
        max_steps=mxstep or None,
    )
    if type(found.success) is bool and not found.success:  # in a batch, what fails is NaN
        trace = current_trace()
        tries = ["solve_ivp, whose result says how far it came", "a shorter t, or larger rtol and atol"]
        raise RuntimeError(message(f"odeint: {found.message}", trace.locate() if trace else None, tries=tries))
    return found.y.T


@intercepts("scipy.integrate:ode.integrate", AT_OBJECT)
def integrate(solver: Any, *args: Any, **kwargs: Any) -> Any:
    """SciPy's own, but that no exception passes through its compiled code, which goes on with it and may crash. What
    the function raises first is kept; from then on it gives zeros, and when the solver has ended it is raised."""
    kept: list[BaseException] = []
    own, own_jac = solver.f, solver.jac

    def guarded(f: Callable[..., Any], shape: Callable[[Any], tuple[int, ...]]) -> Callable[..., Any]:
        def call(t: float, y: Any, *rest: Any) -> Any:
            if not kept:
                try:
                    return np.asarray(f(t, y, *rest))
                except BaseException as error:  # Ctrl-C too: it is raised below
                    kept.append(error)
            return np.zeros(shape(y))

        return call

    solver.f = guarded(own, np.shape)
    solver.jac = own_jac and guarded(own_jac, lambda y: (np.size(y), np.size(y)))
    try:
        found = original(import_module("scipy.integrate").ode.integrate)(solver, *args, **kwargs)
    finally:
        solver.f, solver.jac = own, own_jac
        if kept:
            raise kept[0]
    return found
