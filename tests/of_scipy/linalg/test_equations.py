"""Matrix equations of ``scipy.linalg`` on traced arrays."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.of_scipy.checking import case, four_tests, same
from tests.of_scipy.linalg.matrices import A, B, C, H, S, X, sl, sym

Q, R = 4 * np.eye(4), 2 * np.eye(2)
IN = X + 1j * X[::-1]

CASES = [
    case("solve_sylvester", lambda a, b, q: sl.solve_sylvester(a, b, q), S, B, A, exact=True),
    case("solve_sylvester complex", lambda a, b, q: sl.solve_sylvester(a, b, q), C, H[:2, :2], IN, exact=True),
    case("solve_continuous_lyapunov", lambda a, q: sl.solve_continuous_lyapunov(a, q), A, B, exact=True),
    case("solve_continuous_lyapunov complex", lambda a, q: sl.solve_continuous_lyapunov(a, q), C, H, exact=True),
    case("solve_discrete_lyapunov", lambda a, q: sl.solve_discrete_lyapunov(a, q), 0.3 * A, B, exact=True),
    case(
        "solve_discrete_lyapunov bilinear",
        lambda a, q: sl.solve_discrete_lyapunov(a, q, "bilinear"),
        0.3 * C,
        H,
        exact=True,
    ),
    case(
        "solve_continuous_are", lambda a, b, q, r: sl.solve_continuous_are(a, b, sym(q), sym(r)), A, X, Q, R, exact=True
    ),
    case(
        "solve_continuous_are complex",
        lambda a, b, q, r: sl.solve_continuous_are(a, b, sym(q), sym(r)),
        C,
        IN,
        H,
        H[:2, :2],
        exact=True,
    ),
    case(
        "solve_continuous_are s",
        lambda a, b, q, r, s: sl.solve_continuous_are(a, b, sym(q), sym(r), s=s),
        A,
        X,
        Q,
        R,
        0.1 * X,
        exact=True,
    ),
    case("solve_discrete_are", lambda a, b, q, r: sl.solve_discrete_are(a, b, sym(q), sym(r)), A, X, Q, R, exact=True),
    case(
        "solve_discrete_are complex",
        lambda a, b, q, r: sl.solve_discrete_are(a, b, sym(q), sym(r)),
        C,
        IN,
        H,
        H[:2, :2],
        exact=True,
    ),
    case(
        "solve_discrete_are s",
        lambda a, b, q, r, s: sl.solve_discrete_are(a, b, sym(q), sym(r), s=s),
        A,
        X,
        Q,
        R,
        0.1 * X,
        exact=True,
    ),
]


def test_a_riccati_equation_of_numbers_by_hand():
    """2 a x − x² + q = 0: x = a + √(a² + q)."""
    by_a, by_q = wg.grad(lambda a, q: sl.solve_continuous_are([[a]], [[1.0]], [[q]], [[1.0]])[0, 0], argnums=(0, 1))(
        3.0, 16.0
    )
    assert (by_a, by_q) == pytest.approx((1 + 3 / 5, 1 / 10))


def test_a_sylvester_equation_of_numbers_by_hand():
    found = wg.grad(lambda a, b, q: sl.solve_sylvester([[a]], [[b]], [[q]])[0, 0], argnums=(0, 1, 2))(1.0, 3.0, 8.0)
    assert found == pytest.approx((-0.5, -0.5, 0.25))


def test_a_singular_equation_has_no_derivative():
    a = np.diag([1.0, -1.0])
    _, tangent = wg.jvp(lambda q: sl.solve_sylvester(a, a, q), (np.ones((2, 2)),), (np.ones((2, 2)),))
    assert np.isnan(tangent).all()


def test_feedback_gain_of_a_regulator():
    """A gain K = R⁻¹ Bᵀ X, through the equation and a solve, compiled."""

    def cost(a, b, r):
        x = sl.solve_continuous_are(a, b, np.eye(4), r)
        return np.sum(np.linalg.solve(r, b.T @ x) ** 2)

    expected = wg.grad(cost, argnums=(0, 1, 2))(A, X, R)
    same(wg.jit(wg.grad(cost, argnums=(0, 1, 2)))(A, X, R), expected)


def test_errors_are_scipys():
    for f in (
        lambda a: sl.solve_continuous_lyapunov(a, a[:2]),
        lambda a: sl.solve_continuous_lyapunov(a, np.eye(2)),
        lambda a: sl.solve_discrete_lyapunov(a, a, method="fast"),
        lambda a: sl.solve_continuous_are(a, X[:2], Q, R),
        lambda a: sl.solve_continuous_are(a, X, Q, np.eye(3)),
        lambda a: sl.solve_continuous_are(a, X, np.triu(a), R),
    ):
        with pytest.raises(ValueError):
            f(A)
        with pytest.raises(ValueError):
            wg.grad(lambda a, f=f: np.sum(f(a)))(A)


test_value_and_derivative, test_second_derivative, test_batch, test_compiled = four_tests(CASES)
