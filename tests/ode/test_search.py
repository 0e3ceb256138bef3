"""The steps that are found: SciPy's, and an end where there are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp as of_scipy

from tests.ode.problems import ARGS, TIMES, prey, robertson
from wengert.ode import solve_ivp
from wengert.ode.methods import METHODS


@pytest.mark.sampled(2, "a tenth of a second each")
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


@pytest.mark.sampled(5, "every stiff method on every problem")
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


@pytest.mark.sampled(7, "a program for each method")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_up_where_there_is_no_solution(method: str) -> None:
    for f in (lambda t, y: np.array([0.0 * y[0], y[1] ** 2]), lambda t, y: y * np.where(t > 0.5, np.nan, 1.0)):
        seen = solve_ivp(f, (0, 2), [1.0, 1.0], method, max_steps=5000)
        assert (seen.status, seen.success) == (-1, False)
        assert seen.message.startswith("Required step size is less than spacing between numbers. At step ")
        assert 0.4 < seen.t[-1] < 1.1
