"""Two peaks that overlap, by the trust region method with bounds."""

import numpy as np
from scipy.optimize import curve_fit


def model(x, *p):
    total = np.zeros_like(x)
    for k in range(0, len(p), 3):
        total = total + p[k] * np.exp(-(((x - p[k + 1]) / p[k + 2]) ** 2))
    return total


x = np.linspace(0, 10, 200)
y = model(x, 3.0, 4.0, 0.8, 2.0, 5.6, 1.0) + 0.03 * np.random.default_rng(3).normal(size=x.size)
popt, _ = curve_fit(model, x, y, p0=[2, 3.5, 1, 2, 6, 1], bounds=(0, 10))
result = popt
print(popt)
