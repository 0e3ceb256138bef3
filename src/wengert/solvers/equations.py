"""Equations: Jacobians of systems, slopes of functions of one number."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.solvers.calls import FilledCall, as_tuple, fills, vector
from wengert.solvers.kinds import CURVATURE, JACOBIAN, SLOPE
from wengert.solvers.minima import is_empty


@fills("scipy.optimize:root")
def root(call: FilledCall) -> Any:
    given = call.given
    x = vector(given.get("x0"))
    method = given.get("method", "hybr")
    if (
        x is None
        or not isinstance(method, str)
        or method.lower() not in ("hybr", "lm")
        or not is_empty(given.get("jac"))
    ):
        return call.plain()
    found = call.supplied(given.get("fun"), JACOBIAN, (x, *as_tuple(given.get("args", ()))))
    return call.plain() if found is None else call.filled(jac=found)


@fills("scipy.optimize:fsolve")
def fsolve(call: FilledCall) -> Any:
    given = call.given
    x = vector(given.get("x0"))
    if x is None or not is_empty(given.get("fprime")) or given.get("band") is not None:
        return call.plain()
    found = call.supplied(given.get("func"), JACOBIAN, (x, *as_tuple(given.get("args", ()))))
    return call.plain() if found is None else call.filled(fprime=found, col_deriv=0)


@fills("scipy.optimize:newton")
def newton(call: FilledCall) -> Any:
    """Newton's method takes the place of the secant method; whoever gives ``x1`` asks for that one."""
    given = call.given
    x0 = given.get("x0")
    is_asked_for = all(is_empty(given.get(name)) for name in ("fprime", "fprime2", "x1"))
    if vector(x0) is None or not is_asked_for:
        return call.plain()
    x = (np.asarray(x0) * 1.0)[()]
    found = call.supplied(given.get("func"), SLOPE, (x, *as_tuple(given.get("args", ()))))
    return call.plain() if found is None else call.filled(fprime=found)


@fills("scipy.optimize:root_scalar")
def root_scalar(call: FilledCall) -> Any:
    given = call.given
    method = given.get("method")
    is_newtons = method in ("newton", "halley") or (
        method is None and all(given.get(k) is None for k in ("bracket", "x1"))
    )
    x = vector(given.get("x0"))
    if x is None or x.size != 1 or not is_newtons:
        return call.plain()
    slots, args = {}, as_tuple(given.get("args", ()))
    if is_empty(given.get("fprime")):
        found = call.supplied(given.get("f"), SLOPE, (x[0], *args))
        slots |= {} if found is None else {"fprime": found}
    if method == "halley" and is_empty(given.get("fprime2")) and given.get("fprime") is not True:
        found = call.supplied(given.get("f"), CURVATURE, (x[0], *args))
        slots |= {} if found is None else {"fprime2": found}
    return call.filled(**slots)
