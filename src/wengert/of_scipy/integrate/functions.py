"""Integrals of functions: ``quad`` and its kin, ``quad_vec``, ``fixed_quad``, ``tanhsinh``, ``cubature``, and ``nsum``.

The integral moves with the limits and with what the function captures, by Leibniz's rule; the derivative is integrated
by the same routine of SciPy's, to the same tolerance: :mod:`wengert.higher.integrals`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.integrate
from numpy.typing import ArrayLike

import wengert as wg
from wengert.api.solving import Recorded, RunFunction, integrated, record_function, run_routine
from wengert.errors import ConcretizationError
from wengert.of_scipy.optimize.calls import (
    COUNT,
    NUMBER,
    TRUTH,
    Array,
    answers,
    need_traced,
    number,
    refuse_callback,
    result,
    scipys,
    settled,
)
from wengert.tape import Aval
from wengert.tracing.arguments import holds_unsettled, unsupported
from wengert.tracing.stack import bodies, current_trace, open_traces

# --------------------------------------------------------------------------------------------------------- limits


def infinity(x: ArrayLike) -> float | None:
    """∞ or −∞, where a number is seen to be that; None of any other, and in a batch."""
    limit, trace = number(x), current_trace()
    around = bodies()
    if limit.ndim or (around and not all(t.concrete for t in open_traces()[: around[0].level - 1])):
        return None
    refusal = None if trace is None else trace.looking.refusal
    try:
        found = float(np.asarray(settled(np.where(np.isinf(limit), np.sign(limit), 0.0))))
    except ConcretizationError:
        if trace is not None:
            trace.looking.refusal = refusal
        return None
    return math.copysign(math.inf, found) if found else None


def end(x: ArrayLike) -> Any:
    """A limit as an array. What is infinite is a constant: it stays there, though it is computed from what moves, as
    −inf * scale is, whose derivative would be 0 * inf."""
    limit = number(x)
    found = infinity(limit) if holds_unsettled(limit) else None
    return limit if found is None else number(found)


def _nothing(f: RunFunction, below: Array, above: Array) -> tuple[Any, ...]:
    """The integral over no length."""
    return np.zeros(f.shape, f.dtype), np.zeros(f.shape, f.dtype)


def _with_jumps(name: str, value: Any, values: Recorded, limits: Sequence[Any], points: Any) -> Any:
    """``value``, the integral of ``values``, which may jump at the points that are named: where these move, so does it,
    by (f(p−) − f(p+)) dp. These are limits of an integral over no length, whose limits move in the same way."""
    if points is None or not (values.is_traced and holds_unsettled([points])):
        return value
    places, (a, b) = np.reshape(number(points), (-1,)), limits
    known: set[float] = set()
    for k, at in enumerate(np.ravel(settled(points))):
        if at in known:
            continue
        known.add(at)
        p = places[k]
        sign = np.where((a < p) & (p < b), 1.0, np.where((b < p) & (p < a), -1.0, 0.0))
        size = functools.reduce(np.maximum, [np.where(np.isfinite(x), np.abs(x), 0.0) for x in (a, b, p)])
        near = wg.stop_gradient(np.where(size == 0, 1.0, size)) * NEAR
        value = value + sign * integrated(_nothing, values, [p + near, p - near], is_jump=True, name=name)[0]
    return value


NEAR = 2.0**-44
"""How far from a jump its sides are, in parts of the limits: farther than what the integrand computes is rounded."""

# ----------------------------------------------------------------------------------------------------------- quad


def _each(f: RunFunction, integrate: Callable[[Callable[[float], float]], tuple[float, float]]) -> tuple[Any, Any]:
    """Integrate each element of what f returns; points that several of them ask for are computed once."""
    known: dict[float, Any] = {}

    def at(t: float, k: tuple[int, ...]) -> Any:
        if t not in known:
            known[t] = f(t)
        return known[t][k]

    value, error = np.zeros(f.shape, f.dtype), np.zeros(f.shape, f.dtype)
    for k in np.ndindex(f.shape):
        value[k], error[k] = integrate(lambda t, k=k: float(at(t, k).real))
        if f.dtype.kind == "c":  # the derivative by a complex constant of a real function
            imaginary, more = integrate(lambda t, k=k: float(at(t, k).imag))
            value[k], error[k] = value[k] + 1j * imaginary, error[k] + more
    return value, error


def _quad(f: RunFunction, a: Array, b: Array, **settings: Any) -> tuple[Any, ...]:
    own = scipys("integrate.quad")
    return _each(f, lambda g: own(g, float(a), float(b), **settings)[:2])


def _quad_info(f: RunFunction, a: Array, b: Array, **settings: Any) -> tuple[Any, ...]:
    info = scipys("integrate.quad")(lambda t: float(f(t)), float(a), float(b), full_output=1, **settings)[2]
    return info["neval"], info.get("last", -1)


WITHOUT_WEIGHT = {
    "cos": "func(t) * np.cos(wvar * t)",
    "sin": "func(t) * np.sin(wvar * t)",
    "alg": "func(t) * (t - a) ** alpha * (b - t) ** beta",
    "alg-loga": "func(t) * (t - a) ** alpha * (b - t) ** beta * np.log(t - a)",
    "alg-logb": "func(t) * (t - a) ** alpha * (b - t) ** beta * np.log(b - t)",
    "alg-log": "func(t) * (t - a) ** alpha * (b - t) ** beta * np.log(t - a) * np.log(b - t)",
    "cauchy": "(func(t) - func(c)) / (t - c), and func(c) * np.log((b - c) / (c - a)) added",
}


def _plain(name: str, a: ArrayLike, b: ArrayLike, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of SciPy's quad as plain values; a weight that moves with a traced value is refused."""
    weight = given.get("weight")
    if weight is not None:
        function = WITHOUT_WEIGHT.get(weight, "the function times its weight")
        if holds_unsettled([a, b, given.get("points")]):
            raise unsupported(f"{name}: limits are traced, and there is a weight", f"weight=None; {function}")
        if holds_unsettled([given.get("wvar")]):
            raise unsupported(
                f"{name}: wvar is traced, and the weight {weight!r} has no derivative", f"weight=None; {function}"
            )
    return {key: settled(value) for key, value in given.items()}


