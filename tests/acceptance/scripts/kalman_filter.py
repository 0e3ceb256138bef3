"""A local level model: the variances of signal and noise by a Kalman filter."""

import numpy as np
from scipy.optimize import minimize

rng = np.random.default_rng(14)
level = np.cumsum(0.5 * rng.normal(size=120))
y = level + rng.normal(size=120)


def nll(p):
    q, s = np.exp(p)
    a, P, total = y[0], 1e2, 0.0
    for value in y:
        F = P + s
        v = value - a
        total += 0.5 * (np.log(F) + v * v / F)
        K = P / F
        a = a + K * v
        P = P * (1 - K) + q
    return total


result = minimize(nll, [0.0, 0.0], method="BFGS").x
print(np.exp(result))
