"""Where weights on springs come to rest."""

import numpy as np
from scipy.optimize import minimize

edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [0, 5], [5, 6], [6, 4], [1, 5], [3, 6], [2, 6], [2, 5]])
fixed = {0: (0.0, 0.0), 4: (4.0, 0.0)}
free = [k for k in range(7) if k not in fixed]


def energy(p):
    x = np.zeros((7, 2))
    for k, place in fixed.items():
        x[k] = place
    x[free] = p.reshape(-1, 2)
    d = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
    return 50 * np.sum((d - 0.9) ** 2) + np.sum(x[:, 1]) * 0.5


start = np.array([[1, -0.1], [2, -0.2], [3, -0.1], [1.3, -1], [2.7, -1]])
res = minimize(energy, start.ravel(), method="BFGS")
result = res.x
print(res.fun)
