"""Least squares: ``least_squares``, ``leastsq``, ``curve_fit``, ``nnls``, ``lsq_linear``, ``isotonic_regression``.

The solution is a stationary point of the sum of squares, so its derivative has the whole Hessian, with the curvature of
the model and not the JᵀJ that the solver steps by.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeWarning

from wengert.api.solving import FLOAT, INT, Recorded, RunFunction, gradient, jacobian, record_function, run_routine
from wengert.of_scipy.optimize.calls import (
    COUNT,
    NUMBER,
    TRUTH,
    Array,
    Callback,
    Limits,
    Options,
    Settings,
    answers,
    need_traced,
    refuse_callback,
    result,
    row,
    scipys,
    settled,
    vector,
)
from wengert.of_scipy.optimize.optimality import Optimum, conditions, split
from wengert.of_scipy.optimize.roots import Text
from wengert.ops.control import stop_gradient
from wengert.tape import Aval
from wengert.tracing.arguments import array, as_dtype, unsupported
from wengert.tracing.emit import record
from wengert.tracing.interception.asking import AT_ARGUMENTS

LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * ((1 + z) ** 0.5 - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.where(z <= 1, 1, z) ** 0.5 - 1),
    "cauchy": lambda z: np.log1p(z),
    "arctan": lambda z: np.arctan(z),
}
"""ρ(z), for z the square of a residual."""


def cost_of(name: str, residuals: Recorded, x: Aval, loss: str = "linear", scale: float = 1.0) -> Recorded:
    """½ Σ C² ρ((r / C)²) as a function of x."""
    if loss not in LOSSES:
        raise unsupported(f"{name}: a loss that is a function is not traced", f"one of {', '.join(LOSSES)}")
    rho = LOSSES[loss]

    def cost(x: ArrayLike) -> Any:
        r = residuals(x)
        return 0.5 * np.sum(r**2) if loss == "linear" else 0.5 * np.sum(scale**2 * rho((r / scale) ** 2))

    return record_function(name, cost, x)


def _flat(f: Callable[..., Any], args: Sequence[Any] = (), kwargs: Options = None) -> Callable[..., Any]:
    more = kwargs or {}
    return lambda x: np.reshape(array(f(x, *args, **more), (x,)), -1)


def pair_of_bounds(bounds: Any, n: int) -> tuple[Any, Any] | None:
    """The two vectors of SciPy's pair of bounds; None where neither bounds anything."""
    pair = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    if len(pair) != 2:
        raise ValueError("`bounds` must contain 2 elements.")
    if all(isinstance(b, float | int | np.ndarray) and np.all(np.isinf(b)) for b in pair):
        return None
    low, high = [np.broadcast_to(as_dtype(array(b), FLOAT), (n,)) for b in pair]
    return low, high


# ------------------------------------------------------------------------------------------------- least_squares


def _least_squares(
    residuals: RunFunction, cost: RunFunction, x0: Array, *numbers: Any, has_bounds: bool, settings: Any
) -> tuple[Any, ...]:
    given = split(numbers, has_bounds)
    more = {} if given.bounds is None else {"bounds": given.bounds}
    found = scipys("optimize.least_squares")(residuals, x0, jac=residuals.jacobian, **more, **settings)
    known = conditions(cost, (), found.x, given, bool(found.success))
    counted = [int(found.get(k) or 0) for k in ("nfev", "njev", "status")]
    return *known, bool(found.success), found.optimality, found.active_mask, *counted


