"""A straight line through points of which some are far off, by Huber's loss."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import huber

rng = np.random.default_rng(9)
x = np.linspace(0, 10, 60)
y = 1.5 * x - 2 + 0.3 * rng.normal(size=60)
y[::9] += 15


def loss(p):
    return np.sum(huber(1.0, y - p[0] * x - p[1]))


result = minimize(loss, [0.0, 0.0]).x
print(result)
