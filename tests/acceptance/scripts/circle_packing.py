"""Five circles of one radius in a square, as large as they can be."""

import numpy as np
from scipy.optimize import minimize

i, j = np.triu_indices(5, 1)
start = np.array([0.2, 0.2, 0.8, 0.2, 0.5, 0.52, 0.2, 0.8, 0.8, 0.79, 0.1])


def apart(p):
    c, r = p[:10].reshape(5, 2), p[10]
    return np.sum((c[i] - c[j]) ** 2, axis=1) - 4 * r**2


def inside(p):
    c, r = p[:10], p[10]
    return np.concatenate([c - r, 1 - r - c])


res = minimize(
    lambda p: -p[10],
    start,
    method="SLSQP",
    constraints=[{"type": "ineq", "fun": apart}, {"type": "ineq", "fun": inside}],
)
result = np.array([res.x[10]])
print(result)
