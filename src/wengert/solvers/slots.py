"""Functions for the slots of SciPy's solvers: ``jac=``, ``hess=``, ``hessp=`` and their like."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

import wengert as wg

F = Callable[..., Any]


def values(y: Any) -> Any:
    """Return as an array what a solver's function returns, which may be a list of numbers and arrays."""
    if isinstance(y, list | tuple):
        leaves = wg.tree.leaves(y)
        return np.concatenate([np.ravel(leaf) for leaf in leaves]) if leaves else np.zeros(0)
    return y


def number(y: Any) -> Any:
    """Return the one number that an objective returns, which may be in an array of one element."""
    if isinstance(y, list | tuple):
        y = values(y)
    return np.reshape(y, ()) if np.shape(y) else y


@wg.expect.checked
def jac_for(f: F, argnums: int | Sequence[int] = 0) -> F:
    """Return the function ``jac(*args)`` that the slot of that name wants: the derivative of ``f``, compiled.

    Of a function that returns one number it is the gradient, float[n], as for ``scipy.optimize.minimize``; of one that
    returns m numbers, in an array or a list, it is the Jacobian, float[m, n], as for ``least_squares`` and ``root``.

    Parameters
    ----------
    f : the function that the solver is given.
    argnums : the number of the argument of x: 0, or 1 for the ``fun(t, y)`` of ``solve_ivp``. Several numbers are those
        of arguments that are one number each, as the parameters of ``curve_fit`` are: ``range(1, 4)`` for three.

    Examples
    --------
    >>> import numpy as np, scipy.optimize
    >>> import wengert as wg
    >>> def rosen(x, a):
    ...     return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)
    >>> found = scipy.optimize.minimize(rosen, np.zeros(4), args=(1.0,), jac=wg.jac_for(rosen))
    >>> found.x.round(6), found.nfev == found.njev
    (array([1., 1., 1., 1.]), True)
    """
    if isinstance(argnums, int):
        return _named(jac_for, f, wg.jit(wg.jacobian(lambda *args: values(f(*args)), argnums)), argnums)
    numbers = tuple(argnums)

    def columns(*args: Any) -> Any:
        given = np.stack([args[k] for k in numbers])

        def of_vector(p: Any) -> Any:
            own = list(args)
            for k, value in zip(numbers, p, strict=True):
                own[k] = value
            return values(f(*own))

        return wg.jacobian(of_vector)(given)

    return _named(jac_for, f, wg.jit(columns), *numbers)


@wg.expect.checked
def hess_for(f: F) -> F:
    """Return the function ``hess(x, *args)``, the Hessian of ``f``, compiled: float[n, n].

    Examples
    --------
    >>> import numpy as np, scipy.optimize
    >>> import wengert as wg
    >>> f = lambda x: np.sum((x - 1) ** 4 + x**2)
    >>> found = scipy.optimize.minimize(f, [0.0, 0.0], method="trust-exact", jac=wg.jac_for(f), hess=wg.hess_for(f))
    >>> found.x.round(6)
    array([0.410245, 0.410245])
    """
    return _named(hess_for, f, wg.jit(wg.hessian(lambda *args: number(f(*args)))), 0)


@wg.expect.checked
def hessp_for(f: F) -> F:
    """Return the function ``hessp(x, p, *args)``, the Hessian of ``f`` times a vector, compiled: float[n].

    No matrix is formed.

    Examples
    --------
    >>> import numpy as np, scipy.optimize
    >>> import wengert as wg
    >>> f = lambda x: np.sum((x - 1) ** 4 + x**2)
    >>> found = scipy.optimize.minimize(f, [0.0, 0.0], method="trust-ncg", jac=wg.jac_for(f), hessp=wg.hessp_for(f))
    >>> found.x.round(6)
    array([0.410245, 0.410245])
    """

    def product(x: Any, p: Any, *args: Any) -> Any:
        return wg.hvp(lambda x: number(f(x, *args)), (x,), (p,))

    return _named(hessp_for, f, wg.jit(product), 0, 1)


def _named(maker: F, f: F, run: F, *vectors: int) -> F:
    """A function that passes its arguments to ``run``, those of ``vectors`` as floats, as SciPy's own are."""

    def of_arguments(*args: Any, **kwargs: Any) -> Any:
        return run(*as_floats(args, vectors), **kwargs)

    of_arguments.__name__ = of_arguments.__qualname__ = f"{maker.__name__}({getattr(f, '__name__', type(f).__name__)})"
    return of_arguments


def as_floats(args: Sequence[Any], at: Container[int]) -> tuple[Any, ...]:
    """Return the arguments, those with these numbers as floats where they are integers or lists: `leastsq` passes on
    what it was given, whatever that is."""
    return tuple([np.asarray(x, float)[()] if k in at and _is_integer(x) else x for k, x in enumerate(args)])


def _is_integer(x: Any) -> bool:
    return isinstance(x, int | list | tuple) or getattr(getattr(x, "dtype", None), "kind", "f") in "biu"
