"""Programs on scipy.stats: likelihoods, priors, quantiles, tests, moments."""

import numpy as np
from scipy import stats
from scipy.special import expit

from tests.acceptance.programs.entries import program

RNG = np.random.default_rng(101)


def eight_schools(theta, y, sigma):
    """Rubin (1981): effects of coaching, centred by their mean."""
    mu, log_tau, eta = theta[0], theta[1], theta[2:]
    effects = mu + np.exp(log_tau) * eta
    prior = stats.norm.logpdf(mu, 0, 5) + stats.halfcauchy(scale=5).logpdf(np.exp(log_tau)) + log_tau
    return prior + stats.norm.logpdf(eta).sum() + stats.norm.logpdf(y, effects, sigma).sum()


def robust_regression(beta, x, y):
    residuals = y - np.polyval(beta[:2], x)
    return -stats.t.logpdf(residuals, df=4, scale=np.exp(beta[2])).sum()


def weibull_survival(p, times, died):
    shape, scale = np.exp(p)
    law = stats.weibull_min(shape, scale=scale)
    return -(died * law.logpdf(times) + (1 - died) * law.logsf(times)).sum()


def poisson_counts(beta, X, counts):
    return -stats.poisson.logpmf(counts, np.exp(X @ beta)).sum()


def dose_response(p, dose, trials, killed):
    return -np.sum(stats.binom(trials, expit(p[0] + p[1] * np.log(dose))).logpmf(killed))


def overdispersed(p, counts):
    mean, r = np.exp(p)
    return -stats.nbinom.logpmf(counts, r, r / (r + mean)).sum()


def mixture(p, x):
    weight = expit(p["w"])
    first = weight * stats.norm.pdf(x, p["means"][0], np.exp(p["spreads"][0]))
    second = (1 - weight) * stats.norm.pdf(x, p["means"][1], np.exp(p["spreads"][1]))
    return -np.log(first + second).sum()


def probit(beta, X, y):
    sign = 2 * y - 1
    return -stats.norm.logcdf(sign * (X @ beta)).sum()


def value_at_risk(p, weights):
    mean, spread = p["mean"], np.exp(p["log_sd"])
    portfolio = stats.norm(weights @ mean, np.sqrt(np.sum((weights * spread) ** 2)))
    return -portfolio.ppf(0.05)


def gamma_rainfall(p, rain):
    a, scale = np.exp(p)
    return stats.gamma.logpdf(rain, a, scale=scale).mean()


def beta_proportions(p, shares):
    a, b = np.exp(p)
    return np.sum(stats.beta.logpdf(shares, a, b)) - 0.1 * (a + b)


def extreme_floods(p, maxima):
    loc, log_scale = p
    law = stats.gumbel_r(loc=loc, scale=np.exp(log_scale))
    return law.logpdf(maxima).sum() + law.isf(0.01)


def multivariate_normal(p, data):
    L = np.array([[np.exp(p[2]), 0.0], [p[3], np.exp(p[4])]])
    return stats.multivariate_normal(mean=p[:2], cov=L @ L.T).logpdf(data).sum()


def scores(x, weights):
    z = stats.zscore(x)
    return np.sum(z**3 * weights) + stats.skew(x) + stats.kurtosis(x)


def correlation(x, y):
    return stats.pearsonr(x, y).statistic


def means_of_rates(x):
    return stats.gmean(x) + stats.hmean(x) + stats.trim_mean(x, 0.2)


def kernel_density(x, at):
    return np.log(stats.gaussian_kde(x)(at)).sum()


def lognormal_cost(p, costs):
    return stats.lognorm.logpdf(costs, s=np.exp(p[1]), scale=np.exp(p[0])).sum()


def dirichlet_shares(alpha, shares):
    return stats.dirichlet.logpdf(shares, np.exp(alpha))


