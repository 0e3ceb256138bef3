"""A script that keeps the history of what it evaluates, as many do."""

import numpy as np
from scipy.optimize import minimize

history = []


def objective(x):
    value = np.sum((x - np.arange(4)) ** 2) + 0.1 * np.sum(x**4)
    history.append(value)
    return value


res = minimize(objective, np.zeros(4))
result = np.array([*res.x, len(history) == res.nfev])
print(result)
