"""Measure gradients through functions of SciPy's beside one run of SciPy itself, the same formula by hand, and rivals:
float64, one thread, alternately in one process.

    python -m benchmarks.bench_scipy [--quick] [name ...]

The last column says how many times as long ours takes as what stands in the line, and how many times it may.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.bench_networks import Calls, alternately, has
from benchmarks.timing import show  # with it, the threads are pinned

import numpy as np  # isort: skip
import scipy.sparse as sp  # isort: skip
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip
from scipy import linalg, optimize, signal, sparse, stats  # isort: skip
from scipy.sparse.linalg import spsolve  # isort: skip
from scipy.spatial.distance import cdist  # isort: skip

import wengert as wg

RNG = np.random.default_rng(0)


FACTORS = (1 + 1e-9 * k for k in itertools.count())
"""Numbers that differ in each call: a factorisation is kept for the matrix that was solved last."""


class Against(NamedTuple):
    """Calls to measure, the first of them ours, and how many times as long ours may take."""

    calls: Calls
    must: dict[str, float]


# ---------------------------------------------------------------------------------------------------------- sparse


def _laplacian(n: int) -> Any:
    line = sp.diags_array([2.0 * np.ones(n), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1])
    return sp.csc_array(sp.kron(line, sp.eye_array(n)) + sp.kron(sp.eye_array(n), line))


def poisson(n: int = 300) -> Against:
    """The compliance of a membrane with a stiffness of its own at each node, and its gradient in these."""
    rows, columns, data = sparse.find(_laplacian(n))
    density, load = RNG.uniform(0.5, 1.5, n * n), np.full(n * n, 1.0 / n**2)

    def stiffness(density: Any) -> Any:
        return sp.csc_array((data * (density[rows] + density[columns]) / 2, (rows, columns)), shape=(n * n, n * n))

    ours = wg.jit(wg.value_and_grad(lambda density: load @ spsolve(stiffness(density), load)))
    a = stiffness(density)
    own = lambda: ours(density * next(FACTORS))
    return Against({"wengert": own, "one solve": lambda: spsolve(a, load)}, {"one solve": 3.0})


def helmholtz(n: int = 200) -> Against:
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
    return Against({"wengert": own, "one solve": lambda: spsolve(whole, source)}, {"one solve": 2.2})


# ------------------------------------------------------------------------------------------------------ statistics


def hierarchical(groups: int = 200, each: int = 10) -> Against:
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
    return Against(calls, {"wengert, by hand": 1.2, "autograd, by hand": 1 / 20})


def gaussian_process(n: int = 300) -> Against:
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
    return Against(calls, {"jax": 1.3})


# ----------------------------------------------------------------------------------------------- signals, solutions


def filtered(n: int = 100_000) -> Against:
    b, a = np.array([0.0048, 0.0193, 0.0289, 0.0193, 0.0048]), np.array([1.0, -2.37, 2.314, -1.0547, 0.1874])
    x, weights = RNG.normal(size=n), RNG.normal(size=n)
    ours = wg.jit(wg.value_and_grad(lambda b, a, x: weights @ signal.lfilter(b, a, x), argnums=(0, 1, 2)))
    return Against(
        {"wengert": lambda: ours(b, a, x), "SciPy's lfilter": lambda: signal.lfilter(b, a, x)}, {"SciPy's lfilter": 4.0}
    )


def fitted(n: int = 200) -> Against:
    """A curve is fitted, and the parameters differentiated with respect to the data."""
    t = np.linspace(0, 4, n)
    y = 2.5 * np.exp(-1.3 * t) + 0.5 + 0.01 * RNG.normal(size=n)
    model = lambda t, a, b, c: a * np.exp(-b * t) + c
    fit = lambda y: optimize.curve_fit(model, t, y, (1.0, 1.0, 0.0))[0]
    value, ours = wg.jit(fit), wg.jit(wg.value_and_grad(lambda y: fit(y)[1]))
    return Against({"wengert": lambda: ours(y), "the fit alone": lambda: value(y), "SciPy's fit": lambda: fit(y)}, {})


def minimized(n: int = 10) -> Against:
    """Rosenbrock's valley with a parameter, by BFGS, and the minimum differentiated with respect to it."""
    start = np.full(n, 0.5)
    valley = lambda x, p: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (p - x[:-1]) ** 2)
    found = lambda p: optimize.minimize(valley, start, args=(p,), method="BFGS", tol=1e-8).x
    value, ours = wg.jit(found), wg.jit(wg.value_and_grad(lambda p: np.sum(found(p))))
    return Against(
        {"wengert": lambda: ours(1.1), "the minimum alone": lambda: value(1.1), "SciPy's": lambda: found(1.1)}, {}
    )


WORKLOADS: dict[str, Callable[[], Against]] = {
    "Poisson 300 x 300": poisson,
    "Helmholtz 200 x 200": helmholtz,
    "hierarchical model, 200 groups": hierarchical,
    "Gaussian process, n=300": gaussian_process,
    "lfilter, n=1e5": filtered,
    "curve_fit": fitted,
    "minimize": minimized,
}


def main() -> None:
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    rounds, budget_s = (2, 0.3) if "--quick" in sys.argv else (5, 1.0)
    table = Table("workload", "what", "least / median", "ours takes (may take)")
    for name, make in WORKLOADS.items():
        if names and not any(part in name for part in names):
            continue
        calls, must = make()
        timings = alternately(calls, rounds, budget_s)
        first = timings["wengert"]
        for what, timing in timings.items():
            ratio = f"{first.least / timing.least:.3g}, median {first.median / timing.median:.3g}"
            wanted = f" ({must[what]:.3g})" if what in must else ""
            table.add_row(name, what, f"{show(timing.least)} / {show(timing.median)}", f"{ratio}{wanted}")
            name = ""
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
