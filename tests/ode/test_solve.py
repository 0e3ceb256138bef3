"""``solve_ivp``: beside tight references, with all that it is given, in batches and in loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp as of_scipy

import wengert as wg
from tests.ode.problems import ARGS, TIMES, P, prey, robertson
from wengert.errors import ConcretizationError
from wengert.ode import solve, solve_ivp


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


@pytest.mark.sampled(13, "every problem of the set")
@pytest.mark.parametrize("method", ["Tsit5", "DOP853", "KenCarp4"])
@pytest.mark.parametrize("name", [n if n in FEW else pytest.param(n, marks=MANY) for n in DETEST])
def test_detest(name: str, method: str) -> None:
    f, y0 = DETEST[name]
    ts = [5.0, 10.0]
    exact = of_scipy(f, (0, 10), y0, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=ts).y
    seen = solve_ivp(f, (0, 10), y0, method=method, rtol=1e-6, atol=1e-8, t_eval=ts)
    np.testing.assert_allclose(seen.y, exact, rtol=3e-4, atol=3e-4)


@pytest.mark.sampled(3, "a second each")
@pytest.mark.parametrize("method", ["KenCarp4", "Radau", "BDF", "LSODA"])
def test_a_stiff_equation(method: str) -> None:
    seen = solve_ivp(robertson, (0, 1e4), [1.0, 0.0, 0.0], method=method, rtol=1e-6, atol=1e-10)
    exact = of_scipy(robertson, (0, 1e4), [1.0, 0.0, 0.0], method="Radau", rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(seen.y[:, -1], exact.y[:, -1], rtol=1e-4)
    assert len(seen.t) < 500


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
