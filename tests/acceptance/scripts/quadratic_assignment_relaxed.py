"""A relaxed assignment: rows and columns of a matrix of probabilities add up to one."""

import numpy as np
from scipy.optimize import minimize

rng = np.random.default_rng(21)
A, B = rng.uniform(size=(4, 4)), rng.uniform(size=(4, 4))


def cost(p):
    P = p.reshape(4, 4)
    return np.trace(A @ P @ B @ P.T) + 2.0 * np.sum(P**2)


rows = {"type": "eq", "fun": lambda p: p.reshape(4, 4).sum(axis=1) - 1}
columns = {"type": "eq", "fun": lambda p: p.reshape(4, 4).sum(axis=0)[:3] - 1}
res = minimize(cost, np.full(16, 0.25), bounds=[(0, 1)] * 16, constraints=[rows, columns])
result = res.x
print(res.fun)
