"""Regression with errors that have heavy tails."""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import t

rng = np.random.default_rng(17)
x = rng.uniform(-2, 2, 120)
y = 0.5 + 1.2 * x + 0.4 * rng.standard_t(3, 120)


def nll(p):
    return -t.logpdf(y - p[0] - p[1] * x, 3.0, scale=np.exp(p[2])).sum()


result = minimize(nll, np.zeros(3)).x
print(result)
