"""A parabola with waves on it: the example of basinhopping's documentation."""

import numpy as np
from scipy.optimize import basinhopping


def func2d(x):
    return np.cos(14.5 * x[0] - 0.3) + (x[1] + 0.2) * x[1] + (x[0] + 0.2) * x[0]


ret = basinhopping(func2d, [1.0, 1.0], minimizer_kwargs={"method": "L-BFGS-B"}, niter=100, rng=np.random.default_rng(1))
result = ret.x
print(result, ret.fun)
