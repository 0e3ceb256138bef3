"""A function that looks into a table, by a number that it rounds."""

import numpy as np
from scipy.optimize import minimize

table = np.cos(np.linspace(0, 6, 601))


def objective(x):
    k = int(x[0] * 100)
    slope = table[k + 1] - table[k]
    return table[k] + slope * (x[0] * 100 - k) + (x[1] - 1) ** 2


res = minimize(objective, [2.0, 0.0], bounds=[(0, 5.9), (-3, 3)], method="L-BFGS-B")
result = np.array([res.fun])
print(res.x, res.fun)
