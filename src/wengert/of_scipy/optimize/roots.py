"""Roots: systems of equations (``root``, ``fsolve``, ``broyden1``, ...), and of one number (``brentq``, ``newton``)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import RootResults

from wengert.api.solving import Recorded, RunFunction, gradient, record_function, run_routine, solution
from wengert.of_scipy.optimize.calls import (
    COUNT,
    NUMBER,
    TRUTH,
    Array,
    Callback,
    Options,
    Result,
    Settings,
    answers,
    counts,
    need_traced,
    number,
    refuse_callback,
    result,
    scipys,
    settled,
    vector,
    with_args,
)
from wengert.tape import Aval
from wengert.tracing.arguments import unsupported

# ------------------------------------------------------------------------------------------------------- systems

WITH_JACOBIAN = ("hybr", "lm")
NONLINEAR = ("broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing", "krylov")


def _root(f: RunFunction, *more: Any, method: str, tol: float, options: Options, has_jacobian: bool) -> tuple[Any, ...]:
    jac = None
    if method in WITH_JACOBIAN:
        jac = more[0] if has_jacobian else f.jacobian
    found = scipys("optimize.root")(f, more[-1], jac=jac, method=method, tol=tol, options=options)
    is_there = bool(found.success)
    return found.x, found.fun, is_there, found.get("status", -1), *counts(found, ("nfev", "njev", "nit")), not is_there


@answers("optimize.root")
def root(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: object = (),
    method: str = "hybr",
    jac: object = None,
    tol: float | None = None,
    callback: Callback = None,
    options: Options = None,
) -> Any:
    kind = str(method).lower()
    x = vector(x0)
    if kind in WITH_JACOBIAN:
        x = x.reshape(-1)
    f = with_args(fun, args)
    slope: list[Recorded] = []
    if callable(jac):
        slope.append(record_function("scipy.optimize.root", with_args(jac, args), x.aval))
    first = (lambda x: f(x)[0]) if jac is True else f
    values = record_function("scipy.optimize.root", first, x.aval)
    if options and options.get("col_deriv") and slope:
        slope = [record_function("scipy.optimize.root", lambda x: slope[0](x).T, x.aval)]
        options = {k: v for k, v in options.items() if k != "col_deriv"}
    need_traced(values, *slope, x0)
    refuse_callback("optimize.root", callback)
    _check_shape("scipy.optimize.root", x.aval, values.out, kind == "lm")
    found = run_routine(
        _root, [values, *slope], [x], [x.aval, values.out, TRUTH, COUNT, COUNT, COUNT, COUNT, COUNT],
        method=kind, tol=settled(tol), options=settled(options), has_jacobian=bool(slope),
    )  # fmt: skip
    y, _, success, status, nfev, njev, nit, verdict = found
    at = solution("scipy.optimize.root", _equation(values, x.aval), y, verdict)
    more = {"njev": njev} if kind in WITH_JACOBIAN else {"nit": nit}
    if kind not in NONLINEAR:
        more["status"] = status
    return result(x=at, success=success, fun=values(at), nfev=nfev, method=kind, **more)


def _equation(values: Recorded, x: Aval) -> Recorded:
    """f = 0; of more equations than unknowns, which are met as well as can be, Jᵀf = 0."""
    if values.out.size == x.size:
        if values.out.shape == x.shape:
            return values
        return record_function("a system of equations", lambda x: values(x).reshape(x.shape), x)
    return record_function("a least-squares problem", lambda x: (values(x) ** 2).sum() / 2, x).of(gradient)


def _check_shape(name: str, x: Aval, f: Aval, may_be_longer: bool = False) -> None:
    if f.size == x.size or (may_be_longer and f.size > x.size):
        return
    raise TypeError(
        f"{name}: there is a mismatch between the input and output shape of the function. "
        f"Shape should be {x.shape} but it is {f.shape}."
    )


def _fsolve(f: RunFunction, *more: Any, has_jacobian: bool, **settings: Any) -> tuple[Any, ...]:
    jac = more[0] if has_jacobian else f.jacobian
    x, info, ier, _ = scipys("optimize.fsolve")(f, more[-1], fprime=jac, full_output=True, **settings)
    return x, info["fvec"], info["nfev"], info.get("njev", -1), ier, ier != 1


@answers("optimize.fsolve")
def fsolve(
    func: Callable[..., Any],
    x0: ArrayLike,
    args: object = (),
    fprime: Callable[..., Any] | None = None,
    full_output: bool | int = 0,
    col_deriv: bool | int = 0,
    xtol: float = 1.49012e-08,
    maxfev: int = 0,
    band: ArrayLike | None = None,
    epsfcn: float | None = None,
    factor: float = 100,
    diag: ArrayLike | None = None,
) -> Any:
    x = vector(x0).reshape(-1)
    values = record_function("scipy.optimize.fsolve", with_args(func, args), x.aval)
    slope: list[Recorded] = []
    if fprime is not None:
        turned = with_args(fprime, args)
        given = (lambda x: np.transpose(turned(x))) if col_deriv else turned
        slope.append(record_function("scipy.optimize.fsolve", given, x.aval))
    need_traced(values, *slope, x0)
    _check_shape("fsolve", x.aval, values.out)
    settings = settled({"xtol": xtol, "maxfev": maxfev, "factor": factor, "diag": diag})
    found = run_routine(
        _fsolve if full_output else _fsolve_aloud, [values, *slope], [x],
        [x.aval, x.aval, COUNT, COUNT, COUNT, COUNT], has_jacobian=bool(slope), **settings,
    )  # fmt: skip
    y, _, nfev, njev, ier, verdict = found
    at = solution("scipy.optimize.fsolve", _equation(values, x.aval), y, verdict)
    if not full_output:
        return at
    info = {"nfev": nfev, "njev": njev, "fvec": values(at)}
    return at, info, ier, Text("fsolve's message")


def _fsolve_aloud(f: RunFunction, *more: Any, **settings: Any) -> tuple[Any, ...]:
    """Run as SciPy without ``full_output``: a warning says that it did not converge."""
    has_jacobian = settings.pop("has_jacobian")
    jac = more[0] if has_jacobian else f.jacobian
    x, info, ier, text = scipys("optimize.fsolve")(f, more[-1], fprime=jac, full_output=True, **settings)
    if ier != 1:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return x, info["fvec"], info["nfev"], info.get("njev", -1), ier, ier != 1


class Text:
    """A text that a run gives, which a traced function cannot look at."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __str__(self) -> str:
        raise unsupported(f"{self._name} is not traced", "the number beside it")

    __repr__ = __str__


