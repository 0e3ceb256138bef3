"""The portfolio of least variance with a given return."""

import numpy as np
from scipy.optimize import minimize

rng = np.random.default_rng(7)
returns = rng.normal(0.001, 0.02, size=(250, 8)) + np.linspace(0, 0.001, 8)
mean, covariance = returns.mean(axis=0), np.cov(returns.T)
wanted = np.sort(mean)[5]


def variance(w):
    return w @ covariance @ w * 1e4


constraints = [
    {"type": "eq", "fun": lambda w: np.sum(w) - 1},
    {"type": "ineq", "fun": lambda w: (w @ mean - wanted) * 1e3},
]
res = minimize(variance, np.full(8, 1 / 8), bounds=[(0, 1)] * 8, constraints=constraints)
result = res.x
print(result)
