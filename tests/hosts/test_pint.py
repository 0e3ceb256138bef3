"""pint's quantities keep their units through traced functions, and a derivative has its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pint
import pytest

import wengert as wg

U = pint.UnitRegistry()
X = np.array([1.0, 2.0, 3.0]) * U.m


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")  # jit says that it answers by Python
def test_units_go_through() -> None:
    for wrap in (lambda f: f, wg.jit):
        found = wrap(lambda x, t: x / t)(X, 2.0 * U.s)
        assert found.units == U.m / U.s
        np.testing.assert_array_equal(found.magnitude, [0.5, 1.0, 1.5])
    assert wg.vmap(lambda x: x**2)(X).units == U.m**2


def test_magnitudes_within_functions_of_numbers() -> None:
    assert wg.grad(lambda k: (k * U.m / (3 * U.s)).to("km/h").magnitude)(2.0) == pytest.approx(1.2)
    assert wg.grad(lambda k: np.sum(X * k).to("cm").magnitude)(2.0) == pytest.approx(600)
    assert wg.grad(lambda k: np.sin(k * U.deg).magnitude)(30.0) == pytest.approx(np.cos(np.pi / 6) * np.pi / 180)
    assert wg.grad(lambda k: U.Quantity(k, "m").m_as("cm"))(2.0) == 100.0


@pytest.mark.parametrize(
    ("f", "x", "unit", "slope"),
    [
        (lambda v: 0.5 * (2 * U.kg) * v**2, 3.0 * U.m / U.s, "kg * m / s", 6.0),
        (lambda x: np.sum(x**2), X, "m", [2.0, 4.0, 6.0]),
        (lambda x: np.sum(x**2).to("km^2"), X, "km ** 2 / m", [2e-6, 4e-6, 6e-6]),
        (lambda x: np.sum(x).m_as("mm"), X, "1 / m", [1000.0, 1000.0, 1000.0]),
        (lambda x: x * U.m, 3.0, "m", 1.0),
        (lambda t: t.to("K").magnitude ** 2, U.Quantity(20.0, "degC"), "1 / delta_degC", 2 * 293.15),
        (lambda n: n**2, 3 * U.m, "m", 6.0),
    ],
)
def test_the_unit_of_a_gradient(f: Any, x: Any, unit: str, slope: Any) -> None:
    found = wg.hosts.pint.grad(f)(x)
    assert found.units == U.Unit(unit)
    np.testing.assert_allclose(found.magnitude, slope, rtol=1e-13)
    step = 1e-6
    if np.ndim(slope) == 0 and isinstance(x, pint.Quantity) and x.units != U.degC:
        around = [f(x * (1 + s)) for s in (-step, step)]
        np.testing.assert_allclose(
            ((around[1] - around[0]) / (2 * step * x)).to(found.units).magnitude, slope, rtol=1e-6
        )


def test_several_arguments_and_a_number_without_units() -> None:
    value, (a, b) = wg.hosts.pint.value_and_grad(lambda t, k, name: k * t, (0, 1))(3.0 * U.s, 2.0, "name")
    assert value == 6.0 * U.s and a == U.Quantity(2.0) and b == 3.0 * U.s
    value, slope = wg.hosts.pint.value_and_grad(lambda x: x**2)(3.0)
    assert (value, slope) == (9.0, 6.0)


def test_transforms_without_units_refuse_them() -> None:
    for f in (
        lambda: wg.grad(lambda x: np.sum(x**2).magnitude)(X),
        lambda: wg.grad(lambda k: k * U.m)(2.0),
        lambda: wg.jacobian(lambda x: x**2)(X),
        lambda: wg.hessian(lambda x: np.sum(x**2))(X),
        lambda: wg.vjp(lambda x: x**2, X),
        lambda: wg.jvp(lambda x: x**2, (X,), (X,)),
        lambda: wg.grad(lambda k: (k * U.m, 1.0), has_aux=True)(2.0),
    ):
        with pytest.raises(wg.errors.DTypeError, match=r"units of its own\n *try +wg\.hosts\.pint\.value_and_grad"):
            f()
    aux: Any = wg.grad(lambda k: (k**2, k * U.m), has_aux=True)(2.0)
    assert aux == (4.0, 2.0 * U.m)
    assert wg.grad(lambda x: (x**2).magnitude, wrt=lambda args: args[0].magnitude)(3.0 * U.m) == 6.0


def test_dimensions_that_do_not_fit_are_pints_errors() -> None:
    with pytest.raises(pint.DimensionalityError):
        wg.hosts.pint.grad(lambda x: x + 1 * U.s)(2.0 * U.m)
    with pytest.raises(wg.errors.ScalarOutputError):
        wg.hosts.pint.grad(lambda x: x**2)(X)
    with pytest.raises(wg.errors.ArgumentError, match="was called with 1 arguments"):
        wg.hosts.pint.grad(lambda x: x, 1)(2.0 * U.m)


def test_a_derivative_by_a_logarithm_has_no_unit() -> None:
    logs = pint.UnitRegistry(autoconvert_offset_to_baseunit=True)
    with pytest.raises(wg.errors.ArgumentError, match="derivative by a logarithm"):
        wg.hosts.pint.grad(lambda x: x.magnitude)(logs.Quantity(3.0, "dB"))


def test_trees() -> None:
    assert wg.tree.paths({"x": X}) == ['["x"].magnitude']
    moved = wg.tree.map(lambda x: x + 1.0, X)
    assert moved.units == U.m and list(moved.magnitude) == [2.0, 3.0, 4.0]
    with pytest.raises(wg.errors.StructureError):
        wg.tree.map(lambda x, y: x + y, X, X.to("cm"))
