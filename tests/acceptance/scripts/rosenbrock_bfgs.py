"""Rosenbrock's function in five variables, as in SciPy's tutorial."""

import numpy as np
from scipy.optimize import minimize


def rosen(x):
    return sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0)


x0 = np.array([1.3, 0.7, 0.8, 1.9, 1.2])
res = minimize(rosen, x0, method="BFGS", options={"gtol": 1e-5})
result = res.x
print(result)
