"""Differential equations: Jacobians of right-hand sides, for implicit methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.solvers.calls import FilledCall, as_tuple, fills, vector
from wengert.solvers.kinds import JACOBIAN, JACOBIAN_OF_SECOND
from wengert.solvers.minima import is_empty

IMPLICIT = ("Radau", "BDF", "LSODA")


@fills("scipy.integrate:solve_ivp")
def solve_ivp(call: FilledCall) -> Any:
    given = call.given
    options = given.get("options", {})
    method = given.get("method", "RK45")
    name = method if isinstance(method, str) else getattr(method, "__name__", "")
    y = vector(given.get("y0"))
    others = ("jac", "jac_sparsity", "lband", "uband")
    if y is None or name not in IMPLICIT or any(options.get(k) is not None for k in others):
        return call.plain()
    args = given.get("args")
    try:
        t = float(given["t_span"][0])
        more = () if args is None else (*args,)
    except (KeyError, TypeError, ValueError, IndexError):
        return call.plain()
    found = call.supplied(given.get("fun"), JACOBIAN_OF_SECOND, (t, y, *more))
    return call.plain() if found is None else call.filled(options={**options, "jac": found})


@fills("scipy.integrate:odeint")
def odeint(call: FilledCall) -> Any:
    given = call.given
    y = vector(given.get("y0"))
    if y is None or not is_empty(given.get("Dfun")) or given.get("ml") is not None or given.get("mu") is not None:
        return call.plain()
    try:
        t = float(np.asarray(given["t"]).flat[0])
    except (KeyError, TypeError, ValueError, IndexError):
        return call.plain()
    args = as_tuple(given.get("args", ()))
    is_first = bool(given.get("tfirst", False))
    kind, at = (JACOBIAN_OF_SECOND, (t, y)) if is_first else (JACOBIAN, (y, t))
    found = call.supplied(given.get("func"), kind, (*at, *args))
    return call.plain() if found is None else call.filled(Dfun=found, col_deriv=0)
