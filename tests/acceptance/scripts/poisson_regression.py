"""Counts whose logarithm is linear in the predictors."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

rng = np.random.default_rng(8)
X = np.column_stack([np.ones(200), rng.uniform(-1, 1, size=(200, 3))])
y = rng.poisson(np.exp(X @ [0.5, 1.0, -0.7, 0.3]))


def nll(beta):
    eta = X @ beta
    return np.sum(np.exp(eta) - y * eta + gammaln(y + 1))


result = minimize(nll, np.zeros(4), method="BFGS").x
print(result)
