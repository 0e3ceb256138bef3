"""A network with six hidden units fitted to a sine."""

import numpy as np
from scipy.optimize import minimize

x = np.linspace(-3, 3, 60)[:, None]
y = np.sin(2 * x[:, 0])
rng = np.random.default_rng(0)


def predict(p):
    w1, b1, w2, b2 = p[:6].reshape(1, 6), p[6:12], p[12:18], p[18]
    return np.tanh(x @ w1 + b1) @ w2 + b2


def loss(p):
    return np.mean((predict(p) - y) ** 2) + 1e-4 * np.sum(p**2)


res = minimize(loss, rng.normal(size=19), method="L-BFGS-B", options={"maxiter": 400, "maxfun": 50000})
result = np.array([res.fun < 0.1])
print(res.fun)
