"""Growth of a population, with uncertainties of the counts."""

import numpy as np
from scipy.optimize import curve_fit

t = np.arange(0, 20)
n = 500 / (1 + 49 * np.exp(-0.55 * t)) * (1 + 0.02 * np.sin(5 * t))


def logistic(t, capacity, rate, start):
    return capacity / (1 + (capacity / start - 1) * np.exp(-rate * t))


popt, pcov = curve_fit(logistic, t, n, p0=[400, 0.4, 5], sigma=0.02 * n + 1, absolute_sigma=True)
result = popt
print(popt)
