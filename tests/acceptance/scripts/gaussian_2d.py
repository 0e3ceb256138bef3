"""A Gaussian spot in an image, from SciPy's cookbook."""

import numpy as np
from scipy import optimize


def gaussian(height, center_x, center_y, width_x, width_y):
    width_x = float(width_x)
    width_y = float(width_y)
    return lambda x, y: height * np.exp(-(((center_x - x) / width_x) ** 2 + ((center_y - y) / width_y) ** 2) / 2)


Xin, Yin = np.mgrid[0:40, 0:40]
data = gaussian(3, 20, 18, 6, 4)(Xin, Yin) + 0.1 * np.random.default_rng(10).normal(size=Xin.shape)


def errorfunction(p):
    return np.ravel(gaussian(*p)(*np.indices(data.shape)) - data)


p, success = optimize.leastsq(errorfunction, [2.0, 19.0, 19.0, 5.0, 5.0])
result = p
print(p)
