"""The Oregonator, by LSODA."""

import numpy as np
from scipy.integrate import solve_ivp


def oregonator(t, y):
    a, b, c = y
    return [77.27 * (b + a * (1 - 8.375e-6 * a - b)), (c - (1 + a) * b) / 77.27, 0.161 * (a - c)]


sol = solve_ivp(oregonator, (0, 30), [1.0, 2.0, 3.0], method="LSODA", rtol=1e-8, atol=1e-10)
result = np.log(sol.y[:, -1])
print(result, sol.nfev)
