"""An ellipse by its axes, centre and angle."""

import numpy as np
from scipy.optimize import least_squares

s = np.linspace(0, 2 * np.pi, 60, endpoint=False)
c, d = np.cos(0.5), np.sin(0.5)
px = 1 + 3 * np.cos(s) * c - 1.5 * np.sin(s) * d + 0.02 * np.cos(11 * s)
py = -2 + 3 * np.cos(s) * d + 1.5 * np.sin(s) * c


def residuals(p):
    xc, yc, a, b, angle = p
    u = (px - xc) * np.cos(angle) + (py - yc) * np.sin(angle)
    v = -(px - xc) * np.sin(angle) + (py - yc) * np.cos(angle)
    return (u / a) ** 2 + (v / b) ** 2 - 1


res = least_squares(residuals, [0.8, -1.8, 2.5, 1.2, 0.4])
result = res.x
print(result)
