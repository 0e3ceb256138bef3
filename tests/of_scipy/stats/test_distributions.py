"""All of SciPy's univariate distributions, on traced arguments: values, and derivatives in every argument."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.stats._distr_params import distcont

import wengert as wg
from wengert.errors import MissingRuleError

CONTINUOUS = {name: tuple(map(float, shapes)) for name, shapes in distcont if isinstance(name, str)}
CONTINUOUS |= {"fatiguelife": (2.0,), "kappa4": (0.2, 0.3)}
OF_X = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")
OF_Q = ("ppf", "isf")
LOC, SCALE = 0.3, 1.7

# SciPy integrates numerically, and takes seconds for the differences.
SLOW = {"gausshyper", "genhyperbolic", "geninvgauss", "levy_stable", "norminvgauss", "studentized_range"}
NO_DENSITY_SLOPE = {"ksone", "kstwo"}
COUNTS = {"erlang", "irwinhall", "ksone", "kstwo"}
"""Their shape is an integer."""


def points(name):
    d = getattr(stats, name)
    q = np.array([0.21, 0.53, 0.72])
    return d, d.ppf(q, *CONTINUOUS[name], LOC, SCALE), q


def differences(f, args, k):
    h = 1e-4 * max(1e-2, float(np.max(np.abs(args[k]))))

    def at(t):
        return f(*[x + t * h if j == k else x for j, x in enumerate(args)])

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)


def check(f, args, rtol=2e-5):
    expected = f(*args)
    y, pullback = wg.vjp(f, *args)
    np.testing.assert_allclose(y, expected, rtol=1e-10, atol=1e-14)
    ct = np.random.default_rng(0).standard_normal(np.shape(y))
    cts = pullback(ct)
    for k in range(len(args)):
        slopes = differences(f, args, k)
        actual = np.asarray(wg.jvp(f, args, [np.ones_like(a) if j == k else 0.0 * a for j, a in enumerate(args)])[1])
        size = np.max(np.abs(slopes), axis=tuple(range(1, slopes.ndim)), keepdims=True)
        np.testing.assert_allclose(actual / (size + 1e-3), slopes / (size + 1e-3), rtol=rtol, atol=rtol)
        np.testing.assert_allclose(np.sum(cts[k]), np.sum(ct * actual), rtol=1e-9, atol=1e-9)


@pytest.mark.sampled(51, "a hundred distributions")
@pytest.mark.parametrize("name", sorted(set(CONTINUOUS) - SLOW))
def test_continuous(name):
    d, x, q = points(name)
    shapes = CONTINUOUS[name]
    names = [m for m in OF_X if not (name in NO_DENSITY_SLOPE and "pdf" in m)]

    def f(x, q, *params):
        rows = [getattr(d, m)(x, *params) for m in names]
        return np.stack(rows + [getattr(d, m)(q, *params) for m in OF_Q])

    args = [x, q, *[np.full(3, s) for s in (*shapes, LOC, SCALE)]]
    if name in COUNTS:
        n = args.pop(2)
        check(lambda x, q, loc, scale: f(x, q, n, loc, scale), args)
        return
    check(f, args)


def test_norm_logpdf_is_the_formula():
    x, c = np.linspace(-1, 1, 5), np.log(np.sqrt(2 * np.pi))
    tape = wg.trace(lambda m, s: stats.norm.logpdf(x, m, s))(0.1, 2.0)
    by_hand = wg.trace(lambda m, s: -(((x - m) / s) ** 2) / 2.0 - c - np.log(s))(0.1, 2.0)
    assert [i.op for i in tape.instrs] == [i.op for i in by_hand.instrs]


def test_against_mpmath():
    with mpmath.workdps(30):
        expected = mpmath.diff(lambda a: mpmath.gammainc(a, 0, 1.7, regularized=True), 2.5)
        assert math.isclose(wg.grad(lambda a: stats.gamma.cdf(1.7, a))(2.5), expected, rel_tol=1e-9)
        expected = mpmath.diff(lambda a: (a - 1) * mpmath.log(1.7) - 1.7 - mpmath.loggamma(a), 2.5)
        assert math.isclose(wg.grad(lambda a: stats.gamma.logpdf(1.7, a))(2.5), expected, rel_tol=1e-12)
        expected = mpmath.diff(lambda b: mpmath.betainc(2, b, 0, 0.3, regularized=True), 3)
        assert math.isclose(wg.grad(lambda b: stats.beta.cdf(0.3, 2.0, b))(3.0), expected, rel_tol=1e-9)


def test_parameters_that_are_not_allowed_are_nan():
    x = np.array([0.5, 1.0, np.nan])
    for f in (
        lambda s: stats.norm.logpdf(x, 0.0, s),
        lambda s: stats.gamma.pdf(x, 2.0, scale=s),
        lambda s: stats.norm.cdf(x, 0.0, s),
        lambda s: stats.norm.ppf(0.3, 0.0, s),
        lambda s: stats.gamma.logsf(x, s),
        lambda s: stats.gamma.entropy(s),
        lambda s: stats.gamma.mean(s),
        lambda s: stats.triang.pdf(x, s),
    ):
        for s in (-1.0, 0.0, 2.0, np.array([0.0, 1.0, 2.0])):
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(np.isnan(wg.jit(f)(s)), np.isnan(f(s)))


@pytest.mark.deep("more than a second")
def test_outside_of_the_support():
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, np.inf, -np.inf, np.nan])
    for d, shapes in (
        (stats.expon, ()),
        (stats.beta, (2.0, 3.0)),
        (stats.beta, (0.5, 0.5)),
        (stats.uniform, ()),
        (stats.gamma, (1.5,)),
        (stats.lognorm, (0.7,)),
        (stats.pareto, (2.0,)),
        (stats.truncnorm, (-0.5, 0.7)),
        (stats.norm, ()),
        (stats.t, (4.0,)),
        (stats.invgamma, (2.0,)),
        (stats.powerlaw, (0.5,)),
        (stats.weibull_max, (2.0,)),
        (stats.levy, ()),
        (stats.triang, (0.3,)),
        (stats.johnsonsb, (0.5, 2.0)),
    ):
        for m in OF_X:
            f = getattr(d, m)
            with np.errstate(all="ignore"):
                expected = f(x, *shapes, 0.0, 1.0)
            y, pullback = wg.vjp(lambda x, s, f=f, shapes=shapes: f(x, *shapes, 0.0, s), x, 1.0)
            np.testing.assert_allclose(y, expected, rtol=1e-12, err_msg=f"{d.name}.{m}")
            a, b = d.support(*shapes)
            is_out = (x < a) | (x > b)
            ct_x, _ = pullback(np.where(np.isfinite(y), 1.0, 0.0) * ~is_out)
            assert np.isfinite(ct_x[is_out]).all(), f"{d.name}.{m}"
        q = np.array([-0.1, 0.0, 0.3, 1.0, 1.1, np.nan])
        for m in OF_Q:
            f = getattr(d, m)
            np.testing.assert_allclose(
                wg.jit(lambda q, s, f=f, shapes=shapes: f(q, *shapes, 0.5, s))(q, 2.0),
                f(q, *shapes, 0.5, 2.0),
                rtol=1e-12,
            )


def test_frozen_and_keywords():
    x = np.array([0.5, 1.0])

    def f(a, s):
        d = stats.gamma(a, scale=s)
        total = d.logpdf(x) + d.cdf(x) + d.ppf(x / 2) + d.mean() + d.std() + d.entropy() + d.median()
        return np.sum(total) + np.sum(d.isf(0.3)) + sum(d.stats("mv")) + d.var()

    check(lambda a, s: np.reshape(f(a, s), 1), [np.float64(1.5), np.float64(0.7)])
    outside = stats.norm(0.3, 1.2)
    assert wg.grad(outside.logpdf)(1.0) == pytest.approx(-0.7 / 1.44)
    np.testing.assert_allclose(wg.grad(lambda m: stats.norm.logpdf(1.0, scale=2.0, loc=m))(0.5), 0.125, rtol=1e-12)


@pytest.mark.sampled(11, "each twenty times")
@pytest.mark.parametrize("name", ["norm", "gamma", "beta", "t", "truncnorm", "skewnorm", "invgauss", "genextreme"])
def test_second_order_jit_and_vmap(name):
    d, x, _ = points(name)
    params = [*CONTINUOUS[name], LOC, SCALE]
    x0 = float(x[1])

    def f(p):
        return d.logpdf(x0, *p) + d.cdf(x0, *p) + d.ppf(0.4, *p)

    p = np.array(params)
    hessian = wg.jit(wg.hessian(f))(p)
    h = 1e-5
    for k in range(len(p)):
        e = h * (np.arange(len(p)) == k)
        expected = (wg.grad(f)(p + e) - wg.grad(f)(p - e)) / (2 * h)
        np.testing.assert_allclose(hessian[k], expected, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(wg.jit(wg.grad(f))(p), wg.grad(f)(p), rtol=1e-10)
    several = np.stack([p, p * 1.01])
    rows = wg.vmap(wg.grad(f))(several)
    np.testing.assert_allclose(rows, [wg.grad(f)(row) for row in several], rtol=1e-9)


def test_dtypes_are_scipys():
    for x in (np.float32(0.5), np.arange(1, 4, dtype=np.float32), np.arange(1, 4), 1, np.zeros((0, 2)), [0.5, 1.0]):
        for f in (stats.norm.logpdf, stats.expon.cdf, lambda x: stats.gamma.pdf(x, 2), lambda x: stats.t.logsf(x, 3)):
            expected, actual = f(x), wg.jit(f)(x)
            assert np.asarray(actual).dtype == np.asarray(expected).dtype
            assert np.shape(actual) == np.shape(expected)
            np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_a_distribution_of_the_users():
    class Ramp(stats.rv_continuous):
        def _pdf(self, x, c):
            return 2 * x / c**2

        def _argcheck(self, c):
            return c > 0

        def _get_support(self, c):
            return 0.0, c

    ramp = Ramp(name="ramp")

    def f(x, c):
        return np.stack([ramp.pdf(x, c), ramp.logpdf(x, c), ramp.cdf(x, c), ramp.sf(x, c), ramp.ppf(0.3 + 0 * x, c)])

    check(f, [np.array([0.3, 0.6]), np.array([1.5, 1.5])])


def test_what_has_no_derivative_says_so():
    with pytest.raises(MissingRuleError, match="counts"):
        wg.grad(lambda n: stats.ksone.cdf(0.1, n))(10.0)
    with pytest.raises(MissingRuleError, match="density"):
        wg.grad(lambda x: stats.kstwo.pdf(x, 10))(0.3)


def test_at_the_ends_of_what_parameters_may_be_the_derivative_is_the_one_sided_one() -> None:
    assert wg.grad(lambda b: stats.rice.logpdf(1.3, b))(0.0) == 0.0
    assert wg.grad(lambda k: stats.vonmises.logpdf(0.3, k))(0.0) == pytest.approx(np.cos(0.3), rel=1e-14)
    assert wg.grad(lambda k: stats.vonmises.pdf(0.3, k))(0.0) == pytest.approx(np.cos(0.3) / (2 * np.pi), rel=1e-14)


def test_moments_of_any_order() -> None:
    def moments(p: Any) -> Any:
        gamma, poisson = stats.gamma(p[0], loc=p[1], scale=p[2]), stats.poisson
        return np.stack([*[gamma.moment(n) for n in range(7)], *[poisson.moment(n, p[0], loc=p[1]) for n in (1, 3)]])

    p = np.array([2.3, 0.4, 1.3])
    np.testing.assert_allclose(wg.jit(moments)(p), moments(p), rtol=1e-12)
    wg.check_derivatives(moments, p, order=2)
    assert wg.grad(lambda s: stats.norm.moment(2, scale=s))(1.5) == pytest.approx(3.0, rel=1e-14)
    with pytest.raises(ValueError, match="must be positive"):
        wg.grad(lambda s: stats.norm.moment(-1, scale=s))(1.5)


EXPECTED = {
    "scale": lambda s: stats.norm.expect(lambda z: z**2, scale=s),
    "frozen": lambda s: stats.norm(s, s).expect(lambda z: z**2 * s),
    "conditional": lambda s: stats.norm.expect(lambda z: z**2, scale=s, conditional=True),
    "a bound": lambda s: stats.norm.expect(lambda z: z**2, scale=s, lb=-s, conditional=True),
    "bounds at infinity": lambda s: stats.norm.expect(lambda z: z**2, scale=s, lb=-np.inf * s, ub=np.inf),
    "half a line": lambda s: stats.gamma.expect(lambda z: z**2, args=(s + 1,), loc=s, scale=s),
    "a finite support": lambda s: stats.powerlaw.expect(lambda z: z**2, args=(s + 2,), loc=s, scale=s),
    "a support of shapes": lambda s: stats.truncnorm.expect(lambda z: z**2, args=(-s, np.inf), scale=s),
    "mean": lambda s: stats.t.expect(args=(s + 5,), loc=s, scale=s),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_expectations(name):
    f = EXPECTED[name]
    slope = (f(1.3 + 1e-4) - f(1.3 - 1e-4)) / 2e-4
    value, by_reverse = wg.value_and_grad(f)(1.3)
    np.testing.assert_allclose(value, f(1.3), rtol=1e-14)
    np.testing.assert_allclose([by_reverse, wg.jvp(f, (1.3,), (1.0,))[1]], slope, rtol=1e-6)
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(np.array([1.3])) if "infinity" not in name else slope, slope, 1e-6)
    np.testing.assert_allclose(wg.jit(wg.grad(f), strict=True)(1.3), slope, rtol=1e-6)


INTEGRATED = {
    "vonmises": ((1.3,), 0.3),
    "norminvgauss": ((1.5, 0.4), 0.2),
    "genhyperbolic": ((0.5, 1.4, 0.3), 0.2),
    "geninvgauss": ((1.5, 0.4), 1.2),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.deep("seconds each")) if "hyper" in name or "norm" in name else name
        for name in INTEGRATED
    ],
)
def test_mixed_second_derivatives_of_an_integral(name):
    """∂²F/∂x∂θ is ∂p/∂θ; in loc it is that with the other sign."""
    d = getattr(stats, name)
    shapes, x = INTEGRATED[name]
    loc, scale = 0.1, 1.2
    at = np.array([x + loc, *shapes, loc, scale])
    by_hand = np.asarray(wg.grad(lambda q: d.pdf(*q))(at))[1:-2]
    second = np.asarray(wg.hessian(lambda q: d.cdf(*q))(at))
    np.testing.assert_allclose(second[0, 1:-2], by_hand, rtol=1e-7)
    np.testing.assert_allclose(second[-2, 1:-2], -by_hand, rtol=1e-7)
    np.testing.assert_allclose(second, second.T, rtol=1e-9, atol=1e-12)
    for method, first in (("logsf", at[0]), ("ppf", 0.3)):
        near, f = np.array([first, *at[1:]]), getattr(d, method)
        second = np.asarray(wg.hessian(lambda q, f=f: f(*q))(near))
        np.testing.assert_allclose(second, second.T, rtol=1e-8, atol=1e-9)
        slope, h = wg.grad(lambda q, f=f: f(*q)), 1e-4 * np.eye(len(at))[0]
        difference = (8 * (slope(near + h) - slope(near - h)) - slope(near + 2 * h) + slope(near - 2 * h)) / 12e-4
        np.testing.assert_allclose(second[0], difference, rtol=1e-5, atol=1e-6)


def test_formulas_for_derivatives_stand_in_the_bodies_of_loops() -> None:
    """They captured an array of ones, which was a KeyError there."""
    at = np.array([0.2, 0.3, 0.4])
    each = lambda s: wg.scan(lambda c, t: (c + stats.beta.pdf(t, s + 2, 3.0), 0.0), 0.0, at)[0]
    whole = lambda s: np.sum(stats.beta.pdf(at, s + 2, 3.0))
    assert wg.grad(each)(1.3) == pytest.approx(wg.grad(whole)(1.3), rel=1e-13)
