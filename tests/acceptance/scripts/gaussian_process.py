"""Hyperparameters of a Gaussian process by its marginal likelihood."""

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.optimize import minimize

rng = np.random.default_rng(10)
x = np.sort(rng.uniform(0, 6, 40))
y = np.sin(1.7 * x) + 0.1 * rng.normal(size=40)
d2 = (x[:, None] - x) ** 2


def nll(p):
    amplitude, scale, noise = np.exp(p)
    K = amplitude**2 * np.exp(-0.5 * d2 / scale**2) + noise**2 * np.eye(len(x))
    L = cholesky(K, lower=True)
    return 0.5 * y @ cho_solve((L, True), y) + np.sum(np.log(np.diag(L)))


res = minimize(nll, np.log([1.0, 1.0, 0.3]), method="L-BFGS-B")
result = np.exp(res.x)
print(result)
