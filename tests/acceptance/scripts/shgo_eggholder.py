"""Minima of the eggholder function by shgo, with a sampling of Sobol."""

import numpy as np
from scipy.optimize import shgo


def eggholder(x):
    return -(x[1] + 47.0) * np.sin(np.sqrt(abs(x[0] / 2.0 + (x[1] + 47.0)))) - x[0] * np.sin(
        np.sqrt(abs(x[0] - (x[1] + 47.0)))
    )


ret = shgo(eggholder, [(-512, 512), (-512, 512)], n=100, iters=1, sampling_method="sobol")
result = np.array([ret.fun])
print(ret.x, ret.fun)
