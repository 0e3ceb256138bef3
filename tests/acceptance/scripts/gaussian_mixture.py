"""Two normal distributions in one sample, by maximum likelihood."""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

rng = np.random.default_rng(16)
data = np.concatenate([rng.normal(-1, 0.7, 150), rng.normal(3, 1.0, 100)])


def nll(p):
    w, m1, s1, m2, s2 = p
    return -np.sum(np.log(w * norm.pdf(data, m1, s1) + (1 - w) * norm.pdf(data, m2, s2)))


bounds = [(0.01, 0.99), (-5, 5), (0.1, 5), (-5, 8), (0.1, 5)]
result = minimize(nll, [0.5, -2.0, 1.0, 2.0, 1.0], bounds=bounds, method="L-BFGS-B").x
print(result)
