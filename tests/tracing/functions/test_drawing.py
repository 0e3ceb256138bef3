"""The methods of generators: NumPy's numbers, with static and with traced parameters, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tracing.functions.drawing import METHODS

X = np.arange(1.0, 5.0)


def _shuffled(r: Any, x: Any) -> Any:
    y = np.stack([x, 2 * x, 3 * x])
    r.shuffle(y)
    r.shuffle(y, axis=1)
    return y


def _into(r: Any, x: Any) -> Any:
    y = np.empty(4)
    r.standard_normal(out=y)
    r.permuted(y * x, out=y)
    return y * x


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "normal": lambda r, x: r.normal(x, 2 * x) + r.normal(1.0, x, (3, 4)) + x * r.normal(),
    "laplace": lambda r, x: r.laplace(x, x),
    "logistic": lambda r, x: r.logistic(scale=x, loc=1.0),
    "gumbel": lambda r, x: r.gumbel(x, 2.0, size=4),
    "uniform": lambda r, x: r.uniform(-x, x) + x * r.uniform(2, 3),
    "exponential": lambda r, x: r.exponential(x, (2, 4)),
    "rayleigh": lambda r, x: r.rayleigh(x),
    "lognormal": lambda r, x: r.lognormal(x / 4, 0.5),
    "weibull": lambda r, x: r.weibull(x),
    "pareto": lambda r, x: r.pareto(x + 2),
    "power": lambda r, x: r.power(x),
    "triangular": lambda r, x: r.triangular(-x, x / 3, 2 * x, (5, 4)),
    "multivariate_normal": lambda r, x: (
        r.multivariate_normal(x, np.diag(x) + 1, size=2, method="cholesky")
        + r.multivariate_normal(x, np.diag(x))
        + r.multivariate_normal(x, np.diag(x), method="eigh")
    ),
    "standard_gamma": lambda r, x: r.standard_gamma(x),
    "gamma": lambda r, x: r.gamma(x, 1 / x, (2, 4)),
    "chisquare": lambda r, x: r.chisquare(x),
    "beta": lambda r, x: r.beta(x, 2.0),
    "standard_t": lambda r, x: r.standard_t(x),
    "f": lambda r, x: r.f(x, 3.0),
    "dirichlet": lambda r, x: r.dirichlet(x, 3) + r.dirichlet(x),
    "binomial": lambda r, x: x * r.binomial(9, x / 5),
    "negative_binomial": lambda r, x: x * r.negative_binomial(x, 0.5),
    "poisson": lambda r, x: x * r.poisson(x, (3, 4)),
    "geometric": lambda r, x: x * r.geometric(1 / x),
    "hypergeometric": lambda r, x: x * r.hypergeometric(x.astype(int), 5, 3),
    "logseries": lambda r, x: x * r.logseries(1 - 1 / (1 + x)),
    "zipf": lambda r, x: x * r.zipf(x + 1),
    "wald": lambda r, x: r.wald(x, 2.0),
    "vonmises": lambda r, x: r.vonmises(0.5, x),
    "noncentral_chisquare": lambda r, x: r.noncentral_chisquare(x, 1.0),
    "noncentral_f": lambda r, x: r.noncentral_f(x, 3.0, 1.0),
    "integers": lambda r, x: x * r.integers(x.astype(int)) + r.integers(-3, x.astype(int), (2, 4), endpoint=True),
    "choice": lambda r, x: r.choice(x, 3) + r.choice(x, 3, p=x / x.sum()) + r.choice(np.stack([x, x]), 3, axis=1)[0],
    "permutation": lambda r, x: r.permutation(x) + r.permutation(np.stack([x, 2 * x]), axis=1),
    "permuted": lambda r, x: r.permuted(np.stack([x, 2 * x]), axis=1) + r.permuted(np.stack([x, -x])),
    "shuffle": _shuffled,
}
UNKNOWN = ["wald", "vonmises", "noncentral_chisquare", "noncentral_f"]
"""Those of which no derivative is known in their parameters."""

WITHOUT_TRACED: dict[str, Callable[[Any, Any], Any]] = {
    "into an array": _into,
    "integers": lambda r, x: x[r.integers(4, size=3)] + r.integers(2, size=3, dtype=np.int8),
    "choice": lambda r, x: x[r.choice(4, 3, replace=False)] + r.choice([1.0, 2.0], 3),
    "permutation": lambda r, x: x[r.permutation(4)],
    "multinomial": lambda r, x: x * r.multinomial(10, [0.1, 0.2, 0.3, 0.4]),
    "float32": lambda r, x: x.astype(np.float32) * r.standard_normal(4, np.float32) + r.random(4, dtype="f"),
    "gamma": lambda r, x: x + r.gamma(2.0, size=4) + r.standard_exponential(4, method="inv"),
    "cauchy": lambda r, x: x + r.standard_cauchy(),
    "numbers of a list": lambda r, x: sum([r.normal() for _ in range(3)]) * x,
    "none at all": lambda r, x: np.concatenate([x, r.normal(size=0)]),
}


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("name", [*CALLS, *[f"{name}, untraced" for name in WITHOUT_TRACED]])
@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_the_numbers_and_the_state_are_numpys(name: str) -> None:
    f = CALLS[name] if name in CALLS else WITHOUT_TRACED[name.removesuffix(", untraced")]
    ours, numpys, eager = (np.random.default_rng(3) for _ in range(3))
    compiled = wg.jit(f)
    for _ in range(3):
        expected = f(numpys, X)
        at_once = expected if name in UNKNOWN else wg.vjp(lambda x: f(eager, x), X)[0]
        for y in (compiled(ours, X), at_once):
            np.testing.assert_allclose(y, expected, rtol=1e-13, atol=1e-13)
            assert y.dtype == expected.dtype
        assert ours.bit_generator.state == numpys.bit_generator.state
        assert name in UNKNOWN or eager.bit_generator.state == numpys.bit_generator.state
    assert compiled.stats()["traces"] == 1 and compiled.stats()["plain"] == 0


def test_every_traced_method_is_tried() -> None:
    assert CALLS.keys() == METHODS.keys()


PATHS = ["normal", "laplace", "logistic", "gumbel", "uniform", "exponential", "rayleigh", "lognormal", "weibull"]
PATHS += ["pareto", "power", "triangular", "permutation", "permuted", "shuffle"]


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_the_derivative_is_that_of_the_path(name: str) -> None:
    """With the same numbers drawn again, the function is smooth."""
    f = lambda x: CALLS[name](np.random.default_rng(3), x)
    dx = np.array([0.3, -0.2, 0.5, 0.1])
    _, dy = wg.jvp(f, (X,), (dx,))
    np.testing.assert_allclose(dy, (f(X + 1e-6 * dx) - f(X - 1e-6 * dx)) / 2e-6, rtol=1e-6, atol=1e-8)
    ct = np.cos(np.arange(dy.size)).reshape(dy.shape)
    (back,) = wg.vjp(f, X)[1](ct)
    assert back @ dx == pytest.approx(np.sum(ct * dy), rel=1e-12)


@pytest.mark.deep("many draws: 5 s")
def test_the_mean_of_implicit_derivatives_is_the_derivative_of_the_mean() -> None:
    """E[gamma(a)] = a, E[beta(a, 2)] = a / (a + 2), E[F] = n / (n - 2): a path through the rejections is biased."""
    rng = np.random.default_rng(0)
    mean = lambda f: wg.jit(wg.grad(lambda a: np.mean(f(a))))
    n = 20_000
    assert mean(lambda a: rng.gamma(a, size=n))(2.5) == pytest.approx(1, abs=0.03)
    assert mean(lambda a: rng.beta(a, 2.0, size=n))(1.5) == pytest.approx(2 / 3.5**2, abs=0.01)
    assert mean(lambda v: rng.chisquare(v, size=n))(3.0) == pytest.approx(1, abs=0.03)
    assert mean(lambda v: rng.standard_t(v, size=n) ** 2)(8.0) == pytest.approx(-2 / 36, abs=0.02)


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_what_has_no_known_derivative_says_so(name: str) -> None:
    rng = np.random.default_rng(0)
    gradient = wg.grad(lambda x: np.sum(CALLS[name](rng, x)))
    for g in (gradient, wg.jit(gradient, strict=True)):
        with pytest.raises(wg.errors.MissingRuleError, match=f"no derivative of {name} numbers"):
            g(X)


@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_what_is_discrete_has_none() -> None:
    rng = np.random.default_rng(0)
    g = wg.jit(wg.grad(lambda x: np.sum(rng.poisson(x) * x)))
    np.testing.assert_array_equal(g(X), np.random.default_rng(0).poisson(X))


@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_sizes_that_do_not_fit_are_refused_as_numpy_does() -> None:
    with pytest.raises(ValueError, match="shape mismatch"):
        wg.grad(lambda x: np.sum(np.random.default_rng(0).normal(x, 1.0, size=3)))(X)
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="multinomial is not traced"):
        wg.grad(lambda x: np.sum(x * np.random.default_rng(0).multinomial(9, x / x.sum())))(X)


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")  # of what draws from the module's own generator
@pytest.mark.parametrize("shape", [(3,), (3, 2), (4, 2, 2)])
@pytest.mark.parametrize("legacy", [lambda: np.random.RandomState(0), lambda: np.random])
@pytest.mark.needs_extension("what a generator of C code draws is not recorded: it is drawn at every call, or refused")
def test_the_older_generators_shuffled_rows_twice(shape: tuple[int, ...], legacy: Callable[[], Any]) -> None:
    """They exchange views of rows, which are copies where the array is traced."""

    def f(x: Any) -> Any:
        y = np.zeros(shape)
        y[:] = np.arange(float(y.size)).reshape(shape)
        y[0] = x[0]
        legacy().shuffle(y)
        return np.sum(y * np.arange(1.0, 1 + y.size).reshape(shape)) + 0 * x[1]

    results: list[Any] = []
    for call in (f, lambda x: wg.value_and_grad(f)(x)[0], wg.jit(f)):
        np.random.seed(0)  # noqa: NPY002  # the generator that the module has
        results.append(call(X))
    assert results == [results[0]] * 3
