"""SciPy's solvers of differential equations within traced functions."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
import scipy.integrate
from scipy.integrate import odeint, solve_ivp

import wengert as wg

TIMES = np.linspace(0.0, 2.0, 5)


def rate(t: Any, y: Any, k: Any) -> Any:
    return np.array([-k * y[0], k * y[0] - y[1]])


def total(k: Any, method: Any = "RK45") -> Any:
    found = solve_ivp(rate, (0.0, 2.0), [1.0, 0.0], method, t_eval=TIMES, args=(k,), rtol=1e-8, atol=1e-10)
    return np.sum(found.y[1])


def exact(k: float) -> float:
    return float(np.sum(k / (1 - k) * (np.exp(-k * TIMES) - np.exp(-TIMES))))


@pytest.mark.sampled(3, "a program for each method; tests/ode has more of each")
@pytest.mark.parametrize("method", ["RK45", "DOP853", scipy.integrate.RK23, "Radau", "BDF", "LSODA"])
def test_solve_ivp(method: Any) -> None:
    value, slope = wg.jit(wg.value_and_grad(lambda k: total(k, method)))(0.5)
    assert value == pytest.approx(exact(0.5), rel=1e-5)
    assert slope == pytest.approx((exact(0.501) - exact(0.499)) / 0.002, rel=1e-4)


def test_a_solver_that_captures_what_is_traced() -> None:
    def f(k: Any) -> Any:
        return scipy.integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], rtol=1e-8, atol=1e-8).y[0, -1]

    assert wg.grad(f)(0.5) == pytest.approx(-np.exp(-0.5), rel=1e-5)


def test_odeint() -> None:
    def f(k: Any) -> Any:
        return np.sum(odeint(lambda y, t, k: rate(t, y, k), [1.0, 0.0], TIMES, args=(k,))[:, 1])

    value, slope = wg.jit(wg.value_and_grad(f))(0.5)
    assert value == pytest.approx(exact(0.5), rel=1e-6)
    assert slope == pytest.approx((exact(0.501) - exact(0.499)) / 0.002, rel=1e-4)


def test_outside_of_a_trace_they_are_scipys() -> None:
    assert type(solve_ivp(rate, (0, 1), [1.0, 0.0], args=(0.5,))).__module__.startswith("scipy")


def explodes(y: Any, t: Any) -> Any:
    return y**2


def stops(x: Any) -> Any:
    return x.sum() * odeint(explodes, [1.0], [0.0, 0.5, 2.0])[1, 0]


def runs_out_of_steps(x: Any) -> Any:
    return x.sum() * odeint(explodes, np.array([1.0]), [0.0, 0.5, 0.8], mxstep=3)[1, 0]


def says_how_it_went(x: Any) -> Any:
    y, info = odeint(explodes, [1.0], [0.0, 0.5, 0.8], full_output=True)
    return x.sum() * y[2, 0] + info["nst"][0]


@pytest.mark.filterwarnings("ignore::scipy.integrate.ODEintWarning")
@pytest.mark.parametrize("f", [stops, runs_out_of_steps, says_how_it_went])
def test_odeint_of_nothing_traced_raised_where_scipys_warns(f: Any) -> None:
    for transform in (wg.value_and_grad, lambda f: wg.jit(wg.value_and_grad(f), strict=True)):
        value, gradient = transform(f)(TIMES)
        assert value == pytest.approx(f(TIMES), rel=1e-12)
        assert gradient == pytest.approx((f(TIMES + 1) - f(TIMES)) / 5, rel=1e-8)
    with pytest.warns(scipy.integrate.ODEintWarning) if f is not says_how_it_went else contextlib.nullcontext():
        wg.grad(f)(TIMES)


def test_odeint_of_what_is_traced_fails_in_three_parts() -> None:
    for what, f in (
        (r"odeint: Required step", lambda x: odeint(lambda y, t: x * y**2, [1.0], [0.0, 0.5, 2.0]).sum()),
        (r"odeint: Required step", lambda x: odeint(explodes, [x], [0.0, 0.5, 2.0]).sum()),
        (
            r"odeint of traced values: full_output",
            lambda x: odeint(explodes, [x], [0.0, 0.5], full_output=True)[0].sum(),
        ),
    ):
        with pytest.raises(
            (RuntimeError, TypeError), match=what + r"[^\n]*\n  at .*test_equations(.|\n)*  try    solve_ivp"
        ):
            wg.grad(f)(1.0)


def decay(t: Any, y: Any) -> Any:
    return -y


def area(start: Any, end: Any) -> Any:
    """Nearly ∫ exp(start − t) dt."""
    found = solve_ivp(decay, (start, end), [1.0], rtol=1e-6, max_step=0.05)
    return np.trapezoid(found.y[0], found.t)


def test_the_ends_of_the_times_move_and_those_between_do_not() -> None:
    for f, slope in (
        (lambda end: solve_ivp(decay, (0.0, end), [1.0]).t[-1], 1.0),
        (lambda start: solve_ivp(decay, (start, 3.0), [1.0]).t[0], 1.0),
        (lambda end: solve_ivp(decay, (0.0, end), [1.0]).t[1], 0.0),
        (lambda t: solve_ivp(decay, (t, t), [1.0]).t[0], 1.0),
        (lambda end: solve_ivp(decay, (0.0, end), [1.0], dense_output=True).sol.t_max, 1.0),
        (lambda end: area(0.0, end), np.exp(-2.0)),
        (lambda end: area(3.0, end), np.exp(1.0)),
        (lambda start: area(start, 3.0), -np.exp(-1.0)),
    ):
        assert wg.value_and_grad(f)(2.0) == pytest.approx((f(2.0), slope), rel=1e-3)
        assert wg.jit(wg.grad(f))(2.0) == pytest.approx(slope, rel=1e-3)
    assert wg.grad(wg.grad(lambda end: area(0.0, end)))(2.0) == pytest.approx(-np.exp(-2.0), rel=0.02)


def test_a_solution_that_an_event_ends_has_its_time_last() -> None:
    below: Any = lambda t, y: y[0] - 0.3
    below.terminal = True

    def f(k: Any) -> Any:
        found = solve_ivp(
            lambda t, y: -k * y, (0.0, 4.0), [1.0], events=below, dense_output=True, rtol=1e-8, atol=1e-10
        )
        return np.array([found.t[-1], found.sol.t_max, found.sol.ts[-1]])

    np.testing.assert_allclose(wg.jvp(f, (1.2,), (1.0,))[0], f(1.2), rtol=1e-6)
    np.testing.assert_allclose(wg.jvp(f, (1.2,), (1.0,))[1], np.log(0.3) / 1.2**2, rtol=1e-6)
