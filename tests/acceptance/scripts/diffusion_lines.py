"""A reaction that spreads, by the method of lines."""

import numpy as np
from scipy.integrate import solve_ivp

n = 60
x = np.linspace(0, 1, n)
h = x[1] - x[0]


def rhs(t, u):
    left, right = np.concatenate([[u[1]], u[:-1]]), np.concatenate([u[1:], [u[-2]]])
    return 0.002 * (left - 2 * u + right) / h**2 + 5 * u * (1 - u)


sol = solve_ivp(rhs, (0, 3), np.exp(-100 * x**2), method="BDF", rtol=1e-6, atol=1e-9)
result = sol.y[::6, -1]
print(result, sol.nfev)
