"""An orbit from positions: Kepler's equation is solved within the residuals."""

import numpy as np
from scipy.optimize import least_squares

t = np.linspace(0, 9, 40)


def place(p):
    a, e, period, t0 = p
    M = 2 * np.pi * (t - t0) / period
    E = M
    for _ in range(20):
        E = E - (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
    return np.concatenate([a * (np.cos(E) - e), a * np.sqrt(1 - e**2) * np.sin(E)])


data = place([2.0, 0.4, 6.0, 0.5]) + 0.01 * np.random.default_rng(12).normal(size=80)
res = least_squares(lambda p: place(p) - data, [1.8, 0.3, 6.2, 0.4])
result = res.x
print(result)
