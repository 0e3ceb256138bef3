"""A drug in two compartments: four parameters of two exponentials."""

import numpy as np
from scipy.optimize import least_squares

t = np.array([0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 18, 24])
c = 8 * np.exp(-1.1 * t) + 3 * np.exp(-0.09 * t)
c = c * (1 + 0.03 * np.sin(4 * t))


def residuals(p):
    a, alpha, b, beta = np.exp(p)
    return np.log(a * np.exp(-alpha * t) + b * np.exp(-beta * t)) - np.log(c)


res = least_squares(residuals, np.log([5, 1, 2, 0.1]), method="lm")
result = np.exp(res.x)
print(result)
