"""The options that are taken, and those that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import RK45

from tests.ode.problems import ARGS, prey
from wengert.ode import solve_ivp
from wengert.ode.options import spacing


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


def test_so_many_states_are_kept_as_fit_into_the_budget() -> None:
    assert spacing(1024, np.inf) == spacing(1024, 1 << 20) == 1
    for budget in (300, 150):
        every = spacing(1024, budget)
        kept = lambda every: 2 * 1024 // every + every  # with their cotangents, and those between two
        assert kept(every) <= budget < kept(every // 2)
    assert spacing(1024, 1) == 32  # the least that there can be
