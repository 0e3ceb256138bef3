"""Values at the knots of a spline that goes near the data."""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import least_squares

rng = np.random.default_rng(14)
x = np.sort(rng.uniform(0, 10, 80))
y = np.sin(x) + 0.05 * rng.normal(size=80)
knots = np.linspace(0, 10, 9)


def residuals(values):
    return CubicSpline(knots, values)(x) - y


res = least_squares(residuals, np.zeros(9))
result = res.x
print(result)
