"""Ackley's function by differential evolution, polished."""

import numpy as np
from scipy.optimize import differential_evolution


def ackley(x):
    arg1 = -0.2 * np.sqrt(0.5 * (x[0] ** 2 + x[1] ** 2))
    arg2 = 0.5 * (np.cos(2.0 * np.pi * x[0]) + np.cos(2.0 * np.pi * x[1]))
    return -20.0 * np.exp(arg1) - np.exp(arg2) + 20.0 + np.e


ret = differential_evolution(ackley, [(-5, 5), (-5, 5)], rng=1, maxiter=60)
result = np.round(ret.x, 5) + 0.0
print(result, ret.fun)
