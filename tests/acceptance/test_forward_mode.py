"""Nested derivatives, Hessians times vectors, branches on equality, zero times infinity, NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.differences import numeric_gradient


def by_reverse(f: Callable[[Any], Any], x: Any) -> Any:
    return wg.grad(f)(x)


def by_forward(f: Callable[[Any], Any], x: Any) -> Any:
    return wg.jvp(f, (x,), (1.0,))[1]


def by_jit(f: Callable[[Any], Any], x: Any) -> Any:
    return wg.jit(wg.grad(f))(x)


MODES = [by_reverse, by_forward]


@pytest.fixture(params=[(a, b) for a in MODES for b in MODES], ids=lambda p: f"{p[0].__name__}-{p[1].__name__}")
def modes(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """The derivative of the outer and of the inner function, in every combination of modes."""
    return request.param


def test_the_inner_derivative_does_not_see_the_outer(modes: tuple[Any, Any]) -> None:
    """D(x ↦ x D(y ↦ x + y)(1))(1) = 1: the inner derivative is 1, whatever x."""
    outer, inner = modes
    assert outer(lambda x: x * inner(lambda y: x + y, 1.0), 1.0) == 1.0


def test_the_inner_derivative_depends_on_the_outer_variable(modes: tuple[Any, Any]) -> None:
    """D(x ↦ x D(y ↦ x y)(2))(1) = 2: the inner derivative is x, and it varies."""
    outer, inner = modes
    assert outer(lambda x: x * inner(lambda y: x * y, 2.0), 1.0) == 2.0


def test_an_inner_function_of_both_variables_is_differentiated_in_its_own(modes: tuple[Any, Any]) -> None:
    """D(x ↦ D(y ↦ x² y³)(x))(2): ∂/∂y = 3 x² y², at y = x that is 3 x⁴, derivative 12 x³ = 96."""
    outer, inner = modes
    assert outer(lambda x: inner(lambda y: x**2 * y**3, x), 2.0) == pytest.approx(96.0)


def test_the_inner_argument_is_the_outer_value(modes: tuple[Any, Any]) -> None:
    """D(x ↦ D(sin)(x))(0.3) = -sin 0.3."""
    outer, inner = modes
    assert outer(lambda x: inner(np.sin, x), 0.3) == pytest.approx(-np.sin(0.3))


def test_a_curried_function_is_differentiated_inside_of_a_derivative(modes: tuple[Any, Any]) -> None:
    """The function that is returned by a differentiated one and called outside with another value."""
    outer, inner = modes

    def shifted(x: Any) -> Any:
        return lambda g: lambda y: g(x + y)

    # d/dx [ d/dy exp(x + y) at y = 0 ] = exp x
    assert outer(lambda x: inner(shifted(x)(np.exp), 0.0), 1.0) == pytest.approx(np.e)


def test_derivatives_nest_three_levels_deep(modes: tuple[Any, Any]) -> None:
    """D(x ↦ D(y ↦ D(z ↦ x y z)(3) y)(2))(1): inner x y; x y² has derivative 2 x y = 4 x; and that 4."""
    outer, inner = modes
    assert outer(lambda x: inner(lambda y: outer(lambda z: x * y * z, 3.0) * y, 2.0), 1.0) == 4.0


def test_the_inner_derivative_of_the_outer_variable_is_zero(modes: tuple[Any, Any]) -> None:
    """D(y ↦ x)(1) is zero although x is being differentiated outside."""
    outer, inner = modes
    assert outer(lambda x: x + inner(lambda y: x, 1.0), 1.0) == 1.0


def test_the_inner_derivative_reads_a_preallocated_array_of_the_outer_function(modes: tuple[Any, Any]) -> None:
    """The inner derivative reads what the outer function has written into its own array."""
    outer, inner = modes

    def f(x: Any) -> Any:
        a = np.zeros(2)
        a[0] = x
        a[1] = inner(lambda y: a[0] * y**2, 3.0)  # 6 x
        return a[0] * a[1]  # 6 x²

    assert outer(f, 2.0) == 24.0


def test_a_jacobian_and_a_vmap_inside_of_a_gradient_are_right() -> None:
    """The gradient of the trace of a Jacobian, matrices of second derivatives of vectors, gradients in vmap in grad."""

    def g(x: Any) -> Any:
        return np.array([x[0] ** 2 * x[1], x[1] ** 3])

    divergence = lambda x: np.trace(wg.jacobian(g)(x))  # 2 x0 x1 + 3 x1²
    np.testing.assert_allclose(wg.grad(divergence)(np.array([2.0, 3.0])), [6.0, 4.0 + 18.0])

    def penalised(w: Any) -> Any:
        slopes = wg.vmap(wg.grad(lambda x: np.sin(w * x)))(np.array([0.1, 0.2]))
        return np.sum(slopes**2)

    want = numeric_gradient(lambda w: float(np.sum((w * np.cos(w * np.array([0.1, 0.2]))) ** 2)), 1.5)
    assert wg.grad(penalised)(1.5) == pytest.approx(float(want), rel=1e-7)
    assert by_jit(penalised, 1.5) == wg.grad(penalised)(1.5)


def test_a_gradient_step_inside_of_a_gradient_is_differentiated() -> None:
    """Differentiating through an optimiser that differentiates a loss that shares the outer variable."""

    def after_steps(rate: Any) -> Any:
        w = 1.0
        for _ in range(3):
            w = w - rate * wg.grad(lambda v: rate * v**2 + v)(w)
        return w

    def plain(rate: float) -> float:
        w = 1.0
        for _ in range(3):
            w = w - rate * (2 * rate * w + 1)
        return w

    assert wg.grad(after_steps)(0.3) == pytest.approx(float(numeric_gradient(plain, 0.3)), rel=1e-7)


# ------------------------------------------------------------------------------------------------- branches on equality


def test_a_branch_on_equality_takes_the_side_of_the_primal() -> None:
    """if x == 0: the value decides, derivatives do not; it is a guard, and the other side is another path."""

    def f(x: Any) -> Any:
        if x == 0:
            return x * 5
        return np.sin(x) / x

    assert wg.grad(f)(0.0) == 5.0
    assert wg.jvp(f, (0.0,), (1.0,))[1] == 5.0
    assert wg.grad(wg.grad(f))(0.0) == 0.0
    tape = wg.trace(wg.grad(f))(0.0)
    assert "bool -> True" in wg.format_tree(tape)
    jitted = wg.jit(wg.grad(f))
    assert jitted(0.0) == 5.0
    assert jitted(1.0) == pytest.approx(np.cos(1.0) - np.sin(1.0))
    assert jitted(0.0) == 5.0
    assert jitted.stats()["traces"] == 2


def test_a_hessian_of_code_that_branches_on_equality_is_that_of_the_code_that_ran() -> None:
    """A product that skips zero factors: x y z with y = 0 has the mixed derivative z in (x, y) all the same, if the
    branch multiplies; where the branch drops the factor, the derivative is that of the code that ran."""

    def product(v: Any) -> Any:
        total = 1.0
        for k in range(3):
            total = total * v[k]
        return total

    v = np.array([2.0, 0.0, 3.0])
    np.testing.assert_array_equal(wg.hessian(product)(v), [[0, 3, 0], [3, 0, 2], [0, 2, 0]])

    def dotted(v: Any) -> Any:  # the code of a sparse product: what is zero is left out
        total = 0.0
        for k in range(3):
            if v[k] != 0:
                total = total + v[k] ** 2
        return total

    np.testing.assert_array_equal(wg.hessian(dotted)(v), np.diag([2.0, 0.0, 2.0]))
    np.testing.assert_array_equal(wg.hessian(dotted)(np.ones(3)), 2 * np.eye(3))


# ----------------------------------------------------------------------------------------------- Hessians times vectors

A = np.array([[2.0, -1.0, 0.5], [0.3, 1.0, -0.2], [-0.7, 0.4, 1.5]])

TWENTY: dict[str, Callable[[Any], Any]] = {
    "square": lambda x: np.sum(x**2),
    "quadratic": lambda x: x @ A @ x,
    "quartic": lambda x: np.sum(x**4) + x[0] * x[1] * x[2],
    "rosenbrock": lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
    "logsumexp": lambda x: np.log(np.sum(np.exp(x))),
    "softmax": lambda x: np.exp(x)[1] / np.sum(np.exp(x)),
    "tanh layer": lambda x: np.sum(np.tanh(A @ x) ** 2),
    "two layers": lambda x: np.sum(np.tanh(A.T @ np.tanh(A @ x))),
    "norm": lambda x: np.sqrt(np.sum(x**2) + 0.1),
    "rayleigh": lambda x: (x @ A @ x) / (x @ x),
    "prod": lambda x: np.prod(x + 2),
    "cumsum": lambda x: np.sum(np.cumsum(x) ** 3),
    "trigonometric": lambda x: np.sum(np.sin(x) * np.cos(x[::-1])),
    "power": lambda x: np.sum((x**2 + 1) ** x),
    "where": lambda x: np.sum(np.where(x > 0, x**3, np.exp(x))),
    "maximum": lambda x: np.sum(np.maximum(x**2, 0.1 * x)),
    "logistic": lambda x: np.sum(np.log1p(np.exp(A @ x))),
    "writes": lambda x: written(x),
    "loop": lambda x: looped(x),
    "outer": lambda x: np.sum(np.outer(x, x**2) * A),
}


def written(x: Any) -> Any:
    a = np.zeros(4)
    a[0] = x[0] * x[1]
    a[1:] = x**2
    a[2] *= a[0]
    return np.sum(a**2)


def looped(x: Any) -> Any:
    y = x
    for _ in range(4):
        y = y - 0.1 * np.sin(y) * x
    return y @ y


def test_the_table_has_twenty_functions() -> None:
    assert len(TWENTY) == 20


@pytest.mark.sampled(3, "every function, twice differentiated and compiled")
@pytest.mark.parametrize("name", TWENTY)
def test_a_hessian_times_a_vector_is_that_of_the_matrix(name: str) -> None:
    """hvp(f, x, v) = hessian(f)(x) v to 1e-10; both against differences of the gradient; symmetric."""
    f = TWENTY[name]
    rng = np.random.default_rng(len(name))
    x, v = rng.standard_normal(3), rng.standard_normal(3)
    H = wg.hessian(f)(x)
    product = wg.hvp(f, (x,), (v,))
    np.testing.assert_allclose(product, H @ v, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(H, H.T, rtol=1e-10, atol=1e-10)
    h = 1e-5
    want = (wg.grad(f)(x + h * v) - wg.grad(f)(x - h * v)) / (2 * h)
    np.testing.assert_allclose(product, want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(wg.jit(lambda x, v: wg.hvp(f, (x,), (v,)))(x, v), product, rtol=1e-13, atol=1e-15)
    reverse_over_reverse = wg.jacobian(wg.grad(f), mode="reverse")(x)
    np.testing.assert_allclose(reverse_over_reverse, H, rtol=1e-10, atol=1e-10)


def test_the_tape_of_a_hessian_times_a_vector_is_a_few_times_the_functions() -> None:
    """No matrix is formed: nothing on the tape has n² elements, and it has at most 8 steps for each of f's."""
    n = 30
    W = np.ones((5, n))
    f = lambda x: np.sum(np.tanh(W @ x) ** 2)
    x = np.ones(n)
    tape = wg.compile(wg.trace(lambda x, v: wg.hvp(f, (x,), (v,)))(x, x)).tape
    assert all(v.aval.size < n * n for i in tape.instrs for v in i.outs)
    assert len(tape) <= 8 * len(wg.trace(f)(x))


