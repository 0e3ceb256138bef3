"""The constrained example of SciPy's tutorial, by SLSQP."""

import numpy as np
from scipy.optimize import Bounds, minimize


def rosen(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0)


bounds = Bounds([0, -0.5], [1.0, 2.0])
ineq = {"type": "ineq", "fun": lambda x: np.array([1 - x[0] - 2 * x[1], 1 - x[0] ** 2 - x[1], 1 - x[0] ** 2 + x[1]])}
eq = {"type": "eq", "fun": lambda x: np.array([2 * x[0] + x[1] - 1])}
res = minimize(rosen, np.array([0.5, 0]), method="SLSQP", constraints=[eq, ineq], options={"ftol": 1e-9}, bounds=bounds)
result = res.x
print(result)