@answers("optimize.least_squares")
def least_squares(
    fun: Callable[..., Any],
    x0: ArrayLike,
    jac: object = "2-point",
    bounds: Limits = (-np.inf, np.inf),
    method: str = "trf",
    ftol: float = 1e-8,
    xtol: float = 1e-8,
    gtol: float = 1e-8,
    x_scale: Any = None,
    loss: str = "linear",
    f_scale: float = 1.0,
    diff_step: object = None,
    tr_solver: str | None = None,
    tr_options: Options = None,
    jac_sparsity: object = None,
    max_nfev: int | None = None,
    verbose: int = 0,
    args: Sequence[Any] = (),
    kwargs: Options = None,
    callback: Callback = None,
    workers: object = None,
) -> Any:
    """SciPy gets the exact Jacobian, whatever ``jac`` says."""
    name, x = "scipy.optimize.least_squares", row(x0)
    if x.ndim > 1:
        raise ValueError("`x0` must have at most 1 dimension.")
    residuals = record_function(name, _flat(fun, args, kwargs), x.aval)
    limits = pair_of_bounds(bounds, x.size)
    need_traced(residuals, x0, f_scale, *(limits or ()))
    refuse_callback("optimize.least_squares", callback)
    cost = cost_of(name, residuals, x.aval, loss, f_scale)
    settings = settled(
        {"method": method, "ftol": ftol, "xtol": xtol, "gtol": gtol, "loss": loss, "f_scale": f_scale,
         "tr_solver": tr_solver, "tr_options": tr_options or {}, "max_nfev": max_nfev, "verbose": verbose}
    )  # fmt: skip
    if x_scale is not None:  # the default is another one in older versions
        settings["x_scale"] = settled(x_scale)
    problem = Optimum(name, cost, x.aval, limits)
    found = run_routine(
        _least_squares, [residuals, cost], [x, *problem.numbers],
        [*problem.out, TRUTH, NUMBER, Aval(x.shape, INT), COUNT, COUNT, COUNT],
        has_bounds=limits is not None, settings=settings,
    )  # fmt: skip
    at = problem.solution(*found[:4])
    success, optimality, mask, nfev, njev, status = found[4:]
    return result(
        x=at, cost=cost(at), fun=residuals(at), jac=residuals.of(jacobian)(at), grad=cost.of(gradient)(at),
        optimality=optimality, active_mask=mask, nfev=nfev, njev=njev, status=status, success=success,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------- leastsq


def _leastsq(residuals: RunFunction, cost: RunFunction, x0: Array, **settings: Any) -> tuple[Any, ...]:
    x, cov, info, _, code = scipys("optimize.leastsq")(
        residuals, x0, Dfun=residuals.jacobian, full_output=True, **settings
    )
    x = np.asarray(x, float).reshape(-1)
    return x, code not in (1, 2, 3, 4), code, info["nfev"], cov is None


def _jtj_inverse(residuals: Recorded, at: Any, is_singular: Any) -> tuple[Any, Any]:
    """(JᵀJ)⁻¹, and the matrix that stands for it where it is singular is the identity."""
    J = residuals.of(jacobian)(at)
    squares = J.T @ J
    return np.linalg.inv(np.where(is_singular, np.eye(at.size), squares)), J


@answers("optimize.leastsq")
def leastsq(
    func: Callable[..., Any],
    x0: ArrayLike,
    args: Any = (),
    Dfun: object = None,
    full_output: bool | int = False,
    col_deriv: bool | int = False,
    ftol: float = 1.49012e-08,
    xtol: float = 1.49012e-08,
    gtol: float = 0.0,
    maxfev: int = 0,
    epsfcn: float | None = None,
    factor: float = 100,
    diag: ArrayLike | None = None,
) -> Any:
    name, x = "scipy.optimize.leastsq", vector(x0).reshape(-1)
    residuals = record_function(name, _flat(func, args if isinstance(args, tuple) else (args,)), x.aval)
    need_traced(residuals, x0)
    cost = cost_of(name, residuals, x.aval)
    settings = settled({"ftol": ftol, "xtol": xtol, "gtol": gtol, "maxfev": maxfev, "factor": factor, "diag": diag})
    y, verdict, code, nfev, is_singular = run_routine(
        _leastsq, [residuals, cost], [x], [x.aval, COUNT, COUNT, COUNT, TRUTH], **settings
    )
    at = Optimum(name, cost, x.aval).solution(y, None, None, verdict)
    if not full_output:
        return at, code
    inverse, _ = _jtj_inverse(residuals, at, is_singular)
    return at, inverse, {"nfev": nfev, "fvec": residuals(at)}, Text("leastsq's message"), code


# ----------------------------------------------------------------------------------------------------- curve_fit


def _curve_fit(
    model: RunFunction, cost: RunFunction, *numbers: Any, has_bounds: bool, has_sigma: bool, settings: Any
) -> tuple[Any, ...]:
    p0, y, *rest = numbers
    sigma = {"sigma": rest.pop()} if has_sigma else {}
    given = split(rest, has_bounds)
    more = {} if given.bounds is None else {"bounds": given.bounds}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizeWarning)  # of a covariance, which is computed otherwise
        x, cov, *_ = scipys("optimize.curve_fit")(
            lambda x, *p: model(np.array(p)), np.arange(float(y.size)), y, p0,
            jac=lambda x, *p: model.jacobian(np.array(p)), **sigma, **more, **settings,
        )  # fmt: skip
    return *conditions(cost, (), np.asarray(x, float), given, True), bool(np.any(np.isinf(cov)))