# -------------------------------------------------------------------------------------------------- zero times infinity


def test_zero_times_infinity_is_nan_or_zero_as_the_call_says() -> None:
    """√x² at 0 has a zero cotangent meeting an infinite partial: strict gives NaN, nan_safe=True gives 0."""
    f = lambda x: np.sqrt(x) * 0.0

    with np.errstate(all="ignore"):
        assert np.isnan(wg.grad(f)(0.0))
        assert wg.grad(f, nan_safe=True)(0.0) == 0.0
        assert np.isnan(wg.jvp(lambda x: np.sqrt(x * 0.0), (1.0,), (1.0,))[1])
        assert wg.jvp(lambda x: np.sqrt(x * 0.0), (1.0,), (1.0,), nan_safe=True)[1] == 0.0
        assert np.isnan(wg.grad(f)(0.0))  # of one call, not a switch


def test_every_derivative_takes_the_option() -> None:
    """vjp, linearize, jacobian, hessian and hvp as grad does."""
    f = lambda x: np.sqrt(x) * np.array([0.0, 1.0])
    x = np.array([0.0, 4.0])
    with np.errstate(all="ignore"):
        assert np.isnan(wg.vjp(f, x)[1](np.ones(2))[0][0])
        np.testing.assert_array_equal(wg.vjp(f, x, nan_safe=True)[1](np.ones(2))[0], [0.0, 0.25])
        np.testing.assert_array_equal(wg.jacobian(f, mode="reverse", nan_safe=True)(x), [[0.0, 0.0], [0.0, 0.25]])
        _, push = wg.linearize(lambda x: np.sqrt(x * np.array([0.0, 1.0])), x, nan_safe=True)
        np.testing.assert_array_equal(push(np.ones(2)), [0.0, 0.25])


