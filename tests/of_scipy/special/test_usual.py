"""Functions of scipy.special on traced arrays: against SciPy, and differences."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.special as sp
from scipy.special import log_softmax, logsumexp, softmax

import wengert as wg
from tests.differences import check, check_derivative, check_value

X = np.random.default_rng(7).standard_normal((3, 4))
V = X[0].copy()


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp(axis, keepdims):
    check(lambda x: logsumexp(x, axis=axis, keepdims=keepdims), X)
    check(lambda x: sp.logsumexp(1000 + x, axis, None, keepdims), X)
    check(lambda x: logsumexp(x, axis=axis, b=np.array([1.0, 2.0, 0.5, 3.0]), keepdims=keepdims), X)
    check_value(lambda x: logsumexp(x, axis=axis, b=np.array([1.0, 2.0, 0.0, 3.0]), keepdims=keepdims), X)
    check(lambda x, b: logsumexp(x, axis=axis, b=b, keepdims=keepdims), X, np.abs(X))


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_softmax_and_log_softmax(axis):
    check(lambda x: softmax(x, axis=axis), X)
    check(lambda x: sp.softmax(x - 1000, axis=axis), X)
    check(lambda x: log_softmax(x, axis=axis), X)
    check(lambda x: sp.log_softmax(x, axis), 100 * X)


@pytest.mark.parametrize("axis", [0, None])
def test_logsumexp_of_complex_numbers(axis):
    z, b = X + 1j * X[::-1], np.array([1.0, 2.0, 0.5, -3.0])
    check(lambda z: logsumexp(z, axis), z)
    check(lambda z, b: logsumexp(z, axis=axis, b=b, keepdims=True), z, b)
    check(lambda z: sum(logsumexp(z, axis=axis, return_sign=True)), z)


def test_logsumexp_of_signs():
    b = np.array([1.0, -2.0, 0.5, -3.0])
    check_value(lambda x: logsumexp(x, b=b, axis=1, return_sign=True), X)
    check_value(lambda x: logsumexp(x, b=b, axis=1, return_sign=True, keepdims=True), X)
    check_derivative(lambda x: logsumexp(x, b=b, axis=1, return_sign=True)[0], X)
    check_value(lambda x: logsumexp(x, b=[1, 1, 0, 0], axis=1), X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_value(lambda x: logsumexp(x, b=-1.0), X)


def test_logsumexp_of_dtypes():
    for dtype in (np.float32, int, bool):
        check_value(logsumexp, X.astype(dtype))
    for dtype in (np.float32, int):
        check_value(lambda x: softmax(x, axis=1), X.astype(dtype))
        check_value(lambda x: log_softmax(x, axis=1), X.astype(dtype))
    check_value(lambda x: logsumexp(x, axis=0), np.zeros((0, 3)))
    check_value(logsumexp, np.float64(2.0))


def test_derivative_of_logsumexp_is_softmax_to_the_last_digits():
    x = 300 * X
    np.testing.assert_allclose(wg.grad(logsumexp)(x), softmax(x), rtol=1e-13)
    hessian = wg.hessian(logsumexp)(V)
    s = softmax(V)
    np.testing.assert_allclose(hessian, np.diag(s) - np.outer(s, s), rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize(
    ("x", "gradient"),
    [
        ([-np.inf, 0.0, 0.0], [0, 0.5, 0.5]),
        ([-np.inf, -np.inf], [0.5, 0.5]),
        ([np.inf, 0.0], [1, 0]),
        ([np.inf, np.inf, -np.inf], [0.5, 0.5, 0]),
        ([1e307, -1e307], [1, 0]),
    ],
)
def test_logsumexp_of_infinities(x, gradient):
    x = np.array(x)
    value, actual = wg.value_and_grad(logsumexp)(x)
    assert value == logsumexp(x)
    assert actual.tolist() == gradient


def test_weights_of_zero_give_no_nan():
    gradient = wg.grad(lambda x: logsumexp(x, b=np.array([1.0, 0.0, 0.0])))(np.array([0.0, np.inf, 5.0]))
    assert gradient.tolist() == [1, 0, 0]
    value, gradient = wg.value_and_grad(lambda x: logsumexp(x, b=np.zeros(3)))(np.zeros(3))
    assert value == -np.inf
    assert gradient.tolist() == [0, 0, 0]


def test_masked_logits_have_no_nan():
    """Attention: a row that is all -inf, and rows that are partly."""
    mask = np.array([[0, 0, -np.inf], [0, -np.inf, -np.inf], [-np.inf, -np.inf, -np.inf]])
    gradient = wg.grad(lambda x: np.sum(logsumexp(x + mask, axis=1)))(X[:, :3])
    assert np.isfinite(gradient).all()
    np.testing.assert_allclose(gradient.sum(axis=1), 1)
    rows = wg.grad(lambda x: np.sum(softmax(x + mask[:2], axis=1) ** 2))(X[:2, :3])
    assert np.isfinite(rows).all()
    rows = wg.grad(lambda x: np.sum(log_softmax(x + mask[:2], axis=1)[:, 0]))(X[:2, :3])
    assert np.isfinite(rows).all()


def test_gradient_of_logsumexp_takes_a_few_steps():
    assert len(wg.trace(lambda x: logsumexp(x, axis=1))(X)) <= 7


@pytest.mark.parametrize("n", [0, 1, 2, 5, [0, 1, 2, 5]], ids=str)
def test_polygamma(n):
    check(lambda x: sp.polygamma(n, x), np.array([0.5, 1.0, 2.5, 10.0]))
    check_value(lambda x: sp.polygamma(n, x), np.float32([0.5, 1.0, 2.5, 10.0]))


def test_zeta_and_multigammaln():
    check_derivative(lambda q: sp.zeta(2.5, q), np.array([0.5, 3.0]))
    check(lambda a: sp.multigammaln(a, 3), 4.5)


def test_ufuncs_of_scipy_special():
    def f(x):
        return sp.expit(x) * sp.erf(x) + sp.xlogy(x * x, 2.0) + sp.gammaln(x * x + 1)

    check(f, X)
    check_value(f, X.astype(np.float32))
    check_value(lambda x: sp.erf(x) + sp.erfinv(x), np.array([0, 1, -1]))
    check_value(lambda x: sp.erfinv(x), np.int8([0, 1]))
    check(lambda x: sp.softplus(x), X)
