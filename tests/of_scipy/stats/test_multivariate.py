"""SciPy's multivariate distributions: values, and derivatives in every argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import wengert as wg
from wengert.errors import UnsupportedFunctionError

rng = np.random.default_rng(0)
A = rng.standard_normal((3, 3))
C = A @ A.T + np.eye(3)
B = rng.standard_normal((2, 2))
D = B @ B.T + np.eye(2)
x = rng.standard_normal((4, 3))
m = rng.standard_normal(3)
X = np.stack([C, C + np.eye(3)], -1)
p = np.array([0.2, 0.3, 0.5])
al = np.array([1.5, 2.0, 3.0])
u = x / np.linalg.norm(x, axis=1, keepdims=True)
M = rng.standard_normal((5, 2, 3))
CASES = {
    "mvn": (lambda x, m, c: stats.multivariate_normal.logpdf(x, m, sym(c)), [x, m, C]),
    "mvn1": (lambda x, m, c: stats.multivariate_normal.pdf(x, m, c), [x[:, 0], np.float64(0.3), np.float64(2.0)]),
    "mvn frozen": (
        lambda x, m, c: (
            stats.multivariate_normal(m, sym(c)).pdf(x)
            + stats.multivariate_normal(m, sym(c), allow_singular=True).logpdf(x)
        ),
        [x, m, C],
    ),
    "mvn outer frozen": (stats.multivariate_normal(m, C).logpdf, [x]),
    "mvn ent": (lambda c: np.atleast_1d(stats.multivariate_normal.entropy(m, sym(c))), [C]),
    "mvt": (
        lambda x, m, c, d: (
            stats.multivariate_t.logpdf(x, m, sym(c), d)
            + stats.multivariate_t(m, sym(c), d).pdf(x)
            + stats.multivariate_t.entropy(m, sym(c), d)
        ),
        [x, m, C, np.float64(3.5)],
    ),
    "mvt outer": (stats.multivariate_t(m, C, 4).logpdf, [x]),
    "matn": (
        lambda X, m, r, c: (
            stats.matrix_normal.logpdf(X, m, sym(r), sym(c))
            + stats.matrix_normal(m, sym(r), sym(c)).pdf(X)
            + stats.matrix_normal.entropy(sym(r), sym(c))
        ),
        [M, M[0] * 0.5, D, C],
    ),
    "matn outer": (stats.matrix_normal(M[0], D, C).logpdf, [M]),
    "wish": (
        lambda X, d, s: (
            stats.wishart.logpdf((X + np.swapaxes(X, 0, 1)) / 2, d, sym(s))
            + stats.wishart(d, sym(s)).pdf((X + np.swapaxes(X, 0, 1)) / 2)
        ),
        [X, np.float64(4.5), C],
    ),
    "iwish": (
        lambda X, d, s: stats.invwishart.logpdf((X + np.swapaxes(X, 0, 1)) / 2, d, sym(s)),
        [X, np.float64(4.5), C],
    ),
    "wish m": (
        lambda d, s: (
            np.stack(
                [
                    stats.wishart.mean(d, sym(s)),
                    stats.wishart.mode(d, sym(s)),
                    stats.wishart.var(d, sym(s)),
                    stats.invwishart.mean(d, sym(s)),
                    stats.invwishart.mode(d, sym(s)),
                    stats.invwishart.var(d, sym(s)),
                ]
            )
            + stats.wishart.entropy(d, sym(s))
            + 2 * stats.invwishart.entropy(d, sym(s))
        ),
        [np.float64(7.5), C],
    ),
    "wish outer": (stats.wishart(5, C).logpdf, [X]),
    "iwish outer": (stats.invwishart(5, C).logpdf, [X]),
    "dir": (
        lambda a: (
            stats.dirichlet.logpdf(p, a)
            + stats.dirichlet(a).pdf(np.stack([p, p[::-1]], 1))
            + stats.dirichlet.mean(a).sum() * stats.dirichlet.entropy(a)
            + stats.dirichlet.var(a)[:2]
            + stats.dirichlet.cov(a)[:2, 0]
        ),
        [al],
    ),
    "dir x": (lambda x: np.atleast_1d(stats.dirichlet.logpdf(x, al)), [p[:2]]),
    "mult": (
        lambda q: (
            stats.multinomial.logpmf([[1, 2, 3], [2, 2, 2]], 6, q / q.sum())
            + stats.multinomial.entropy(6, q / q.sum())
            + stats.multinomial(6, q / q.sum()).mean()[:2]
            + stats.multinomial.cov(6, q / q.sum())[:2, 0]
        ),
        [p],
    ),
    "dm": (
        lambda a: (
            stats.dirichlet_multinomial.logpmf([[1, 2, 3], [2, 2, 2]], a, 6)
            + stats.dirichlet_multinomial(a, 6).mean()[:2]
            + stats.dirichlet_multinomial.var(a, 6)[:2]
            + stats.dirichlet_multinomial.cov(a, 6)[:2, 0]
        ),
        [al],
    ),
    "vmf": (
        lambda m, k: (
            stats.vonmises_fisher.logpdf(u, m / np.sqrt(m @ m), k)
            + stats.vonmises_fisher(m / np.sqrt(m @ m), k).entropy()
            + stats.vonmises_fisher.pdf(u, m / np.sqrt(m @ m), k)
        ),
        [m, np.float64(2.0)],
    ),
    "nig": (
        lambda x, s, *q: (
            stats.normal_inverse_gamma.logpdf(x, s, *q)
            + stats.normal_inverse_gamma(*q).pdf(x, s)
            + sum(stats.normal_inverse_gamma.mean(*q))
            + sum(stats.normal_inverse_gamma.var(*q))
        ),
        [
            np.array([0.5, 1.0]),
            np.array([0.7, 2.0]),
            np.float64(0.3),
            np.float64(1.2),
            np.float64(3.0),
            np.float64(2.0),
        ],
    ),
}
if hasattr(stats, "matrix_t"):  # since SciPy 1.17
    CASES["matt"] = (
        lambda X, m, r, c, d: stats.matrix_t.logpdf(X, m, sym(r), sym(c), d),
        [M, M[0] * 0.5, D, C, np.float64(3.5)],
    )
    CASES["matt outer"] = (stats.matrix_t(M[0], D, C, 4.0).logpdf, [M])


def sym(c):
    return (c + np.swapaxes(c, 0, 1)) / 2


@pytest.mark.sampled(9, "two dozen functions")
@pytest.mark.parametrize("name", CASES)
def test_multivariate(name):
    f, args = CASES[name]
    expected = np.asarray(f(*args))
    y = wg.jit(f)(*args)
    np.testing.assert_allclose(y, expected, rtol=1e-9)
    assert np.shape(y) == expected.shape
    _, pullback = wg.vjp(f, *args)
    ct = np.random.default_rng(1).standard_normal(expected.shape)
    cts = pullback(ct)
    for k, a in enumerate(args):
        dx = np.random.default_rng(k).standard_normal(np.shape(a))
        h = 1e-5

        def along(t, k=k, dx=dx):
            return np.sum(ct * f(*[v + t * dx if j == k else v for j, v in enumerate(args)]))

        slope = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
        assert np.sum(cts[k] * dx) == pytest.approx(slope, rel=1e-6, abs=1e-6)
        tangents = [dx if j == k else np.zeros_like(v) for j, v in enumerate(args)]
        assert np.sum(ct * wg.jvp(f, args, tangents)[1]) == pytest.approx(np.sum(cts[k] * dx), rel=1e-9, abs=1e-9)


def test_second_order_and_batches():
    f = lambda m: stats.multivariate_normal.logpdf(x[0], m, C)
    np.testing.assert_allclose(wg.hessian(f)(m), -np.linalg.inv(C), rtol=1e-10)
    np.testing.assert_allclose(wg.vmap(f)(x), [f(row) for row in x], rtol=1e-12)
    g = lambda a: stats.dirichlet.logpdf(p, a)
    rows = np.stack([al, al + 1])
    np.testing.assert_allclose(wg.vmap(wg.grad(g))(rows), [wg.grad(g)(row) for row in rows], rtol=1e-12)


def test_singular_and_bad_parameters():
    singular = np.outer(m, m)
    expected = stats.multivariate_normal.logpdf(2 * m, m, singular, allow_singular=True)
    actual = wg.jit(lambda x: stats.multivariate_normal.logpdf(x, m, singular, allow_singular=True))(2 * m)
    np.testing.assert_allclose(actual, expected, rtol=1e-10)
    with pytest.raises(np.linalg.LinAlgError):
        wg.grad(lambda c: stats.multivariate_normal.logpdf(x[0], m, c))(-C)
    with pytest.raises(ValueError, match="greater than 0"):
        wg.grad(lambda a: stats.dirichlet.logpdf(p, a))(-al)
    with pytest.raises(ValueError, match="Degrees of freedom"):
        wg.grad(lambda n: stats.wishart.logpdf(C, n, C))(1.0)
    with pytest.raises(ValueError, match="square"):
        wg.grad(lambda x: stats.multivariate_normal.logpdf(x, m, C[:2]))(x[0])


DRAWN = {
    "multivariate_normal": (m, C),
    "multivariate_t": (m, C, 4.5),
    "matrix_normal": (M[0], D, C),
    "dirichlet": (al,),
    "wishart": (4.5, C),
    "invwishart": (4.5, C),
    "normal_inverse_gamma": (0.3, 1.2, 3.0, 2.0),
}


def seeded():
    return np.random.default_rng(3)


@pytest.mark.parametrize("name", [name for name in DRAWN if hasattr(stats, name)])
def test_numbers_are_scipys_frozen_or_not(name):
    dist, parameters = getattr(stats, name), DRAWN[name]
    ways = [
        lambda *p: dist.rvs(*p, size=3, random_state=seeded()),
        lambda *p: dist(*p).rvs(3, random_state=seeded()),
        lambda *p: dist(*p).rvs(1, seeded()),
    ]
    if name in ("multivariate_normal", "matrix_normal"):
        ways += [lambda *p: dist(*p, seed=3).rvs(), lambda *p: dist.rvs(*p, random_state=3)]
    for f in ways:
        drawn, expected = wg.vjp(f, *parameters)[0], f(*parameters)
        for a, b in zip(np.atleast_1d(drawn), np.atleast_1d(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
            assert np.shape(a) == np.shape(b)


@pytest.mark.deep("more than a second")
def test_derivatives_of_numbers_in_location_and_scale():
    scale = lambda c: stats.multivariate_normal(m, sym(c)).rvs(3, random_state=seeded())
    wg.check_derivatives(scale, C)
    wg.check_derivatives(lambda c: stats.multivariate_t.rvs(m, sym(c), 4.5, 3, seeded()), C)
    wg.check_derivatives(lambda s: stats.wishart(4.5, sym(s)).rvs(2, random_state=seeded()), C)
    wg.check_derivatives(lambda s: stats.invwishart.rvs(4.5, sym(s), 2, seeded()), C)
    north = np.array([0.6, 0.0, 0.8])
    wg.check_derivatives(lambda k: stats.vonmises_fisher.rvs(north, k, 3, seeded()), 2.0)


def test_derivatives_of_numbers_by_hand():
    total = lambda p: stats.multivariate_normal(p, np.eye(2)).rvs(4, random_state=seeded()).sum()
    np.testing.assert_allclose(wg.grad(total)(p[:2]), [4.0, 4.0])
    mean = lambda n, rng: np.mean(stats.wishart(n, np.eye(2)).rvs(20_000, random_state=rng)[:, 0, 0])
    assert float(wg.grad(mean)(4.5, seeded())) == pytest.approx(1.0, abs=0.05)  # n is the mean


def test_numbers_by_an_object_for_the_covariance():
    for cov in (stats.Covariance.from_diagonal([1.0, 2.0, 3.0]), stats.Covariance.from_cholesky(np.linalg.cholesky(C))):
        f = lambda p, cov=cov: stats.multivariate_normal(p, cov).rvs(3, random_state=seeded())
        np.testing.assert_allclose(wg.vjp(f, m)[0], f(m), rtol=1e-12)


def test_arguments_of_frozen_methods():
    outside = stats.multivariate_normal(m, C)
    calls = [
        lambda m, x: outside.logpdf(x=x) + 0 * m[0],
        lambda m, x: stats.multivariate_normal(m, cov=C).pdf(x=x),
        lambda m, x: x @ stats.multivariate_normal(m, C).mean,
    ]
    if hasattr(outside, "marginal"):
        calls.append(lambda m, x: stats.multivariate_normal(m, C).marginal([0, 1]).logpdf(x[:, :2]))
    for f in calls:
        np.testing.assert_allclose(wg.vjp(f, m, x)[0], f(m, x), rtol=1e-12)
    frozen = lambda m: stats.multivariate_normal(m, C)
    for call in (lambda m: frozen(m).logpdf(x, x=x), lambda m: frozen(m).logpdf(), lambda m: frozen(m).entropy(x)):
        with pytest.raises(TypeError):
            call(m)
        with pytest.raises(TypeError):
            wg.vjp(call, m)
    with pytest.raises(AttributeError, match="frozen multivariate_normal of traced"):
        wg.vjp(lambda m: frozen(m).abseps, m)


def test_what_is_drawn_or_counted_otherwise_is_refused_by_its_name():
    normal, student = stats.multivariate_normal(m, C), stats.multivariate_t(m, C, 4)
    refused = {
        "scipy.stats.multivariate_normal.cdf": [
            lambda v: stats.multivariate_normal(v, C).cdf(m),
            lambda v: stats.multivariate_normal.cdf(v, m, C),
            normal.cdf,
            lambda v: normal.cdf(m, lower_limit=v),
        ],
        "scipy.stats.multivariate_normal.logcdf": [lambda v: stats.multivariate_normal.logcdf(m, v, C)],
        "scipy.stats.multivariate_t.cdf": [student.cdf, lambda v: stats.multivariate_t(v, C, 4).cdf(m)],
        "scipy.stats.multinomial.rvs": [lambda v: stats.multinomial(5, v**2 / np.sum(v**2)).rvs()],
        "scipy.stats.dirichlet.rvs": [lambda v: stats.dirichlet(v**2).rvs(random_state=3)],
        "scipy.stats.vonmises_fisher.rvs": [
            lambda v: stats.vonmises_fisher(v / np.sqrt(v @ v), 2.0).rvs(random_state=seeded()),
            lambda v: stats.vonmises_fisher(np.array([0.6, 0.8]), v[0] ** 2).rvs(random_state=seeded()),
        ],
        "in the body of a loop": [
            lambda v: wg.scan(lambda c, _: (c + stats.multivariate_normal(c, C).rvs(random_state=seeded()), c), v, x)[0]
        ],
    }
    for words, calls in refused.items():
        for call in calls:
            with pytest.raises(UnsupportedFunctionError, match=words) as error:
                wg.vjp(call, m)
            assert "test_multivariate.py" in str(error.value)
    if hasattr(stats, "matrix_t"):
        with pytest.raises(UnsupportedFunctionError, match=r"scipy.stats.matrix_t.rvs"):
            wg.vjp(lambda n: stats.matrix_t(M[0], D, C, n).rvs(random_state=seeded()), 5.0)


@pytest.mark.skipif(not hasattr(stats, "Normal"), reason="since SciPy 1.15")
def test_a_captured_distribution_of_constants_keeps_nothing_in_a_trace():
    """SciPy keeps its support and constants when they are first asked for: a compiled function must not write them."""
    normal: Any = stats.Normal
    captured = normal(mu=1.0, sigma=2.0)

    def f(t):
        ends = captured.support()[1] > 0
        return captured.logpdf(t) + captured.cdf(t) * ends + captured.icdf(t) + normal(mu=t, sigma=2.0).pdf(0.5)

    jitted, other = wg.jit(f), normal(mu=1.0, sigma=2.0)
    expected = other.logpdf(0.3) + other.cdf(0.3) + other.icdf(0.3) + normal(mu=0.3, sigma=2.0).pdf(0.5)
    np.testing.assert_allclose([jitted(0.3), jitted(0.3)], expected, rtol=1e-12)
    assert (captured._support_cache, jitted.stats()["plain"]) == (None, 0)
    policies = wg.vjp(
        lambda t: (t, [captured.cache_policy, normal(cache_policy="no_cache").cache_policy]), 1.0, has_aux=True
    )
    assert policies[-1] == [None, "no_cache"]
    np.testing.assert_allclose(f(0.3), expected, rtol=1e-12)
    assert captured._support_cache is not None  # Python's run has kept it
    np.testing.assert_allclose(jitted(0.3), expected, rtol=1e-12)
    if hasattr(stats, "Uniform"):
        flat = stats.Uniform(a=0.0, b=2.0)
        np.testing.assert_allclose(wg.jit(lambda t: flat.skewness() + flat.cdf(t))(0.5), 0.25, atol=1e-12)
