"""pyhf's likelihoods through its NumPy backend: gradients, Hessians and fits, for all modifiers and interpolations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyhf
import pytest
from scipy.optimize import minimize

import wengert as wg

SAMPLES = [
    {
        "name": "signal",
        "data": [5.0, 10.0, 3.0],
        "modifiers": [
            {"name": "mu", "type": "normfactor", "data": None},
            {"name": "lumi", "type": "lumi", "data": None},
        ],
    },
    {
        "name": "background",
        "data": [50.0, 60.0, 40.0],
        "modifiers": [
            {"name": "norm", "type": "normsys", "data": {"hi": 1.1, "lo": 0.92}},
            {"name": "shape", "type": "histosys", "data": {"hi_data": [55, 66, 41], "lo_data": [45, 57, 39]}},
            {"name": "stat", "type": "staterror", "data": [3.0, 4.0, 2.0]},
            {"name": "bins", "type": "shapesys", "data": [2.0, 3.0, 1.0]},
        ],
    },
]  # fmt: skip
CONTROL = [
    {
        "name": "background",
        "data": [30.0, 20.0],
        "modifiers": [
            {"name": "free", "type": "shapefactor", "data": None},
            {"name": "norm", "type": "normsys", "data": {"hi": 1.2, "lo": 0.9}},
        ],
    }
]
LUMI = {"name": "lumi", "auxdata": [1.0], "sigmas": [0.02], "bounds": [[0.9, 1.1]], "inits": [1.0]}
SPEC = {
    "channels": [{"name": "SR", "samples": SAMPLES}, {"name": "CR", "samples": CONTROL}],
    "parameters": [LUMI],
}
CODES = [("code4", "code4p"), ("code1", "code0"), ("code4", "code2"), ("code1", "code4p")]


def model_of(codes: tuple[str, str]) -> Any:
    settings = {"normsys": {"interpcode": codes[0]}, "histosys": {"interpcode": codes[1]}}
    return pyhf.Model(SPEC, modifier_settings=settings)


def cost_of(model: Any) -> Any:
    data = [33.0, 21.0, 55.0, 70.0, 44.0, *model.config.auxdata]
    return lambda p: -2 * model.logpdf(p, data)[0]


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("shift", [-0.3, 0.05, 1.4])
def test_gradients_of_all_modifiers(codes: tuple[str, str], shift: float) -> None:
    model = model_of(codes)
    cost = cost_of(model)
    p = np.array(model.config.suggested_init()) + shift * np.linspace(0.5, 1, model.config.npars)
    value, ours = wg.jit(wg.value_and_grad(cost), strict=True)(p)
    np.testing.assert_allclose(value, cost(p), rtol=1e-12)
    differences = [(cost(p + e) - cost(p - e)) / 2e-5 for e in 1e-5 * np.eye(len(p))]
    np.testing.assert_allclose(ours, differences, rtol=1e-6, atol=1e-5)


def test_the_fit_is_that_of_pyhf() -> None:
    model = model_of(CODES[0])
    cost = cost_of(model)
    data = [33.0, 21.0, 55.0, 70.0, 44.0, *model.config.auxdata]
    start, bounds = model.config.suggested_init(), model.config.suggested_bounds()
    ours = minimize(wg.jit(wg.value_and_grad(cost)), start, jac=True, bounds=bounds, method="SLSQP", tol=1e-10)
    theirs = pyhf.infer.mle.fit(data, model, tolerance=1e-10)
    np.testing.assert_allclose(ours.x, theirs, atol=2e-4)
    assert cost(ours.x) <= cost(theirs) + 1e-9


def test_the_hessian_is_symmetric_and_that_of_differences() -> None:
    model = pyhf.simplemodels.uncorrelated_background([12.0, 11.0], [50.0, 52.0], [3.0, 7.0])
    data = [51, 48, *model.config.auxdata]
    p = np.array([0.8, 1.02, 0.95])

    def cost(p: Any) -> Any:
        return -2 * model.logpdf(p, data)[0]

    hessian = wg.jit(wg.hessian(cost))(p)
    gradient = wg.jit(wg.grad(cost))
    differences = [(gradient(p + e) - gradient(p - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12)
    np.testing.assert_allclose(hessian, differences, rtol=1e-6, atol=1e-5)


def test_the_data_are_an_argument_too() -> None:
    model = pyhf.simplemodels.uncorrelated_background([12.0, 11.0], [50.0, 52.0], [3.0, 7.0])
    p, data = np.array([0.8, 1.02, 0.95]), np.array([51.0, 48.0, *model.config.auxdata])
    ours = wg.grad(lambda d: model.logpdf(p, d)[0])(data)
    differences = [(model.logpdf(p, data + e)[0] - model.logpdf(p, data - e)[0]) / 2e-5 for e in 1e-5 * np.eye(4)]
    np.testing.assert_allclose(ours, differences, rtol=1e-5)


def test_expected_data_by_parameters() -> None:
    model = model_of(CODES[0])
    p = np.array(model.config.suggested_init()) + 0.1
    f = model.expected_actualdata
    ours = wg.jit(wg.jacobian(f))(p)
    differences = [(f(p + e) - f(p - e)) / 2e-6 for e in 1e-6 * np.eye(len(p))]
    np.testing.assert_allclose(ours, np.transpose(differences), rtol=1e-6, atol=1e-6)
