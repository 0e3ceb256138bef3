"""Minima: ``minimize`` with all of its methods, bounds and constraints, ``minimize_scalar``, the ``fmin`` family, and
those that look for a global minimum, whose result is a stationary point too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

from wengert.api.solving import FLOAT, Recorded, RunFunction, gradient, record_function, run_routine, solution
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
    counts,
    need_traced,
    number,
    refuse_callback,
    result,
    row,
    scipys,
    settled,
    vector,
    with_args,
)
from wengert.of_scipy.optimize.optimality import Constraints, Optimum, conditions, split
from wengert.tape import Aval
from wengert.tracing.arguments import array, as_dtype, unsupported

WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")
WITH_PRODUCT = ("newton-cg", "trust-ncg", "trust-krylov")
WITH_HESSIAN = ("dogleg", "trust-exact")
LESS_EXACT = {"bfgs": (2,), "cg": (2,), "newton-cg": (2, 3), "slsqp": (8,), "l-bfgs-b": (2,), "tnc": (4,)}
"""Statuses by which a method says that it cannot get nearer, which need not mean that it is far."""

COUNTERS = ("nfev", "njev", "nhev", "nit", "status")


def scalar_function(name: str, f: Callable[..., Any], x: Aval) -> Recorded:
    def call(x: ArrayLike) -> Any:
        value = f(x)
        if np.ndim(value) and np.size(value) != 1:
            raise ValueError("The user-provided objective function must return a scalar value.")
        return np.reshape(value, ()) if np.ndim(value) else value

    return record_function(name, call, x)


def bounds_of(bounds: Any, n: int) -> tuple[Any, Any]:
    """Two vectors of n elements."""
    if hasattr(bounds, "lb"):
        pair = bounds.lb, bounds.ub
    else:
        given = bounds if isinstance(bounds, list | tuple) else list(bounds)
        if len(given) != n:
            raise ValueError("length of x0 != length of bounds")
        pair = ([-np.inf if b[0] is None else b[0] for b in given], [np.inf if b[1] is None else b[1] for b in given])
    low, high = [np.broadcast_to(as_dtype(array(b), FLOAT), (n,)) for b in pair]
    return low, high


# ------------------------------------------------------------------------------------------------------- minimize


def _minimize(
    *operands: Any, method: str, tol: float, options: Options, has_bounds: bool, forms: Sequence[str]
) -> tuple[Any, ...]:
    functions, numbers = operands[: 1 + len(forms)], operands[1 + len(forms) :]
    f, rows = functions[0], functions[1:]
    x0, given = numbers[0], split(numbers[1:], has_bounds)
    more: dict[str, Any] = {}
    if has_bounds and given.bounds is not None:
        more["bounds"] = Bounds(*given.bounds)
    if rows:
        more["constraints"] = [
            _told(c, low, high, form, x0.size, method)
            for c, (low, high), form in zip(rows, given.rows, forms, strict=True)
        ]
    if method in WITH_PRODUCT:
        more["hessp"] = f.hessian_product
    if method in WITH_HESSIAN:
        more["hess"] = f.hessian
    has_gradient = method not in WITHOUT_GRADIENT
    found = scipys("optimize.minimize")(
        f.value_and_gradient if has_gradient else _float(f),
        x0, method=method, jac=True if has_gradient else None, tol=tol, options=options, **more,
    )  # fmt: skip
    is_there = bool(found.success) or found.get("status") in LESS_EXACT.get(method, ())
    x = np.asarray(found.x, float).reshape(-1)
    return *conditions(f, rows, x, given, is_there), bool(found.success), *counts(found, COUNTERS)


def _float(f: RunFunction) -> Callable[[Any], float]:
    return lambda x: float(f(x))


def _told(c: RunFunction, low: Any, high: Any, form: str, n: int, method: str) -> Any:
    """A constraint, as the user told it to SciPy."""
    if form == "linear":
        return LinearConstraint(np.reshape(c.jacobian(np.zeros(n)), (-1, n)), low, high)
    if form == "nonlinear":
        return NonlinearConstraint(lambda x: np.atleast_1d(c(x)), low, high, jac=c.jacobian)  # type: ignore[arg-type]  # its stub takes words alone
    told = {"type": form, "fun": lambda x: np.atleast_1d(c(x))}
    return told if method == "cobyla" else {**told, "jac": c.jacobian}


def constraints_of(name: str, constraints: Any, x: Aval) -> list[Constraints]:
    if isinstance(constraints, dict) or hasattr(constraints, "lb"):
        constraints = [constraints]
    return [_constraints(name, c, x) for c in constraints]


def _constraints(name: str, c: Any, x: Aval) -> Constraints:
    if isinstance(c, dict):
        form = str(c["type"]).lower()
        if form not in ("eq", "ineq"):
            raise ValueError(f"Unknown constraint type {c['type']!r}.")
        f = record_function(name, _flat(with_args(c["fun"], c.get("args", ()))), x)
        zero = np.zeros(f.out.shape)
        return Constraints(f, zero, zero if form == "eq" else zero + np.inf, form)
    if isinstance(c, LinearConstraint):
        matrix = np.atleast_2d(as_dtype(array(c.A), FLOAT))
        f, form = record_function(name, lambda x: matrix @ x, x), "linear"
    elif isinstance(c, NonlinearConstraint):
        f, form = record_function(name, _flat(c.fun), x), "nonlinear"
    else:
        raise unsupported(f"{name}: {type(c).__name__} as a constraint is not traced", "a NonlinearConstraint")
    low, high = [np.broadcast_to(as_dtype(array(b), FLOAT), f.out.shape) for b in (c.lb, c.ub)]
    return Constraints(f, low, high, form)


def _flat(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: np.reshape(array(f(x), (x,)), -1)


@answers("optimize.minimize")
def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: object = (),
    method: str | None = None,
    jac: object = None,
    hess: object = None,
    hessp: object = None,
    bounds: Limits = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callback = None,
    options: Options = None,
) -> Any:
    """SciPy gets exact gradients, and products of the Hessian where a method wants them, whatever ``jac`` and ``hess``
    say."""
    x = row(x0)
    if x.ndim != 1:
        raise ValueError("'x0' must only have one dimension.")
    name = "scipy.optimize.minimize"
    called = with_args(fun, args)
    f = scalar_function(name, (lambda x: called(x)[0]) if jac is True else called, x.aval)
    rows = constraints_of(name, constraints, x.aval)
    limits = None if bounds is None else bounds_of(bounds, x.size)
    need_traced(f, x0, *[c.function for c in rows], *[b for c in rows for b in (c.low, c.high)], *(limits or ()))
    refuse_callback("optimize.minimize", callback)
    if method is not None and not isinstance(method, str):
        raise unsupported(f"{name}: a method that is a function is not traced", "wg.implicit, for a solver of your own")
    kind = str(method or ("SLSQP" if rows else "L-BFGS-B" if limits is not None else "BFGS")).lower()
    problem = Optimum(name, f, x.aval, limits, rows)
    found = run_routine(
        _minimize, problem.functions, [x, *problem.numbers],
        [*problem.out, TRUTH, *[COUNT] * len(COUNTERS)],
        method=kind, tol=settled(tol), options=settled(options), has_bounds=limits is not None,
        forms=tuple([c.form for c in rows]),
    )  # fmt: skip
    at = problem.solution(*found[:4])
    fields: dict[str, Any] = dict(zip(COUNTERS, found[5:], strict=True))
    if kind in WITHOUT_GRADIENT:
        del fields["njev"], fields["nhev"]
    else:
        fields["grad" if kind == "trust-constr" else "jac"] = f.of(gradient)(at)
    if kind not in (*WITH_PRODUCT, *WITH_HESSIAN):
        fields.pop("nhev", None)
    return result(x=at, success=found[4], fun=f(at), **fields)


# ------------------------------------------------------------------------------------------------- of one number

ON_A_BOUND = 1e-3


def _minimize_scalar(
    f: RunFunction, *numbers: Any, method: str, tol: float, options: Options, kind: str
) -> tuple[Any, ...]:
    points = tuple(map(float, numbers))
    given = {kind: points} if kind else {}
    found = scipys("optimize.minimize_scalar")(_float(f), method=method, tol=tol, options=options, **given)
    x = np.float64(found.x)
    side = _side(f, x, points) if kind == "bounds" else 0
    return x, side, bool(found.success), not found.success, *counts(found, ("nfev", "nit"))


def _side(f: RunFunction, x: np.float64, ends: Sequence[float]) -> int:
    """The end that holds the minimum: the slope goes down towards it, and x came near to it. −1 for the lower one."""
    low, high = ends
    slope = f.gradient(x)
    if x - low <= ON_A_BOUND * (high - low) and slope > 0:
        return -1 if f.hessian(x) * (x - low) < slope else 0
    if high - x <= ON_A_BOUND * (high - low) and slope < 0:
        return 1 if f.hessian(x) * (high - x) < -slope else 0
    return 0


def of_one_number(name: str, f: Recorded, x: Array, side: Any, ends: Sequence[Any], verdict: Array) -> Any:
    slope = f.of(gradient)
    if not ends:
        return solution(name, slope, x, verdict)
    low, high = ends
    return solution(
        name,
        record_function(name, lambda x: np.where(side == 0, slope(x), x - np.where(side < 0, low, high)), NUMBER),
        x,
        verdict,
    )


@answers("optimize.minimize_scalar")
def minimize_scalar(
    fun: Callable[..., Any],
    bracket: ArrayLike | None = None,
    bounds: Limits = None,
    args: object = (),
    method: str | None = None,
    tol: float | None = None,
    options: Options = None,
) -> Any:
    name = "scipy.optimize.minimize_scalar"
    f = scalar_function(name, with_args(fun, args), NUMBER)
    if method is None:
        method = "bounded" if bounds is not None else "brent"
    is_bounded = str(method).lower() == "bounded"
    points = [number(b) for b in ((bounds if is_bounded else bracket) or ())]
    need_traced(f, *points)
    x, side, success, verdict, nfev, nit = run_routine(
        _minimize_scalar, [f], points, [NUMBER, COUNT, TRUTH, COUNT, COUNT, COUNT],
        method=method, tol=settled(tol), options=settled(options),
        kind="" if not points else "bounds" if is_bounded else "bracket",
    )  # fmt: skip
    at = of_one_number(name, f, x, side, points if is_bounded else (), verdict)
    return result(x=at, fun=f(at), success=success, nfev=nfev, nit=nit)


def _fminbound(f: RunFunction, a: Array, b: Array, **settings: Any) -> tuple[Any, ...]:
    x, _, failed, calls = scipys("optimize.fminbound")(_float(f), float(a), float(b), full_output=True, **settings)
    return x, _side(f, np.float64(x), (float(a), float(b))), failed, calls, failed


@answers("optimize.fminbound")
def fminbound(
    func: Callable[..., Any],
    x1: ArrayLike,
    x2: ArrayLike,
    args: object = (),
    xtol: float = 1e-5,
    maxfun: int = 500,
    full_output: bool | int = 0,
    disp: int = 1,
) -> Any:
    name = "scipy.optimize.fminbound"
    f = scalar_function(name, with_args(func, args), NUMBER)
    need_traced(f, x1, x2)
    ends = [number(x1), number(x2)]
    settings = settled({"xtol": xtol, "maxfun": maxfun, "disp": disp})
    x, side, failed, calls, verdict = run_routine(_fminbound, [f], ends, [NUMBER, *[COUNT] * 4], **settings)
    at = of_one_number(name, f, x, side, ends, verdict)
    return (at, f(at), failed, calls) if full_output else at


def _line(f: RunFunction, *numbers: Any, name: str, **settings: Any) -> tuple[Any, ...]:
    brack = tuple(map(float, numbers)) or None
    found = scipys(f"optimize.{name}")(_float(f), brack=brack, full_output=True, **settings)
    return found[0], *found[2:]


def _answer_line(name: str, results: int) -> None:
    @answers(f"optimize.{name}")
    def find(
        func: Callable[..., Any], args: object = (), brack: Sequence[Any] | None = None, *more: Any, **options: Any
    ) -> Any:
        names = ("tol", "full_output", "maxiter")
        options |= dict(zip(names, more, strict=False))
        full_output = options.pop("full_output", False)
        f = scalar_function(f"scipy.optimize.{name}", with_args(func, args), NUMBER)
        points = [number(b) for b in brack or ()]
        need_traced(f, *points)
        x, *rest = run_routine(_line, [f], points, [NUMBER, *[COUNT] * (results - 2)], name=name, **settled(options))
        at = solution(f"scipy.optimize.{name}", f.of(gradient), x, np.int64(0))
        return (at, f(at), *rest) if full_output else at


_answer_line("brent", 4)
_answer_line("golden", 3)

# ------------------------------------------------------------------------------------------------- the fmin family

FAMILY: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], Sequence[int]]] = {
    "fmin": ("", ("xtol", "ftol", "maxiter", "maxfun", "full_output", "disp", "retall", "callback", "initial_simplex"),
             ("f", "iter", "calls", "flag"), ()),
    "fmin_powell": ("", ("xtol", "ftol", "maxiter", "maxfun", "full_output", "disp", "retall", "callback", "direc"),
                    ("f", "direc", "iter", "calls", "flag"), ()),
    "fmin_bfgs": ("fprime", ("gtol", "norm", "epsilon", "maxiter", "full_output", "disp", "retall", "callback", "xrtol",
                             "c1", "c2", "hess_inv0"), ("f", "grad", "matrix", "calls", "gcalls", "flag"), (2,)),
    "fmin_cg": ("fprime", ("gtol", "norm", "epsilon", "maxiter", "full_output", "disp", "retall", "callback",
                           "c1", "c2"), ("f", "calls", "gcalls", "flag"), (2,)),
    "fmin_ncg": ("fhess_p", ("avextol", "epsilon", "maxiter", "full_output", "disp", "retall", "callback",
                             "c1", "c2"), ("f", "calls", "gcalls", "hcalls", "flag"), (2, 3)),
}  # fmt: skip
"""Rows by name: what derivatives are handed on, the parameters behind ``args``, what a full output holds behind x,
and the flags by which a method says that it cannot get nearer."""


def _family(f: RunFunction, x0: Array, *, name: str, **settings: Any) -> tuple[Any, ...]:
    kind, _, fields, less_exact = FAMILY[name]
    more: dict[str, Any] = {"fprime": f.gradient} if kind else {}
    if kind == "fhess_p":
        more["fhess_p"] = f.hessian_product
    found = scipys(f"optimize.{name}")(_float(f), x0, full_output=True, **more, **settings)
    flag = int(found[1 + fields.index("flag")])
    numbers = [v for v, field in zip(found[1:], fields, strict=False) if field not in ("f", "grad", "matrix", "direc")]
    matrices = [v for v, field in zip(found[1:], fields, strict=False) if field in ("matrix", "direc")]
    x = np.asarray(found[0], float).reshape(-1)
    return x, not (flag == 0 or flag in less_exact), *numbers, *matrices


def _answer_family(name: str) -> None:
    kind, names, fields, _ = FAMILY[name]
    before = {"": ("args",), "fprime": ("fprime", "args"), "fhess_p": ("fprime", "fhess_p", "fhess", "args")}[kind]

    @answers(f"optimize.{name}")
    def find(f: Callable[..., Any] | None = None, x0: ArrayLike = (), *more: Any, **options: Any) -> Any:
        options |= dict(zip((*before, *names), more, strict=False))
        called = with_args(options.pop("func", f), options.pop("args", ()))
        for derivative in ("fprime", "fhess_p", "fhess", "epsilon"):
            options.pop(derivative, None)
        x = row(x0).reshape(-1)
        values = scalar_function(f"scipy.optimize.{name}", called, x.aval)
        need_traced(values, x0)
        refuse_callback(f"optimize.{name}", options.pop("callback", None))
        full_output = options.pop("full_output", 0)
        if options.pop("retall", 0):
            raise unsupported(f"scipy.optimize.{name}: retall is not traced", "retall=False")
        matrices = [Aval((x.size, x.size), FLOAT) for field in fields if field in ("matrix", "direc")]
        plain = [field for field in fields if field not in ("f", "grad", "matrix", "direc")]
        found = run_routine(
            _family, [values], [x], [x.aval, COUNT, *[COUNT] * len(plain), *matrices], name=name, **settled(options)
        )
        at = solution(f"scipy.optimize.{name}", values.of(gradient), found[0], found[1])
        if not full_output:
            return at
        known = dict(zip([*plain, *[f for f in fields if f in ("matrix", "direc")]], found[2:], strict=True))
        known |= {"f": values(at)} | ({"grad": values.of(gradient)(at)} if "grad" in fields else {})
        return (at, *[known[field] for field in fields])


for _name in FAMILY:
    _answer_family(_name)


def _bounded_family(
    *operands: Any, name: str, has_bounds: bool, forms: Sequence[str], **settings: Any
) -> tuple[Any, ...]:
    functions, numbers = operands[: 1 + len(forms)], operands[1 + len(forms) :]
    f, rows = functions[0], functions[1:]
    x0, given = numbers[0], split(numbers[1:], has_bounds)
    more: dict[str, Any] = {}
    if given.bounds is not None:
        more["bounds"] = list(zip(*[b.tolist() for b in given.bounds], strict=True))
    if name == "fmin_slsqp":
        for c, form in zip(rows, forms, strict=True):
            flat = lambda x, c=c: np.atleast_1d(c(x))
            more |= {"f_eqcons" if form == "eq" else "f_ieqcons": flat}
            more |= {"fprime_eqcons" if form == "eq" else "fprime_ieqcons": c.jacobian}
        x, _, nit, mode, _ = scipys("optimize.fmin_slsqp")(
            _float(f), x0, fprime=f.gradient, full_output=True, **more, **settings
        )
        is_there, numbers_out = mode in (0, 8), (nit, mode)
    elif name == "fmin_l_bfgs_b":
        x, _, info = scipys("optimize.fmin_l_bfgs_b")(f.value_and_gradient, x0, **more, **settings)
        is_there = info["warnflag"] in (0, 2)
        numbers_out = (info["warnflag"], info["funcalls"], info["nit"])
    else:
        x, calls, code = scipys("optimize.fmin_tnc")(f.value_and_gradient, x0, **more, **settings)
        is_there, numbers_out = code in (-1, 0, 1, 2, 4), (calls, code)
    return *conditions(f, rows, np.asarray(x, float).reshape(-1), given, is_there), *numbers_out


def _bounded(name: str, func: Callable[..., Any], x0: ArrayLike, args: object, fprime: object, bounds: Limits,
             outs: int, rows_of: Any = lambda x: [], **settings: Any) -> tuple[Any, Any, Any]:  # fmt: skip
    x = vector(x0).reshape(-1)
    called = with_args(func, args, name != "fmin_slsqp")
    returns_both = fprime is None and name != "fmin_slsqp" and not settings.pop("approx_grad", 0)
    full = f"scipy.optimize.{name}"
    f = scalar_function(full, (lambda x: called(x)[0]) if returns_both else called, x.aval)
    has_none = bounds is None or (not isinstance(bounds, Bounds) and not list(bounds))
    limits = None if has_none else bounds_of(bounds, x.size)
    rows = rows_of(x.aval)
    need_traced(f, x0, *(limits or ()), *[c.function for c in rows])
    refuse_callback(f"optimize.{name}", settings.pop("callback", None))
    for differences in ("epsilon", "approx_grad"):
        settings.pop(differences, None)
    problem = Optimum(full, f, x.aval, limits, rows)
    found = run_routine(
        _bounded_family, problem.functions, [x, *problem.numbers], [*problem.out, *[COUNT] * outs], name=name,
        has_bounds=limits is not None, forms=tuple([c.form for c in rows]), **settled(settings),
    )  # fmt: skip
    return problem.solution(*found[:4]), f, found[4:]


@answers("optimize.fmin_l_bfgs_b")
def fmin_l_bfgs_b(
    func: Callable[..., Any],
    x0: ArrayLike,
    fprime: object = None,
    args: object = (),
    approx_grad: bool | int = 0,
    bounds: Limits = None,
    **more: Any,
) -> Any:
    at, f, (flag, calls, nit) = _bounded(
        "fmin_l_bfgs_b", func, x0, args, fprime, bounds, 3, approx_grad=approx_grad, **more
    )
    return at, f(at), {"grad": f.of(gradient)(at), "funcalls": calls, "nit": nit, "warnflag": flag}


@answers("optimize.fmin_tnc")
def fmin_tnc(
    func: Callable[..., Any],
    x0: ArrayLike,
    fprime: object = None,
    args: object = (),
    approx_grad: bool | int = 0,
    bounds: Limits = None,
    **more: Any,
) -> Any:
    at, _, (calls, code) = _bounded("fmin_tnc", func, x0, args, fprime, bounds, 2, approx_grad=approx_grad, **more)
    return at, calls, code


@answers("optimize.fmin_slsqp")
def fmin_slsqp(
    func: Callable[..., Any], x0: ArrayLike, eqcons: Sequence[Any] = (), f_eqcons: Callable[..., Any] | None = None,
    ieqcons: Sequence[Any] = (), f_ieqcons: Callable[..., Any] | None = None, bounds: Limits = (),
    fprime: object = None, fprime_eqcons: object = None, fprime_ieqcons: object = None, args: object = (),
    iter: int = 100, acc: float = 1e-6, iprint: int = 1, disp: Any = None, full_output: bool | int = 0, **more: Any,
) -> Any:  # fmt: skip
    def rows_of(x: Aval) -> list[Constraints]:
        found = []
        for form, several, one in (("eq", eqcons, f_eqcons), ("ineq", ieqcons, f_ieqcons)):
            each = [with_args(c, args, False) for c in several]
            if one is not None:
                each = [with_args(one, args, False)]
            if each:
                every = lambda x, each=each: np.concatenate([np.reshape(array(c(x), (x,)), -1) for c in each])
                found.append(_constraints("scipy.optimize.fmin_slsqp", {"type": form, "fun": every}, x))
        return found

    more |= {"iter": iter, "acc": acc, "iprint": iprint, "disp": disp}
    at, f, (nit, mode) = _bounded("fmin_slsqp", func, x0, args, fprime, bounds, 2, rows_of, **more)
    if not full_output:
        return at
    from wengert.of_scipy.optimize.roots import Text

    return at, f(at), nit, mode, Text("fmin_slsqp's message")


# ------------------------------------------------------------------------------------------------ global minima


def _global(f: RunFunction, *numbers: Any, name: str, has_bounds: bool, settings: Settings) -> tuple[Any, ...]:
    given = split(numbers[:2], True) if has_bounds else split((), False)
    more: dict[str, Any] = {}
    if name == "basinhopping":
        within = {"jac": True, **(settings.get("minimizer_kwargs") or {})}
        kind = str(within.get("method", "BFGS")).lower()
        within["jac"] = kind not in WITHOUT_GRADIENT
        function: Any = f.value_and_gradient if within["jac"] else _float(f)
        found = scipys("optimize.basinhopping")(function, numbers[-1], **{**settings, "minimizer_kwargs": {**within}})
        success = bool(found.lowest_optimization_result.success) or found.lowest_optimization_result.get(
            "status"
        ) in LESS_EXACT.get(kind, ())
    else:
        assert given.bounds is not None
        bounds = list(zip(*[b.tolist() for b in given.bounds], strict=True))
        found = scipys(f"optimize.{name}")(_float(f), bounds, **more, **settings)
        success = bool(found.success)
    x = np.asarray(found.x, float).reshape(-1)
    return *conditions(f, (), x, given, success), success, *counts(found, ("nfev", "nit"))


def _answer_global(name: str) -> None:
    @answers(f"optimize.{name}")
    def find(func: Callable[..., Any], bounds: Sequence[Any] | Bounds, args: object = (), **settings: Any) -> Any:
        if _holds_something(settings.pop("constraints", ())):
            raise unsupported(f"scipy.optimize.{name}: constraints are not traced", "scipy.optimize.minimize")
        refuse_callback(f"optimize.{name}", settings.pop("callback", None))
        count = len(bounds.lb) if isinstance(bounds, Bounds) else len(list(bounds))
        low, high = bounds_of(bounds, count)
        x = Aval((count,), FLOAT)
        f = scalar_function(f"scipy.optimize.{name}", with_args(func, args), x)
        need_traced(f, low, high)
        problem = Optimum(f"scipy.optimize.{name}", f, x, (low, high))
        found = run_routine(
            _global, [f], problem.numbers, [*problem.out, TRUTH, COUNT, COUNT], name=name, has_bounds=True,
            settings=settled(settings),
        )  # fmt: skip
        at = problem.solution(*found[:4])
        return result(x=at, fun=f(at), success=found[4], nfev=found[5], nit=found[6])


def _holds_something(constraints: Any) -> bool:
    return not isinstance(constraints, list | tuple) or len(constraints) > 0


for _name in ("differential_evolution", "dual_annealing", "shgo", "direct"):
    if hasattr(scipy.optimize, _name):
        _answer_global(_name)


@answers("optimize.basinhopping")
def basinhopping(func: Callable[..., Any], x0: ArrayLike, *more: Any, **settings: Any) -> Any:
    settings |= dict(zip(("niter", "T", "stepsize", "minimizer_kwargs"), more, strict=False))
    refuse_callback("optimize.basinhopping", settings.pop("callback", None))
    within = dict(settings.pop("minimizer_kwargs", None) or {})
    args = within.pop("args", ())
    if "bounds" in within or "constraints" in within:
        raise unsupported("scipy.optimize.basinhopping: bounds and constraints are not traced", "dual_annealing")
    name, x = "scipy.optimize.basinhopping", row(x0)
    called = with_args(func, args)
    f = scalar_function(name, (lambda x: called(x)[0]) if within.get("jac") is True else called, x.aval)
    need_traced(f, x0)
    settings["minimizer_kwargs"] = {k: v for k, v in within.items() if k not in ("jac", "hess", "hessp")}
    problem = Optimum(name, f, x.aval)
    found = run_routine(
        _global, [f], [x], [*problem.out, TRUTH, COUNT, COUNT], name="basinhopping", has_bounds=False,
        settings=settled(settings),
    )  # fmt: skip
    at = problem.solution(*found[:4])
    return result(x=at, fun=f(at), success=found[4], nfev=found[5], nit=found[6])


def _brute(f: RunFunction, *, has_finish: bool, settings: Any) -> tuple[Any, ...]:
    more = {} if has_finish else {"finish": None}
    x, *_ = scipys("optimize.brute")(_float(f), full_output=True, **more, **settings)
    return np.asarray(x, float).reshape(f.inputs[0].shape), 0


@answers("optimize.brute")
def brute(
    func: Callable[..., Any],
    ranges: Sequence[Any],
    args: object = (),
    Ns: int = 20,
    full_output: bool | int = 0,
    finish: Any = scipy.optimize.fmin,
    disp: bool = False,
    workers: object = 1,
) -> Any:
    """The best point of the grid, which does not move, or the minimum that ``fmin`` finds from there."""
    name = "scipy.optimize.brute"
    if full_output or finish not in (None, scipy.optimize.fmin):
        raise unsupported(f"{name}: full_output, and another finish than fmin, are not traced", "scipy.optimize.fmin")
    x = Aval((len(ranges),) if len(ranges) > 1 else (), FLOAT)
    f = scalar_function(name, with_args(func, args), x)
    need_traced(f)
    settings = settled({"ranges": tuple(ranges), "Ns": Ns, "disp": disp})
    y, verdict = run_routine(_brute, [f], [], [x, COUNT], has_finish=finish is not None, settings=settings)
    return y if finish is None else solution(name, f.of(gradient), y, verdict)
