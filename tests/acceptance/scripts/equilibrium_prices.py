"""Prices at which the markets of three goods are cleared."""

import numpy as np
from scipy.optimize import root

endowment = np.array([[1.0, 2.0, 0.5], [2.0, 0.5, 1.5]])
taste = np.array([[0.2, 0.5, 0.3], [0.6, 0.2, 0.2]])


def excess(log_p):
    p = np.exp(np.concatenate([[0.0], log_p]))
    income = endowment @ p
    demand = (taste * income[:, None] / p).sum(axis=0)
    return (demand - endowment.sum(axis=0))[1:]


result = root(excess, np.zeros(2), method="lm").x
print(np.exp(result))