def option_by_cdf(p, strikes):
    """Black and Scholes (1973), with the distribution of SciPy's."""
    spot, vol, rate = p
    d1 = (np.log(spot / strikes) + (rate + vol**2 / 2)) / vol
    return np.sum(spot * stats.norm.cdf(d1) - strikes * np.exp(-rate) * stats.norm.cdf(d1 - vol))


def bayes_factor(p, x):
    return stats.cauchy.logpdf(x, p[0]).sum() - stats.laplace.logpdf(x, p[0], np.exp(p[1])).sum()


def entropy_of_sensors(scales):
    return stats.norm(scale=np.exp(scales)).entropy().sum() + stats.expon(scale=np.exp(scales)).var().sum()


X = np.column_stack([np.ones(12), RNG.normal(size=12)])
PROGRAMS = [
    program(
        "eight schools",
        eight_schools,
        RNG.normal(size=10) * 0.3,
        np.array([28.0, 8, -3, 7, -1, 1, 18, 12]),
        np.array([15.0, 10, 16, 11, 9, 11, 10, 18]),
    ),
    program(
        "robust regression of scipy",
        robust_regression,
        np.array([1.0, -0.5, 0.2]),
        np.linspace(0, 1, 15),
        RNG.normal(size=15),
    ),
    program(
        "weibull survival",
        weibull_survival,
        np.array([0.3, 1.2]),
        RNG.uniform(0.5, 6, 14),
        (RNG.random(14) > 0.3).astype(float),
    ),
    program("poisson counts", poisson_counts, np.array([0.4, 0.3]), X, RNG.poisson(2.0, 12)),
    program(
        "dose and response",
        dose_response,
        np.array([-1.0, 0.7]),
        np.array([1.0, 2, 4, 8]),
        20,
        np.array([4, 8, 12, 17]),
    ),
    program("overdispersed counts", overdispersed, np.array([1.0, 0.4]), RNG.poisson(3.0, 10)),
    program(
        "a mixture of two normals",
        mixture,
        {"w": 0.3, "means": np.array([-1.0, 1.5]), "spreads": np.array([0.1, -0.2])},
        RNG.normal(size=14),
    ),
    program("probit regression", probit, np.array([0.2, 0.6]), X, (RNG.random(12) > 0.5).astype(float)),
    program(
        "value at risk",
        value_at_risk,
        {"mean": np.array([0.05, 0.08]), "log_sd": np.array([-1.6, -1.2])},
        np.array([0.6, 0.4]),
    ),
    program("gamma rainfall", gamma_rainfall, np.array([0.5, 0.1]), RNG.gamma(2.0, 1.0, 12)),
    program("beta proportions", beta_proportions, np.array([0.7, 0.2]), RNG.uniform(0.1, 0.9, 9)),
    program("extreme floods", extreme_floods, np.array([1.0, 0.2]), RNG.gumbel(1, 1, 11)),
    program("a bivariate normal", multivariate_normal, np.array([0.1, -0.2, 0.1, 0.4, -0.1]), RNG.normal(size=(8, 2))),
    program("standard scores", scores, RNG.normal(size=9), RNG.normal(size=9)),
    program("a correlation", correlation, RNG.normal(size=9), RNG.normal(size=9)),
    program("means of rates", means_of_rates, RNG.uniform(0.5, 2, 10)),
    program("a kernel density", kernel_density, RNG.normal(size=8), np.linspace(-1, 1, 5)),
    program("lognormal costs", lognormal_cost, np.array([0.2, -0.3]), RNG.lognormal(size=10)),
    program("dirichlet shares", dirichlet_shares, np.array([0.3, 0.1, 0.6]), np.array([0.2, 0.3, 0.5])),
    program("options by a distribution", option_by_cdf, np.array([100.0, 0.3, 0.02]), np.array([90.0, 100, 115])),
    program("a Bayes factor", bayes_factor, np.array([0.1, 0.2]), RNG.normal(size=9)),
    program("entropy of sensors", entropy_of_sensors, np.array([0.1, 0.4])),
]
