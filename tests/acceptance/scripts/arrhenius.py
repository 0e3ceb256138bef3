"""The activation energy from rates at several temperatures."""

import numpy as np
from scipy.optimize import leastsq

R = 8.314
T = np.array([300.0, 320, 340, 360, 380, 400])
k = 1e7 * np.exp(-50e3 / (R * T)) * np.array([1.02, 0.97, 1.01, 1.0, 0.99, 1.02])


def residuals(p, T, k):
    return np.log(k) - (p[0] - p[1] * 1e3 / (R * T))


p, cov, info, message, flag = leastsq(residuals, [10.0, 40.0], args=(T, k), full_output=True)
result = p
print(p, flag)
