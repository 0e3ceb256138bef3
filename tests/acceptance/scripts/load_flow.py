"""Voltages in a net of three buses."""

import numpy as np
from scipy.optimize import root

Y = np.array([[5 - 15j, -2 + 6j, -3 + 9j], [-2 + 6j, 4 - 11j, -2 + 5j], [-3 + 9j, -2 + 5j, 5 - 14j]])
G, B = Y.real, Y.imag
P, Q = np.array([-0.8, -1.0]), np.array([-0.3, -0.5])


def mismatch(x):
    theta = np.concatenate([[0.0], x[:2]])
    V = np.concatenate([[1.05], x[2:]])
    d = theta[:, None] - theta
    p = V * ((G * np.cos(d) + B * np.sin(d)) @ V)
    q = V * ((G * np.sin(d) - B * np.cos(d)) @ V)
    return np.concatenate([p[1:] - P, q[1:] - Q])


result = root(mismatch, [0, 0, 1, 1]).x
print(result)
