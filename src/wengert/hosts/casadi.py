"""CasADi: a NumPy function among its symbols, as a ``casadi.Callback`` with derivatives of every order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wengert as wg

__all__ = ["function"]


@wg.expect.checked
def function(f: Callable[..., Any], *example: Any, name: str | None = None) -> Any:
    """Return ``f`` as a ``casadi.Function`` that can be called with numbers and with symbols (``MX``).

    CasADi differentiates it through wengert, forward and reverse, and asks the results for their derivatives again: so
    ``nlpsol`` gets exact gradients, Jacobians and Hessians.

    Parameters
    ----------
    f : takes arrays and numbers by position, and returns one or a tuple of them: float64 of up to two dimensions. A
        vector is a column of CasADi's.
    example : arguments of the shapes that it is to take; their values do not matter, unless ``f`` branches on them.
    name : of the function in CasADi, letters and digits; by default that of ``f``.

    Returns
    -------
    A ``casadi.Callback``. CasADi does not own it and would call what is gone, so it is kept as long as Python runs.

    Raises
    ------
    ModuleNotFoundError : CasADi is not installed.
    ShapeError, DTypeError : an argument or result has more than two dimensions, or is complex.

    Examples
    --------
    >>> import casadi, numpy as np
    >>> import wengert as wg
    >>> rosenbrock = wg.hosts.casadi.function(
    ...     lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), np.ones(2)
    ... )
    >>> x = casadi.MX.sym("x", 2)
    >>> hessian, gradient = casadi.hessian(rosenbrock(x), x)
    >>> casadi.Function("g", [x], [gradient])([0, 1])
    DM([-2, 200])
    """
    from wengert.hosts import _casadi

    return _casadi.function(f, example, name)
