"""Functions of matrices in ``scipy.linalg`` on traced arrays."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import wengert as wg
from tests.of_scipy.checking import case, four_tests
from tests.of_scipy.linalg.matrices import A, C, S, sl

T = np.array([[0.3, 1.0], [0.2, -0.5]])
E = np.array([[1.0, 0.5], [-0.3, 0.7]])
P = np.array([[3.0, 0.4], [0.7, 2.0]])
ROTATED = np.array([[0.2, -1.5], [1.0, 0.4]])

CASES = [
    case("expm", lambda a: sl.expm(a), A, exact=True),
    case("expm complex stack", lambda a: sl.expm(a), np.stack([C, 2 * C])[:, :2, :2], exact=True),
    case("expm_frechet", lambda a, e: sl.expm_frechet(a, e), T, E),
    case("expm_frechet block", lambda a, e: sl.expm_frechet(a, e, method="blockEnlarge", compute_expm=False), T, E),
    case("expm_cond", lambda a: sl.expm_cond(a), T),
    case("logm", lambda a: sl.logm(a), P, exact=True),
    case("logm complex", lambda a: sl.logm(a), P + 1j * E, exact=True),
    case("sqrtm", lambda a: sl.sqrtm(a), S, exact=True),
    case("sqrtm complex", lambda a: sl.sqrtm(a), -S[:3, :3], exact=True),
    case("fractional_matrix_power", lambda a, t: sl.fractional_matrix_power(a, t), P, 0.3, exact=True),
    case("fractional_matrix_power 3", lambda a: sl.fractional_matrix_power(a, 3.0), P, exact=True),
    case("signm", lambda a: sl.signm(a), A, exact=True),
    *[case(name, getattr(sl, name), x) for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm") for x in (T,)],
    case("cosm complex", lambda a: sl.cosm(a), C[:2, :2]),
    case("sinm complex", lambda a: sl.sinm(a), C[:2, :2]),
    case("funm", lambda a: sl.funm(a, np.exp), A),
    case("funm complex", lambda a: sl.funm(a, lambda x: x * x + np.sin(x)), C),
]
SAME = (
    "logm",
    "logm complex",
    "sqrtm",
    "sqrtm complex",
    "fractional_matrix_power",
    "fractional_matrix_power 3",
    "funm",
)


def test_functions_agree():
    """exp, log, powers and roots by each other; the derivative of a logarithm undoes the exponential's."""
    _, forward = wg.jvp(sl.expm, (T,), (E,))
    np.testing.assert_allclose(forward, sl.expm_frechet(T, E, compute_expm=False), rtol=1e-12)
    np.testing.assert_allclose(wg.jvp(lambda a: sl.logm(sl.expm(a)), (T,), (E,))[1], E, rtol=1e-9)
    np.testing.assert_allclose(wg.jvp(lambda a: sl.sqrtm(a @ a), (P,), (E,))[1], E, rtol=1e-10)
    np.testing.assert_allclose(
        wg.jvp(lambda a: sl.fractional_matrix_power(a, 2.0), (P,), (E,))[1], P @ E + E @ P, rtol=1e-10
    )
    np.testing.assert_allclose(wg.jvp(lambda a: sl.funm(a, np.exp), (T,), (E,))[1], forward, rtol=1e-9)


def test_defective_matrices_have_derivatives():
    jordan = np.array([[2.0, 1.0], [0.0, 2.0]])
    for f in (sl.logm, sl.sqrtm, sl.expm):
        h = 1e-6
        expected = (f(jordan + h * E) - f(jordan - h * E)) / (2 * h)
        np.testing.assert_allclose(wg.jvp(f, (jordan,), (E,))[1], expected, rtol=1e-6, atol=1e-8)


def test_where_there_is_no_derivative():
    """A root of a singular matrix, a logarithm where it jumps, any function by vectors that are not determined."""

    def gradient(f, x):
        return wg.grad(lambda a: np.real(np.sum(f(a))))(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.LinAlgWarning)
        assert not np.isfinite(gradient(sl.sqrtm, np.diag([1.0, 0.0]))).all()
    assert np.isnan(gradient(sl.logm, -P)).all()
    assert np.isnan(gradient(lambda a: sl.fractional_matrix_power(a, 0.5), -P)).all()
    assert np.isnan(wg.hvp(lambda a: np.real(np.sum(sl.logm(a))), (-P,), (E,))).all()
    assert np.isnan(gradient(lambda a: sl.funm(a, np.exp), np.eye(2))).any()


def test_the_exponential_of_a_number_by_hand():
    assert wg.grad(lambda t: sl.expm([[t, 1.0], [0.0, t]])[0, 1])(0.5) == pytest.approx(np.exp(0.5))
    assert wg.grad(lambda t: sl.expm(t)[0, 0])(0.5) == pytest.approx(np.exp(0.5))
    assert wg.grad(lambda t: sl.logm([[t]])[0, 0])(0.5) == pytest.approx(2.0)


def test_function_of_the_user_with_traced_values():
    def loss(t):
        return np.sum(sl.funm(T, lambda w: np.exp(t * w)))

    assert wg.grad(loss)(0.7) == pytest.approx(np.sum(T @ sl.expm(0.7 * T)), rel=1e-10)


def test_how_exact_a_result_is():
    for f in [f for f in (sl.sqrtm, sl.logm) if "disp" in inspect.signature(f).parameters]:  # not since SciPy 1.18
        root, error = wg.jvp(lambda a, f=f: f(a, disp=False), (P,), (E,))[0]
        np.testing.assert_allclose(root, f(P), rtol=1e-12)
        assert error < 1e-13


def test_errors_are_scipys():
    for f, error in [
        (lambda a: sl.expm(a[0]), np.linalg.LinAlgError),
        (lambda a: sl.sqrtm(a[:1]), np.linalg.LinAlgError),
        (lambda a: sl.cosm(a[:1]), ValueError),
        (lambda a: sl.logm(a[:1]), ValueError),
        (lambda a: sl.expm_frechet(a, a, method="fast")[0], ValueError),
    ]:
        with pytest.raises(error):
            f(P)
        with pytest.raises(error):
            wg.grad(lambda a, f=f: np.sum(f(a)))(P)


test_value_and_derivative, test_second_derivative, test_batch, test_compiled = four_tests(CASES, unbatched=SAME)
