"""Least squares: Jacobians of residuals, and of models in their parameters."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from wengert.solvers.calls import FilledCall, as_tuple, fills, vector
from wengert.solvers.kinds import COLUMNS, JACOBIAN
from wengert.solvers.minima import is_empty


@fills("scipy.optimize:least_squares")
def least_squares(call: FilledCall) -> Any:
    given = call.given
    x = vector(given.get("x0"))
    is_default = isinstance(given.get("jac", "2-point"), str) and given.get("jac", "2-point") == "2-point"
    if x is None or not is_default or given.get("jac_sparsity") is not None:
        return call.plain()
    args, kwargs = as_tuple(given.get("args", ())), dict(given.get("kwargs") or {})
    found = call.supplied(given.get("fun"), JACOBIAN, (x, *args), kwargs)
    return call.plain() if found is None else call.filled(jac=found)


@fills("scipy.optimize:leastsq")
def leastsq(call: FilledCall) -> Any:
    given = call.given
    x = vector(given.get("x0"))
    if x is None or not is_empty(given.get("Dfun")):
        return call.plain()
    found = call.supplied(given.get("func"), JACOBIAN, (x, *as_tuple(given.get("args", ()))))
    return call.plain() if found is None else call.filled(Dfun=found, col_deriv=False)


@fills("scipy.optimize:curve_fit")
def curve_fit(call: FilledCall) -> Any:
    given = call.given
    if not is_empty(given.get("jac")) or "Dfun" in given.get("kwargs", {}):
        return call.plain()
    p = _beginning(given)
    if p is None:
        return call.plain()
    x = given.get("xdata")
    if isinstance(x, list | tuple | np.ndarray):
        try:
            x = np.asarray(x, float)  # as SciPy does
        except (TypeError, ValueError):
            return call.plain()
    found = call.supplied(given.get("f"), COLUMNS, (x, *[np.float64(one) for one in p]))
    return call.plain() if found is None else call.filled(jac=found)


def _beginning(given: dict[str, Any]) -> Any:
    """Parameters at which the model may be recorded: where the fit begins, if that is said."""
    if given.get("p0") is not None:
        return vector(given["p0"])
    try:
        parameters = [*inspect.signature(given["f"]).parameters.values()]
    except (KeyError, TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return np.ones(sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters) - 1)
