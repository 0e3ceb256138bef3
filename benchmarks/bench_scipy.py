"""Measure gradients through functions of SciPy's beside one run of SciPy itself, the same formula by hand, and rivals:
float64, one thread, alternately in one process.

    python -m benchmarks.bench_scipy [--quick] [name ...]

The last column says how many times as long ours takes as what stands in the line, and how many times it may.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from benchmarks.alternating import Calls, Compared, Other, has, report  # first: it pins the threads
from benchmarks.checks import slope_error

import numpy as np  # isort: skip
import scipy.sparse as sp  # isort: skip
from scipy import linalg, optimize, signal, sparse, stats  # isort: skip
from scipy.sparse.linalg import spsolve  # isort: skip
from scipy.spatial.distance import cdist  # isort: skip

import wengert as wg

RNG = np.random.default_rng(0)


FOUND = 1e-4
"""The greatest relative error of the derivative of what an iteration finds, which ends at a tolerance."""
FACTORS = (1 + 1e-9 * k for k in itertools.count())
"""Numbers that differ in each call: a factorisation is kept for the matrix that was solved last."""


def value_and_slope(f: Callable[..., Any], *args: Any, h: float = 1e-5) -> Callable[[Any], float]:
    """Return the check of a value and its gradient in all arguments, by the plain function and differences of it."""

    def check(found: Any) -> float:
        value, gradient = found
        own = float(f(*args))
        return max(abs(float(value) - own) / abs(own), slope_error(f, args, range(len(args)), gradient, h))

    return check


# ---------------------------------------------------------------------------------------------------------- sparse


def _laplacian(n: int) -> Any:
    line = sp.diags_array([2.0 * np.ones(n), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1])
    return sp.csc_array(sp.kron(line, sp.eye_array(n)) + sp.kron(sp.eye_array(n), line))


def poisson(n: int = 300) -> Compared:
    """The compliance of a membrane with a stiffness of its own at each node, and its gradient in these."""
    rows, columns, data = sparse.find(_laplacian(n))
    density, load = RNG.uniform(0.5, 1.5, n * n), np.full(n * n, 1.0 / n**2)

    def stiffness(density: Any) -> Any:
        return sp.csc_array((data * (density[rows] + density[columns]) / 2, (rows, columns)), shape=(n * n, n * n))

    compliance = lambda density: load @ spsolve(stiffness(density), load)
    ours = wg.jit(wg.value_and_grad(compliance))
    a = stiffness(density)
    own = lambda: ours(density * next(FACTORS))
    calls: Calls = {"wengert": own, "one solve": Other(lambda: spsolve(a, load))}
    return Compared(calls, check=value_and_slope(compliance, density), must={"one solve": 3.0})


def helmholtz(n: int = 200) -> Compared:
    """The power that arrives of a source, and its gradient in the permittivity."""
    a, k2 = sp.csc_array(_laplacian(n) * (1.0 - 0.02j)), (2 * np.pi / 20) ** 2
    eps, source = RNG.uniform(1.0, 2.0, n * n), np.zeros(n * n, complex)
    source[n // 4 * n + n // 4] = 1.0
    at = np.arange(n * n) // n > 3 * n // 4

    def power(eps: Any) -> Any:
        field = spsolve(sp.csc_array(a - sp.diags_array(k2 * eps)), source)
        return np.sum(np.abs(field[at]) ** 2)

    ours = wg.jit(wg.value_and_grad(power))
    whole = sp.csc_array(a - sp.diags_array(k2 * eps))
    own = lambda: ours(eps * next(FACTORS))
    calls: Calls = {"wengert": own, "one solve": Other(lambda: spsolve(whole, source))}
    return Compared(calls, check=value_and_slope(power, eps), must={"one solve": 2.2})


# ------------------------------------------------------------------------------------------------------ statistics


def hierarchical(groups: int = 200, each: int = 10) -> Compared:
    """The log density of a normal model of groups, through ``scipy.stats`` and by hand."""
    y = RNG.normal(RNG.normal(2.0, 1.5, groups)[:, None], 0.7, (groups, each))
    p = np.concatenate([[1.5, 0.2, -0.3], RNG.normal(size=groups)])

    def of_scipy(p: Any) -> Any:
        mu, tau, sigma, theta = p[0], np.exp(p[1]), np.exp(p[2]), p[3:]
        prior = (
            stats.norm.logpdf(mu, 0, 5) + stats.halfnorm.logpdf(tau, scale=2) + stats.halfnorm.logpdf(sigma, scale=2)
        )
        means = stats.norm.logpdf(theta, mu, tau).sum()
        return prior + means + stats.norm.logpdf(y, theta[:, None], sigma).sum() + p[1] + p[2]

    def by_hand(p: Any, xp: Any = np) -> Any:
        mu, tau, sigma, theta = p[0], xp.exp(p[1]), xp.exp(p[2]), p[3:]
        c = np.log(2 * np.pi) / 2
        half = np.log(2 / np.pi) / 2 - np.log(2)
        prior = -((mu / 5) ** 2) / 2 - c - np.log(5) + 2 * half - (tau / 2) ** 2 / 2 - (sigma / 2) ** 2 / 2
        means = xp.sum(-(((theta - mu) / tau) ** 2) / 2 - c - p[1])
        return prior + means + xp.sum(-(((y - theta[:, None]) / sigma) ** 2) / 2 - c - p[2]) + p[1] + p[2]

    assert np.isclose(of_scipy(p), by_hand(p))
    ours, same = wg.jit(wg.value_and_grad(of_scipy)), wg.jit(wg.value_and_grad(by_hand))
    plain, plain_by_hand = wg.value_and_grad(of_scipy), wg.value_and_grad(by_hand)
    calls: Calls = {"wengert": lambda: ours(p), "wengert, by hand": lambda: same(p)}
    if has("autograd"):
        import autograd

        theirs = autograd.value_and_grad(lambda p: by_hand(p, autograd.numpy))
        calls["autograd, by hand"] = lambda: theirs(p)
    calls["wengert, un-jitted"] = lambda: plain(p)
    calls["wengert, un-jitted, by hand"] = lambda: plain_by_hand(p)
    must = {"wengert, by hand": 1.2, "autograd, by hand": 1 / 20}
    return Compared(calls, check=value_and_slope(by_hand, p), must=must)


def gaussian_process(n: int = 300) -> Compared:
    """The marginal likelihood of a Gaussian process, by ``cho_factor`` and ``cdist``, and by hand in JAX."""
    x, y, p = RNG.normal(size=(n, 3)), RNG.normal(size=n), np.array([0.1, 0.2, -1.0])

    def likelihood(p: Any) -> Any:
        k = np.exp(p[0]) * np.exp(-cdist(x, x, "sqeuclidean") / (2 * np.exp(p[1]))) + np.exp(p[2]) * np.eye(n)
        factor = linalg.cho_factor(k, lower=True)
        return y @ linalg.cho_solve(factor, y) / 2 + np.sum(np.log(np.diag(factor[0]))) + n * np.log(2 * np.pi) / 2

    ours = wg.jit(wg.value_and_grad(likelihood))
    calls: Calls = {"wengert": lambda: ours(p)}
    if has("jax"):
        import jax
        import jax.numpy as jnp
        from jax.scipy.linalg import cho_factor, cho_solve

        jax.config.update("jax_enable_x64", True)

        def in_jax(p: Any) -> Any:
            d = jnp.sum((x[:, None] - x[None]) ** 2, -1)
            k = jnp.exp(p[0]) * jnp.exp(-d / (2 * jnp.exp(p[1]))) + jnp.exp(p[2]) * jnp.eye(n)
            factor = cho_factor(k, lower=True)
            return y @ cho_solve(factor, y) / 2 + jnp.sum(jnp.log(jnp.diag(factor[0]))) + n * jnp.log(2 * jnp.pi) / 2

        theirs = jax.jit(jax.value_and_grad(in_jax))
        assert np.isclose(float(theirs(p)[0]), float(likelihood(p)))
        calls["jax"] = lambda: jax.block_until_ready(theirs(p))
    return Compared(calls, check=value_and_slope(likelihood, p), must={"jax": 1.3})


# ----------------------------------------------------------------------------------------------- signals, solutions


def filtered(n: int = 100_000) -> Compared:
    b, a = np.array([0.0048, 0.0193, 0.0289, 0.0193, 0.0048]), np.array([1.0, -2.37, 2.314, -1.0547, 0.1874])
    x, weights = RNG.normal(size=n), RNG.normal(size=n)
    weighted = lambda b, a, x: weights @ signal.lfilter(b, a, x)
    ours = wg.jit(wg.value_and_grad(weighted, argnums=(0, 1, 2)))
    calls: Calls = {"wengert": lambda: ours(b, a, x), "SciPy's lfilter": Other(lambda: signal.lfilter(b, a, x))}
    return Compared(calls, check=value_and_slope(weighted, b, a, x), must={"SciPy's lfilter": 4.0})


def fitted(n: int = 200) -> Compared:
    """A curve is fitted, and the parameters differentiated with respect to the data."""
    t = np.linspace(0, 4, n)
    y = 2.5 * np.exp(-1.3 * t) + 0.5 + 0.01 * RNG.normal(size=n)
    model = lambda t, a, b, c: a * np.exp(-b * t) + c
    fit = lambda y: optimize.curve_fit(model, t, y, (1.0, 1.0, 0.0))[0]
    value, ours = wg.jit(fit), wg.jit(wg.value_and_grad(lambda y: fit(y)[1]))
    calls: Calls = {
        "wengert": lambda: ours(y),
        "the fit alone": Other(lambda: value(y)),
        "SciPy's fit": Other(lambda: fit(y)),
    }
    return Compared(calls, FOUND, value_and_slope(lambda y: fit(y)[1], y, h=1e-3))


def minimized(n: int = 10) -> Compared:
    """Rosenbrock's valley with a parameter, by BFGS, and the minimum differentiated with respect to it."""
    start = np.full(n, 0.5)
    valley = lambda x, p: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (p - x[:-1]) ** 2)
    found = lambda p: optimize.minimize(valley, start, args=(p,), method="BFGS", tol=1e-8).x
    value, ours = wg.jit(found), wg.jit(wg.value_and_grad(lambda p: np.sum(found(p))))
    calls: Calls = {"wengert": lambda: ours(1.1)}
    calls |= {"the minimum alone": Other(lambda: value(1.1)), "SciPy's": Other(lambda: found(1.1))}

    def flat(x: Any, p: Any) -> Any:
        """Return the gradient by hand, whose root is the minimum to all digits."""
        uphill = 100 * (x[1:] - x[:-1] ** 2)
        return np.append(-4 * uphill * x[:-1] - 2 * (p - x[:-1]), 0.0) + 2 * np.insert(uphill, 0, 0.0)

    exact = lambda p: np.sum(optimize.root(flat, found(p), args=(p,), tol=1e-14).x)
    return Compared(calls, FOUND, value_and_slope(exact, 1.1, h=1e-3))


WORKLOADS: dict[str, Callable[[], Compared]] = {
    "Poisson 300 x 300": poisson,
    "Helmholtz 200 x 200": helmholtz,
    "hierarchical model, 200 groups": hierarchical,
    "Gaussian process, n=300": gaussian_process,
    "lfilter, n=1e5": filtered,
    "curve_fit": fitted,
    "minimize": minimized,
}


def main() -> None:
    report(WORKLOADS, (5, 1.0))


if __name__ == "__main__":
    main()
