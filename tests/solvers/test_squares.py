"""Least squares: the same parameters, and the same covariances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from numpy.testing import assert_allclose

import wengert as wg

T = np.linspace(0, 2, 30)
Y = 2.5 * np.exp(-1.3 * T) + 0.5


def residuals(p: Any, t: Any, y: Any) -> Any:
    return p[0] * np.exp(-p[1] * t) + p[2] - y


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method: str) -> None:
    with wg.exact(quiet=True, eager=True) as tally:
        found = scipy.optimize.least_squares(residuals, [1, 1, 0], method=method, args=(T,), kwargs={"y": Y})
    assert_allclose(found.x, [2.5, 1.3, 0.5], rtol=1e-6)
    assert tally.derivatives > 3


def test_leastsq_of_integers() -> None:
    plain: Any = scipy.optimize.leastsq(residuals, [1, 1, 0], args=(T, Y), full_output=True)
    with wg.exact(quiet=True, eager=True):
        found: Any = scipy.optimize.leastsq(residuals, [1, 1, 0], args=(T, Y), full_output=True)
    assert_allclose(found[0], [2.5, 1.3, 0.5], rtol=1e-6)
    assert_allclose(found[1], plain[1], rtol=1e-4)
    assert 2 * found[2]["nfev"] < plain[2]["nfev"]


@pytest.mark.parametrize(
    "more", [{}, {"bounds": (0, 10)}, {"sigma": 0.1 + T}, {"p0": [1, 2, 3], "method": "dogbox"}], ids=str
)
def test_curve_fit(more: dict[str, Any]) -> None:
    model = lambda t, a, b, c: a * np.exp(-b * t) + c
    y = Y + 0.01 * np.cos(9 * T)
    plain = scipy.optimize.curve_fit(model, T, y, **more)
    with wg.exact(quiet=True, eager=True) as tally:
        found = scipy.optimize.curve_fit(model, T, y, **more)
    assert_allclose(found[0], plain[0], rtol=1e-5)
    assert_allclose(found[1], plain[1], rtol=1e-3)
    assert tally.derivatives > 3
    assert tally.calls == 1
