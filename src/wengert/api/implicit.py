"""``implicit``: a solver of the user's own as one step, whose derivatives are those of the solution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert import tree
from wengert.api.matrices import jacobian
from wengert.api.solving import FLOAT, RunFunction, record_function, run_routine, solution
from wengert.errors import DTypeError, StructureError, message
from wengert.expect import checked
from wengert.higher.recording import aval_of
from wengert.tape import Aval
from wengert.tracebacks import fold
from wengert.tracing.arguments import array, as_dtype
from wengert.tracing.lifting import check_dtype
from wengert.tracing.stack import current_trace


class Equations:
    """f(y) = 0 as a solver gets it, for the parameters of one call: ``g(y)`` gives f, ``g.jac(y)`` the array ∂f/∂y,
    if y is one array."""

    def __init__(self, f: Callable[[Any], Any], jac: Callable[[Any], Any]) -> None:
        self._f, self._jac = f, jac

    def __call__(self, y: Any) -> Any:
        return self._f(y)

    def jac(self, y: ArrayLike) -> Any:
        return self._jac(y)


class _Layout:
    """Trees of one structure as vectors."""

    def __init__(self, y: Any) -> None:
        leaves, self.treedef = tree.flatten(y)
        for x in leaves:
            if isinstance(x, np.ndarray):
                check_dtype(x)  # which refuses masked arrays
        self.avals = [aval_of(x) for x in leaves]
        for aval in self.avals:
            if aval.dtype.kind != "f":
                tries = ["the real and the imaginary part as unknowns" if aval.dtype.kind == "c" else "a float"]
                raise DTypeError(
                    message(f"implicit: y0 has {aval}; expected real numbers of a float's dtype", tries=tries)
                )
        self.size = sum(a.size for a in self.avals)

    def vector(self, y: Any, convert: Callable[[Any], Any], what: str) -> Any:
        leaves, treedef = tree.flatten(y)
        avals = [aval_of(x) for x in leaves]
        if treedef != self.treedef or [a.shape for a in avals] != [a.shape for a in self.avals]:
            expected = tree.describe(tree.unflatten(self.treedef, self.avals))
            given = tree.describe(tree.unflatten(treedef, avals))
            raise StructureError(message(f"implicit: {what} returned {given}; expected {expected}, as y0 is"))
        return np.concatenate([np.reshape(convert(x), -1) for x in leaves])

    def tree(self, vector: Any, convert: Callable[[Any, Any], Any]) -> Any:
        leaves, first = [], 0
        for aval in self.avals:
            part = np.reshape(vector[first : first + aval.size], aval.shape)
            leaves.append(convert(part, aval.dtype))
            first += aval.size
        return tree.unflatten(self.treedef, leaves)


def _concrete(x: Any, dtype: Any) -> Any:
    return np.asarray(x, dtype)[()]


def _solve(f: RunFunction, y0: Any, *, solver: Callable[..., Any], layout: _Layout) -> tuple[Any, ...]:
    plain = lambda x: np.asarray(x, float)

    def values(y: Any) -> Any:
        return layout.tree(f(layout.vector(y, plain, "the caller")), _concrete)

    def slopes(y: Any) -> Any:
        if len(layout.avals) != 1:
            raise StructureError(message("implicit: g.jac of a tree of several arrays", tries=["one array as y"]))
        (aval,) = layout.avals
        return np.reshape(f.jacobian(np.ravel(y)), (*aval.shape, *aval.shape))[()]

    found = solver(Equations(values, slopes), layout.tree(y0, _concrete))
    return layout.vector(found, plain, "the solver"), 0


@checked
def implicit(f: Callable[..., Any], solver: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return a function ``solve(y0, *args)`` that finds y with f(y, *args) = 0, by a solver of one's own.

    The solver is one step of the tape. How it goes about its work is not differentiated, and may be any code: loops
    until convergence, a compiled library. The derivatives, in both modes and to any order, are those of the implicit
    function theorem, in ``args`` and in all that ``f`` captures. ``y0``, where the solver begins, has none.

    Parameters
    ----------
    f : takes y and the further arguments of ``solve``; it returns f, of the structure and shapes of y. It is NumPy
        code that can be traced. The unknowns are one system: of n of them, derivatives solve linear equations with a
        matrix of n by n.
    solver : is called as ``solver(g, y0)`` with plain arrays and numbers, at each run, and returns y. ``g(y)`` is f,
        compiled, for the arguments of this run; ``g.jac(y)`` is ∂f/∂y, exact, where y is one array.

    Returns
    -------
    A function of ``y0``, an array, number or tree of float64 or float32, and of further arguments.

    Raises
    ------
    DTypeError : y0 is complex, or an integer.
    StructureError : f or the solver return something of another structure or shape than y0.

    Warns
    -----
    SolverWarning : a derivative is computed where the matrix ∂f/∂y is singular, or where y is so far from a solution
        that this matrix moves within its error. The derivative is NaN.

    Examples
    --------
    >>> import wengert as wg
    >>> def newton(g, y):
    ...     while abs(g(y)) > 1e-12:
    ...         y = y - g(y) / g.jac(y)
    ...     return y
    >>> square_root = wg.implicit(lambda y, p: y * y - p, newton)
    >>> print(square_root(1.0, 4.0))
    2.0
    >>> print(wg.grad(square_root, 1)(1.0, 4.0), wg.grad(wg.grad(square_root, 1), 1)(1.0, 4.0))
    0.25 -0.03125
    """

    def solve(y0: Any, *args: Any) -> Any:
        try:
            layout = _Layout(y0)
            if current_trace() is None:
                of_y = lambda y: f(y, *args)
                return solver(Equations(of_y, jacobian(of_y)), y0)
            return _recorded(f, solver, y0, layout, args)
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    solve.__name__ = getattr(f, "__name__", "solve")
    return solve


def _recorded(f: Callable[..., Any], solver: Callable[..., Any], y0: Any, layout: _Layout, args: Sequence[Any]) -> Any:
    aval = Aval((layout.size,), FLOAT)
    as_float = lambda x: as_dtype(array(x), FLOAT)

    def equations(vector: Any) -> Any:
        y = layout.tree(vector, lambda part, dtype: as_dtype(part, dtype))
        return layout.vector(f(y, *args), as_float, "f")

    recorded = record_function("implicit", equations, aval)
    start = layout.vector(y0, as_float, "y0")
    key = (layout.treedef, tuple(layout.avals))
    y, verdict = run_routine(
        _solve_of_layout,
        [recorded],
        [start],
        [aval, Aval((), np.dtype(np.int64))],
        solver=solver,
        layout=_Known(layout, key),
    )
    at = solution("implicit", recorded, y, verdict)
    return layout.tree(at, lambda part, dtype: as_dtype(part, dtype))


class _Known:
    """A layout as a setting of a routine: equal to those of equal structures."""

    def __init__(self, layout: _Layout, key: tuple[Any, ...]) -> None:
        self.layout, self.key = layout, key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _solve_of_layout(f: RunFunction, y0: Any, *, solver: Callable[..., Any], layout: _Known) -> tuple[Any, ...]:
    return _solve(f, y0, solver=solver, layout=layout.layout)
