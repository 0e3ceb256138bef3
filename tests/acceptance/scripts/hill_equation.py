"""A dose and its response."""

import numpy as np
from scipy.optimize import curve_fit

dose = np.logspace(-2, 2, 15)
response = 95 * dose**1.4 / (1.7**1.4 + dose**1.4) + 2 + np.cos(7 * np.arange(15))


def hill(x, bottom, top, ec50, n):
    return bottom + (top - bottom) / (1 + (ec50 / x) ** n)


popt, _ = curve_fit(hill, dose, response, p0=[0, 100, 1, 1], bounds=([-20, 50, 0.01, 0.2], [20, 150, 50, 5]))
result = popt
print(popt)
