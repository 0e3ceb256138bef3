"""``scipy.integrate.solve_bvp``: boundary value problems as one step.

SciPy finds the mesh and the values on it. They satisfy the equations of collocation on that mesh,

    y₊ − y = h/6 (f + f₊ + 4 f(x + h/2, (y + y₊)/2 − h/8 (f₊ − f))),    bc(y(a), y(b)) = 0,

and move as the solution of these does; the mesh is a constant.
Source: Kierzenka and Shampine (2001), A BVP solver based on residual control and the Matlab PSE, ACM TOMS 27:3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import wengert as wg
from wengert.api.solving import FLOAT, RunFunction, record_function, run_routine, solution
from wengert.of_scipy.optimize.calls import COUNT, TRUTH, Array, answers, need_traced, result, scipys, settled, vector
from wengert.tape import Aval
from wengert.tracing.arguments import array, unsupported

NAME = "scipy.integrate.solve_bvp"


def _solved(f: RunFunction, bc: RunFunction, x: Array, y: Array, p: Array, settings: dict[str, Any]) -> Any:
    has_p = p.size > 0
    n = y.shape[0]

    def rates(x: Any, y: Any, *p: Any) -> Any:
        return f.mapped(x[:, None], y.T[:, :, None], shared=(p[0] if p else np.zeros(0),)).reshape(-1, n).T

    ends = (lambda a, b, p: bc(a, b, p)) if has_p else lambda a, b: bc(a, b, np.zeros(0))
    return scipys("integrate.solve_bvp")(rates, ends, x, y, p=p if has_p else None, **settings)


def _nodes(f: RunFunction, bc: RunFunction, x: Array, y: Array, p: Array, **settings: Any) -> tuple[Any, ...]:
    found = _solved(f, bc, x, y, p, settings)
    return found.x.size, int(found.status)


def _values(f: RunFunction, bc: RunFunction, x: Array, y: Array, p: Array, **settings: Any) -> tuple[Any, ...]:
    found = _solved(f, bc, x, y, p, settings)
    left = np.zeros(0) if found.p is None else found.p
    values = np.concatenate([np.ravel(found.y), left])
    return found.x, values, found.rms_residuals, found.niter, found.status, bool(found.success), found.status != 0


class Interpolant:
    """The solution between the nodes of the mesh, a cubic spline, as SciPy's ``sol``."""

    def __init__(self, x: Any, y: Any, rates: Any) -> None:
        self.x = x
        h = x[1:] - x[:-1]
        slope = (y[:, 1:] - y[:, :-1]) / h
        bend = (rates[:, :-1] + rates[:, 1:] - 2 * slope) / h
        self._coefficients = (bend / h, (slope - rates[:, :-1]) / h - bend, rates[:, :-1], y[:, :-1])

    def __call__(self, x: ArrayLike, nu: int = 0) -> Any:
        at: Any = array(x, (self.x,))
        k = np.clip(np.searchsorted(self.x, at, side="right") - 1, 0, self.x.shape[0] - 2)
        s = at - self.x[k]
        a, b, c, d = [part[:, k] for part in self._coefficients]
        if nu == 0:
            return ((a * s + b) * s + c) * s + d
        if nu == 1:
            return (3 * a * s + 2 * b) * s + c
        raise unsupported(f"{NAME}: derivatives of order {nu} of the solution are not traced", "nu=0 or nu=1")


@answers("integrate.solve_bvp")
def solve_bvp(
    fun: Callable[..., Any],
    bc: Callable[..., Any],
    x: ArrayLike,
    y: ArrayLike,
    p: ArrayLike | None = None,
    S: object = None,
    fun_jac: object = None,
    bc_jac: object = None,
    tol: float = 1e-3,
    max_nodes: int = 1000,
    verbose: int = 0,
    bc_tol: float | None = None,
) -> Any:
    """The number of nodes is looked at, so a call that needs another number is traced again."""
    mesh, guess = vector(x), vector(array(y, (x,)))
    unknown = vector(np.zeros(0) if p is None else p)
    if S is not None:
        raise unsupported(f"{NAME}: a singular term is not traced", "S=None")
    if guess.ndim != 2 or mesh.ndim != 1 or guess.shape[1] != mesh.shape[0]:
        raise ValueError(f"`y` is expected to have {mesh.shape[0]} columns, but actually has shape {guess.shape}.")
    n, k = guess.shape[0], unknown.shape[0]
    one, column = Aval((1,), FLOAT), Aval((n, 1), FLOAT)
    further = lambda q: (q,) if k else ()
    rates = record_function(NAME, lambda x, y, q: array(fun(x, y, *further(q)), (y,)), one, column, unknown.aval)
    state = Aval((n,), FLOAT)
    ends = record_function(NAME, lambda a, b, q: array(bc(a, b, *further(q)), (a,)), state, state, unknown.aval)
    need_traced(rates, ends, x, y, p)
    settings = settled({"tol": tol, "max_nodes": max_nodes, "verbose": verbose, "bc_tol": bc_tol})
    operands = [mesh, guess, unknown]
    m = int(settled(run_routine(_nodes, [rates, ends], operands, [COUNT, COUNT], **settings)[0]))
    out = [Aval((m,), FLOAT), Aval((n * m + k,), FLOAT), Aval((m - 1,), FLOAT), COUNT, COUNT, TRUTH, COUNT]
    nodes, values, residuals, niter, status, success, verdict = run_routine(
        _values, [rates, ends], operands, out, **settings
    )
    at_nodes = lambda x, y, q: wg.vmap(lambda x, y: rates(x, y, q))(x[:, None], y.T[:, :, None])[:, :, 0].T

    def collocation(v: Any) -> Any:
        y, q = v[: n * m].reshape(n, m), v[n * m :]
        h = nodes[1:] - nodes[:-1]
        f = at_nodes(nodes, y, q)
        middle = 0.5 * (y[:, 1:] + y[:, :-1]) - h / 8 * (f[:, 1:] - f[:, :-1])
        f_middle = at_nodes(nodes[:-1] + 0.5 * h, middle, q)
        left = y[:, 1:] - y[:, :-1] - h / 6 * (f[:, :-1] + f[:, 1:] + 4 * f_middle)
        return np.concatenate([left.reshape(-1), ends(y[:, 0], y[:, -1], q).reshape(-1)])

    at = solution(NAME, record_function(NAME, collocation, values.aval), values, verdict)
    found, q = at[: n * m].reshape(n, m), at[n * m :]
    slopes = at_nodes(nodes, found, q)
    return result(
        sol=Interpolant(nodes, found, slopes), p=q if k else None, x=nodes, y=found, yp=slopes, rms_residuals=residuals,
        niter=niter, status=status, success=success,
    )  # fmt: skip
