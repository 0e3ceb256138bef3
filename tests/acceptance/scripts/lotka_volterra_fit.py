"""The parameters of hares and lynxes, through an integrator."""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

t = np.linspace(0, 8, 25)


def solve(p):
    a, b, c, d = p
    rates = lambda t, y: [a * y[0] - b * y[0] * y[1], c * y[0] * y[1] - d * y[1]]
    return solve_ivp(rates, (0, 8), [10.0, 5.0], t_eval=t, rtol=1e-7, atol=1e-8).y


data = solve([1.1, 0.4, 0.1, 0.4])
res = least_squares(lambda p: (solve(p) - data).ravel(), [1.0, 0.35, 0.12, 0.45])
result = res.x
print(result)
