"""Sequences of functions with their slopes: values of SciPy, and derivatives of values and slopes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import wengert as wg
from tests.differences import check
from wengert.errors import UnsupportedFunctionError

FUNCTIONS: dict[str, Any] = {
    "lqn": lambda x: sp.lqn(3, x),
    "lqmn": lambda x: sp.lqmn(2, 3, x),
    "riccati_jn": lambda x: sp.riccati_jn(3, x),
    "riccati_yn": lambda x: sp.riccati_yn(2, x),
    "lmbda": lambda x: sp.lmbda(2.5, x),
    "pbdv_seq": lambda x: sp.pbdv_seq(2.5, x),
    "pbvv_seq": lambda x: sp.pbvv_seq(1.5, x),
    "pbdn_seq": lambda x: sp.pbdn_seq(3, x + 0.0j),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_slopes_have_derivatives(name: str) -> None:
    f = FUNCTIONS[name]
    check(lambda x: np.stack(f(x[()])), np.array(0.6))
    second = wg.jacobian(wg.jacobian(lambda x: np.real(f(x)[0])))(0.6)
    h = 1e-4
    slope = lambda x: np.real(f(x)[1])
    np.testing.assert_allclose(second, (slope(0.6 + h) - slope(0.6 - h)) / (2 * h), rtol=1e-5, atol=1e-6)


def test_what_is_not_traced_is_refused() -> None:
    for f in (lambda x: sp.lmbda(x, 0.5)[0], lambda x: sp.lqn(2, np.array([x, x]))[0], lambda x: sp.pbdv_seq(-1.5, x)):
        with pytest.raises(UnsupportedFunctionError, match=r"is traced|is not traced"):
            wg.jvp(f, (0.5,), (1.0,))
