"""A resonance with errors that are given."""

import numpy as np
from scipy.optimize import curve_fit

f = np.linspace(9.0, 11.0, 90)
line = lambda f, a, f0, gamma, c: a * (gamma / 2) ** 2 / ((f - f0) ** 2 + (gamma / 2) ** 2) + c
rng = np.random.default_rng(8)
y = line(f, 5, 10.1, 0.3, 0.5) + 0.1 * rng.normal(size=90)
popt, pcov = curve_fit(line, f, y, p0=(4, 10, 0.5, 0), sigma=np.full(90, 0.1), absolute_sigma=True)
result = np.concatenate([popt, np.sqrt(np.diag(pcov))])
print(result)