@answers("optimize.curve_fit")
def curve_fit(
    f: Callable[..., Any],
    xdata: ArrayLike,
    ydata: ArrayLike,
    p0: ArrayLike | None = None,
    sigma: ArrayLike | None = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Limits = (-np.inf, np.inf),
    method: str | None = None,
    jac: object = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    **kwargs: Any,
) -> Any:
    """SciPy gets the exact Jacobian, whatever ``jac`` says. The covariance has derivatives too."""
    name = "scipy.optimize.curve_fit"
    n = _count(f) if p0 is None else np.size(p0)
    limits = _limits(bounds, n)
    start = _start(limits, n) if p0 is None else row(p0)
    if nan_policy is not None:
        raise unsupported(f"{name}: nan_policy is not traced", "data without NaN")
    y = as_dtype(array(ydata, (start,)), FLOAT).reshape(-1)
    x = xdata if callable(getattr(xdata, "keys", None)) else array(xdata, (start,)) if _is_data(xdata) else xdata
    of_parameters = lambda p: np.reshape(array(f(x, *[p[i] for i in range(n)]), (p,)), -1)
    model = record_function(name, of_parameters, start.aval)
    need_traced(model, y, p0, sigma, kwargs.get("f_scale"), *(limits or ()))
    weights = None if sigma is None else as_dtype(array(sigma, (start,)), FLOAT)
    residuals = record_function(name, lambda p: _weighted(model(p) - y, weights), start.aval)
    loss, scale = settled(kwargs.get("loss", "linear")), kwargs.get("f_scale", 1.0)
    cost = cost_of(name, residuals, start.aval, loss, scale)
    problem = Optimum(name, cost, start.aval, limits)
    settings = {"method": method, "absolute_sigma": absolute_sigma, **kwargs}
    *known, is_singular = run_routine(
        _curve_fit, [model, cost], [start, y, *problem.numbers, *([] if weights is None else [weights])],
        [*problem.out, TRUTH], has_bounds=limits is not None, has_sigma=weights is not None,
        settings=settled(settings),
    )  # fmt: skip
    at = problem.solution(*known)
    inverse, _ = _jtj_inverse(residuals, at, is_singular)
    if not absolute_sigma:
        free = y.size - n
        scaled = np.sum(residuals(at) ** 2) / free if free > 0 else np.inf
        inverse = inverse * scaled
    cov = np.where(is_singular, np.inf, inverse)
    if full_output:
        return at, cov, {"fvec": residuals(at)}, Text("curve_fit's message"), Text("curve_fit's ier")
    return at, cov


def _is_data(x: object) -> bool:
    return isinstance(x, list | tuple | np.ndarray | float | int)


def _count(f: Callable[..., Any]) -> int:
    """The number of the model's parameters, as SciPy finds it."""
    parameters = inspect.signature(f).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise ValueError("Unable to determine number of fit parameters.")
    n = len([p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]) - 1
    if n < 1:
        raise ValueError("Unable to determine number of fit parameters.")
    return n


def _limits(bounds: Any, n: int) -> tuple[Any, Any] | None:
    return pair_of_bounds(bounds, n)


def _start(limits: tuple[Any, Any] | None, n: int) -> Any:
    """SciPy's starting point within bounds."""
    if limits is None:
        return array(np.ones(n))
    low, high = map(array, limits)
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    middle = np.where(has_low & has_high, 0.5 * (low + high), 1.0)
    return array(np.where(has_low & ~has_high, low + 1, np.where(has_high & ~has_low, high - 1, middle)))


def _weighted(r: Any, sigma: Any) -> Any:
    if sigma is None:
        return r
    if sigma.ndim < 2:
        return r / sigma
    if sigma.shape != (r.size, r.size):
        raise ValueError("`sigma` has incorrect shape.")
    return np.linalg.solve(np.linalg.cholesky(sigma), r)


# ------------------------------------------------------------------------------------------------ linear problems


def _linear(cost: RunFunction, A: Array, b: Array, *numbers: Any, name: str, settings: Settings) -> tuple[Any, ...]:
    if name == "nnls":
        x, _ = scipys("optimize.nnls")(A, b, **settings)
        nit, status, success, optimality = 0, 0, True, 0.0
    else:
        low, high = numbers
        found = scipys("optimize.lsq_linear")(A, b, bounds=(low, high), **settings)
        x, nit, status, success, optimality = found.x, found.nit, found.status, found.success, found.optimality
    low, high = numbers
    return (
        *conditions(cost, (), np.asarray(x, float), split((low, high), True), success),
        success,
        nit,
        status,
        optimality,
    )