OPTIONS = ("epsabs", "epsrel", "limit", "points", "weight", "wvar", "wopts", "maxp1", "limlst")


@answers("integrate.quad")
def quad(
    func: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    args: Any = (),
    full_output: bool | int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: str | None = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> Any:
    rest = args if isinstance(args, tuple) else (args,)
    values = [epsabs, epsrel, limit, points, weight, wvar, wopts, maxp1, limlst]
    settings = _plain("scipy.integrate.quad", a, b, dict(zip(OPTIONS, values, strict=True)))
    called = lambda t: func(t, *rest)
    if not complex_func:
        return _quad_of(called, a, b, full_output, settings, points)
    if full_output:
        raise unsupported("scipy.integrate.quad: full_output of a complex function is not traced", "full_output=0")
    real, imaginary = [
        _quad_of(lambda t, part=part: part(called(t)), a, b, False, settings, points) for part in (np.real, np.imag)
    ]
    return real[0] + 1j * imaginary[0], real[1] + 1j * imaginary[1]


def _quad_of(
    f: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    full_output: bool | int,
    settings: dict[str, Any],
    points: Any,
) -> Any:
    values = record_function("scipy.integrate.quad", lambda t: _one(f(t)), NUMBER)
    need_traced(values, a, b, points)
    limits = [end(a), end(b)]
    value, error = integrated(_quad, values, limits, **settings)
    found = _with_jumps("scipy.integrate.quad", value, values, limits, points), error
    if not full_output:
        return found
    count, last = run_routine(_quad_info, [values], limits, [COUNT, COUNT], **settings)
    return *found, {"neval": count, "last": last}


def _one(x: Any) -> Any:
    if np.ndim(x) and np.size(x) != 1:
        raise ValueError("quad: the function must return a number")
    return np.reshape(x, ()) if np.ndim(x) else x


def _inner(f: Callable[..., Any], a: Any, b: Any, given: Mapping[str, Any]) -> tuple[Any, Any]:
    """An integral within another one, or around others."""
    settings = _plain("scipy.integrate.nquad", a, b, given)
    values = record_function("scipy.integrate.nquad", lambda t: _one(f(t)), NUMBER)
    limits = [end(a), end(b)]
    value, error = integrated(_quad, values, limits, **settings)
    return _with_jumps("scipy.integrate.nquad", value, values, limits, given.get("points")), error


def _repeated(f: Callable[..., Any], ranges: Sequence[Any], options: Sequence[Any], args: tuple[Any, ...]) -> Any:
    """The integral over x0, within that over x1, and so on; ranges and options may be functions of the later x."""

    def over(later: tuple[Any, ...], k: int) -> Any:
        low, high = ranges[k](*later, *args) if callable(ranges[k]) else ranges[k]
        given = options[k](*later, *args) if callable(options[k]) else options[k]
        if k == 0:
            return _inner(lambda x: f(x, *later, *args), low, high, given)
        return _inner(lambda x: over((x, *later), k - 1)[0], low, high, given)

    whole = record_function("scipy.integrate.nquad", lambda: over((), len(ranges) - 1)[0])
    plain = [x for r in ranges if not callable(r) for x in r]
    need_traced(whole, *plain)
    return over((), len(ranges) - 1)


@answers("integrate.nquad")
def nquad(func: Callable[..., Any], ranges: Any, args: Any = None, opts: Any = None, full_output: bool = False) -> Any:
    """Nested calls of SciPy's quad, as SciPy's own; the error is that of the outermost."""
    every = list(ranges)
    options = [{}] * len(every) if opts is None else [opts] * len(every) if isinstance(opts, dict) else list(opts)
    if full_output:
        raise unsupported("scipy.integrate.nquad: full_output is not traced", "full_output=False")
    rest = () if args is None else args if isinstance(args, tuple) else (args,)
    return _repeated(func, every, options, rest)


def _limit(g: Any, *points: Any) -> Any:
    return g(*points) if callable(g) else g


@answers("integrate.dblquad")
def dblquad(
    func: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    rest = args if isinstance(args, tuple) else (args,)
    inner = lambda x, *args: (_limit(gfun, x), _limit(hfun, x))
    return _repeated(func, [inner, (a, b)], [{"epsabs": epsabs, "epsrel": epsrel}] * 2, rest)


@answers("integrate.tplquad")
def tplquad(
    func: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    rest = args if isinstance(args, tuple) else (args,)
    innermost = lambda y, x, *args: (_limit(qfun, x, y), _limit(rfun, x, y))
    inner = lambda x, *args: (_limit(gfun, x), _limit(hfun, x))
    return _repeated(func, [innermost, inner, (a, b)], [{"epsabs": epsabs, "epsrel": epsrel}] * 3, rest)


# ------------------------------------------------------------------------------------------------- arrays at once


def _quad_vec(f: RunFunction, a: Array, b: Array, **settings: Any) -> tuple[Any, ...]:
    value, error = scipys("integrate.quad_vec")(f, float(a), float(b), **settings)
    return value, np.broadcast_to(error, np.shape(value))


@answers("integrate.quad_vec")
def quad_vec(
    f: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    norm: str = "2",
    cache_size: float = 100e6,
    limit: float = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: Any = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> Any:
    rest = args if isinstance(args, tuple) else (args,)
    values = record_function("scipy.integrate.quad_vec", lambda t: f(t, *rest), NUMBER)
    need_traced(values, a, b, points)
    if full_output:
        raise unsupported("scipy.integrate.quad_vec: full_output is not traced", "full_output=False")
    settings = {"epsabs": epsabs, "epsrel": epsrel, "norm": norm, "cache_size": cache_size, "limit": limit,
                "points": points, "quadrature": quadrature}  # fmt: skip
    limits = [end(a), end(b)]
    value, error = integrated(_quad_vec, values, limits, **settled(settings))
    value = _with_jumps("scipy.integrate.quad_vec", value, values, limits, points)
    return value, error.reshape(-1)[0] if error.size else 0.0


@answers("integrate.fixed_quad")
def fixed_quad(func: Callable[..., Any], a: ArrayLike, b: ArrayLike, args: Any = (), n: int = 5) -> Any:
    """A weighted sum of n values, which is traced as it is."""
    nodes, weights = np.polynomial.legendre.leggauss(int(n))
    low, high = number(a), number(b)
    if not (np.ndim(low) == np.ndim(high) == 0):
        raise unsupported("scipy.integrate.fixed_quad: limits are arrays", "wg.vmap")
    if not holds_unsettled([a, b]):
        points = record_function("scipy.integrate.fixed_quad", lambda t: func(t, *args), number(nodes).aval)
        need_traced(points)
    y = (high - low) * (nodes + 1) / 2.0 + low
    return (high - low) / 2.0 * np.sum(weights * func(y, *args), axis=-1), None


# ------------------------------------------------------------------------------------------------- newer routines


def _tanhsinh(f: RunFunction, a: Array, b: Array, **settings: Any) -> tuple[Any, ...]:
    found = _run_tanhsinh(f, a, b, settings)
    return tuple([np.reshape(x, f.shape) for x in (found.integral, found.error)])


def _tanhsinh_info(f: RunFunction, a: Array, b: Array, **settings: Any) -> tuple[Any, ...]:
    found = _run_tanhsinh(f, a, b, settings)
    return tuple([np.reshape(x, f.shape) for x in (found.success, found.status, found.nfev, found.maxlevel)])


def _run_tanhsinh(f: RunFunction, a: Array, b: Array, settings: dict[str, Any]) -> Any:
    """Run SciPy's, which takes the axis of the points last, with ``preserve_shape``, where f gives an array."""
    own = scipys("integrate.tanhsinh")
    if not f.shape:
        return own(lambda t: f.many(np.ravel(t)).reshape(np.shape(t)), float(a), float(b), **settings)
    many = lambda t: np.moveaxis(f.many(np.ravel(t)), 0, -1)
    return own(many, float(a), float(b), preserve_shape=True, **settings)


def _answer_tanhsinh() -> None:
    @answers("integrate.tanhsinh")
    def tanhsinh(
        f: Callable[..., Any],
        a: ArrayLike,
        b: ArrayLike,
        *,
        args: Any = (),
        kwargs: Mapping[str, Any] | None = None,  # since SciPy 1.18
        log: bool = False,
        maxlevel: int | None = None,
        minlevel: int = 2,
        atol: float | None = None,
        rtol: float | None = None,
        preserve_shape: bool = False,
        callback: Callable[..., Any] | None = None,
    ) -> Any:
        name = "scipy.integrate.tanhsinh"
        refuse_callback("integrate.tanhsinh", callback)
        if log or preserve_shape:
            raise unsupported(f"{name}: log and preserve_shape are not traced", "the integral of one function")
        if np.ndim(a) or np.ndim(b):
            raise unsupported(f"{name}: limits that are arrays are not traced", "wg.vmap")
        rest = args if isinstance(args, tuple) else (args,)
        values = record_function(name, lambda t: f(t, *rest, **(kwargs or {})), NUMBER)
        need_traced(values, a, b)
        limits = [end(a), end(b)]
        settings = settled({"maxlevel": maxlevel, "minlevel": minlevel, "atol": atol, "rtol": rtol})
        value, error = integrated(_tanhsinh, values, limits, **settings)
        out = [Aval(values.out.shape, kind.dtype) for kind in (TRUTH, COUNT, COUNT, COUNT)]
        success, status, nfev, level = run_routine(_tanhsinh_info, [values], limits, out, **settings)
        return result(integral=value, error=error, success=success, status=status, nfev=nfev, maxlevel=level)


if hasattr(scipy.integrate, "tanhsinh"):
    _answer_tanhsinh()


def _nsum(f: RunFunction, a: Array, b: Array, *, step: float, **settings: Any) -> tuple[Any, ...]:
    own = scipys("integrate.nsum")
    value, error = np.zeros(f.shape, f.dtype), np.zeros(f.shape, f.dtype)
    for k in itertools.product(*map(range, f.shape)):
        at = lambda t, k=k: f.many(np.ravel(t))[(slice(None), *k)].reshape(np.shape(t))
        found = own(at, float(a), float(b), step=step, **settings)
        value[k], error[k] = found.sum, found.error
    return value, error


def _answer_nsum() -> None:
    @answers("integrate.nsum")
    def nsum(
        f: Callable[..., Any],
        a: ArrayLike,
        b: ArrayLike,
        *,
        step: float = 1,
        args: Any = (),
        kwargs: Mapping[str, Any] | None = None,  # since SciPy 1.18
        log: bool = False,
        maxterms: int = 2**20,
        tolerances: Any = None,
    ) -> Any:
        """The terms are those at a, a + step, ..., up to b; by b the sum does not move."""
        name = "scipy.integrate.nsum"
        if log:
            raise unsupported(f"{name}: log is not traced", "log=False")
        if np.ndim(a) or np.ndim(b):
            raise unsupported(f"{name}: limits that are arrays are not traced", "wg.vmap")
        rest = args if isinstance(args, tuple) else (args,)
        values = record_function(name, lambda t: f(t, *rest, **(kwargs or {})), NUMBER)
        need_traced(values, a, b)
        if holds_unsettled([a, step]):
            raise unsupported(f"{name}: a or step is traced", "f(a + k * step), summed over integers k from 0")
        settings = settled({"step": step, "maxterms": maxterms, "tolerances": tolerances})
        value, error = integrated(_nsum, values, [number(a), number(b)], has_limits=False, **settings)
        return result(sum=value, error=error)


if hasattr(scipy.integrate, "nsum"):
    _answer_nsum()
