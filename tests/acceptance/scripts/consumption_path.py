"""Consumption over twenty years, with interest and impatience."""

import numpy as np
from scipy.optimize import minimize

years = np.arange(20)


def utility(c):
    return -np.sum(0.96**years * c ** (1 - 2.0) / (1 - 2.0))


budget = {"type": "eq", "fun": lambda c: 100 - np.sum(c / 1.05**years)}
res = minimize(
    utility, np.full(20, 7.0), bounds=[(0.1, None)] * 20, constraints=budget, options={"ftol": 1e-10, "maxiter": 500}
)
result = res.x
print(result)
