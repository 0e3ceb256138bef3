"""The four minima of Himmelblau's function, from four starts."""

import numpy as np
from scipy.optimize import minimize


def himmelblau(p):
    x, y = p
    return (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2


starts = [(4, 3), (-3, 3), (-4, -3), (4, -2)]
result = np.array([minimize(himmelblau, np.array(s, float)).x for s in starts])
print(result)
