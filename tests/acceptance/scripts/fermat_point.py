"""The point from which the way to all towns is shortest."""

import numpy as np
from scipy.optimize import minimize

towns = np.array([[0, 0], [4, 0], [4, 3], [1, 5], [-2, 2]])
weights = np.array([1, 2, 1, 1, 3])


def way(p):
    return np.sum(weights * np.linalg.norm(towns - p, axis=1))


result = minimize(way, [1.0, 1.0]).x
print(result)
