"""Activations: values and derivatives against mpmath's formulas, far out, at kinks, and beside a bias."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest

import wengert as wg
from wengert import nn

mp = mpmath.mp


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x))


class Case(NamedTuple):
    exact: Callable[[Any], Any]
    """The formula in mpmath's numbers."""
    kinks: dict[float, float] = {}  # noqa: RUF012  # never written
    """Where the derivative jumps, and what it is there."""


CASES: dict[str, Case] = {
    "identity": Case(lambda x: x),
    "relu": Case(lambda x: max(x, 0), {0: 0}),
    "relu6": Case(lambda x: min(max(x, 0), 6), {0: 0, 6: 0}),
    "leaky_relu": Case(lambda x: x if x > 0 else mp.mpf(0.01) * x, {0: 0.01}),
    "rrelu": Case(lambda x: x if x > 0 else mp.mpf(11) / 48 * x, {0: 11 / 48}),
    "trelu": Case(lambda x: x if x > 1 else 0 * x, {1: 0}),
    "hard_tanh": Case(lambda x: min(max(x, -1), 1), {-1: 0, 1: 0}),
    "hard_sigmoid": Case(lambda x: min(max(x / 6 + 0.5, 0), 1), {-3: 0, 3: 0}),
    "hard_swish": Case(lambda x: x * min(max(x / 6 + 0.5, 0), 1), {-3: 0, 3: 1}),
    "soft_shrink": Case(lambda x: mp.sign(x) * max(abs(x) - 0.5, 0), {-0.5: 0, 0.5: 0}),
    "hard_shrink": Case(lambda x: x if abs(x) > 0.5 else 0 * x, {-0.5: 0, 0.5: 0}),
    "elu": Case(lambda x: x if x > 0 else mp.expm1(x), {0: 1}),
    "celu": Case(lambda x: x if x > 0 else mp.expm1(x), {0: 1}),
    "selu": Case(
        lambda x: mp.mpf(1.0507009873554805) * (x if x > 0 else mp.mpf(1.6732632423543772) * mp.expm1(x)),
        {0: 1.0507009873554805 * 1.6732632423543772},
    ),
    "sigmoid": Case(sigmoid),
    "sigmoid_fast": Case(sigmoid),
    "log_sigmoid": Case(lambda x: -softplus(-x)),
    "softplus": Case(softplus),
    "tanh": Case(mp.tanh),
    "tanh_fast": Case(mp.tanh),
    "softsign": Case(lambda x: x / (1 + abs(x)), {0: 1}),
    "tanhshrink": Case(lambda x: x - mp.tanh(x)),
    "log_cosh": Case(lambda x: mp.log(mp.cosh(x))),
    "gelu": Case(lambda x: x * mp.ncdf(x)),
    "gelu_erf": Case(lambda x: x * mp.ncdf(x)),
    "gelu_tanh": Case(lambda x: x * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3))) / 2),
    "gelu_sigmoid": Case(lambda x: x * sigmoid(mp.mpf(1.702) * x)),
    "swish": Case(lambda x: x * sigmoid(x)),
    "silu": Case(lambda x: x * sigmoid(x)),
    "mish": Case(lambda x: x * mp.tanh(softplus(x))),
    "lisht": Case(lambda x: x * mp.tanh(x)),
}
SMOOTH = [name for name, case in CASES.items() if not case.kinks]
FAR = [-800.0, -100.0, -41.0, -7.5, -2.9, -0.3, -1e-3, 1e-3, 0.3, 2.9, 7.5, 41.0, 100.0, 800.0]


def exact(f: Callable[[Any], Any], x: float, order: int = 0) -> float:
    with mp.workdps(400):  # so that differences and cancellations are exact
        at = mp.mpf(float(x))
        return float(mp.diff(f, at, order, h=mp.mpf(10) ** -60) if order else f(at))


def derivative(f: Callable[[Any], Any], compiled: bool) -> Callable[[Any], Any]:
    d = wg.grad(lambda x: np.sum(f(x)))
    return wg.jit(d) if compiled else d


def test_every_activation_is_here() -> None:
    from wengert.nn import activations

    functions = {n for n, f in vars(activations).items() if callable(f) and not n.startswith("_") and n in nn.__all__}
    assert functions - {"glu"} == set(CASES)


