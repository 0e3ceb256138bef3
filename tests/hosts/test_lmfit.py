"""lmfit's fits with our Jacobians: the same minimum, fewer evaluations, through bounds and expressions."""

from __future__ import annotations

from typing import Any

import lmfit
import numpy as np
import pytest

import wengert as wg

T = np.linspace(0, 5, 100)
Y = 2 * np.exp(-0.7 * T) + 0.3 + 0.02 * np.random.default_rng(0).standard_normal(100)

jacobian, gradient = wg.hosts.lmfit.jacobian, wg.hosts.lmfit.gradient


def by_dict(params: Any, t: Any, y: Any) -> Any:
    v = params.valuesdict()
    return v["a"] * np.exp(-v["b"] * t) + v["c"] - y


def by_item(params: Any, t: Any, y: Any) -> Any:
    return params["a"] * np.exp(-params["b"] * t) + params["c"].value - y


PARAMS = {
    "free": lmfit.create_params(a=1.0, b=1.0, c=0.0),
    "bounds": lmfit.create_params(
        a={"value": 1.0, "max": 4}, b={"value": 1.0, "min": 0, "max": 3}, c={"value": 0.1, "min": 0}
    ),
    "fixed": lmfit.create_params(a=1.0, b=1.0, c={"value": 0.3, "vary": False}),
    "expression": lmfit.create_params(
        a=1.0, b={"value": 1.0, "min": 0}, c={"expr": "sqrt(a) / 10 + d**2"}, d={"value": 0.3}
    ),
    "chain": lmfit.create_params(a=1.0, b={"expr": "c * 2 if c > 0 else -c"}, c={"expr": "a / 5"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", list(PARAMS))
@pytest.mark.parametrize("residual", [by_dict, by_item])
@pytest.mark.parametrize(("method", "keyword"), [("leastsq", "Dfun"), ("least_squares", "jac")])
def test_the_fit_is_that_of_differences(kind: str, residual: Any, method: str, keyword: str) -> None:
    plain = lmfit.minimize(residual, PARAMS[kind], args=(T, Y), method=method)
    ours = lmfit.minimize(residual, PARAMS[kind], args=(T, Y), method=method, **{keyword: jacobian(residual)})
    assert ours.success and ours.nfev < plain.nfev
    np.testing.assert_allclose(ours.chisqr, plain.chisqr, rtol=1e-9)
    for name, p in plain.params.items():
        np.testing.assert_allclose(ours.params[name].value, p.value, rtol=1e-5)
        if p.stderr and plain.covar is not None:
            np.testing.assert_allclose(ours.params[name].stderr, p.stderr, rtol=1e-3)


@pytest.mark.parametrize("kind", list(PARAMS))
def test_the_jacobian_against_differences(kind: str) -> None:
    params = PARAMS[kind].copy()
    ours = jacobian(by_dict)(params, T, Y)
    varied = [name for name, p in params.items() if p.vary and not p.expr]
    assert ours.shape == (100, len(varied)) and ours.dtype == np.float64
    for column, name in enumerate(varied):
        ends = []
        for step in (-1e-6, 1e-6):
            moved = params.copy()
            moved[name].value = params[name].value + step
            moved.update_constraints()
            ends.append(by_dict(moved, T, Y))
        np.testing.assert_allclose(ours[:, column], (ends[1] - ends[0]) / 2e-6, rtol=1e-6, atol=1e-7)


def test_what_varies_is_asked_at_each_call() -> None:
    f, params = jacobian(by_dict), PARAMS["free"].copy()
    assert f(params, T, Y).shape == (100, 3)
    params["b"].vary = False
    both = f(params, T, Y)
    assert both.shape == (100, 2)
    params["b"].value = 2.0
    np.testing.assert_allclose(f(params, T, Y)[:, 0], np.exp(-2 * T), rtol=1e-14)
    params["c"].expr = "a * b"
    np.testing.assert_allclose(f(params, T, Y)[:, 0], np.exp(-2 * T) + 2.0, rtol=1e-14)


@pytest.mark.parametrize("method", ["bfgs", "lbfgsb", "tnc", "slsqp", "cg"])
def test_methods_that_minimise_one_number(method: str) -> None:
    kind = "free" if method in ("bfgs", "cg") else "bounds"
    fit = lmfit.minimize(by_dict, PARAMS[kind], args=(T, Y), method=method, jac=gradient(by_dict))
    exact = lmfit.minimize(by_dict, PARAMS[kind], args=(T, Y))
    np.testing.assert_allclose(fit.chisqr, exact.chisqr, rtol=1e-3)


def test_one_number_is_minimised_as_it_is() -> None:
    def cost(params: Any) -> Any:
        return (params["a"] - 1) ** 2 + (params["b"] - params["a"] ** 2) ** 2

    np.testing.assert_allclose(gradient(cost)(lmfit.create_params(a=-1.0, b=2.0)), [-4 + 4.0, 2.0])


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 80)])
def test_composite_models(weights: Any) -> None:
    model = lmfit.models.GaussianModel(prefix="g_") + lmfit.models.LinearModel()
    x = np.linspace(-3, 3, 80)
    y = 2 * np.exp(-((x - 0.3) ** 2)) + 0.2 * x + 1 + 0.01 * np.random.default_rng(1).standard_normal(80)
    params = model.make_params(g_amplitude=1.0, g_center=0.0, g_sigma=1.0, slope=0.0, intercept=0.0)
    plain = model.fit(y, params, x=x, weights=weights)
    ours = model.fit(y, params, x=x, weights=weights, fit_kws={"Dfun": jacobian(model)})
    assert ours.nfev < plain.nfev
    np.testing.assert_allclose(ours.chisqr, plain.chisqr, rtol=1e-9)
    for name, value in plain.best_values.items():
        np.testing.assert_allclose(ours.best_values[name], value, rtol=1e-5)


