"""Twelve electrons on a sphere keep away from each other: an icosahedron."""

import numpy as np
from scipy.optimize import minimize

i, j = np.triu_indices(12, 1)


def energy(angles):
    theta, phi = angles.reshape(2, -1)
    x, y, z = np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)
    return np.sum(1 / np.sqrt((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 + (z[i] - z[j]) ** 2))


rng = np.random.default_rng(0)
angles = np.concatenate([np.arccos(rng.uniform(-1, 1, 12)), rng.uniform(0, 2 * np.pi, 12)])
res = minimize(energy, angles, method="BFGS", options={"gtol": 1e-4})
result = np.array([res.fun])
print(res.fun)
