"""Shape and scale of a Weibull distribution, some of the times censored."""

import numpy as np
from scipy.optimize import minimize

rng = np.random.default_rng(5)
t = 10 * rng.weibull(1.8, size=200)
censored = t > 14
t = np.minimum(t, 14)


def nll(p):
    k, lam = np.exp(p)
    log_hazard = np.log(k / lam) + (k - 1) * np.log(t / lam)
    return np.sum((t / lam) ** k) - np.sum(log_hazard[~censored])


res = minimize(nll, [0.0, 1.0])
result = np.exp(res.x)
print(result)
