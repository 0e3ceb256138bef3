"""One peak on a background."""

import numpy as np
from scipy.optimize import curve_fit

x = np.linspace(-5, 5, 120)
peak = lambda x, height, centre, width, base: height * np.exp(-((x - centre) ** 2) / (2 * width**2)) + base
y = peak(x, 4.0, 0.7, 0.9, 1.0) + 0.1 * np.random.default_rng(2).normal(size=x.size)
popt, pcov = curve_fit(peak, x, y, p0=[3, 0, 1, 0])
result = popt
print(popt, np.sqrt(np.diag(pcov)))
