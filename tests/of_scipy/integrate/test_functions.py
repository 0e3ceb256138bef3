"""Integrals of functions within traced functions: Leibniz's rule beside closed forms and differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special

import wengert as wg
from tests.of_scipy.optimize.solutions import check_solution

V = np.array([1.0, 2.0, 3.0])

INTEGRALS = {
    "captured": lambda p: integrate.quad(lambda t: np.exp(-p * t * t), 0, 1)[0],
    "args": lambda p: integrate.quad(lambda t, a, b: np.exp(-a * t * t) + b, 0, 1, (p, 2.0))[0],
    "limits": lambda p: integrate.quad(lambda t: np.exp(-p * t * t), -p, p**2)[0],
    "a half line": lambda p: integrate.quad(lambda t: np.exp(-p * t * t), p, np.inf)[0],
    "weight": lambda p: integrate.quad(lambda t: np.exp(-p * t * t), 0, 2, weight="cos", wvar=3.0)[0],
    "points": lambda p: integrate.quad(lambda t: np.abs(t - 0.5) ** p, 0, 2, points=[0.5])[0],
    "complex": lambda p: np.abs(integrate.quad(lambda t: np.exp(1j * p * t), 0, 2, complex_func=True)[0]),
    "dblquad": lambda p: integrate.dblquad(lambda y, x: np.exp(-p * x * y), 0, p, lambda x: x * p, lambda x: 2.0 + x)[
        0
    ],
    "tplquad": lambda p: integrate.tplquad(
        lambda z, y, x: p * x * y * z, 0, 1, 0, lambda x: x, 0, lambda x, y: x * p, epsabs=1e-6
    )[0],
    "nquad": lambda p: integrate.nquad(lambda x, y: np.exp(-p * x * y), [lambda y: (0, y * p), (0, 1)])[0],
    "quad_vec": lambda p: integrate.quad_vec(lambda t: np.exp(-p * t * V), 0, p)[0],
    "fixed_quad": lambda p: integrate.fixed_quad(lambda t: np.exp(-p * t), 0, p, n=4)[0],
}
if hasattr(integrate, "tanhsinh"):
    INTEGRALS |= {
        "tanhsinh": lambda p: integrate.tanhsinh(lambda t, q: np.exp(-q * t * t * p), 0, p, args=(V,)).integral,
        "nsum": lambda p: integrate.nsum(lambda k: k ** (-1 - p), 1, np.inf).sum,
    }


@pytest.mark.sampled(5, "a program for each")
@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals(name: str) -> None:
    check_solution(INTEGRALS[name], 1.1, value_rtol=1e-10)


def test_a_gaussian_to_the_third_derivative() -> None:
    """∫ exp(−p t²) = √(π/p), forward and reverse."""
    f: Any = lambda p: integrate.quad(lambda t: np.exp(-p * t * t), -np.inf, np.inf)[0]
    expected: Any = lambda p: np.sqrt(np.pi / p)
    for _ in range(3):
        f, expected = wg.grad(f), wg.grad(expected)
        assert f(1.1) == pytest.approx(expected(1.1), rel=1e-8)
    assert wg.jit(f)(0.9) == pytest.approx(expected(0.9), rel=1e-8)


def test_limits_twice() -> None:
    """∫_0^x exp(−t²) = √π/2 erf(x)."""
    f = lambda x: integrate.quad(lambda t: np.exp(-(t**2)), 0, x)[0]
    half = np.sqrt(np.pi) / 2
    assert f(0.7) == pytest.approx(half * special.erf(0.7), rel=1e-14)
    assert wg.grad(f)(0.7) == pytest.approx(np.exp(-0.49), rel=1e-14)
    assert wg.grad(wg.grad(f))(0.7) == pytest.approx(-1.4 * np.exp(-0.49), rel=1e-14)


def test_many_parameters_and_batches() -> None:
    f = lambda c, b: integrate.quad(lambda t: np.sum(np.sin(c * t)), 0, b)[0]
    exact = lambda c, b: np.sum((1 - np.cos(c * b)) / c)
    C, b = np.stack([V, V + 1]), np.array([0.5, 1.5])
    for way in (wg.grad(f, (0, 1)), wg.jit(wg.grad(f, (0, 1)))):
        for got, expected in zip(way(V, 1.2), wg.grad(exact, (0, 1))(V, 1.2), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-10)
    np.testing.assert_allclose(wg.vmap(f)(C, b), wg.vmap(exact)(C, b), rtol=1e-10)
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(C, b), wg.vmap(wg.grad(exact))(C, b), rtol=1e-10)
    mapped = lambda g: lambda c: np.sum(wg.vmap(lambda b: g(c, b))(b))  # c is shared by all examples
    np.testing.assert_allclose(wg.grad(mapped(f))(V), wg.grad(mapped(exact))(V), rtol=1e-10)
    np.testing.assert_allclose(wg.jvp(mapped(f), (V,), (V,))[1], wg.jvp(mapped(exact), (V,), (V,))[1], rtol=1e-10)


def test_full_output_and_errors() -> None:
    def f(p: Any) -> Any:
        value, error, info = integrate.quad(lambda t: p * t, 0, 1, full_output=1)
        return value + 0 * error + 0 * info["neval"]

    assert wg.grad(f)(1.0) == 0.5
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="limits are traced, and there is a weight"):
        wg.grad(lambda p: integrate.quad(lambda t: t, 0, p, weight="cos", wvar=1.0)[0])(1.0)
    with pytest.warns(integrate.IntegrationWarning):
        wg.jvp(lambda p: integrate.quad(lambda t: p / t, 0, 1)[0], (1.0,), (1.0,))


def test_what_captures_nothing_traced_is_scipys_own() -> None:
    def f(p: Any) -> Any:
        return integrate.quad(lambda t: float(t) ** 2, 0, 1)[0] * p

    assert wg.grad(f)(1.0) == pytest.approx(1 / 3)
    assert wg.jit(wg.grad(f), strict=True)(1.0) == pytest.approx(1 / 3)


WEIGHTED = {
    "cos": lambda w: integrate.quad(lambda t: np.exp(-t), 0, 3, weight="cos", wvar=w)[0],
    "alg": lambda w: integrate.quad(lambda t: np.exp(-w * t), 0, 3, weight="alg", wvar=(w, 0.5))[0],
    "cauchy": lambda w: integrate.quad(lambda t: np.exp(-t), 0, 3, weight="cauchy", wvar=w)[0],
    "nquad": lambda w: integrate.nquad(lambda x, y: w, [(0, 1)] * 2, opts=[{"weight": "sin", "wvar": w}, {}])[0],
    "nquad, a limit": lambda w: integrate.nquad(
        lambda x, y: x * y, [(0, w), (0, 1)], opts=[{"weight": "sin", "wvar": 2.0}, {}]
    )[0],
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_weight_that_moves_is_refused(name: str) -> None:
    for transform in (wg.grad, lambda f: wg.jit(wg.grad(f), strict=True)):
        with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"traced, and (.|\n)*weight=None; .*func\(t\)"):
            transform(WEIGHTED[name])(0.6)


def test_the_first_term_of_a_sum_is_refused_where_it_moves() -> None:
    if hasattr(integrate, "nsum"):
        for f in (lambda a: integrate.nsum(lambda k: k**-2.0, a, np.inf).sum,
                  lambda h: integrate.nsum(lambda k: h * k**-2.0, 1, np.inf, step=h).sum):  # fmt: skip
            with pytest.raises(wg.errors.UnsupportedFunctionError, match="a or step is traced"):
                wg.grad(f)(1.0)


INFINITE = {
    "quad": lambda s: integrate.quad(lambda t: np.exp(-t * t * s), -np.inf * s, np.inf * s)[0],
    "quad, reversed": lambda s: -integrate.quad(lambda t: np.exp(-t * t * s), np.inf * s, -np.inf)[0],
    "quad_vec": lambda s: integrate.quad_vec(lambda t: np.exp(-t * t * s), -np.inf * s, np.inf)[0],
    "nquad": lambda s: integrate.nquad(lambda x, y: np.exp(-s * x * x - np.pi * y * y), [(-np.inf * s, np.inf)] * 2)[0],
}
if hasattr(integrate, "tanhsinh"):
    INFINITE["tanhsinh"] = lambda s: integrate.tanhsinh(lambda t: np.exp(-t * t * s), -np.inf * s, np.inf).integral


@pytest.mark.sampled(2, "a program for each")
@pytest.mark.parametrize("name", INFINITE)
def test_an_infinite_limit_does_not_move(name: str) -> None:
    """∫ exp(−s t²) = √(π/s), whose derivative is −√π/2 s^(−3/2)."""
    f, slope = INFINITE[name], lambda s: -np.sqrt(np.pi) / 2 * s**-1.5
    assert wg.value_and_grad(f)(1.3) == pytest.approx((np.sqrt(np.pi / 1.3), slope(1.3)), rel=1e-7)
    assert wg.jvp(f, (1.3,), (1.0,))[1] == pytest.approx(slope(1.3), rel=1e-7)
    assert wg.jit(wg.grad(f))(1.2) == pytest.approx(slope(1.2), rel=1e-7)
    assert wg.grad(wg.grad(f))(1.3) == pytest.approx(0.75 * np.sqrt(np.pi) * 1.3**-2.5, rel=1e-7)


def test_a_limit_that_is_finite_or_infinite_in_one_program() -> None:
    f = wg.jit(wg.grad(lambda b: integrate.quad(lambda t: np.exp(-t), 0, b)[0]))
    for b in (1.0, np.inf, 2.0, np.inf):
        assert f(b) == pytest.approx(np.exp(-b))
    assert wg.vmap(wg.grad(lambda b: integrate.quad(lambda t: np.exp(-t), 0, b)[0]))(np.array([1.0, np.inf])) == (
        pytest.approx([np.exp(-1.0), 0.0])
    )


def pendulum(t: Any, q: Any) -> Any:
    return 1 / np.sqrt(np.cos(t) - np.cos(q))


SINGULAR = {
    "quad": lambda q: integrate.quad(lambda t: pendulum(t, q), 0, q)[0],
    "quad, below": lambda q: integrate.quad(lambda t: pendulum(t, q), -q, 0)[0],
    "quad of a root": lambda q: wg.grad(lambda q: integrate.quad(lambda t: np.sqrt(q - t), 0, q)[0])(q),
    "complex": lambda q: integrate.quad(lambda t: np.exp(1j * t) * pendulum(t, q), 0, q, complex_func=True)[0].real,
}
if hasattr(integrate, "tanhsinh"):
    SINGULAR["tanhsinh"] = lambda q: integrate.tanhsinh(lambda t: pendulum(t, q), 0, q).integral


def quietly(f: Callable[..., Any], *args: Any) -> Any:
    """Return what f gives, and ignore SciPy's warnings: the integral of the derivative diverges."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        return f(*args)


