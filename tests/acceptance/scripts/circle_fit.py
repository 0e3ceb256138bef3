"""A circle through points, as in SciPy's cookbook."""

import numpy as np
from scipy.optimize import leastsq

x = np.array([36, 36, 19, 18, 33, 26, 9.0])
y = np.array([14, 10, 28, 31, 18, 26, 40.0])


def calc_R(xc, yc):
    return np.sqrt((x - xc) ** 2 + (y - yc) ** 2)


def f_2(c):
    Ri = calc_R(*c)
    return Ri - Ri.mean()


center, ier = leastsq(f_2, (np.mean(x), np.mean(y)))
result = np.array([*center, calc_R(*center).mean()])
print(result)
