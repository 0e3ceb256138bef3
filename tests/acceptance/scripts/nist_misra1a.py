"""NIST's Misra1a: monomolecular adsorption."""

import numpy as np
from scipy.optimize import curve_fit

y = np.array([10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78])
x = np.array([77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0])
popt, pcov = curve_fit(lambda x, b1, b2: b1 * (1 - np.exp(-b2 * x)), x, y, p0=[250, 0.0005])
result = popt
print(popt)  # 238.94212918, 5.5015643181E-04
