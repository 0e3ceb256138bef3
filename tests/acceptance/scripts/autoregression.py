"""An autoregressive process of order two, by its conditional likelihood."""

import numpy as np
from scipy.optimize import minimize

rng = np.random.default_rng(12)
y = np.zeros(400)
for k in range(2, 400):
    y[k] = 0.6 * y[k - 1] - 0.3 * y[k - 2] + rng.normal()


def nll(p):
    a, b, log_sigma = p
    e = y[2:] - a * y[1:-1] - b * y[:-2]
    return 0.5 * np.sum(e**2) * np.exp(-2 * log_sigma) + e.size * log_sigma


result = minimize(nll, [0.0, 0.0, 0.0]).x
print(result)