def _nonlinear(f: RunFunction, x0: Array, *, name: str, settings: Settings) -> tuple[Any, ...]:
    return scipys(f"optimize.{name}")(f, x0, **settings), 0


def _answer_nonlinear(name: str) -> None:
    @answers(f"optimize.{name}")
    def solve(F: Callable[..., Any], xin: ArrayLike, **settings: Any) -> Any:
        x = vector(xin)
        values = record_function(f"scipy.optimize.{name}", F, x.aval)
        need_traced(values, xin)
        refuse_callback(f"optimize.{name}", settings.pop("callback", None))
        _check_shape(name, x.aval, values.out)
        y, verdict = run_routine(_nonlinear, [values], [x], [x.aval, COUNT], name=name, settings=settled(settings))
        return solution(f"scipy.optimize.{name}", _equation(values, x.aval), y, verdict)


for _name in (*NONLINEAR[:-1], "newton_krylov"):
    _answer_nonlinear(_name)


def _fixed_point(f: RunFunction, x0: Array, **settings: Any) -> tuple[Any, ...]:
    return scipys("optimize.fixed_point")(f, x0, **settings), np.zeros(np.shape(x0), int)


@answers("optimize.fixed_point")
def fixed_point(
    func: Callable[..., Any],
    x0: ArrayLike,
    args: object = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
    method: str = "del2",
) -> Any:
    """The equation is x − f(x) = 0, one system of all elements."""
    x = vector(x0)
    values = record_function("scipy.optimize.fixed_point", with_args(func, args), x.aval)
    need_traced(values, x0)
    settings = settled({"xtol": xtol, "maxiter": maxiter, "method": method})
    y, _ = run_routine(_fixed_point, [values], [x], [x.aval, Aval(x.shape, COUNT.dtype)], **settings)
    equation = record_function("scipy.optimize.fixed_point", lambda x: x - values(x), x.aval)
    return solution("scipy.optimize.fixed_point", equation, y, np.int64(0))


