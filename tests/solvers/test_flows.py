"""Differential equations: implicit methods get Jacobians."""

from __future__ import annotations

from typing import Any

import pytest
import scipy.integrate
import scipy.optimize
from numpy.testing import assert_allclose

import wengert as wg


def van_der_pol(t: float, y: Any, mu: float) -> Any:
    return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_stiff_equations(method: str) -> None:
    run = lambda: scipy.integrate.solve_ivp(van_der_pol, (0, 120), [2, 0], method=method, args=(100.0,), rtol=1e-6)
    plain = run()
    with wg.exact(quiet=True, eager=True) as tally:
        found = run()
    assert_allclose(found.y[:, -1], plain.y[:, -1], rtol=1e-3)
    assert found.nfev <= plain.nfev
    assert tally.derivatives > 3


@pytest.mark.parametrize("is_first", [True, False])
def test_odeint(is_first: bool) -> None:
    f = van_der_pol if is_first else lambda y, t, mu: van_der_pol(t, y, mu)
    run = lambda: scipy.integrate.odeint(f, [2, 0], [0, 60, 120], args=(100.0,), tfirst=is_first, full_output=True)
    plain = run()
    with wg.exact(quiet=True, eager=True) as tally:
        found = run()
    assert_allclose(found[0], plain[0], rtol=1e-3, atol=1e-4)
    assert found[1]["nfe"][-1] < plain[1]["nfe"][-1]
    assert tally.derivatives > 3


def test_an_explicit_method_has_no_slot() -> None:
    with wg.exact(quiet=True, eager=True) as tally:
        scipy.integrate.solve_ivp(van_der_pol, (0, 1), [2, 0], args=(1.0,))
    assert (tally.calls, tally.filled) == (1, 0)
