"""The Brusselator on a line, by odeint."""

import numpy as np
from scipy.integrate import odeint

n = 20
h = 1 / (n + 1)


def brusselator(y, t, A, B):
    u, v = np.concatenate([[A], y[:n], [A]]), np.concatenate([[B / A], y[n:], [B / A]])
    react = u[1:-1] ** 2 * v[1:-1]
    du = A + react - (B + 1) * u[1:-1] + 0.02 * (u[2:] - 2 * u[1:-1] + u[:-2]) / h**2
    dv = B * u[1:-1] - react + 0.02 * (v[2:] - 2 * v[1:-1] + v[:-2]) / h**2
    return np.concatenate([du, dv])


x = np.linspace(0, 1, n + 2)[1:-1]
y = odeint(
    brusselator,
    np.concatenate([1 + np.sin(2 * np.pi * x), np.full(n, 3.0)]),
    [0, 2, 5],
    args=(1.0, 3.0),
    rtol=1e-8,
    atol=1e-9,
)
result = y[-1][::5]
print(result)
