"""A signal without its noise, by a smoothed total variation."""

import numpy as np
from scipy.optimize import minimize

rng = np.random.default_rng(15)
clean = np.repeat([0.0, 1.0, 0.3, 0.8], 20)
noisy = clean + 0.1 * rng.normal(size=80)


def objective(u):
    return 0.5 * np.sum((u - noisy) ** 2) + 0.2 * np.sum(np.sqrt(np.diff(u) ** 2 + 1e-3))


res = minimize(objective, noisy, method="L-BFGS-B", options={"maxfun": 100000, "ftol": 1e-12})
result = res.x
print(res.fun)
