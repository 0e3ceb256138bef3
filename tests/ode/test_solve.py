"""``solve_ivp``: beside SciPy's, beside tight references, and its derivatives beside differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp as of_scipy

import wengert as wg
from wengert.ode import solve_ivp

ARGS = (1.5, 1.0, 3.0, 1.0)
TIMES = np.linspace(0.0, 4.0, 6)


def prey(t: Any, y: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return np.array([a * y[0] - b * y[0] * y[1], -c * y[1] + d * y[0] * y[1]])


def robertson(t: Any, y: Any) -> Any:
    slow, fast, sink = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return np.array([-slow + fast, slow - fast - sink, sink])


# ------------------------------------------------------------------------------------------------- beside SciPy


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
@pytest.mark.parametrize("times", [None, TIMES])
@pytest.mark.parametrize("span", [(0.0, 4.0), (4.0, -1.0)])
def test_the_steps_of_scipy(method: str, times: Any, span: Any) -> None:
    times = times if times is None or span[0] == 0 else times[::-1]
    options: dict[str, Any] = {"method": method, "args": ARGS, "rtol": 1e-5, "atol": 1e-7, "t_eval": times}
    ours, theirs = (f(prey, span, [5.0, 2.0], **options) for f in (solve_ivp, of_scipy))
    np.testing.assert_allclose(ours.t, theirs.t, rtol=1e-9)
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-8)
    assert (ours.status, ours.message, ours.success) == (0, theirs.message, True)
    if times is None or method != "DOP853":  # which SciPy evaluates more often where it interpolates
        assert ours.nfev == theirs.nfev


def test_first_and_largest_step() -> None:
    options: dict[str, Any] = {"method": "RK45", "args": ARGS, "first_step": 0.01, "max_step": 0.05}
    ours, theirs = (f(prey, (0, 1), [5.0, 2.0], **options) for f in (solve_ivp, of_scipy))
    np.testing.assert_allclose(ours.t, theirs.t, rtol=1e-9)
    assert ours.nfev == theirs.nfev


DETEST: dict[str, tuple[Any, Any]] = {  # Hull, Enright, Fellen, Sedgwick (1972), classes A to E
    "A3": (lambda t, y: y * np.cos(t), [1.0]),
    "A4": (lambda t, y: y / 4 * (1 - y / 20), [1.0]),
    "B1": (lambda t, y: np.array([2 * (y[0] - y[0] * y[1]), -(y[1] - y[0] * y[1])]), [1.0, 3.0]),
    "B5": (lambda t, y: np.array([y[1] * y[2], -y[0] * y[2], -0.51 * y[0] * y[1]]), [0.0, 1.0, 1.0]),
    "C1": (lambda t, y: np.concatenate([-y[:1], y[:-2] - y[1:-1], y[-2:-1]]), [1.0, *[0.0] * 9]),
    "D2": (
        lambda t, y: np.array([y[2], y[3], *(-y[:2] / (y[0] ** 2 + y[1] ** 2) ** 1.5)]),
        [0.7, 0.0, 0.0, np.sqrt(1.3 / 0.7)],
    ),
    "E2": (lambda t, y: np.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]]), [2.0, 0.0]),
}


@pytest.mark.parametrize("method", ["Tsit5", "DOP853", "KenCarp4"])
@pytest.mark.parametrize("name", DETEST)
def test_detest(name: str, method: str) -> None:
    f, y0 = DETEST[name]
    ts = [5.0, 10.0]
    exact = of_scipy(f, (0, 10), y0, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=ts).y
    seen = solve_ivp(f, (0, 10), y0, method=method, rtol=1e-6, atol=1e-8, t_eval=ts)
    np.testing.assert_allclose(seen.y, exact, rtol=3e-4, atol=3e-4)


@pytest.mark.parametrize("method", ["KenCarp4", "Radau", "BDF", "LSODA"])
def test_a_stiff_equation(method: str) -> None:
    seen = solve_ivp(robertson, (0, 1e4), [1.0, 0.0, 0.0], method=method, rtol=1e-6, atol=1e-10)
    exact = of_scipy(robertson, (0, 1e4), [1.0, 0.0, 0.0], method="Radau", rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(seen.y[:, -1], exact.y[:, -1], rtol=1e-4)
    assert len(seen.t) < 500


def test_complex_states() -> None:
    seen = solve_ivp(lambda t, y: 1j * y, (0, 1), np.array([1 + 0j]), rtol=1e-9, atol=1e-9, t_eval=[1.0])
    np.testing.assert_allclose(seen.y[0, 0], np.exp(1j), rtol=1e-8)


def test_more_steps_than_there_is_room_for() -> None:
    seen = solve_ivp(prey, (0, 20), [5.0, 2.0], method="RK23", args=ARGS, rtol=1e-6, atol=1e-8)
    theirs = of_scipy(prey, (0, 20), [5.0, 2.0], method="RK23", args=ARGS, rtol=1e-6, atol=1e-8)
    assert len(seen.t) == len(theirs.t) > 1000


def test_no_time_passes() -> None:
    seen = solve_ivp(prey, (1.0, 1.0), [5.0, 2.0], args=ARGS, t_eval=[1.0])
    np.testing.assert_allclose(seen.y[:, 0], [5.0, 2.0])
    assert seen.status == 0


def test_a_solution_between_steps() -> None:
    ours, theirs = (
        f(prey, (0, 4), [5.0, 2.0], method="RK45", args=ARGS, dense_output=True) for f in (solve_ivp, of_scipy)
    )
    np.testing.assert_allclose(ours.sol(TIMES), theirs.sol(TIMES), rtol=1e-9)
    np.testing.assert_allclose(ours.sol(1.3), theirs.sol(1.3), rtol=1e-9)


# ------------------------------------------------------------------------------------------------------- events


def fall(t: Any, y: Any) -> Any:
    return np.array([y[1], -9.81 + 0.0 * y[0]])


def ground(t: Any, y: Any) -> Any:
    return y[0]


def apex(t: Any, y: Any) -> Any:
    return y[1]


ground.terminal = True
ground.direction = -1


def test_events() -> None:
    ours, theirs = (f(fall, (0, 10), [0.0, 10.0], method="RK45", events=[ground, apex]) for f in (solve_ivp, of_scipy))
    assert (ours.status, ours.message) == (theirs.status, theirs.message) == (1, "A termination event occurred.")
    for seen, expected in zip(ours.t_events, theirs.t_events, strict=True):
        np.testing.assert_allclose(seen, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.t[-1], 20 / 9.81, rtol=1e-9)
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-8, atol=1e-9)


def test_the_derivative_of_a_terminal_event() -> None:
    def lands(v: Any) -> Any:
        return solve_ivp(fall, (0.0, 10.0), np.stack([0.0 * v, v]), events=ground).t_events[0][0]

    assert wg.grad(lands)(10.0) == pytest.approx(2 / 9.81, rel=1e-6)


# -------------------------------------------------------------------------------------------------- derivatives


def end(p: Any, method: str = "Tsit5", **options: Any) -> Any:
    found = solve_ivp(prey, (0.0, 2.0), p[4:], method, t_eval=[1.0, 2.0], args=tuple(p[:4]), rtol=1e-8, atol=1e-8)
    return np.sum(found.y**2)


P = np.array([*ARGS, 5.0, 2.0])


def differences(f: Any, x: Any, h: float = 1e-4) -> Any:
    """Central, of fourth order."""
    basis = h * np.eye(len(x))
    return np.array([(8 * (f(x + d) - f(x - d)) - (f(x + 2 * d) - f(x - 2 * d))) / (12 * h) for d in basis])


@pytest.mark.parametrize("method", ["Tsit5", "DOP853", "KenCarp4"])
def test_gradients(method: str) -> None:
    f = lambda p: end(p, method)
    reference = differences(lambda p: end(p, "DOP853"), P)
    found = wg.jit(wg.grad(f))(P)
    np.testing.assert_allclose(found, reference, rtol=2e-5)
    np.testing.assert_allclose(wg.jit(wg.jacobian(f))(P), found, rtol=1e-9)
    np.testing.assert_allclose(wg.jvp(f, (P,), (np.ones(6),))[1], np.sum(found), rtol=1e-9)


def test_second_derivatives() -> None:
    v = np.array([0.1, -0.2, 0.3, 0.1, 0.5, -0.4])
    gradient = wg.jit(wg.grad(end))
    expected = (gradient(P + 1e-4 * v) - gradient(P - 1e-4 * v)) / 2e-4
    np.testing.assert_allclose(wg.jit(lambda p: wg.hvp(end, (p,), (v,)))(P), expected, rtol=1e-4)


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


def test_what_the_equation_captures() -> None:
    def f(k: Any) -> Any:
        w = np.array([1.0, 2.0]) * k
        return np.sum(solve_ivp(lambda t, y: -w * y, (0.0, 1.0), np.ones(2), t_eval=[1.0], rtol=1e-9, atol=1e-9).y)

    assert wg.grad(f)(0.5) == pytest.approx(-np.exp(-0.5) - 2 * np.exp(-1.0), rel=1e-6)
    assert wg.jit(wg.grad(f))(0.7) == pytest.approx(-np.exp(-0.7) - 2 * np.exp(-1.4), rel=1e-6)


def test_a_captured_number_never_goes_stale() -> None:
    rates = {"k": 1.0}
    f = lambda t, y: -rates["k"] * y
    for k in (1.0, 2.0):
        rates["k"] = k
        assert solve_ivp(f, (0.0, 1.0), [1.0], rtol=1e-8, atol=1e-8).y[0, -1] == pytest.approx(np.exp(-k), rel=1e-6)


def test_steps_are_taken_natively() -> None:
    g = wg.jit(wg.grad(end))
    g(P)
    assert {k.kind for k in g.program(P).kernels} <= {"loops", "guard", "BLAS"}


# ----------------------------------------------------------------------------------------------------- bad input


def test_a_solution_that_explodes() -> None:
    seen = solve_ivp(lambda t, y: np.array([0.0 * y[0], y[1] ** 2]), (0, 2), [1.0, 1.0])
    theirs = of_scipy(lambda t, y: np.array([0.0, y[1] ** 2]), (0, 2), [1.0, 1.0])
    assert (seen.status, seen.success) == (theirs.status, False)
    assert seen.message.startswith(theirs.message)
    assert "component 1" in seen.message


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="'Euler' is none of Tsit5"):
        solve_ivp(prey, (0, 1), [1.0, 1.0], method="Euler", args=ARGS)
    with pytest.raises(ValueError, match=r"y0 has shape \(1, 2\)"):
        solve_ivp(prey, (0, 1), [[1.0, 1.0]], args=ARGS)
    with pytest.raises(ValueError, match=r"fun returned shape \(3,\); y has \(2,\)"):
        solve_ivp(lambda t, y: np.ones(3), (0, 1), [1.0, 1.0])
    with pytest.raises(ValueError, match="more than max_steps=5 steps"):
        solve_ivp(prey, (0, 4), [5.0, 2.0], args=ARGS, max_steps=5)
    with pytest.raises(ValueError, match="the state is complex"):
        solve_ivp(lambda t, y: 1j * y, (0, 1), np.array([1 + 0j]), method="KenCarp4")
