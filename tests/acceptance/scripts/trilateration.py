"""A position from distances to five beacons."""

import numpy as np
from scipy.optimize import minimize

beacons = np.array([[0, 0, 3], [10, 0, 2], [10, 8, 4], [0, 8, 1], [5, 4, 9]])
true = np.array([3.0, 2.5, 1.0])
measured = np.linalg.norm(beacons - true, axis=1) + 0.01 * np.array([1, -1, 2, 0, -2])


def error(p):
    return sum((np.linalg.norm(p - b) - d) ** 2 for b, d in zip(beacons, measured))


result = minimize(error, np.array([5.0, 5.0, 2.0]), method="BFGS").x
print(result)
