"""Parameters of a beta-binomial distribution, by its likelihood in special functions."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import betaln

n = np.array([20] * 30)
k = np.random.default_rng(4).binomial(20, np.random.default_rng(5).beta(3, 5, size=30))


def nll(p):
    a, b = np.exp(p)
    return -np.sum(betaln(k + a, n - k + b) - betaln(a, b))


res = minimize(nll, np.zeros(2))
result = np.exp(res.x)
print(result)
