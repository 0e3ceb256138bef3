"""The extended function of Rosenbrock in fifty variables."""

import numpy as np
from scipy.optimize import minimize


def extended(x):
    odd, even = x[::2], x[1::2]
    return np.sum(100 * (even - odd**2) ** 2 + (1 - odd) ** 2)


res = minimize(extended, np.tile([-1.2, 1.0], 25), method="L-BFGS-B", options={"maxfun": 100000, "ftol": 1e-12})
result = res.x
print(res.fun)