@pytest.mark.parametrize("name", SINGULAR)
def test_an_integrand_that_is_infinite_at_a_limit_that_moves(name: str) -> None:
    f = SINGULAR[name]
    assert np.isfinite(f(0.9))
    for way in (wg.grad(f), wg.jit(wg.grad(f)), lambda q: wg.jvp(f, (q,), (1.0,))[1]):
        with pytest.warns(wg.SolverWarning, match=r"at test_functions(.|\n)*not finite at a limit(.|\n)*u\*\*2"):
            assert np.isnan(quietly(way, 0.9))
    assert np.isfinite(wg.jit(f)(0.9))


def test_the_substitution_has_the_derivative() -> None:
    """√2 K(sin²(q/2))."""
    f = lambda q: integrate.quad(lambda u: 2 * q * u * pendulum(q * (1 - u * u), q), 0, 1)[0]
    exact = lambda q: np.sqrt(2) * special.ellipk(np.sin(q / 2) ** 2)
    assert quietly(wg.grad(f), 0.9) == pytest.approx(wg.grad(exact)(0.9), rel=1e-6)


def steps(t: Any, p: Any) -> Any:
    return np.where(t < p, p * t * t, np.exp(t))


def of_steps(p: Any, end: Any = 1.0) -> Any:
    """∫_0^end steps(t, p) dt."""
    return p * p**3 / 3 + np.exp(end) - np.exp(p)


