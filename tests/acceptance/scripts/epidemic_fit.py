"""An epidemic through odeint, fitted by curve_fit."""

import numpy as np
from scipy.integrate import odeint
from scipy.optimize import curve_fit

days = np.arange(0, 40, 2.0)


def sir(y, t, beta, gamma):
    s, i, r = y
    return [-beta * s * i, beta * s * i - gamma * i, gamma * i]


def infected(t, beta, gamma):
    return odeint(sir, [0.99, 0.01, 0.0], t, args=(beta, gamma))[:, 1]


y = infected(days, 0.5, 0.12) * (1 + 0.02 * np.sin(days))
popt, _ = curve_fit(infected, days, y, p0=[0.4, 0.1])
result = popt
print(popt)
