"""The lightest two-bar truss whose stress and height are limited."""

import numpy as np
from scipy.optimize import minimize

P, E, L = 100e3, 210e9, 2.0


def weight(p):
    d, h = p
    return 7850 * np.pi * d * 0.003 * 2 * np.sqrt(L**2 / 4 + h**2)


def stress(p):
    d, h = p
    s = np.sqrt(L**2 / 4 + h**2)
    sigma = P * s / (2 * np.pi * d * 0.003 * h)
    buckling = np.pi**2 * E * (d**2 + 0.003**2) / (8 * s**2)
    return np.array([150e6 - sigma, buckling - sigma]) / 1e6


res = minimize(weight, [0.1, 1.0], bounds=[(0.01, 0.5), (0.1, 3)], constraints={"type": "ineq", "fun": stress})
result = res.x
print(result)
