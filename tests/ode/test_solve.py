"""``solve_ivp``: beside SciPy's, beside tight references, and its derivatives beside differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import RK45
from scipy.integrate import solve_ivp as of_scipy

import wengert as wg
from wengert.errors import ConcretizationError
from wengert.ode import solve, solve_ivp
from wengert.ode.methods import METHODS

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


def torus(t: Any, y: Any) -> Any:
    r = np.sqrt(y[0] ** 2 + y[1] ** 2)
    return np.array([-y[1] - y[0] * y[2] / r, y[0] - y[1] * y[2] / r, y[0] / r])


def chain(t: Any, y: Any) -> Any:
    k = np.arange(1, 10)
    return np.concatenate([-y[:1], k[:-1] * y[:-2] - k[1:] * y[1:-1], k[-1:] * y[-2:-1]])


def heat(t: Any, y: Any) -> Any:
    return np.concatenate([[0.0], y[:-1]]) - 2 * y + np.concatenate([y[1:], [0.0]])


MASSES = np.array([0.000954786104043, 0.000285583733151, 0.0000437273164546, 0.0000517759138449, 0.00000277777777778])
PLANETS = np.array(  # Jupiter, Saturn, Uranus, Neptune, Pluto
    [
        [3.42947415189, 3.35386959711, 1.35494901715, -0.557160570446, 0.505696783289, 0.230578543901],
        [6.64145542550, 5.97156957878, 2.18231499728, -0.415570776342, 0.365682722812, 0.169143213293],
        [11.2630437207, 14.6952576794, 6.27960525067, -0.325325669158, 0.189706021964, 0.0877265322780],
        [-30.1552268759, 1.65699966404, 1.43785752721, -0.0240476254170, -0.287659532608, -0.117219543175],
        [-21.1238353380, 28.4465098142, 15.3882659679, -0.176860753121, -0.216393453025, -0.0148647893090],
    ]
)


def planets(t: Any, y: Any) -> Any:
    x, v = y[:15].reshape(5, 3), y[15:]
    r3 = np.sum(x**2, axis=1) ** 1.5
    apart = x[None] - x[:, None]
    d3 = (np.sum(apart**2, axis=2) + np.eye(5)) ** 1.5
    pull = np.sum(MASSES[None, :, None] * (apart / d3[:, :, None] - (x / r3[:, None])[None]), axis=1)
    own = (MASSES / r3)[:, None] * x  # which the sum has taken away
    return np.concatenate(
        [v, 2.95912208286 * (pull + own - (1.00000597682 + MASSES)[:, None] * x / r3[:, None]).ravel()]
    )


def two_bodies(t: Any, y: Any) -> Any:
    return np.array([y[2], y[3], *(-y[:2] / (y[0] ** 2 + y[1] ** 2) ** 1.5)])


def orbit(e: float) -> list[float]:
    return [1 - e, 0.0, 0.0, np.sqrt((1 + e) / (1 - e))]


DETEST: dict[str, tuple[Any, Any]] = {  # Hull, Enright, Fellen, Sedgwick (1972), classes A to E
    "A1": (lambda t, y: -y, [1.0]),
    "A2": (lambda t, y: -(y**3) / 2, [1.0]),
    "A3": (lambda t, y: y * np.cos(t), [1.0]),
    "A4": (lambda t, y: y / 4 * (1 - y / 20), [1.0]),
    "A5": (lambda t, y: (y - t) / (y + t), [4.0]),
    "B1": (lambda t, y: np.array([2 * (y[0] - y[0] * y[1]), -(y[1] - y[0] * y[1])]), [1.0, 3.0]),
    "B2": (lambda t, y: np.array([-y[0] + y[1], y[0] - 2 * y[1] + y[2], y[1] - y[2]]), [2.0, 0.0, 1.0]),
    "B3": (lambda t, y: np.array([-y[0], y[0] - y[1] ** 2, y[1] ** 2]), [1.0, 0.0, 0.0]),
    "B4": (torus, [3.0, 0.0, 0.0]),
    "B5": (lambda t, y: np.array([y[1] * y[2], -y[0] * y[2], -0.51 * y[0] * y[1]]), [0.0, 1.0, 1.0]),
    "C1": (lambda t, y: np.concatenate([-y[:1], y[:-2] - y[1:-1], y[-2:-1]]), [1.0, *[0.0] * 9]),
    "C2": (chain, [1.0, *[0.0] * 9]),
    "C3": (heat, [1.0, *[0.0] * 9]),
    "C4": (heat, [1.0, *[0.0] * 50]),
    "C5": (planets, np.concatenate([PLANETS[:, :3].ravel(), PLANETS[:, 3:].ravel()])),
    "D1": (two_bodies, orbit(0.1)),
    "D2": (two_bodies, orbit(0.3)),
    "D3": (two_bodies, orbit(0.5)),
    "D4": (two_bodies, orbit(0.7)),
    "D5": (two_bodies, orbit(0.9)),
    "E1": (
        lambda t, y: np.array([y[1], -(y[1] / (t + 1) + (1 - 0.25 / (t + 1) ** 2) * y[0])]),
        [0.6713967071418030, 0.09540051444747446],
    ),
    "E2": (lambda t, y: np.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]]), [2.0, 0.0]),
    "E3": (lambda t, y: np.array([y[1], y[0] ** 3 / 6 - y[0] + 2 * np.sin(2.78535 * t)]), [0.0, 0.0]),
    "E4": (lambda t, y: np.array([y[1], 0.032 - 0.4 * y[1] ** 2]), [30.0, 0.0]),
    "E5": (lambda t, y: np.array([y[1], np.sqrt(1 + y[1] ** 2) / (25 - t)]), [0.0, 0.0]),
}
FEW = ("A3", "B5", "C1", "D2", "E2")
MANY = pytest.mark.deep("a program for each of sixty equations and methods")


@pytest.mark.sampled(4, "every problem of the set")
@pytest.mark.parametrize("method", ["Tsit5", "DOP853", "KenCarp4"])
@pytest.mark.parametrize("name", [n if n in FEW else pytest.param(n, marks=MANY) for n in DETEST])
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


@pytest.mark.sampled(3, "every stiff method on every problem")
@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
@pytest.mark.parametrize("name", ["prey", "robertson"])
@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_the_stiff_steps_of_scipy(method: str, name: str, rtol: float) -> None:
    f, y0 = {"prey": (lambda t, y: prey(t, y, *ARGS), [5.0, 2.0]), "robertson": (robertson, [1.0, 0.0, 0.0])}[name]
    options: dict[str, Any] = {"method": method, "rtol": rtol, "atol": 1e-3 * rtol, "dense_output": True}
    ours, theirs = (solver(f, (0.0, 40.0), y0, **options) for solver in (solve_ivp, of_scipy))
    np.testing.assert_allclose(ours.t, theirs.t, rtol=1e-5)
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-5, atol=1e-9)
    assert (ours.nfev, ours.nlu) == (theirs.nfev, theirs.nlu)
    between = np.linspace(0.0, 40.0, 50)
    np.testing.assert_allclose(ours.sol(between), theirs.sol(between), rtol=10 * rtol, atol=1e-6)


def van_der_pol(t: Any, y: Any, stiffness: Any) -> Any:
    return np.array([y[1], stiffness * (1 - y[0] ** 2) * y[1] - y[0]])


@pytest.mark.sampled(2, "a program for each method; the steps of each are compared in quick ones")
@pytest.mark.parametrize("method", ["KenCarp4", "Radau", "BDF", "LSODA"])
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


def test_complex_states() -> None:
    seen = solve_ivp(lambda t, y: 1j * y, (0, 1), np.array([1 + 0j]), rtol=1e-9, atol=1e-9, t_eval=[1.0])
    np.testing.assert_allclose(seen.y[0, 0], np.exp(1j), rtol=1e-8)


def test_more_steps_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search goes on where it stopped."""
    options: dict[str, Any] = {"method": "RK23", "args": ARGS, "rtol": 1e-6, "atol": 1e-8}
    seen, theirs = (f(prey, (0, 20), [5.0, 2.0], **options) for f in (solve_ivp, of_scipy))
    assert len(seen.t) == len(theirs.t) > 1000
    assert seen.nfev == theirs.nfev
    monkeypatch.setattr(solve, "ROOM", 4096)
    at_once = solve_ivp(prey, (0, 20), [5.0, 2.0], **options)
    np.testing.assert_array_equal(at_once.t, seen.t)
    np.testing.assert_array_equal(at_once.y, seen.y)


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


