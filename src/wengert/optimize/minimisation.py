"""SciPy's minimisers on functions of trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.optimize

import wengert as wg
from wengert.optimize.vectors import Arrays, Packing, Tree

Constraints = dict[str, Any] | scipy.optimize.LinearConstraint | scipy.optimize.NonlinearConstraint

WITH_HESSIAN_PRODUCTS = frozenset(["newton-cg", "trust-ncg", "trust-krylov", "trust-constr"])
WITH_HESSIANS = frozenset(["dogleg", "trust-exact"])
METHODS = ("nelder-mead", "powell", "cg", "bfgs", "newton-cg", "l-bfgs-b", "tnc", "cobyla", "cobyqa", "slsqp",
           "trust-constr", "dogleg", "trust-ncg", "trust-exact", "trust-krylov")  # fmt: skip
WITHOUT_GRADIENTS = frozenset(["nelder-mead", "powell", "cobyla", "cobyqa"])


@wg.expect.checked
def minimize(
    f: Callable[..., Any],
    x0: Arrays,
    args: Sequence[Any] = (),
    method: str = "L-BFGS-B",
    *,
    bounds: tuple[Any, Any] | None = None,
    constraints: Constraints | Sequence[Constraints] = (),
    tol: float | None = None,
    callback: Callable[[Tree], Any] | None = None,
    options: dict[str, Any] | None = None,
) -> scipy.optimize.OptimizeResult:
    """Minimise ``f(x, *args)``, a function of a tree of arrays, by :func:`scipy.optimize.minimize`.

    Value and gradient are one compiled program, run once a point; the methods that want them get compiled products of
    the Hessian with a vector. It is formed for "dogleg" and "trust-exact" alone, which ask for it.

    Parameters
    ----------
    f : returns one real number.
    x0 : where to begin: a real array, or a tree of arrays.
    args : further arguments of ``f``.
    method : one of SciPy's.
    bounds : a pair ``(low, high)`` of trees of the structure of ``x0``, of arrays or numbers; None: none.
    constraints, tol, options : as SciPy's; constraints see one vector.
    callback : gets the present tree.

    Returns
    -------
    SciPy's result, with ``x`` and ``jac`` as trees of float64, and ``vector``, the x that SciPy saw. "trust-constr" has
    the gradient as ``grad``, and the Jacobians of its constraints as ``jac``.

    Raises
    ------
    NonFiniteError : f(x0) is infinite or NaN.
    OptionError : SciPy has no such method; a bound's low is above its high.
    StructureError, ShapeError : bounds are of another structure or shape than ``x0``.
    DTypeError : ``x0`` is complex.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import optimize
    >>> found = optimize.minimize(lambda p: np.sum((p["a"] - 3) ** 2) + (p["b"] + 1) ** 2, {"a": np.zeros(2), "b": 0.0})
    >>> found.x["a"].round(4), round(float(found.x["b"]), 4)
    (array([3., 3.]), -1.0)
    """
    packing = Packing("minimize", x0)
    tree_of, start = packing.tree_of, packing.start
    of_vector = lambda vector, *rest: f(tree_of(vector), *rest)
    more: dict[str, Any] = {}
    name = method.lower()
    if name not in METHODS:
        raise wg.errors.OptionError(
            wg.errors.message(f"minimize: method is {wg.expect.given(method)}; expected one of {', '.join(METHODS)}")
        )
    has_gradient = name not in WITHOUT_GRADIENTS
    run = wg.jit(wg.value_and_grad(of_vector) if has_gradient else of_vector)
    last: list[Any] = [None, None]  # a point, and what was found there: the first is asked for twice

    def objective(x: Any) -> Any:
        if last[0] is None or not np.array_equal(x, last[0]):
            last[:] = [np.array(x), run(x, *args)]
        return last[1]

    more["jac"] = has_gradient
    first = objective(start)[0] if has_gradient else objective(start)
    if name in WITH_HESSIAN_PRODUCTS:
        product = wg.jit(lambda x, v, *rest: wg.hvp(lambda x: of_vector(x, *rest), (x,), (v,)))
        more["hessp"] = lambda x, v: product(x, v, *args)
    if name in WITH_HESSIANS:
        matrix = wg.jit(lambda x, *rest: wg.hessian(lambda x: of_vector(x, *rest))(x))
        more["hess"] = lambda x: matrix(x, *args)
    if not np.isfinite(first):
        raise wg.errors.NonFiniteError(wg.errors.message(f"minimize: the function is {first} at the starting point"))
    if bounds is not None:
        more["bounds"] = packing.bounds(bounds)
    if callback is not None:
        more["callback"] = lambda x, *state: callback(tree_of(np.array(x)))
    result = scipy.optimize.minimize(
        objective, start, method=method, constraints=constraints, tol=tol, options=options, **more
    )
    result.vector = result.x
    result.x = tree_of(result.vector)
    gradient = "grad" if name == "trust-constr" else "jac"  # its "jac" are the Jacobians of constraints
    if gradient in result and has_gradient:
        result[gradient] = tree_of(np.asarray(result[gradient]))
    return result
