"""Fletcher and Powell's helical valley."""

import numpy as np
from scipy.optimize import minimize


def helical(x):
    theta = np.arctan2(x[1], x[0]) / (2 * np.pi)
    return 100 * ((x[2] - 10 * theta) ** 2 + (np.hypot(x[0], x[1]) - 1) ** 2) + x[2] ** 2


res = minimize(helical, np.array([-1.0, 0.1, 0.0]))
result = res.x
print(result)