JUMPS: dict[str, tuple[Any, Any]] = {
    "quad": (lambda p: integrate.quad(steps, 0, 1 + p, (p,), points=[p])[0], lambda p: of_steps(p, 1 + p)),
    "twice named": (lambda p: integrate.quad(lambda t: steps(t, p), 0, 1, points=[p, 0.5, p])[0], of_steps),
    "reversed": (lambda p: -integrate.quad(lambda t: steps(t, p), 1, 0, points=np.array([0.5, p]))[0], of_steps),
    "moved": (lambda p: integrate.quad(lambda t: steps(t, p * p), 0, 1, points=[p * p])[0], lambda p: of_steps(p * p)),
    "full output": (lambda p: integrate.quad(lambda t: steps(t, p), 0, 1, points=[p], full_output=1)[0], of_steps),
    "outside": (lambda p: integrate.quad(lambda t: steps(t, p + 3), 0, 1, points=[p + 3])[0], lambda p: (p + 3) / 3),
    "kink": (lambda p: integrate.quad(lambda t: np.abs(t - p), 0, 1, points=[p])[0], lambda p: p * p - p + 0.5),
    "complex": (
        lambda p: integrate.quad(lambda t: 1j * steps(t, p), 0, 1, points=[p], complex_func=True)[0].imag,
        of_steps,
    ),
    "nquad": (
        lambda p: integrate.nquad(lambda x, y: 2 * y * steps(x, p), [(0, 1)] * 2, opts=[{"points": [p]}, {}])[0],
        of_steps,
    ),
    "nquad, the outer": (
        lambda p: integrate.nquad(lambda x, y: 2 * x * steps(y, p), [(0, 1)] * 2, opts=[{}, {"points": [p]}])[0],
        of_steps,
    ),
    "quad_vec": (
        lambda p: np.sum(integrate.quad_vec(lambda t: steps(t, p) * V, 0, 1, points=[p])[0]) / 6,
        of_steps,
    ),
}


