"""The example of curve_fit's documentation."""

import numpy as np
from scipy.optimize import curve_fit


def func(x, a, b, c):
    return a * np.exp(-b * x) + c


xdata = np.linspace(0, 4, 50)
rng = np.random.default_rng()
rng = np.random.default_rng(1)
ydata = func(xdata, 2.5, 1.3, 0.5) + 0.2 * rng.normal(size=xdata.size)
popt, pcov = curve_fit(func, xdata, ydata)
bounded, _ = curve_fit(func, xdata, ydata, bounds=(0, [3.0, 1.0, 0.5]))
result = np.concatenate([popt, np.sqrt(np.diag(pcov)), bounded])
print(result)
