"""SciPy's multivariate distributions: values, and derivatives in every argument."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import wengert as wg

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
    "matt": (
        lambda X, m, r, c, d: stats.matrix_t.logpdf(X, m, sym(r), sym(c), d),
        [M, M[0] * 0.5, D, C, np.float64(3.5)],
    ),
    "matn outer": (stats.matrix_normal(M[0], D, C).logpdf, [M]),
    "matt outer": (stats.matrix_t(M[0], D, C, 4.0).logpdf, [M]),
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
