"""Between an explicit and an implicit method: that it is changed where the equation turns stiff, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import odeint
from scipy.integrate import solve_ivp as of_scipy

import wengert as wg
from wengert.ode import solve_ivp

TOLERANCES: dict[str, Any] = {"rtol": 1e-7, "atol": 1e-9}


def test_an_equation_that_is_not_stiff_asks_for_no_jacobian() -> None:
    swing = lambda t, y: np.array([y[1], -y[0]])
    seen = solve_ivp(swing, (0, 10), [0.0, 1.0], "LSODA", **TOLERANCES)
    same = solve_ivp(swing, (0, 10), [0.0, 1.0], "Tsit5", **TOLERANCES)
    np.testing.assert_allclose(seen.y, same.y, rtol=1e-12, atol=1e-14)
    assert (seen.njev, seen.nlu, seen.nfev) == (0, 0, same.nfev)


def stiff_at_both_ends(t: Any, y: Any, k: Any) -> Any:
    ends = 1 / (1 + np.exp(-8 * (np.abs(t - 5.0) - 2)))
    return 3 * np.sin(20 * t) * (1 - ends) - (10 + k * ends) * (y**3 - np.cos(t))


@pytest.mark.deep("more than a second")
def test_it_goes_to_and_fro() -> None:
    """Fewer steps than the explicit method, fewer factorisations than the implicit one."""
    f = lambda t, y: stiff_at_both_ends(t, y, 1e4)
    seen, stiff, explicit = (solve_ivp(f, (0, 10), [1.0], m, **TOLERANCES) for m in ("LSODA", "Radau", "Tsit5"))
    exact = of_scipy(f, (0, 10), [1.0], "Radau", rtol=1e-10, atol=1e-12, dense_output=True)
    np.testing.assert_allclose(seen.y, exact.sol(seen.t), atol=1e-5)
    assert len(seen.t) < len(explicit.t) / 10
    assert 0 < seen.nlu < 0.7 * stiff.nlu


@pytest.mark.deep("6 s")
def test_gradients_through_the_change() -> None:
    def last(p: Any, method: str, rtol: float) -> Any:
        options: dict[str, Any] = {"t_eval": [1e-4, 4.0, 9.0], "rtol": rtol, "atol": 1e-2 * rtol, "args": (p[0],)}
        return np.sum(solve_ivp(stiff_at_both_ends, (0, 9), p[1:], method, **options).y)

    p, h = np.array([1e4, 1.2]), np.array([1.0, 1e-4])
    found = wg.jit(wg.grad(lambda p: last(p, "LSODA", 1e-7)))(p)
    at = lambda d: last(p + d, "Radau", 1e-11)
    reference = [(at(d) - at(-d)) / (2 * size) for d, size in zip(np.diag(h), h, strict=True)]
    np.testing.assert_allclose(found, reference, rtol=1e-3)
    forward = wg.jit(lambda p: wg.jvp(lambda p: last(p, "LSODA", 1e-7), (p,), (p,))[1])(p)
    assert forward == pytest.approx(found @ p, rel=1e-9)


@pytest.mark.deep("3 s")
def test_events_and_values_between_of_either_method() -> None:
    f = lambda t, y: stiff_at_both_ends(t, y, 1e4)
    half = lambda t, y: y[0] - 0.2
    seen, tight = (
        solver(f, (0, 10), [1.0], method, rtol=r, atol=1e-2 * r, events=half, dense_output=True)
        for solver, method, r in ((solve_ivp, "LSODA", 1e-7), (of_scipy, "Radau", 1e-10))
    )
    np.testing.assert_allclose(seen.t_events[0], tight.t_events[0], rtol=1e-5)
    ts = np.linspace(0.0, 10.0, 77)
    np.testing.assert_allclose(seen.sol(ts), tight.sol(ts), atol=2e-5)


@pytest.mark.deep("3 s")
def test_a_batch() -> None:
    """Of which each example turns where it does."""

    def last(k: Any) -> Any:
        return solve_ivp(stiff_at_both_ends, (0, 4), [1.0], "LSODA", t_eval=[0.5, 4.0], args=(k,)).y[0]

    ks = np.array([1.0, 1e2, 1e4])
    np.testing.assert_allclose(wg.vmap(last)(ks), [last(k) for k in ks], rtol=1e-10)
    slopes = wg.grad(lambda ks: np.sum(wg.vmap(last)(ks)))(ks)
    slope = wg.jit(wg.grad(lambda k: np.sum(last(k))))
    np.testing.assert_allclose(slopes, [slope(k) for k in ks], rtol=1e-8, atol=1e-14)


@pytest.mark.deep("3 s")
def test_odeint_of_a_stiff_equation() -> None:
    """Within a trace it is ours, and turns from one method to the other."""

    def brusselator(y: Any, t: Any, a: Any) -> Any:
        x, z, fast = y
        return np.array([a + x * x * z - 4 * x, 3 * x - x * x * z, 1e4 * (x - fast)])

    ts = np.linspace(0.0, 5.0, 6)
    ours = wg.jit(lambda a: odeint(brusselator, [1.0, 2.0, 1.0], ts, args=(a,)))
    np.testing.assert_allclose(ours(1.0), odeint(brusselator, [1.0, 2.0, 1.0], ts, args=(1.0,)), rtol=1e-5)
    slope = wg.jit(wg.grad(lambda a: ours(a)[-1, 2]))(1.0)
    tight = lambda a: odeint(brusselator, [1.0, 2.0, 1.0], ts, args=(a,), rtol=1e-11, atol=1e-12)[-1, 2]
    assert slope == pytest.approx((tight(1.00001) - tight(0.99999)) / 2e-5, rel=1e-5)
