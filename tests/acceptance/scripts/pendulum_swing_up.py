"""The torques that bring a pendulum up, through forty steps of Runge and Kutta."""

import numpy as np
from scipy.optimize import minimize

steps, dt = 20, 0.1


def rate(s, u):
    return np.array([s[1], u - 9.81 * np.sin(s[0]) - 0.1 * s[1]])


def cost(u):
    s = np.array([0.0, 0.0])
    for k in range(steps):
        k1 = rate(s, u[k])
        k2 = rate(s + 0.5 * dt * k1, u[k])
        k3 = rate(s + 0.5 * dt * k2, u[k])
        k4 = rate(s + dt * k3, u[k])
        s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return 100 * ((s[0] - np.pi) ** 2 + s[1] ** 2) + 0.01 * dt * np.sum(u**2)


res = minimize(cost, np.full(steps, 5.0), method="L-BFGS-B", bounds=[(-15, 15)] * steps, options={"maxfun": 20000})
result = np.array([res.fun < 5.0])
print(res.fun)