@pytest.mark.parametrize(
    "name", ["GaussianModel", "LorentzianModel", "VoigtModel", "ExponentialModel", "PowerLawModel", "StepModel"]
)
def test_lmfits_own_models(name: str) -> None:
    model = getattr(lmfit.models, name)()
    x = np.linspace(0.5, 4, 60)
    truth = model.make_params(**({"center": 2.0, "sigma": 0.4} if "center" in model.param_names else {}))
    y = model.eval(truth, x=x) + 0.01 * np.sin(37 * x)
    start = truth.copy()
    for p in start.values():
        if p.vary and not p.expr:
            p.value = p.value * 1.05 + 0.01
    plain, ours = model.fit(y, start, x=x), model.fit(y, start, x=x, fit_kws={"Dfun": jacobian(model)})
    np.testing.assert_allclose(ours.chisqr, plain.chisqr, rtol=1e-6)


def test_complex_residuals_count_twice() -> None:
    x = np.linspace(0, 3, 20)

    def residual(params: Any) -> Any:
        return params["a"] * np.exp(1j * params["w"] * x) - 1.5 * np.exp(2j * x)

    params = lmfit.create_params(a=1.0, w=1.9)
    assert jacobian(residual)(params).shape == (40, 2)
    fit = lmfit.minimize(residual, params, Dfun=jacobian(residual))
    np.testing.assert_allclose([fit.params["a"].value, fit.params["w"].value], [1.5, 2.0], rtol=1e-6)


def test_an_expression_with_another_part_is_refused_with_it() -> None:
    params = lmfit.create_params(a=1.0, b=1.0, c={"expr": "[a, b][0]"})
    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"expression of c, .*not traced: \[a, b\]\[0\]"):
        jacobian(by_dict)(params, T, Y)


def test_functions_of_the_users_in_expressions() -> None:
    params = lmfit.Parameters(usersyms={"half": lambda x: x / 2})
    params.add_many(("a", 2.0), ("b", 1.0))
    params.add("c", expr="half(a) + exp(-b)")
    np.testing.assert_allclose(jacobian(by_dict)(params, T, Y)[:, 0], np.exp(-T) + 0.5, rtol=1e-14)


@pytest.mark.parametrize("function", [jacobian, gradient])
def test_what_is_no_residual_is_refused(function: Any) -> None:
    with pytest.raises(wg.errors.ArgumentError, match=r"residual is .*expected a function, or an lmfit\.Model"):
        function(3)
