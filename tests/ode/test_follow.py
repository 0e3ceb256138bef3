"""The derivatives of the steps that were found, beside differences, and the states that are kept for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.ode.problems import ARGS, P, differences, ground, prey
from wengert.ode import solve_ivp


def van_der_pol(t: Any, y: Any, stiffness: Any) -> Any:
    return np.array([y[1], stiffness * (1 - y[0] ** 2) * y[1] - y[0]])


@pytest.mark.sampled(4, "a program for each method; the steps of each are compared in quick ones")
@pytest.mark.parametrize("method", ["Radau", "KenCarp4", "BDF", "LSODA"])
def test_gradients_of_a_stiff_equation(method: str) -> None:
    def last(p: Any, method: str, rtol: float) -> Any:
        options: dict[str, Any] = {"t_eval": [100.0, 300.0], "args": (p[0],), "rtol": rtol, "atol": 1e-3 * rtol}
        return np.sum(solve_ivp(van_der_pol, (0.0, 300.0), p[1:], method, **options).y[0])

    p = np.array([500.0, 2.0, 0.0])
    found = wg.jit(wg.grad(lambda p: last(p, method, 1e-7)))(p)
    reference = differences(lambda p: last(p, "Radau", 1e-11), p, 1e-3)
    np.testing.assert_allclose(found, reference, rtol=1e-4, atol=1e-8)
    forward = wg.jit(lambda p: wg.jvp(lambda p: last(p, method, 1e-7), (p,), (p,))[1])(p)
    assert forward == pytest.approx(found @ p, rel=1e-8)


def test_the_number_of_steps_is_no_path_where_times_are_given() -> None:
    def lands(v: Any) -> Any:
        options: dict[str, Any] = {"t_eval": [0.1, 0.5], "events": ground, "max_step": 0.2}
        found = solve_ivp(lambda t, y: np.stack([y[1], -9.81 - 0.1 * y[1]]), (0.0, 10.0), [0.0, v], **options)
        return np.sum(found.y) + found.t_events[0][0]

    compiled = wg.jit(wg.grad(lands))
    for v in (5.0, 10.0, 20.0):
        assert compiled(v) == pytest.approx((lands(v + 1e-4) - lands(v - 1e-4)) / 2e-4, rel=1e-6)
    assert compiled.stats()["traces"] == 1


def end(p: Any, method: str = "Tsit5", **options: Any) -> Any:
    found = solve_ivp(prey, (0.0, 2.0), p[4:], method, t_eval=[1.0, 2.0], args=tuple(p[:4]), rtol=1e-8, atol=1e-8)
    return np.sum(found.y**2)


@pytest.mark.sampled(5, "two seconds each")
@pytest.mark.parametrize("method", ["Tsit5", "DOP853", "KenCarp4", "Radau", "BDF"])
def test_gradients(method: str) -> None:
    f = lambda p: end(p, method)
    reference = differences(lambda p: end(p, "DOP853"), P)
    found = wg.jit(wg.grad(f))(P)
    np.testing.assert_allclose(found, reference, rtol=2e-5)
    np.testing.assert_allclose(wg.jit(wg.jacobian(f))(P), found, rtol=1e-9)
    np.testing.assert_allclose(wg.jvp(f, (P,), (np.ones(6),))[1], np.sum(found), rtol=1e-9)


@pytest.mark.sampled(5, "a program for each method; the steps of each are compared in quick ones")
@pytest.mark.parametrize("method", ["BDF", "Tsit5", "KenCarp4", "Radau", "LSODA"])
def test_second_derivatives(method: str) -> None:
    v = np.array([0.1, -0.2, 0.3, 0.1, 0.5, -0.4])
    f = lambda p: end(p, method)
    gradient = wg.jit(wg.grad(lambda p: end(p, "DOP853")))
    expected = (gradient(P + 1e-4 * v) - gradient(P - 1e-4 * v)) / 2e-4
    np.testing.assert_allclose(wg.jit(lambda p: wg.hvp(f, (p,), (v,)))(P), expected, rtol=3e-4)


@pytest.mark.sampled(4, "a program for each method; the steps of each are compared in quick ones")
@pytest.mark.parametrize("method", ["KenCarp4", "Tsit5", "Radau", "BDF"])
def test_third_derivatives(method: str) -> None:
    """Of 1 / (1 + k)."""

    def last(k: Any) -> Any:
        return solve_ivp(lambda t, y: -k * y**2, (0, 1), [1.0], method, t_eval=[1.0], rtol=1e-9, atol=1e-11).y[0, 0]

    along = lambda f: lambda k: wg.jvp(f, (k,), (1.0,))[1]
    assert wg.jit(along(wg.grad(along(last))))(0.5) == pytest.approx(-6 / 1.5**4, rel=1e-5)


@pytest.mark.deep("a program of two seconds for each method; the zero of an equation has its fourth in a quick one")
@pytest.mark.parametrize("method", ["Tsit5", "KenCarp4", "Radau", "BDF"])
def test_fourth_derivatives(method: str) -> None:
    """Of 1 / (1 + k)."""

    def last(k: Any) -> Any:
        return solve_ivp(lambda t, y: -k * y**2, (0, 1), [1.0], method, t_eval=[1.0], rtol=1e-9, atol=1e-11).y[0, 0]

    along = lambda f: lambda k: wg.jvp(f, (k,), (1.0,))[1]
    assert wg.jit(along(along(wg.grad(along(last)))))(0.5) == pytest.approx(24 / 1.5**5, rel=1e-5)


def test_derivatives_in_time() -> None:
    y0 = np.array([5.0, 2.0])

    def last(t0: Any, t1: Any) -> Any:
        return solve_ivp(prey, (t0, t1), y0, args=ARGS, rtol=1e-9, atol=1e-9, t_eval=[t1]).y[0, 0]

    def whole(t0: Any, t1: Any) -> Any:
        return solve_ivp(prey, (t0, t1), y0, args=ARGS, rtol=1e-9, atol=1e-9).y[0, -1]

    at_end = solve_ivp(prey, (0.0, 1.0), y0, args=ARGS, rtol=1e-9, atol=1e-9).y[:, -1]
    rate = prey(1.0, at_end, *ARGS)[0]
    for f in (last, whole):
        d0, d1 = wg.grad(f, argnums=(0, 1))(0.0, 1.0)
        assert d1 == pytest.approx(rate, rel=1e-5)
        assert d0 == pytest.approx(-rate, rel=1e-5)  # no t in the equation: a later start is an earlier end


@pytest.mark.sampled(4, "two seconds each")
@pytest.mark.parametrize("method", ["Tsit5", "KenCarp4", "Radau", "BDF"])
def test_a_budget_of_states(method: str) -> None:
    """Those between the ones that are kept are taken again: less memory, the same numbers."""

    def last(p: Any, budget: int) -> Any:
        options = {"t_eval": [1.0, 2.0, 8.0], "args": tuple(p[:4]), "rtol": 1e-8, "atol": 1e-8, "budget": budget}
        return np.sum(solve_ivp(prey, (0.0, 8.0), p[4:], method, **options).y ** 2)

    whole, little = (wg.jit(wg.value_and_grad(lambda p, n=n: last(p, n))) for n in (1 << 30, 600))
    (value, gradient), (again, found) = whole(P), little(P)
    by_newton = method in ("Radau", "BDF")  # whose equations are solved to less than the tolerances
    assert again == pytest.approx(value, rel=1e-10 if by_newton else 1e-13)
    np.testing.assert_allclose(found, gradient, rtol=1e-9 if by_newton else 1e-11)


@pytest.mark.machine_code("the bytes of a planned arena are compared")
def test_the_budget_is_kept() -> None:
    n, budget = 1000, 1 << 20
    rates = np.linspace(1.0, 50.0, n)

    def last(k: Any, budget: int) -> Any:
        f = lambda t, y: -k * rates * (y - np.cos(t))
        found = solve_ivp(f, (0.0, 20.0), np.ones(n), t_eval=[20.0], rtol=1e-6, atol=1e-6, budget=budget)
        assert found.nfev > 6 * 500
        return np.sum(found.y)

    whole, little = (wg.jit(wg.grad(lambda k, b=b: last(k, b))) for b in (1 << 30, budget))
    assert little(1.0) == pytest.approx(whole(1.0), rel=1e-10)
    assert little.program(1.0).arena_bytes < budget < 500 * 8 * n < whole.program(1.0).arena_bytes
