"""Two factors of a matrix of which some entries are known."""

import numpy as np
from scipy.optimize import minimize

rng = np.random.default_rng(20)
M = rng.normal(size=(10, 2)) @ rng.normal(size=(2, 8))
known = rng.uniform(size=M.shape) < 0.7


def loss(p):
    U, V = p[:20].reshape(10, 2), p[20:].reshape(2, 8)
    return np.sum((U @ V - M)[known] ** 2) + 1e-3 * np.sum(p**2)


res = minimize(loss, rng.normal(size=36), method="L-BFGS-B", options={"maxfun": 100000, "maxiter": 2000, "ftol": 1e-12})
result = np.array([res.fun])
print(res.fun)
