"""A damped oscillation, by leastsq."""

import numpy as np
from scipy.optimize import leastsq

t = np.linspace(0, 10, 150)
y = 2 * np.exp(-0.3 * t) * np.cos(3 * t + 0.5) + 0.05 * np.random.default_rng(5).normal(size=150)


def residual(p):
    a, rate, omega, phase = p
    return a * np.exp(-rate * t) * np.cos(omega * t + phase) - y


result = leastsq(residual, [1.5, 0.2, 2.9, 0.3])[0]
print(result)