@pytest.mark.sampled(4, "a program for each")
@pytest.mark.parametrize("name", JUMPS)
def test_a_jump_at_a_point_that_is_named(name: str) -> None:
    f, exact = JUMPS[name]
    assert wg.value_and_grad(f)(0.3) == pytest.approx((exact(0.3), wg.grad(exact)(0.3)), rel=1e-7, abs=1e-12)
    assert wg.jvp(f, (0.3,), (1.0,))[1] == pytest.approx(wg.grad(exact)(0.3), rel=1e-7)
    assert wg.jit(wg.grad(wg.grad(f)))(0.3) == pytest.approx(wg.grad(wg.grad(exact))(0.3), rel=1e-7, abs=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda p: integrate.quad(lambda t: np.abs(t - p) ** -0.5, 0, 1, points=[p])[0],
        lambda p: integrate.quad(lambda t: np.where(t > p, np.abs(t - p) ** -0.2, 0.0), 0, 1, points=[p])[0],
        wg.grad(lambda p: integrate.quad(lambda t: np.maximum(t - p, 0.0) ** 0.5, 0, 1, points=[p])[0]),
    ],
)
def test_an_integrand_that_is_infinite_at_a_point_that_moves(f: Any) -> None:
    with pytest.warns(wg.SolverWarning, match="not finite at a limit or a point"):
        assert np.isnan(quietly(wg.grad(f), 0.3))


def test_points_that_move_alone() -> None:
    f = lambda p: p * integrate.quad(lambda t: np.exp(t), 0, 1, points=[p])[0]
    assert wg.grad(f)(0.3) == pytest.approx(np.e - 1)
