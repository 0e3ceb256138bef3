"""Antoine's equation of vapour pressure."""

import numpy as np
from scipy.optimize import curve_fit

T = np.array([20.0, 40, 60, 80, 100, 120])
P = np.array([17.54, 55.3, 149.4, 355.1, 760.0, 1489.0])


def antoine(T, A, B, C):
    return A - B / (C + T)


popt, _ = curve_fit(antoine, T, np.log10(P), p0=[8.0, 1700.0, 230.0])
result = antoine(np.array([50.0, 90.0]), *popt)
print(popt, result)
