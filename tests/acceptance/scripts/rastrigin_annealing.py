"""Rastrigin's function by dual annealing."""

import numpy as np
from scipy.optimize import dual_annealing

func = lambda x: np.sum(x * x - 10 * np.cos(2 * np.pi * x)) + 10 * np.size(x)
ret = dual_annealing(func, bounds=[(-5.12, 5.12)] * 4, rng=2, maxiter=100)
result = np.round(ret.x, 5) + 0.0
print(result, ret.fun)