def third(t: Any, y: Any) -> Any:
    return y[0] - 5.0


third.terminal = 3


def test_an_event_that_ends_at_its_third_time() -> None:
    swing = lambda t, y: np.array([y[1], -y[0]])
    half = lambda t, y: y[1] - 5.0
    ours, theirs = (
        f(swing, (0, 100), [0.0, 10.0], method="RK45", rtol=1e-8, atol=1e-8, events=[half, third])
        for f in (solve_ivp, of_scipy)
    )
    assert [len(t) for t in ours.t_events] == [len(t) for t in theirs.t_events]
    for seen, expected in zip((*ours.t_events, *ours.y_events), (*theirs.t_events, *theirs.y_events), strict=True):
        np.testing.assert_allclose(seen, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose((ours.t[-1], *ours.y[:, -1]), (theirs.t[-1], *theirs.y[:, -1]), rtol=1e-9)


@pytest.mark.deep("3 s")
@pytest.mark.sampled(2, "a program for each method; the steps of each are compared in quick ones")
@pytest.mark.parametrize("method", ["Tsit5", "Radau"])
def test_the_derivatives_of_events_that_do_not_end(method: str) -> None:
    """Of y = r sin(w t), where y is 5 and rises: t = (asin(5/r) + 2 π k) / w."""

    def times(p: Any) -> Any:
        r, w = p
        rises = lambda t, y: y[0] - 5.0
        rises.direction = 1
        swing = lambda t, y: np.array([w * y[1], -w * y[0]])
        found = solve_ivp(swing, (0, 10), np.stack([0.0 * r, r]), method, rtol=1e-9, atol=1e-9, events=rises)
        return found.t_events[0] + 0.0 * found.y_events[0][:, 0]

    compiled, reverse = wg.jit(wg.jacobian(times)), wg.jit(wg.grad(lambda p: times(p)[-1]))
    for w, number in ((2.0, 4), (3.0, 5), (2.0, 4)):
        r, k = 10.0, np.arange(number)
        angle = np.arcsin(5 / r) + 2 * np.pi * k
        exact = np.stack([np.full(number, -5 / r**2 / np.sqrt(1 - 25 / r**2) / w), -angle / w**2], axis=1)
        p = np.array([r, w])
        np.testing.assert_allclose(times(p), angle / w, rtol=1e-7)
        np.testing.assert_allclose(compiled(p), exact, rtol=1e-6)
        np.testing.assert_allclose(reverse(p), exact[-1], rtol=1e-6)


def test_the_number_of_steps_is_no_path_where_times_are_given() -> None:
    def lands(v: Any) -> Any:
        options: dict[str, Any] = {"t_eval": [0.1, 0.5], "events": ground, "max_step": 0.2}
        found = solve_ivp(lambda t, y: np.stack([y[1], -9.81 - 0.1 * y[1]]), (0.0, 10.0), [0.0, v], **options)
        return np.sum(found.y) + found.t_events[0][0]

    compiled = wg.jit(wg.grad(lands))
    for v in (5.0, 10.0, 20.0):
        assert compiled(v) == pytest.approx((lands(v + 1e-4) - lands(v - 1e-4)) / 2e-4, rel=1e-6)
    assert compiled.stats()["traces"] == 1


# -------------------------------------------------------------------------------------------------- derivatives


def end(p: Any, method: str = "Tsit5", **options: Any) -> Any:
    found = solve_ivp(prey, (0.0, 2.0), p[4:], method, t_eval=[1.0, 2.0], args=tuple(p[:4]), rtol=1e-8, atol=1e-8)
    return np.sum(found.y**2)


P = np.array([*ARGS, 5.0, 2.0])


def differences(f: Any, x: Any, h: float = 1e-4) -> Any:
    """Central, of fourth order."""
    basis = h * np.eye(len(x))
    return np.array([(8 * (f(x + d) - f(x - d)) - (f(x + 2 * d) - f(x - 2 * d))) / (12 * h) for d in basis])


@pytest.mark.sampled(3, "two seconds each")
@pytest.mark.parametrize("method", ["Tsit5", "DOP853", "KenCarp4", "Radau", "BDF"])
def test_gradients(method: str) -> None:
    f = lambda p: end(p, method)
    reference = differences(lambda p: end(p, "DOP853"), P)
    found = wg.jit(wg.grad(f))(P)
    np.testing.assert_allclose(found, reference, rtol=2e-5)
    np.testing.assert_allclose(wg.jit(wg.jacobian(f))(P), found, rtol=1e-9)
    np.testing.assert_allclose(wg.jvp(f, (P,), (np.ones(6),))[1], np.sum(found), rtol=1e-9)


@pytest.mark.sampled(3, "a program for each method; the steps of each are compared in quick ones")
@pytest.mark.parametrize("method", ["Tsit5", "KenCarp4", "Radau", "BDF", "LSODA"])
def test_second_derivatives(method: str) -> None:
    v = np.array([0.1, -0.2, 0.3, 0.1, 0.5, -0.4])
    f = lambda p: end(p, method)
    gradient = wg.jit(wg.grad(lambda p: end(p, "DOP853")))
    expected = (gradient(P + 1e-4 * v) - gradient(P - 1e-4 * v)) / 2e-4
    np.testing.assert_allclose(wg.jit(lambda p: wg.hvp(f, (p,), (v,)))(P), expected, rtol=3e-4)


@pytest.mark.sampled(2, "a program for each method; the steps of each are compared in quick ones")
@pytest.mark.parametrize("method", ["Tsit5", "KenCarp4", "Radau", "BDF"])
def test_third_derivatives(method: str) -> None:
    """Of 1 / (1 + k)."""

    def last(k: Any) -> Any:
        return solve_ivp(lambda t, y: -k * y**2, (0, 1), [1.0], method, t_eval=[1.0], rtol=1e-9, atol=1e-11).y[0, 0]

    along = lambda f: lambda k: wg.jvp(f, (k,), (1.0,))[1]
    assert wg.jit(along(wg.grad(along(last))))(0.5) == pytest.approx(-6 / 1.5**4, rel=1e-5)


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


@pytest.mark.sampled(2, "two seconds each")
@pytest.mark.sampled(3, "a program for each method; the steps of each are compared in quick ones")
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


def test_events_within_a_budget() -> None:
    def lands(v: Any, budget: int) -> Any:
        start = np.stack([0.0 * v, v])
        options: dict[str, Any] = {"events": ground, "max_step": 0.05, "budget": budget}
        return solve_ivp(fall, (0.0, 10.0), start, t_eval=[0.5, 5.0], **options).t_events[0][0]

    assert wg.grad(lambda v: lands(v, 200))(10.0) == pytest.approx(2 / 9.81, rel=1e-6)
    assert lands(10.0, 200) == pytest.approx(lands(10.0, 1 << 30), rel=1e-13)


# ----------------------------------------------------------------------------------------------------- bad input


def test_a_solution_that_explodes() -> None:
    seen = solve_ivp(lambda t, y: np.array([0.0 * y[0], y[1] ** 2]), (0, 2), [1.0, 1.0])
    theirs = of_scipy(lambda t, y: np.array([0.0, y[1] ** 2]), (0, 2), [1.0, 1.0])
    assert (seen.status, seen.success) == (theirs.status, False)
    assert seen.message.startswith(theirs.message)
    assert "component 1" in seen.message


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_up_where_there_is_no_solution(method: str) -> None:
    for f in (lambda t, y: np.array([0.0 * y[0], y[1] ** 2]), lambda t, y: y * np.where(t > 0.5, np.nan, 1.0)):
        seen = solve_ivp(f, (0, 2), [1.0, 1.0], method, max_steps=5000)
        assert (seen.status, seen.success) == (-1, False)
        assert seen.message.startswith("Required step size is less than spacing between numbers. At step ")
        assert 0.4 < seen.t[-1] < 1.1


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="method is 'Euler', a str; expected one of Tsit5, RK45"):
        solve_ivp(prey, (0, 1), [1.0, 1.0], method="Euler", args=ARGS)
    with pytest.raises(ValueError, match=r"y0 has shape \(1, 2\)"):
        solve_ivp(prey, (0, 1), [[1.0, 1.0]], args=ARGS)
    with pytest.raises(ValueError, match=r"fun returned shape \(3,\); y has \(2,\)"):
        solve_ivp(lambda t, y: np.ones(3), (0, 1), [1.0, 1.0])
    with pytest.raises(ValueError, match="more than max_steps=5 steps"):
        solve_ivp(prey, (0, 4), [5.0, 2.0], args=ARGS, max_steps=5)
    for times, what in (([0.5, 2.0], "outside"), ([0.5, 0.2], "not sorted"), ([[0.5]], "shape")):
        with pytest.raises(ValueError, match=what):
            solve_ivp(prey, (0, 1), [1.0, 1.0], args=ARGS, t_eval=times)
    with pytest.raises(ValueError, match="the state is complex"):
        solve_ivp(lambda t, y: 1j * y, (0, 1), np.array([1 + 0j]), method="KenCarp4")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a step of nothing": ({"max_step": 0.0}, "max_step is 0.0; expected more than 0"),
    "a step backwards": ({"max_step": -1.0}, "max_step is -1.0"),
    "no number for a step": ({"max_step": np.nan}, "max_step is nan"),
    "a first step backwards": ({"first_step": -1.0}, "first_step is -1.0; expected more than 0"),
    "a first step beyond the end": ({"first_step": 5.0}, "first_step is 5.0"),
    "a negative tolerance": ({"atol": -1.0}, "atol is -1.0; expected 0 or more"),
    "no steps": ({"max_steps": 0}, "max_steps is 0; expected 1 or more"),
    "fewer than none": ({"max_steps": -1}, "max_steps is -1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_that_make_no_sense(name: str) -> None:
    options, text = REFUSED[name]
    with pytest.raises(ValueError, match=text):
        solve_ivp(lambda t, y: -y, (0, 2), [1.0], **options)
    with pytest.raises(TypeError, match="solve_ivp: no option tolerance"):
        solve_ivp(lambda t, y: -y, (0, 2), [1.0], tolerance=1e-3)
    with pytest.raises(ValueError, match=r"y0 has shape \(0,\)"):
        solve_ivp(lambda t, y: -y, (0, 2), [])


NAN: dict[str, tuple[Any, Any, Any]] = {
    "equation": (lambda t, y: y * np.nan, (0, 2), [1.0]),
    "state": (lambda t, y: -y, (0, 2), [np.nan]),
    "span": (lambda t, y: -y, (0, np.nan), [1.0]),
}


@pytest.mark.sampled(5, "a program for each method; the steps of each are compared in quick ones")
@pytest.mark.parametrize("method", ["Tsit5", "RK45", "KenCarp4", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("name", NAN)
def test_what_is_no_number_ends_with_a_word(name: str, method: str) -> None:
    found = solve_ivp(*NAN[name], method=method)
    assert found.status == -1 and "component 0" in found.message


def test_what_scipy_takes_is_taken() -> None:
    expected = np.exp(-2.0)
    for given in ({}, {"method": RK45}, {"jac": None, "min_step": 0.0}, {"vectorized": True}):
        found = solve_ivp(lambda t, y: -2 * y[0], (0, 1), [1.0], rtol=1e-8, atol=1e-8, dense_output=True, **given)
        assert found.y[0, -1] == pytest.approx(expected, rel=1e-6)
        assert (found.sol.t_min, found.sol.t_max) == (0.0, 1.0) and len(found.sol.ts) == len(found.t)
        assert found.sol([]).shape == (1, 0)
    single = solve_ivp(lambda t, y: -2 * y, (0, 1), np.ones(1, np.float32), rtol=1e-8, atol=1e-8)
    assert single.y.dtype == np.float64 and single.y[0, -1] == pytest.approx(expected, rel=1e-6)

    class Equation:
        __hash__ = None  # type: ignore[assignment]  # as a class with __eq__ alone has it

        def __call__(self, t: Any, y: Any) -> Any:
            return -2 * y

    assert solve_ivp(Equation(), (0, 1), [1.0], rtol=1e-8, atol=1e-8).y[0, -1] == pytest.approx(expected, rel=1e-6)


def test_the_earliest_terminal_event_ends_it() -> None:
    """Whatever the order in which they are given, and whatever is heard beside or behind it."""
    fun, options = lambda t, y: -y, {"method": "RK45", "first_step": 0.6, "t_eval": np.linspace(0, 2, 21)}

    def half(t: Any, y: Any) -> Any:
        return y[0] - 0.5

    def less(t: Any, y: Any) -> Any:
        return y[0] - 0.4

    half.terminal = less.terminal = True
    first, behind = (lambda t, y: y[0] - 0.9), (lambda t, y: y[0] - 0.45)
    for events in ([half, less], [less, half], [first, less, behind, half]):
        ours, theirs = (f(fun, (0, 2), [1.0], events=events, **options) for f in (solve_ivp, of_scipy))
        np.testing.assert_array_equal(ours.t, theirs.t)
        assert [len(t) for t in ours.t_events] == [len(t) for t in theirs.t_events]


def switched(t: Any, y: Any, a: Any, b: Any) -> Any:
    """A right-hand side with branches on the time and the state, smooth where it passes from one to the other."""
    if t > 1:
        rate = a * (1 + (t - 1) ** 2)
    else:
        rate = b if t < 0 else a
    return -rate * y if y[0] < 0.5 else -rate * y - (y[0] - 0.5) ** 2 * b


@pytest.mark.sampled(3, "two seconds each")
@pytest.mark.parametrize("method", ["Tsit5", "DOP853", "KenCarp4"])
def test_a_right_hand_side_with_branches(method: str) -> None:
    def end(p: Any) -> Any:
        options = {"t_eval": [3.0], "args": (p[0], p[1]), "rtol": 1e-9, "atol": 1e-9, "method": method}
        return np.sum(wg.ode.solve_ivp(switched, (0, 3), [1.0, 2.0], **options).y)

    p, eps = np.array([0.3, 0.7]), 1e-4
    reference = lambda p: np.sum(of_scipy(switched, (0, 3), [1.0, 2.0], args=tuple(p), rtol=1e-12, atol=1e-12).y[:, -1])
    compiled, gradient = wg.jit(end, strict=True), wg.jit(wg.grad(end), strict=True)
    assert compiled(p) == pytest.approx(reference(p), rel=1e-7)
    slopes = [(reference(p + d) - reference(p - d)) / (2 * eps) for d in eps * np.eye(2)]
    np.testing.assert_allclose(gradient(p), slopes, rtol=1e-4)
    assert compiled.stats()["traces"] == gradient.stats()["traces"] == 1


def test_a_jump_at_a_known_time() -> None:
    fun = lambda t, y, a, b: -(a if t > 1 else b) * y
    end = lambda a, b: wg.ode.solve_ivp(fun, (0, 3), [1.0], t_eval=[3.0], args=(a, b), rtol=1e-10, atol=1e-10).y[0, 0]
    y = np.exp(-0.7 - 2 * 0.3)
    assert end(0.3, 0.7) == pytest.approx(y, rel=1e-8)
    np.testing.assert_allclose(wg.grad(end, (0, 1))(0.3, 0.7), (-2 * y, -y), rtol=1e-7)


# ------------------------------------------------------------------------------------------------------- batches


def outputs(p: Any, method: str = "Tsit5", **options: Any) -> Any:
    options = {"t_eval": TIMES[1:], "args": tuple(p[:4]), "rtol": 1e-8, "atol": 1e-8, **options}
    return solve_ivp(prey, (0.0, 4.0), p[4:], method, **options).y


PS = P * np.linspace(0.8, 1.2, 5)[:, None]


@pytest.mark.sampled(3, "a program for each method; the steps of each are compared in quick ones")
@pytest.mark.parametrize("method", ["Tsit5", "Radau", "BDF"])
def test_a_batch_is_a_loop_over_examples(method: str) -> None:
    """Each with steps of its own."""
    one = lambda p: np.sum(outputs(p, method) ** 2)
    np.testing.assert_allclose(wg.vmap(lambda p: outputs(p, method))(PS), [outputs(p, method) for p in PS], rtol=1e-12)
    many = lambda ps: np.sum(wg.vmap(one)(ps))
    gradient = wg.jit(wg.grad(one))
    np.testing.assert_allclose(wg.jit(wg.grad(many))(PS), [gradient(p) for p in PS], rtol=1e-11)
    np.testing.assert_allclose(wg.jvp(many, (PS,), (PS,))[1], sum(gradient(p) @ p for p in PS), rtol=1e-11)


def test_a_batch_of_arguments() -> None:
    """With one start for all, which has the sum of its derivatives."""
    rates, start = np.array([0.5, 1.0, 2.0]), np.array([1.0, 2.0])

    def last(k: Any, y: Any) -> Any:
        return solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), y, t_eval=[1.0], args=(k,), rtol=1e-9, atol=1e-9).y[:, 0]

    ends = wg.vmap(last, (0, None))
    np.testing.assert_allclose(ends(rates, start), np.exp(-rates)[:, None] * start, rtol=1e-8)
    by_rate, by_start = wg.grad(lambda k, y: np.sum(ends(k, y)), (0, 1))(rates, start)
    np.testing.assert_allclose(by_rate, -3 * np.exp(-rates), rtol=1e-7)
    np.testing.assert_allclose(by_start, np.full(2, np.exp(-rates).sum()), rtol=1e-8)


def test_within_the_body_of_a_loop() -> None:
    def chained(y: Any) -> Any:
        step = lambda y, k: (solve_ivp(lambda t, y: -k * y, (0.0, 1.0), y, t_eval=[1.0], rtol=1e-9).y[:, 0], None)
        return wg.scan(step, y, np.array([0.5, 1.5]))[0][0]

    assert wg.jit(chained)(np.ones(1)) == pytest.approx(np.exp(-2), rel=1e-6)
    assert wg.grad(chained)(np.ones(1))[0] == pytest.approx(np.exp(-2), rel=1e-6)


@pytest.mark.deep("3 s")
def test_what_fails_in_a_batch() -> None:
    explodes = lambda k: solve_ivp(lambda t, y: k * y**2, (0, 2), [1.0], t_eval=[0.5, 2.0])
    seen = wg.vmap(lambda k: dict(y=explodes(k).y, status=explodes(k).status))(np.array([0.1, 1.0]))
    np.testing.assert_array_equal(seen["status"], [0, -1])
    np.testing.assert_allclose(seen["y"], [[[1 / 0.95, 1 / 0.8]], [[2.0, np.nan]]], rtol=1e-2)
    with pytest.raises(ValueError, match="more than 20 steps, in a batch"):
        wg.vmap(lambda p: outputs(p, max_steps=20))(PS)
    with pytest.raises(ConcretizationError, match="the number of steps is not known"):
        wg.vmap(lambda p: outputs(p, t_eval=None))(PS)
    with pytest.raises(ConcretizationError, match="the number of events is not known"):
        wg.vmap(lambda p: outputs(p, events=lambda t, y, *args: y[0] - 1.0))(PS)
