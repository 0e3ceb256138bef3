"""Numbers worked by hand, or by mpmath to thirty digits, through the public interface.

Nothing here uses a helper of the other tests: if those are wrong together, these still are not.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import wengert as wg


def test_product_of_two_numbers() -> None:
    assert wg.grad(lambda x, y: x * y, argnums=(0, 1))(3.0, 5.0) == (5.0, 3.0)


def test_a_cubic() -> None:
    """x³ − 2x: 3x² − 2, 6x, 6, 0."""
    f = lambda x: x**3 - 2 * x
    derivatives = [f]
    for _ in range(4):
        derivatives.append(wg.grad(derivatives[-1]))
    assert [float(d(2.0)) for d in derivatives] == [4, 10, 12, 6, 0]


def test_speelpenning_product() -> None:
    """∂/∂xᵢ of x₁ x₂ x₃ x₄ is the product of the others: 24, 12, 8, 6. Speelpenning (1980)."""

    def product(x):
        y = 1.0
        for v in x:
            y = y * v
        return y

    np.testing.assert_array_equal(wg.grad(product)(np.array([1.0, 2, 3, 4])), [24, 12, 8, 6])
    np.testing.assert_array_equal(wg.grad(np.prod)(np.array([1.0, 0, 3, 4])), [0, 12, 0, 0])


def test_rosenbrock_at_the_usual_start() -> None:
    """(1 − x)² + 100 (y − x²)² at (−1.2, 1): value 24.2, gradient (−215.6, −88), Hessian [[1330, 480], [480, 200]]."""

    def rosenbrock(p):
        x, y = p
        return (1 - x) ** 2 + 100 * (y - x**2) ** 2

    start = np.array([-1.2, 1.0])
    value, gradient = wg.value_and_grad(rosenbrock)(start)
    np.testing.assert_allclose(value, 24.2, rtol=1e-14)
    np.testing.assert_allclose(gradient, [-215.6, -88], rtol=1e-14)
    np.testing.assert_allclose(wg.hessian(rosenbrock)(start), [[1330, 480], [480, 200]], rtol=1e-13)
    np.testing.assert_allclose(wg.hvp(rosenbrock, (start,), (np.array([1.0, 1.0]),)), [1810, 680], rtol=1e-13)


def test_third_derivative_of_tanh() -> None:
    """tanh''' = −2 at 0; at 1/2 by mpmath."""
    third = wg.grad(wg.grad(wg.grad(np.tanh)))
    assert third(0.0) == -2
    np.testing.assert_allclose(third(0.5), -0.565209288259770360865672921465, rtol=1e-14)


def test_the_example_of_squire_and_trapp() -> None:
    """eˣ / √(sin³x + cos³x) at 3/2, with which complex steps were introduced (SIAM Review 40, 1998); mpmath."""
    f = lambda x: np.exp(x) / np.sqrt(np.sin(x) ** 3 + np.cos(x) ** 3)
    first, second = wg.grad(f), wg.grad(wg.grad(f))
    np.testing.assert_allclose(first(1.5), 4.05342789389862065771418792561, rtol=1e-14)
    np.testing.assert_allclose(second(1.5), 9.46307368159660335253643299852, rtol=1e-13)
    np.testing.assert_allclose(wg.grad(second)(1.5), 32.1679045136889408932545669586, rtol=1e-12)


def test_x_to_the_x() -> None:
    """4 (1 + log 2) at 2, and xˣ ((1 + log x)² + 1/x)."""
    f = lambda x: x**x
    np.testing.assert_allclose(wg.grad(f)(2.0), 4 * (1 + math.log(2)), rtol=1e-15)
    np.testing.assert_allclose(wg.grad(wg.grad(f))(2.0), 13.466989500152368174006267077, rtol=1e-14)


def test_softplus() -> None:
    """log(1 + eˣ): the logistic function σ, σ(1 − σ), σ(1 − σ)(1 − 2σ); mpmath."""
    f = lambda x: np.logaddexp(0.0, x)
    first = wg.grad(f)
    second = wg.grad(first)
    np.testing.assert_allclose(first(0.3), 0.574442516811658987152071265234607, rtol=1e-14)
    np.testing.assert_allclose(second(0.3), 0.244458311690745869065985969384523, rtol=1e-14)
    np.testing.assert_allclose(wg.grad(second)(0.3), -0.0363961839555762441553893993963108, rtol=1e-12)


def test_ten_steps_of_the_logistic_map() -> None:
    """In the state and in the rate; mpmath."""

    def iterate(x, r):
        for _ in range(10):
            x = r * x * (1 - x)
        return x

    value, (dx, dr) = wg.value_and_grad(iterate, argnums=(0, 1))(0.3, 3.7)
    np.testing.assert_allclose(value, 0.745686890083561676001814073025, rtol=1e-12)
    np.testing.assert_allclose(dx, -49.0859365507933899905835426831, rtol=1e-12)
    np.testing.assert_allclose(dr, -1.7236407153344086382790277846, rtol=1e-12)


def test_a_network_of_cosines() -> None:
    """cos(W₂ cos(W₁ x)), its first output: the second row of W₂ has no part in it; mpmath."""

    def loss(W, x):
        for w in W:
            x = np.cos(w @ x)
        return x[0]

    W = [np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[0.5, -0.6], [0.7, 0.8]])]
    first, second = wg.grad(loss)(W, np.array([1.0, 2.0]))
    by_hand = [
        [0.039759606608552674416, 0.079519213217105348832],
        [-0.088691280349858574111, -0.17738256069971714822],
    ]
    np.testing.assert_allclose(first, by_hand, rtol=1e-13)
    np.testing.assert_allclose(second, [[-0.14555894343414586427, -0.075235054851490306405], [0, 0]], rtol=1e-13)


def test_gradient_of_log_sum_exp_is_softmax() -> None:
    x = np.array([1.0, 2.0, 3.0])
    by_hand = [0.090030573170380457998, 0.24472847105479765247, 0.66524095577482188953]
    np.testing.assert_allclose(wg.grad(lambda x: np.log(np.sum(np.exp(x))))(x), by_hand, rtol=1e-15)


def test_quadratic_form() -> None:
    """xᵀ A x has the gradient (A + Aᵀ) x, and is linear in A with x xᵀ."""
    A, x = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0])
    dA, dx = wg.grad(lambda A, x: x @ A @ x, argnums=(0, 1))(A, x)
    np.testing.assert_array_equal(dx, [-3, -3])
    np.testing.assert_array_equal(dA, [[1, -1], [-1, 1]])


def test_log_determinant_of_the_hilbert_matrix() -> None:
    """Its gradient is the inverse transposed, which for three rows has these whole numbers."""
    hilbert = 1 / (np.arange(3)[:, None] + np.arange(3) + 1.0)
    by_hand = [[9, -36, 30], [-36, 192, -180], [30, -180, 180]]
    np.testing.assert_allclose(wg.grad(lambda a: np.linalg.slogdet(a)[1])(hilbert), by_hand, rtol=1e-11)


def test_polar_coordinates() -> None:
    """(r, φ) ↦ (x, y) and back, at r = 2, φ = π/6; the Jacobians are each other's inverses."""
    root3 = math.sqrt(3)
    forth = wg.jacobian(lambda p: np.array([p[0] * np.cos(p[1]), p[0] * np.sin(p[1])]))
    back = wg.jacobian(lambda q: np.array([np.hypot(q[0], q[1]), np.arctan2(q[1], q[0])]))
    J = forth(np.array([2.0, math.pi / 6]))
    np.testing.assert_allclose(J, [[root3 / 2, -1], [0.5, root3]], rtol=1e-15)
    np.testing.assert_allclose(back(np.array([root3, 1.0])), [[root3 / 2, 0.5], [-0.25, root3 / 4]], rtol=1e-15)


def test_newton_finds_a_derivative_of_the_square_root() -> None:
    """A loop that runs until it has converged: d√a/da = 1/(2√a)."""

    def root(a):
        x = a
        while abs(x * x - a) > 1e-15 * a:
            x = 0.5 * (x + a / x)
        return x

    np.testing.assert_allclose(wg.grad(root)(4.0), 0.25, rtol=1e-12)


def test_writes_in_place() -> None:
    """Fibonacci numbers from x: 13 x at place 6, and the sum 1 + 1 + 2 + 3 + 5 + 8 + 13."""

    def fibonacci(x):
        y = np.zeros(7)
        y[:2] = x
        for k in range(2, 7):
            y[k] = y[k - 1] + y[k - 2]
        return y

    assert wg.grad(lambda x: fibonacci(x)[6])(1.5) == 13
    assert wg.grad(lambda x: fibonacci(x).sum())(1.5) == 33


def test_forward_along_a_circle() -> None:
    """d/dt of (cos t, sin t) at 0 is (0, 1)."""
    y, dy = wg.jvp(lambda t: np.array([np.cos(t), np.sin(t)]), (0.0,), (1.0,))
    np.testing.assert_array_equal(y, [1, 0])
    np.testing.assert_array_equal(dy, [0, 1])


def test_a_pullback_is_linear_and_may_be_called_again() -> None:
    y, pullback = wg.vjp(lambda x: x * x, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(y, [1, 4, 9])
    for ct in [[1.0, 0, 0], [0.0, 1, 0], [0.0, 0, 2]]:
        (ct_x,) = np.atleast_2d(pullback(np.array(ct)))
        np.testing.assert_array_equal(ct_x, np.array([2.0, 4, 6]) * ct)


def test_perturbations_are_not_confused() -> None:
    """d/dx [x · d/dy (x + y)] = 1, not 2. Siskind and Pearlmutter (2005)."""
    assert wg.grad(lambda x: x * wg.grad(lambda y: x + y)(1.0))(1.0) == 1
    forward = lambda f, x: wg.jvp(f, (x,), (1.0,))[1]
    assert forward(lambda x: x * forward(lambda y: x + y, 1.0), 1.0) == 1


def test_mixed_second_derivatives() -> None:
    """x² y³: ∂²/∂x∂y = 6 x y² = 108 at (2, 3), whichever comes first, in whichever mode."""
    f = lambda x, y: x**2 * y**3
    assert wg.grad(lambda x: wg.grad(f, argnums=1)(x, 3.0))(2.0) == 108
    assert wg.grad(lambda y: wg.jvp(lambda x: f(x, y), (2.0,), (1.0,))[1])(3.0) == 108
    assert wg.jvp(lambda x: wg.grad(f, argnums=1)(x, 3.0), (2.0,), (1.0,))[1] == 108


@pytest.mark.parametrize(("x", "slope"), [(-1.0, 0.0), (0.0, 0.0), (4.0, 0.25)])
def test_the_branch_not_taken_has_no_part(x: float, slope: float) -> None:
    def root_or_zero(x):
        with np.errstate(all="ignore"):
            return np.where(x > 0, np.sqrt(x), 0.0)

    with np.errstate(all="ignore"):
        assert wg.grad(root_or_zero)(x) == slope
        assert wg.jvp(root_or_zero, (x,), (1.0,))[1] == slope


def test_float32_stays_float32() -> None:
    gradient = wg.grad(lambda x: np.sum(np.sin(x) * 2))(np.zeros(3, np.float32))
    assert gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, [2, 2, 2])
