"""A callback that prints, and an objective that returns an array of one element."""

import numpy as np
from scipy.optimize import minimize

steps = []
A = np.diag([1.0, 10.0, 100.0])
b = np.ones((3, 1))
res = minimize(lambda x: 0.5 * x @ A @ x - x @ b, np.zeros(3), method="CG", callback=lambda x: steps.append(x.copy()))
result = res.x
print(result, len(steps))
