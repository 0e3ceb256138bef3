"""Legendre functions and spherical harmonics: against SciPy, differences, and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import wengert as wg
from tests.differences import check, same
from wengert.errors import UnsupportedFunctionError

Z = np.array([-0.7, 0.1, 0.55])
THETA, PHI = np.array([0.4, 1.2, 2.5]), np.array([0.3, -1.1, 2.0])

FUNCTIONS: dict[str, Any] = {
    "legendre_p": lambda z: sp.legendre_p(np.arange(4)[:, None], z),
    "legendre_p_all": lambda z: sp.legendre_p_all(3, z),
    "assoc_legendre_p": lambda z: sp.assoc_legendre_p(3, [[-2], [0], [1], [3]], z),
    "assoc_legendre_p, norm": lambda z: sp.assoc_legendre_p(3, 2, z, norm=True),
    "assoc_legendre_p_all": lambda z: sp.assoc_legendre_p_all(2, 2, z, norm=True),
    "sph_legendre_p": lambda t: sp.sph_legendre_p(3, [[-2], [0], [1], [3]], t),
    "sph_legendre_p_all": lambda t: sp.sph_legendre_p_all(3, 2, t),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_a_real_argument(name: str) -> None:
    f = FUNCTIONS[name]
    check(f, Z if "sph" not in name else THETA)
    check(lambda t: f(t)[..., 0], np.array([0.3]))
    second = wg.jacobian(wg.jacobian(lambda t: np.ravel(f(t + np.zeros(1)))))(0.3)
    h = 1e-4
    g = lambda t: np.ravel(f(np.array([t])))
    np.testing.assert_allclose(second, (g(0.3 + h) - 2 * g(0.3) + g(0.3 - h)) / h**2, rtol=1e-5, atol=1e-5)


def test_spherical_harmonics() -> None:
    check(lambda t, p: sp.sph_harm_y(3, [[-2], [0], [1], [3]], t, p), THETA, PHI)
    check(lambda t, p: sp.sph_harm_y_all(2, 2, t, p), THETA, PHI)
    by_theta = wg.jvp(lambda t: sp.sph_harm_y(1, 0, t, 0.0), (0.4,), (1.0,))[1]
    same(by_theta, np.complex128(-np.sqrt(3 / (4 * np.pi)) * np.sin(0.4)), 1e-13)
    poles = np.array([0.0, np.pi])
    slopes = wg.grad(lambda t: np.sum(sp.sph_harm_y(2, 1, t, 0.0).real))(poles)  # no 0/0 at the poles
    expected = -np.sqrt(15 / (8 * np.pi)) * np.cos(2 * poles)
    np.testing.assert_allclose(slopes, expected, rtol=1e-13)


def test_what_is_not_traced_is_refused_in_three_parts() -> None:
    for f, what in (
        (lambda x: sp.legendre_p(3, x, diff_n=1)[1], r"diff_n=1 is not traced"),
        (lambda x: sp.sph_harm_y(2, 1, x * 1j, 0.0), r"sph_harm_y of complex numbers is not traced"),
        (lambda x: sp.assoc_legendre_p(2, 1, x, branch_cut=3), r"branch_cut=3 is not traced"),
    ):
        with pytest.raises(UnsupportedFunctionError, match=what) as raised:
            wg.jvp(f, (0.5,), (1.0,))
        assert "test_legendre.py" in str(raised.value) and "try" in str(raised.value)


def test_spherical_bessel_functions_of_their_argument() -> None:
    x = np.array([0.0, 0.8, 3.5])
    for n in (0, 2, np.array([[0], [1], [4]])):
        for derivative in (False, True):
            check(lambda x, n=n, d=derivative: sp.spherical_jn(n, x, d), x + 0.01)
            check(lambda x, n=n, d=derivative: sp.spherical_in(n, x, d), x + 0.01)
            check(lambda x, n=n, d=derivative: sp.spherical_yn(n, x, d), x + 0.5)
            check(lambda x, n=n, d=derivative: sp.spherical_kn(n, x, d), x + 0.5)
    same(wg.grad(lambda x: sp.spherical_jn(1, x))(0.0), np.float64(1 / 3))
    check(lambda x: sp.spherical_jn(1, x), np.array(0.4 + 0.2j))
    check(lambda x: sp.spherical_jn(1, x), np.array(-0.4))


@pytest.mark.parametrize("name", ["pro_ang1", "obl_ang1", "pro_rad1", "obl_rad1"])
def test_spheroidal_functions_of_their_argument(name: str) -> None:
    f = getattr(sp, name)
    x = np.array([0.3, 0.6]) + (1.0 if name.startswith("pro_rad") else 0.0)
    check(lambda x: np.stack(f(1, 2, 1.5, x)), x)
    value = (sp.pro_cv if name.startswith("pro") else sp.obl_cv)(1, 2, 1.5)
    with_value = getattr(sp, f"{name}_cv")
    check(lambda x: np.stack(with_value(1, 2, 1.5, value, x)), x)
    with pytest.raises(wg.errors.MissingRuleError, match="closed form"):
        wg.grad(lambda c: f(1, 2, c, x)[0].sum())(1.5)


def test_spheroidal_functions_of_the_second_kind_are_refused() -> None:
    """SciPy's values are wrong in places: obl_rad2(0, 1, 1.5, 0.5) is 1e-320."""
    for f in (sp.pro_rad2, sp.obl_rad2):
        with pytest.raises(UnsupportedFunctionError, match="rad2 is not traced"):
            wg.jvp(lambda x, f=f: f(1, 2, 1.5, x)[0], (1.5,), (1.0,))
