"""Mean and deviation of a normal distribution by maximum likelihood."""

import numpy as np
from scipy import stats
from scipy.optimize import minimize

data = np.random.default_rng(0).normal(5.0, 2.0, size=400)


def negative_log_likelihood(params):
    mu, log_sigma = params
    return -np.sum(stats.norm.logpdf(data, loc=mu, scale=np.exp(log_sigma)))


res = minimize(negative_log_likelihood, x0=[0.0, 0.0], method="L-BFGS-B")
result = res.x
print(result)
