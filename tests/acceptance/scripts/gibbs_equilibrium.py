"""The equilibrium of methane and steam, by the least Gibbs energy."""

import numpy as np
from scipy.optimize import minimize

names = ["CH4", "H2O", "CO", "CO2", "H2"]
g = np.array([19.72, -192.42, -200.24, -395.79, 0.0]) * 1e3 / (8.314 * 1000)
atoms = np.array([[1, 0, 1, 1, 0], [4, 2, 0, 0, 2], [0, 1, 1, 2, 0]])
total = atoms @ np.array([2.0, 3.0, 0, 0, 0])


def gibbs(n):
    return np.sum(n * (g + np.log(n / n.sum())))


res = minimize(
    gibbs,
    np.full(5, 1.0),
    method="SLSQP",
    bounds=[(1e-8, None)] * 5,
    constraints={"type": "eq", "fun": lambda n: atoms @ n - total},
    options={"ftol": 1e-10, "maxiter": 300},
)
result = res.x
print(dict(zip(names, result.round(4))))
