"""Powell's singular function, whose Hessian at the minimum is singular."""

import numpy as np
from scipy.optimize import minimize


def powell(x):
    a, b, c, d = x
    return (a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4


res = minimize(powell, [3.0, -1.0, 0.0, 1.0], options={"gtol": 1e-8})
result = np.array([res.fun < 1e-8])
print(res.x)