# ---------------------------------------------------------------------------------------------------- one number


class TracedRootResults(Result, RootResults):
    """SciPy's RootResults, with traced fields."""

    def __init__(self, fields: dict[str, Any]) -> None:
        dict.__init__(self, fields)


def _one_root(
    label: str,
    functions: list[Recorded],
    numbers: list[Any],
    run: Any,
    full_output: bool | int,
    method: str,
    **settings: Any,
) -> Any:
    x, iterations, calls, converged, verdict = run_routine(
        run, functions, numbers, [NUMBER, COUNT, COUNT, TRUTH, COUNT], **settings
    )
    at = solution(f"scipy.optimize.{label}", functions[0], x, verdict)
    if not full_output:
        return at
    return at, _root_results(at, iterations, calls, converged, method)


def _root_results(at: Any, iterations: Any, calls: Any, converged: Any, method: str) -> Any:
    fields = {"root": at, "iterations": iterations, "function_calls": calls, "converged": converged, "method": method}
    return TracedRootResults(fields)


def _told(found: Any) -> tuple[Any, ...]:
    return found.root, found.iterations, found.function_calls, found.converged, not found.converged


def _bracketed(f: RunFunction, a: Array, b: Array, *, name: str, **settings: Any) -> tuple[Any, ...]:
    _, found = scipys(f"optimize.{name}")(_plain(f), float(a), float(b), full_output=True, **settings)
    return _told(found)


def _plain(f: Callable[..., Any]) -> Callable[[float], float]:
    """A function of one number, as a number of Python's, which SciPy's C code takes fastest."""
    return lambda x: float(f(x))


def _answer_bracketed(name: str) -> None:
    is_toms = name == "toms748"

    @answers(f"optimize.{name}")
    def solve(
        f: Callable[..., Any],
        a: ArrayLike,
        b: ArrayLike,
        args: object = (),
        *more: Any,
        **options: Any,
    ) -> Any:
        names = ("k", "xtol", "rtol", "maxiter", "full_output", "disp")[0 if is_toms else 1 :]
        options |= dict(zip(names, more, strict=False))
        full_output = options.pop("full_output", False)
        values = _scalar_function(name, f, args)
        need_traced(values, a, b)
        ends = [number(a), number(b)]
        return _one_root(name, [values], ends, _bracketed, full_output, name, name=name, **settled(options))


for _name in ("brentq", "brenth", "ridder", "bisect", "toms748"):
    _answer_bracketed(_name)


def _scalar_function(name: str, f: Callable[..., Any], args: object = ()) -> Recorded:
    called = with_args(f, args)
    return record_function(f"scipy.optimize.{name}", lambda x: _one(called(x), name), NUMBER)


def _one(x: Array, name: str) -> Any:
    if np.ndim(x) and np.size(x) == 1:
        return np.reshape(x, ())
    if np.ndim(x):
        raise TypeError(f"{name}: the function value at x is not a scalar")
    return x


def _newton(f: RunFunction, *more: Any, orders: int, has_x1: bool, **settings: Any) -> tuple[Any, ...]:
    slopes, points = more[:orders], more[orders:]
    given = dict(zip(("fprime", "fprime2"), slopes, strict=False))
    x0 = points[0]
    if np.ndim(x0) == 0:
        given = {k: _plain(g) for k, g in given.items()}
        x1 = {"x1": float(points[1])} if has_x1 else {}
        _, found = scipys("optimize.newton")(_plain(f), float(x0), full_output=True, **given, **x1, **settings)
        return _told(found)
    x1 = {"x1": points[1]} if has_x1 else {}
    x, converged, zero = scipys("optimize.newton")(f, x0, full_output=True, **given, **x1, **settings)
    return x, converged, zero, ~np.asarray(converged)


