"""Bratu's boundary value problem, discretised."""

import numpy as np
from scipy.optimize import root

n = 40
h = 1 / (n + 1)


def residual(u):
    full = np.concatenate([[0], u, [0]])
    return (full[2:] - 2 * full[1:-1] + full[:-2]) / h**2 + np.exp(full[1:-1])


sol = root(residual, np.zeros(n), method="hybr")
result = sol.x
print(sol.x.max(), sol.nfev)
