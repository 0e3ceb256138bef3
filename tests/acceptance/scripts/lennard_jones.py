"""Seven atoms, and the potential of Lennard-Jones between them."""

import numpy as np
from scipy.optimize import minimize

i, j = np.triu_indices(7, 1)


def energy(x):
    atoms = x.reshape(-1, 3)
    d2 = np.sum((atoms[i] - atoms[j]) ** 2, axis=1)
    s6 = 1 / d2**3
    return 4 * np.sum(s6**2 - s6)


rng = np.random.default_rng(3)
x0 = rng.normal(size=21) * 1.1
res = minimize(energy, x0, method="L-BFGS-B", options={"maxfun": 20000})
result = np.array([res.fun < -12])
print(res.fun)
