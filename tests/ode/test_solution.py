"""What a result says: between steps, and where a solution ends too soon."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp as of_scipy

from tests.ode.problems import ARGS, TIMES, prey
from wengert.ode import solve_ivp


def test_a_solution_between_steps() -> None:
    ours, theirs = (
        f(prey, (0, 4), [5.0, 2.0], method="RK45", args=ARGS, dense_output=True) for f in (solve_ivp, of_scipy)
    )
    np.testing.assert_allclose(ours.sol(TIMES), theirs.sol(TIMES), rtol=1e-9)
    np.testing.assert_allclose(ours.sol(1.3), theirs.sol(1.3), rtol=1e-9)


def test_a_solution_that_explodes() -> None:
    seen = solve_ivp(lambda t, y: np.array([0.0 * y[0], y[1] ** 2]), (0, 2), [1.0, 1.0])
    theirs = of_scipy(lambda t, y: np.array([0.0, y[1] ** 2]), (0, 2), [1.0, 1.0])
    assert (seen.status, seen.success) == (theirs.status, False)
    assert seen.message.startswith(theirs.message)
    assert "component 1" in seen.message


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


def test_a_solution_shows_itself_in_a_notebook() -> None:
    found = solve_ivp(lambda t, y: -y, (0, 2), np.ones(30), method="RK45", dense_output=True)
    shown = found._repr_html_()
    assert "<tr><th>status</th><td>0</td></tr>" in shown and f"<td>float64[30, {len(found.t)}]: " in shown
    assert repr(found.sol) == "<y as a function of t, from 0.0 to 2.0>" and escape(repr(found.sol)) in shown
    assert len(shown) < 2000
