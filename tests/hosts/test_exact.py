"""Fits by lmfit and iminuit inside ``wg.exact()``: the same results, in fewer evaluations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import iminuit
import iminuit.cost
import lmfit
import numpy as np
import pytest
from numpy.testing import assert_allclose

import wengert as wg

X = np.linspace(0, 4, 60)
Y = 2 * np.exp(-0.5 * X) + 0.3 + 0.01 * np.cos(9 * X)


def residual(p: Any, x: Any, y: Any) -> Any:
    return p["a"] * np.exp(-p["b"] * x) + p["c"].value - y


def parameters() -> Any:
    return lmfit.create_params(a=1.0, b={"value": 1.0, "min": 0}, c=0.0, twice={"expr": "2 * a"})


def model(x: Any, a: Any, b: Any, c: Any) -> Any:
    return a * np.exp(-b * x) + c


FITS: dict[str, Callable[[], Any]] = {
    name: (lambda name=name: lmfit.minimize(residual, parameters(), args=(X, Y), method=name))
    for name in ("leastsq", "least_squares", "lbfgsb", "bfgs", "cg", "slsqp")
} | {"Model": lambda: lmfit.Model(model).fit(Y, x=X, a=1, b=1, c=0)}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_of_lmfit(name: str) -> None:
    plain = FITS[name]()
    with wg.exact(quiet=True, eager=True) as tally:
        found = FITS[name]()
    assert_allclose([*found.params.valuesdict().values()], [*plain.params.valuesdict().values()], rtol=1e-3)
    if plain.params["a"].stderr is not None:
        assert_allclose(found.params["a"].stderr, plain.params["a"].stderr, rtol=1e-2)
    assert found.nfev < 0.5 * plain.nfev
    assert (tally.calls, tally.filled, tally.kept) == (1, 1, {})


def test_a_slot_that_is_full_is_left() -> None:
    jacobian = wg.hosts.lmfit.jacobian(residual)
    with wg.exact(quiet=True, eager=True) as tally:
        lmfit.minimize(residual, parameters(), args=(X, Y), Dfun=jacobian)
        lmfit.minimize(residual, parameters(), args=(X, Y), method="nelder", max_nfev=200)
        lmfit.minimize(residual, parameters(), args=(X, Y), method="bfgs", reduce_fcn="neglogcauchy")
    assert (tally.calls, tally.filled, tally.kept) == (3, 0, {})


def test_a_residual_that_counts_is_left_to_differences() -> None:
    calls = []

    def counted(p: Any) -> Any:
        calls.append(1)
        return residual(p, X, Y)

    plain = lmfit.minimize(counted, parameters())
    n = len(calls)
    with wg.exact(quiet=True, eager=True) as tally, pytest.warns(wg.FiniteDifferencesWarning, match="counted"):
        found = lmfit.minimize(counted, parameters())
    assert found.nfev == plain.nfev
    assert ["counted (" in where for where in tally.kept] == [True]
    assert tally.filled == 0
    assert len(calls) <= 2 * n + 1


def valley(a: float, b: float) -> Any:
    return (1 - a) ** 2 + 100 * (b - a**2) ** 2


def of_array(p: Any) -> Any:
    return np.sum((p - np.arange(3)) ** 4 + (p - 1) ** 2)


COSTS: dict[str, Callable[[], Any]] = {
    "names": lambda: iminuit.Minuit(valley, a=-1.0, b=2.0),
    "positions": lambda: iminuit.Minuit(valley, -1, 2),
    "array": lambda: iminuit.Minuit(of_array, np.zeros(3)),
    "cost": lambda: iminuit.Minuit(iminuit.cost.LeastSquares(X, Y, 0.05, model), a=1, b=1, c=0),
}


@pytest.mark.parametrize("name", COSTS)
def test_a_fit_of_iminuit(name: str) -> None:
    plain = COSTS[name]().migrad()
    with wg.exact(quiet=True, eager=True) as tally:
        found = COSTS[name]()
        assert not tally.kept
        found.migrad()
    assert found.valid
    assert_allclose(found.values, plain.values, atol=5e-3)
    assert_allclose(found.errors, plain.errors, rtol=0.05)
    assert found.nfcn < plain.nfcn
    assert found.ngrad > 0
    assert tally.filled == 1


def test_a_gradient_that_minuit_has_is_left() -> None:
    with wg.exact(quiet=True, eager=True) as tally:
        iminuit.Minuit(valley, 1, 2, grad=wg.jit(wg.grad(valley, (0, 1)))).migrad()
        iminuit.Minuit(valley, 1, 2, grad=False).migrad()
    assert tally.filled == 0
