"""A loaded die of mean 4.5: the distribution of the largest entropy."""

import numpy as np
from scipy.optimize import minimize

faces = np.arange(1, 7)


def negative_entropy(p):
    return np.sum(p * np.log(p))


constraints = [{"type": "eq", "fun": lambda p: p.sum() - 1}, {"type": "eq", "fun": lambda p: p @ faces - 4.5}]
res = minimize(negative_entropy, np.full(6, 1 / 6), bounds=[(1e-6, 1)] * 6, constraints=constraints)
result = res.x
print(result)
