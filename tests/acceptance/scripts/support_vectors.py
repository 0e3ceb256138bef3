"""A separating line with the squared hinge loss."""

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

rng = np.random.default_rng(19)
X = np.vstack([rng.normal(size=(40, 2)) + 2, rng.normal(size=(40, 2)) - 1])
y = np.repeat([1, -1], 40)


def loss(w):
    margin = 1 - y * (X @ w[:2] + w[2])
    return 0.5 * w[:2] @ w[:2] + np.sum(np.maximum(margin, 0) ** 2)


w, value, info = fmin_l_bfgs_b(loss, np.zeros(3), approx_grad=True)
result = w
print(w, value)
