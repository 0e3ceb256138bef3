"""SciPy's solvers of equations and of least squares on functions of trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.optimize

import wengert as wg
from wengert.optimize.vectors import Arrays, Packing, flat


@wg.expect.checked
def least_squares(
    f: Callable[..., Any],
    x0: Arrays,
    args: Sequence[Any] = (),
    method: str = "trf",
    *,
    bounds: tuple[Any, Any] | None = None,
    loss: str = "linear",
    options: dict[str, Any] | None = None,
) -> scipy.optimize.OptimizeResult:
    """Minimise the sum of squares of ``f(x, *args)``, a function of a tree, by :func:`scipy.optimize.least_squares`.

    The Jacobian is compiled, by forward or reverse mode as :func:`wengert.jacobian` chooses.

    Parameters
    ----------
    f : returns the residuals: an array, or a tree of arrays.
    x0 : where to begin: a real array, or a tree of arrays.
    args : further arguments of ``f``.
    method, loss : SciPy's.
    bounds : a pair ``(low, high)`` of trees of the structure of ``x0``, of arrays or numbers; None: none.
    options : further arguments of SciPy's function: ``xtol``, ``f_scale``, ``max_nfev`` ...

    Returns
    -------
    SciPy's result, with ``x`` and ``grad`` as trees, ``vector``, the x that SciPy saw, and ``jac``, float[m, n], of
    that.

    Raises
    ------
    OptionError : a bound's low is above its high.
    StructureError, ShapeError : bounds are of another structure or shape than ``x0``.
    DTypeError : ``x0`` is complex.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import optimize
    >>> t = np.linspace(0, 3, 20)
    >>> decay = lambda p: p["height"] * np.exp(-p["rate"] * t) - 2 * np.exp(-0.7 * t)
    >>> found = optimize.least_squares(decay, {"height": 1.0, "rate": 1.0})
    >>> round(float(found.x["height"]), 6), round(float(found.x["rate"]), 6)
    (2.0, 0.7)
    """
    packing = Packing("least_squares", x0)
    more: dict[str, Any] = {} if bounds is None else {"bounds": packing.bounds(bounds)}
    residuals, jacobian = _compiled(f, packing, args)
    found = scipy.optimize.least_squares(
        residuals, packing.start, jac=jacobian, method=method, loss=loss, **more, **(options or {})
    )
    found.vector, found.x, found.grad = found.x, packing.tree_of(found.x), packing.tree_of(found.grad)
    return found


@wg.expect.checked
def root(
    f: Callable[..., Any],
    x0: Arrays,
    args: Sequence[Any] = (),
    method: str = "hybr",
    *,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
) -> scipy.optimize.OptimizeResult:
    """Find where ``f(x, *args)``, a function of a tree, is zero, by :func:`scipy.optimize.root`.

    Parameters
    ----------
    f : returns as many numbers as ``x`` has: an array, or a tree of arrays.
    x0 : where to begin: a real array, or a tree of arrays.
    args : further arguments of ``f``.
    method, tol, options : SciPy's. "hybr" and "lm" get the compiled Jacobian.

    Returns
    -------
    SciPy's result, with ``x`` as a tree, and ``vector``, the x that SciPy saw.

    Raises
    ------
    ShapeError : ``f`` returns more numbers, or fewer.
    DTypeError : ``x0`` is complex.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import optimize
    >>> found = optimize.root(
    ...     lambda p: {"sum": p["a"] + p["b"] - 3, "product": p["a"] * p["b"] - 2}, {"a": 0.0, "b": 3.0}
    ... )
    >>> round(float(found.x["a"]), 6), round(float(found.x["b"]), 6)
    (1.0, 2.0)
    """
    packing = Packing("root", x0)
    values, jacobian = _compiled(f, packing, args)
    size = np.size(values(packing.start))
    if size != packing.start.size:
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"root: the function returns {size} numbers, and x0 has {packing.start.size}",
                tries=["optimize.least_squares, for more equations than unknowns"] if size > packing.start.size else [],
            )
        )
    jac = jacobian if method.lower() in ("hybr", "lm") else None
    found = scipy.optimize.root(values, packing.start, method=method, jac=jac, tol=tol, options=options)
    found.vector, found.x = found.x, packing.tree_of(np.asarray(found.x))
    return found


def _compiled(f: Callable[..., Any], packing: Packing, args: Sequence[Any]) -> tuple[Any, Any]:
    """The function of a vector, and its Jacobian, compiled."""
    of_vector = lambda vector, *rest: flat(f(packing.tree_of(vector), *rest))
    values, jacobian = wg.jit(of_vector), wg.jit(wg.jacobian(of_vector))
    return lambda x: values(x, *args), lambda x: jacobian(x, *args)
