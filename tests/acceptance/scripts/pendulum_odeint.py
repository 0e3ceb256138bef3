"""The damped pendulum of odeint's documentation, which is not stiff."""

import numpy as np
from scipy.integrate import odeint


def pend(y, t, b, c):
    theta, omega = y
    return [omega, -b * omega - c * np.sin(theta)]


t = np.linspace(0, 10, 101)
sol = odeint(pend, [np.pi - 0.1, 0.0], t, args=(0.25, 5.0))
result = sol[-1]
print(result)
