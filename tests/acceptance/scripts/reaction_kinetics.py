"""Rate constants of A to B to C from concentrations, by a loop of Runge and Kutta."""

import numpy as np
from scipy.optimize import least_squares

t = np.linspace(0, 5, 26)
dt = t[1] - t[0]


def rates(y, k1, k2):
    a, b, c = y
    return np.array([-k1 * a, k1 * a - k2 * b, k2 * b])


def course(k):
    y = np.array([1.0, 0.0, 0.0])
    rows = [y]
    for _ in t[1:]:
        s1 = rates(y, *k)
        s2 = rates(y + dt / 2 * s1, *k)
        s3 = rates(y + dt / 2 * s2, *k)
        s4 = rates(y + dt * s3, *k)
        y = y + dt / 6 * (s1 + 2 * s2 + 2 * s3 + s4)
        rows.append(y)
    return np.array(rows)


data = course([1.3, 0.4]) + 0.01 * np.random.default_rng(11).normal(size=(26, 3))
res = least_squares(lambda k: (course(k) - data).ravel(), [1.0, 1.0])
result = res.x
print(result)
