"""The curve of fastest descent, as a polygon."""

import numpy as np
from scipy.optimize import minimize

x = np.linspace(0, 1, 16)


def time_of_descent(inner):
    y = np.concatenate([[0], inner, [0.7]])
    speed = np.sqrt(2 * 9.81 * np.maximum(y, 1e-9))
    return np.sum(np.hypot(np.diff(x), np.diff(y)) * 2 / (speed[1:] + speed[:-1]))


y0 = 0.7 * x[1:-1]
res = minimize(
    time_of_descent, y0, bounds=[(1e-3, 2)] * 14, method="L-BFGS-B", options={"ftol": 1e-13, "maxfun": 10000}
)
result = np.array([res.fun])
print(res.fun)
