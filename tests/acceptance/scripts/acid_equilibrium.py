"""The concentrations in phosphoric acid."""

import numpy as np
from scipy.optimize import fsolve

K = np.array([7.1e-3, 6.3e-8, 4.5e-13])


def balance(logs, total):
    h, h3, h2, h1, h0 = np.exp(logs)
    return [
        np.log(h * h2 / h3 / K[0]),
        np.log(h * h1 / h2 / K[1]),
        np.log(h * h0 / h1 / K[2]),
        (h3 + h2 + h1 + h0) / total - 1,
        (h2 + 2 * h1 + 3 * h0 + 1e-14 / h) / h - 1,
    ]


logs = fsolve(balance, np.log([1e-2, 1e-2, 1e-2, 1e-8, 1e-18]), args=(0.1,))
result = -logs[:1] / np.log(10)
print("pH", result)