def test_where_needs_no_option() -> None:
    """The branch not taken is not multiplied with zero: no NaN leaks from it, strict or not, at either order."""
    f = lambda x: np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0))
    g = lambda x: np.sum(np.where(x > 0, np.log(x), x))
    x = np.array([0.0, 4.0, -1.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(wg.grad(f)(x), [0.0, 0.25, 0.0])
        np.testing.assert_array_equal(wg.grad(g)(x), [1.0, 0.25, 1.0])
        np.testing.assert_array_equal(wg.jvp(g, (x,), (np.ones(3),))[1], 2.25)
        np.testing.assert_array_equal(wg.hessian(g)(x), np.diag([0.0, -1 / 16, 0.0]))


# ------------------------------------------------------------------------------------------------------------------ NaN


@pytest.mark.parametrize(
    ("f", "shares"),
    [
        (np.max, ([0.5, 0.5],) * 3),
        (np.min, ([0.5, 0.5],) * 3),
        (np.median, ([0, 1], [1, 0], [0, 1])),
        (lambda v: np.maximum(v[0], v[1]), ([0, 1], [1, 0], [1, 0])),
        (lambda v: np.minimum(v[0], v[1]), ([0, 1], [1, 0], [1, 0])),
        (lambda v: np.fmax(v[0], v[1]), ([1, 0], [0, 1], [1, 0])),
        (lambda v: np.fmin(v[0], v[1]), ([1, 0], [0, 1], [1, 0])),
        (lambda v: np.sum(np.clip(v, 0, 2)), ([1, 1], [1, 1], [1, 1])),
    ],
    ids=["max", "min", "median", "maximum", "minimum", "fmax", "fmin", "clip"],
)
def test_a_nan_has_the_derivative_where_it_is_the_result(f: Any, shares: Any) -> None:
    """Reverse mode gave 0, forward mode NaN."""
    for v, share in zip(([1.0, np.nan], [np.nan, 1.0], [np.nan, np.nan]), shares, strict=True):
        x = np.array(v)
        np.testing.assert_array_equal(wg.grad(f)(x), share)
        np.testing.assert_array_equal(wg.jacobian(f, mode="forward")(x), share)
        np.testing.assert_array_equal(wg.jit(wg.grad(f))(x), share)
