"""The portfolio of the largest Sharpe ratio."""

import numpy as np
from scipy.optimize import minimize

rng = np.random.default_rng(11)
returns = rng.normal(0.0008, 0.015, size=(500, 6)) + np.linspace(-0.0002, 0.0008, 6)
mean, covariance = returns.mean(axis=0) * 252, np.cov(returns.T) * 252


def negative_sharpe(weights, mean, covariance, risk_free=0.01):
    performance = np.dot(weights, mean)
    volatility = np.sqrt(np.dot(weights.T, np.dot(covariance, weights)))
    return -(performance - risk_free) / volatility


res = minimize(
    negative_sharpe,
    6 * [1 / 6],
    args=(mean, covariance),
    method="SLSQP",
    bounds=[(0.0, 1.0)] * 6,
    constraints=({"type": "eq", "fun": lambda x: np.sum(x) - 1},),
    options={"ftol": 1e-10},
)
result = res.x
print(result)
