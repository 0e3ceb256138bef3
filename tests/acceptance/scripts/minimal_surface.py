"""A soap film over a wire: the area of a height field is least."""

import numpy as np
from scipy.optimize import minimize

n = 7
t = np.linspace(0, 1, n + 2)
edge = np.zeros((n + 2, n + 2))
edge[0], edge[-1], edge[:, 0], edge[:, -1] = np.sin(np.pi * t), np.sin(np.pi * t), 0, 0


def area(inner):
    z = edge.copy()
    z[1:-1, 1:-1] = inner.reshape(n, n)
    dx, dy = np.diff(z, axis=0)[:, :-1] * (n + 1), np.diff(z, axis=1)[:-1] * (n + 1)
    return np.mean(np.sqrt(1 + dx**2 + dy**2))


res = minimize(area, np.zeros(n * n), method="L-BFGS-B", options={"maxfun": 100000, "ftol": 1e-13, "gtol": 1e-8})
result = res.x
print(res.fun)
