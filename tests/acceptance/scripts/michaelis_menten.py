"""The rate of an enzyme, fitted by least squares."""

import numpy as np
from scipy.optimize import least_squares

s = np.array([0.5, 1, 2, 4, 8, 16, 32])
v = np.array([0.9, 1.6, 2.7, 4.0, 5.3, 6.2, 6.8])
res = least_squares(lambda p: p[0] * s / (p[1] + s) - v, [5.0, 2.0])
result = res.x
print(res.x, res.cost)
