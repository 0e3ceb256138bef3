"""The friction in a pipe, by newton for several flows."""

import numpy as np
from scipy.optimize import newton


def colebrook(x, roughness, reynolds):
    return x + 2 * np.log10(roughness / 3.7 + 2.51 * x / reynolds)


result = np.array([newton(colebrook, 6.0, args=(1e-4, Re)) ** -2 for Re in (1e4, 1e5, 1e6, 1e7)])
print(result)