def _solve_linear(name: str, A: Any, b: Any, bounds: tuple[Any, Any], **settings: Any) -> Any:
    n = A.shape[1]
    full = f"scipy.optimize.{name}"
    residuals = record_function(full, lambda x: A @ x - b, Aval((n,), FLOAT))
    cost = cost_of(full, residuals, Aval((n,), FLOAT))
    problem = Optimum(full, cost, Aval((n,), FLOAT), bounds)
    found = run_routine(
        _linear, [cost], [A, b, *problem.numbers], [*problem.out, TRUTH, COUNT, COUNT, NUMBER], name=name,
        settings=settled(settings),
    )  # fmt: skip
    return problem.solution(*found[:4]), residuals, cost, found[1], found[4:]


def _matrix(name: str, A: Any, b: Any) -> tuple[Any, Any]:
    if not (isinstance(A, list | tuple | np.ndarray) or hasattr(A, "__array_function__")):
        raise unsupported(f"scipy.optimize.{name}: a {type(A).__name__} is not traced", "an array")
    A, b = as_dtype(array(A, (b,)), FLOAT), as_dtype(array(b, (A,)), FLOAT)
    if A.ndim != 2:
        raise ValueError("`A` must have at most 2 dimensions.")
    if b.ndim == 2 and b.shape[1] == 1 and name == "nnls":
        b = b.reshape(-1)
    if b.ndim != 1 or b.shape[0] != A.shape[0]:
        raise ValueError("Inconsistent shapes between `A` and `b`.")
    return A, b


@answers("optimize.nnls", AT_ARGUMENTS)
def nnls(A: ArrayLike, b: ArrayLike, maxiter: int | None = None, **settings: Any) -> Any:
    A_, b_ = _matrix("nnls", A, b)
    n = A_.shape[1]
    at, residuals, *_ = _solve_linear("nnls", A_, b_, (np.zeros(n), np.full(n, np.inf)), maxiter=maxiter)
    return at, np.linalg.norm(residuals(at))


@answers("optimize.lsq_linear", AT_ARGUMENTS)
def lsq_linear(
    A: ArrayLike, b: ArrayLike, bounds: Limits = (-np.inf, np.inf), method: str = "trf", **settings: Any
) -> Any:
    A_, b_ = _matrix("lsq_linear", A, b)
    n = A_.shape[1]
    limits = pair_of_bounds(bounds, n) or (np.full(n, -np.inf), np.full(n, np.inf))
    at, residuals, cost, mask, (success, nit, status, optimality) = _solve_linear(
        "lsq_linear", A_, b_, limits, method=method, **settings
    )
    return result(
        x=at, fun=residuals(at), cost=cost(at), optimality=optimality, active_mask=mask, nit=nit, status=status,
        success=success,
    )  # fmt: skip


def _isotonic(y: Array, *more: Any, increasing: bool) -> tuple[Any, ...]:
    weights = {"weights": more[0]} if more else {}
    found = scipys("optimize.isotonic_regression")(y, increasing=increasing, **weights)
    ends = np.asarray(found.blocks)
    which = np.searchsorted(ends, np.arange(y.size), side="right") - 1
    return found.x, ends[which], ends[which + 1]


@answers("optimize.isotonic_regression", AT_ARGUMENTS)
def isotonic_regression(y: ArrayLike, *, weights: ArrayLike | None = None, increasing: bool = True) -> Any:
    """The blocks are constants; each value is the weighted mean of its block."""
    values = as_dtype(array(y, (weights,)), FLOAT)
    if values.ndim != 1:
        raise ValueError(f"The input {values.ndim}-D array y must be one-dimensional.")
    w = None if weights is None else as_dtype(array(weights, (values,)), FLOAT)
    x, first, last = run_routine(
        _isotonic, [], [values] if w is None else [values, w],
        [values.aval, Aval(values.shape, INT), Aval(values.shape, INT)],
        increasing=bool(increasing),
    )  # fmt: skip
    sums = lambda v: np.concatenate([np.zeros(1), np.cumsum(v)])
    total, weight = sums(values if w is None else w * values), sums(np.ones(values.size) if w is None else w)
    mean = (total[last] - total[first]) / (weight[last] - weight[first])
    return result(x=x + (mean - record(stop_gradient, (mean,), {})))
