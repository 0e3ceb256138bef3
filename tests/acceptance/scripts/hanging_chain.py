"""A chain of links hangs where its potential energy is least."""

import numpy as np
from scipy.optimize import minimize

links, length, span = 12, 1.5, 1.0


def energy(p):
    y = np.concatenate([[0], p[links - 1 :], [0]])
    return np.sum((y[1:] + y[:-1]) / 2)


def stretched(p):
    x = np.concatenate([[0], p[: links - 1], [span]])
    y = np.concatenate([[0], p[links - 1 :], [0]])
    return (np.diff(x) ** 2 + np.diff(y) ** 2) - (length / links) ** 2


s = np.linspace(0, 1, links + 1)[1:-1]
p0 = np.concatenate([s, -0.5 * np.sin(np.pi * s)])
res = minimize(energy, p0, method="SLSQP", constraints={"type": "eq", "fun": stretched}, options={"maxiter": 200})
result = res.x
print(res.fun)