@pytest.mark.sampled(9, "each activation in every way")
@pytest.mark.parametrize("compiled", [False, True], ids=["called", "compiled"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str, dtype: str, compiled: bool) -> None:
    """Also far out, where |x| > 40."""
    f, case = getattr(nn, name), CASES[name]
    x = np.array(FAR, dtype)
    y = (wg.jit(f) if compiled else f)(x)
    dx = derivative(f, compiled)(x)
    assert y.dtype == dx.dtype == x.dtype
    tiny, eps = np.finfo(dtype).tiny, np.finfo(dtype).eps
    few = 2 * eps if name in ("tanhshrink", "log_cosh") else tiny  # near 0 two terms cancel, of which one is about 1
    np.testing.assert_allclose(y, [exact(case.exact, v) for v in x], rtol=200 * eps, atol=few)
    np.testing.assert_allclose(dx, [exact(case.exact, v, 1) for v in x], rtol=3000 * eps, atol=4 * eps)


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c.kinks])
def test_kinks(name: str) -> None:
    f = getattr(nn, name)
    for x, expected in CASES[name].kinks.items():
        for zero in (x, -x) if x == 0 else (x,):
            for compiled in (False, True):
                np.testing.assert_allclose(derivative(f, compiled)(np.array([float(zero)])), [expected], rtol=1e-15)


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("name", SMOOTH)
def test_second_order(name: str) -> None:
    x = np.linspace(-4, 4, 9) + 0.05
    second = wg.grad(lambda x: np.sum(wg.grad(lambda x: np.sum(getattr(nn, name)(x)))(x)))(x)
    np.testing.assert_allclose(second, [exact(CASES[name].exact, v, 2) for v in x], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_shapes_and_numbers(name: str) -> None:
    f = getattr(nn, name)
    assert np.shape(f(np.array(0.7))) == () and f(np.zeros((0, 3), "f")).shape == (0, 3)
    np.testing.assert_array_equal(f(np.arange(6.0).reshape(2, 3).T), f(np.arange(6.0)).reshape(2, 3).T)
    assert np.isnan(f(np.array([np.nan]))).all()


def test_hard_tanh_of_unsigned_integers() -> None:
    """They hold no -1, which NumPy refuses to make one."""
    np.testing.assert_array_equal(nn.hard_tanh(np.array([0, 1 << 63], np.uint64)), [0.0, 1.0])


@pytest.mark.sampled(11, "each activation is compiled behind a product")
@pytest.mark.parametrize("name", CASES)
def test_behind_a_product_and_a_bias(name: str) -> None:
    """What is kept of the forward pass, the output, the input or both, is the compiler's choice; with a bias, as
    the derivative of swish is at x + b and not at x."""
    act = getattr(nn, name)
    rng = np.random.default_rng(0)
    w, x, b = rng.normal(size=(4, 5)), rng.normal(size=(7, 5)), 0.3 + rng.normal(size=4)
    f = lambda w, x, b: np.sum(act(nn.linear(x, w, b)) ** 2)
    wg.check_derivatives(f, w, x, b)
    plain, fast = wg.grad(f, (0, 1, 2))(w, x, b), wg.jit(wg.grad(f, (0, 1, 2)))(w, x, b)
    for a, c in zip(plain, fast, strict=True):
        np.testing.assert_allclose(c, a, rtol=1e-10, atol=1e-12)


def test_random_slopes() -> None:
    x, key = -np.ones((100, 50), "f"), nn.random.key(3)
    slopes = -nn.rrelu(x, key)
    assert slopes.dtype == np.float32 and slopes.min() >= 1 / 8 and slopes.max() < 1 / 3
    assert abs(slopes.mean() - 11 / 48) < 2e-3
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(nn.rrelu(x, key)))(x), slopes)


def test_glu() -> None:
    x = np.random.default_rng(0).normal(size=(3, 8, 2))
    a, b = x[:, :4], x[:, 4:]
    np.testing.assert_allclose(nn.glu(x, axis=1), a / (1 + np.exp(-b)))
    wg.check_derivatives(lambda x: nn.glu(x, axis=1), x)
    with pytest.raises(wg.errors.ShapeError, match="cannot be halved"):
        nn.glu(np.zeros(3))
