"""Osborne's first function, two exponentials and a constant."""

import numpy as np
from scipy.optimize import least_squares

y = np.array([0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751, 0.718, 0.685, 0.658, 0.628,
              0.603, 0.580, 0.558, 0.538, 0.522, 0.506, 0.490, 0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.420,
              0.414, 0.411, 0.406])  # fmt: skip
t = 10.0 * np.arange(33)


def residuals(x):
    return y - (x[0] + x[1] * np.exp(-t * x[3]) + x[2] * np.exp(-t * x[4]))


res = least_squares(residuals, [0.5, 1.5, -1, 0.01, 0.02], x_scale="jac")
result = res.x
print(res.x, res.cost)
