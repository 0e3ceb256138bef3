"""lmfit: the Jacobian of a residual with respect to the parameters that vary, for ``Dfun=`` and ``jac=``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["gradient", "jacobian"]


def jacobian(residual: object, *, strict: bool = False) -> Callable[..., Any]:
    """Return the ``Dfun`` of ``lmfit.minimize`` by ``"leastsq"``, and the ``jac`` by ``"least_squares"``, compiled.

    Which parameters vary is asked at each call. A parameter with an expression is differentiated through it. lmfit
    itself sees to the bounds.

    Parameters
    ----------
    residual : the function that ``lmfit.minimize`` minimises, of ``lmfit.Parameters`` and other arguments; or an
        ``lmfit.Model``, whose ``fit`` takes the result in ``fit_kws``.
    strict : raise where the residual cannot be compiled, as :func:`wengert.jit` does.

    Returns
    -------
    A function of the same arguments that returns float[m, n] for m residuals and n parameters that vary. Complex
    residuals count twice, a real and an imaginary part each, as lmfit takes them.

    Raises
    ------
    ModuleNotFoundError : lmfit is not installed.
    ArgumentError : it is neither.
    UnsupportedFunctionError : at a call, an expression has more than names, numbers, operators and calls.

    Examples
    --------
    >>> import lmfit, numpy as np
    >>> import wengert as wg
    >>> def residual(params, x, y):
    ...     return params["a"] * np.exp(-params["b"] * x) - y
    >>> x = np.linspace(0, 4, 30)
    >>> params = lmfit.create_params(a=1.0, b={"value": 1.0, "min": 0})
    >>> fit = lmfit.minimize(residual, params, args=(x, 2 * np.exp(-0.5 * x)), Dfun=wg.hosts.lmfit.jacobian(residual))
    >>> print(*[f"{p.name} = {p.value:.4f}" for p in fit.params.values()])
    a = 2.0000 b = 0.5000
    """
    from wengert.hosts import _lmfit

    return _lmfit.jacobian(residual, strict)


def gradient(residual: object, *, strict: bool = False) -> Callable[..., Any]:
    """Return the ``jac`` of ``lmfit.minimize`` by ``"bfgs"``, ``"lbfgsb"`` and other methods for one number, compiled.

    Parameters
    ----------
    residual : as for :func:`jacobian`. Of several residuals the sum of squares is meant, as in lmfit.
    strict : as for :func:`jacobian`.

    Returns
    -------
    A function of the same arguments that returns float[n] for n parameters that vary.

    Raises
    ------
    ModuleNotFoundError, ArgumentError, UnsupportedFunctionError : as for :func:`jacobian`.

    Examples
    --------
    >>> import lmfit
    >>> import wengert as wg
    >>> def cost(params):
    ...     return (params["a"] - 1) ** 2 + (params["b"] - params["a"] ** 2) ** 2
    >>> params = lmfit.create_params(a=-1.0, b=2.0)
    >>> fit = lmfit.minimize(cost, params, method="bfgs", jac=wg.hosts.lmfit.gradient(cost))
    >>> print(*[f"{p.name} = {p.value:.3f}" for p in fit.params.values()])
    a = 1.000 b = 1.000
    """
    from wengert.hosts import _lmfit

    return _lmfit.gradient(residual, strict)
