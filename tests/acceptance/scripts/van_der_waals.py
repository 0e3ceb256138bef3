"""The volume of a gas that is not ideal."""

import numpy as np
from scipy.optimize import root_scalar

a, b, R = 0.364, 4.27e-5, 8.314


def pressure(v, p, T):
    return R * T / (v - b) - a / v**2 - p


volumes = []
for T in (300.0, 350.0, 400.0):
    sol = root_scalar(lambda v: pressure(v * 1e-3, 1e5, T) / 1e5, x0=R * T / 1e5 * 1e3, method="newton")
    volumes.append(sol.root)
result = np.array(volumes)
print(result)
