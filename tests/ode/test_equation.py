"""The right-hand side: what it captures, and its branches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp as of_scipy

import wengert as wg
from wengert.ode import solve_ivp
from wengert.ode.equation import crosses


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


def test_an_event_is_a_crossing_in_its_direction() -> None:
    before, after = np.array([-1.0, 1.0, 0.0, -1.0, 2.0]), np.array([1.0, -1.0, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal(crosses(before, after, 0.0), [True, True, True, True, False])
    np.testing.assert_array_equal(crosses(before, after, 1.0), [True, False, True, True, False])
    np.testing.assert_array_equal(crosses(before, after, -1.0), [False, True, False, False, False])
