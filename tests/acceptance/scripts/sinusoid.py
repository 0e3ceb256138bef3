"""Amplitude, frequency and phase of a wave."""

import numpy as np
from scipy.optimize import curve_fit

t = np.linspace(0, 2, 100)
y = 3 * np.sin(2 * np.pi * 1.7 * t + 0.4) + 0.5 + 0.2 * np.random.default_rng(4).normal(size=100)


def wave(t, amplitude, frequency, phase, offset):
    return amplitude * np.sin(2 * np.pi * frequency * t + phase) + offset


popt, _ = curve_fit(wave, t, y, p0=[2.5, 1.6, 0.5, 0])
result = popt
print(popt)
