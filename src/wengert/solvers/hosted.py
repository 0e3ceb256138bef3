"""Fits by lmfit and iminuit: their slots take derivatives of functions of parameters that have names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

import wengert as wg
from wengert.solvers.calls import FilledCall, fills
from wengert.solvers.kinds import DerivativeKind, one
from wengert.solvers.supplied import Supplied

F = Callable[..., Any]


class SuppliedToLmfit(Supplied):
    """A derivative of a residual of lmfit's by the parameters that vary, as :mod:`wengert.hosts.lmfit` makes it."""

    def __init__(self, residual: F, make: Callable[[F], F], taken: Callable[[Any], Any]) -> None:
        super().__init__(residual, _of_lmfit(taken))
        self._derivative = make(residual)
        self.run = self._pair

    def _pair(self, *args: Any, **kwargs: Any) -> tuple[float, Any]:
        return 0.0, self._derivative(*args, **kwargs)

    def _refusal(self, args: Any, kwargs: Any) -> str:
        self._derivative(*args, **kwargs)
        return ""

    def _of_floats(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return args

    def _look_back(self, tally: Any, spent: float, saved: int) -> None:
        return


def _varied(parameters: Any) -> list[str]:
    return [name for name, p in parameters.items() if p.vary and not p.expr]


def _of_lmfit(taken: Callable[[Any], Any]) -> DerivativeKind:
    def differences(f: F, parameters: Any, *args: Any, **kwargs: Any) -> Any:
        def at(name: str, step: float) -> Any:
            moved = deepcopy(parameters)
            moved[name].value = moved[name].value + step
            return taken(f(moved, *args, **kwargs))

        steps = {name: 1.5e-8 * max(1.0, abs(parameters[name].value)) for name in _varied(parameters)}
        columns = [(at(name, step) - at(name, 0.0)) / step for name, step in steps.items()]
        return np.stack(columns, axis=-1)

    return DerivativeKind(lambda f: f, lambda f: f, lambda p, *args: len(_varied(p)), differences)


def _sum_of_squares(r: Any) -> Any:
    return np.sum(np.abs(r) ** 2) if np.size(r) > 1 else np.reshape(r, ())


def _fill_lmfit(call: FilledCall, slot: str, make: F, taken: Callable[[Any], Any]) -> Any:
    given = call.given
    fit, more = given.get("self"), given.get("kws", {})
    named = {**getattr(fit, "kws", {}), **more}
    if fit is None or any(named.get(name) not in (None, "2-point") for name in ("Dfun", "jac", "jac_sparsity")):
        return call.plain()
    parameters = given.get("params") or fit.params
    try:
        parameters.update_constraints()
    except Exception:  # any of the user's expressions: lmfit says it better
        return call.plain()
    derivative = SuppliedToLmfit(fit.userfcn, make, taken)
    found = call.of(derivative, (parameters, *fit.userargs), dict(fit.userkws))
    return call.plain() if found is None else call.filled(kws={**more, slot: found})


def _jacobian_of_lmfit(residual: F) -> F:
    return wg.hosts.lmfit.jacobian(residual, strict=True)


def _gradient_of_lmfit(residual: F) -> F:
    return wg.hosts.lmfit.gradient(residual, strict=True)


@fills("lmfit.minimizer:Minimizer.leastsq")
def leastsq(call: FilledCall) -> Any:
    return _fill_lmfit(call, "Dfun", _jacobian_of_lmfit, lambda r: np.ravel(r))


@fills("lmfit.minimizer:Minimizer.least_squares")
def least_squares(call: FilledCall) -> Any:
    return _fill_lmfit(call, "jac", _jacobian_of_lmfit, lambda r: np.ravel(r))


@fills("lmfit.minimizer:Minimizer.scalar_minimize")
def scalar_minimize(call: FilledCall) -> Any:
    """The methods that take a gradient; of the sum of squares, since lmfit asks for that of no other sum."""
    fit, method = call.given.get("self"), str(call.given.get("method", "Nelder-Mead")).lower()
    if method not in ("cg", "bfgs", "l-bfgs-b", "tnc", "slsqp") or getattr(fit, "reduce_fcn", None) is not None:
        return call.plain()
    return _fill_lmfit(call, "jac", _gradient_of_lmfit, _sum_of_squares)


def _of_numbers(f: F) -> F:
    def both(*args: Any) -> Any:
        value, found = wg.value_and_grad(one(f), tuple(range(len(args))))(*args)
        return value, np.stack(found)

    return both


def _by_central_differences(f: F, *args: Any) -> Any:
    found = []
    for k, x in enumerate(args):
        step = 6e-6 * max(1.0, abs(x))
        found.append(
            (one(f)(*args[:k], x + step, *args[k + 1 :]) - one(f)(*args[:k], x - step, *args[k + 1 :])) / 2 / step
        )
    return np.array(found)


OF_NUMBERS = DerivativeKind(_of_numbers, one, lambda *args: 2 * len(args), _by_central_differences, None)
OF_AN_ARRAY = DerivativeKind(
    lambda f: wg.value_and_grad(one(f)),
    one,
    lambda x: 2 * np.size(x),
    lambda f, x: _by_central_differences(lambda *p: one(f)(np.array(p)), *x),
)


@fills("iminuit.minuit:Minuit.__init__")
def minuit(call: FilledCall) -> Any:
    given = call.given
    f, args, named = given.get("fcn"), given.get("args", ()), given.get("kwds", {})
    util = sys.modules["iminuit.util"]
    if given.get("grad") is not None or not callable(f) or util.gradient(f) is not None:
        return call.plain()
    if len(args) == 1 and np.ndim(args[0]) == 1:
        kind, at = OF_AN_ARRAY, (np.array(args[0], float),)
    else:
        names = given.get("name") or util.describe(f)
        start = args or [named[name] for name in names if name in named]
        kind, at = OF_NUMBERS, tuple([float(x) for x in start])
    found = call.supplied(f, kind, at)
    return call.plain() if found is None else call.filled(grad=found)
