"""A Langmuir isotherm."""

import numpy as np
from scipy.optimize import curve_fit

p = np.array([0.1, 0.2, 0.5, 1, 2, 5, 10])
q = np.array([0.45, 0.8, 1.55, 2.2, 2.9, 3.5, 3.7])
popt, pcov = curve_fit(lambda p, qmax, K: qmax * K * p / (1 + K * p), p, q, p0=(4, 1))
result = popt
print(popt)
