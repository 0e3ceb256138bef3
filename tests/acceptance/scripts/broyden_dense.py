"""Broyden's tridiagonal function in sixty variables, without a word of its Jacobian."""

import numpy as np
from scipy.optimize import least_squares


def fun_broyden(x):
    f = (3 - x) * x + 1
    f[1:] -= x[:-1]
    f[:-1] -= 2 * x[1:]
    return f


res = least_squares(fun_broyden, -np.ones(60))
result = res.x
print(res.cost, res.nfev)