@answers("optimize.newton")
def newton(
    func: Callable[..., Any],
    x0: ArrayLike,
    fprime: Callable[..., Any] | None = None,
    args: object = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Callable[..., Any] | None = None,
    x1: ArrayLike | None = None,
    rtol: float = 0.0,
    full_output: bool | int = False,
    disp: bool = True,
) -> Any:
    """The elements of an array are equations of their own, as SciPy takes them."""
    x = number(x0)
    name = "scipy.optimize.newton"
    functions = [record_function(name, with_args(g, args), x.aval) for g in (func, fprime, fprime2) if g is not None]
    if fprime is None and fprime2 is not None:
        raise unsupported("newton: fprime2 is given without fprime", "both of them")
    if functions[0].out.shape != x.shape:
        functions[0] = _equation(functions[0], x.aval)
    need_traced(*functions, x0, x1)
    points = [x] if x1 is None else [x, number(x1)]
    settings = settled({"tol": tol, "maxiter": maxiter, "rtol": rtol, "disp": disp})
    settings |= {"orders": len(functions) - 1, "has_x1": x1 is not None}
    if x.ndim == 0:
        method = "secant" if fprime is None else "newton" if fprime2 is None else "halley"
        return _one_root("newton", functions, points, _newton, full_output, method, **settings)
    flags = Aval(x.shape, TRUTH.dtype)
    y, converged, zero, verdict = run_routine(
        _newton, functions, points, [x.aval, flags, flags, Aval(x.shape, COUNT.dtype)], **settings
    )
    at = solution(name, functions[0], y, verdict, x.ndim)
    return (at, converged, zero) if full_output else at


def _root_scalar(f: RunFunction, *more: Any, orders: int, given: Sequence[str], settings: Settings) -> tuple[Any, ...]:
    slopes = {k: _plain(g) for k, g in zip(("fprime", "fprime2"), more[:orders], strict=False)}
    points: dict[str, Any] = dict(zip(given, map(float, more[orders:]), strict=True))
    if "a" in points:
        points["bracket"] = (points.pop("a"), points.pop("b"))
    return _told(scipys("optimize.root_scalar")(_plain(f), **slopes, **points, **settings))


@answers("optimize.root_scalar")
def root_scalar(
    f: Callable[..., Any],
    args: object = (),
    method: str | None = None,
    bracket: Sequence[Any] | None = None,
    fprime: object = None,
    fprime2: object = None,
    x0: ArrayLike | None = None,
    x1: ArrayLike | None = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: Options = None,
) -> Any:
    called = with_args(f, args)
    orders = 2 if fprime2 is True else 1 if fprime is True else 0  # f returns its derivatives too
    first = (lambda x: called(x)[0]) if orders else called
    functions = [record_function("scipy.optimize.root_scalar", lambda x: _one(first(x), "root_scalar"), NUMBER)]
    for k, g in enumerate((fprime, fprime2)):
        if g is True:
            functions.append(record_function("scipy.optimize.root_scalar", lambda x, k=k: called(x)[k + 1], NUMBER))
        elif callable(g):
            functions.append(_scalar_function("root_scalar", g, args))
    points = {} if bracket is None else {"a": bracket[0], "b": bracket[1]}
    points |= {k: v for k, v in (("x0", x0), ("x1", x1)) if v is not None}
    need_traced(*functions, *points.values())
    settings = {"method": method, "xtol": xtol, "rtol": rtol, "maxiter": maxiter, "options": options}
    found = run_routine(
        _root_scalar, functions, [number(p) for p in points.values()], [NUMBER, COUNT, COUNT, TRUTH, COUNT],
        orders=len(functions) - 1, given=tuple(points), settings=settled(settings),
    )  # fmt: skip
    x, iterations, calls, converged, verdict = found
    at = solution("scipy.optimize.root_scalar", functions[0], x, verdict)
    return _root_results(at, iterations, calls, converged, method or _method(points, functions))


def _method(points: Any, functions: Any) -> str:
    """SciPy's choice of a method."""
    if "a" in points:
        return "brentq"
    return "halley" if len(functions) > 2 else "newton" if len(functions) > 1 or "x1" not in points else "secant"
