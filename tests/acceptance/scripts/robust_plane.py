"""A plane through points of which some are wrong, with a robust loss."""

import numpy as np
from scipy.optimize import least_squares

rng = np.random.default_rng(6)
x, y = rng.uniform(-3, 3, size=(2, 100))
z = 0.5 * x - 1.2 * y + 2 + 0.05 * rng.normal(size=100)
z[:12] += 5


def residuals(p):
    return p[0] * x + p[1] * y + p[2] - z


res = least_squares(residuals, np.zeros(3), loss="soft_l1", f_scale=0.1)
result = res.x
print(result)
