"""The example of fsolve's documentation."""

import numpy as np
from scipy.optimize import fsolve


def func(x):
    return [x[0] * np.cos(x[1]) - 4, x[1] * x[0] - x[1] - 5]


result = fsolve(func, [1, 1])
print(result, np.isclose(func(result), [0.0, 0.0]))
