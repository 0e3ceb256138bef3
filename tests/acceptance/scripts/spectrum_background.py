"""Ten lines on a polynomial background: many parameters in one fit."""

import numpy as np
from scipy.optimize import least_squares

x = np.linspace(0, 100, 400)
centres = np.linspace(8, 92, 10)


def model(p):
    height, shift, width = p[:10], p[10:20], p[20]
    lines = height[:, None] * np.exp(-(((x - centres[:, None] - shift[:, None]) / width) ** 2))
    return lines.sum(axis=0) + p[21] + p[22] * x / 100 + p[23] * (x / 100) ** 2


rng = np.random.default_rng(15)
true = np.concatenate([rng.uniform(1, 4, 10), rng.normal(0, 0.4, 10), [1.8, 0.5, 1.0, -0.6]])
y = model(true) + 0.02 * rng.normal(size=400)
start = np.concatenate([np.full(10, 2.0), np.zeros(10), [2.0, 0.0, 0.0, 0.0]])
res = least_squares(lambda p: model(p) - y, start)
result = res.x
print(res.cost)
