"""Functions that are traced through SciPy's own array code, without a rule or an interception of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy import fftpack, integrate, linalg, optimize, signal
from scipy.stats import contingency, qmc

from tests.of_scipy.checking import Case, case, check_batch, check_derivative, check_value, four_tests
from tools.scipy_names import OWN_CODE, listed
from wengert.errors import ConcretizationError

stats: Any = scipy.stats

rng = np.random.default_rng(0)
x, y, p = rng.random(9) + 0.5, rng.random(9) + 0.5, rng.random(2) + 0.5
X = rng.random((6, 3)) + 0.5


def of(found: Any) -> Any:
    """All methods of a distribution at an outcome, and what it is on average."""
    at = [found.pdf(0.9), found.logpdf(0.8), found.cdf(0.7), found.logcdf(0.9), found.ccdf(0.6), found.logccdf(0.6)]
    return np.stack([np.asarray(a) if np.isscalar(a) else a for a in at])


CASES = [
    case("optimize.rosen", optimize.rosen, x),
    case("optimize.rosen_der", optimize.rosen_der, x),
    case("integrate.trapezoid", lambda y, x: integrate.trapezoid(y, np.cumsum(x)), x, y),
    case("fftpack.fftshift", fftpack.fftshift, X),
    case("fftpack.ifftshift", fftpack.ifftshift, X),
    case("signal.firwin_2d", lambda c: signal.firwin_2d((3, 3), ("hamming", "hamming"), fc=c), np.float64(0.3)),
    case("linalg.solve_lyapunov", lambda a, q: linalg.solve_lyapunov(a, q), X[:3], np.eye(3)),
    case("stats.Normal", lambda p: of(stats.Normal(mu=p[0], sigma=p[1])), p),
    case(
        "stats.Normal-2",
        lambda p: (lambda d: np.stack([d.icdf(0.3), d.iccdf(0.2), d.entropy(), d.mean(), d.variance()]))(
            stats.Normal(mu=p[0], sigma=p[1])
        ),
        p,
    ),
    case("stats.Uniform", lambda p: of(stats.Uniform(a=p[0] - 1, b=p[1] + 2)), p),
    case("stats.Logistic", lambda p: stats.Logistic().logpdf(p) + stats.Logistic().cdf(p), p),
    case("stats.Binomial", lambda p: stats.Binomial(n=9, p=p / 2).logpmf(3) + stats.Binomial(n=9, p=p / 2).mean(), p),
    case("stats.abs", lambda p: stats.abs(stats.Normal(mu=p[0], sigma=p[1])).pdf(0.9), p),
    case("stats.exp", lambda p: stats.exp(stats.Normal(mu=p[0], sigma=p[1])).pdf(0.9), p),
    case("stats.log", lambda p: stats.log(stats.Uniform(a=p[0], b=p[1] + 2)).pdf(0.9), p),
    case(
        "stats.order_statistic",
        lambda p: stats.order_statistic(stats.Normal(mu=p[0], sigma=p[1]), r=2, n=4).pdf(0.9),
        p,
    ),
    case("stats.quantile", lambda x: stats.quantile(x, 0.3), x),
    case("stats.lmoment", lambda x: stats.lmoment(x), x),
    case("stats.rv_histogram", lambda h, x: stats.rv_histogram((h, np.arange(10.0))).pdf(x * 3), y, x),
    case("stats.ecdf", lambda x: stats.ecdf(x).cdf.quantiles, x),
    case("stats.expectile", lambda x: stats.expectile(x, 0.3), x),
    case("stats.kstat", lambda x: stats.kstat(x, 3) + stats.kstatvar(x), x),
    case("stats.bayes_mvs", lambda x: np.stack([a.statistic for a in stats.bayes_mvs(x)]), x),
    case("stats.mvsdist", lambda x: np.stack([a.mean() for a in stats.mvsdist(x)]), x),
    case("stats.tukey_hsd", lambda x, y: stats.tukey_hsd(x, y).statistic, x, y),
    case("stats.alexandergovern", lambda x, y: stats.alexandergovern(x, y).statistic, x, y),
    case("stats.anderson", lambda x: stats.anderson(x, method="interpolate").statistic, x),
    case("stats.cramervonmises", lambda x: stats.cramervonmises(x, "norm").statistic, x),
    case("stats.cramervonmises_2samp", lambda x, y: 0 * x[0] + stats.cramervonmises_2samp(x, y).statistic, x, y),
    case("stats.ks_1samp", lambda x: stats.ks_1samp(x, stats.norm.cdf).statistic, x),
    case("stats.kstest", lambda x: stats.kstest(x, stats.norm.cdf).statistic, x),
    case("stats.chi2_contingency", lambda X: np.stack(stats.chi2_contingency(X)[:2]), X),
    case("stats.false_discovery_control", lambda x: stats.false_discovery_control(x / 2), x),
    case("stats.probplot", lambda x: np.stack(stats.probplot(x)[1]), x),
    case("stats.theilslopes", lambda x, y: np.stack(stats.theilslopes(x, y)), x, y),
    case("stats.Covariance", lambda x: stats.Covariance.from_diagonal(x).whiten(np.ones(9)), x),
    case("stats.directional_stats", lambda X: stats.directional_stats(X).mean_direction, X),
    case("stats.logrank", lambda x, y: 0 * x[0] + stats.logrank(x, y).statistic, x, y),
    case("stats.sigmaclip", lambda x: stats.sigmaclip(x, 2.0, 2.0)[0], x),
    case("stats.contingency.expected_freq", contingency.expected_freq, X),
    case("stats.contingency.margins", lambda X: contingency.margins(X)[0], X),
    case("integrate.cubature", lambda p: integrate.cubature(lambda x: np.sin(p[0] * x[:, 0]), [0], [1]).estimate, p),
]


FIRST_DERIVATIVE_ALONE = [
    case("stats.qmc.scale", lambda p: qmc.scale(np.array([[0.1, 0.2], [0.3, 0.4]]), p, p + 2), p),
    case("stats.qmc.geometric_discrepancy", lambda x: qmc.geometric_discrepancy(x.reshape(3, 3) / 2), x),
    case(
        "stats.sobol_indices",
        lambda x: (
            stats.sobol_indices(
                func=lambda z: x[0] * z[0] ** 2 + z[1],
                n=64,
                dists=[stats.uniform, stats.uniform],
                rng=np.random.default_rng(0),
            ).first_order
        ),
        p,
    ),
    case(
        "stats.bootstrap",
        lambda x: stats.bootstrap((x,), np.mean, rng=np.random.default_rng(0), method="basic").standard_error,
        x,
    ),
    case(
        "stats.monte_carlo_test",
        lambda x: (
            stats.monte_carlo_test(
                x, lambda size: np.random.default_rng(0).normal(size=size), np.mean, vectorized=False, n_resamples=9
            ).statistic
        ),
        x,
    ),
    case(
        "stats.permutation_test",
        lambda x, y: (
            stats.permutation_test(
                (x, y),
                lambda a, b: np.mean(a) - np.mean(b),
                n_resamples=9,
                vectorized=False,
                rng=np.random.default_rng(0),
            ).statistic
        ),
        x,
        y,
    ),
    case("stats.studentized_range", lambda q: stats.studentized_range.cdf(q, 3, 10), np.float64(2.7)),
]
"""These draw random numbers, so that nothing is compiled, or SciPy integrates their second derivative away."""

LOOKED_AT = [
    "signal.firwin_2d",
    "stats.Normal",
    "stats.Normal-2",
    "stats.Uniform",
    "stats.Logistic",
    "stats.Binomial",
    "stats.abs",
    "stats.ecdf",
    "stats.exp",
    "stats.expectile",
    "stats.log",
    "stats.tukey_hsd",
    "stats.order_statistic",
    "stats.quantile",
    "stats.theilslopes",
    "stats.anderson",
    "stats.cramervonmises",
    "stats.cramervonmises_2samp",
    "stats.logrank",
    "stats.ks_1samp",
    "stats.sigmaclip",
    "stats.kstest",
    "stats.chi2_contingency",
    "stats.false_discovery_control",
    "integrate.cubature",
]
"""Functions that look at values, which an example of a batch has not."""

test_value_and_derivative, test_second_derivative, test_batch, test_compiled = four_tests(CASES, 5, LOOKED_AT)


@pytest.mark.sampled(5, "every function")
@pytest.mark.parametrize("one", FIRST_DERIVATIVE_ALONE, ids=lambda one: one.name)
def test_first_derivative(one: Case) -> None:
    check_value(one)
    check_derivative(one)


@pytest.mark.sampled(7, "every function")
@pytest.mark.parametrize("one", [one for one in CASES if one.name in LOOKED_AT], ids=lambda one: one.name)
def test_values_that_are_looked_at_have_no_batch(one: Case) -> None:
    with pytest.raises(ConcretizationError, match="vmap runs all examples at once"):
        check_batch(one)


def test_each_is_in_the_list_of_what_is_traced_so() -> None:
    for one in [*CASES, *FIRST_DERIVATIVE_ALONE]:
        module, _, name = one.name.partition("-")[0].rpartition(".")
        assert listed(OWN_CODE, module, name), one.name
