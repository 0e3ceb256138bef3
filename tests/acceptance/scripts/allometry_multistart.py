"""A fit from many starts: the best of them."""

import numpy as np
from scipy.optimize import least_squares

m = np.array([0.02, 0.3, 2.5, 10, 70, 500, 4000])
b = 3.4 * m**0.74 * np.array([1.1, 0.92, 1.03, 0.98, 1.05, 0.95, 1.0])


def residuals(p):
    return np.log(p[0] * m ** p[1]) - np.log(b)


fits = [
    least_squares(residuals, start, bounds=([0.01, 0.1], [50, 2])) for start in [(1, 0.5), (5, 1), (20, 0.3), (2, 1.5)]
]
result = min(fits, key=lambda r: r.cost).x
print(result)
