"""The likelihood of a GARCH(1, 1) model, a loop over the days."""

import numpy as np
from scipy.optimize import minimize

rng = np.random.default_rng(13)
h, r = 1.0, []
for _ in range(300):
    r.append(np.sqrt(h) * rng.normal())
    h = 0.1 + 0.15 * r[-1] ** 2 + 0.75 * h
r = np.array(r)


def nll(p):
    omega, alpha, beta = p
    h = np.var(r)
    total = 0.0
    for e in r:
        total += 0.5 * (np.log(h) + e * e / h)
        h = omega + alpha * e * e + beta * h
    return total


res = minimize(nll, [0.2, 0.2, 0.6], bounds=[(1e-4, 2), (1e-4, 0.9), (1e-4, 0.99)], method="L-BFGS-B")
result = res.x
print(result)
