"""The temperature of a black body from its spectrum."""

import numpy as np
from scipy.constants import c, h, k
from scipy.optimize import curve_fit

wave = np.linspace(0.3, 3.0, 80)


def planck(wave, T, scale):
    lam = wave * 1e-6
    return scale * 1e-13 * 2 * h * c**2 / lam**5 / np.expm1(h * c / (lam * k * T * 1e3))


y = planck(wave, 5.8, 1.1) * (1 + 0.02 * np.random.default_rng(7).normal(size=80))
popt, _ = curve_fit(planck, wave, y, p0=[5.0, 1.0])
result = popt
print(popt)
