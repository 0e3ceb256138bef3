"""Rosenbrock's function within bounds that cut off its minimum."""

import numpy as np
from scipy.optimize import Bounds, minimize


def rosen(x, a, b):
    return np.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (b - x[:-1]) ** 2)


res = minimize(rosen, np.full(6, 0.5), args=(100.0, 1.0), bounds=Bounds(0.0, 0.8), method="L-BFGS-B")
result = res.x
print(result)
