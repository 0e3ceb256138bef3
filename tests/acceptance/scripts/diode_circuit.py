"""Currents through a ladder of diodes and resistors."""

import numpy as np
from scipy.optimize import fsolve

Is, Vt, R = 1e-12, 0.02585, 1000.0


def nodes(v, source):
    diode = Is * np.expm1(v / Vt)
    left = np.concatenate([[source], v[:-1]])
    right = np.concatenate([v[1:], [0.0]])
    return ((left - v) / R - diode - (v - right) / R) * 1e3


result = np.array([fsolve(nodes, np.full(4, 0.5), args=(V,)) for V in (1.0, 2.0, 5.0)])
print(result)
