"""The steady states of a stirred reactor."""

import numpy as np
from scipy.optimize import root


def steady(x, Da, beta):
    conversion, temperature = x
    rate = Da * (1 - conversion) * np.exp(temperature / (1 + temperature / 20))
    return [rate - conversion, beta * rate - temperature - 0.3 * temperature]


result = np.array([root(steady, start, args=(0.08, 8.0)).x for start in ([0.1, 0.5], [0.9, 5.0])])
print(result)
