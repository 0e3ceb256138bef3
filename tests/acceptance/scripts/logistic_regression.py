"""Logistic regression with a little regularisation."""

import numpy as np
from scipy.optimize import minimize

rng = np.random.default_rng(2)
X = np.column_stack([np.ones(300), rng.normal(size=(300, 7))])
truth = rng.normal(size=8)
y = (rng.uniform(size=300) < 1 / (1 + np.exp(-X @ truth))).astype(float)


def loss(w):
    z = X @ w
    return np.sum(np.logaddexp(0, z) - y * z) + 0.5 * np.sum(w[1:] ** 2)


res = minimize(loss, np.zeros(8))
result = res.x
print(result)
