"""The angles of an arm of four links that reach a point with the least bending."""

import numpy as np
from scipy.optimize import minimize

lengths = np.array([3.0, 2.0, 2.0, 1.0])


def tip(q):
    angle = np.cumsum(q)
    return np.array([lengths @ np.cos(angle), lengths @ np.sin(angle)])


res = minimize(
    lambda q: np.sum(q[1:] ** 2),
    [0.3, 0.3, 0.3, 0.3],
    constraints={"type": "eq", "fun": lambda q: tip(q) - np.array([4.0, 3.5])},
    method="SLSQP",
)
result = res.x
print(result)
